/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a stretch of some hundred thousand instructions does to a scan, kept in the session.
 *
 * Most slices of a run want the same after a while: whatever keeps its loops going. A scan that
 * comes to a stretch in a state that an earlier one had there does to its own state what that one
 * did, and takes over its members and counts. The state need not be the same altogether: what
 * matters of memory are the bytes that the stretch stores to (slicer/scan/footprint.h), of
 * registers those that it defines, of the stack frames those that it entered or left.
 *
 * Kept are stretches in which nothing happens but instructions, of one task, and only for full
 * slices without users.
 */
#ifndef SLICER_SCAN_STRETCH_H
#define SLICER_SCAN_STRETCH_H

#include "slicer/scan/scan.h"
#include "slicer/scan/station.h"

/* Whether a scan is one whose stretches can be kept. */
bool slc_stretch_is_kept(const struct slc_scan *scan);

/*
 * What a scan had when it came to a stretch. Embedded by its holder, zeroed at first; to be freed
 * at the scan's end.
 */
struct slc_arrival {
    bool is_fit;
    struct slc_regs regs, passed;
    const struct slc_node *next;
    struct slc_frames_copy frames;
    struct slc_saved *saved;
    size_t saved_count, saved_capacity;
    struct slc_word_list words;
    struct slc_station *station; /* NULL if it cannot be */
    size_t initial_count, refused_count;
    unsigned landings_asked;
};
void slc_arrival_free(struct slc_arrival *arrival);

/* 1 if the scan was taken over the stretch, 0 if it has to be followed, or an error. Then
 * slc_stretch_keep() comes after it. */
int slc_stretch_take(struct slc_scan *scan, const struct slc_reach *reach,
                     struct slc_arrival *arrival);

/* Keeps what following the stretch did, if it can be kept; and the code's counts go to the
 * slice. */
int slc_stretch_keep(struct slc_scan *scan, const struct slc_reach *reach,
                     struct slc_arrival *arrival);

#endif
