/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 *     wetdbg-dd 1 0123456789abcdef0123456789abcdef
 *     89abcdef0123456789abcdef01234567 F
 *
 * The letter is a small one if a live run gave the outcome. Of two lines with a key the last holds.
 * Lines have one length each, so that a torn one, which only the last can be, is known by its size.
 */
#include "delta/delta_journal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "common/hash.h"
#include <wetdbg/errors.h>
#include <wetdbg/own_file.h>

#define HEAD_BYTES 45
#define LINE_BYTES 35

#define OUTCOMES 3

static const char letters[] = "UPFupf"; /* by outcome; small ones: of live runs */

struct entry {
    struct wetdbg_delta_key key;
    enum wetdbg_delta_outcome outcome;
    bool is_live;
};

struct dlt_journal {
    char *path;
    int fd;
    struct entry *entries;
    size_t count, capacity;
    struct wd_index index;
    uint64_t found;
    bool has_no_live; /* what live runs gave does not hold */
};

static uint32_t *place_of(const struct dlt_journal *journal, const struct wetdbg_delta_key *key)
{
    return wd_index_find(&journal->index, key->low, n,
                         journal->entries[n].key.low == key->low &&
                             journal->entries[n].key.high == key->high);
}

static int entry_add(struct dlt_journal *journal, const struct entry *entry)
{
    const struct wetdbg_delta_key *key = &entry->key;
    int err = wd_grow(journal->entries, journal->capacity, journal->count + 1);
    if (!err && 2 * (journal->count + 1) > journal->index.capacity) {
        err = wd_index_renew(&journal->index,
                             journal->index.capacity ? 2 * journal->index.capacity : 64);
        for (size_t i = 0; !err && i < journal->count; i++)
            *place_of(journal, &journal->entries[i].key) = (uint32_t)(i + 1);
    }
    if (err)
        return err;
    uint32_t *place = place_of(journal, key);
    if (*place) {
        journal->entries[*place - 1] = *entry;
        return 0;
    }
    journal->entries[journal->count++] = *entry;
    *place = (uint32_t)journal->count;
    return 0;
}

static void head_format(const struct wetdbg_delta_key *search, char text[HEAD_BYTES + 1])
{
    snprintf(text, HEAD_BYTES + 1, "wetdbg-dd 1 %016" PRIx64 "%016" PRIx64 "\n", search->high,
             search->low);
}

/* One line. False if it is none. */
static bool line_parse(const char *line, struct entry *entry)
{
    char digits[33];
    const char *letter = line[33] ? strchr(letters, line[33]) : NULL;
    if (strspn(line, "0123456789abcdef") != 32 || line[32] != ' ' || line[34] != '\n' || !letter)
        return false;
    memcpy(digits, line, 32);
    digits[32] = 0;
    entry->key.low = strtoull(digits + 16, NULL, 16);
    digits[16] = 0;
    entry->key.high = strtoull(digits, NULL, 16);
    entry->outcome = (enum wetdbg_delta_outcome)((letter - letters) % OUTCOMES);
    entry->is_live = letter - letters >= OUTCOMES;
    return true;
}

/* Reads what is there. *end is where the good part ends; 0 if it is of another search. */
static int lines_read(struct dlt_journal *journal, const char *head, off_t *end)
{
    char line[HEAD_BYTES + 1] = "";
    struct entry entry;
    int fd = dup(journal->fd);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    int err = file ? 0 : wetdbg_fail_errno("%s", journal->path);
    *end = 0;
    if (!err && fread(line, 1, HEAD_BYTES, file) == HEAD_BYTES &&
        memcmp(line, head, HEAD_BYTES) == 0) {
        *end = HEAD_BYTES;
        line[LINE_BYTES] = 0;
        while (!err && fread(line, 1, LINE_BYTES, file) == LINE_BYTES && line_parse(line, &entry)) {
            err = entry_add(journal, &entry);
            *end += LINE_BYTES;
        }
    }
    if (file)
        fclose(file);
    else if (fd >= 0)
        close(fd);
    return err;
}

static int file_open(struct dlt_journal *journal, const char *path,
                     const struct wetdbg_delta_key *search, bool is_fresh)
{
    char head[HEAD_BYTES + 1];
    off_t end = 0;
    int err = wetdbg_own_file_open(path, &journal->fd);
    if (err)
        return err;
    if (flock(journal->fd, LOCK_EX | LOCK_NB))
        return wetdbg_fail(-EBUSY, "%s: another search writes its tests there", path);
    if (!(journal->path = strdup(path)))
        return -ENOMEM;
    head_format(search, head);
    if (!is_fresh)
        err = lines_read(journal, head, &end);
    if (!err && (ftruncate(journal->fd, end) || lseek(journal->fd, end, SEEK_SET) < 0 ||
                 (!end && write(journal->fd, head, HEAD_BYTES) != HEAD_BYTES)))
        err = wetdbg_fail_errno("%s", path);
    journal->found = journal->count;
    return err;
}

int dlt_journal_open(const char *path, const struct wetdbg_delta_key *search, bool is_fresh,
                     struct dlt_journal **out)
{
    struct dlt_journal *journal = calloc(1, sizeof(*journal));
    if (!journal)
        return -ENOMEM;
    journal->fd = -1;
    int err = path ? file_open(journal, path, search, is_fresh) : 0;
    if (err)
        dlt_journal_close(journal, false);
    else
        *out = journal;
    return err;
}

uint64_t dlt_journal_count(const struct dlt_journal *journal)
{
    return journal->found;
}

int dlt_journal_recall(const struct dlt_journal *journal, const struct wetdbg_delta_key *key,
                       enum wetdbg_delta_outcome *outcome)
{
    uint32_t n = journal->count ? *place_of(journal, key) : 0;
    if (!n || (journal->has_no_live && journal->entries[n - 1].is_live))
        return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
    *outcome = journal->entries[n - 1].outcome;
    return 0;
}

bool dlt_journal_is_live(const struct dlt_journal *journal, const struct wetdbg_delta_key *key)
{
    uint32_t n = journal->count ? *place_of(journal, key) : 0;
    return n && !journal->has_no_live && journal->entries[n - 1].is_live;
}

uint64_t dlt_journal_live_count(const struct dlt_journal *journal)
{
    uint64_t count = 0;
    for (size_t i = 0; i < journal->count && !journal->has_no_live; i++)
        count += journal->entries[i].is_live;
    return count;
}

void dlt_journal_distrust(struct dlt_journal *journal)
{
    journal->has_no_live = true;
}

int dlt_journal_learn(struct dlt_journal *journal, const struct wetdbg_delta_key *key,
                      enum wetdbg_delta_outcome outcome, enum dlt_origin origin)
{
    char line[LINE_BYTES + 1];
    bool is_live = origin == DLT_FROM_LIVE;
    int err = entry_add(journal, &(struct entry){*key, outcome, is_live});
    if (err || origin == DLT_FROM_ENDS || journal->fd < 0)
        return err;
    snprintf(line, sizeof(line), "%016" PRIx64 "%016" PRIx64 " %c\n", key->high, key->low,
             letters[outcome + (is_live ? OUTCOMES : 0)]);
    return write(journal->fd, line, LINE_BYTES) == LINE_BYTES
               ? 0
               : wetdbg_fail_errno("%s", journal->path);
}

void dlt_journal_close(struct dlt_journal *journal, bool removes)
{
    if (!journal)
        return;
    if (journal->path && removes)
        unlink(journal->path);
    if (journal->fd >= 0)
        close(journal->fd);
    wd_index_fini(&journal->index);
    free(journal->entries);
    free(journal->path);
    free(journal);
}
