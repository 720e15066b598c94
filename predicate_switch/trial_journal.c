/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 *     wetdbg-switch 1 0123456789abcdef0123456789abcdef
 *     89abcdef0123456789abcdef01234567 W
 *     76543210fedcba9876543210fedcba98 U instructions
 *
 * A line that was torn has no newline, and can only be the last.
 */
#include "predicate_switch/trial_journal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include <xxhash.h>

#include "common/array.h"
#include "common/hash.h"
#include <wetdbg/errors.h>
#include <wetdbg/own_file.h>

#define KEY_DIGITS     32
#define LINE_MAX_BYTES (KEY_DIGITS + 3 + WETDBG_TRIAL_REASON_MAX)

static const char letters[] = "WEUNPX"; /* by verdict */

struct entry {
    XXH128_hash_t key;
    struct wetdbg_trial_answer answer;
};

struct psw_journal {
    char *path;
    int fd;
    struct entry *entries;
    size_t count, capacity;
    struct wd_index index;
};

/* ---- entries ---- */

static XXH128_hash_t key_of(const struct wetdbg_trial *trial)
{
    uint64_t words[4 * WETDBG_TRIAL_SWITCHES + 1] = {trial->count};

    for (unsigned i = 0; i < trial->count && i < WETDBG_TRIAL_SWITCHES; i++) {
        const struct wetdbg_candidate *each = &trial->switches[i];
        words[4 * i + 1] = each->pc;
        words[4 * i + 2] = each->extent == WETDBG_EXTENT_ALL ? 0 : each->instance;
        words[4 * i + 3] = each->to;
        words[4 * i + 4] = each->extent;
    }
    return XXH3_128bits(words, sizeof(words));
}

static uint32_t *place_of(const struct psw_journal *journal, const XXH128_hash_t *key)
{
    return wd_index_find(&journal->index, key->low64, n,
                         XXH128_isEqual(journal->entries[n].key, *key));
}

static int entry_add(struct psw_journal *journal, const struct entry *entry)
{
    if (wd_grow(journal->entries, journal->capacity, journal->count + 1) ||
        wd_index_room(&journal->index, journal->count, 256, i,
                      place_of(journal, &journal->entries[i].key)))
        return -ENOMEM;
    uint32_t *place = place_of(journal, &entry->key);
    if (*place) {
        journal->entries[*place - 1] = *entry;
        return 0;
    }
    journal->entries[journal->count++] = *entry;
    *place = (uint32_t)journal->count;
    return 0;
}

/* ---- lines ---- */

static int line_format(char line[LINE_MAX_BYTES + 1], const struct entry *entry)
{
    const char *reason = entry->answer.reason;

    return snprintf(line, LINE_MAX_BYTES + 1, "%016" PRIx64 "%016" PRIx64 " %c%s%s\n",
                    entry->key.high64, entry->key.low64, letters[entry->answer.verdict],
                    *reason ? " " : "", reason);
}

/* `line` without its newline. */
static bool line_parse(char *line, struct entry *entry)
{
    const char *letter = NULL;

    if (strspn(line, "0123456789abcdef") == KEY_DIGITS && line[KEY_DIGITS] == ' ' &&
        line[KEY_DIGITS + 1])
        letter = strchr(letters, line[KEY_DIGITS + 1]);
    if (!letter)
        return false;
    *entry = (struct entry){.answer.verdict = (enum wetdbg_verdict)(letter - letters)};
    if (line[KEY_DIGITS + 2] == ' ')
        memcpy(entry->answer.reason, line + KEY_DIGITS + 3,
               strnlen(line + KEY_DIGITS + 3, WETDBG_TRIAL_REASON_MAX - 1));
    line[KEY_DIGITS] = 0;
    entry->key.low64 = strtoull(line + 16, NULL, 16);
    line[16] = 0;
    entry->key.high64 = strtoull(line, NULL, 16);
    return true;
}

/* Reads what is there of this search. *end is where the good part ends, 0 if there is none. */
static int lines_read(struct psw_journal *journal, const char *head, off_t *end)
{
    char line[LINE_MAX_BYTES + 1];
    struct entry entry;
    int fd = dup(journal->fd);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    int err = file ? 0 : wetdbg_fail_errno("%s", journal->path);

    *end = 0;
    if (!err && fgets(line, sizeof(line), file) && strcmp(line, head) == 0) {
        *end = (off_t)strlen(head);
        while (!err && fgets(line, sizeof(line), file)) {
            size_t length = strlen(line);
            if (!length || line[length - 1] != '\n')
                break;
            line[length - 1] = 0;
            if (!line_parse(line, &entry))
                break;
            err = entry_add(journal, &entry);
            *end += (off_t)length;
        }
    }
    if (file)
        fclose(file);
    else if (fd >= 0)
        close(fd);
    return err;
}

static int file_open(struct psw_journal *journal, const char *path, const char *name)
{
    XXH128_hash_t search = XXH3_128bits(name ? name : "", name ? strlen(name) : 0);
    char head[64];
    off_t end;
    int err = wetdbg_own_file_open(path, &journal->fd);

    if (err)
        return err;
    if (flock(journal->fd, LOCK_EX | LOCK_NB))
        return wetdbg_fail(-EBUSY, "%s: another search writes its answers there", path);
    journal->path = strdup(path);
    if (!journal->path)
        return -ENOMEM;
    int length = snprintf(head, sizeof(head), "wetdbg-switch 1 %016" PRIx64 "%016" PRIx64 "\n",
                          search.high64, search.low64);
    err = lines_read(journal, head, &end);
    if (!err && (ftruncate(journal->fd, end) || lseek(journal->fd, end, SEEK_SET) < 0 ||
                 (!end && write(journal->fd, head, (size_t)length) != length)))
        err = wetdbg_fail_errno("%s", path);
    return err;
}

/* ---- the journal ---- */

int psw_journal_open(const char *path, const char *name, struct psw_journal **out)
{
    struct psw_journal *journal = calloc(1, sizeof(*journal));

    if (!journal)
        return -ENOMEM;
    journal->fd = -1;
    int err = path ? file_open(journal, path, name) : 0;
    if (err)
        psw_journal_close(journal);
    else
        *out = journal;
    return err;
}

void psw_journal_close(struct psw_journal *journal)
{
    if (!journal)
        return;
    if (journal->fd >= 0)
        close(journal->fd);
    wd_index_fini(&journal->index);
    free(journal->entries);
    free(journal->path);
    free(journal);
}

int psw_journal_recall(const struct psw_journal *journal, const struct wetdbg_trial *trial,
                       struct wetdbg_trial_answer *answer)
{
    XXH128_hash_t key = key_of(trial);
    uint32_t n = journal->count ? *place_of(journal, &key) : 0;

    if (!n)
        return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
    *answer = journal->entries[n - 1].answer;
    return 0;
}

int psw_journal_learn(struct psw_journal *journal, const struct wetdbg_trial *trial,
                      const struct wetdbg_trial_answer *answer)
{
    struct entry entry = {key_of(trial), *answer};
    char line[LINE_MAX_BYTES + 1];

    if (journal->fd < 0)
        return 0;
    for (char *c = entry.answer.reason; *c; c++)
        if (*c == '\n')
            *c = ' ';
    int length = line_format(line, &entry);
    int err = entry_add(journal, &entry);
    if (!err && write(journal->fd, line, (size_t)length) != length)
        err = wetdbg_fail_errno("%s", journal->path);
    return err;
}
