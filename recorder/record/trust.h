/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which recordings are ours: made by this user with `wetdbg record`, not brought here by somebody
 * else.
 *
 * `wetdbg record` leaves `wetdbg.mark` in the trace directory: BLAKE2b of wetdbg.sums under a
 * secret key of the user's, which is made when it is first needed, in $XDG_STATE_HOME/wetdbg/key
 * (~/.local/state/wetdbg/key). The list has digests of all the recording's files, so that what is
 * marked is all that replay will read. Who only supplies files cannot make a mark, nor move one to
 * other files.
 */
#ifndef RECORDER_RECORD_TRUST_H
#define RECORDER_RECORD_TRUST_H

#include <stdbool.h>

/* Marks a finished recording that has its list (rec_sums_write). Makes the key if there is none.
 * Errors are named; then there is no mark, and all that follows is that the recording does not
 * count as ours. */
int rec_mark_write(const char *trace_dir);

/*
 * Whether the recording in this directory was marked by this user, nobody else can change it, and
 * `rr pack` did not.
 * In any doubt, and after any error, false; says nothing (wetdbg_fail). Takes the very descriptor
 * that the recording is read by (rrt_trace_dir_fd): a path could lead to another directory by now.
 *
 * Cheap: looks at the list and the owners of the files, not at their bytes. That the files are what
 * the list says is rrt_check_sums()'s (streams) and rrt_backing_open()'s to find out. Replay does
 * both, and fails where they fail, before anything of the recording runs; whoever else relies on
 * this has to do so too.
 */
bool rec_is_ours(int dir_fd);

/*
 * What only this user can know about `text`: BLAKE2b of it under his key, as 64 hex digits. Makes
 * the key if there is none. If there can be none, something that nobody knows, and that never comes
 * again.
 */
#define REC_SECRET_BYTES 65
void rec_secret_of(const char *text, char secret[REC_SECRET_BYTES]);

#endif
