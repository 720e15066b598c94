/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signals: actions, masks, alternate stacks, what is pending; what the process sends itself. */
#include <errno.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>

#include "predicate_switch/kernel/vk_calls.h"

#define BIT(n) (UINT64_C(1) << ((n)-1))
#define NEVER  (BIT(SIGKILL) | BIT(SIGSTOP)) /* blocked, caught */
/* Linux forgets flags that it does not know (since 5.11), so that programs can ask. */
#define KNOWN_FLAGS                                                                                \
    (SA_NOCLDSTOP | SA_NOCLDWAIT | SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER |             \
     (uint64_t)(uint32_t)SA_RESETHAND | 0x04000800u)
#define SIGNAL_MAX  64
#define SIGSET_SIZE 8
#define UC_STACK    16 /* offsets in a struct ucontext */
#define UC_MASK     296
#define PENDING_MAX 4096

const struct vk_action *vk_action_of(const struct vk_kernel *k, int number)
{
    return vk_row(&k->actions, (uint32_t)number - 1);
}

static bool default_ignores(int number)
{
    return number == SIGCHLD || number == SIGURG || number == SIGWINCH || number == SIGCONT;
}

bool vk_signal_is_ignored(const struct vk_kernel *k, int number)
{
    uint64_t handler = vk_action_of(k, number)->handler;
    return handler == 1 || (handler == 0 && default_ignores(number));
}

/* siginfo_t: number, errno, code, then what depends on the code; kill has pid, uid, value. */
void vk_info_make(uint8_t info[128], int number, int code, int pid, uint32_t uid, uint64_t value)
{
    int32_t head[6] = {number, 0, code, 0, pid, (int32_t)uid};
    memset(info, 0, 128);
    memcpy(info, head, sizeof(head));
    memcpy(info + 24, &value, sizeof(value));
}

static bool is_pending(const struct vk_kernel *k, uint32_t task, int number)
{
    for (uint32_t i = 0; i < vk_count(&k->pending); i++) {
        const struct vk_pending *row = vk_row(&k->pending, i);
        if (row->task == task && row->number == number)
            return true;
    }
    return false;
}

/* Whether a task, or any if `task` is VK_NONE, keeps it back; then it is kept even if ignored. */
static bool is_blocked(const struct vk_kernel *k, uint32_t task, int number)
{
    for (uint32_t i = 0; i < vk_count(&k->tasks); i++) {
        const struct vk_task *row = vk_task(k, i);
        if (row->state != VK_TASK_FREE && (task == VK_NONE || task == i) &&
            (row->mask | (row->has_saved_mask ? row->saved_mask : 0)) & BIT(number))
            return true;
    }
    return false;
}

int vk_signal_send(struct vk_kernel *k, uint32_t task, int number, const uint8_t info[128])
{
    if (vk_signal_is_ignored(k, number) && !is_blocked(k, task, number))
        return 0;
    if (number < SIGRTMIN && is_pending(k, task, number))
        return 0;
    if (vk_count(&k->pending) >= PENDING_MAX)
        return -EAGAIN;
    struct vk_pending row = {.task = task, .number = number};
    memcpy(row.info, info, sizeof(row.info));
    return vk_append(&k->pending, &row);
}

uint64_t vk_pending_mask(const struct vk_kernel *k, uint32_t task)
{
    uint64_t mask = 0;
    for (uint32_t i = 0; i < vk_count(&k->pending); i++) {
        const struct vk_pending *row = vk_row(&k->pending, i);
        if (row->task == task || row->task == VK_NONE)
            mask |= BIT(row->number);
    }
    return mask;
}

static bool is_synchronous(int number)
{
    return number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGTRAP ||
           number == SIGFPE || number == SIGSYS;
}

/* Linux takes a thread's own before the process's, faults first, then by number. */
uint32_t vk_signal_next(const struct vk_kernel *k, uint32_t task, uint64_t mask)
{
    uint32_t best = VK_NONE;
    int best_rank = 0;
    for (uint32_t i = 0; i < vk_count(&k->pending); i++) {
        const struct vk_pending *row = vk_row(&k->pending, i);
        if ((row->task != task && row->task != VK_NONE) || mask & BIT(row->number))
            continue;
        int rank = row->number + (row->task == VK_NONE ? 1000 : 0) -
                   (is_synchronous(row->number) ? 500 : 0);
        if (best == VK_NONE || rank < best_rank)
            best = i, best_rank = rank;
    }
    return best;
}

/* ---- calls ---- */

struct kernel_action {
    uint64_t handler, flags, restorer, mask;
};

int64_t vk_call_rt_sigaction(struct vk_run *run)
{
    struct kernel_action new = {0};
    uint64_t number = (uint32_t)run->a[0];
    if (run->a[3] != SIGSET_SIZE)
        return -EINVAL;
    if (run->a[1] && vk_get(run, run->a[1], &new, sizeof(new)))
        return -EFAULT;
    if (!number || number > SIGNAL_MAX || (run->a[1] && BIT(number) & NEVER))
        return -EINVAL;
    const struct vk_action *old = vk_action_of(run->k, (int)number);
    struct kernel_action was = {old->handler, old->flags, old->restorer, old->mask};
    if (run->a[1]) {
        struct vk_action *row = vk_edit(&run->k->actions, (uint32_t)number - 1);
        if (!row)
            return VK_NOMEM;
        *row = (struct vk_action){new.handler, new.flags &KNOWN_FLAGS, new.restorer,
                                  new.mask & ~NEVER};
        for (uint32_t i = vk_count(&run->k->pending); i-- > 0;)
            if (((const struct vk_pending *)vk_row(&run->k->pending, i))->number == (int)number &&
                vk_signal_is_ignored(run->k, (int)number))
                vk_remove(&run->k->pending, i, 1);
    }
    return run->a[2] ? vk_put(run, run->a[2], &was, sizeof(was)) : 0;
}

void vk_adopt_rt_sigaction(struct vk_run *run)
{
    struct kernel_action new;
    uint64_t number = (uint32_t)run->a[0];
    if (run->told->result || !number || number > SIGNAL_MAX || !run->a[1] ||
        vk_get(run, run->a[1], &new, sizeof(new)))
        return;
    struct vk_action *row = vk_edit(&run->k->actions, (uint32_t)number - 1);
    if (row)
        *row = (struct vk_action){new.handler, new.flags, new.restorer, new.mask & ~NEVER};
}

static uint64_t mask_changed(uint64_t mask, int how, uint64_t set)
{
    set &= ~NEVER;
    return how == SIG_BLOCK ? mask | set : how == SIG_UNBLOCK ? mask & ~set : set;
}

int64_t vk_call_rt_sigprocmask(struct vk_run *run)
{
    uint64_t set;
    struct vk_task *task = vk_task_edit(run->k, run->call->task);
    uint64_t old = task->mask;
    if (run->a[3] != SIGSET_SIZE)
        return -EINVAL;
    if (run->a[1]) {
        if (vk_get(run, run->a[1], &set, sizeof(set)))
            return -EFAULT;
        if (run->a[0] > SIG_SETMASK)
            return -EINVAL;
        task->mask = mask_changed(task->mask, (int)run->a[0], set);
    }
    return run->a[2] ? vk_put(run, run->a[2], &old, sizeof(old)) : 0;
}

void vk_adopt_rt_sigprocmask(struct vk_run *run)
{
    uint64_t set, old;
    struct vk_task *task = vk_task_edit(run->k, run->call->task);
    if (run->told->result)
        return;
    if (run->a[2] && vk_told_bytes(run, run->a[2], &old, sizeof(old)) == sizeof(old))
        task->mask = old;
    if (run->a[1] && !vk_get(run, run->a[1], &set, sizeof(set)))
        task->mask = mask_changed(task->mask, (int)run->a[0], set);
}

int64_t vk_call_rt_sigpending(struct vk_run *run)
{
    const struct vk_task *task = vk_task(run->k, run->call->task);
    uint64_t mask = vk_pending_mask(run->k, run->call->task) & task->mask;
    if (run->a[1] > SIGSET_SIZE)
        return -EINVAL;
    return vk_put(run, run->a[0], &mask, run->a[1]);
}

/* Waits with another mask; the old one comes back when a handler has been entered. */
int64_t vk_mask_while(struct vk_run *run, uint64_t set)
{
    struct vk_task *task = vk_task_edit(run->k, run->call->task);
    if (!task)
        return VK_NOMEM;
    if (!run->is_retry) {
        task->saved_mask = task->mask;
        task->has_saved_mask = true;
        task->mask = set & ~NEVER;
    }
    return 0;
}

void vk_mask_back(struct vk_run *run)
{
    struct vk_task *task = vk_task_edit(run->k, run->call->task);
    if (!task || !task->has_saved_mask)
        return;
    task->mask = task->saved_mask;
    task->has_saved_mask = false;
}

int64_t vk_call_rt_sigsuspend(struct vk_run *run)
{
    uint64_t set;
    if (run->a[1] != SIGSET_SIZE)
        return -EINVAL;
    if (vk_get(run, run->a[0], &set, sizeof(set)))
        return -EFAULT;
    int64_t err = vk_mask_while(run, set);
    return err ? err : VK_WAIT;
}

void vk_adopt_mask_back(struct vk_run *run)
{
    vk_mask_back(run);
}

int64_t vk_call_pause(struct vk_run *run)
{
    (void)run;
    return VK_WAIT;
}

int64_t vk_call_rt_sigtimedwait(struct vk_run *run)
{
    uint64_t set;
    int64_t time[2];
    struct vk_kernel *k = run->k;
    if (run->a[3] != SIGSET_SIZE)
        return -EINVAL;
    if (vk_get(run, run->a[0], &set, sizeof(set)) ||
        (run->a[2] && vk_get(run, run->a[2], time, sizeof(time))))
        return -EFAULT;
    if (run->a[2] && (time[0] < 0 || time[1] < 0 || time[1] > 999999999))
        return -EINVAL;
    uint32_t at = vk_signal_next(k, run->call->task, ~(set & ~NEVER));
    if (at != VK_NONE) {
        struct vk_pending row = *(const struct vk_pending *)vk_row(&k->pending, at);
        vk_remove(&k->pending, at, 1);
        if (run->a[1] && vk_put(run, run->a[1], row.info, sizeof(row.info)))
            return -EFAULT;
        return row.number;
    }
    if (!run->a[2])
        return VK_WAIT;
    return vk_wait_for(run, (uint64_t)time[0] * 1000000000 + (uint64_t)time[1], -EAGAIN);
}

int64_t vk_call_sigaltstack(struct vk_run *run)
{
    struct {
        uint64_t start;
        int32_t flags, unused;
        uint64_t size;
    } new, old = {0};
    struct vk_task *task = vk_task_edit(run->k, run->call->task);
    bool is_on = task->alt_size && run->call->stack > task->alt_stack &&
                 run->call->stack <= task->alt_stack + task->alt_size;
    old.start = task->alt_stack;
    old.size = task->alt_size;
    old.flags = task->alt_flags | (!task->alt_size ? SS_DISABLE : is_on ? SS_ONSTACK : 0);
    if (run->a[0]) {
        if (vk_get(run, run->a[0], &new, sizeof(new)))
            return -EFAULT;
        if (is_on)
            return -EPERM;
        int32_t mode = new.flags &(int32_t) ~(1u << 31);
        if (mode && mode != SS_DISABLE && mode != SS_ONSTACK)
            return -EINVAL;
        if (mode == SS_DISABLE)
            new.start = new.size = 0;
        else if (new.size < 2048)
            return -ENOMEM;
        task->alt_stack = new.start;
        task->alt_size = new.size;
        task->alt_flags = new.flags &(int32_t)(1u << 31);
    }
    return run->a[1] ? vk_put(run, run->a[1], &old, sizeof(old)) : 0;
}

void vk_adopt_sigaltstack(struct vk_run *run)
{
    uint64_t new[3];
    struct vk_task *task = vk_task_edit(run->k, run->call->task);
    if (run->told->result || !run->a[0] || vk_get(run, run->a[0], new, sizeof(new)))
        return;
    bool is_off = (int32_t) new[1] & SS_DISABLE;
    task->alt_stack = is_off ? 0 : new[0];
    task->alt_size = is_off ? 0 : new[2];
}

/* The frame is the engine's: only what the kernel keeps of it is taken back here. */
int64_t vk_call_rt_sigreturn(struct vk_run *run)
{
    uint64_t mask, stack[3];
    struct vk_task *task = vk_task_edit(run->k, run->call->task);
    uint64_t context = run->call->stack;
    if (vk_get(run, context + UC_MASK, &mask, sizeof(mask)) ||
        vk_get(run, context + UC_STACK, stack, sizeof(stack)))
        return vk_unknown(run, "there is no frame");
    task->mask = mask & ~NEVER;
    task->has_saved_mask = false;
    bool is_off = (int32_t)stack[1] & SS_DISABLE;
    task->alt_stack = is_off ? 0 : stack[0];
    task->alt_size = is_off ? 0 : stack[2];
    return VK_NO_RETURN;
}

/* ---- sending ---- */

static int64_t send(struct vk_run *run, uint32_t task, uint64_t number, int code)
{
    uint8_t info[128];
    if (number > SIGNAL_MAX)
        return -EINVAL;
    if (!number)
        return 0;
    if (number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU) {
        const struct vk_action *action = vk_action_of(run->k, (int)number);
        if (!action->handler || number == SIGSTOP)
            return vk_unknown(run, "a signal that stops the process is not modelled");
    }
    vk_info_make(info, (int)number, code, run->k->s.pid, run->k->s.uid, 0);
    int err = vk_signal_send(run->k, task, (int)number, info);
    return err == -ENOMEM ? VK_NOMEM : err;
}

int64_t vk_call_kill(struct vk_run *run)
{
    int pid = (int)run->a[0];
    if (pid != run->k->s.pid && !(pid == 0 && run->a[1] == 0))
        return vk_unknown(run, "other processes are not modelled");
    return send(run, VK_NONE, (uint32_t)run->a[1], SI_USER);
}

static int64_t send_thread(struct vk_run *run, int tid, uint64_t number)
{
    for (uint32_t i = 0; i < vk_count(&run->k->tasks); i++) {
        const struct vk_task *task = vk_task(run->k, i);
        if (task->state != VK_TASK_FREE && task->tid == tid)
            return send(run, i, number, SI_TKILL);
    }
    return tid > 0 && run->call->number == SYS_tgkill
               ? -ESRCH
               : vk_unknown(run, "other processes are not modelled");
}

int64_t vk_call_tgkill(struct vk_run *run)
{
    if ((int)run->a[0] <= 0 || (int)run->a[1] <= 0)
        return -EINVAL;
    if ((int)run->a[0] != run->k->s.pid)
        return vk_unknown(run, "other processes are not modelled");
    return send_thread(run, (int)run->a[1], (uint32_t)run->a[2]);
}

int64_t vk_call_tkill(struct vk_run *run)
{
    if ((int)run->a[0] <= 0)
        return -EINVAL;
    return send_thread(run, (int)run->a[0], (uint32_t)run->a[1]);
}

int64_t vk_broken_pipe(struct vk_run *run)
{
    uint8_t info[128];
    vk_info_make(info, SIGPIPE, SI_USER, run->k->s.pid, run->k->s.uid, 0);
    return vk_signal_send(run->k, run->call->task, SIGPIPE, info) == -ENOMEM ? VK_NOMEM : -EPIPE;
}

int64_t vk_call_signalfd4(struct vk_run *run)
{
    uint64_t set;
    uint32_t index;
    if (run->a[2] != SIGSET_SIZE || run->a[3] & ~(uint64_t)(SFD_CLOEXEC | SFD_NONBLOCK))
        return -EINVAL;
    if (vk_get(run, run->a[1], &set, sizeof(set)))
        return -EFAULT;
    if ((int)run->a[0] != -1) {
        const struct vk_open *open = vk_open_of(run->k, (uint32_t)run->a[0], &index);
        if (!open)
            return -EBADF;
        if (open->kind != VK_OPEN_SIGNALFD)
            return -EINVAL;
        vk_open_edit(run->k, index)->count = set & ~NEVER;
        return (int64_t)run->a[0];
    }
    struct vk_open open = {.kind = VK_OPEN_SIGNALFD,
                           .inode = VK_NONE,
                           .count = set & ~NEVER,
                           .flags = 2u | (run->a[3] & SFD_NONBLOCK)};
    return vk_fd_make(run, &open, run->a[3] & SFD_CLOEXEC);
}
