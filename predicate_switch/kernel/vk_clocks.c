/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Time. Inside, there is one clock: a nanosecond for each instruction, and what passed while all
 * threads waited. What the program is told is what the recording had next for that clock; when that
 * has run out, the last value and what has passed since on the clock inside.
 */
#include <errno.h>
#include <linux/time_types.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>

#include "predicate_switch/kernel/vk_calls.h"

#define NS       UINT64_C(1000000000)
#define TIME_MAX (UINT64_MAX / 4) /* ns */

uint64_t vk_ns(const struct vk_kernel *k)
{
    return k->s.now + k->s.idle_ns;
}

static int clock_of(int clock)
{
    return clock == CLOCK_REALTIME_COARSE    ? CLOCK_REALTIME
           : clock == CLOCK_MONOTONIC_COARSE ? CLOCK_MONOTONIC
           : clock >= 0 && clock < VK_CLOCKS ? clock
                                             : CLOCK_MONOTONIC;
}

void vk_clock_learn(struct vk_kernel *k, int clock, uint64_t ns)
{
    k->s.clock[clock_of(clock)] = (struct vk_clock){true, ns, vk_ns(k)};
}

/* A clock that was never read goes with one that was: the wall clocks together; processor time
 * from 0. */
uint64_t vk_clock_now(struct vk_kernel *k, int clock)
{
    const struct vk_clock *own = &k->s.clock[clock_of(clock)];
    bool is_processor = clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID;
    if (!own->is_known && is_processor)
        return k->s.now;
    if (!own->is_known && clock_of(clock) != CLOCK_REALTIME && k->s.clock[CLOCK_MONOTONIC].is_known)
        own = &k->s.clock[CLOCK_MONOTONIC];
    uint64_t ns = own->ns;
    if (!own->is_known && clock_of(clock) == CLOCK_REALTIME)
        ns = (uint64_t)k->history->start.disk_before_ns;
    uint64_t now = vk_ns(k);
    return ns + (now > own->at ? now - own->at : 0);
}

static void split(uint64_t ns, int64_t out[2], uint64_t part)
{
    out[0] = (int64_t)(ns / NS);
    out[1] = (int64_t)(ns % NS / part);
}

/* The recording's next answer to the same question; false: the model's own is to be given. */
static bool next_time(struct vk_run *run, int clock, uint64_t address_arg, uint64_t part,
                      int64_t *result)
{
    struct vk_answer next;
    int64_t time[2];
    if (!vk_next_answer(run, &next))
        return false;
    *result = vk_give_answer(run, &next);
    if (next.result == 0 &&
        vk_answer_bytes(&next, next.args[address_arg], time, sizeof(time)) == sizeof(time))
        vk_clock_learn(run->k, clock, (uint64_t)time[0] * NS + (uint64_t)time[1] * part);
    return true;
}

static bool is_clock(int clock)
{
    return clock >= 0 && clock < VK_CLOCKS && clock != 10;
}

int64_t vk_call_clock_gettime(struct vk_run *run)
{
    int64_t time[2], result;
    int clock = (int)run->a[0];
    if (next_time(run, clock, 1, 1, &result))
        return result;
    if (!is_clock(clock))
        return clock < 0 ? vk_unknown(run, "clocks of other tasks") : -EINVAL;
    split(vk_clock_now(run->k, clock), time, 1);
    return vk_put(run, run->a[1], time, sizeof(time));
}

int64_t vk_call_clock_getres(struct vk_run *run)
{
    int64_t time[2] = {0, 1};
    int clock = (int)run->a[0];
    struct vk_answer next;
    if (vk_next_answer(run, &next))
        return vk_give_answer(run, &next);
    if (!is_clock(clock))
        return -EINVAL;
    if (clock == CLOCK_REALTIME_COARSE || clock == CLOCK_MONOTONIC_COARSE)
        time[1] = 4000000;
    return run->a[1] ? vk_put(run, run->a[1], time, sizeof(time)) : 0;
}

int64_t vk_call_gettimeofday(struct vk_run *run)
{
    int64_t time[2], result;
    int32_t zone[2] = {0, 0};
    if (next_time(run, CLOCK_REALTIME, 0, 1000, &result))
        return result;
    split(vk_clock_now(run->k, CLOCK_REALTIME), time, 1000);
    if (run->a[0] && vk_put(run, run->a[0], time, sizeof(time)))
        return -EFAULT;
    return run->a[1] ? vk_put(run, run->a[1], zone, sizeof(zone)) : 0;
}

int64_t vk_call_time(struct vk_run *run)
{
    struct vk_answer next;
    if (vk_next_answer(run, &next))
        return vk_give_answer(run, &next);
    int64_t now = (int64_t)(vk_clock_now(run->k, CLOCK_REALTIME) / NS);
    if (run->a[0] && vk_put(run, run->a[0], &now, sizeof(now)))
        return -EFAULT;
    return now;
}

/* ---- sleeping ---- */

/* Waits `ns` from when the call was made; then its result is `late`. */
int64_t vk_wait_for(struct vk_run *run, uint64_t ns, int64_t late)
{
    const struct vk_task *task = vk_task(run->k, run->call->task);
    uint64_t now = vk_ns(run->k);
    uint64_t until = run->is_retry ? task->deadline : now + (ns < TIME_MAX ? ns : TIME_MAX);
    if (now >= until)
        return late;
    run->deadline = until;
    return VK_WAIT;
}

/* The same, until a clock shows a time. */
int64_t vk_wait_until(struct vk_run *run, int clock, uint64_t ns, int64_t late)
{
    uint64_t now = run->is_retry ? 0 : vk_clock_now(run->k, clock);
    return vk_wait_for(run, ns > now ? ns - now : 0, late);
}

static int64_t get_time(struct vk_run *run, uint64_t address, uint64_t *ns)
{
    int64_t time[2];
    if (vk_get(run, address, time, sizeof(time)))
        return -EFAULT;
    if (time[0] < 0 || time[1] < 0 || time[1] >= (int64_t)NS)
        return -EINVAL;
    *ns = (uint64_t)time[0] < TIME_MAX / NS ? (uint64_t)time[0] * NS + (uint64_t)time[1] : TIME_MAX;
    return 0;
}

int64_t vk_get_time(struct vk_run *run, uint64_t address, uint64_t *ns)
{
    return get_time(run, address, ns);
}

int64_t vk_call_nanosleep(struct vk_run *run)
{
    uint64_t ns;
    int64_t err = get_time(run, run->a[0], &ns);
    return err ? err : vk_wait_for(run, ns, 0);
}

int64_t vk_call_clock_nanosleep(struct vk_run *run)
{
    uint64_t ns;
    int clock = (int)run->a[0];
    if (!is_clock(clock))
        return -EINVAL;
    int64_t err = get_time(run, run->a[2], &ns);
    if (err)
        return err;
    return run->a[1] & TIMER_ABSTIME ? vk_wait_until(run, clock, ns, 0) : vk_wait_for(run, ns, 0);
}

/* ---- timers ---- */

static uint32_t timer_find(const struct vk_kernel *k, uint32_t kind, uint64_t id)
{
    for (uint32_t i = 0; i < vk_count(&k->timers); i++) {
        const struct vk_timer *timer = vk_row(&k->timers, i);
        if (timer->kind == kind && timer->id == id)
            return i;
    }
    return VK_NONE;
}

static uint32_t timer_make(struct vk_kernel *k, const struct vk_timer *timer)
{
    uint32_t i = timer_find(k, VK_TIMER_FREE, 0);
    if (i == VK_NONE)
        return vk_append(&k->timers, timer) ? VK_NONE : vk_count(&k->timers) - 1;
    struct vk_timer *row = vk_edit(&k->timers, i);
    if (row)
        *row = *timer;
    return row ? i : VK_NONE;
}

/* Processor time passes as instructions do, so all kinds of timers go by the one clock; those of
 * processor time stand still while all wait, which is not modelled: nothing is known of it. */
uint64_t vk_next_timer(const struct vk_kernel *k)
{
    uint64_t next = VK_NEVER;
    for (uint32_t i = 0; i < vk_count(&k->timers); i++) {
        const struct vk_timer *timer = vk_row(&k->timers, i);
        if (timer->kind != VK_TIMER_FREE && timer->next && timer->next < next)
            next = timer->next;
    }
    return next;
}

static int timer_signal(struct vk_kernel *k, const struct vk_timer *timer)
{
    uint8_t info[128];
    if (timer->kind == VK_TIMER_FD || timer->notify == SIGEV_NONE)
        return 0;
    bool is_posix = timer->kind == VK_TIMER_POSIX;
    vk_info_make(info, timer->signal, is_posix ? SI_TIMER : SI_KERNEL, 0, 0, timer->value);
    if (is_posix) {
        int32_t id = (int32_t)timer->id;
        memcpy(info + 16, &id, sizeof(id));
    }
    return vk_signal_send(k, timer->task, timer->signal, info);
}

int vk_timers_fire(struct vk_kernel *k)
{
    uint64_t now = vk_ns(k);
    for (uint32_t i = 0; i < vk_count(&k->timers); i++) {
        const struct vk_timer *known = vk_row(&k->timers, i);
        if (known->kind == VK_TIMER_FREE || !known->next || known->next > now)
            continue;
        struct vk_timer *timer = vk_edit(&k->timers, i);
        if (!timer)
            return -ENOMEM;
        uint64_t times = timer->interval ? 1 + (now - timer->next) / timer->interval : 1;
        timer->expired += times;
        timer->next = timer->interval ? timer->next + times * timer->interval : 0;
        k->s.stamp++;
        int err = timer_signal(k, timer);
        vk_timer_align(k, i);
        if (err == -ENOMEM)
            return err;
    }
    return 0;
}

void vk_timers_told(struct vk_kernel *k, int number)
{
    for (uint32_t i = 0; i < vk_count(&k->timers); i++) {
        const struct vk_timer *known = vk_row(&k->timers, i);
        if (known->kind == VK_TIMER_FREE || known->kind == VK_TIMER_FD || !known->next ||
            known->signal != number)
            continue;
        struct vk_timer *timer = vk_edit(&k->timers, i);
        if (timer)
            timer->next = timer->interval ? vk_ns(k) + timer->interval : 0;
        return;
    }
}

void vk_timer_align(struct vk_kernel *k, uint32_t index)
{
    const struct vk_history *h = k->history;
    const struct vk_timer *timer = vk_row(&k->timers, index);
    if (!vk_is_live(k) || !timer->next || timer->kind == VK_TIMER_FD)
        return;
    for (size_t i = k->s.signals; i < h->signal_count; i++) {
        const struct vk_told_signal *told = &h->signals[i];
        if (told->number == timer->signal && told->when > k->s.now && !told->is_fault) {
            struct vk_timer *row = vk_edit(&k->timers, index);
            if (row)
                row->next = vk_ns(k) + (told->when - k->s.now);
            return;
        }
    }
}

static uint64_t left(const struct vk_kernel *k, const struct vk_timer *timer)
{
    uint64_t now = vk_ns(k);
    return !timer->next ? 0 : timer->next > now ? timer->next - now : 1;
}

static const struct {
    uint32_t kind;
    int signal;
} itimers[] = {{VK_TIMER_REAL, SIGALRM}, {VK_TIMER_VIRTUAL, SIGVTALRM}, {VK_TIMER_PROF, SIGPROF}};

static struct vk_timer *itimer(struct vk_kernel *k, uint64_t which)
{
    uint32_t i = timer_find(k, itimers[which].kind, 0);
    struct vk_timer new = {
        .kind = itimers[which].kind, .signal = itimers[which].signal, .task = VK_NONE};
    if (i == VK_NONE)
        i = timer_make(k, &new);
    return i == VK_NONE ? NULL : vk_edit(&k->timers, i);
}

static uint64_t of_timeval(const int64_t time[2])
{
    uint64_t s = (uint64_t)time[0] < TIME_MAX / NS ? (uint64_t)time[0] : TIME_MAX / NS - 1;
    return s * NS + (uint64_t)time[1] * 1000;
}

static void give_itimer(const struct vk_kernel *k, const struct vk_timer *timer, int64_t out[4])
{
    split(timer->interval, out, 1000);
    uint64_t ns = left(k, timer);
    split(ns && ns < 1000 ? 1000 : ns, out + 2, 1000);
}

/* What a timer had left is the recording's, where it was asked the same. */
static bool next_itimer(struct vk_run *run, uint64_t arg, int64_t old[4])
{
    struct vk_answer next;
    return vk_next_answer(run, &next) && !next.result && next.args[arg] &&
           vk_answer_bytes(&next, next.args[arg], old, 4 * sizeof(*old)) == 4 * sizeof(*old);
}

int64_t vk_call_setitimer(struct vk_run *run)
{
    int64_t new[4], old[4];
    if (run->a[1] && vk_get(run, run->a[1], new, sizeof(new)))
        return -EFAULT;
    if (run->a[0] > 2)
        return -EINVAL;
    struct vk_timer *timer = itimer(run->k, run->a[0]);
    if (!timer)
        return VK_NOMEM;
    give_itimer(run->k, timer, old);
    for (int i = 0; run->a[1] && i < 4; i += 2)
        if (new[i] < 0 || new[i + 1] < 0 || new[i + 1] > 999999)
            return -EINVAL;
    uint64_t ns = run->a[1] ? of_timeval(new + 2) : 0;
    timer->interval = ns ? of_timeval(new) : 0;
    timer->next = ns ? vk_ns(run->k) + ns : 0;
    next_itimer(run, 2, old);
    if (run->has_taken)
        vk_timer_align(run->k, timer_find(run->k, itimers[run->a[0]].kind, 0));
    return run->a[2] ? vk_put(run, run->a[2], old, sizeof(old)) : 0;
}

int64_t vk_call_getitimer(struct vk_run *run)
{
    int64_t old[4];
    if (run->a[0] > 2)
        return -EINVAL;
    struct vk_timer *timer = itimer(run->k, run->a[0]);
    if (!timer)
        return VK_NOMEM;
    give_itimer(run->k, timer, old);
    next_itimer(run, 1, old);
    return vk_put(run, run->a[1], old, sizeof(old));
}

int64_t vk_call_alarm(struct vk_run *run)
{
    struct vk_timer *timer = itimer(run->k, 0);
    if (!timer)
        return VK_NOMEM;
    uint64_t old = left(run->k, timer), seconds = (uint32_t)run->a[0];
    timer->interval = 0;
    timer->next = seconds ? vk_ns(run->k) + seconds * NS : 0;
    uint64_t round = old / NS + (old % NS >= NS / 2);
    return (int64_t)(old && !round ? 1 : round);
}

int64_t vk_call_timer_create(struct vk_run *run)
{
    struct {
        uint64_t value;
        int32_t signal, notify;
        int32_t tid;
        uint8_t rest[44];
    } event = {.signal = SIGALRM, .notify = SIGEV_SIGNAL};
    struct vk_kernel *k = run->k;
    if (!is_clock((int)run->a[0]))
        return (int)run->a[0] < 0 ? vk_unknown(run, "clocks of other tasks") : -EINVAL;
    if (run->a[1] && vk_get(run, run->a[1], &event, sizeof(event)))
        return -EFAULT;
    int kind = event.notify & ~SIGEV_THREAD_ID;
    if ((kind != SIGEV_SIGNAL && kind != SIGEV_NONE && kind != SIGEV_THREAD) ||
        (kind != SIGEV_NONE && (event.signal <= 0 || event.signal > 64)))
        return -EINVAL;
    struct vk_timer timer = {.kind = VK_TIMER_POSIX,
                             .clock = (int)run->a[0],
                             .signal = event.signal,
                             .notify = kind,
                             .task = VK_NONE,
                             .value = event.value,
                             .id = k->s.timer_next};
    for (uint32_t i = 0; event.notify & SIGEV_THREAD_ID && i < vk_count(&k->tasks); i++)
        if (vk_task(k, i)->state != VK_TASK_FREE && vk_task(k, i)->tid == event.tid)
            timer.task = i;
    if (event.notify & SIGEV_THREAD_ID && timer.task == VK_NONE)
        return -EINVAL;
    if (!run->a[1])
        timer.value = timer.id;
    int32_t id = (int32_t)timer.id;
    if (timer_make(k, &timer) == VK_NONE)
        return VK_NOMEM;
    k->s.timer_next++;
    return vk_put(run, run->a[2], &id, sizeof(id));
}

static int64_t timer_set(struct vk_run *run, uint32_t index, uint64_t flags, uint64_t new_at,
                         uint64_t old_at)
{
    uint64_t interval, value;
    int64_t old[4];
    int64_t err = get_time(run, new_at, &interval);
    if (!err)
        err = get_time(run, new_at + 16, &value);
    if (err)
        return err;
    struct vk_timer *timer = vk_edit(&run->k->timers, index);
    if (!timer)
        return VK_NOMEM;
    split(timer->interval, old, 1);
    split(left(run->k, timer), old + 2, 1);
    uint64_t now = flags & TIMER_ABSTIME ? vk_clock_now(run->k, timer->clock) : 0;
    uint64_t wait = value > now ? value - now : 1;
    timer->interval = value ? interval : 0;
    timer->next = value ? vk_ns(run->k) + wait : 0;
    timer->expired = 0;
    return old_at ? vk_put(run, old_at, old, sizeof(old)) : 0;
}

static int64_t timer_get(struct vk_run *run, uint32_t index, uint64_t address)
{
    const struct vk_timer *timer = vk_row(&run->k->timers, index);
    int64_t out[4];
    split(timer->interval, out, 1);
    split(left(run->k, timer), out + 2, 1);
    return vk_put(run, address, out, sizeof(out));
}

int64_t vk_call_timer_settime(struct vk_run *run)
{
    uint32_t i = timer_find(run->k, VK_TIMER_POSIX, (uint32_t)run->a[0]);
    return i == VK_NONE ? -EINVAL : timer_set(run, i, run->a[1], run->a[2], run->a[3]);
}

int64_t vk_call_timer_gettime(struct vk_run *run)
{
    uint32_t i = timer_find(run->k, VK_TIMER_POSIX, (uint32_t)run->a[0]);
    return i == VK_NONE ? -EINVAL : timer_get(run, i, run->a[1]);
}

int64_t vk_call_timer_getoverrun(struct vk_run *run)
{
    return timer_find(run->k, VK_TIMER_POSIX, (uint32_t)run->a[0]) == VK_NONE ? -EINVAL : 0;
}

int64_t vk_call_timer_delete(struct vk_run *run)
{
    uint32_t i = timer_find(run->k, VK_TIMER_POSIX, (uint32_t)run->a[0]);
    if (i == VK_NONE)
        return -EINVAL;
    struct vk_timer *timer = vk_edit(&run->k->timers, i);
    if (!timer)
        return VK_NOMEM;
    *timer = (struct vk_timer){.kind = VK_TIMER_FREE};
    return 0;
}

int64_t vk_call_timerfd_create(struct vk_run *run)
{
    struct vk_timer timer = {.kind = VK_TIMER_FD, .clock = (int)run->a[0], .id = UINT64_MAX};
    if (!is_clock(timer.clock) || run->a[1] & ~(uint64_t)(TFD_CLOEXEC | TFD_NONBLOCK))
        return -EINVAL;
    struct vk_open open = {.kind = VK_OPEN_TIMERFD,
                           .inode = VK_NONE,
                           .flags = 2u | (uint32_t)(run->a[1] & TFD_NONBLOCK),
                           .object = timer_make(run->k, &timer)};
    return open.object == VK_NONE ? VK_NOMEM : vk_fd_make(run, &open, run->a[1] & TFD_CLOEXEC);
}

static int64_t timerfd_of(struct vk_run *run, uint32_t *timer)
{
    uint32_t index;
    const struct vk_open *open = vk_open_of(run->k, (uint32_t)run->a[0], &index);
    if (!open)
        return -EBADF;
    if (open->kind != VK_OPEN_TIMERFD)
        return -EINVAL;
    *timer = open->object;
    return 0;
}

int64_t vk_call_timerfd_settime(struct vk_run *run)
{
    uint32_t timer;
    int64_t err = timerfd_of(run, &timer);
    return err ? err : timer_set(run, timer, run->a[1], run->a[2], run->a[3]);
}

int64_t vk_call_timerfd_gettime(struct vk_run *run)
{
    uint32_t timer;
    int64_t err = timerfd_of(run, &timer);
    return err ? err : timer_get(run, timer, run->a[1]);
}
