/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A Whole Execution Trace in the interval form: everything that one process executed.
 *
 * The run is cut into *intervals* of some million instructions. What is kept of an interval is
 * what cannot be recomputed: where it starts (registers, memory), and the events that came in from
 * outside. A query that touches an interval runs it again in a replayee and gets *everything* back
 * as arrays (struct wet_interval), which are walked either way. (Larus 1990, abstract execution,
 * with the interval as the unit; Zhang & Gupta, WET, MICRO 2004 for what a WET holds.)
 *
 * Words. A *statement* is a machine instruction, named by its address. A *node* is a straight run
 * of instructions from a branch target to the next control transfer (64 at most), or part of one
 * when an event cut it. *Time* is the number of the instruction in the whole run, from 1, all tasks in replay
 * order, a rep string instruction counting once; "state at T" means just before instruction T, so
 * that times run from 1 to instructions + 1.
 *
 * One struct wet is for one thread (and may use another of its own: see wet_prefetch). Everything
 * returned as const pointer is borrowed until wet_close unless it says otherwise.
 */
#ifndef WET_WET_H
#define WET_WET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/event/queue.h"
#include "recorder/insn/insn.h"

struct wet;
struct mdl_model; /* wet/model/model.h */

typedef uint64_t wet_time;

/* ---- the run as a whole ---- */

struct wet_info {
    const char *program;     /* path that was exec'd */
    const char *const *argv; /* argc strings and NULL */
    size_t argc;
    int pid;
    int wait_status;     /* as wait(2) gives it; -1 if the recording does not tell */
    int signal;          /* number of the signal that ended the process, or 0 */
    int64_t signal_code; /* its si_code and si_addr, if it was a fault */
    uint64_t signal_address;
    wet_time signal_time; /* state at this time is that of the faulting instruction */
    /*
     * Times first_time..last_time are in the file: 1..instructions, unless it holds a window of the run
     * only. Everything that is counted here is of these times.
     */
    wet_time first_time, last_time;
    bool is_window;
    bool has_end;          /* last_time is the run's last one */
    uint64_t instructions; /* how many that are */
    uint64_t threads;      /* see wet_threads() */
    uint64_t places;       /* asynchronous events whose place in running code had to be found */
    uint64_t ambiguous;    /* of these: see wet_ambiguous_events() */
    uint64_t nodes;        /* distinct nodes that ran */
    uint64_t node_executions;
    uint64_t loads, stores; /* memory operands read, written (a rep instruction's range: one) */
    uint64_t syscalls;
    uint64_t events; /* recorded events taken; all that have registers were compared */
    uint64_t intervals;
    uint64_t wet_bytes;          /* of the whole file */
    uint64_t static_bytes;       /* of that: code, symbols, mapped files */
    double bits_per_instruction; /* of the rest */
};

/*
 * Opens FILE.wet: a mapping, no recording and no rr are needed. Errors: -ENOENT and other errno;
 * -WD_ERR_CORRUPT, -WD_ERR_VERSION; -WD_ERR_UNSUPPORTED if this CPU lacks what the run used.
 */
int wet_open(const char *path, struct wet **out);
void wet_close(struct wet *wet);

const struct wet_info *wet_get_info(const struct wet *wet);

/* Modules, functions, lines, variables, control dependence; lives as long as the wet. */
struct mdl_model *wet_get_model(struct wet *wet);

/* ---- what the file holds of the disk it was made on ---- */

struct wet_held_file {
    const char *path; /* as the recorded system knew it */
    uint64_t size_bytes;
    bool is_whole; /* a module; of other files there is what was mapped */
    /* Where the contents came from: a plain name is a file of the recording's own directory, a path
     * one outside. NULL in files of earlier versions, as is `proof`. */
    const char *backing;
    const char *proof; /* that it was what was recorded: "digest", "size and time", "size" */
    const char
        *debug_path; /* a separate debug file that is held, too; NULL if none is, or not known */
    const char *alt_path;            /* dwz's shared one */
    uint64_t debug_bytes, alt_bytes; /* 0: none */
};

size_t wet_held_file_count(const struct wet *wet);

/* File number n, below that count. Strings live as long as the wet. */
void wet_held_file_get(struct wet *wet, size_t n, struct wet_held_file *out);

/* 0, or -WD_ERR_CORRUPT if some debug file that the model asked for turned out damaged: it is read when
 * first needed, and what it would tell is missing in answers since. */
int wet_check_model(const struct wet *wet);

/*
 * How many bytes may be kept of what the queries work out, so that it need not be done again:
 * intervals run again, and tables that were read for them. 2 GiB if nothing is said. What was not
 * used for the longest time goes first. No query fails for it: an interval that is held, and the
 * latest one, stay whatever they take. As many bytes are granted to the program's own memory, which a file that is
 * not the user's own may otherwise want 512 MiB for, or 1024 times its size: what goes beyond that fails.
 */
void wet_set_memory(struct wet *wet, uint64_t bytes);

/*
 * The file is known to be the user's own. Else intervals run behind a wall (recorder/replay/engine.h), since what
 * they execute is whatever the file says. To be called before the first query.
 */
void wet_trust(struct wet *wet);

/* Asks the queries to give up soon with -WD_ERR_INTERRUPTED; async-signal-safe (Ctrl-C). */
void wet_interrupt(struct wet *wet);
void wet_interrupt_clear(struct wet *wet);

/* ---- threads ---- */

/*
 * A thread of the process, or a child by vfork until its exec. Entries, events and executions name a
 * *task*: a slot, which is used again after a thread has ended.
 */
struct wet_thread {
    uint32_t index;        /* in wet_threads() */
    int tid;               /* as recorded; 0: not known (before a fork that was followed) */
    const char *name;      /* its last one; at first that of its parent, or the program's */
    uint32_t task;         /* slot */
    bool has_ended;        /* before the run did, or with it */
    wet_time start;        /* it could run from this time on ... */
    wet_time end;          /* ... to this one; start - 1 if it ended at once */
    uint64_t instructions; /* that it executed */
    const struct wet_thread *parent; /* that made it; NULL for the first one */
};

/* In the order in which they began; at least one. */
const struct wet_thread *wet_threads(const struct wet *wet, size_t *count);

/* The thread that executed instruction t; NULL outside 1..instructions. Runs nothing. */
const struct wet_thread *wet_thread_at(const struct wet *wet, wet_time t);

/* The thread in a slot at a time (of an execution or an event); NULL if there was none yet. */
const struct wet_thread *wet_thread_of(const struct wet *wet, uint32_t task, wet_time t);

/* An asynchronous event that might have struck at another moment of the recorded run: at several
 * places registers, flags and what is known of memory were as recorded. The first one was taken. */
struct wet_ambiguous {
    wet_time time;  /* of the last instruction before it */
    uint64_t frame; /* the recording's event number */
    int signal;     /* 0: a switch to another thread */
    const struct wet_thread *thread;
};
const struct wet_ambiguous *wet_ambiguous_events(const struct wet *wet, size_t *count);

/* ---- nodes ---- */

struct wet_statement {
    const struct ins_info *info;
    uint64_t pc;
    uint16_t byte_off; /* into wet_node.code */
    uint16_t slot; /* index of the address of its first memory operand in an execution's slots */
    uint32_t slot_count;
};

struct wet_node {
    uint32_t id;
    uint32_t statement_count;
    uint64_t pc;
    const uint8_t *code;
    uint32_t code_bytes;
    uint32_t slot_count;
    const struct wet_statement *statements;
    uint64_t executions; /* in the whole run; 0 for a node that was added */
};

/* NULL if there is no such node (now: an interval that is run again may add some, in files with
 * places). Ids are below wet_node_limit(), not all in use. Stays valid. */
const struct wet_node *wet_get_node(struct wet *wet, uint32_t id);
uint32_t wet_node_limit(const struct wet *wet);

/* ---- intervals ---- */

/*
 * One execution of a node. Instruction i of the node has time first_time + time_off + i.
 * Its slots (in wet_interval.slots, from slot_off) are one u64 per memory operand in the order of
 * struct ins_info, effective address before the instruction, segment base included; except
 *  - INS_MEM_REP statements have 3 more after their operands: rcx before, rcx after, and the
 *    first operand's address register after (which gives the direction);
 *  - INS_MEM_LANES with a VSIB index: 1 + 16 slots: base + disp, then the index vector and the
 *    mask as raw 64-byte images (8 slots each).
 */
struct wet_exec {
    uint32_t node;
    uint32_t time_off; /* from wet_interval.first_time */
    uint32_t slot_off; /* in u64 */
    uint32_t task;
};

/*
 * Something that happened outside the instructions. `time` is that of the instruction after
 * which it happened (a `syscall` instruction's own time for its effects); for a fault or signal
 * the time at which the interrupted state is seen, minus 1. `exec` is the index of the last node
 * execution before it.
 */
struct wet_event {
    wet_time time;
    uint32_t exec;
    uint32_t task;
    const struct evq_entry *entry; /* kind, number, regs and ops; see recorder/event/queue.h */
};

struct wet_interval {
    uint64_t index;
    wet_time first_time; /* of its first instruction */
    uint64_t instructions;
    const struct wet_exec *execs;
    size_t exec_count;
    const uint64_t *slots;
    const struct wet_event *events;
    size_t event_count;
};

/*
 * Everything about interval k (0..intervals-1), run again if it is not cached. Borrowed until
 * wet_interval_put(); several may be held. Costs the regeneration of one interval (some 10 ms)
 * when it is not cached. -WD_ERR_DIVERGED if the file's contents do not reproduce themselves.
 */
int wet_interval_get(struct wet *wet, uint64_t k, const struct wet_interval **out);
void wet_interval_put(struct wet *wet, const struct wet_interval *interval);

/*
 * A hint: interval k will be asked for soon. It is run again beside the caller, by a thread of the
 * wet's own, and the wet_interval_get() that asks for it waits for what is left of that. One at a
 * time: does nothing if another is being run, k is kept already, or there is no such interval.
 * Never fails; why an interval cannot be run is said by the wet_interval_get() that wants it.
 * Queries that need the replayee meanwhile (wet_state_open, another interval) wait for it to end.
 *
 * wet_interval_get() of k + 2, k + 1, k (or upwards) is a walk: it does this for the next interval
 * without being asked.
 */
void wet_prefetch(struct wet *wet, uint64_t k);

/* The interval that holds time t (1..instructions; instructions + 1 gives the last one). */
uint64_t wet_interval_at(const struct wet *wet, wet_time t);

/* Number of executions of a node in interval k, without running it: the rank index. */
uint32_t wet_node_executions_in(const struct wet *wet, uint32_t node, uint64_t k);

/* True if a byte of [address, address + size) may have been written in interval k (by program or
 * kernel); false is certain. Without running it; granularity 256 bytes. */
bool wet_interval_may_write(const struct wet *wet, uint64_t k, uint64_t address, uint64_t size);

/* An indirect jump (not a call, not a return) and an address that it went to. */
struct wet_jump {
    uint64_t jump, target;
};

/* All pairs of the run, or of the window that the file holds, each once, by jump and target. A target
 * may be an address where no code is. */
const struct wet_jump *wet_jumps(const struct wet *wet, size_t *count);

/* ---- places in the run ---- */

/* How often the instructions at these addresses ran, altogether (addresses distinct). */
int wet_count_instances(struct wet *wet, const uint64_t *pcs, size_t pc_count, uint64_t *count);

/* Time of their k-th execution, from 1 in order of time, or from -1 backwards; -WD_ERR_NOT_FOUND
 * if there are fewer. Runs at most one interval. */
int wet_find_instance(struct wet *wet, const uint64_t *pcs, size_t pc_count, int64_t k,
                      wet_time *time);

/* Calls back for each execution with time in [from, to], in order; a non-zero return ends it and is
 * returned. Runs only intervals where some of them executed. */
typedef int (*wet_instance_fn)(void *arg, wet_time time, uint64_t pc);
int wet_each_instance(struct wet *wet, const uint64_t *pcs, size_t pc_count, wet_time from,
                      wet_time to, wet_instance_fn fn, void *arg);

/* ---- values ---- */

struct wet_state; /* registers and memory just before instruction T */

/* The state at time t (1..instructions + 1). Runs at most one interval. wet_state_close frees it;
 * it must not outlive the wet. */
int wet_state_open(struct wet *wet, wet_time t, struct wet_state **out);
void wet_state_close(struct wet_state *state);
/* Moves the state on to a later time: much cheaper than a new one where both lie in one interval
 * and nothing else was asked of the wet since. Registers are then those of the task that runs at t.
 * Errors as of wet_state_open(); after one, wet_state_close() is all that is allowed. */
int wet_state_advance(struct wet_state *state, wet_time t);
const struct evq_regs *wet_state_regs(const struct wet_state *state);
uint32_t wet_state_task(const struct wet_state *state);
/* From now on registers, vectors and task are those of the task in another slot, which may be
 * waiting. -WD_ERR_NOT_FOUND if there is none at that time; then nothing has changed. */
int wet_state_select(struct wet_state *state, uint32_t task);
/* Standard-format XSAVE image of this machine's layout. */
const uint8_t *wet_state_xstate(const struct wet_state *state, size_t *size_bytes);
/* Out of it, a vector register (0 to 31), and zeros up to 64 bytes; *width (may be NULL) is how many of
 * them registers have here: 16, 32 or 64. -WD_ERR_UNSUPPORTED if there is no such register here: 16 to
 * 31 and the masks came with AVX-512. -WD_ERR_NOT_FOUND if vector registers are not known. */
int wet_state_vector(const struct wet_state *state, unsigned number, uint8_t bytes[64],
                     unsigned *width);
/* Mask register k0 to k7. Errors as above. */
int wet_state_mask(const struct wet_state *state, unsigned number, uint64_t *mask);
/* Reads all of [address, address + size) or fails with -EFAULT (address named). */
int wet_state_read(struct wet_state *state, uint64_t address, void *bytes, size_t size);

/* The mappings at that time, by address. */
struct wet_mapping {
    uint64_t start, end;
    int prot;
    const char *name; /* path, "[stack]", "[heap]", "" */
};
int wet_state_mappings(struct wet_state *state, const struct wet_mapping **list, size_t *count);

/* ---- what was written ---- */

/*
 * One thing that an instruction or the kernel wrote. Left out: the stack pointer, and memory that a
 * mapping brought. Of what xsave, stores with a mask and those of more than 512 bytes wrote, values are
 * not known (`after` is NULL, the range one that they lie in); until the next interval begins, memory
 * there is shown as it was before.
 */
struct wet_effect {
    wet_time time;                 /* of the instruction; of the kernel's as in struct wet_event */
    uint64_t pc;                   /* 0: the kernel */
    const struct wet_event *event; /* that the kernel wrote it for, or NULL; `exec` is not set */
    int reg;                       /* enum ins_gpr, or -1: memory */
    uint64_t address;
    uint64_t size;         /* bytes; of a register always 8 */
    const uint8_t *before; /* NULL for registers, and if `after` is */
    const uint8_t *after;
};

struct wet_effects; /* a second replayee, which tells results too, and memory as it was */

/* *out is for wet_effects_close(), before the wet is closed. -ENOMEM. */
int wet_effects_open(struct wet *wet, struct wet_effects **out);
void wet_effects_close(struct wet_effects *effects);

/*
 * Runs interval k and calls back with all that it wrote, in order; a non-zero result ends that and is
 * returned. With `registers` results of instructions in general registers too. The callback may ask
 * nothing of the wet but wet_effects_read().
 */
typedef int (*wet_effect_fn)(void *arg, const struct wet_effect *effect);
int wet_effects_each(struct wet_effects *effects, uint64_t k, bool registers, wet_effect_fn fn,
                     void *arg);

/* For a callback: memory just after the effect; what is not mapped reads as zeros. */
int wet_effects_read(struct wet_effects *effects, uint64_t address, void *bytes, size_t size);

/* How many writes of unknown values were met so far. */
uint64_t wet_effects_unknown(const struct wet_effects *effects);

/* ---- output and events ---- */

/* A piece of what write(2) and kin put out: `size` bytes that were at `address` when instruction
 * `time` (the syscall) ran, position `offset` in all bytes written to that descriptor. Pieces of a
 * vectored write follow each other. Ordered by time. */
struct wet_output {
    int fd;
    wet_time time;
    uint64_t offset;
    uint64_t address;
    uint64_t size;
};
const struct wet_output *wet_outputs(const struct wet *wet, size_t *count);

/* All events of the run in order (time, entry), without running anything. `exec` is not set. */
int wet_each_event(struct wet *wet, int (*fn)(void *arg, const struct wet_event *event), void *arg);

#endif
