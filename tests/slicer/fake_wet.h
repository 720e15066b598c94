/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A stand-in for a wet: runs a program natively under single-stepping and answers the queries of
 * wet/intervals.h from what it saw. No recording, no replay, no translator; everything is in
 * memory. Threads take turns as a random number says, and signals can be sent at random moments.
 */
#ifndef TESTS_SLICER_FAKE_WET_H
#define TESTS_SLICER_FAKE_WET_H

#include "wet/intervals.h"

#define FAKE_INTERVAL  5000
#define FAKE_TASKS_MAX 16

/* One executed instruction; fake_step(wet, t) has time t. */
struct fake_step {
    const struct ins_info *info;      /* of this execution: ins_settle() */
    const struct ins_info *described; /* of all */
    uint64_t pc;
    uint64_t rsp;    /* before it */
    size_t slot_off; /* into fake_slots(): as struct wet_statement says for one instruction */
    uint32_t node, statement;
    uint32_t task; /* slot */
};

/* Runs argv[0] with the file as stdin (NULL: /dev/null). Its standard output is discarded (but
 * known). 0 or -1 with a message on stderr. */
int fake_wet_run(char *const argv[], const char *input, uint64_t max_steps, struct wetdbg **out);

/* What else to do. All zero: threads go on while they can, and no signals. */
struct fake_options {
    uint64_t seed;         /* of what follows; not 0 */
    unsigned turn_steps;   /* a turn is up to so many instructions; 0: no end of its own */
    bool no_clone3;        /* as under rr: threads are made by clone */
    int signal;            /* sent now and then once it has a handler; 0: none */
    unsigned signal_steps; /* after up to so many instructions */
};
int fake_wet_run_with(char *const argv[], const char *input, uint64_t max_steps,
                      const struct fake_options *options, struct wetdbg **out);

const struct fake_step *fake_step(const struct wetdbg *wet, wetdbg_time time);
const uint64_t *fake_slots(const struct wetdbg *wet);

/* What happened outside the instructions, in order. */
enum fake_kind {
    FAKE_WRITE,   /* size bytes at address, for the system call at `call` (0: for none), clipped to
                      * what that returned */
    FAKE_THREAD,  /* a thread began in slot `other` */
    FAKE_HANDLER, /* a handler was called: its frame is size bytes at address, which is rsp */
    FAKE_HANDLER_END, /* rt_sigreturn with the ucontext at address */
    /* What the call at `call` did with bytes of files, pipes and sockets: */
    FAKE_SENT,   /* it put size bytes at address into `to` */
    FAKE_TAKEN,  /* it took those, which it wrote, from `from` */
    FAKE_COPIED, /* it put size bytes of `from` into `to` */
    FAKE_SHOWN,  /* size bytes at address are those of `from` from now on */
    FAKE_HIDDEN, /* size bytes at address are nothing's any more */
    FAKE_CUT,    /* `to` ends at its offset; or, with a size, so many bytes there become zeros */
    FAKE_LENT,   /* it wrote size bytes at address out of those at `lender` */
};

/* An object of the kernel, and where in it; queues have no offsets. */
struct fake_end {
    uint32_t object; /* UINT32_MAX: none that is known */
    uint64_t offset;
};
struct fake_object {
    uint64_t device, inode;
    uint32_t peer; /* of a socket */
    bool is_queue, has_messages;
};

struct fake_happening {
    enum fake_kind kind;
    wetdbg_time time; /* of the instruction before it, of any thread */
    wetdbg_time call;
    uint32_t task; /* slot */
    uint32_t other;
    uint64_t address, size;
    uint64_t clone_args;               /* THREAD: address of clone3's; 0: clone */
    bool stack_is_given, tls_is_given; /* THREAD: by the arguments */
    uint64_t fault_pc;                 /* HANDLER: of the instruction that faulted; 0: none did */
    struct fake_end from, to;
    uint64_t lender;
    bool is_peek;    /* what was taken is still there */
    bool is_message; /* a message begins */
    bool is_own;     /* HANDLER: the instruction `time`, a call, sent the signal to its thread */
};
const struct fake_object *fake_object(const struct wetdbg *wet, uint32_t object);
const struct fake_happening *fake_happenings(const struct wetdbg *wet, size_t *count);

#endif
