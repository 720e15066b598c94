/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The calls that a walk is inside of, and passing over whole calls and signal handlers either way.
 *
 * Intervals in which neither the return address nor anything that unwinds the stack was executed
 * are passed over unseen: the rank index of the run tells.
 */
#ifndef DBGCLI_NAV_CALL_WALK_H
#define DBGCLI_NAV_CALL_WALK_H

#include "dbgcli/commands/session.h"
#include "dbgcli/meter.h"
#include <wetdbg/walk.h>

/* Embedded by its holder. */
struct cli_calls {
    struct cli_session *session;
    struct wetdbg_walk *walk;
    uint64_t
        *slots;     /* of the frames, outermost first; known as far as the stack could be unwound */
    size_t depth;   /* how many there are: slots[depth - 1] is the innermost one's */
    size_t skipped; /* inlined functions that begin where the walk stands and are not entered yet */
    uint64_t *leavers; /* entries of functions that unwind the stack */
    size_t leaver_count;
    bool leavers_known;
    struct cli_meter meter;
};

enum cli_calls_end {
    CLI_CALLS_DONE,
    CLI_CALLS_LEFT,  /* the frame was left otherwise: by longjmp, an exception */
    CLI_CALLS_ENDED, /* the thread ended (began) first */
};

/* Stands at the session's time with the session's thread. 0, and cli_calls_fini() is due. */
int cli_calls_init(struct cli_calls *calls, struct cli_session *session);
void cli_calls_fini(struct cli_calls *calls);

/* The slot of the innermost frame; 0 if it is not known (the outermost one). */
uint64_t cli_calls_slot(const struct cli_calls *calls);

/* Finds out the frames anew from the stack as it is where the walk stands. */
int cli_calls_unwind(struct cli_calls *calls);

/* Pass from a function's first instruction to behind its return, from a return's instruction back
 * to the call. `address` is where it returns to. enum cli_calls_end, or an error. The frames are
 * not touched. */
int cli_calls_forward(struct cli_calls *calls, uint64_t slot, uint64_t address);
int cli_calls_back(struct cli_calls *calls, uint64_t slot, uint64_t address);

/*
 * The walk stands before a jump into the middle of another function, which was made at `landing`
 * with the stack pointer `rsp`: longjmp. Goes back to the call, in the function where it landed, of
 * what was left that way. 1; 0 at the thread's start.
 */
int cli_calls_back_from_landing(struct cli_calls *calls, const struct wetdbg_walk_node *landing,
                                uint64_t rsp);

/* Goes back to the call with that slot, however the function was reached from it: 1, 0 or an
 * error. */
int cli_calls_back_to_call(struct cli_calls *calls, uint64_t slot);

bool cli_calls_is_wild_jump(const struct wetdbg_walk_node *from, const struct wetdbg_walk_node *to);
int cli_calls_stack_pointer(struct cli_calls *calls, uint64_t *rsp);

/* wetdbg_walk_next() and wetdbg_walk_previous(), but past signal handlers. 1, 0, or an error. */
int cli_calls_next(struct cli_calls *calls);
int cli_calls_previous(struct cli_calls *calls);

/* The slot of frame `index` of the session's moment, and where it returns to. -WETDBG_ERR_NOT_FOUND
 * for the outermost one. */
int cli_calls_frame(const struct cli_moment *moment, size_t index, uint64_t *slot,
                    uint64_t *address);

static inline bool cli_calls_is_call(const struct wetdbg_walk_node *node)
{
    return node->transfer == WETDBG_TRANSFER_CALL;
}

#endif
