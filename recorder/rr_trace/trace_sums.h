/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The list of what a recording's files hold: `wetdbg.sums` in the trace directory, written by
 * `wetdbg record` (docs/format.md, section 6). rr keeps no such thing: a bit flipped in recorded
 * memory, or in the file behind a mapping, can give another run that is just as consistent, which
 * replay would believe.
 *
 * A list names streams and side files by their plain names, and backing files as the stream `mmaps`
 * names them: by plain names or by absolute ones. Lists of the first version have streams only.
 */
#ifndef RECORDER_RR_TRACE_TRACE_SUMS_H
#define RECORDER_RR_TRACE_TRACE_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/digest.h"

#define RRT_SUMS_NAME "wetdbg.sums"

/* How `rr pack` names the files behind mappings. */
#define RRT_PACKED_PREFIX "mmap_pack_"

/* All but backing files that a recording can have; side files may be missing. */
extern const char *const rrt_sums_streams[];
extern const size_t rrt_sums_stream_count, rrt_sums_streams_always;

struct rrt_sum {
    char *name;
    uint64_t size_bytes;
    struct wd_digest digest;
    uint64_t xxh64; /* lists of version 1: instead of size and digest */
};

struct rrt_sums {
    char *dir; /* for messages */
    int version;
    struct rrt_sum *rows;
    size_t count;
};

/* Reads the list; *out, the caller's to rrt_sums_free(), is NULL if there is none.
 * -WETDBG_ERR_CORRUPT if it is no such list, or lacks a stream. */
int rrt_sums_open(int dir_fd, const char *dir, struct rrt_sums **out);
void rrt_sums_free(struct rrt_sums *sums); /* NULL is fine */

/* NULL: not listed. Borrowed. */
const struct rrt_sum *rrt_sums_find(const struct rrt_sums *sums, const char *name);

/* Whether the open file is what the row says: reads all of it. -WETDBG_ERR_CORRUPT if not. */
int rrt_sum_check(const struct rrt_sums *sums, const struct rrt_sum *row, int fd);

/* The same for all streams and side files of the list but one, or NULL. */
int rrt_sums_check_streams(const struct rrt_sums *sums, int dir_fd, const char *except);

/* Appends the first line of a list; a row for an open file. */
int rrt_sums_put_head(struct wd_buf *text);
int rrt_sums_put(struct wd_buf *text, const char *name, int fd);

#endif
