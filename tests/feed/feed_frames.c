/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/feed/feed_frames.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "recorder/event/ops.h"
#include <wetdbg/errors.h>

#define PAGES(count) ((uint64_t)(count)*WD_PAGE)

static const struct rrt_mmap program_maps[] = {
    {.start = CODE,
     .end = CODE + PAGES(4),
     .prot = 5,
     .flags = MAP_PRIVATE,
     .name = "/bin/x",
     .source = RRT_SOURCE_TRACE,
     .inode = 9,
     .backing = ""},
    {.start = HEAP,
     .end = HEAP + PAGES(16),
     .prot = 3,
     .flags = MAP_PRIVATE | MAP_ANONYMOUS,
     .name = "[heap]",
     .backing = ""},
    {.start = STACK,
     .end = STACK + PAGES(4),
     .prot = 3,
     .flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN,
     .name = "[stack]",
     .backing = ""},
    {.start = SCRATCH,
     .end = SCRATCH + PAGES(512),
     .prot = 7,
     .flags = MAP_PRIVATE | MAP_ANONYMOUS,
     .name = "",
     .backing = ""},
};

struct rrt_frame stage_frame(struct stage *stage, int tid, enum rrt_event event)
{
    return (struct rrt_frame){
        .time = ++stage->time,
        .tid = tid,
        .event = event,
        .arch = RRT_ARCH_X86_64,
        .has_regs = true,
        .regs = {.rip = CODE + 0x102, .rsp = STACK + 0x800, .rcx = (uint64_t)-1},
    };
}

struct rrt_frame stage_call(struct stage *stage, int tid, enum rrt_syscall_state state, int number)
{
    struct rrt_frame frame = stage_frame(stage, tid, RRT_EVENT_SYSCALL);
    frame.syscall.state = state;
    frame.syscall.number = number;
    frame.syscall.arch = RRT_ARCH_X86_64;
    frame.regs.orig_rax = (uint64_t)number;
    frame.regs.rax = state == RRT_SYSCALL_EXITING ? 0 : (uint64_t)-38;
    return frame;
}

int stage_take(struct stage *stage, const struct rrt_frame *frame)
{
    stage->out.size_bytes = 0;
    int err = feed_frame_convert(&stage->feed, frame, &stage->out);
    for (size_t at = 0; at < stage->out.size_bytes && !err;) {
        const struct evq_entry *entry = (const void *)(stage->out.data + at);
        err = evq_entry_check(entry, stage->out.size_bytes - at);
        at += entry->bytes;
    }
    return err;
}

static void take_exec(struct stage *stage)
{
    struct rrt_task_event exec = {.time = 1, .tid = LEADER, .kind = RRT_TASK_EXEC};
    struct rrt_frame frame = stage_call(stage, LEADER, RRT_SYSCALL_EXITING, SYS_execve);
    frame.mmaps = program_maps;
    frame.mmap_count = sizeof(program_maps) / sizeof(program_maps[0]);
    frame.tasks = &exec;
    frame.task_count = 1;
    if (stage_take(stage, &frame) || !stage->feed.target)
        abort();
}

struct stage *stage_new_following(uint64_t time, int tid)
{
    struct stage *stage = calloc(1, sizeof(*stage));
    if (!stage)
        abort();
    stage->header.rrcall_base = 1000;
    stage->header.syscallbuf_header_size_bytes = 30;
    stage->feed.header = &stage->header;
    stage->feed.is_scanning = true;
    stage->feed.plan.pid = stage->feed.info.pid = tid ? tid : LEADER;
    stage->feed.plan.start_time = 1;
    stage->feed.plan.follow_count = tid ? 1 : 0;
    stage->feed.plan.follows = calloc(1, sizeof(*stage->feed.plan.follows));
    if (!stage->feed.plan.follows)
        abort();
    stage->feed.plan.follows[0] = (struct feed_follow){time, tid};
    take_exec(stage);
    return stage;
}

struct stage *stage_new(void)
{
    return stage_new_following(0, 0);
}

void stage_free(struct stage *stage)
{
    feed_tasks_fini(&stage->feed);
    feed_tables_fini(&stage->feed.tables);
    feed_plan_fini(&stage->feed.plan);
    wd_buf_fini(&stage->feed.xstate);
    wd_buf_fini(&stage->out);
    free(stage);
}

int stage_do_call(struct stage *stage, int tid, int number, uint64_t result, uint64_t rdi,
                  uint64_t rsi, uint64_t rdx)
{
    struct rrt_frame entry = stage_call(stage, tid, RRT_SYSCALL_ENTERING, number);
    if (stage_take(stage, &entry))
        abort();
    struct rrt_frame frame = stage_call(stage, tid, RRT_SYSCALL_EXITING, number);
    frame.regs.rax = result;
    frame.regs.rdi = rdi;
    frame.regs.rsi = rsi;
    frame.regs.rdx = rdx;
    return stage_take(stage, &frame);
}

int stage_map(struct stage *stage, int tid, uint64_t start, unsigned pages, int prot, int flags,
              uint64_t inode)
{
    struct rrt_mmap map = {.start = start,
                           .end = start + PAGES(pages),
                           .prot = prot,
                           .flags = flags,
                           .inode = inode,
                           .source = inode ? RRT_SOURCE_TRACE : RRT_SOURCE_ZERO,
                           .name = inode ? "/some/file" : "",
                           .backing = ""};
    struct rrt_frame frame = stage_call(stage, tid, RRT_SYSCALL_EXITING, SYS_mmap);
    frame.regs.rax = start;
    frame.mmaps = &map;
    frame.mmap_count = 1;
    return stage_take(stage, &frame);
}

int stage_clone_at(struct stage *stage, int parent, int child, int flags, int64_t ticks)
{
    struct rrt_mmap scratch = program_maps[3];
    scratch.start += PAGES(1024);
    scratch.end += PAGES(1024);
    struct rrt_frame frame = stage_call(stage, parent, RRT_SYSCALL_ENTERING, SYS_clone);
    struct rrt_task_event event = {.time = frame.time,
                                   .tid = child,
                                   .kind = RRT_TASK_CLONE,
                                   .parent_tid = parent,
                                   .clone_flags = flags};
    frame.regs.rdi = (uint64_t)flags;
    frame.regs.rsi = HEAP + 0x1000;
    frame.regs.r8 = HEAP + 0x2000;
    frame.mmaps = &scratch;
    frame.mmap_count = 1;
    frame.tasks = &event;
    frame.task_count = 1;
    frame.ticks = ticks;
    return stage_take(stage, &frame);
}

int stage_clone(struct stage *stage, int parent, int child, int flags)
{
    return stage_clone_at(stage, parent, child, flags, 0);
}

struct rrt_regs stage_thread(struct stage *stage, int parent, int child)
{
    struct rrt_regs regs = stage_call(stage, parent, RRT_SYSCALL_ENTERING, SYS_clone).regs;
    if (stage_clone(stage, parent, child,
                    CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD))
        abort();
    regs.rax = 0;
    regs.rsp = HEAP + 0x1000;
    regs.rdi = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
    regs.rsi = HEAP + 0x1000;
    regs.r8 = HEAP + 0x2000;
    return regs;
}

struct rrt_frame stage_signal(struct stage *stage, int number, int code, bool deterministic)
{
    static uint8_t siginfo[RRT_SIGINFO_BYTES];
    uint64_t address = 0x1234;
    struct rrt_frame frame = stage_frame(stage, LEADER, RRT_EVENT_SIGNAL);
    memcpy(siginfo, &number, 4);
    memcpy(siginfo + 8, &code, 4);
    memcpy(siginfo + 16, &address, 8);
    frame.signal = (struct rrt_signal){.siginfo = siginfo,
                                       .number = number,
                                       .deterministic = deterministic,
                                       .disposition = RRT_DISPOSITION_USER_HANDLER};
    return frame;
}

struct rrt_frame stage_exit(struct stage *stage, int tid)
{
    struct rrt_frame frame = stage_frame(stage, tid, RRT_EVENT_EXIT);
    frame.has_regs = false;
    return frame;
}

struct rrt_frame stage_sched(struct stage *stage, int tid, const struct rrt_regs *regs)
{
    struct rrt_frame frame = stage_frame(stage, tid, RRT_EVENT_SCHED);
    if (regs)
        frame.regs = *regs;
    frame.regs.rip += 7;
    frame.regs.rcx = 0x77;
    return frame;
}

const struct evq_entry *stage_entry(const struct stage *stage, size_t nth)
{
    for (size_t at = 0; at < stage->out.size_bytes;) {
        const struct evq_entry *entry = (const void *)(stage->out.data + at);
        if (!nth--)
            return entry;
        at += entry->bytes;
    }
    return NULL;
}

const struct evq_op *stage_op(const struct evq_entry *entry, size_t nth)
{
    const struct evq_op *op = evq_op_next(entry, NULL);
    while (op && nth--)
        op = evq_op_next(entry, op);
    return op;
}

const char *stage_text(const struct stage *stage)
{
    static char text[1024];
    const struct evq_entry *entry;
    text[0] = 0;
    for (size_t i = 0; (entry = stage_entry(stage, i)); i++) {
        const struct evq_op *op;
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s%s", i ? "; " : "",
                 rep_entry_kind_name(entry->kind), entry->op_count ? ":" : "");
        for (size_t j = 0; (op = stage_op(entry, j)); j++)
            snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s",
                     rep_opcode_name(op->op));
    }
    return text;
}

int stage_exec(struct stage *stage, int tid)
{
    struct rrt_mmap map = {.start = CODE,
                           .end = CODE + WD_PAGE,
                           .prot = 5,
                           .flags = MAP_PRIVATE,
                           .name = "",
                           .backing = ""};
    struct rrt_frame frame = stage_call(stage, tid, RRT_SYSCALL_EXITING, SYS_execve);
    frame.mmaps = &map;
    frame.mmap_count = 1;
    return stage_take(stage, &frame);
}
