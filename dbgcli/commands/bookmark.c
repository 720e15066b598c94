/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The file has one line for each: NAME TIME PLACE, with tabs between. Every change reads it,
 * writes it anew beside itself and renames, under a lock, so that no reader sees half of it.
 */
#include "dbgcli/commands/bookmark.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "dbgcli/alloc.h"
#include "dbgcli/args.h"
#include "dbgcli/suggest.h"
#include "dbgcli/xdg.h"
#include <wetdbg/errors.h>
#include <wetdbg/own_file.h>
#include <wetdbg/wet.h>

#define BOOKMARKS_MAX 10000

struct cli_bookmarks {
    char *wet_path;
    char *path; /* NULL until needed */
    struct cli_bookmark *list;
    size_t count;
};

struct cli_bookmarks *cli_bookmarks_new(const char *wet_path)
{
    struct cli_bookmarks *bookmarks = cli_malloc(sizeof(*bookmarks));
    *bookmarks = (struct cli_bookmarks){.wet_path = cli_strdup(wet_path)};
    return bookmarks;
}

void cli_bookmarks_free(struct cli_bookmarks *bookmarks)
{
    if (!bookmarks)
        return;
    free(bookmarks->wet_path);
    free(bookmarks->path);
    free(bookmarks->list);
    free(bookmarks);
}

bool cli_bookmark_is_name(const char *word)
{
    static const char *const taken[] = {"start", "end", "crash", "now"};
    size_t length = strlen(word);
    for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++)
        if (strcmp(word, taken[i]) == 0)
            return false;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)word[i]) && !strchr("_-.", word[i]))
            return false;
    return length && length < CLI_BOOKMARK_NAME_MAX &&
           (isalpha((unsigned char)*word) || *word == '_');
}

/* ---- the file ---- */

static uint64_t hash_text(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

static int find_path(struct cli_bookmarks *bookmarks)
{
    char fingerprint[512], name[64];
    if (bookmarks->path)
        return 0;
    int err = wetdbg_fingerprint_read(bookmarks->wet_path, fingerprint, sizeof(fingerprint));
    if (err)
        return err;
    snprintf(name, sizeof(name), "bookmarks/%016" PRIx64, hash_text(fingerprint));
    bookmarks->path = cli_xdg_path(CLI_XDG_STATE, name);
    if (bookmarks->path)
        return 0;
    return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                       "no place for bookmarks: neither $XDG_STATE_HOME nor $HOME is set");
}

/* Adds the bookmark of a line. Lines that make no sense are left out: somebody may have edited the
 * file. */
static void add_line(struct cli_bookmarks *bookmarks, char *line)
{
    struct cli_bookmark mark = {.time = 0};
    char *at = line;
    const char *name = strsep(&at, "\t"), *time = strsep(&at, "\t");
    line[strcspn(line, "\n")] = 0;
    if (at)
        at[strcspn(at, "\n")] = 0;
    if (!time || !cli_bookmark_is_name(name) || !cli_number_parse(time, &mark.time) ||
        bookmarks->count == BOOKMARKS_MAX)
        return;
    snprintf(mark.name, sizeof(mark.name), "%s", name);
    snprintf(mark.place, sizeof(mark.place), "%s", at ? at : "");
    bookmarks->list = cli_realloc(bookmarks->list, bookmarks->count + 1, sizeof(*bookmarks->list));
    bookmarks->list[bookmarks->count++] = mark;
}

static int by_time(const void *a, const void *b)
{
    const struct cli_bookmark *one = a, *two = b;
    if (one->time != two->time)
        return one->time < two->time ? -1 : 1;
    return strcmp(one->name, two->name);
}

static int read_all(struct cli_bookmarks *bookmarks)
{
    char *line = NULL;
    size_t capacity = 0;
    int err = find_path(bookmarks);
    if (err)
        return err;
    bookmarks->count = 0;
    if (cli_xdg_is_foreign(CLI_XDG_STATE))
        return 0;
    FILE *file = fopen(bookmarks->path, "re");
    if (!file)
        return errno == ENOENT ? 0 : wetdbg_fail_errno("cannot read '%s'", bookmarks->path);
    while (getline(&line, &capacity, file) > 0)
        add_line(bookmarks, line);
    free(line);
    fclose(file);
    if (bookmarks->count)
        qsort(bookmarks->list, bookmarks->count, sizeof(*bookmarks->list), by_time);
    return 0;
}

static int write_all(const struct cli_bookmarks *bookmarks)
{
    char *temporary = cli_asprintf("%s.XXXXXX", bookmarks->path);
    int err = 0, fd = mkostemp(temporary, O_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file)
        err = wetdbg_fail_errno("cannot write '%s'", temporary);
    for (size_t i = 0; file && i < bookmarks->count; i++)
        fprintf(file, "%s\t%" PRIu64 "\t%s\n", bookmarks->list[i].name, bookmarks->list[i].time,
                bookmarks->list[i].place);
    if (file && fclose(file) != 0)
        err = wetdbg_fail_errno("cannot write '%s'", temporary);
    if (!err && rename(temporary, bookmarks->path) != 0)
        err = wetdbg_fail_errno("cannot replace '%s'", bookmarks->path);
    if (err && fd >= 0)
        unlink(temporary);
    free(temporary);
    return err;
}

/* Locks a file of its own, since the other one is replaced. */
static int lock(struct cli_bookmarks *bookmarks, int *fd)
{
    int err = find_path(bookmarks);
    if (err)
        return err;
    if (!cli_xdg_make_parents(CLI_XDG_STATE, bookmarks->path))
        return wetdbg_fail(-EPERM, "%s is not written: a directory above it is somebody else's",
                           bookmarks->path);
    char *path = cli_asprintf("%s.lock", bookmarks->path);
    *fd = -1;
    err = wetdbg_own_file_open(path, fd);
    free(path);
    while (!err && flock(*fd, LOCK_EX) != 0)
        if (errno != EINTR)
            break; /* file systems without locks: as good as it gets */
    return err;
}

static size_t index_of(const struct cli_bookmarks *bookmarks, const char *name)
{
    size_t i = 0;
    while (i < bookmarks->count && strcmp(bookmarks->list[i].name, name) != 0)
        i++;
    return i;
}

const char *cli_bookmarks_nearest(const struct cli_bookmarks *bookmarks, const char *name)
{
    struct cli_suggestion suggestion = {.wanted = name};
    for (size_t i = 0; i < bookmarks->count; i++)
        cli_suggestion_offer(&suggestion, bookmarks->list[i].name);
    return suggestion.best;
}

static int fail_missing(const struct cli_bookmarks *bookmarks, const char *name)
{
    const char *nearest = cli_bookmarks_nearest(bookmarks, name);
    if (nearest)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no bookmark is called '%s'; did you mean '%s'?",
                           name, nearest);
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no bookmark is called '%s'", name);
}

/* ---- what others ask ---- */

int cli_bookmarks_list(struct cli_bookmarks *bookmarks, const struct cli_bookmark **list,
                       size_t *count)
{
    int err = read_all(bookmarks);
    if (err)
        return err;
    *list = bookmarks->list;
    *count = bookmarks->count;
    return 0;
}

int cli_bookmarks_find(struct cli_bookmarks *bookmarks, const char *name, wetdbg_time *time)
{
    int err = read_all(bookmarks);
    if (err)
        return err;
    size_t index = index_of(bookmarks, name);
    if (index == bookmarks->count)
        return fail_missing(bookmarks, name);
    *time = bookmarks->list[index].time;
    return 0;
}

int cli_bookmarks_set(struct cli_bookmarks *bookmarks, const struct cli_bookmark *bookmark)
{
    int fd = -1;
    int err = lock(bookmarks, &fd);
    if (!err)
        err = read_all(bookmarks);
    size_t index = index_of(bookmarks, bookmark->name);
    if (!err && index == BOOKMARKS_MAX)
        err = wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "there are %d bookmarks already", BOOKMARKS_MAX);
    if (!err) {
        bookmarks->list = cli_realloc(bookmarks->list,
                                      index + 1 > bookmarks->count ? index + 1 : bookmarks->count,
                                      sizeof(*bookmarks->list));
        bookmarks->list[index] = *bookmark;
        bookmarks->count += index == bookmarks->count;
        err = write_all(bookmarks);
    }
    if (fd >= 0)
        close(fd);
    return err;
}

int cli_bookmarks_delete(struct cli_bookmarks *bookmarks, const char *name)
{
    int fd = -1;
    int err = lock(bookmarks, &fd);
    if (!err)
        err = read_all(bookmarks);
    size_t index = index_of(bookmarks, name);
    if (!err && index == bookmarks->count)
        err = fail_missing(bookmarks, name);
    if (!err) {
        memmove(&bookmarks->list[index], &bookmarks->list[index + 1],
                (bookmarks->count - index - 1) * sizeof(*bookmarks->list));
        bookmarks->count--;
        err = write_all(bookmarks);
    }
    if (fd >= 0)
        close(fd);
    return err;
}
