/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a slice is made of, for the scan that fills it and the queries that read it. */
#ifndef SLICER_SLICE_PRIV_H
#define SLICER_SLICE_PRIV_H

#include "slicer/call_bytes.h"
#include "slicer/scan/want.h"
#include "slicer/slice_session.h"

struct slc_member {
    wetdbg_time parent; /* SLC_USER_FAULT, or 0 for a criterion's instance */
    uint64_t address;
    uint32_t time_off; /* in its interval */
    uint32_t pc_index; /* in code.pcs */
    uint32_t distance;
    uint16_t location;
    uint8_t edge;
};

/* The members in one interval. */
struct slc_share {
    wetdbg_time first_time;
    uint64_t instructions;
    uint64_t *bits;             /* by time - first_time; NULL if there are none */
    struct slc_member *members; /* latest first; only with record_parents */
    size_t member_count, member_capacity;
};

struct wetdbg_slice {
    struct wetdbg *wet;
    struct wetdbg_slice_options options;
    struct wetdbg_slice_session *session; /* held while there are users */
    unsigned users;                       /* who will call wetdbg_slice_free() */
    bool is_kept;                         /* by the session, too: slicer/forward/answers.h */
    struct slc_code *code;                /* the session's */
    struct wetdbg_slice_counts counts;
    struct slc_share *shares; /* by interval */
    uint64_t share_count;
    struct slc_count *totals; /* by index in code's pcs */
    uint32_t total_capacity;
    bool *announced; /* by index in code's lines */
    uint32_t announced_capacity;
    struct wetdbg_slice_line *sorted; /* what wetdbg_slice_lines() gives */
    uint32_t *order;                  /* sorted[i] is the code's lines[order[i]] */
    struct wetdbg_slice_initial *initials;
    size_t initial_count, initial_capacity;
    struct slc_call_bytes calls; /* of calls in it: which of their bytes it is about */
    struct wetdbg_slice_initial *initials_by_user; /* only with record_parents */
    size_t initial_by_user_count;
    bool is_forward;
    bool reaches_crash; /* of a forward slice */
    struct wetdbg_slice_reached *reached;
    size_t reached_count, reached_capacity;
    /* An instruction that did not complete: a backward slice's criterion, or what a forward one
     * came to. */
    bool has_fault;
    wetdbg_time fault_time;
    uint32_t fault_pc;   /* in code.pcs */
    uint32_t fault_task; /* slot */
    struct slc_want
        fault_want; /* of a forward slice: what it used, as of any instance; else none */
    uint64_t fault_address;
};

struct wetdbg_slice *slc_slice_new(struct wetdbg *wet, const struct wetdbg_slice_options *options);

/* Counts one user more. */
void slc_slice_hold(struct wetdbg_slice *slice);
/* The session keeps it no longer. */
void slc_slice_release(struct wetdbg_slice *slice);

/* Forgets all members, for another pass. */
void slc_slice_restart(struct wetdbg_slice *slice);

/* Adds an instance of interval k, and counts it in code; `want` is its nearest user's. 0 or
 * -ENOMEM. */
int slc_slice_add(struct wetdbg_slice *slice, const struct wet_interval *interval, wetdbg_time time,
                  uint32_t pc_index, const struct slc_want *want, uint64_t address);

/* Adds an instance of a forward slice that had been passed when it was found to be in it: of
 * interval `now` or an earlier one. Or brings it nearer. 0, -ENOMEM or an error of the wet. */
int slc_slice_add_late(struct wetdbg_slice *slice, const struct wet_interval *now, wetdbg_time time,
                       uint32_t pc_index, const struct slc_want *want, uint64_t address);

/* The bitmap of an interval's members; NULL before the first one. With a word more at its end. */
uint64_t *slc_slice_bits(const struct wetdbg_slice *slice, const struct wet_interval *interval);
/* Makes an interval's bitmap, if there is none. 0 or -ENOMEM. */
int slc_slice_make_bits(struct wetdbg_slice *slice, const struct wet_interval *interval,
                        uint64_t **bits);

/* Puts an interval's members, added in order of time, into their order: latest first. */
void slc_slice_turn_members(struct wetdbg_slice *slice, const struct wet_interval *interval);

/* Makes what the session's code counted the slice's: at the end of an interval. 0, -ENOMEM or
 * -WETDBG_ERR_INTERRUPTED. */
int slc_slice_collect(struct wetdbg_slice *slice);

/* Adds an instruction that did not complete. Of a forward slice, `want` and `address` are as
 * slc_slice_add() has them; NULL: it is the criterion, or neither has parents. */
int slc_slice_add_fault(struct wetdbg_slice *slice, wetdbg_time time, uint64_t pc, uint32_t task,
                        const struct slc_want *want, uint64_t address);

int slc_slice_add_initial(struct wetdbg_slice *slice, const struct wetdbg_slice_initial *initial);

/* The record of a member's time (record_parents), and the share that it is in; NULL if there is
 * none. Members of a share are sorted, latest first. `time` is one of the run. */
const struct slc_member *slc_slice_find(const struct wetdbg_slice *slice, wetdbg_time time,
                                        const struct slc_share **found);

/* Sorts and counts; after the last pass. */
int slc_slice_finish(struct wetdbg_slice *slice);

/* Adds what an interval counted, one entry for each address, to the slice's totals, and tells of
 * new lines; slicer/slice_lines.c. 0, -ENOMEM or -WETDBG_ERR_INTERRUPTED. */
int slc_lines_add(struct wetdbg_slice *slice, const struct slc_count *counts, size_t count);
int slc_lines_finish(struct wetdbg_slice *slice);
void slc_lines_restart(struct wetdbg_slice *slice);

#endif
