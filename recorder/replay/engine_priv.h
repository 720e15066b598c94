/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The engine's insides.
 *
 *   engine.c   life, the log, entries, requests, what is asked while it stands still
 *   faults.c   faults of the program's, and branches to nowhere
 *   wall_faults.c  where it would use an address of ours
 *   place_agree.c   where asynchronous events struck
 *   diverge.c  what is said when the replay leaves the recording
 *   live.c     runs without entries, and copies that go another way
 */
#ifndef RECORDER_REPLAY_ENGINE_PRIV_H
#define RECORDER_REPLAY_ENGINE_PRIV_H

#include "recorder/replay/engine.h"
#include "recorder/replay/host.h"

#define REP_NEVER UINT64_MAX

struct rep_engine {
    struct rep_host host;
    uint64_t ring_off; /* of the half that runs fill, in the ring */
    struct dbi *dbi;
    enum dbi_mode mode;
    bool ticks; /* counted */
    const volatile sig_atomic_t *flag;
    char lacks[REP_LACKS_BYTES]; /* as in struct rep_engine_setup */
    const struct rep_source *source;
    struct wd_buf batch;    /* entries given; the replayee is somewhere in them */
    struct wd_buf spare;    /* entries of the source that did not fit */
    struct wd_buf memory;   /* read for a digest */
    struct wd_buf log;      /* as it was when it was last looked at */
    struct wd_buf views;    /* the same of the replayee's mappings */
    struct agt_task *tasks; /* and of its tasks, EVQ_TASKS_MAX; NULL: never looked at */
    uint32_t task_end;      /* since the reset no entry has named this task, or a later one */
    uint32_t tasks_shown;   /* how many of `tasks` may be live */
    size_t batch_at;        /* of the entry with number seq */
    uint64_t seq;           /* entries of which the source has been told */
    uint64_t taken_frame;   /* of the last one of them */
    uint64_t time_base;
    uint64_t run_goal;      /* time at which the caller wants to stop */
    bool run_exact;         /* at that very instruction */
    uint64_t place_goal;    /* time at which an EVQ_PLACE is to be taken; REP_NEVER: none */
    uint64_t place_cap;     /* time at which looking for one is given up */
    uint64_t goal;          /* exact stops: executed instructions at which to stop */
    uint64_t exact_margin;  /* instructions before an exact stop that are run with care */
    bool exact;             /* within that margin */
    bool flags_lost;        /* the clock used them, unread, when it stopped just before it */
    bool ends_at_goal;      /* the limit is the caller's, or place_cap */
    uint32_t part;          /* fragment that ran a rep instruction in part */
    bool part_waits;        /* the caller wants to stop before such a part */
    bool asked_translation; /* stands in AGT_REQ_TRANSLATE and waits for an answer */
    bool started;
    bool is_probing; /* host is a copy of the replayee */
    bool unverified; /* translations were made before the last reset */
    struct rep_pages {
        rep_page_fn page; /* NULL: all are asked for */
        void *arg;
        struct agt_view *views;
        size_t view_count;
    } pages;                       /* while code is translated before it is reached */
    struct wd_buf expected;        /* addresses (u64) of all code that will run; empty: unknown */
    unsigned looks_left;           /* for such of it as came with later mappings */
    struct evq_regs buffered_call; /* the registers at the latest one */
    struct rep_branch *branch;     /* host is a copy of the replayee: see rep_engine_branch() */
};

/* engine.c */
int rep_damaged(const char *what); /* says that the replayee sent a damaged `what` */
int rep_log_drain(struct rep_engine *engine);
const struct evq_entry *rep_current_entry(const struct rep_engine *engine);
/* Gives the replayee, whose queue is used up, the next ones of the entries in `spare`. */
int rep_batch_give(struct rep_engine *engine);
int rep_jumps_take(struct rep_engine *engine);
/* Copies the first `count` of the replayee's tasks; of one that is not live nothing but that it is
 * not. */
void rep_tasks_copy(const struct rep_host *host, struct agt_task *to, uint32_t count);
int rep_command(struct rep_engine *engine, uint32_t command, uint64_t a, uint64_t b, uint64_t c,
                uint64_t *reply);
/* The code page at `address` as the process in `host` has it: see dbi_config.fetch. */
int rep_page_ask(struct rep_engine *engine, uint64_t address, uint8_t *page, unsigned *flags);
int rep_limit_plan(struct rep_engine *engine);
int rep_on_translate(struct rep_engine *engine, bool *done);

/* live.c */
int rep_on_met(struct rep_engine *engine);
/* dbi_config.fetch, and a command to both processes, while there is a branch. */
int rep_branch_fetch(struct rep_engine *engine, uint64_t address, uint8_t *page, unsigned *flags);
int rep_branch_command(struct rep_engine *engine, uint32_t command, uint64_t a, uint64_t b,
                       uint64_t c, uint64_t *reply);

/* faults.c */
bool rep_is_canonical(uint64_t address);
void rep_answer_fetch_fault(struct rep_turn *turn, const struct dbi_fetch_fault *fault);
int rep_answer_wild_branch(struct rep_engine *engine);
int rep_on_fault(struct rep_engine *engine);
/* Whether a trap in the mailbox is one that the program has asked for after each instruction, and
 * what is said then. */
bool rep_is_own_step(const struct rep_turn *turn);
int rep_refuse_own_step(const struct rep_engine *engine);
int rep_on_fault_rep(struct rep_engine *engine);
int rep_on_fault_record(struct rep_engine *engine);

/* wall_faults.c */

/* The granule in which the wall was met, as a page of its table; REP_WALL_NONE: the fault is
 * another one. */
#define REP_WALL_NONE UINT64_MAX
uint64_t rep_wall_granule(const struct rep_host *host, const struct agt_fault *fault);

/*
 * Makes the fault in the mailbox what the program has to see. Bits of an address above 47 are not
 * looked at: one that is not canonical may be taken for one of ours, and has a fault of its own. 0
 * or -WETDBG_ERR_MACHINE.
 */
int rep_wall_fault(struct rep_engine *engine, const struct dbi_fault *at, uint64_t granule);

/* diverge.c */
int rep_place_not_found(struct rep_engine *engine, unsigned seen, uint64_t rip);
int rep_on_diverged(struct rep_engine *engine);

/* Whose doing it is where the replayee is not what it was made: behind a wall no program's
 * (docs/architecture/engine.md, 5.9). */
const char *rep_blame(const struct rep_engine *engine);
int rep_on_unsupported(struct rep_engine *engine);

/* place_agree.c: what the agent asks while it looks for the place of an EVQ_PLACE. */
int rep_on_stop(struct rep_engine *engine);
int rep_on_stop_filter(struct rep_engine *engine);
int rep_on_place(struct rep_engine *engine);
int rep_on_place_rep(struct rep_engine *engine);
int rep_on_place_undo(struct rep_engine *engine);
int rep_on_place_time(struct rep_engine *engine);
int rep_on_time(struct rep_engine *engine, bool *done);

#endif
