/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The replay engine: one replayee (a child process with the agent in it) and its supervisor.
 *
 * The engine runs recorded code under translation from the entries that a source gives it. It is
 * used for replaying a recording (plainly, or counting for the builder of a WET) and for running
 * an interval of a WET again (collecting). Everything happens in the thread that calls; between
 * two calls the replayee stands still.
 */
#ifndef RECORDER_REPLAY_ENGINE_H
#define RECORDER_REPLAY_ENGINE_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/buf.h"
#include "recorder/agent/agent.h"
#include "recorder/dbi/dbi.h"
#include "recorder/event/queue.h"

struct rep_engine;

struct rep_span {
    uint64_t start, end;
};

#define REP_LACKS_BYTES 1024

struct rep_engine_setup {
    enum dbi_mode mode;
    bool ticks;    /* entries have ticks to be compared */
    bool values;   /* DBI_COLLECT: results too; see dbi_value_words() */
    bool probes;   /* places of asynchronous events have to be searched */
    bool branches; /* many copies will be made (rep_engine_branch()): takes `probes`, too */
    /* The program is known to mean no harm. Else there is a wall (recorder/dbi/wall.c): it can
     * neither read nor write what is ours in its process, and runs some tens of percent slower. */
    bool is_trusted;
    const struct rep_span *spans; /* addresses that the program ever uses: sorted, disjoint */
    size_t span_count;
    const int *files; /* descriptors behind the file numbers of EVQ_OP_MAP; stay the caller's */
    size_t file_count;
    const struct agt_cpuid *cpuid; /* how CPUID is answered */
    size_t cpuid_count;
    uint32_t x87;       /* AGT_X87_* of the recording */
    const char *lacks;  /* names of recorded features that this processor lacks, or NULL */
    bool cpuid_is_here; /* the recorded processor is this one: it may be asked what `cpuid` lacks */
    bool cpuid_is_recorded; /* no CPUID without an EVQ_TRAP of its own; `cpuid` answers none */
    uint64_t xcr0;
    struct agt_processor processor; /* what it tells of itself */
};

/* What a program has come to that runs live. */
struct rep_met {
    enum evq_kind kind; /* EVQ_SYSCALL_ENTER, EVQ_TRAP or EVQ_FAULT: what has to be appended */
    uint32_t task;
    uint64_t time;        /* instructions executed before */
    struct evq_regs regs; /* what the entry has to compare: as a recording would have them */
    uint32_t trap;        /* EVQ_TRAP: AGT_EXIT_RDTSC, AGT_EXIT_RDTSCP or AGT_EXIT_CPUID */
    int signo;            /* EVQ_FAULT: what it raised */
    int64_t code;
    uint64_t address;
    uint32_t trapno; /* the processor's number of it */
};

/*
 * Where entries come from and what becomes of them. `next` appends whole checked entries to
 * `out` and returns 1, or 0 if it knows of none now, or a negative error. `taken` (may be NULL) is
 * told of each entry when the replayee has taken it, with the number of instructions executed
 * before; `ring_bytes` is how far the ring was filled (DBI_COLLECT). `captured` (may be NULL) gets
 * the bytes of EVQ_OP_CAPTURE, before the `taken` of the same entry. Negative results end the run.
 * `meanwhile` (may be NULL) is called once in a run, when the replayee has been sent off: it may
 * look at the ring of the run before, and at fragments, and must not ask the engine for anything
 * that needs the replayee.
 *
 * With `met` (may be NULL) the source runs *live*: where `next` knows of no entries the program
 * runs on without. `met` is told what it comes to, which stands still there and may be asked
 * (rep_engine_read() and the like), and appends an entry of that kind and task, with those
 * registers, and what follows from it: 0, or a negative error. What it appends is checked; so are
 * the addresses that are mapped. `next` is asked again when a run begins: it may append entries
 * that need no running.
 */
struct rep_source {
    int (*next)(void *arg, struct wd_buf *out);
    int (*taken)(void *arg, const struct evq_entry *entry, uint64_t time, uint64_t ring_bytes);
    int (*captured)(void *arg, uint64_t tag, uint64_t address, const void *bytes, size_t count);
    int (*meanwhile)(void *arg);
    int (*met)(void *arg, const struct rep_met *met, struct wd_buf *out);
    void *arg;
};

/* Starts a replayee. Errors: -ENOMEM, -WETDBG_ERR_MACHINE (no room, no fork, seccomp refused). The
 * setup's arrays are copied except `files`. */
int rep_engine_new(const struct rep_engine_setup *setup, struct rep_engine **out);
void rep_engine_free(struct rep_engine *engine);

enum rep_stop {
    REP_STOP_TIME, /* the limit */
    REP_STOP_END,  /* EVQ_END was taken */
};

/*
 * Runs on until `limit` more instructions would be exceeded, at the first fragment where stopping
 * is possible (some instructions later at most), or the end. With `exact` it stops at the very
 * instruction; -EAGAIN if it ran past it, then rep_engine_reset and the same run again succeed (or
 * say -EAGAIN again, a few times at most). Errors: -WETDBG_ERR_DIVERGED, -WETDBG_ERR_UNSUPPORTED,
 * -WETDBG_ERR_MACHINE, -WETDBG_ERR_INTERRUPTED and those of the source; after one only
 * rep_engine_free is allowed.
 */
int rep_engine_run(struct rep_engine *engine, const struct rep_source *source, uint64_t limit,
                   bool exact, enum rep_stop *why);

/* From a source's `met`: the run that is under way ends for its limit at this time, if that would
 * be later. */
void rep_engine_shorten(struct rep_engine *engine, uint64_t time);

/* Instructions executed since the start or the last reset; entries taken. */
uint64_t rep_engine_time(const struct rep_engine *engine);
uint64_t rep_engine_entries(const struct rep_engine *engine);

/*
 * Has a copy of the replayee take its place, which stands where it stands, with nothing queued: all
 * calls are about the copy from now on, and it may run as it likes, live for instance. At the end
 * the copy is gone, also after an error of one of those calls, and the replayee stands where it
 * stood, with the entries that it had. One at a time; of engines with `probes` in DBI_PLAIN, that
 * are not looking for a place. Errors of the start: -WETDBG_ERR_MACHINE, -ENOMEM; nothing has
 * changed then. After one of the end only rep_engine_free is allowed.
 */
int rep_engine_branch(struct rep_engine *engine);
int rep_engine_branch_end(struct rep_engine *engine);

/* Whether [start, start + bytes) is free of what is ours, so that the program may have memory
 * there. */
bool rep_engine_is_free(const struct rep_engine *engine, uint64_t start, uint64_t bytes);

/* Forgets the program: no memory, no tasks, time 0, nothing queued; translations stay. */
int rep_engine_reset(struct rep_engine *engine);

/*
 * Tells the engine what is known beforehand, so that the replayee need not ask. To be called from a
 * source's `next`, when all entries given before have been taken and no code has run since the
 * reset.
 *  - Finds out which translations still hold, as would be done before the first fragment, but with
 *    pages that the caller has: `page` gives what is at `address` in a view of the replayee, or
 *    NULL if it does not know (then it is asked for). What is in a view is the replayee's word.
 *  - Translates the code at the addresses that will be run. Those where the program could not run
 *    code now, or may write to it, are left until they are reached; then so is what else has come.
 *    Until the next reset other code is translated only when it is reached.
 */
typedef const uint8_t *(*rep_page_fn)(void *arg, const struct agt_view *view, uint64_t address);
int rep_engine_prepare(struct rep_engine *engine, rep_page_fn page, void *arg, const uint64_t *pcs,
                       size_t pc_count);

/* Makes `flag` (async-signal-safe to set) end a run with -WETDBG_ERR_INTERRUPTED. NULL: none. */
void rep_engine_watch(struct rep_engine *engine, const volatile sig_atomic_t *flag);

/* ---- while it stands still ----
 * Also after an error of the source's `next`: it then stands where the last entry was taken. */

/* All tasks; entries with live == 0 mean nothing. `running` is the current task's index. Borrowed
 * until the next call on the engine. */
int rep_engine_tasks(struct rep_engine *engine, const struct agt_task **tasks, uint32_t *running);

/* The registers of a task, of which nothing is asked; false if there is no such task. */
bool rep_engine_regs(const struct rep_engine *engine, uint32_t task, struct evq_regs *regs);

/* Appends the entries that the source has given and the replayee has not taken. */
int rep_engine_pending(const struct rep_engine *engine, struct wd_buf *out);

/* The replayee's process. */
pid_t rep_engine_pid(const struct rep_engine *engine);

/* The current task's index alone. */
uint32_t rep_engine_running(const struct rep_engine *engine);

/* Conditional branches that a task has retired since it began here, if they are counted. */
uint64_t rep_engine_ticks(const struct rep_engine *engine, uint32_t task);

/* The bytes of code at an address, `count` at most, as far as the translator has them as they are
 * now: how many. Who gets none asks for them (rep_engine_read). */
size_t rep_engine_code(struct rep_engine *engine, uint64_t pc, uint8_t *bytes, size_t count);

/* Reads program memory; the count that could be read goes to *done (up to the first hole). */
int rep_engine_read(struct rep_engine *engine, uint64_t address, void *bytes, size_t count,
                    size_t *done);

/* The program's mappings, by address; borrowed until the next call. */
int rep_engine_views(struct rep_engine *engine, const struct agt_view **views, size_t *count);

/* Every AGT_LINE_BYTES line that was written since the last call, in no order, some perhaps
 * twice or unchanged (DBI_COUNT). */
typedef int (*rep_line_fn)(void *arg, uint64_t address, const uint8_t *bytes);
int rep_engine_lines(struct rep_engine *engine, rep_line_fn fn, void *arg);

/* Runs from now on fill this half of the ring (0, at first, or 1), so that what the last run left
 * in the other one can be read meanwhile. Each takes some 400 MB. */
void rep_engine_ring_half(struct rep_engine *engine, unsigned half);

/* The ring as filled by the last run (DBI_COLLECT): u64 words; a record is a word as
 * agt_ring_word() has it, then those of its slots. Borrowed until the next run that fills the same
 * half. */
const uint64_t *rep_engine_ring(const struct rep_engine *engine, size_t *bytes);

/*
 * Calls back for each indirect jump (not calls, not returns) and target that it has gone to in any
 * run of this engine, once, ordered by jump and target. A target may be an address where no code
 * is. Stops at a non-zero result of `fn` and returns it. Errors: -ENOMEM, -WETDBG_ERR_MACHINE.
 */
typedef int (*rep_jump_fn)(void *arg, uint64_t jump, uint64_t target);
int rep_engine_jumps(struct rep_engine *engine, rep_jump_fn fn, void *arg);

/* Fragments by id, and how often each was executed (DBI_COUNT). */
const struct dbi_fragment *rep_engine_fragment(const struct rep_engine *engine, uint32_t id);
uint32_t rep_engine_fragment_count(const struct rep_engine *engine);
uint64_t rep_engine_executions(const struct rep_engine *engine, uint32_t id);

#endif
