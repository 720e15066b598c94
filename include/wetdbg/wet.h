/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A Whole Execution Trace in the interval form: everything that one process executed.
 *
 * The run is cut into *intervals* of some million instructions. What is kept of an interval is
 * what cannot be recomputed: where it starts (registers, memory), and the events that came in from
 * outside. A query that touches an interval runs it again in a replayee and gets *everything* back,
 * to be walked either way. (Larus 1990, abstract execution,
 * with the interval as the unit; Zhang & Gupta, WET, MICRO 2004 for what a WET holds.)
 *
 * Words. A *statement* is a machine instruction, named by its address. A *node* is a straight run
 * of instructions from a branch target to the next control transfer (64 at most), or part of one
 * when an event cut it. *Time* is the number of the instruction in the whole run, from 1, all tasks
 * in replay order, a rep string instruction counting once; "state at T" means just before
 * instruction T, so that times run from 1 to instructions + 1.
 *
 * One struct wetdbg is for one thread (and may use another of its own, which runs the interval that
 * will be wanted next). Everything returned as const pointer is borrowed until wetdbg_close unless
 * it says otherwise.
 */
#ifndef WETDBG_WET_H
#define WETDBG_WET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wetdbg/api.h>

WETDBG_BEGIN

struct wetdbg;
struct wetdbg_model;     /* <wetdbg/model.h> */
struct user_regs_struct; /* <sys/user.h>: all registers but vectors and masks */

typedef uint64_t wetdbg_time;

/* ---- the run as a whole ---- */

struct wetdbg_info {
    const char *program;     /* path that was exec'd */
    const char *const *argv; /* argc strings and NULL */
    size_t argc;
    int pid;
    int wait_status;     /* as wait(2) gives it; -1 if the recording does not tell */
    int signal;          /* number of the signal that ended the process, or 0 */
    int64_t signal_code; /* its si_code and si_addr, if it was a fault */
    uint64_t signal_address;
    wetdbg_time signal_time; /* state at this time is that of the faulting instruction */
    /*
     * Times first_time..last_time are in the file: 1..instructions, unless it holds a window of the
     * run only. Everything that is counted here is of these times.
     */
    wetdbg_time first_time, last_time;
    bool is_window;
    bool has_end;          /* last_time is the run's last one */
    uint64_t instructions; /* how many that are */
    uint64_t threads;      /* see wetdbg_threads() */
    uint64_t places;       /* asynchronous events whose place in running code had to be found */
    uint64_t ambiguous;    /* of these: see wetdbg_ambiguous_events() */
    uint64_t nodes;        /* distinct nodes that ran */
    uint64_t node_executions;
    uint64_t loads, stores; /* memory operands read, written (a rep instruction's range: one) */
    uint64_t syscalls;
    /* rr's preload library made many of them: its instructions are part of the run. */
    bool is_buffered;
    uint64_t events;             /* recorded events taken; all that have registers were compared */
    uint64_t intervals;          /* how many; numbered from 0 */
    uint64_t wet_bytes;          /* of the whole file */
    uint64_t static_bytes;       /* of that: code, symbols, mapped files */
    double bits_per_instruction; /* of the rest */
    int64_t recorded_at_ns;      /* when recording began, since 1970; 0: not known */
    int64_t recorded_until_ns;   /* when it ended, likewise */
    const char *recorded_in;     /* the program's working directory then; NULL: not known */
    /* What was changed in the recorded run, in words, and when: this is one that went on
     * differently from there. NULL: it is a recorded one. */
    const char *change;
    wetdbg_time change_time;
};

/*
 * Opens FILE.wet: a mapping, no recording and no rr are needed. Errors: -ENOENT and other errno;
 * -WETDBG_ERR_CORRUPT, -WETDBG_ERR_VERSION; -WETDBG_ERR_UNSUPPORTED if this CPU lacks what the run
 * used.
 */
int wetdbg_open(const char *path, struct wetdbg **out);
void wetdbg_close(struct wetdbg *wet);

const struct wetdbg_info *wetdbg_get_info(const struct wetdbg *wet);

/* Modules, functions, lines, variables, control dependence; lives as long as the wet. */
struct wetdbg_model *wetdbg_get_model(struct wetdbg *wet);

/* ---- what the file holds of the disk it was made on ---- */

struct wetdbg_held_file {
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

size_t wetdbg_held_file_count(const struct wetdbg *wet);

/* File number n, below that count. Strings live as long as the wet. */
void wetdbg_held_file_get(struct wetdbg *wet, size_t n, struct wetdbg_held_file *out);

/* 0, or -WETDBG_ERR_CORRUPT if some debug file that the model asked for turned out damaged: it is
 * read when first needed, and what it would tell is missing in answers since. */
int wetdbg_check_model(const struct wetdbg *wet);

/*
 * How many bytes may be kept of what the queries work out, so that it need not be done again:
 * intervals run again, and tables that were read for them. 2 GiB if nothing is said. What was not
 * used for the longest time goes first. No query fails for it: an interval that is held, and the
 * latest one, stay whatever they take. As many bytes are granted to the program's own memory, which
 * a file that is not the user's own may otherwise want 512 MiB for, or 1024 times its size: what
 * goes beyond that fails.
 */
void wetdbg_set_memory(struct wetdbg *wet, uint64_t bytes);

/*
 * The file is known to be the user's own. Else intervals run behind a wall , since what
 * they execute is whatever the file says. To be called before the first query.
 */
void wetdbg_trust(struct wetdbg *wet);

/* Asks the queries to give up soon with -WETDBG_ERR_INTERRUPTED; async-signal-safe (Ctrl-C). */
void wetdbg_interrupt(struct wetdbg *wet);
void wetdbg_interrupt_clear(struct wetdbg *wet);

/* ---- threads ---- */

/*
 * A thread of the process, or a child by vfork until its exec. Entries, events and executions name
 * a *task*: a slot, which is used again after a thread has ended.
 */
struct wetdbg_thread {
    uint32_t index;        /* in wetdbg_threads() */
    int tid;               /* as recorded; 0: not known (before a fork that was followed) */
    const char *name;      /* its last one; at first that of its parent, or the program's */
    uint32_t task;         /* slot */
    bool has_ended;        /* before the run did, or with it */
    wetdbg_time start;     /* it could run from this time on ... */
    wetdbg_time end;       /* ... to this one; start - 1 if it ended at once */
    uint64_t instructions; /* that it executed */
    const struct wetdbg_thread *parent; /* that made it; NULL for the first one */
};

/* The threads in the order in which they began; at least one. */
const struct wetdbg_thread *wetdbg_threads(const struct wetdbg *wet, size_t *count);

/* The thread that executed instruction t; NULL outside 1..instructions. Runs nothing. */
const struct wetdbg_thread *wetdbg_thread_at(const struct wetdbg *wet, wetdbg_time t);

/* The thread in a slot at a time (of an execution or an event); NULL if there was none yet. */
const struct wetdbg_thread *wetdbg_thread_of(const struct wetdbg *wet, uint32_t task,
                                             wetdbg_time t);

/* An asynchronous event that might have struck at another moment of the recorded run: at several
 * places registers, flags and what is known of memory were as recorded. The first one was taken. */
struct wetdbg_ambiguous {
    wetdbg_time time; /* of the last instruction before it */
    uint64_t frame;   /* the recording's event number */
    int signal;       /* 0: a switch to another thread */
    const struct wetdbg_thread *thread;
};
const struct wetdbg_ambiguous *wetdbg_ambiguous_events(const struct wetdbg *wet, size_t *count);

/* ---- intervals ---- */

/* The interval that holds time t (1..instructions; instructions + 1 gives the last one). */
uint64_t wetdbg_interval_at(const struct wetdbg *wet, wetdbg_time t);

/* The time of interval k's first instruction; behind the last interval that of the end. */
wetdbg_time wetdbg_interval_time(const struct wetdbg *wet, uint64_t k);

/* True if a byte of [address, address + size) may have been written in interval k (by program or
 * kernel); false is certain. Without running it; granularity 256 bytes. */
bool wetdbg_interval_may_write(const struct wetdbg *wet, uint64_t k, uint64_t address,
                               uint64_t size);

/* An indirect jump (not a call, not a return) and an address that it went to. */
struct wetdbg_jump {
    uint64_t jump, target;
};

/* All pairs of the run, or of the window that the file holds, each once, by jump and target. A
 * target may be an address where no code is. */
const struct wetdbg_jump *wetdbg_jumps(const struct wetdbg *wet, size_t *count);

/* ---- places in the run ---- */

/* How often the instructions at these addresses ran, altogether (addresses distinct). */
int wetdbg_count_instances(struct wetdbg *wet, const uint64_t *pcs, size_t pc_count,
                           uint64_t *count);

/* The same in interval k. Runs nothing. */
int wetdbg_count_instances_in(struct wetdbg *wet, const uint64_t *pcs, size_t pc_count, uint64_t k,
                              uint64_t *count);

/* Time of their k-th execution, from 1 in order of time, or from -1 backwards;
 * -WETDBG_ERR_NOT_FOUND if there are fewer. Runs at most one interval. */
int wetdbg_find_instance(struct wetdbg *wet, const uint64_t *pcs, size_t pc_count, int64_t k,
                         wetdbg_time *time);

/* Calls back for each execution with time in [from, to], in order; a non-zero return ends it and is
 * returned. Runs only intervals where some of them executed. */
typedef int (*wetdbg_instance_fn)(void *arg, wetdbg_time time, uint64_t pc);
int wetdbg_each_instance(struct wetdbg *wet, const uint64_t *pcs, size_t pc_count, wetdbg_time from,
                         wetdbg_time to, wetdbg_instance_fn fn, void *arg);

/* ---- values ---- */

struct wetdbg_state; /* registers and memory just before instruction T */

/* The state at time t (1..instructions + 1). Runs at most one interval. wetdbg_state_close frees
 * it; it must not outlive the wet. */
int wetdbg_state_open(struct wetdbg *wet, wetdbg_time t, struct wetdbg_state **out);
void wetdbg_state_close(struct wetdbg_state *state);
/* Moves the state on to a later time: much cheaper than a new one where both lie in one interval
 * and nothing else was asked of the wet since. Registers are then those of the task that runs at t.
 * Errors as of wetdbg_state_open(); after one, wetdbg_state_close() is all that is allowed. */
int wetdbg_state_advance(struct wetdbg_state *state, wetdbg_time t);
/* Borrowed until the state is closed, moved on, or another thread is selected. */
const struct user_regs_struct *wetdbg_state_registers(const struct wetdbg_state *state);
uint32_t wetdbg_state_task(const struct wetdbg_state *state);
/* Selects a task: from now on registers, vectors and task are those of the task in another slot,
 * which may be waiting. -WETDBG_ERR_NOT_FOUND if there is none at that time; then nothing has
 * changed. */
int wetdbg_state_select(struct wetdbg_state *state, uint32_t task);
/* Standard-format XSAVE image of this machine's layout. */
const uint8_t *wetdbg_state_xstate(const struct wetdbg_state *state, size_t *size_bytes);
/* Out of it, a vector register (0 to 31), and zeros up to 64 bytes; *width (may be NULL) is how
 * many of them registers have here: 16, 32 or 64. -WETDBG_ERR_UNSUPPORTED if there is no such
 * register here: 16 to 31 and the masks came with AVX-512. -WETDBG_ERR_NOT_FOUND if vector
 * registers are not known. */
int wetdbg_state_vector(const struct wetdbg_state *state, unsigned number, uint8_t bytes[64],
                        unsigned *width);
/* Mask register k0 to k7. Errors as above. */
int wetdbg_state_mask(const struct wetdbg_state *state, unsigned number, uint64_t *mask);
/* Reads all of [address, address + size) or fails with -EFAULT (address named). */
int wetdbg_state_read(struct wetdbg_state *state, uint64_t address, void *bytes, size_t size);

/* The mappings at that time, by address. */
struct wetdbg_mapping {
    uint64_t start, end;
    int prot;
    const char *name; /* path, "[stack]", "[heap]", "" */
};
/* *list is borrowed until the state is closed or moved on. Errors of wetdbg_state_open(). */
int wetdbg_state_mappings(struct wetdbg_state *state, const struct wetdbg_mapping **list,
                          size_t *count);

/* ---- events ---- */

enum wetdbg_event_kind {
    WETDBG_EVENT_CALL,     /* a system call begins; `number` is the call */
    WETDBG_EVENT_CALL_END, /* ... ends; `number` is the original one of restart_syscall */
    WETDBG_EVENT_TRAP,     /* an instruction whose result comes from outside: rdtsc, cpuid */
    /* an instruction raised signal `number`; `code`, `address`: si_code, si_addr */
    WETDBG_EVENT_FAULT,
    WETDBG_EVENT_SIGNAL,     /* signal `number` came from outside */
    WETDBG_EVENT_SWITCH,     /* another thread goes on */
    WETDBG_EVENT_THREAD_END, /* the thread is gone */
    WETDBG_EVENT_OTHER,      /* the kernel did something else: called a handler, grew a stack */
};

/*
 * Something that happened outside the instructions. `time` is that of the instruction after which
 * it happened (a `syscall` instruction's own time for its effects); for a fault or signal the time
 * at which the interrupted state is seen, minus 1.
 */
struct wetdbg_event {
    wetdbg_time time;
    uint32_t task;
    enum wetdbg_event_kind kind;
    int number;
    int64_t code;
    uint64_t address;
    uint64_t frame;                           /* the recording's event number */
    const struct user_regs_struct *registers; /* that it loads; NULL if it loads none */
    bool calls_handler;      /* it calls a signal handler, with these registers ... */
    uint64_t handler_return; /* ... which will return to this address */
};

/* All events of the run in order, without running anything. What an event points to lasts for the
 * call. A result that is not 0 ends it and is returned. */
typedef int (*wetdbg_event_fn)(void *arg, const struct wetdbg_event *event);
int wetdbg_each_event(struct wetdbg *wet, wetdbg_event_fn fn, void *arg);

/* ---- what was written ---- */

/*
 * One thing that an instruction or the kernel wrote. Left out: the stack pointer, and memory that a
 * mapping brought. Of what xsave, stores with a mask and those of more than 512 bytes wrote, values
 * are not known (`after` is NULL, the range one that they lie in); until the next interval begins,
 * memory there is shown as it was before.
 */
struct wetdbg_effect {
    wetdbg_time time; /* of the instruction; of the kernel's as in struct wetdbg_event */
    uint64_t pc;      /* 0: the kernel */
    const struct wetdbg_event *event; /* that the kernel wrote it for, or NULL */
    /* -1: memory; else a general register: rax 0, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8... */
    int reg;
    uint64_t address;
    uint64_t size;         /* bytes; of a register always 8 */
    const uint8_t *before; /* NULL for registers, and if `after` is */
    const uint8_t *after;
};

struct wetdbg_effects; /* a second replayee, which tells results too, and memory as it was */

/* *out is for wetdbg_effects_close(), before the wet is closed. -ENOMEM. */
int wetdbg_effects_open(struct wetdbg *wet, struct wetdbg_effects **out);
void wetdbg_effects_close(struct wetdbg_effects *effects);

/*
 * Runs interval k and calls back with all that it wrote, in order; a non-zero result ends that and
 * is returned. With `registers` results of instructions in general registers too. The callback may
 * ask nothing of the wet but wetdbg_effects_read().
 */
typedef int (*wetdbg_effect_fn)(void *arg, const struct wetdbg_effect *effect);
int wetdbg_effects_each(struct wetdbg_effects *effects, uint64_t k, bool registers,
                        wetdbg_effect_fn fn, void *arg);

/* For a callback: memory just after the effect; what is not mapped reads as zeros. */
int wetdbg_effects_read(struct wetdbg_effects *effects, uint64_t address, void *bytes, size_t size);

/* How many writes of unknown values were met so far. */
uint64_t wetdbg_effects_unknown(const struct wetdbg_effects *effects);

/* ---- output ---- */

/* A piece of what write(2) and kin put out: `size` bytes that were at `address` when instruction
 * `time` (the syscall) ran, position `offset` in all bytes written to that descriptor. Pieces of a
 * vectored write follow each other. Ordered by time. */
struct wetdbg_output {
    int fd;
    wetdbg_time time;
    uint64_t offset;
    uint64_t address;
    uint64_t size;
};
const struct wetdbg_output *wetdbg_outputs(const struct wetdbg *wet, size_t *count);

/* ---- what a file was built from ---- */

/* The words that a file's builder left of what it was built from (<wetdbg/build.h>), without
 * opening it for queries: another build of the same recording has the same. Errors are those of
 * wetdbg_open(). */
int wetdbg_fingerprint_read(const char *path, char *out, size_t size);

WETDBG_END

#endif
