/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/dd_difference.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include <wetdbg/errors.h>
#include <wetdbg/files.h>

#define CHUNK_BYTES 65536

/* What a run put out by a descriptor, read from its beginning. */
struct reader {
    struct wetdbg *wet;
    struct wetdbg_output *list;
    size_t count, at;
    uint64_t used; /* of list[at] */
    uint8_t bytes[CHUNK_BYTES];
    size_t filled, taken;
};

static int reader_open(struct reader *reader, struct wetdbg *wet, int fd)
{
    *reader = (struct reader){.wet = wet};
    return wetdbg_descriptor_outputs(wet, fd, &reader->list, &reader->count);
}

/* Reads on, if all that was read has been taken; nothing is there at the end. */
static int reader_fill(struct reader *reader)
{
    struct wetdbg_state *state;
    while (reader->at < reader->count && reader->used == reader->list[reader->at].size) {
        reader->at++;
        reader->used = 0;
    }
    if (reader->taken < reader->filled || reader->at == reader->count)
        return 0;
    const struct wetdbg_output *piece = &reader->list[reader->at];
    uint64_t left = piece->size - reader->used;
    if (piece->address == WETDBG_OUTPUT_PASSED)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                           "what the kernel passed on at time %" PRIu64
                           " is not known, so that the "
                           "outputs of the failing and the passing run cannot be compared",
                           piece->time);
    reader->filled = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;
    reader->taken = 0;
    int err = wetdbg_state_open(reader->wet, piece->time, &state);
    if (err)
        return err;
    err = wetdbg_state_read(state, piece->address + reader->used, reader->bytes, reader->filled);
    wetdbg_state_close(state);
    reader->used += reader->filled;
    return err;
}

static size_t reader_left(const struct reader *reader)
{
    return reader->filled - reader->taken;
}

/* Passes what both have alike; `offset` is where they part, or where both end. */
static int pass_alike(struct reader *one, struct reader *other, uint64_t *offset)
{
    *offset = 0;
    for (;;) {
        int err = reader_fill(one);
        if (!err)
            err = reader_fill(other);
        if (err || !reader_left(one) || !reader_left(other))
            return err;
        size_t most = reader_left(one) < reader_left(other) ? reader_left(one) : reader_left(other);
        size_t same = 0;
        while (same < most && one->bytes[one->taken + same] == other->bytes[other->taken + same])
            same++;
        one->taken += same;
        other->taken += same;
        *offset += same;
        if (same < most)
            return 0;
    }
}

/* 0 with *criterion NULL if the descriptor got the same. */
static int compare(struct reader *fail, struct reader *pass, int fd, char **criterion,
                   const char **what)
{
    uint64_t offset;
    int err = pass_alike(fail, pass, &offset);
    if (err || (!reader_left(fail) && !reader_left(pass)))
        return err;
    *what = !reader_left(fail)   ? "there the passing run went on"
            : !reader_left(pass) ? "there the passing run wrote no more"
                                 : "the first byte that the passing run wrote otherwise";
    *criterion = reader_left(fail) ? cli_asprintf("output:%d:%" PRIu64, fd, offset)
                                   : cli_asprintf("output:%d:end", fd);
    return 0;
}

static int compare_descriptor(struct cli_session *fail, struct cli_session *pass, int fd,
                              char **criterion, const char **what)
{
    struct reader *readers = cli_malloc(2 * sizeof(*readers));
    readers[1].list = NULL;
    int err = reader_open(&readers[0], fail->wet, fd);
    if (!err)
        err = reader_open(&readers[1], pass->wet, fd);
    if (!err)
        err = compare(&readers[0], &readers[1], fd, criterion, what);
    free(readers[0].list);
    free(readers[1].list);
    free(readers);
    return err;
}

#define EXAMPLE_OFFSET 28

/* A byte of what a descriptor got; NULL: nothing. */
static char *example_of_descriptor(struct wetdbg *wet, int fd)
{
    struct wetdbg_output *list;
    size_t count;
    uint64_t size = 0;
    if (wetdbg_descriptor_outputs(wet, fd, &list, &count) != 0)
        return NULL;
    for (size_t i = 0; i < count; i++)
        size += list[i].size;
    free(list);
    uint64_t offset = size > EXAMPLE_OFFSET ? EXAMPLE_OFFSET : size - 1;
    if (!size)
        return NULL;
    return fd == 1 ? cli_asprintf("output:%" PRIu64, offset)
                   : cli_asprintf("output:%d:%" PRIu64, fd, offset);
}

static char *example_of_file(struct wetdbg *wet)
{
    struct wetdbg_files *files;
    char *text = NULL;
    if (wetdbg_files_open(wet, &files) != 0)
        return NULL;
    for (size_t i = 0; i < wetdbg_files_count(files) && !text; i++) {
        const struct wetdbg_file file = wetdbg_files_get(files, i);
        if (file.name && file.is_path && file.written_bytes)
            text = cli_asprintf("output:%s:0", file.name);
    }
    wetdbg_files_close(files);
    return text;
}

char *cli_dd_target_example(struct cli_session *session, bool only_files)
{
    char *text = NULL;
    for (int fd = 1; fd <= 2 && !text && !only_files; fd++)
        text = example_of_descriptor(session->wet, fd);
    if (!text)
        text = example_of_file(session->wet);
    return text ? text : cli_strdup("FILE:LINE:VARIABLE");
}

int cli_dd_difference(struct cli_session *fail, struct cli_session *pass, char **criterion,
                      const char **what)
{
    *criterion = NULL;
    for (int fd = 1; fd <= 2; fd++) {
        int err = compare_descriptor(fail, pass, fd, criterion, what);
        if (err || *criterion)
            return err;
    }
    char *example = cli_dd_target_example(fail, true);
    int err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                          "only the oracle knows what is wrong, since both runs put out the same: "
                          "name it, as for 'slice' (--target=%s)",
                          example);
    free(example);
    return err;
}
