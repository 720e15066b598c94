/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A forward pass crosses a part of the run: as one of the session did before it
 * (slicer/forward/passage.h), or by passing its executions, and then what they did is kept.
 */
#ifndef SLICER_FORWARD_CROSSING_H
#define SLICER_FORWARD_CROSSING_H

#include "slicer/forward/forward.h"
#include "slicer/forward/passage.h"

/* Embedded by its holder, zeroed at first; to be freed at the pass's end. */
struct slc_crossing {
    size_t end;      /* of the part that the pass is in, or of what lies before the next one */
    bool is_watched; /* what is done up to there is to be kept */
    struct slc_part *part;
    size_t first;
    uint64_t serial; /* of frames, when it began */
    struct slc_approach approach;
};
void slc_crossing_fini(struct slc_crossing *crossing);

/* Whether what a pass does is kept at all. */
bool slc_crossing_is_kept(const struct slc_forward *fwd);

/*
 * Comes to execution *e, with the events before it passed; `from`: when the source is.
 * crossing->end becomes where this is to be asked again, and *e the same if what lies before that
 * was done as another pass did. 0 or an error.
 */
int slc_cross(struct slc_forward *fwd, struct slc_crossing *crossing, wetdbg_time from, size_t *e);

/* The executions up to crossing->end have been passed: keeps what that did, if it is watched. */
int slc_crossing_end(struct slc_forward *fwd, struct slc_crossing *crossing);

#endif
