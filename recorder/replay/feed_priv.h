/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The feed's insides.
 *
 *   feed_process  which process, and the way to it through execs and forks     (first pass)
 *   feed_tables   files, names and address ranges                              (second pass)
 *   feed_tasks    who runs in which address space, now
 *   feed_frame    one frame into entries         feed_call   what a system call does to mappings
 *   feed_ops      one effect into an op, and into the model of the space
 *   feed_share    refuses memory that others write                             (second pass)
 *
 * The second pass converts the whole recording without data and keeps nothing but the tables, so
 * whatever a replay will refuse is refused at once, by the same code.
 */
#ifndef RECORDER_REPLAY_FEED_PRIV_H
#define RECORDER_REPLAY_FEED_PRIV_H

#include <stdbool.h>

#include "recorder/replay/feed.h"
#include "recorder/replay/feed_entry.h"
#include "recorder/replay/feed_space.h"
#include "recorder/replay/feed_xsave.h"

#define REP_RECORDER_PAGE         0x70000000u /* rr's stubs; the thread-locals page follows */
#define REP_RECORDER_END          0x70002000u
#define REP_RECORDER_VDSO         0x6fffd000u /* librrpage.so, three pages */
#define REP_RECORDER_STUBS_OFFSET 0x3000u     /* of the stub page in librrpage.so, as recorded */
#define REP_SCRATCH_START         0x68000000u
#define REP_SCRATCH_BYTES         0x200000u

struct rep_space {
    struct rep_vmas vmas;
    unsigned task_count;
    uint64_t conflict_frame; /* shares writable memory with the target since then; 0: no */
    char conflict_name[128];
};

enum rep_task_stop {
    REP_STOP_RUNNING, /* anywhere in its code */
    REP_STOP_IN_CALL, /* between the entry and the exit of a system call */
    REP_STOP_AT_EXIT, /* a system call's exit was its last frame */
    REP_STOP_SIGNAL,  /* a signal's arrival was its last frame */
};

struct rep_task {
    int tid, tgid;
    struct rep_space *space; /* NULL: before its first exec */
    int slot;                /* entries' task number; -1 while outside the target space */
    uint64_t scratch_start, scratch_end;
    int restarts; /* the call that restart_syscall goes on with; -1: none */
    enum rep_task_stop stop;
};

/* A fork at which the replay continues as the child. */
struct rep_follow {
    uint64_t time;
    int tid;
};

/* The way to the chosen process. */
struct rep_plan {
    int pid;
    uint64_t start_time; /* frame of the execve */
    struct rep_follow *follows;
    size_t follow_count;
};

struct rep_tables {
    struct rep_file *files;
    size_t file_count, file_capacity;
    const char **names;
    size_t name_count, name_capacity;
    struct rep_range *ranges;
    size_t range_count, range_capacity, range_compact_at;
};

struct rep_feed {
    struct rrt_trace *trace;
    const struct rrt_header *header;
    struct rep_cpu cpu;
    struct rep_plan plan;
    struct rep_tables tables;
    struct rep_info info;
    char *exe;
    char **argv;
    struct rep_xsave_layout recorded_layout, local_layout;
    struct wd_buf xstate; /* the last converted image */

    /* the cursor */
    bool is_scanning; /* second pass: fill the tables, write nothing */
    bool has_ended;
    bool shares_changed; /* a shared mapping came, or became writable, since the last check */
    struct rep_task *tasks;
    size_t task_count, task_capacity;
    struct rep_space *target; /* the space that is replayed; NULL before the exec */
    uint64_t slots_used;
    size_t next_follow;
    uint64_t last_frame;
};

/* What one frame is converted with. */
struct rep_conv {
    struct rep_feed *feed;
    const struct rrt_frame *frame;
    struct rep_space *space; /* whose memory is changed */
    bool is_target;          /* it is the replayed one: entries are wanted, errors count */
    struct rep_builder build;
};

/* feed_process: sets plan.pid, start_time and follows. */
int rep_plan_make(struct rrt_trace *trace, const struct rep_selection *which,
                  struct rep_plan *plan);
void rep_plan_fini(struct rep_plan *plan);

/* feed_tables */
int rep_tables_file(struct rep_feed *feed, const struct rrt_mmap *map, uint64_t *number);
int rep_tables_name(struct rep_feed *feed, const char *name, uint64_t *number);
int rep_tables_range(struct rep_feed *feed, uint64_t start, uint64_t end); /* any order */
void rep_tables_finish(struct rep_feed *feed);                             /* sorts and merges */
void rep_tables_fini(struct rep_tables *tables);

/* feed_tasks: pointers into the table are good until the next task is added or removed. */
struct rep_task *rep_task_find(struct rep_feed *feed, int tid);
int rep_task_add(struct rep_feed *feed, int tid, int tgid, struct rep_space *space,
                 struct rep_task **out);
void rep_task_remove(struct rep_feed *feed, struct rep_task *task);
void rep_task_enter_space(struct rep_task *task, struct rep_space *space);
int rep_task_take_slot(struct rep_feed *feed, struct rep_task *task); /* -WD_ERR_UNSUPPORTED */
void rep_task_drop_slot(struct rep_feed *feed, struct rep_task *task);
void rep_tasks_fini(struct rep_feed *feed);
struct rep_space *rep_space_new(void);

/* feed_ops: each changes the model and, for the target, appends to the open entry. */
int rep_op_map(struct rep_conv *conv, const struct rrt_mmap *map, uint32_t vma_flags);
int rep_op_map_holes(struct rep_conv *conv, const struct rrt_mmap *map, const char *name);
int rep_op_unmap(struct rep_conv *conv, uint64_t start, uint64_t end);
int rep_op_protect(struct rep_conv *conv, uint64_t start, uint64_t end, uint32_t prot);
int rep_op_move(struct rep_conv *conv, uint64_t from, uint64_t from_bytes, uint64_t to,
                uint64_t to_bytes, bool keep);
int rep_op_discard(struct rep_conv *conv, uint64_t start, uint64_t end);
int rep_op_zero(struct rep_conv *conv, uint64_t start, uint64_t bytes);
int rep_op_write(struct rep_conv *conv, const struct rrt_write *write);
int rep_op_capture(struct rep_conv *conv, uint64_t address, uint64_t bytes, unsigned tag);
int rep_op_regs(struct rep_conv *conv, const struct rrt_regs *regs);
int rep_op_xstate(struct rep_conv *conv); /* the frame's extra registers, if it has some */
int rep_op_task_new(struct rep_conv *conv, int slot, const struct rrt_regs *regs);
int rep_op_clear(struct rep_conv *conv);
/* All mappings of the frame; all of its writes to the space of `conv`, or of `tid` alone. */
int rep_op_all_maps(struct rep_conv *conv);
int rep_op_all_writes(struct rep_conv *conv);
int rep_op_writes_of(struct rep_conv *conv, int tid);

/* feed_call: the effects on mappings of a call that returned. */
int rep_call_apply(struct rep_conv *conv, int number);
int rep_call_capture(struct rep_conv *conv, int number);
bool rep_call_failed(const struct rrt_regs *regs);

/* feed_share: second pass only. */
int rep_share_check(struct rep_feed *feed, const struct rrt_frame *frame);
int rep_share_space_gone(struct rep_feed *feed, const struct rep_space *space, uint64_t time);

/* feed_frame: the next frame of the recording, whoever's it is. */
int rep_frame_convert(struct rep_feed *feed, const struct rrt_frame *frame, struct wd_buf *out);
int rep_frame_finish(struct rep_feed *feed, struct wd_buf *out); /* the recording has ended */

/* -WD_ERR_UNSUPPORTED with "frame N (EVENT of thread T): " before the reason. */
int rep_refuse(const struct rrt_frame *frame, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int rep_corrupt(const struct rrt_frame *frame, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Makes room for one more element in a growing array; -ENOMEM. */
int rep_array_grow(void **array, size_t count, size_t *capacity, size_t element_bytes);

#endif
