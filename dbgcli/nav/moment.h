/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A time in the run, looked at: registers, memory, and the stack frames of a thread (at first the
 * one that runs the next instruction), inlined functions included. */
#ifndef DBGCLI_NAV_MOMENT_H
#define DBGCLI_NAV_MOMENT_H

#include <stdbool.h>

#include <wetdbg/model.h>
#include <wetdbg/wet.h>

struct cli_kept;
struct cli_manner;

struct cli_frame {
    struct wetdbg_frame_regs regs;
    uint64_t lookup_pc;   /* to look up lines and variables with */
    unsigned depth;       /* how many functions of the same machine's frame are inlined into it */
    bool is_inlined;      /* its function is inlined into that of the next frame */
    bool is_signal;       /* the kernel made it when it called a signal handler */
    bool is_tail;         /* its function is no longer on the stack: it ended by a jump */
    bool is_top;          /* the stack's innermost: vector registers are known too */
    const char *function; /* borrowed from the model; NULL: unknown */
    const char *linkage_name;
    const char *module;
    const char *file; /* NULL: no line information */
    uint32_t line;
};

struct cli_moment {
    struct wetdbg *wet;
    struct wetdbg_model *model;
    wetdbg_time time;
    struct wetdbg_state *state;
    bool is_borrowed;                    /* the state is somebody else's */
    const struct wetdbg_thread *running; /* NULL: nobody does, and who did has left */
    const struct wetdbg_thread *thread;  /* whose frames and registers these are; NULL: as above */
    struct cli_frame *frames;            /* innermost first; at least one */
    size_t frame_count;
    char *broken; /* why the frames end too early, or NULL */
    /* The session's $1 and $x, for expressions; NULL: there are none. eval/kept.h */
    struct cli_kept *kept;
    const struct cli_manner *manner; /* how values are written; NULL: the usual one. eval/value.h */
};

/* *out is for cli_moment_close(), before the wet is closed. Errors of wetdbg_state_open(). A stack
 * that cannot be unwound is no error: `broken` tells. */
int cli_moment_open(struct wetdbg *wet, wetdbg_time time, struct cli_moment **out);

/* Looks at a state that stays its owner's, and is to stay where it is until the moment is
 * closed. */
struct cli_moment *cli_moment_of_state(struct wetdbg *wet, wetdbg_time time,
                                       struct wetdbg_state *state);

/* The same, with the frames of the machine's innermost one only: for what is asked often. */
struct cli_moment *cli_moment_of_top(struct wetdbg *wet, wetdbg_time time,
                                     struct wetdbg_state *state);

/* Goes on with another thread's registers and frames. -WETDBG_ERR_NOT_FOUND if it has not begun or
 * has ended; then nothing has changed. NULL for the one at first. */
int cli_moment_select(struct cli_moment *moment, const struct wetdbg_thread *thread);
void cli_moment_close(struct cli_moment *moment); /* NULL is fine */

/* Reads registers and memory of frame `frame` for the model's queries. The machine is good as
 * long as `view` is. */
struct cli_frame_view {
    struct cli_moment *moment;
    size_t frame;
};
struct wetdbg_machine cli_frame_machine(struct cli_frame_view *view);

/* The vector register that a DWARF number stands for, or -1. */
int cli_dwarf_vector(unsigned dwarf_reg);

/* The register of that DWARF number in a frame; -WETDBG_ERR_NOT_FOUND if it was not preserved. */
int cli_frame_register(const struct cli_frame_view *view, unsigned dwarf_reg, uint64_t *value);

/* Finds the machine's frame in which an address lies: *index, and where its return address is.
 * False: it lies in none. */
bool cli_frame_holding(struct cli_moment *moment, uint64_t address, uint64_t *return_slot,
                       size_t *index);

/* The frame to begin with: the innermost one with a source line, else 0. */
size_t cli_moment_first_frame(const struct cli_moment *moment);

#endif
