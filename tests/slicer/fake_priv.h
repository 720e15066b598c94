/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What fake_run.c gathers and fake_wet.c answers from. */
#ifndef TESTS_SLICER_FAKE_PRIV_H
#define TESTS_SLICER_FAKE_PRIV_H

#include <stdlib.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "tests/slicer/fake_wet.h"
#include "tests/slicer/vec.h"

struct code {
    uint64_t pc;
    uint8_t bytes[16];
    struct ins_info info;
    struct ins_info *settled[8]; /* of what names st(i), by TOP; NULL: not met */
};

struct undo { /* memory before an instruction */
    wetdbg_time time;
    uint64_t address;
    uint32_t size;
    size_t off; /* into undo_bytes */
};

struct region {
    uint64_t start, end;
    int prot;
    uint8_t *bytes; /* at the end */
    char name[256];
};

struct fake_event {
    wetdbg_time time;
    uint32_t task;
    size_t off; /* of its entry, in u64 of event_words */
};

#define FAKE_SPANS_MAX 8

/* What a call that is being made does with bytes. */
struct fake_passing {
    bool is_call, is_peek;
    struct fake_end from, to;
    struct iovec spans[FAKE_SPANS_MAX];
    unsigned span_count;
    size_t first; /* of its happenings */
};

/* A thread that runs, or did. */
struct fake_task {
    pid_t tid;
    bool is_live, is_blocked; /* in a system call */
    struct user_regs_struct
        regs;                   /* before its next instruction; of a blocked one, before the call */
    wetdbg_time call;           /* of a blocked one */
    uint64_t cleared_tid;       /* zeroed when it ends; 0 if nothing is */
    uint64_t handler_stack_end; /* of the stack for handlers; 0: there is none */
    size_t thread;              /* in threads */
    struct fake_passing passing;
};

/* Memory that shows a file. */
struct fake_mapping {
    uint64_t address, size, offset;
    uint32_t object;
};

struct wetdbg {
    pid_t pid;
    int memory;
    struct wetdbg_info info;
    struct wetdbg_model *model;
    VEC(struct code *) code; /* hash by pc */
    VEC(struct fake_step) steps;
    VEC(struct user_regs_struct) regs;
    VEC(uint64_t) slots;
    VEC(struct undo) undo;
    VEC(uint8_t) undo_bytes;
    VEC(struct fake_happening) happenings;
    VEC(struct fake_object) objects;
    VEC(struct fake_mapping) shown; /* as they are now */
    VEC(struct wetdbg_thread) threads;
    VEC(uint32_t) executors;                /* thread of each step */
    struct fake_task tasks[FAKE_TASKS_MAX]; /* by slot */
    struct fake_options options;
    uint64_t random;
    uint64_t handled;   /* bit n: signal n has a handler */
    uint32_t last_task; /* that was to go on at the end */
    VEC(struct wetdbg_output) outputs;
    VEC(struct fake_event) fake_events;
    VEC(uint64_t) event_words;
    VEC(struct region) regions;
    VEC(struct wetdbg_mapping) mappings;
    VEC(struct wet_node) nodes;
    VEC(struct wet_exec) execs;
    VEC(uint64_t) exec_slots;
    VEC(struct wet_event) events;
    VEC(struct wet_interval) intervals;
    uint32_t node_heads[1 << 16]; /* index + 1, by pc and count */
    VEC(struct wetdbg_jump) jumps;
    VEC(size_t) first_execs, first_events, first_slots;
};

/* fake_channels.c: a call is about to be made; it has come back. */
void fake_channels_enter(struct wetdbg *wet, uint32_t slot);
/* Memory shows nothing any more. */
void fake_channels_hide(struct wetdbg *wet, uint32_t slot, wetdbg_time call, uint64_t address,
                        uint64_t size);
/* What the call put into a file becomes ops where memory shows that. */
void fake_channels_show(struct wetdbg *wet, uint32_t slot, uint64_t result);
void fake_channels_exit(struct wetdbg *wet, uint32_t slot, wetdbg_time call,
                        const struct user_regs_struct *before, uint64_t result);

/* fake_run.c: memory as it is now becomes an op; memory is kept as it is before this time. */
void fake_push_memory(struct wetdbg *wet, uint64_t address, uint64_t size);
void fake_keep_undo(struct wetdbg *wet, uint64_t address, uint64_t size);

struct evq_regs fake_queue_regs(const struct user_regs_struct *regs);

/* The memory and the modules at the end of the run; to be called while it still stands. */
void fake_keep_end(struct wetdbg *wet);

/* Nodes, executions and events, once the run has ended. */
void fake_build_intervals(struct wetdbg *wet);

#endif
