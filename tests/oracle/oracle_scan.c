/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/oracle/oracle_scan.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/oracle/oracle_processor.h"
#include <wetdbg/errors.h>

#define PAGE       UINT64_C(4096)
#define STUB_FIRST UINT64_C(0x10000000)
#define STUB_STEP  UINT64_C(0x01000000)
#define STUB_LAST  UINT64_C(0x7e0000000000)
#define STUB_ROOM  UINT64_C(0x00100000) /* kept free on both sides */

/* ---------------------------------------------------------------- the process */

static const struct wetdbg_process *choose_process(const struct wetdbg_process *list, size_t count,
                                                   int pid)
{
    const struct wetdbg_process *chosen = NULL;

    for (size_t i = 0; i < count; i++) {
        const struct wetdbg_process *p = &list[i];
        if (pid != 0) {
            if (p->pid == pid)
                return p;
            continue;
        }
        if (p->exec_count == 0)
            continue;
        if (!chosen || (p->fatal_signal != 0) > (chosen->fatal_signal != 0) ||
            ((p->fatal_signal != 0) == (chosen->fatal_signal != 0) &&
             p->execs[p->exec_count - 1].time > chosen->execs[chosen->exec_count - 1].time))
            chosen = p;
    }
    return chosen;
}

static int find_process(struct wetdbg_recording *trace, int pid, struct orc_plan *plan,
                        const struct wetdbg_process **out)
{
    const struct wetdbg_process *list;
    const struct wetdbg_process *chosen;
    size_t count;
    int err = wetdbg_recording_processes(trace, &list, &count);

    if (err != 0)
        return err;
    chosen = choose_process(list, count, pid);
    if (!chosen)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "%s: no process %d", rrt_trace_dir(trace), pid);
    if (chosen->exec_count == 0)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                           "the oracle cannot re-enact process %d: forked without "
                           "exec",
                           chosen->pid);
    plan->pid = chosen->pid;
    plan->start_time = chosen->execs[chosen->exec_count - 1].time;
    plan->end_time = chosen->end_time;
    *out = chosen;
    return 0;
}

/* ---------------------------------------------------------------- a place for the stub */

struct ranges {
    struct rrt_range *list;
    size_t count;
    size_t room;
};

static int ranges_add(struct ranges *ranges, uint64_t start, uint64_t end)
{
    if (ranges->count == ranges->room) {
        size_t room = ranges->room ? 2 * ranges->room : 256;
        struct rrt_range *grown = realloc(ranges->list, room * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        ranges->list = grown;
        ranges->room = room;
    }
    ranges->list[ranges->count++] = (struct rrt_range){start, end};
    return 0;
}

static bool ranges_touch(const struct ranges *ranges, uint64_t start, uint64_t end)
{
    for (size_t i = 0; i < ranges->count; i++)
        if (ranges->list[i].start < end && start < ranges->list[i].end)
            return true;
    return false;
}

static int check_frame(const struct rrt_frame *frame)
{
    if (frame->arch != RRT_ARCH_X86_64)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "frame %" PRIu64 " is of a 32-bit task",
                           frame->time);
    switch (frame->event) {
    case RRT_EVENT_PATCH_SYSCALL:
    case RRT_EVENT_SYSCALLBUF_ABORT_COMMIT:
    case RRT_EVENT_SYSCALLBUF_RESET:
    case RRT_EVENT_SYSCALLBUF_FLUSH:
    case RRT_EVENT_PATCH_AFTER_SYSCALL:
    case RRT_EVENT_PATCH_VSYSCALL:
    case RRT_EVENT_PATCH_TRAPPING_INSTRUCTION:
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                           "frame %" PRIu64 ": the oracle does not do %s; record with rr record -n",
                           frame->time, rrt_event_name(frame->event));
    default:
        return 0;
    }
}

static int add_fault(struct ranges *ranges, const struct rrt_signal *signal)
{
    siginfo_t info;
    uint64_t page;

    memcpy(&info, signal->siginfo, sizeof(info));
    if (signal->number != SIGSEGV && signal->number != SIGBUS)
        return 0;
    page = (uint64_t)(uintptr_t)info.si_addr & ~(PAGE - 1);
    return ranges_add(ranges, page, page + PAGE < page ? UINT64_MAX : page + PAGE);
}

static bool is_of(const struct wetdbg_process *process, int tid)
{
    for (size_t i = 0; i < process->tid_count; i++)
        if (process->tids[i] == tid)
            return true;
    return false;
}

static int collect_ranges(struct wetdbg_recording *trace, const struct orc_plan *plan,
                          const struct wetdbg_process *process, struct ranges *ranges)
{
    struct rrt_frame frame;
    int err = rrt_rewind(trace);

    rrt_set_skip_data(trace, true);
    while (err == 0 && (err = rrt_next(trace, &frame)) == 1) {
        err = 0;
        for (size_t i = 0; err == 0 && i < frame.mmap_count; i++)
            err = ranges_add(ranges, frame.mmaps[i].start, frame.mmaps[i].end);
        if (err == 0 && frame.time >= plan->start_time && frame.time <= plan->end_time &&
            is_of(process, frame.tid))
            err = check_frame(&frame);
        if (err == 0 && frame.event == RRT_EVENT_SIGNAL)
            err = add_fault(ranges, &frame.signal);
    }
    rrt_set_skip_data(trace, false);
    if (err == 0)
        err = rrt_rewind(trace);
    return err;
}

/* The child begins as a copy of this process, so the place must be free here too. */
static int add_own_ranges(struct ranges *ranges)
{
    char line[512];
    int err = 0;
    FILE *maps = fopen("/proc/self/maps", "re");

    if (!maps)
        return wetdbg_fail_errno("/proc/self/maps");
    while (err == 0 && fgets(line, sizeof(line), maps)) {
        uint64_t start;
        uint64_t end;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2)
            err = ranges_add(ranges, start, end);
    }
    fclose(maps);
    return err;
}

int orc_scan(struct wetdbg_recording *trace, int pid, struct orc_plan *plan)
{
    const struct wetdbg_process *process = NULL;
    struct ranges ranges = {0};
    int err = find_process(trace, pid, plan, &process);

    if (err == 0)
        err = orc_processor_check(rrt_trace_header(trace));
    if (err == 0)
        err = collect_ranges(trace, plan, process, &ranges);
    if (err == 0)
        err = add_own_ranges(&ranges);
    if (err == 0) {
        plan->stub = STUB_FIRST;
        while (plan->stub < STUB_LAST &&
               ranges_touch(&ranges, plan->stub - STUB_ROOM, plan->stub + PAGE + STUB_ROOM))
            plan->stub += STUB_STEP;
        if (plan->stub >= STUB_LAST)
            err = wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "no room for the oracle's page");
    }
    free(ranges.list);
    return err;
}
