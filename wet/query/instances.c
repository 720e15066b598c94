/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Instances of statements: counted from the rank index, placed by running one interval. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "wet/query/wet_priv.h"
#include <wetdbg/errors.h>

/* Which statements of which nodes are asked for: per node id, 1 + index in `hits`, or 0. */
struct hit {
    uint32_t node;
    uint32_t count;
    uint32_t statements[64]; /* ascending */
};

struct wanted {
    const uint64_t *pcs;
    size_t pc_count;
    size_t node_count; /* later nodes were met since */
    uint32_t *by_node;
    struct hit *hits;
    size_t count;
};

static void wanted_fini(struct wanted *wanted)
{
    free(wanted->by_node);
    free(wanted->hits);
}

static int hit_add(struct wanted *wanted, uint32_t node, const uint32_t *statements, uint32_t count)
{
    if (wd_grow_one(wanted->hits, wanted->count))
        return -ENOMEM;
    struct hit *hit = &wanted->hits[wanted->count];
    *hit = (struct hit){.node = node, .count = count};
    memcpy(hit->statements, statements, count * sizeof(*statements));
    wanted->by_node[node] = (uint32_t)++wanted->count;
    return 0;
}

static bool is_wanted(const uint64_t *pcs, size_t pc_count, uint64_t pc)
{
    for (size_t i = 0; i < pc_count; i++) {
        if (pcs[i] == pc)
            return true;
    }
    return false;
}

static int wanted_init(struct wanted *wanted, struct wetdbg *wet, const uint64_t *pcs,
                       size_t pc_count)
{
    uint64_t low = UINT64_MAX, high = 0;
    size_t node_count = __atomic_load_n(&wet->node_count, __ATOMIC_ACQUIRE);
    *wanted = (struct wanted){.pcs = pcs, .pc_count = pc_count, .node_count = node_count};
    wanted->by_node = calloc(wet->node_limit + 1, sizeof(*wanted->by_node));
    if (!wanted->by_node)
        return -ENOMEM;
    for (size_t i = 0; i < pc_count; i++) {
        low = pcs[i] < low ? pcs[i] : low;
        high = pcs[i] > high ? pcs[i] : high;
    }
    for (size_t i = 0; i < node_count; i++) {
        const struct wet_node *node = &wet->nodes[i].is;
        uint32_t statements[64], count = 0;
        if (!pc_count || node->pc > high || node->pc + node->code_bytes <= low)
            continue;
        node = wet_get_node(wet, node->id);
        if (!node)
            return -ENOMEM;
        for (uint32_t s = 0; s < node->statement_count && count < 64; s++) {
            if (is_wanted(pcs, pc_count, node->statements[s].pc))
                statements[count++] = s;
        }
        int err = count ? hit_add(wanted, node->id, statements, count) : 0;
        if (err)
            return err;
    }
    return 0;
}

/* Counts instances in interval k, from the rank index. */
static int count_in(struct wetdbg *wet, const struct wanted *wanted, uint64_t k, uint64_t *count)
{
    const struct wet_counts *counts;
    int err = wet_counts_load(wet, k, &counts);
    *count = 0;
    for (size_t i = 0; !err && i < wanted->count; i++)
        *count +=
            (uint64_t)wanted->hits[i].count * wet_node_executions_in(wet, wanted->hits[i].node, k);
    return err;
}

int wetdbg_count_instances(struct wetdbg *wet, const uint64_t *pcs, size_t pc_count,
                           uint64_t *count)
{
    struct wanted wanted;
    int err = wanted_init(&wanted, wet, pcs, pc_count);
    uint64_t sum = 0;
    for (size_t i = 0; !err && i < wanted.count; i++)
        sum += (uint64_t)wanted.hits[i].count *
               wet->nodes[wet->node_by_id[wanted.hits[i].node] - 1].is.executions;
    wanted_fini(&wanted);
    if (!err)
        *count = sum;
    return err;
}

int wetdbg_count_instances_in(struct wetdbg *wet, const uint64_t *pcs, size_t pc_count, uint64_t k,
                              uint64_t *count)
{
    struct wanted wanted;
    int err = wanted_init(&wanted, wet, pcs, pc_count);
    if (!err)
        err = count_in(wet, &wanted, k, count);
    wanted_fini(&wanted);
    return err;
}

/* Finds what is asked for in a node that was met after the question. */
static void hit_late(const struct wet_node *node, const uint64_t *pcs, size_t pc_count,
                     struct hit *hit)
{
    hit->count = 0;
    for (uint32_t s = 0; node && s < node->statement_count && hit->count < 64; s++) {
        if (is_wanted(pcs, pc_count, node->statements[s].pc))
            hit->statements[hit->count++] = s;
    }
}

/* Calls back for the interval's instances in order. */
static int each_in(struct wetdbg *wet, const struct wanted *wanted, uint64_t k, wetdbg_time from,
                   wetdbg_time to, wetdbg_instance_fn fn, void *arg)
{
    const struct wet_interval *interval;
    int err = wet_interval_get(wet, k, &interval);
    if (err)
        return err;
    for (size_t i = 0; !err && i < interval->exec_count; i++) {
        const struct wet_exec *exec = &interval->execs[i];
        uint32_t at = wanted->by_node[exec->node];
        struct hit late;
        const struct hit *hit = at ? &wanted->hits[at - 1] : &late;
        if (!at && wet->node_by_id[exec->node] <= wanted->node_count)
            continue;
        const struct wet_node *node = wet_get_node(wet, exec->node);
        if (!at)
            hit_late(node, wanted->pcs, wanted->pc_count, &late);
        for (uint32_t s = 0; !err && s < hit->count; s++) {
            wetdbg_time time = interval->first_time + exec->time_off + hit->statements[s];
            if (time >= from && time <= to)
                err = fn(arg, time, node->statements[hit->statements[s]].pc);
        }
    }
    wet_interval_put(wet, interval);
    return err;
}

int wetdbg_each_instance(struct wetdbg *wet, const uint64_t *pcs, size_t pc_count, wetdbg_time from,
                         wetdbg_time to, wetdbg_instance_fn fn, void *arg)
{
    struct wanted wanted;
    int err = wanted_init(&wanted, wet, pcs, pc_count);
    if (from < 1)
        from = 1;
    for (uint64_t k = wetdbg_interval_at(wet, from); !err && k < wet->info.intervals; k++) {
        uint64_t count;
        if (wet->index[k].first_time > to)
            break;
        err = count_in(wet, &wanted, k, &count);
        if (!err && count)
            err = each_in(wet, &wanted, k, from, to, fn, arg);
    }
    wanted_fini(&wanted);
    return err;
}

struct nth {
    uint64_t left;
    wetdbg_time time;
};

static int nth_instance(void *arg, wetdbg_time time, uint64_t pc)
{
    struct nth *nth = arg;
    (void)pc;
    nth->time = time;
    return --nth->left == 0 ? 1 : 0;
}

int wetdbg_find_instance(struct wetdbg *wet, const uint64_t *pcs, size_t pc_count, int64_t k,
                         wetdbg_time *time)
{
    struct wanted wanted;
    uint64_t total = 0, before = 0, count = 0, i;
    int err = wanted_init(&wanted, wet, pcs, pc_count);
    for (i = 0; !err && i < wet->info.intervals; i++) {
        err = count_in(wet, &wanted, i, &count);
        total += count;
    }
    uint64_t back = 0 - (uint64_t)k;
    uint64_t rank = k > 0 ? (uint64_t)k : total + 1 - back;
    if (!err && (k == 0 || (k < 0 && back > total) || rank > total))
        err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "there is no instance #%lld: it ran %llu times",
                          (long long)k, (unsigned long long)total);
    for (i = 0; !err && i < wet->info.intervals; i++, before += count) {
        err = count_in(wet, &wanted, i, &count);
        if (err || before + count < rank)
            continue;
        struct nth nth = {.left = rank - before};
        err = each_in(wet, &wanted, i, 1, UINT64_MAX, nth_instance, &nth);
        if (err == 1) {
            *time = nth.time;
            err = 0;
        } else if (!err) {
            err = wetdbg_fail(-WETDBG_ERR_DIVERGED,
                              "interval %llu has fewer instances than were counted",
                              (unsigned long long)i);
        }
        break;
    }
    wanted_fini(&wanted);
    return err;
}
