/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs of a recorded program that go on differently from some time on.
 *
 * A session has one process in which the recorded run passes, forwards (a time before the last one
 * begins it again); at the time of a change a copy of it goes on live, with the change, and ends.
 * So whoever has many changes makes them in the order of their times.
 */
#ifndef PREDICATE_SWITCH_RUN_H
#define PREDICATE_SWITCH_RUN_H

#include <signal.h>
#include <stdbool.h>

#include "common/buf.h"
#include "predicate_switch/detours.h"
#include "predicate_switch/kernel/vk.h"
#include "recorder/event/queue.h"
#include "recorder/replay/engine.h"
#include <wetdbg/wet.h>

struct psw_session;

/* Where the program was run. */
struct psw_surroundings {
    const char *cwd;                       /* working directory where it began; NULL: not known */
    int64_t disk_before_ns, disk_until_ns; /* as in struct vk_start */
    bool input_is_null, output_is_file;    /* likewise */
    bool input_is_file; /* standard input is a regular file, from its begin on; false: what the
                             * .wet says */
};

/* Reads what the run's calls did, which takes a replay. `wet` lives longer. Errors: those of
 * wet_whole_engine() and of replay; -WETDBG_ERR_CORRUPT if the events make no sense. */
int psw_session_open(struct wetdbg *wet, const struct psw_surroundings *where,
                     struct psw_session **out);
void psw_session_close(struct psw_session *session); /* NULL is fine */

/* How the recorded calls compare with the model's answers. */
const struct vk_history *psw_session_history(const struct psw_session *session);

/* How many bytes the recorded run has put out to a descriptor just before `time`. */
uint64_t psw_session_output(const struct psw_session *session, int fd, wetdbg_time time);

/* Appends them: 0 or -ENOMEM. PSW_BOTH as `fd`: those of 1 and 2, in the order of time. */
#define PSW_BOTH (-2)
int psw_session_output_read(const struct psw_session *session, int fd, wetdbg_time time,
                            struct wd_buf *out);

/* Calls back with a kernel in which all that was recorded has happened, that lives for the call. 0
 * or -ENOMEM. */
int psw_session_at_end(const struct psw_session *session,
                       void (*fn)(void *arg, struct vk_kernel *kernel), void *arg);

const struct wetdbg_info *psw_session_info(const struct psw_session *session);

/* As vk_history_asked(). */
wetdbg_time psw_session_asked(struct psw_session *session, const char *input);

/* Whether somebody wants an end, as wetdbg_interrupt() says. */
const volatile sig_atomic_t *psw_session_interrupted(const struct psw_session *session);

/* For a process that was forked: gives the session another replay of its own, in the place of the
 * one that is the other process's, and is left alone. Errors of psw_session_open(); then only
 * _exit() is allowed. */
int psw_session_adopt(struct psw_session *session);

enum psw_change_kind {
    PSW_NOTHING, /* goes on as it was */
    PSW_SWITCH,  /* the conditional instruction at `time` (jcc, cmov, setcc) does the other thing */
    PSW_JUMP,    /* behind the instruction at `time` the run goes on at `target` */
    PSW_SET,     /* the state at `time` gets other registers and memory */
};

struct psw_write {
    uint64_t address, size;
    const uint8_t *bytes;
};

struct psw_change {
    enum psw_change_kind kind;
    wetdbg_time time; /* 1 to the run's last time */
    uint64_t target;  /* PSW_JUMP */
    /* PSW_SET: memory, and the bits of `mask` of a register (enum evq_reg) */
    unsigned reg;
    uint64_t value, mask;
    const struct psw_write *writes;
    size_t write_count;
};

/* What ended a run. */
enum psw_end {
    PSW_EXIT,       /* the process has ended: `status` */
    PSW_UNRESOLVED, /* `reason` */
    PSW_HANGS,      /* all its threads wait for ever: `reason` */
    PSW_STOPPED,    /* by the callback */
    PSW_LIMIT,      /* the instructions that it was given: unresolved, too */
};

/* The first difference to what was recorded; bytes that are missing at the end, or too many, are
 * one. */
struct psw_difference {
    bool is_there;
    int fd;
    uint64_t offset; /* in all that the run put out there */
};

struct psw_result {
    enum psw_end end;
    int status; /* as waitpid() gives it */
    char reason[256];
    uint64_t instructions; /* of the whole run */
    uint64_t outputs;      /* calls that put something out, since the change */
    struct psw_difference difference;
};

/* Where a signal ends a run: at the instruction that faulted, or behind the call that sent it. */
struct psw_crash {
    struct rep_engine *engine; /* stands there */
    struct evq_regs regs;
    uint64_t address; /* of a fault: what it accessed */
    bool is_fault;
};

struct psw_settings {
    uint64_t instructions; /* at most so many behind the change; 0: 10 times the recorded run */
    uint64_t memory;       /* as of vk_kernel_limit_memory(); 0: as the session has it */
    vk_output_fn output;   /* told of what is put out; not 0 ends the run. NULL: nobody is */
    void *arg;
    /* The run's entries, or NULL: those that were taken before the change; those that were since,
     * each behind its time (struct wet_entry_record). */
    struct wd_buf *before, *entries;
    bool stops_at_difference;         /* PSW_STOPPED where the output differs */
    const struct psw_detour *detours; /* other ways behind the change; PSW_DETOURS_MAX at most */
    unsigned detour_count;
    /* Told of the kernel before the run goes live, which may get another input: 0, or -ENOMEM or
     * -ENOTSUP, which make the run unresolved. NULL: nobody is. */
    int (*begins)(void *arg, struct vk_kernel *kernel);
    /* Told where a signal ended the process, if it is known; NULL: nobody is. */
    void (*crashed)(void *arg, const struct psw_crash *crash);
    /* Told of the kernel when the process has ended; NULL: nobody is. */
    void (*ended)(void *arg, struct vk_kernel *kernel);
};

/*
 * Goes on differently from change->time on. 0, also for runs that are unresolved; or
 * -WETDBG_ERR_NOT_FOUND (there is no such time, or nothing there that could be switched),
 * -WETDBG_ERR_INTERRUPTED, -ENOMEM, -WETDBG_ERR_MACHINE, and what a replay can give: after these
 * four only psw_session_close() is allowed.
 */
int psw_run(struct psw_session *session, const struct psw_change *change,
            const struct psw_settings *settings, struct psw_result *result);

#endif
