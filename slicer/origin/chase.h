/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of following one value back: shared by origin.c, chase_step.c and chase_kernel.c. */
#ifndef SLICER_ORIGIN_CHASE_H
#define SLICER_ORIGIN_CHASE_H

#include "slicer/call_events.h"
#include "slicer/channels/channels.h"
#include "slicer/scan/code_summary.h"
#include <wetdbg/origin.h>

enum slc_track_state {
    SLC_TRACK_LIVE,
    /* a call of `spot.task` defined it: the task's next instruction completes the hop */
    SLC_TRACK_CALL,
    SLC_TRACK_ASIDE, /* a register that a signal handler did not touch; comes back at its start */
    SLC_TRACK_HELD,  /* what a call had put where another delivered it: goes on at that call */
    SLC_TRACK_DONE,
};

/* Who sent a byte that was delivered. */
struct slc_sending {
    bool is_known;        /* false: it came from outside */
    wetdbg_time received; /* of the call that delivered it */
    wetdbg_time time;     /* of the call; 0: the byte is in memory at `address` */
    uint32_t sender;      /* of channels */
    uint64_t offset;      /* in what it sent */
    uint64_t address;     /* where it was */
    uint8_t value;
};

/* One byte of the value. */
struct slc_track {
    struct wetdbg_spot spot;
    enum slc_track_state state;
    unsigned location;          /* of a register */
    size_t hop;                 /* CALL */
    uint64_t ucontext;          /* ASIDE */
    struct slc_sending sending; /* CALL, HELD */
};

/* What a task's last system call was, seen backward. */
struct slc_call {
    int32_t number; /* -1: none is known */
    uint64_t args[6];
    int64_t result;
};

/* The instruction of a hop, whose text is made at the end. */
struct slc_hop_code {
    const uint8_t *code; /* NULL: none */
    uint8_t bytes;
};

/* An origin and what it keeps alive. */
struct slc_origin {
    struct wetdbg_origin is;       /* first: its address is the whole one's */
    struct slc_channels *channels; /* the names of its files are in hops; NULL: none was needed */
};

struct slc_chase {
    struct wetdbg *wet;
    struct slc_code code;
    struct wetdbg_origin *origin;
    size_t hop_capacity, code_capacity;
    struct slc_hop_code *codes; /* of the origin's hops */
    struct slc_track tracks[WETDBG_VALUE_BYTES_MAX];
    struct slc_track next[WETDBG_VALUE_BYTES_MAX]; /* while an instruction is passed: after it */
    struct slc_call *calls;                        /* by task */
    const struct wet_interval *interval;
    size_t event_at; /* events[event_at - 1] is the next one */
    /* The places of all tracks that are not done; slc_chase_sum() makes regs and ranges. */
    struct ins_regset regs; /* of any task */
    struct ins_range ranges[WETDBG_VALUE_BYTES_MAX];
    unsigned range_count;
    bool has_registers, has_calls, has_asides, has_held, is_over;
    const struct wetdbg_slice_options *options; /* or NULL */
    double reported;                            /* when progress was told of last; wd_seconds() */
};

/* The byte at a place of the state's thread; false if it is not known. */
bool slc_spot_read(struct wetdbg_state *state, const struct wetdbg_spot *spot, uint8_t *byte);

/* Arguments and result of a task's last call. */
void slc_hop_set_call(struct wetdbg_hop *hop, const struct slc_call *call);

/* Forgets all but where the bytes are now. */
void slc_chase_sum(struct slc_chase *chase);

/* A spot and, for registers, its location. */
void slc_track_move(struct slc_track *track, struct wetdbg_spot spot);

/* A new hop, all zero but its kind, time and pc; NULL if memory is short. Borrowed until the
 * next. */
struct wetdbg_hop *slc_chase_hop(struct slc_chase *chase, enum wetdbg_hop_kind kind,
                                 wetdbg_time time, uint64_t pc);

/* Notes the instruction of the last hop. */
void slc_chase_note_code(struct slc_chase *chase, const uint8_t *code, uint8_t bytes);

/* Takes the last two hops away if they restored and saved a register. */
void slc_chase_bypass(struct slc_chase *chase);

/* Adds byte i of the value to a hop that leads from `from`. */
void slc_hop_add(struct wetdbg_hop *hop, unsigned i, struct wetdbg_spot to,
                 struct wetdbg_spot from);

/* Passes an instruction that may define a byte of the value. 0 or an error. */
int slc_chase_step(struct slc_chase *chase, const struct wet_exec *exec,
                   const struct wet_node *node, uint32_t statement);

/* Passes something from outside the instructions; events come in reverse order. */
int slc_chase_event(struct slc_chase *chase, size_t index);

/* ---- through the kernel; slicer/origin/chase_passed.c ---- */

/* The origin's, made when they are first asked for. 0 or an error. */
int slc_chase_channels(struct slc_chase *chase, struct slc_channels **channels);

/* Who sent the byte that a call delivered at an address, by an op of an entry. 0 or an error. */
int slc_chase_received(struct slc_chase *chase, const struct evq_entry *entry,
                       const struct evq_op *op, uint64_t address, struct slc_sending *sending);

/* Has a byte that was delivered, and whose sender is known, go on. */
void slc_chase_delivered(struct slc_track *track);

/* Passes the begin of a call: bytes that it sent go on in its memory. 0 or an error. */
int slc_chase_sent(struct slc_chase *chase, const struct wet_event *event);

/* Ends the chains that are left at the start of the run. */
int slc_chase_end(struct slc_chase *chase);

#endif
