/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads: clone of them, futexes, their ends. One runs at a time; vk_live.c says which. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <sys/syscall.h>

#include "predicate_switch/kernel/vk_calls.h"

const struct vk_task *vk_task(const struct vk_kernel *k, uint32_t task)
{
    return vk_row(&k->tasks, task);
}

struct vk_task *vk_task_edit(struct vk_kernel *k, uint32_t task)
{
    return vk_edit(&k->tasks, task);
}

/* ---- clone ---- */

struct clone {
    uint64_t flags, stack, parent_tid, child_tid, tls;
    int signal;
};

#define THREAD_FLAGS (CLONE_VM | CLONE_SIGHAND | CLONE_THREAD)
#define WITHOUT_MODEL                                                                              \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |  \
     CLONE_NEWNET | CLONE_PIDFD | CLONE_PTRACE | CLONE_UNTRACED)

static int64_t clone_args(struct vk_run *run, struct clone *c)
{
    uint64_t args[8];
    if (run->call->number == SYS_clone) {
        *c = (struct clone){run->a[0] & ~0xffull,   run->a[1], run->a[2], run->a[3], run->a[4],
                            (int)(run->a[0] & 0xff)};
        return 0;
    }
    if (run->a[1] < sizeof(args))
        return -EINVAL;
    if (vk_get(run, run->a[0], args, sizeof(args)))
        return -EFAULT;
    *c = (struct clone){args[0],     args[5] ? args[5] + args[6] : 0, args[3], args[2], args[7],
                        (int)args[4]};
    return 0;
}

static uint32_t free_slot(const struct vk_kernel *k)
{
    uint32_t i = 0;
    while (i < vk_count(&k->tasks) && vk_task(k, i)->state != VK_TASK_FREE)
        i++;
    return i;
}

static int64_t clone_thread(struct vk_run *run, const struct clone *c, uint32_t slot, int tid)
{
    struct vk_kernel *k = run->k;
    if (slot >= VK_TASKS_MAX)
        return -EAGAIN;
    if (vk_extend(&k->tasks, slot + 1))
        return VK_NOMEM;
    uint64_t area = run->h->area_bytes ? vk_maps_area(k, run->h->area_bytes) : 0;
    const struct vk_task *parent = vk_task(k, run->call->task);
    struct vk_task *child = vk_task_edit(k, slot);
    struct vk_op *op = vk_op_add(k, VK_OP_TASK_NEW, 0, 0);
    if (!child || !op)
        return VK_NOMEM;
    parent = vk_task(k, run->call->task);
    *child = (struct vk_task){.state = VK_TASK_READY,
                              .tid = tid,
                              .mask = parent->mask,
                              .deadline = VK_NEVER,
                              .alt_flags = 0,
                              .clear_tid = c->flags & CLONE_CHILD_CLEARTID ? c->child_tid : 0};
    memcpy(child->name, parent->name, sizeof(child->name));
    child->area = area;
    op->task = slot;
    op->from = run->call->task;
    op->tid = tid;
    op->stack = c->stack;
    op->tls = c->tls;
    op->has_tls = c->flags & CLONE_SETTLS;
    if ((c->flags & CLONE_PARENT_SETTID && vk_put(run, c->parent_tid, &tid, sizeof(tid))) ||
        (c->flags & CLONE_CHILD_SETTID && vk_put(run, c->child_tid, &tid, sizeof(tid))))
        return -EFAULT;
    return tid;
}

int64_t vk_call_clone(struct vk_run *run)
{
    struct clone c;
    struct vk_kernel *k = run->k;
    const struct vk_task *task = vk_task(k, run->call->task);
    if (!run->told && task->made) /* the run went live inside of this call */
        return task->made;
    int64_t err = clone_args(run, &c);
    if (err)
        return err;
    if ((c.flags & THREAD_FLAGS) != THREAD_FLAGS)
        return vk_unknown(run, "other processes are not modelled");
    if (c.flags & WITHOUT_MODEL)
        return vk_unknown(run, "flags %#llx are not modelled", (unsigned long long)c.flags);
    struct vk_answer next;
    int tid = k->s.tid_next;
    if (vk_next_answer(run, &next) && next.result > 0 && next.result < INT_MAX)
        tid = (int)next.result;
    if (run->told) /* the thread was told already */
        return run->told->result;
    if (tid >= k->s.tid_next)
        k->s.tid_next = tid + 1;
    return clone_thread(run, &c, free_slot(k), tid);
}

/* The thread that a recorded call makes: what of it the call says. */
bool vk_clone_told(struct vk_run *run)
{
    struct clone c;
    if ((run->call->number != SYS_clone && run->call->number != SYS_clone3) ||
        clone_args(run, &c) || (c.flags & THREAD_FLAGS) != THREAD_FLAGS)
        return false;
    struct vk_task *child = vk_task_edit(run->k, run->told_slot);
    if (child)
        child->clear_tid = c.flags & CLONE_CHILD_CLEARTID ? c.child_tid : 0;
    return true;
}

/* ---- futex ---- */

uint32_t vk_futex_wake(struct vk_kernel *k, uint64_t address, uint32_t count, uint32_t bits)
{
    uint32_t woken = 0;
    while (woken < count) {
        uint32_t first = VK_NONE;
        for (uint32_t i = 0; i < vk_count(&k->tasks); i++) {
            const struct vk_task *task = vk_task(k, i);
            if (task->futex == address && task->futex_bits & bits && !task->is_woken &&
                task->state != VK_TASK_FREE &&
                (first == VK_NONE || task->wait_order < vk_task(k, first)->wait_order))
                first = i;
        }
        if (first == VK_NONE)
            break;
        struct vk_task *task = vk_task_edit(k, first);
        if (!task)
            break;
        task->is_woken = true;
        woken++;
    }
    return woken;
}

static int64_t futex_wait(struct vk_run *run, uint32_t bits, bool is_absolute)
{
    struct vk_kernel *k = run->k;
    uint32_t value;
    uint64_t ns = 0;
    int64_t err;
    if (!bits)
        return -EINVAL;
    if (run->a[3] && (err = vk_get_time(run, run->a[3], &ns)))
        return err;
    struct vk_task *task = vk_task_edit(k, run->call->task);
    if (!task)
        return VK_NOMEM;
    if (run->is_retry && task->is_woken) {
        task->futex = 0;
        task->is_woken = false;
        return 0;
    }
    if (!run->is_retry) {
        if (vk_get(run, run->a[0], &value, sizeof(value)))
            return -EFAULT;
        if (value != (uint32_t)run->a[2])
            return -EAGAIN;
        bool is_woken = !task->foretold || !vk_timed_out(&run->h->calls[task->foretold - 1]);
        task->futex = is_woken ? run->a[0] : 0;
        task->futex_bits = bits;
        task->is_woken = false;
        task->wait_order = k->s.wait_count++;
    }
    int64_t result = VK_WAIT;
    int clock = run->a[1] & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    if (run->a[3])
        result = is_absolute ? vk_wait_until(run, clock, ns, -ETIMEDOUT)
                             : vk_wait_for(run, ns, -ETIMEDOUT);
    if (result != VK_WAIT)
        vk_task_edit(k, run->call->task)->futex = 0;
    return result;
}

static int64_t futex_wake(struct vk_run *run, uint32_t bits)
{
    uint32_t count = (int)run->a[2] > 0 ? (uint32_t)run->a[2] : 1; /* as Linux does */
    if (!bits)
        return -EINVAL;
    if (!(run->a[1] & FUTEX_PRIVATE_FLAG) && !vk_may_access(run->k, run->a[0], 4, false))
        return -EFAULT;
    return vk_futex_wake(run->k, run->a[0], count, bits);
}

static int64_t futex_requeue(struct vk_run *run, bool compares)
{
    struct vk_kernel *k = run->k;
    uint32_t value, moved = 0;
    if ((int)run->a[2] < 0 || (int)run->a[3] < 0)
        return -EINVAL;
    if (vk_get(run, run->a[0], &value, sizeof(value)))
        return -EFAULT;
    if (compares && value != (uint32_t)run->a[5])
        return -EAGAIN;
    uint32_t woken = vk_futex_wake(k, run->a[0], (uint32_t)run->a[2], UINT32_MAX);
    for (uint32_t i = 0; i < vk_count(&k->tasks) && moved < (uint32_t)run->a[3]; i++) {
        const struct vk_task *task = vk_task(k, i);
        if (task->state != VK_TASK_FREE && task->futex == run->a[0] && !task->is_woken) {
            vk_task_edit(k, i)->futex = run->a[4];
            moved++;
        }
    }
    return compares ? woken + moved : woken;
}

static int64_t futex_wake_op(struct vk_run *run)
{
    uint32_t op = (uint32_t)run->a[5], value, argument = (op >> 12) & 0xfff, compared = op & 0xfff;
    if (vk_get(run, run->a[4], &value, sizeof(value)))
        return -EFAULT;
    if (op >> 31)
        argument = 1u << (argument & 31);
    uint32_t result;
    switch (op >> 28 & 7) {
    case FUTEX_OP_SET:
        result = argument;
        break;
    case FUTEX_OP_ADD:
        result = value + argument;
        break;
    case FUTEX_OP_OR:
        result = value | argument;
        break;
    case FUTEX_OP_ANDN:
        result = value & ~argument;
        break;
    case FUTEX_OP_XOR:
        result = value ^ argument;
        break;
    default:
        return -ENOSYS;
    }
    if (vk_put(run, run->a[4], &result, sizeof(result)))
        return -EFAULT;
    int32_t old = (int32_t)value, limit = (int32_t)compared;
    bool holds;
    switch (op >> 24 & 15) {
    case FUTEX_OP_CMP_EQ:
        holds = old == limit;
        break;
    case FUTEX_OP_CMP_NE:
        holds = old != limit;
        break;
    case FUTEX_OP_CMP_LT:
        holds = old < limit;
        break;
    case FUTEX_OP_CMP_LE:
        holds = old <= limit;
        break;
    case FUTEX_OP_CMP_GT:
        holds = old > limit;
        break;
    case FUTEX_OP_CMP_GE:
        holds = old >= limit;
        break;
    default:
        return -ENOSYS;
    }
    uint32_t woken = vk_futex_wake(run->k, run->a[0], (uint32_t)run->a[2], UINT32_MAX);
    if (holds)
        woken += vk_futex_wake(run->k, run->a[4], (uint32_t)run->a[3], UINT32_MAX);
    return woken;
}

int64_t vk_call_futex(struct vk_run *run)
{
    int command = (int)run->a[1] & FUTEX_CMD_MASK;
    if (run->a[0] % 4)
        return -EINVAL;
    switch (command) {
    case FUTEX_WAIT:
        return futex_wait(run, UINT32_MAX, false);
    case FUTEX_WAIT_BITSET:
        return futex_wait(run, (uint32_t)run->a[5], true);
    case FUTEX_WAKE:
        return futex_wake(run, UINT32_MAX);
    case FUTEX_WAKE_BITSET:
        return futex_wake(run, (uint32_t)run->a[5]);
    case FUTEX_REQUEUE:
        return futex_requeue(run, false);
    case FUTEX_CMP_REQUEUE:
        return futex_requeue(run, true);
    case FUTEX_WAKE_OP:
        return futex_wake_op(run);
    default:
        return vk_unknown(run, "operation %d is not modelled", command);
    }
}

/* A wait that is over: whoever was waiting is not any more. */
void vk_adopt_futex(struct vk_run *run)
{
    struct vk_task *task = vk_task_edit(run->k, run->call->task);
    int command = (int)run->a[1] & FUTEX_CMD_MASK;
    if (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) {
        task->futex = 0;
        task->is_woken = false;
    } else if (run->told->result >= 0) {
        vk_again(run);
    }
}

/* ---- what threads are ---- */

int64_t vk_call_set_tid_address(struct vk_run *run)
{
    struct vk_task *task = vk_task_edit(run->k, run->call->task);
    task->clear_tid = run->a[0];
    return task->tid;
}

int64_t vk_call_set_robust_list(struct vk_run *run)
{
    struct vk_task *task = vk_task_edit(run->k, run->call->task);
    if (run->a[1] != 24)
        return -EINVAL;
    task->robust = run->a[0];
    return 0;
}

int64_t vk_call_get_robust_list(struct vk_run *run)
{
    const struct vk_task *task = vk_task(run->k, run->call->task);
    uint64_t size = 24;
    if (run->a[0] && (int)run->a[0] != task->tid)
        return vk_unknown(run, "of another task");
    if (vk_put(run, run->a[2], &size, sizeof(size)))
        return -EFAULT;
    return vk_put(run, run->a[1], &task->robust, sizeof(task->robust));
}

/* A lock that the thread held is marked, and one that waits for it is woken. */
static void release_one(struct vk_run *run, uint64_t address, int tid)
{
    uint32_t value;
    if (vk_get(run, address, &value, sizeof(value)) || (value & FUTEX_TID_MASK) != (uint32_t)tid)
        return;
    value = (value & FUTEX_WAITERS) | FUTEX_OWNER_DIED;
    if (!vk_put(run, address, &value, sizeof(value)) && value & FUTEX_WAITERS)
        vk_futex_wake(run->k, address, 1, UINT32_MAX);
}

static void release_robust(struct vk_run *run, uint64_t head, int tid)
{
    uint64_t list[3], at;
    if (!head || vk_get(run, head, list, sizeof(list)))
        return;
    at = list[0];
    for (int i = 0; i < 2048 && (at & ~1ull) != head; i++) {
        uint64_t next;
        if (vk_get(run, at & ~1ull, &next, sizeof(next)))
            break;
        if (at != list[2])
            release_one(run, (at & ~1ull) + list[1], tid);
        at = next;
    }
    if (list[2])
        release_one(run, (list[2] & ~1ull) + list[1], tid);
}

int vk_task_end(struct vk_run *run, uint32_t slot)
{
    struct vk_kernel *k = run->k;
    struct vk_task *task = vk_task_edit(k, slot);
    uint32_t zero = 0;
    if (!task)
        return -ENOMEM;
    uint64_t clear = task->clear_tid, robust = task->robust, area = task->area;
    int tid = task->tid;
    *task = (struct vk_task){.state = VK_TASK_FREE};
    release_robust(run, robust, tid);
    if (clear && !vk_put(run, clear, &zero, sizeof(zero)))
        vk_futex_wake(k, clear, 1, UINT32_MAX);
    for (uint32_t i = vk_count(&k->pending); i-- > 0;)
        if (((const struct vk_pending *)vk_row(&k->pending, i))->task == slot)
            vk_remove(&k->pending, i, 1);
    if (area && vk_is_live(k) &&
        (!vk_op_add(k, VK_OP_UNMAP, area, run->h->area_bytes) ||
         vk_maps_cut(k, area, area + run->h->area_bytes)))
        return -ENOMEM;
    struct vk_op *op = vk_op_add(k, VK_OP_TASK_END, 0, 0);
    if (!op)
        return -ENOMEM;
    op->task = slot;
    return 0;
}

int64_t vk_call_gettid(struct vk_run *run)
{
    return vk_task(run->k, run->call->task)->tid;
}

int64_t vk_call_exit(struct vk_run *run)
{
    uint32_t others = 0;
    for (uint32_t i = 0; i < vk_count(&run->k->tasks); i++)
        others += i != run->call->task && vk_task(run->k, i)->state != VK_TASK_FREE;
    run->exit_status = (int)(run->a[0] & 0xff) << 8;
    if (others)
        return vk_task_end(run, run->call->task) ? VK_NOMEM : VK_NO_RETURN;
    run->k->s.has_ended = true;
    return VK_NO_RETURN;
}

int64_t vk_call_exit_group(struct vk_run *run)
{
    run->exit_status = (int)(run->a[0] & 0xff) << 8;
    run->k->s.has_ended = true;
    return VK_NO_RETURN;
}

int64_t vk_call_sched_yield(struct vk_run *run)
{
    run->k->s.slice_end = 0;
    return 0;
}
