/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Forward slices that a session's user had already: asked for once more, they are there. A slice is
 * shared by all who asked for it; while nobody has it, it does not hold its session.
 */
#ifndef SLICER_FORWARD_ANSWERS_H
#define SLICER_FORWARD_ANSWERS_H

#include "slicer/criteria/criterion.h"
#include "slicer/slice_priv.h"

#define SLC_ANSWERS_MAX  16
#define SLC_ANSWER_BYTES (UINT64_C(256) << 20) /* of all */

/* The slice of a source with these options, held once more; NULL if there is none. */
struct wetdbg_slice *slc_answer_find(struct wetdbg_slice_session *session,
                                     const struct wetdbg_criterion *source,
                                     const struct wetdbg_slice_options *options);

/* Keeps a slice that is done; those that nobody asked for lately go. 0 or -ENOMEM. */
int slc_answer_keep(struct wetdbg_slice *slice, const struct wetdbg_criterion *source);

/* Control classes are others now, or the session ends: forgets all. NULL is fine. */
void slc_answers_free(struct wetdbg_slice_session *session);

#endif
