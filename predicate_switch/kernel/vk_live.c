/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A kernel that is live: calls, ticks and faults in, outcomes out. After each of them it is settled
 * which task runs, and whether a handler of it is entered first.
 *
 * The order of threads is the recording's as long as it fits: at the times at which the recording
 * switched, the thread that then ran goes on, if it can. Otherwise the running one goes on until it
 * waits, or its slice is over; then the next one that can, by slot.
 */
#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "predicate_switch/kernel/vk_calls.h"

#define SLICE    UINT64_C(5000000) /* instructions */
#define BIT(n)   (UINT64_C(1) << ((n)-1))
#define RED_ZONE 128
#define CORE_DUMPS                                                                                 \
    (BIT(SIGQUIT) | BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGABRT) | BIT(SIGBUS) | BIT(SIGFPE) |        \
     BIT(SIGSEGV) | BIT(SIGXCPU) | BIT(SIGXFSZ) | BIT(SIGSYS))
#define STOPS (BIT(SIGSTOP) | BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU))

struct step { /* of one entry from the engine */
    struct vk_kernel *k;
    const struct vk_memory *memory;
    struct vk_outcome *out;
};

static int end(struct step *step, enum vk_then then, const char *reason)
{
    step->out->then = then;
    step->out->reason = reason;
    step->k->s.has_ended = true;
    return 0;
}

static int end_with(struct step *step, int status)
{
    step->out->status = status;
    return end(step, VK_THEN_END, "");
}

static int no_memory(void *arg, uint64_t address, void *bytes, size_t size)
{
    (void)arg, (void)address, (void)bytes, (void)size;
    return -EFAULT;
}

static struct vk_run run_of(struct step *step, const struct vk_call *call, bool is_retry)
{
    static const struct vk_memory nothing = {no_memory, NULL};
    return (struct vk_run){.k = step->k,
                           .h = step->k->history,
                           .call = call,
                           .a = call->args,
                           .memory = step->memory ? step->memory : &nothing,
                           .told_slot = VK_NONE,
                           .deadline = VK_NEVER,
                           .is_retry = is_retry};
}

/* ---- signals that are to be handled ---- */

static bool restarts_always_end(int32_t number)
{
    switch (number) {
    case SYS_poll:
    case SYS_ppoll:
    case SYS_select:
    case SYS_pselect6:
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_pause:
    case SYS_rt_sigsuspend:
    case SYS_rt_sigtimedwait:
        return true;
    default:
        return false;
    }
}

/* What is left of a sleep that a handler ends. */
static void tell_rest(struct step *step, const struct vk_task *task)
{
    uint64_t now = vk_ns(step->k), rest = task->deadline > now ? task->deadline - now : 0;
    int64_t time[2] = {(int64_t)(rest / 1000000000), (int64_t)(rest % 1000000000)};
    struct vk_run run = run_of(step, &task->call, true);
    bool is_clock = task->call.number == SYS_clock_nanosleep;
    uint64_t address = is_clock ? task->call.args[3] : task->call.args[1];
    if ((task->call.number == SYS_nanosleep || (is_clock && !task->call.args[1])) && address)
        vk_put(&run, address, time, sizeof(time));
}

/* The task leaves the call that it waits in, for a handler. */
static void interrupt(struct step *step, uint32_t slot, uint64_t flags)
{
    const struct vk_task waiting = *vk_task(step->k, slot);
    struct vk_task *task = vk_task_edit(step->k, slot);
    const struct vk_call *call = &waiting.call;
    bool has_timeout = call->number == SYS_futex && call->args[3];
    bool restarts = flags & SA_RESTART && !restarts_always_end(call->number) && !has_timeout;
    tell_rest(step, &waiting);
    task->state = VK_TASK_READY;
    task->futex = 0;
    task->deadline = VK_NEVER;
    task->has_waited = false;
    if (waiting.done) {
        task->returns = true;
        task->result = (int64_t)waiting.done;
        return;
    }
    task->returns = !restarts;
    task->result = restarts ? call->number : -EINTR;
    task->restarts = restarts;
}

static int die(struct step *step, int number)
{
    bool dumps = CORE_DUMPS & BIT(number);
    const struct vk_scalars *s = &step->k->s;
    if (s->limits_known & 1u << RLIMIT_CORE && !s->limit_cur[RLIMIT_CORE])
        dumps = false;
    return end_with(step, number | (dumps ? 0x80 : 0));
}

static void enter_handler(struct step *step, uint32_t slot, const struct vk_pending *pending)
{
    struct vk_kernel *k = step->k;
    struct vk_action *action = vk_edit(&k->actions, (uint32_t)pending->number - 1);
    struct vk_task *task = vk_task_edit(k, slot);
    struct vk_signal *signal = &k->signal;
    *signal = (struct vk_signal){.number = pending->number,
                                 .handler = action->handler,
                                 .restorer = action->restorer,
                                 .flags = action->flags,
                                 .old_mask = task->has_saved_mask ? task->saved_mask : task->mask,
                                 .alt_stack = task->alt_stack,
                                 .alt_size = task->alt_size,
                                 .alt_flags = task->alt_size ? task->alt_flags : SS_DISABLE,
                                 .is_fault = task->faults};
    memcpy(signal->info, pending->info, sizeof(signal->info));
    if (action->flags & SA_ONSTACK && task->alt_size)
        signal->frame_top = task->alt_stack + task->alt_size;
    task->has_saved_mask = false;
    task->faults = false;
    task->mask |= action->mask | (action->flags & SA_NODEFER ? 0 : BIT(pending->number));
    task->mask &= ~(BIT(SIGKILL) | BIT(SIGSTOP));
    if (action->flags & SA_RESETHAND)
        action->handler = 0;
    step->out->signal = signal;
}

/* The next signal of the task that is about to run. 1: the process ends of it. */
static int deliver(struct step *step, uint32_t slot)
{
    struct vk_kernel *k = step->k;
    for (;;) {
        uint32_t at = vk_signal_next(k, slot, vk_task(k, slot)->mask);
        if (at == VK_NONE)
            return 0;
        struct vk_pending pending = *(const struct vk_pending *)vk_row(&k->pending, at);
        struct vk_action action = *vk_action_of(k, pending.number);
        if (vk_remove(&k->pending, at, 1))
            return -ENOMEM;
        if (vk_signal_is_ignored(k, pending.number))
            continue;
        if (!action.handler && STOPS & BIT(pending.number)) {
            end(step, VK_THEN_UNRESOLVED, "a signal that stops the process is not modelled");
            return 1;
        }
        if (!action.handler) {
            die(step, pending.number);
            return 1;
        }
        if (vk_task(k, slot)->state == VK_TASK_WAITS)
            interrupt(step, slot, action.flags);
        enter_handler(step, slot, &pending);
        return 0;
    }
}

/* Whether a signal would take the task out of its call, or end the process. */
static bool is_interrupted(const struct vk_kernel *k, uint32_t slot)
{
    return vk_signal_next(k, slot, vk_task(k, slot)->mask) != VK_NONE;
}

/* ---- calls of tasks ---- */

static int special(struct step *step, uint32_t slot, struct vk_run *run, int64_t result)
{
    struct vk_kernel *k = step->k;
    struct vk_task *task = vk_task_edit(k, slot);
    if (result == VK_NOMEM)
        return -ENOMEM;
    if (result == VK_STOP)
        return end(step, VK_THEN_STOPPED, "");
    if (result == VK_UNKNOWN)
        return end(step, VK_THEN_UNRESOLVED, k->reason);
    if (result == VK_WAIT) {
        task->state = VK_TASK_WAITS;
        task->has_waited = true;
        task->deadline = run->deadline;
        return 0;
    }
    /* VK_NO_RETURN */
    if (run->call->number == SYS_rt_sigreturn)
        task->sigreturns = true;
    else if (k->s.has_ended)
        return end_with(step, run->exit_status);
    return 0;
}

/* Makes a task's call, or goes on with it. */
static int attempt(struct step *step, uint32_t slot)
{
    struct vk_task *task = vk_task_edit(step->k, slot);
    if (!task)
        return -ENOMEM;
    struct vk_call call = task->call;
    struct vk_run run = run_of(step, &call, task->has_waited);
    size_t ops = step->k->ops.count;
    int64_t result = vk_answer(&run);
    if (VK_IS_SPECIAL(result)) {
        if (result == VK_WAIT)
            step->k->ops.count = ops;
        return special(step, slot, &run, result);
    }
    task = vk_task_edit(step->k, slot);
    if (!task)
        return -ENOMEM;
    task->state = VK_TASK_READY;
    task->has_waited = false;
    task->deadline = VK_NEVER;
    task->futex = 0;
    task->returns = true;
    task->result = result;
    if (task->has_saved_mask && result != -EINTR) {
        task->mask = task->saved_mask;
        task->has_saved_mask = false;
    }
    return 0;
}

/* ---- who runs ---- */

/* Whether the task can run now; a call that it waits in may have come to its end. */
static int can_run(struct step *step, uint32_t slot, bool *can)
{
    struct vk_kernel *k = step->k;
    *can = false;
    if (slot >= vk_count(&k->tasks))
        return 0;
    uint32_t state = vk_task(k, slot)->state;
    if (state == VK_TASK_READY || (state == VK_TASK_WAITS && is_interrupted(k, slot))) {
        *can = true;
        return 0;
    }
    if (state != VK_TASK_WAITS)
        return 0;
    k->s.running = slot; /* for what asks who it is */
    int err = attempt(step, slot);
    *can = !err && !k->s.has_ended && vk_task(k, slot)->state == VK_TASK_READY;
    return err;
}

/* How long a thread may run that gets the processor now: as long as the recording had no other
 * turn, but for a while at least. */
static uint64_t slice_end(const struct vk_kernel *k)
{
    const struct vk_history *h = k->history;
    uint64_t least = k->s.now + SLICE, turn = h->end_when;
    for (size_t i = k->s.schedule; i < h->turn_count; i++) {
        if (h->turns[i].when > k->s.now) {
            turn = h->turns[i].when;
            break;
        }
    }
    return turn > least ? turn : least;
}

/* The recording's turn at this very time; VK_NONE. */
static uint32_t turn_now(struct vk_kernel *k)
{
    const struct vk_history *h = k->history;
    uint32_t task = VK_NONE;
    while (k->s.schedule < h->turn_count && h->turns[k->s.schedule].when <= k->s.now) {
        if (h->turns[k->s.schedule].when == k->s.now)
            task = h->turns[k->s.schedule].task;
        k->s.schedule++;
    }
    return task;
}

/* Signals that the recording had from outside arrive when they did. */
static bool is_from_outside(const struct vk_kernel *k, const struct vk_told_signal *told)
{
    siginfo_t info;
    memcpy(&info, told->info, sizeof(told->info));
    if (told->is_fault || !told->has_info || told->number < 1 || told->number > 64)
        return false;
    if (info.si_code == SI_TIMER || info.si_code == SI_TKILL)
        return false;
    if (info.si_code == SI_KERNEL)
        return told->number != SIGALRM && told->number != SIGVTALRM && told->number != SIGPROF &&
               told->number != SIGSEGV;
    return info.si_code <= 0 ? info.si_pid != k->s.pid : told->number == SIGCHLD;
}

static int signals_arrive(struct vk_kernel *k)
{
    const struct vk_history *h = k->history;
    while (k->s.signals < h->signal_count && h->signals[k->s.signals].when <= k->s.now) {
        const struct vk_told_signal *told = &h->signals[k->s.signals++];
        if (!is_from_outside(k, told))
            continue;
        bool is_there =
            told->task < vk_count(&k->tasks) && vk_task(k, told->task)->state != VK_TASK_FREE;
        int err = vk_signal_send(k, is_there ? told->task : VK_NONE, told->number, told->info);
        if (err == -ENOMEM)
            return err;
    }
    return 0;
}

static uint64_t next_deadline(const struct vk_kernel *k)
{
    uint64_t next = vk_next_timer(k);
    for (uint32_t i = 0; i < vk_count(&k->tasks); i++)
        if (vk_task(k, i)->state == VK_TASK_WAITS && vk_task(k, i)->deadline < next)
            next = vk_task(k, i)->deadline;
    return next;
}

/* All wait: time passes until something happens. 1: nothing ever will. */
static int pass_time(struct step *step)
{
    struct vk_kernel *k = step->k;
    uint64_t next = next_deadline(k), now = vk_ns(k);
    if (next == VK_NEVER)
        return 1;
    if (next > now)
        k->s.idle_ns += next - now;
    return vk_timers_fire(k);
}

/* The first that can run, from a slot on, around. */
static int find_runner(struct step *step, uint32_t from, uint32_t *found)
{
    struct vk_kernel *k = step->k;
    uint32_t count = vk_count(&k->tasks);
    *found = VK_NONE;
    for (uint32_t i = 0; i < count; i++) {
        bool can;
        uint32_t slot = (from + i) % count;
        int err = can_run(step, slot, &can);
        if (err || k->s.has_ended)
            return err;
        if (can) {
            *found = slot;
            return 0;
        }
    }
    return 0;
}

/* A thread that gets its turn as recorded, and then came back since its time was up: it is now,
 * whatever the clock inside says. */
static void time_is_up(struct vk_kernel *k, uint32_t slot)
{
    uint32_t foretold = slot < vk_count(&k->tasks) ? vk_task(k, slot)->foretold : 0;
    const struct vk_history_call *call = foretold ? &k->history->calls[foretold - 1] : NULL;
    bool is_now = call && vk_timed_out(call) && call->ended == k->s.now &&
                  vk_task(k, slot)->state == VK_TASK_WAITS;
    struct vk_task *task = is_now ? vk_task_edit(k, slot) : NULL;
    if (task && task->has_waited)
        task->deadline = vk_ns(k);
}

static int choose(struct step *step, uint32_t *slot)
{
    struct vk_kernel *k = step->k;
    uint32_t running = k->s.running, turn = turn_now(k);
    bool can = false;
    if (turn != VK_NONE) {
        time_is_up(k, turn);
        int err = can_run(step, turn, &can);
        if (err || can || k->s.has_ended) {
            *slot = turn;
            k->s.slice_end = slice_end(k);
            return err;
        }
    }
    bool goes_on = running < vk_count(&k->tasks) && k->s.now < k->s.slice_end;
    if (goes_on) {
        int err = can_run(step, running, &can);
        *slot = running;
        if (err || can || k->s.has_ended)
            return err;
    }
    for (;;) {
        int err = find_runner(step, running + 1, slot);
        if (err || *slot != VK_NONE || k->s.has_ended)
            break;
        err = pass_time(step);
        if (err)
            return err < 0 ? err
                           : end(step, VK_THEN_HANGS, "all its threads wait for what never comes");
    }
    k->s.slice_end = slice_end(k);
    return 0;
}

static bool has_others(const struct vk_kernel *k, uint32_t slot)
{
    for (uint32_t i = 0; i < vk_count(&k->tasks); i++)
        if (i != slot &&
            (vk_task(k, i)->state == VK_TASK_READY || vk_task(k, i)->state == VK_TASK_WAITS))
            return true;
    return false;
}

/* When the engine is to ask again. */
static uint64_t until(const struct vk_kernel *k, uint32_t slot)
{
    const struct vk_history *h = k->history;
    uint64_t when = VK_NEVER, timer = vk_next_timer(k), now = vk_ns(k);
    if (timer != VK_NEVER)
        when = k->s.now + (timer > now ? timer - now : 1);
    if (has_others(k, slot) && k->s.slice_end < when)
        when = k->s.slice_end;
    if (k->s.schedule < h->turn_count && h->turns[k->s.schedule].when < when)
        when = h->turns[k->s.schedule].when;
    for (uint32_t i = k->s.signals; i < h->signal_count; i++) {
        if (!is_from_outside(k, &h->signals[i]))
            continue;
        when = h->signals[i].when < when ? h->signals[i].when : when;
        break;
    }
    uint64_t most = h->start.limits.instructions;
    if (most && k->s.live_from + most < when)
        when = k->s.live_from + most;
    return when > k->s.now ? when : k->s.now + 1;
}

/* What the task that runs now comes back with. */
static void give(struct step *step, uint32_t slot)
{
    struct vk_task *task = vk_task_edit(step->k, slot);
    struct vk_outcome *out = step->out;
    out->task = slot;
    out->returns = task->returns;
    out->restarts = task->restarts;
    out->sigreturn = task->sigreturns;
    out->result = task->result;
    task->returns = task->restarts = task->sigreturns = false;
}

static int settle(struct step *step)
{
    struct vk_kernel *k = step->k;
    uint32_t slot = k->s.running;
    int err = 0;
    if (!k->s.has_ended)
        err = signals_arrive(k);
    if (!err && !k->s.has_ended)
        err = choose(step, &slot);
    if (!err && !k->s.has_ended) {
        k->s.running = slot;
        err = deliver(step, slot);
        err = err > 0 ? 0 : err;
    }
    if (!err && !k->s.has_ended) {
        give(step, slot);
        step->out->then = VK_THEN_RUN;
        step->out->until = until(k, slot);
    }
    step->out->ops = k->ops.list;
    step->out->op_count = k->ops.count;
    return err;
}

/* ---- the entries ---- */

static int begin(struct step *step, struct vk_kernel *k, uint64_t when,
                 const struct vk_memory *memory, struct vk_outcome *out)
{
    *step = (struct step){k, memory, out};
    *out = (struct vk_outcome){.until = VK_NEVER, .reason = "", .task = k->s.running};
    if (!vk_is_live(k) || k->s.has_ended)
        return -EINVAL;
    vk_ops_clear(&k->ops);
    if (when > k->s.now)
        k->s.now = when;
    uint64_t most = k->history->start.limits.instructions;
    if (most && k->s.now >= k->s.live_from && k->s.now - k->s.live_from >= most) {
        snprintf(k->reason, sizeof(k->reason), "the limit of %llu instructions is reached",
                 (unsigned long long)most);
        end(step, VK_THEN_UNRESOLVED, k->reason);
        return 1;
    }
    return vk_timers_fire(k);
}

static int begun(struct step *step, int err)
{
    return err > 0 ? settle(step) : err;
}

int vk_kernel_live(struct vk_kernel *k, uint64_t when, uint32_t task, struct vk_outcome *out)
{
    struct step step;
    if (vk_is_live(k) || task >= VK_TASKS_MAX || vk_extend(&k->tasks, task + 1))
        return -EINVAL;
    k->s.live_from = when;
    k->s.now = when ? when - 1 : 0;
    k->s.reachable_at_start = vk_maps_reachable(k);
    k->s.running = task;
    const struct vk_history *h = k->history;
    while (k->s.schedule < h->turn_count && h->turns[k->s.schedule].when < when)
        k->s.schedule++;
    while (k->s.signals < h->signal_count && h->signals[k->s.signals].when < when)
        k->s.signals++;
    while (k->s.counters < h->counter_count && h->counters[k->s.counters].when < when)
        k->s.counters++;
    k->s.slice_end = slice_end(k);
    for (uint32_t i = 0; i < vk_count(&k->tasks); i++) {
        struct vk_task *row = vk_task_edit(k, i);
        if (!row)
            return -ENOMEM;
        row->foretold = row->in_call;
        if (row->state == VK_TASK_CHILD)
            row->state = VK_TASK_FREE;
        if (row->state == VK_TASK_READY && row->in_call && i != task)
            row->state = VK_TASK_WAITS;
        if (i == task)
            row->state = VK_TASK_READY;
    }
    for (uint32_t i = 0; i < vk_count(&k->timers); i++)
        vk_timer_align(k, i);
    int err = begin(&step, k, k->s.now, NULL, out);
    if (err)
        return begun(&step, err);
    out->then = VK_THEN_RUN;
    out->task = task;
    out->until = until(k, task);
    return 0;
}

int vk_call(struct vk_kernel *k, const struct vk_call *call, const struct vk_memory *memory,
            struct vk_outcome *out)
{
    struct step step;
    if (call->task >= vk_count(&k->tasks))
        return -EINVAL;
    k->s.running = call->task;
    int err = begin(&step, k, call->when, memory, out);
    if (err)
        return begun(&step, err);
    struct vk_task *task = vk_task_edit(k, call->task);
    if (!task)
        return -ENOMEM;
    task->call = *call;
    task->done = 0;
    task->made = 0;
    task->has_waited = task->is_woken = false;
    task->futex = 0;
    task->deadline = VK_NEVER;
    const struct vk_history_call *recorded =
        vk_call_at(k->history, call->when, call->task, call->number);
    task->foretold = recorded ? 1 + (uint32_t)(recorded - k->history->calls) : 0;
    if (recorded && recorded->is_late)
        task->state = VK_TASK_WAITS; /* it is made when the thread has its turn */
    else
        err = attempt(&step, call->task);
    return err ? err : settle(&step);
}

int vk_tick(struct vk_kernel *k, uint64_t when, const struct vk_memory *memory,
            struct vk_outcome *out)
{
    struct step step;
    int err = begin(&step, k, when, memory, out);
    return err ? begun(&step, err) : settle(&step);
}

/* A fault is handled even where it is blocked or ignored: then it ends the process. */
static int force(struct step *step, uint32_t slot, int number, const uint8_t info[128])
{
    struct vk_kernel *k = step->k;
    struct vk_task *task = vk_task_edit(k, slot);
    struct vk_pending pending = {.task = slot, .number = number};
    uint64_t handler = vk_action_of(k, number)->handler;
    if (handler <= 1 || task->mask & BIT(number)) {
        die(step, number);
        return settle(step);
    }
    memcpy(pending.info, info, sizeof(pending.info));
    task->faults = true;
    k->s.slice_end = slice_end(k); /* no other task comes between */
    if (vk_append(&k->pending, &pending))
        return -ENOMEM;
    return settle(step);
}

int vk_fault(struct vk_kernel *k, uint64_t when, uint32_t task, int number, int code,
             uint64_t address, const struct vk_memory *memory, struct vk_outcome *out)
{
    struct step step;
    uint8_t info[128] = {0};
    struct vk_call none = {.when = when, .task = task, .number = -1};
    if (task >= vk_count(&k->tasks) || number < 1 || number > 64)
        return -EINVAL;
    k->s.running = task;
    int err = begin(&step, k, when, memory, out);
    if (err)
        return begun(&step, err);
    struct vk_run run = run_of(&step, &none, false);
    int64_t grown =
        number == SIGSEGV && code != SEGV_ACCERR ? vk_maps_grow_stack(&run, address) : -EFAULT;
    if (grown == VK_NOMEM)
        return -ENOMEM;
    if (grown == VK_UNKNOWN) {
        end(&step, VK_THEN_UNRESOLVED, k->reason);
        return settle(&step);
    }
    if (!grown) {
        out->retries = true;
        return settle(&step);
    }
    int32_t head[3] = {number, 0, code};
    memcpy(info, head, sizeof(head));
    memcpy(info + 16, &address, sizeof(address));
    return force(&step, task, number, info);
}

int vk_entered(struct vk_kernel *k, uint64_t when, const struct vk_memory *memory,
               struct vk_outcome *out)
{
    struct step step;
    int err = begin(&step, k, when, memory, out);
    if (err)
        return begun(&step, err);
    err = deliver(&step, k->s.running);
    if (err < 0)
        return err;
    if (!k->s.has_ended) {
        give(&step, k->s.running);
        out->then = VK_THEN_RUN;
        out->until = until(k, k->s.running);
    }
    out->ops = k->ops.list;
    out->op_count = k->ops.count;
    return 0;
}

uint64_t vk_counter(struct vk_kernel *k, uint64_t when)
{
    const struct vk_history *h = k->history;
    if (when > k->s.now)
        k->s.now = when;
    if (k->s.counters < h->counter_count)
        k->s.counter = h->counters[k->s.counters++].value;
    else
        k->s.counter += (when > k->s.counter_at ? when - k->s.counter_at : 0) + 1;
    k->s.counter_at = when;
    return k->s.counter;
}
