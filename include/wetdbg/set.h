/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sets of instances of one run, in compressed bitmaps: slices put together, cut by each other,
 * taken from each other; and chops. Sets are never of lines: lines of which other instances were
 * meant have nothing in common.
 *
 * A *chop* is what a source and a target have in common, FS(source) & BS(target): what led from one
 * to the other; wetdbg_set_chop() is exact where both go through one system call. N. Gupta, H. He,
 * X. Zhang, R. Gupta, Locating faulty code using failure-inducing chops, ASE 2005.
 *
 * Errors are as for slices (<wetdbg/slice.h>).
 */
#ifndef WETDBG_SET_H
#define WETDBG_SET_H

#include <stdbool.h>
#include <stdint.h>

#include <wetdbg/api.h>
#include <wetdbg/slice.h>

WETDBG_BEGIN

/* Does not change once it is made. It must not outlive its wet. */
struct wetdbg_set;

/* The instances of a slice. *out is for wetdbg_set_free(). 0 or -ENOMEM. */
int wetdbg_set_of_slice(const struct wetdbg_slice *slice, struct wetdbg_set **out);
void wetdbg_set_free(struct wetdbg_set *set); /* NULL is fine */

enum wetdbg_set_operation {
    WETDBG_SET_AND,
    WETDBG_SET_OR,
    WETDBG_SET_MINUS, /* what is in the first and not in the second */
};

/* Two sets of one wet (-EINVAL for others) put together. *out is for wetdbg_set_free(). 0 or
 * -ENOMEM. */
int wetdbg_set_combine(const struct wetdbg_set *a, enum wetdbg_set_operation operation,
                       const struct wetdbg_set *b, struct wetdbg_set **out);

/*
 * The chop of a forward slice's set (or of several ones' put together) and a backward one's: what
 * both have, but for system calls in which they do not meet. A read() of ten bytes is in the
 * forward slice of the first one and in the backward slice of the second one, and leads from
 * neither to the other. Of sets that are something else, or came from a file, it is
 * WETDBG_SET_AND. -EINVAL or -ENOMEM; *out is for wetdbg_set_free().
 */
int wetdbg_set_chop(const struct wetdbg_set *forward, const struct wetdbg_set *backward,
                    struct wetdbg_set **out);

/* How many instances, a crash's instruction that did not complete included. */
uint64_t wetdbg_set_count(const struct wetdbg_set *set);
bool wetdbg_set_contains_time(const struct wetdbg_set *set, wetdbg_time time);

/*
 * A set as a slice, for its lines and instances: without distances, edges, initials and what it
 * reached. Runs the intervals again that it has instances in. Of `options` the session and the
 * callbacks are used. *out is for wetdbg_slice_free(), before the set's wet is closed.
 */
int wetdbg_slice_of_set(const struct wetdbg_set *set, const struct wetdbg_slice_options *options,
                        struct wetdbg_slice **out);

/*
 * What a slice that was made with record_parents has in a set, with distances and edges; a parent
 * that is not in the set is as if it were none. In a chop that is cut from its backward slice no
 * parent is missing: what uses something that depends on the source depends on it, too. Without
 * initials, and what it reached. Runs nothing. -EINVAL without record_parents, and for a set of
 * another run. *out is for wetdbg_slice_free().
 */
int wetdbg_slice_within(const struct wetdbg_slice *slice, const struct wetdbg_set *set,
                        struct wetdbg_slice **out);

#define WETDBG_SET_NOTE_MAX 4096 /* bytes */

/*
 * Writes a set to a file, which appears whole or not at all, with a note of how it was made (text
 * of at most WETDBG_SET_NOTE_MAX bytes, "" for none); and reads one back: *note is to be freed, and
 * as untrusted as the file is; NULL if nobody wants it. A file says of which WET it is, so that it
 * is not taken for another one's: -WETDBG_ERR_USAGE. -WETDBG_ERR_CORRUPT for a file that is none,
 * -errno if it cannot be read or written. The format is in docs/format.md.
 */
int wetdbg_set_save(const struct wetdbg_set *set, const char *note, const char *path);
int wetdbg_set_load(struct wetdbg *wet, const char *path, struct wetdbg_set **out, char **note);

WETDBG_END

#endif
