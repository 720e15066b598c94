/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "delta/input_files.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "common/buf.h"
#include "delta/delta_input.h"
#include "delta/plan.h"
#include <wetdbg/errors.h>

static int items_of_words(char *const *words, struct wd_buf *to)
{
    int err = 0;
    for (; !err && *words; words++)
        err = wd_buf_append(to, *words, strlen(*words) + 1);
    return err;
}

static int names_compare(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* "DIR//" and the name below DIR, which is the same in two directories. */
static int name_append(const char *dir, size_t length, const FTSENT *entry, struct wd_buf *to)
{
    const char *below = entry->fts_path + length;
    below += strspn(below, "/");
    int err = wd_buf_append(to, dir, length);
    if (!err)
        err = wd_buf_append(to, "//", 2);
    return err ? err : wd_buf_append(to, below, strlen(below) + 1);
}

static bool is_file(const FTSENT *entry)
{
    struct stat st;
    return entry->fts_info == FTS_F ? S_ISREG(entry->fts_statp->st_mode)
                                    : entry->fts_info == FTS_SL &&
                                          stat(entry->fts_accpath, &st) == 0 && S_ISREG(st.st_mode);
}

static int order_compare(const void *a, const void *b)
{
    return strcmp(strstr(*(char *const *)a, "//"), strstr(*(char *const *)b, "//"));
}

/* Puts items in the order of their names below the directory. */
static int items_sort(struct wd_buf *items)
{
    size_t count = 0, n = 0;
    for (size_t i = 0; i < items->size_bytes; i++)
        count += !items->data[i];
    char **names = malloc((count + 1) * sizeof(*names));
    struct wd_buf sorted = {0};
    int err = names ? 0 : -ENOMEM;
    for (char *at = (char *)items->data; !err && n < count; at += strlen(at) + 1)
        names[n++] = at;
    if (!err)
        qsort(names, count, sizeof(*names), order_compare);
    for (n = 0; !err && n < count; n++)
        err = wd_buf_append(&sorted, names[n], strlen(names[n]) + 1);
    free(names);
    wd_buf_fini(err ? &sorted : items);
    if (!err)
        *items = sorted;
    return err;
}

static int directory_check(const char *name, const char *dir)
{
    struct stat st;
    if (stat(dir, &st))
        return wetdbg_fail_errno("%s", name);
    if (!S_ISDIR(st.st_mode))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "%s: no directory", name);
    if (strstr(dir, "//"))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "%s: a name with // in it", name);
    return 0;
}

static int items_find(const char *dir, struct wd_buf *to)
{
    char *const paths[] = {(char *)dir, NULL};
    FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, names_compare);
    FTSENT *entry;
    int err = 0;
    if (!fts)
        return wetdbg_fail_errno("%s", dir);
    while (!err && (entry = fts_read(fts)))
        if (is_file(entry))
            err = name_append(dir, strlen(dir), entry, to);
    fts_close(fts);
    return err;
}

static int items_of_directory(const char *name, struct wd_buf *to)
{
    size_t length = strlen(name);
    while (length > 1 && name[length - 1] == '/')
        length--;
    char *dir = strndup(name, length);
    int err = dir ? directory_check(name, dir) : -ENOMEM;
    if (!err)
        err = items_find(dir, to);
    free(dir);
    if (!err && to->size_bytes > DLT_INPUT_BYTES_MAX)
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "%s: too many files", name);
    return err ? err : items_sort(to);
}

int dlt_input_read(const struct wetdbg_dd_options *options, bool is_fail,
                   struct wetdbg_dd_bytes *bytes)
{
    struct wd_buf items = {0};
    const char *name = is_fail ? options->fail : options->pass;
    int err = 0;
    *bytes = (struct wetdbg_dd_bytes){0};
    if (options->unit <= WETDBG_DD_TREE)
        return name ? dlt_file_read(name, bytes) : 0;
    if (options->unit == WETDBG_DD_FILES)
        err = name ? items_of_directory(name, &items) : 0;
    else if (is_fail)
        err = items_of_words(options->unit == WETDBG_DD_ARGV ? options->argv + 1 : environ, &items);
    if (err) {
        wd_buf_fini(&items);
        return err;
    }
    *bytes = (struct wetdbg_dd_bytes){items.data, items.size_bytes};
    return 0;
}

uint64_t dlt_items_state(const struct wetdbg_dd_bytes *items)
{
    uint64_t state = 0;
    const char *at = (const char *)items->data, *end = at + items->size;
    for (; at < end; at += strlen(at) + 1) {
        struct stat st;
        if (stat(at, &st))
            continue;
        const uint64_t facts[] = {state, (uint64_t)st.st_size, (uint64_t)st.st_mtim.tv_sec,
                                  (uint64_t)st.st_mtim.tv_nsec, (uint64_t)st.st_mode};
        state = XXH3_64bits(facts, sizeof(facts));
    }
    return state;
}
