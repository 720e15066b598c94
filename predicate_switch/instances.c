/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "predicate_switch/instances.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/user.h>

#include "common/array.h"
#include "common/bisect.h"
#include "recorder/insn/insn_ranges.h"
#include <wetdbg/errors.h>

#define MANY_SETCCS 8 /* of which states are opened; then the whole interval is looked at */

/* ---- counts ---- */

bool psw_has_instances(const struct psw_predicates *predicates, uint64_t interval)
{
    for (uint32_t id = 0; id < predicates->node_limit; id++)
        if (predicates->first_spots[id] < predicates->first_spots[id + 1] &&
            wet_node_executions_in(predicates->wet, id, interval))
            return true;
    return false;
}

/* The nodes of a predicate are few, but only the table by node has them. */
uint64_t psw_count_before(const struct psw_predicates *predicates, uint32_t predicate,
                          uint64_t interval)
{
    uint64_t count = 0;

    for (uint32_t id = 0; id < predicates->node_limit && interval; id++)
        for (uint32_t s = predicates->first_spots[id]; s < predicates->first_spots[id + 1]; s++)
            for (uint64_t k = 0; k < interval && predicates->spots[s].predicate == predicate; k++)
                count += wet_node_executions_in(predicates->wet, id, k);
    return count;
}

/* ---- ways ---- */

/* The address where a task goes on after an execution; 0 if the interval does not say. */
static uint64_t find_next(struct wetdbg *wet, const struct wet_interval *interval, size_t from,
                          uint32_t task)
{
    for (size_t i = from; i < interval->exec_count; i++)
        if (interval->execs[i].task == task) {
            const struct wet_node *node = wet_get_node(wet, interval->execs[i].node);
            return node ? node->pc : 0;
        }
    return 0;
}

static uint32_t find_way(const struct psw_predicates *predicates,
                         const struct wet_interval *interval, size_t exec,
                         const struct wet_statement *statement, uint32_t predicate)
{
    const struct wet_exec *here = &interval->execs[exec];

    switch (predicates->items[predicate].kind) {
    case WETDBG_PREDICATE_SETCC:
        return PSW_NONE;
    case WETDBG_PREDICATE_CMOV:
        return ins_skipped_flow(statement->info, interval->slots + here->slot_off +
                                                     statement->slot) == INS_FLOW_NOT_TAKEN
                   ? 1
                   : 0;
    default:
        return psw_way_find(predicates, predicate,
                            find_next(predicates->wet, interval, exec + 1, here->task));
    }
}

/* ---- lists ---- */

static int add_exec(struct psw_instances *instances, struct psw_list *list,
                    const struct wet_interval *interval, size_t exec)
{
    const struct psw_predicates *predicates = instances->predicates;
    const struct wet_exec *here = &interval->execs[exec];

    if (here->node >= predicates->node_limit)
        return 0;
    uint32_t end = predicates->first_spots[here->node + 1];
    for (uint32_t s = predicates->first_spots[here->node]; s < end; s++) {
        const struct wet_node *node = wet_get_node(predicates->wet, here->node);
        const struct psw_spot *spot = &predicates->spots[s];
        if (!node || spot->statement >= node->statement_count)
            continue;
        if (wd_grow(list->items, list->capacity, list->count + 1))
            return -ENOMEM;
        list->items[list->count++] = (struct psw_instance){
            .time_off = here->time_off + spot->statement,
            .predicate = spot->predicate,
            .ordinal = instances->ordinals[spot->predicate]++,
            .way = find_way(predicates, interval, exec, &node->statements[spot->statement],
                            spot->predicate),
        };
    }
    return 0;
}

static int fill(struct psw_instances *instances, struct psw_list *list, uint64_t k)
{
    const struct wet_interval *interval;

    if (instances->is_unwanted && instances->is_unwanted(instances->arg))
        return wetdbg_fail_plain(-WETDBG_ERR_INTERRUPTED);
    int err = wet_interval_get(instances->predicates->wet, k, &interval);
    if (err)
        return err;
    free(list->set_bytes);
    list->set_bytes = NULL;
    list->count = list->asked = 0;
    list->first_time = interval->first_time;
    for (uint32_t i = 0; i < instances->predicates->count; i++)
        instances->ordinals[i] = 0;
    for (size_t i = 0; i < interval->exec_count && !err; i++)
        err = add_exec(instances, list, interval, i);
    wet_interval_put(instances->predicates->wet, interval);
    list->interval = err ? UINT64_MAX : k;
    return err;
}

int psw_instances_init(struct psw_instances *instances, const struct psw_predicates *predicates,
                       bool (*is_unwanted)(void *arg), void *arg)
{
    *instances =
        (struct psw_instances){.predicates = predicates, .is_unwanted = is_unwanted, .arg = arg};
    for (unsigned i = 0; i < PSW_LISTS_KEPT; i++)
        instances->lists[i].interval = UINT64_MAX;
    instances->ordinals = calloc(predicates->count + 1, sizeof(*instances->ordinals));
    return instances->ordinals ? 0 : -ENOMEM;
}

void psw_instances_fini(struct psw_instances *instances)
{
    for (unsigned i = 0; i < PSW_LISTS_KEPT; i++) {
        free(instances->lists[i].items);
        free(instances->lists[i].set_bytes);
    }
    free(instances->ordinals);
    if (instances->effects)
        wetdbg_effects_close(instances->effects);
}

int psw_instances_of(struct psw_instances *instances, uint64_t interval,
                     const struct psw_list **list)
{
    struct psw_list *oldest = &instances->lists[0];

    for (unsigned i = 0; i < PSW_LISTS_KEPT; i++) {
        struct psw_list *each = &instances->lists[i];
        if (each->interval == interval) {
            each->used = ++instances->uses;
            *list = each;
            return 0;
        }
        if (each->used < oldest->used)
            oldest = each;
    }
    oldest->used = ++instances->uses;
    *list = oldest;
    return fill(instances, oldest, interval);
}

int psw_instances_back(struct psw_instances *instances, wetdbg_time until, psw_instance_fn *fn,
                       void *arg)
{
    const struct psw_predicates *predicates = instances->predicates;
    uint64_t k = wetdbg_interval_at(predicates->wet, until) + 1;
    const struct psw_list *list;
    int err = 0;

    while (k-- > 0 && !err) {
        if (!psw_has_instances(predicates, k))
            continue;
        err = psw_instances_of(instances, k, &list);
        for (size_t i = err ? 0 : list->count; i-- > 0 && !err;) {
            wetdbg_time time = list->first_time + list->items[i].time_off;
            if (time < until)
                err = fn(arg, &list->items[i], time);
        }
    }
    return err;
}

int psw_instance_find(const struct psw_list *list, wetdbg_time time, size_t *at)
{
    uint64_t off = time - list->first_time;

    *at = wd_bisect(0, list->count, i, list->items[i].time_off < off);
    return *at < list->count && list->items[*at].time_off == off
               ? 0
               : wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
}

/* ---- one way more ---- */

static const struct ins_info *info_at(struct wetdbg *wet, const struct wet_interval *interval,
                                      wetdbg_time time)
{
    uint64_t off = time - interval->first_time;
    size_t at = wd_bisect(1, interval->exec_count, i, interval->execs[i].time_off <= off) - 1;
    const struct wet_node *node = wet_get_node(wet, interval->execs[at].node);
    uint64_t statement = off - interval->execs[at].time_off;

    return node && statement < node->statement_count ? node->statements[statement].info : NULL;
}

/* Whether an instruction writes bits 8 to 15 of a register and not 0 to 7. */
static bool is_high_byte(const struct ins_info *info)
{
    struct ins_regset defs = ins_all_defs(info);

    for (unsigned r = 0; r < INS_GPR_COUNT; r++)
        if (ins_regset_has(&defs, INS_LOC_GPR + r * INS_GPR_PIECES + 1))
            return !ins_regset_has(&defs, INS_LOC_GPR + r * INS_GPR_PIECES);
    return false;
}

struct setting {
    const struct psw_predicates *predicates;
    const struct wet_interval *interval;
    struct psw_list *list;
    size_t at; /* of the next item; effects come in the order of time */
};

static int take_effect(void *arg, const struct wetdbg_effect *effect)
{
    struct setting *setting = arg;
    struct psw_list *list = setting->list;

    while (setting->at < list->count &&
           list->first_time + list->items[setting->at].time_off < effect->time)
        setting->at++;
    if (setting->at == list->count || !effect->pc || !effect->after)
        return 0;
    const struct psw_instance *item = &list->items[setting->at];
    if (list->first_time + item->time_off != effect->time ||
        setting->predicates->items[item->predicate].kind != WETDBG_PREDICATE_SETCC)
        return 0;
    const struct ins_info *info =
        info_at(setting->predicates->wet, setting->interval, effect->time);
    if (info)
        list->set_bytes[setting->at] = 1 + (effect->after[is_high_byte(info) ? 1 : 0] & 1);
    return 0;
}

/* What all setccs of the list's interval made, in one run of it. */
static int set_bytes_find(struct psw_instances *instances, const struct wet_interval *interval,
                          struct psw_list *list)
{
    struct setting setting = {instances->predicates, interval, list, 0};
    int err = instances->effects
                  ? 0
                  : wetdbg_effects_open(instances->predicates->wet, &instances->effects);

    if (err)
        return err;
    list->set_bytes = calloc(list->count + 1, 1);
    if (!list->set_bytes)
        return -ENOMEM;
    return wetdbg_effects_each(instances->effects, list->interval, true, take_effect, &setting);
}

static struct psw_list *list_kept(struct psw_instances *instances, uint64_t interval)
{
    for (unsigned i = 0; i < PSW_LISTS_KEPT; i++)
        if (instances->lists[i].interval == interval)
            return &instances->lists[i];
    return NULL;
}

/* 1 if it was found without standing there, 0 if not, or an error. */
static int way_in_list(struct psw_instances *instances, const struct wet_interval *interval,
                       wetdbg_time time, uint32_t *way)
{
    struct psw_list *list = list_kept(instances, interval->index);
    size_t at;
    int err = 0;

    if (!list || ++list->asked < MANY_SETCCS)
        return 0;
    if (!list->set_bytes)
        err = set_bytes_find(instances, interval, list);
    if (err || psw_instance_find(list, time, &at) || !list->set_bytes[at])
        return err;
    *way = list->set_bytes[at] - 1u;
    return 1;
}

static int setcc_way(struct psw_instances *instances, const struct wet_interval *interval,
                     wetdbg_time time, uint32_t *way)
{
    struct wetdbg *wet = instances->predicates->wet;
    const struct ins_info *info = info_at(wet, interval, time);
    struct wetdbg_state *state;

    if (!info || info->condition == INS_COND_NONE)
        return 0;
    int known = way_in_list(instances, interval, time, way);
    if (known)
        return known < 0 ? known : 0;
    int err = wetdbg_state_open(wet, time, &state);
    if (err)
        return err;
    const struct user_regs_struct *regs = wetdbg_state_registers(state);
    *way = ins_condition_holds(info->condition, regs->eflags, regs->rcx) ? 1 : 0;
    wetdbg_state_close(state);
    return 0;
}

/* What the task of an interval's execution at a time runs first in the next interval. */
static int next_interval_way(const struct psw_predicates *predicates,
                             const struct wet_interval *interval, wetdbg_time time,
                             uint32_t predicate, uint32_t *way)
{
    struct wetdbg *wet = predicates->wet;
    uint64_t off = time - interval->first_time;
    size_t at = wd_bisect(1, interval->exec_count, i, interval->execs[i].time_off <= off) - 1;
    uint32_t task = interval->execs[at].task;
    const struct wet_interval *next;

    if (find_next(wet, interval, at + 1, task) ||
        interval->index + 1 >= wetdbg_get_info(wet)->intervals)
        return 0;
    int err = wet_interval_get(wet, interval->index + 1, &next);
    if (err)
        return err;
    *way = psw_way_find(predicates, predicate, find_next(wet, next, 0, task));
    wet_interval_put(wet, next);
    return 0;
}

int psw_instance_way(struct psw_instances *instances, wetdbg_time time, uint32_t predicate,
                     uint32_t *way)
{
    const struct psw_predicates *predicates = instances->predicates;
    const struct wet_interval *interval;
    int err =
        wet_interval_get(predicates->wet, wetdbg_interval_at(predicates->wet, time), &interval);

    *way = PSW_NONE;
    if (err)
        return err;
    err = predicates->items[predicate].kind == WETDBG_PREDICATE_SETCC
              ? setcc_way(instances, interval, time, way)
              : next_interval_way(predicates, interval, time, predicate, way);
    wet_interval_put(predicates->wet, interval);
    return err;
}
