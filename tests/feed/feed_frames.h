/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hand-made frames for the converter. A stage is a feed that has just taken the exec frame of
 * process LEADER, which left it these mappings:
 *
 *     CODE  4 pages r-x     HEAP  16 pages rw-     STACK  4 pages rw-, grows down     SCRATCH rwx
 */
#ifndef TESTS_FEED_FEED_FRAMES_H
#define TESTS_FEED_FEED_FRAMES_H

#include "recorder/feed/feed_priv.h"

enum { LEADER = 100, STRANGER = 500 };
#define CODE    0x400000ull
#define HEAP    0x500000ull
#define STACK   0x7ffe0000ull
#define SCRATCH 0x68000000ull

struct stage {
    struct rep_feed feed;
    struct rrt_header header;
    struct wd_buf out; /* what the last frame gave */
    uint64_t time;
};

struct stage *stage_new(void);
/* stage_new() for a plan that follows the fork to `tid` at frame `time`. */
struct stage *stage_new_following(uint64_t time, int tid);
void stage_free(struct stage *stage);

/* A frame with the next time and no content but registers. */
struct rrt_frame stage_frame(struct stage *stage, int tid, enum rrt_event event);
struct rrt_frame stage_call(struct stage *stage, int tid, enum rrt_syscall_state state, int number);

/* A signal that arrives; siginfo's si_addr is 0x1234. The next one reuses its siginfo. */
struct rrt_frame stage_signal(struct stage *stage, int number, int code, bool deterministic);
struct rrt_frame stage_exit(struct stage *stage, int tid);
/* A preemption some instructions after `regs`; NULL: after those of stage_frame(). */
struct rrt_frame stage_sched(struct stage *stage, int tid, const struct rrt_regs *regs);

/* A thread that begins, and the registers it does so with; has to succeed. */
struct rrt_regs stage_thread(struct stage *stage, int parent, int child);

/* Converts; the result. `out` holds this frame's entries only. */
int stage_take(struct stage *stage, const struct rrt_frame *frame);

/* Entry and exit of a call in one go; the entry has to succeed. */
int stage_do_call(struct stage *stage, int tid, int number, uint64_t result, uint64_t rdi,
                  uint64_t rsi, uint64_t rdx);

/* Maps anonymous memory, or an object if `inode`; the call has to succeed. */
int stage_map(struct stage *stage, int tid, uint64_t start, unsigned pages, int prot, int flags,
              uint64_t inode);

/* The parent's call that makes `child`, entry only. */
int stage_clone(struct stage *stage, int parent, int child, int flags);
/* The task runs a program: a new space of one page of code. */
int stage_exec(struct stage *stage, int tid);
int stage_clone_at(struct stage *stage, int parent, int child, int flags, int64_t ticks);

/* The nth entry, and op, of the last frame; NULL beyond the last. */
const struct evq_entry *stage_entry(const struct stage *stage, size_t nth);
const struct evq_op *stage_op(const struct evq_entry *entry, size_t nth);

/* "UNMAP REGS": the opcodes of all of the last frame's entries, each entry's kind in front:
 * "SYSCALL_EXIT: UNMAP REGS; OPS: ZERO". Borrowed until the next call. */
const char *stage_text(const struct stage *stage);

#endif
