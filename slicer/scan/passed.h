/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Bytes that went through the kernel, seen backward: slicer/channels/channels.h for a scan.
 *
 * The scan meets who delivered a wanted byte first. From the call's instruction on the byte is
 * wanted of the call that had sent it: it is *held*, at its place among all that calls sent, until
 * the scan comes to that call. There it is wanted of the buffer, if that had the value that was
 * delivered.
 */
#ifndef SLICER_SCAN_PASSED_H
#define SLICER_SCAN_PASSED_H

#include "recorder/event/ops.h"
#include "slicer/scan/want.h"
#include "wet/intervals.h"

struct slc_scan;
struct slc_task;
struct slc_passed_bytes; /* slicer/criteria/criterion.h */

/* What a call's instruction will want, beside what all such calls use: a byte each. */
struct slc_carried {
    uint64_t at;   /* an address, or a place */
    bool is_place; /* then the byte has a value, if that is known: */
    bool has_value;
    uint8_t value;
};

struct slc_held_page;

/* Embedded by its holder. */
struct slc_held {
    struct slc_memory wants; /* by place; no table: nothing was ever held */
    struct slc_held_page *pages;
    size_t page_count, page_capacity;
    struct wd_index index;
};
void slc_held_fini(struct slc_held *held);

static inline bool slc_held_is_empty(const struct slc_held *held)
{
    return held->wants.word_count == 0;
}

/* Notes wanted bytes that the kernel wrote for the task's call, of what `entry` says: of its op or,
 * if that is none that has bytes, of its mapping. `first` is one that is wanted. To be called
 * before they are dropped. 0 or an error. */
int slc_passed_receive(struct slc_scan *scan, struct slc_task *task, const struct evq_entry *entry,
                       const struct evq_op *op, uint64_t first, uint64_t end);

/*
 * To be called when a call's end has been passed that came at `ended`. Of a call that waited, what
 * it carried is wanted at once: who sent it may have done so after the call was made, and is met
 * before its instruction. That instruction's wants are known: of what the kernel wrote, and of its
 * result.
 */
int slc_passed_end(struct slc_scan *scan, struct slc_task *task, wetdbg_time ended);

/* Passes the begin of a call: what is held of its bytes makes the call wanted. 0 or an error. */
int slc_passed_send(struct slc_scan *scan, struct slc_task *task, wetdbg_time time);

/* Wants what the task's call carried, for its instruction. `want` has user and distance. 0 or an
 * error. */
int slc_passed_want(struct slc_scan *scan, struct slc_task *task, struct slc_want *want);

/* Wants bytes that a call of a criterion took from one descriptor and put into another. 0 or an
 * error. */
int slc_passed_seed(struct slc_scan *scan, const struct slc_passed_bytes *bytes,
                    struct slc_want *want);

/* Wants what the call at `time`, of a criterion, brought back of what the run had sent. 0 or an
 * error. */
int slc_passed_brought(struct slc_scan *scan, wetdbg_time time, struct slc_want *want);

/* Whether something is held that calls of interval k sent. */
bool slc_passed_concerns(const struct slc_scan *scan, uint64_t k);

#endif
