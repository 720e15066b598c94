/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a process is and may: ids, limits, names; random bytes; what only the machine knows. */
#include <asm/prctl.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "predicate_switch/kernel/vk_calls.h"

#define RANDOM_MAX (UINT64_C(1) << 20) /* bytes of one call */

/* ---- who ---- */

int64_t vk_call_getpid(struct vk_run *run)
{
    return run->k->s.pid ? run->k->s.pid : vk_next_recorded(run);
}

int64_t vk_call_getppid(struct vk_run *run)
{
    struct vk_answer next;
    if (vk_next_answer(run, &next))
        return vk_give_answer(run, &next);
    return run->k->s.parent ? run->k->s.parent : vk_unknown(run, "is not known");
}

static int64_t known_id(struct vk_run *run, uint32_t id)
{
    return run->k->s.knows_ids ? (int64_t)id : vk_next_recorded(run);
}

int64_t vk_call_getuid(struct vk_run *run)
{
    return known_id(run, run->k->s.uid);
}

int64_t vk_call_geteuid(struct vk_run *run)
{
    return known_id(run, run->k->s.euid);
}

int64_t vk_call_getgid(struct vk_run *run)
{
    return known_id(run, run->k->s.gid);
}

int64_t vk_call_getegid(struct vk_run *run)
{
    return known_id(run, run->k->s.egid);
}

static int64_t give_three(struct vk_run *run, const uint32_t ids[3])
{
    if (!run->k->s.knows_ids)
        return vk_next_recorded(run);
    for (int i = 0; i < 3; i++)
        if (vk_put(run, run->a[i], &ids[i], sizeof(ids[i])))
            return -EFAULT;
    return 0;
}

int64_t vk_call_getresuid(struct vk_run *run)
{
    uint32_t ids[3] = {run->k->s.uid, run->k->s.euid, run->k->s.suid};
    return give_three(run, ids);
}

int64_t vk_call_getresgid(struct vk_run *run)
{
    uint32_t ids[3] = {run->k->s.gid, run->k->s.egid, run->k->s.sgid};
    return give_three(run, ids);
}

/* Ids that are what they were, or that root takes on. */
static int64_t set_ids(struct vk_run *run, uint32_t *ids[3], const uint32_t wanted[3], bool is_root)
{
    uint32_t old[3] = {*ids[0], *ids[1], *ids[2]};
    for (int i = 0; i < 3 && !is_root; i++)
        if (wanted[i] != UINT32_MAX && wanted[i] != old[0] && wanted[i] != old[1] &&
            wanted[i] != old[2])
            return -EPERM;
    if (!run->k->s.knows_ids)
        return vk_unknown(run, "which ids the process had is not known");
    for (int i = 0; i < 3; i++)
        if (wanted[i] != UINT32_MAX)
            *ids[i] = wanted[i];
    return 0;
}

int64_t vk_call_setresuid(struct vk_run *run)
{
    struct vk_scalars *s = &run->k->s;
    uint32_t *ids[3] = {&s->uid, &s->euid, &s->suid};
    uint32_t wanted[3] = {(uint32_t)run->a[0], (uint32_t)run->a[1], (uint32_t)run->a[2]};
    return set_ids(run, ids, wanted, !s->euid);
}

int64_t vk_call_setresgid(struct vk_run *run)
{
    struct vk_scalars *s = &run->k->s;
    uint32_t *ids[3] = {&s->gid, &s->egid, &s->sgid};
    uint32_t wanted[3] = {(uint32_t)run->a[0], (uint32_t)run->a[1], (uint32_t)run->a[2]};
    return set_ids(run, ids, wanted, !s->euid);
}

static int64_t set_one(struct vk_run *run, uint32_t *ids[3])
{
    uint32_t id = (uint32_t)run->a[0];
    bool is_root = !run->k->s.euid;
    uint32_t wanted[3] = {is_root ? id : UINT32_MAX, id, is_root ? id : UINT32_MAX};
    return id == UINT32_MAX ? -EINVAL : set_ids(run, ids, wanted, is_root);
}

int64_t vk_call_setuid(struct vk_run *run)
{
    struct vk_scalars *s = &run->k->s;
    uint32_t *ids[3] = {&s->uid, &s->euid, &s->suid};
    return set_one(run, ids);
}

int64_t vk_call_setgid(struct vk_run *run)
{
    struct vk_scalars *s = &run->k->s;
    uint32_t *ids[3] = {&s->gid, &s->egid, &s->sgid};
    return set_one(run, ids);
}

static void ids_take(struct vk_scalars *s, int32_t number, uint32_t id)
{
    static const int32_t numbers[] = {SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid};
    for (unsigned i = 0; i < 4; i++)
        if (numbers[i] == number)
            s->ids_told |= 1u << i;
    if (number == SYS_getuid)
        s->uid = id;
    else if (number == SYS_geteuid)
        s->euid = s->suid = id;
    else if (number == SYS_getgid)
        s->gid = id;
    else
        s->egid = s->sgid = id;
    s->knows_ids = s->ids_told == 15;
}

/* The first ids that are told are taken for all three: few programs run with others. */
void vk_adopt_ids(struct vk_run *run)
{
    if (run->told->result < 0 || run->k->s.knows_ids)
        return;
    ids_take(&run->k->s, run->call->number, (uint32_t)run->told->result);
    if (run->learns)
        ids_take(&run->h->first, run->call->number, (uint32_t)run->told->result);
}

/* ---- limits ---- */

static uint64_t *limit(struct vk_kernel *k, uint64_t which, bool is_hard)
{
    return is_hard ? &k->s.limit_max[which] : &k->s.limit_cur[which];
}

static int64_t get_limit(struct vk_run *run, uint64_t which, uint64_t address)
{
    if (which >= RLIM_NLIMITS)
        return -EINVAL;
    if (!(run->k->s.limits_known & 1u << which))
        return vk_next_recorded(run);
    uint64_t both[2] = {*limit(run->k, which, false), *limit(run->k, which, true)};
    return vk_put(run, address, both, sizeof(both));
}

static int64_t set_limit(struct vk_run *run, uint64_t which, uint64_t address)
{
    uint64_t new[2];
    if (which >= RLIM_NLIMITS)
        return -EINVAL;
    if (vk_get(run, address, new, sizeof(new)))
        return -EFAULT;
    if (new[0] > new[1])
        return -EINVAL;
    bool is_known = run->k->s.limits_known & 1u << which;
    if (run->k->s.euid && (!is_known || new[1] > *limit(run->k, which, true)))
        return is_known ? -EPERM : vk_unknown(run, "which limits the process had");
    *limit(run->k, which, false) = new[0];
    *limit(run->k, which, true) = new[1];
    run->k->s.limits_known |= 1u << which;
    return 0;
}

int64_t vk_call_getrlimit(struct vk_run *run)
{
    return get_limit(run, (uint32_t)run->a[0], run->a[1]);
}

int64_t vk_call_setrlimit(struct vk_run *run)
{
    return set_limit(run, (uint32_t)run->a[0], run->a[1]);
}

int64_t vk_call_prlimit64(struct vk_run *run)
{
    if (run->a[0] && (int)run->a[0] != run->k->s.pid)
        return vk_unknown(run, "other processes are not modelled");
    int64_t err = run->a[3] ? get_limit(run, (uint32_t)run->a[1], run->a[3]) : 0;
    return err || !run->a[2] ? err : set_limit(run, (uint32_t)run->a[1], run->a[2]);
}

static void learn_limit(struct vk_run *run, uint64_t which, uint64_t address)
{
    uint64_t both[2];
    if (run->told->result || which >= RLIM_NLIMITS || !address ||
        vk_told_bytes(run, address, both, sizeof(both)) != sizeof(both))
        return;
    *limit(run->k, which, false) = both[0];
    *limit(run->k, which, true) = both[1];
    run->k->s.limits_known |= 1u << which;
    struct vk_scalars *first = &run->h->first;
    if (run->learns && !(first->limits_known & 1u << which)) {
        first->limit_cur[which] = both[0];
        first->limit_max[which] = both[1];
        first->limits_known |= 1u << which;
    }
}

void vk_adopt_getrlimit(struct vk_run *run)
{
    learn_limit(run, (uint32_t)run->a[0], run->a[1]);
}

void vk_adopt_prlimit64(struct vk_run *run)
{
    learn_limit(run, (uint32_t)run->a[1], run->a[3]);
    if (!run->told->result && run->a[2])
        set_limit(run, (uint32_t)run->a[1], run->a[2]);
}

/* ---- random bytes ---- */

uint64_t vk_random(struct vk_kernel *k)
{
    uint64_t z = k->history->start.seed + ++k->s.random * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9); /* splitmix64 (Steele, Lea, Flood 2014) */
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

int64_t vk_call_getrandom(struct vk_run *run)
{
    struct vk_answer next;
    uint64_t size = run->a[1] < RANDOM_MAX ? run->a[1] : RANDOM_MAX;
    if (vk_next_answer(run, &next))
        return vk_give_answer(run, &next);
    if (run->a[2] & ~(uint64_t)(GRND_NONBLOCK | GRND_RANDOM | GRND_INSECURE))
        return -EINVAL;
    uint64_t *words = malloc(size + sizeof(*words));
    if (!words)
        return VK_NOMEM;
    for (uint64_t i = 0; i * sizeof(*words) < size; i++)
        words[i] = vk_random(run->k);
    int err = vk_put(run, run->a[0], words, size);
    free(words);
    return err ? err : (int64_t)size;
}

/* ---- prctl ---- */

static int64_t prctl_name(struct vk_run *run)
{
    struct vk_task *task = vk_task_edit(run->k, run->call->task);
    char name[16] = {0};
    if (run->a[0] == PR_GET_NAME)
        return task->name[0] ? vk_put(run, run->a[1], task->name, sizeof(task->name))
                             : vk_next_recorded(run);
    for (int i = 0; i < 15; i++) {
        if (vk_get(run, run->a[1] + (uint64_t)i, &name[i], 1))
            return -EFAULT;
        if (!name[i])
            break;
    }
    memcpy(task->name, name, sizeof(name));
    return 0;
}

int64_t vk_call_prctl(struct vk_run *run)
{
    struct vk_scalars *s = &run->k->s;
    switch ((int)run->a[0]) {
    case PR_SET_NAME:
    case PR_GET_NAME:
        return prctl_name(run);
    case PR_SET_PDEATHSIG:
        return run->a[1] > 64 ? -EINVAL : (s->death_signal = (int)run->a[1], 0);
    case PR_GET_PDEATHSIG:
        return vk_put(run, run->a[1], &s->death_signal, sizeof(s->death_signal));
    case PR_SET_NO_NEW_PRIVS:
        if (run->a[1] != 1 || run->a[2] || run->a[3] || run->a[4])
            return -EINVAL;
        s->no_new_privs = true;
        return 0;
    case PR_GET_NO_NEW_PRIVS:
        return s->no_new_privs;
    case PR_SET_KEEPCAPS:
        return run->a[1] > 1 ? -EINVAL : (s->keep_caps = (int)run->a[1], 0);
    case PR_GET_KEEPCAPS:
        return s->keep_caps;
    case PR_SET_VMA:
        return vk_next_recorded(run);
    case PR_SET_DUMPABLE:
        return run->a[1] > 1 ? -EINVAL : 0;
    default:
        return vk_next_recorded(run);
    }
}

void vk_adopt_prctl(struct vk_run *run)
{
    struct vk_task *task = vk_task_edit(run->k, run->call->task);
    if (!run->told->result && run->a[0] == PR_GET_NAME)
        vk_told_bytes(run, run->a[1], task->name, sizeof(task->name));
}

int64_t vk_call_arch_prctl(struct vk_run *run)
{
    struct vk_op *op;
    switch ((int)run->a[0]) {
    case ARCH_SET_FS:
    case ARCH_SET_GS:
        if (run->a[1] >= UINT64_C(0x7ffffffff000))
            return -EPERM;
        op = vk_op_add(run->k, run->a[0] == ARCH_SET_FS ? VK_OP_FS_BASE : VK_OP_GS_BASE, run->a[1],
                       0);
        if (!op)
            return VK_NOMEM;
        op->task = run->call->task;
        return 0;
    default:
        return vk_next_recorded(run);
    }
}

/* ---- processors, memory policy, and what has no effect that a program could see ---- */

int64_t vk_call_nothing(struct vk_run *run)
{
    (void)run;
    return 0;
}

/* Answers that the recording has are given; else that it was done. */
int64_t vk_call_next_or_0(struct vk_run *run)
{
    struct vk_answer next;
    return vk_next_answer(run, &next) ? vk_give_answer(run, &next) : 0;
}

/* A thread that the recording does not have registers as the first one did: the C library ends a
 * program of which one thread can and another cannot. */
int64_t vk_call_rseq(struct vk_run *run)
{
    struct vk_answer answer;
    bool is_known = vk_next_answer(run, &answer) || vk_first_answer(run, &answer);
    return is_known ? vk_give_answer(run, &answer) : -ENOSYS;
}

/* Processor time: what the recording had next, else what was executed. */
int64_t vk_call_getrusage(struct vk_run *run)
{
    struct vk_answer next;
    struct rusage usage = {0};
    if (vk_next_answer(run, &next))
        return vk_give_answer(run, &next);
    int who = (int)run->a[0];
    if (who != RUSAGE_SELF && who != RUSAGE_CHILDREN && who != RUSAGE_THREAD)
        return -EINVAL;
    if (who != RUSAGE_CHILDREN) {
        usage.ru_utime.tv_sec = (time_t)(run->k->s.now / 1000000000);
        usage.ru_utime.tv_usec = (suseconds_t)(run->k->s.now % 1000000000 / 1000);
        usage.ru_maxrss = (long)(run->k->s.mapped / 1024);
    }
    return vk_put(run, run->a[1], &usage, sizeof(usage));
}

int64_t vk_call_times(struct vk_run *run)
{
    struct vk_answer next;
    if (vk_next_answer(run, &next))
        return vk_give_answer(run, &next);
    int64_t ticks[4] = {(int64_t)(run->k->s.now / 10000000), 0, 0, 0};
    if (run->a[0] && vk_put(run, run->a[0], ticks, sizeof(ticks)))
        return -EFAULT;
    return (int64_t)(vk_clock_now(run->k, CLOCK_MONOTONIC) / 10000000);
}

int64_t vk_call_getpgrp(struct vk_run *run)
{
    if (run->call->number == SYS_getpgid && run->a[0] && (int)run->a[0] != run->k->s.pid)
        return vk_unknown(run, "other processes are not modelled");
    return vk_next_recorded(run);
}
