/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "predicate_switch/ran_code.h"

#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "wet/intervals.h"
#include <wetdbg/caller.h>
#include <wetdbg/errors.h>

struct running {
    struct wetdbg *wet;
    const volatile sig_atomic_t *interrupted; /* may be NULL */
    wetdbg_time *first; /* by node: its first execution; 0: it has none, or is not own */
    struct psw_ran *ran;
    size_t ran_count, ran_capacity;
};

static bool is_interrupted(const struct running *work)
{
    return work->interrupted && *work->interrupted;
}

static bool is_own(const struct running *work, const struct wet_node *node)
{
    return node && node->executions && wetdbg_is_own(work->wet, node->pc);
}

/* Whether an interval executes a node that has not been met. Runs nothing. */
static bool has_new(const struct running *work, const uint32_t *own, size_t own_count, uint64_t k)
{
    for (size_t i = 0; i < own_count; i++)
        if (!work->first[own[i]] && wet_node_executions_in(work->wet, own[i], k))
            return true;
    return false;
}

static int interval_look(struct running *work, const bool *are_own, uint64_t k)
{
    const struct wet_interval *interval;
    int err = wet_interval_get(work->wet, k, &interval);
    if (err)
        return err;
    for (size_t i = 0; i < interval->exec_count; i++) {
        const struct wet_exec *exec = &interval->execs[i];
        if (are_own[exec->node] && !work->first[exec->node])
            work->first[exec->node] = interval->first_time + exec->time_off;
    }
    wet_interval_put(work->wet, interval);
    return 0;
}

static int firsts_find(struct running *work, const bool *are_own, const uint32_t *own,
                       size_t own_count)
{
    uint64_t intervals = wetdbg_get_info(work->wet)->intervals;
    int err = 0;
    for (uint64_t k = 0; k < intervals && !err; k++) {
        if (is_interrupted(work))
            err = wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
        else if (has_new(work, own, own_count, k))
            err = interval_look(work, are_own, k);
    }
    return err;
}

static int node_take(struct running *work, const struct wet_node *node)
{
    if (wd_grow(work->ran, work->ran_capacity, work->ran_count + node->statement_count))
        return -ENOMEM;
    for (uint32_t i = 0; i < node->statement_count; i++) {
        const struct wet_statement *statement = &node->statements[i];
        work->ran[work->ran_count++] = (struct psw_ran){.pc = statement->pc,
                                                        .time = work->first[node->id] + i,
                                                        .code = node->code + statement->byte_off,
                                                        .length = (uint8_t)statement->info->length,
                                                        .begins = i == 0};
    }
    return 0;
}

static int by_pc(const void *left, const void *right)
{
    const struct psw_ran *a = left, *b = right;
    if (a->pc != b->pc)
        return a->pc < b->pc ? -1 : 1;
    return a->time < b->time ? -1 : a->time > b->time;
}

/* An instruction may be in several nodes: its first one counts. */
static void ran_join(struct running *work)
{
    size_t kept = 0;
    if (work->ran_count)
        qsort(work->ran, work->ran_count, sizeof(*work->ran), by_pc);
    for (size_t i = 0; i < work->ran_count; i++)
        if (!kept || work->ran[kept - 1].pc != work->ran[i].pc)
            work->ran[kept++] = work->ran[i];
        else
            work->ran[kept - 1].begins |= work->ran[i].begins;
    work->ran_count = kept;
}

static int ran_find(struct running *work)
{
    uint32_t limit = wet_node_limit(work->wet);
    bool *are_own = calloc(limit + 1, sizeof(*are_own));
    uint32_t *own = calloc(limit + 1, sizeof(*own));
    size_t count = 0;
    work->first = calloc(limit + 1, sizeof(*work->first));
    int err = are_own && own && work->first ? 0 : -ENOMEM;
    for (uint32_t id = 0; id < limit && !err; id++)
        if (is_own(work, wet_get_node(work->wet, id))) {
            are_own[id] = true;
            own[count++] = id;
        }
    if (!err)
        err = firsts_find(work, are_own, own, count);
    for (size_t i = 0; i < count && !err; i++)
        if (work->first[own[i]])
            err = node_take(work, wet_get_node(work->wet, own[i]));
    free(are_own);
    free(own);
    if (!err)
        ran_join(work);
    return err;
}

int psw_ran_find(struct wetdbg *wet, const volatile sig_atomic_t *interrupted,
                 struct psw_ran **list, size_t *count)
{
    struct running work = {.wet = wet, .interrupted = interrupted};
    int err = ran_find(&work);
    free(work.first);
    *list = work.ran;
    *count = work.ran_count;
    return err;
}
