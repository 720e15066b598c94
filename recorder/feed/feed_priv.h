/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The feed's insides.
 *
 *   feed_select   which program
 *   feed_process  the way to it through execs and forks                        (first pass)
 *   feed_tables   files, names and address ranges                              (second pass)
 *   feed_tasks    who runs in which address space, now
 *   feed_frame    one frame into entries, with feed_syscall, feed_clone, feed_exec, feed_signal
 *   feed_buffer   calls that rr's preload library made by itself
 *   feed_locals   that library's page of the thread that runs
 *   feed_place    where asynchronous events struck, with feed_digests
 *   feed_sigframe holds the frames of signal handlers against what was interrupted
 *   feed_call     what a system call does to mappings
 *   feed_ops      one effect into an op, and into the model of the space
 *   feed_share    refuses memory that others write                             (second pass)
 *
 * The second pass converts the whole recording without data and keeps nothing but the tables, so
 * whatever a replay will refuse is refused at once, by the same code.
 */
#ifndef RECORDER_FEED_FEED_PRIV_H
#define RECORDER_FEED_FEED_PRIV_H

#include <stdbool.h>

#include "recorder/feed/feed.h"
#include "recorder/feed/feed_digests.h"
#include "recorder/feed/feed_entry.h"
#include "recorder/feed/feed_space.h"
#include "recorder/feed/feed_xsave.h"

#define FEED_RECORDER_PAGE         0x70000000u /* rr's stubs; the thread-locals page follows */
#define FEED_RECORDER_LOCALS       0x70001000u
#define FEED_RECORDER_END          0x70002000u
#define FEED_RECORDER_VDSO         0x6fffd000u /* librrpage.so, three pages */
#define FEED_RECORDER_STUBS_OFFSET 0x3000u     /* of the stub page in librrpage.so, as recorded */
#define FEED_SCRATCH_START         0x68000000u
#define FEED_SCRATCH_BYTES         0x200000u

enum {
    FEED_SYSCALL_BYTES = 2, /* of the instruction */
    /* results of calls that were interrupted */
    FEED_ERESTARTSYS = 512,
    FEED_ERESTARTNOINTR = 513,
    FEED_ERESTARTNOHAND = 514,
    FEED_ERESTART_RESTARTBLOCK = 516,
};

/* Memory of the target that another space may write too; frames. */
struct feed_conflict {
    uint64_t since; /* 0: none */
    uint64_t ran;   /* its last frame since then; 0: it has not run */
    bool is_inherited;
    bool target_went_on; /* after it ran */
    int pid;
    char name[128];
};

struct feed_space {
    struct feed_vmas vmas;
    unsigned task_count;
    int locals_tid; /* whose contents rr's thread-locals page has; feed_locals.c */
    struct feed_conflict conflict;
    bool is_conflicting; /* found in the check that is going on */
};

/* A task's last frame. From the places after IN_CALL no task comes back to the same registers
 * without another event. */
enum feed_task_stop {
    FEED_STOP_RUNNING,    /* anywhere in its code */
    FEED_STOP_IN_CALL,    /* between the entry and the exit of a system call */
    FEED_STOP_AT_EXIT,    /* the exit of a system call, or the task's beginning */
    FEED_STOP_AT_TRAP,    /* an rdtsc and the like */
    FEED_STOP_AT_HANDLER, /* the entry of a signal handler */
    FEED_STOP_SIGNAL,     /* a signal's arrival */
};

struct feed_task {
    int tid, tgid;
    struct feed_space *space; /* NULL: before its first exec */
    int slot;                 /* entries' task number; -1 while outside the target space */
    uint64_t scratch_start, scratch_end;
    uint64_t buffer, buffer_end; /* of system calls (feed_buffer.c); 0: none */
    bool is_flushed;             /* its records have been given, and it has not been emptied */
    bool waits_at_stub;          /* to make a call of rr's library, as the last switch found it */
    bool is_parked;              /* its contents of the thread-locals page are aside */
    bool has_aborted;            /* its last frame gave up a call that had begun in the buffer */
    bool is_traced;              /* by another recorded process */
    int restarts;                /* the call that restart_syscall goes on with; -1: none */
    enum feed_task_stop stop, stop_before; /* `stop_before`: when the last signal arrived */
    bool signal_moved_it;                  /* the last signal ended a restartable sequence */
    struct rrt_regs regs;                  /* after its last frame with registers */
    uint64_t ticks;                        /* as recorded, at its last frame */
    double seconds;                        /* when its last one was that gave an entry */
    uint64_t tick_shift;                   /* recorded ticks + this = the agent's count */
};

/* A preemption, which matters only if another task of the space goes on. */
struct feed_held {
    int tid; /* 0: none */
    uint64_t time, ticks;
    double seconds;
    struct rrt_regs regs;
    struct evq_place place;
    uint64_t lines_at; /* of place, in the file of line hashes */
};

/* A fork at which the replay continues as the child. */
struct feed_follow {
    uint64_t time;
    int tid;
};

/* The way to the chosen process. */
struct feed_plan {
    int pid;
    uint64_t start_time; /* frame of the execve */
    struct feed_follow *follows;
    size_t follow_count;
};

struct feed_tables {
    struct rep_file *files;
    size_t file_count, file_capacity;
    const char **names;
    size_t name_count, name_capacity;
    struct rep_range *ranges;
    size_t range_count, range_capacity, range_compact_at;
};

struct rep_feed {
    struct wetdbg_recording *trace;
    const struct rrt_header *header;
    struct rep_cpu cpu;
    struct feed_plan plan;
    struct feed_tables tables;
    struct rep_info info;
    char *exe;
    char **argv;
    struct feed_xsave_layout recorded_layout, local_layout;
    struct wd_buf xstate; /* the last converted image */
    struct feed_digests *digests;
    struct rrt_surroundings surroundings;
    int input_fd;              /* of what standard input still held; -1: none */
    const struct rep_run *run; /* instead of a trace, whose tables are borrowed; or NULL */
    size_t run_at;             /* its next entry */
    bool is_trusted;
    bool has_ticks;         /* the recorded ones mean something */
    bool saw_ticks;         /* not all of them are 0 (second pass) */
    bool is_buffered;       /* the replayed program's system calls are (second pass) */
    struct wd_buf buffered; /* the last buffer of records */

    /* the cursor */
    bool is_scanning; /* second pass: fill the tables, write nothing */
    bool has_ended;
    bool shares_changed; /* a shared mapping came, went or became writable since the last check */
    struct feed_conflict written; /* shared memory that another space wrote before it left it */
    struct feed_task *tasks;
    size_t task_count, task_capacity;
    struct feed_space *target; /* the space that is replayed; NULL before the exec */
    uint64_t slots_used[EVQ_TASKS_MAX / 64];
    size_t next_follow;
    uint64_t last_frame;
    struct feed_held held;
    bool leader_has_ended; /* its status counts, no later one */
};

/* What one frame is converted with. */
struct feed_conv {
    struct rep_feed *feed;
    const struct rrt_frame *frame;
    struct feed_space *space;    /* whose memory is changed */
    bool is_target;              /* it is the replayed one: entries are wanted, errors count */
    const struct tck_stop *stop; /* the frame's digests; NULL: none */
    struct feed_builder build;
};

/* feed_process: sets plan.pid, start_time and follows. */
int feed_plan_make(struct wetdbg_recording *trace, const struct rep_selection *which,
                   struct feed_plan *plan);
void feed_plan_fini(struct feed_plan *plan);

/* feed_made */
int feed_run_next(struct rep_feed *feed, struct wd_buf *out); /* as rep_feed_next() */

/* feed_tables */
int feed_tables_file(struct rep_feed *feed, const struct rrt_mmap *map, uint64_t *number);
int feed_tables_name(struct rep_feed *feed, const char *name, uint64_t *number);
int feed_tables_range(struct rep_feed *feed, uint64_t start, uint64_t end); /* any order */
void feed_tables_finish(struct rep_feed *feed);                             /* sorts and merges */
void feed_tables_fini(struct feed_tables *tables);

/* feed_tasks: pointers into the table are good until the next task is added or removed. */
struct feed_task *feed_task_find(struct rep_feed *feed, int tid);
int feed_task_add(struct rep_feed *feed, int tid, int tgid, struct feed_space *space,
                  struct feed_task **out);
void feed_task_remove(struct rep_feed *feed, struct feed_task *task);
void feed_task_enter_space(struct feed_task *task, struct feed_space *space);
int feed_task_take_slot(struct rep_feed *feed,
                        struct feed_task *task); /* -WETDBG_ERR_UNSUPPORTED */
void feed_task_drop_slot(struct rep_feed *feed, struct feed_task *task);
void feed_tasks_fini(struct rep_feed *feed);
struct feed_space *feed_space_new(void);

/* feed_ops: each changes the model and, for the target, appends to the open entry. */
int feed_op_map(struct feed_conv *conv, const struct rrt_mmap *map, uint32_t vma_flags);
int feed_op_map_holes(struct feed_conv *conv, const struct rrt_mmap *map, const char *name);
int feed_op_unmap(struct feed_conv *conv, uint64_t start, uint64_t end);
int feed_op_protect(struct feed_conv *conv, uint64_t start, uint64_t end, uint32_t prot);
int feed_op_move(struct feed_conv *conv, uint64_t from, uint64_t from_bytes, uint64_t to,
                 uint64_t to_bytes, bool keep);
int feed_op_discard(struct feed_conv *conv, uint64_t start, uint64_t end);
int feed_op_zero(struct feed_conv *conv, uint64_t start, uint64_t bytes);
int feed_op_write(struct feed_conv *conv, const struct rrt_write *write);
int feed_op_bytes(struct feed_conv *conv, uint64_t address, const void *bytes, uint64_t count);
int feed_op_capture(struct feed_conv *conv, uint64_t address, uint64_t bytes, unsigned tag);
int feed_op_regs(struct feed_conv *conv, const struct rrt_regs *regs);
int feed_op_place(struct feed_conv *conv, const struct evq_place *place,
                  uint64_t lines_at);       /* first op of EVQ_PLACE */
int feed_op_xstate(struct feed_conv *conv); /* the frame's extra registers, if it has some */
int feed_op_task_new(struct feed_conv *conv, const struct feed_task *task,
                     const struct rrt_regs *regs);
int feed_op_clear(struct feed_conv *conv);
/* All mappings of the frame; all of its writes to the space of `conv`, or of `tid` alone. */
int feed_op_all_maps(struct feed_conv *conv);
int feed_op_all_writes(struct feed_conv *conv);
int feed_op_writes_of(struct feed_conv *conv, int tid);

/* feed_call: the effects on mappings of a call that returned. */
int feed_call_apply(struct feed_conv *conv, int number);
int feed_call_capture(struct feed_conv *conv, int number);
bool feed_call_failed(const struct rrt_regs *regs);
bool feed_call_was_interrupted(const struct rrt_regs *regs);

/* feed_share: second pass only. */
/* After a frame that changed what is shared. */
int feed_share_check(struct rep_feed *feed, const struct rrt_frame *frame);
/* Before each frame, of a task in `space` (NULL: none). */
int feed_share_note(struct rep_feed *feed, const struct rrt_frame *frame, struct feed_space *space);
/* When a space's last task leaves it, by exec or otherwise; at the recording's end, with a frame
 * that is none. */
int feed_share_space_gone(struct rep_feed *feed, struct feed_space *space,
                          const struct rrt_frame *frame);

/* feed_frame: the next frame of the recording, whoever's it is. */
int feed_frame_convert(struct rep_feed *feed, const struct rrt_frame *frame, struct wd_buf *out);
int feed_frame_finish(struct rep_feed *feed, struct wd_buf *out); /* the recording has ended */

/* What the conversions share. feed_begin takes the frame's registers along if asked to. */
struct evq_entry feed_head(const struct feed_conv *conv, const struct feed_task *task,
                           unsigned kind);
int feed_begin(struct feed_conv *conv, const struct evq_entry *head, bool with_regs);
int feed_begin_ops(struct feed_conv *conv, const struct feed_task *task);
int feed_say(struct feed_conv *conv, const struct feed_task *task, unsigned kind); /* no ops */
int feed_end_replay(struct feed_conv *conv);
const struct rrt_task_event *feed_find_event(const struct rrt_frame *frame,
                                             enum rrt_task_kind kind);
void feed_note_scratch(const struct rrt_frame *frame, struct feed_task *task);

/* feed_syscall, feed_clone, feed_exec */
int feed_convert_entering(struct feed_conv *conv, struct feed_task *task);
int feed_convert_exiting(struct feed_conv *conv, struct feed_task *task);
/* Before any frame of the task. */
int feed_restart_call(struct feed_conv *conv, struct feed_task *task);
int feed_convert_clone(struct feed_conv *conv, const struct rrt_task_event *event);
int feed_convert_exec(struct feed_conv *conv, struct feed_task *task);
int feed_refuse_call(const struct feed_conv *conv);

/* feed_buffer: the program's start, as of the frame's exec; the child's, in its own space; rr's own
 * calls; and the frames that concern the buffer. */
/* feed_locals: before the task goes on; when it leaves the target (in an entry of its own); and the
 * unmapping of what it has aside, in a copy of its space. */
int feed_locals_switch(struct feed_conv *conv, struct feed_task *task);
int feed_locals_leave(struct feed_conv *conv, struct feed_task *task);
int feed_locals_unmap(struct feed_conv *conv, const struct feed_task *task);
/* Gives a task's library the end of its stack: rr writes it, and the recording does not say so. */
int feed_locals_write_stack_end(struct feed_conv *conv, const struct feed_task *task);

int feed_buffer_program_began(struct feed_conv *conv, struct feed_task *task);
int feed_buffer_child_began(struct feed_conv *conv, const struct feed_task *child);
/* Whether the child's mapping is that of a page of which parts stay (feed_buffer_child_began). */
bool feed_buffer_keeps_locals(const struct feed_conv *conv, const struct rrt_mmap *map);
bool feed_buffer_is_own_call(const struct feed_conv *conv);
int feed_buffer_refuse_call(const struct feed_conv *conv);
int feed_buffer_entering(struct feed_conv *conv, const struct feed_task *task);
int feed_buffer_exiting(struct feed_conv *conv, struct feed_task *task);
int feed_buffer_release(struct feed_conv *conv, struct feed_task *task);
int feed_convert_flush(struct feed_conv *conv, struct feed_task *task);
int feed_convert_reset(struct feed_conv *conv, struct feed_task *task);
int feed_convert_abort(struct feed_conv *conv, struct feed_task *task);
int feed_convert_patch(struct feed_conv *conv, struct feed_task *task);
int feed_convert_patch_after(struct feed_conv *conv, struct feed_task *task);
int feed_convert_patch_trap(struct feed_conv *conv, struct feed_task *task);

/* feed_signal */
int feed_convert_signal(struct feed_conv *conv, struct feed_task *task);
int feed_convert_signal_result(struct feed_conv *conv, struct feed_task *task);

/* feed_sigframe: at a SIGNAL_HANDLER frame, before it is converted. -WETDBG_ERR_CORRUPT. */
int feed_sigframe_check(const struct feed_conv *conv, const struct feed_task *task);

/* feed_place. All but note are for the replayed space only. */
/* Says with the entry how many ticks there are, if that is known. */
void feed_place_ticks(const struct feed_conv *conv, const struct feed_task *task,
                      struct evq_entry *head);
/* Whether two register files are the same in all registers that replay compares. */
bool feed_place_is_in_stub(const struct rrt_regs *regs); /* rr's page of syscall instructions */
bool feed_place_is_equal(const struct rrt_regs *left, const struct rrt_regs *right);
/* Where the frame's task was when the frame struck. */
struct evq_place feed_place_find(const struct feed_conv *conv, const struct feed_task *task);
int feed_convert_sched(struct feed_conv *conv, struct feed_task *task);
/* Gives the entry of the preemption that is held back, if any; `conv` may be anybody's. */
int feed_place_release(struct feed_conv *conv);
/* After each frame of any task: what the next place is measured from. */
void feed_place_note(struct feed_task *task, const struct rrt_frame *frame);

/* -WETDBG_ERR_UNSUPPORTED with "frame N (EVENT of thread T): " before the reason. */
int feed_refuse(const struct rrt_frame *frame, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int feed_corrupt(const struct rrt_frame *frame, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
