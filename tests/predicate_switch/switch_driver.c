/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * switch_driver FILE.wet model              how the virtual kernel differs from what was recorded
 * switch_driver FILE.wet unchanged N SEED   goes on unchanged at N times
 * switch_driver FILE.wet at TIME            goes on unchanged at that time
 * switch_driver FILE.wet switch TIME        with the condition there the other way round
 * switch_driver FILE.wet compare TIME [N]   goes on unchanged there, N times: the first event that
 *                                           is another one in the last of these runs
 * switch_driver FILE.wet repeat TIME N      goes on unchanged there, N times: how many a second
 * switch_driver FILE.wet setccs N           what N setccs of each interval made, by their flags
 *                                           and by their results
 *
 * A line for each run, for scripts.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/clock.h"
#include "predicate_switch/instances.h"
#include "predicate_switch/run.h"
#include "recorder/event/ops.h"
#include "recorder/feed/feed.h"
#include "wet/intervals.h"
#include <wetdbg/errors.h>

static const char *const ends[] = {"exit", "unresolved", "hangs", "stopped", "limit"};

static int run_one(struct psw_session *session, enum psw_change_kind kind, wetdbg_time time)
{
    struct psw_change change = {.kind = kind, .time = time};
    struct psw_settings settings = {0};
    struct psw_result result;
    double start = wd_seconds();
    int err = psw_run(session, &change, &settings, &result);
    if (err)
        return err;
    printf("time=%llu end=%s status=%#x instructions=%llu outputs=%llu differs=%d", //
           (unsigned long long)time, ends[result.end], result.status,
           (unsigned long long)result.instructions, (unsigned long long)result.outputs,
           result.difference.is_there);
    if (result.difference.is_there)
        printf(" fd=%d offset=%llu", result.difference.fd,
               (unsigned long long)result.difference.offset);
    printf(" ms=%.2f reason=%s\n", 1000 * (wd_seconds() - start), result.reason);
    return 0;
}

static int repeat(struct psw_session *session, wetdbg_time time, unsigned count)
{
    struct psw_change change = {.kind = PSW_NOTHING, .time = time};
    struct psw_settings settings = {0};
    struct psw_result result;
    int err = psw_run(session, &change, &settings, &result);
    double start = wd_seconds();
    for (unsigned i = 0; i < count && !err; i++)
        err = psw_run(session, &change, &settings, &result);
    double seconds = wd_seconds() - start;
    printf("time=%llu runs=%u seconds=%.3f a_second=%.0f\n", (unsigned long long)time, count,
           seconds, count / seconds);
    return err;
}

/* ---- event by event ---- */

struct event {
    uint64_t time;
    const struct evq_entry *is;
};

struct events {
    struct event *list;
    size_t count, capacity;
};

/* What is only how the recorder, or we, put it. */
static int event_add(struct events *events, uint64_t time, const struct evq_entry *entry)
{
    bool is_call = entry->kind == EVQ_SYSCALL_ENTER || entry->kind == EVQ_SYSCALL_EXIT ||
                   entry->kind == EVQ_TRAP || entry->kind == EVQ_TASK_EXIT ||
                   entry->kind == EVQ_FAULT || (entry->kind == EVQ_PLACE && entry->number);
    struct evq_entry *copy = is_call ? malloc(entry->bytes) : NULL;
    if (!is_call)
        return 0;
    if (!copy || wd_grow(events->list, events->capacity, events->count + 1))
        return -ENOMEM;
    memcpy(copy, entry, entry->bytes);
    events->list[events->count++] = (struct event){time, copy};
    return 0;
}

static int recorded_add(void *arg, const struct wet_event *event)
{
    return event_add(arg, event->time, event->entry);
}

static void event_print(const char *which, const struct event *event)
{
    const struct evq_regs *loads = evq_entry_loads(event->is);
    printf("%s time=%llu task=%u kind=%s number=%d rax=%lld\n", which,
           (unsigned long long)event->time, event->is->task, rep_entry_kind_name(event->is->kind),
           event->is->number, loads ? (long long)loads->r[EVQ_RAX] : 0);
}

/* Whether a register differs in what a program can see of it. */
static bool register_differs(const struct evq_regs *x, const struct evq_regs *y, unsigned i)
{
    uint64_t seen = i == EVQ_EFLAGS ? 0xcd5 : UINT64_MAX;
    return i != EVQ_ORIG_RAX && (x->r[i] ^ y->r[i]) & seen;
}

static bool is_same_event(const struct event *a, const struct event *b)
{
    const struct evq_regs *x = evq_entry_loads(a->is), *y = evq_entry_loads(b->is);
    bool is_same = a->time == b->time && a->is->task == b->is->task && a->is->kind == b->is->kind &&
                   a->is->number == b->is->number && !x == !y;
    for (unsigned i = 0; is_same && x && i < sizeof(x->r) / sizeof(x->r[0]); i++)
        is_same = !register_differs(x, y, i);
    return is_same;
}

/* Registers that are other ones. */
static void loads_differ_print(const struct event *a, const struct event *b)
{
    const struct evq_regs *x = evq_entry_loads(a->is), *y = evq_entry_loads(b->is);
    for (unsigned i = 0; x && y && i < sizeof(x->r) / sizeof(x->r[0]); i++)
        if (register_differs(x, y, i))
            printf("register %u: live %#llx, recorded %#llx\n", i, (unsigned long long)x->r[i],
                   (unsigned long long)y->r[i]);
}

static int compare(struct psw_session *session, struct wetdbg *wet, wetdbg_time time, unsigned runs)
{
    struct wd_buf kept = {0};
    struct psw_change change = {.kind = PSW_NOTHING, .time = time};
    struct psw_settings settings = {.entries = &kept};
    struct psw_result result;
    struct events recorded = {0}, live = {0};
    int err = 0;
    for (unsigned i = 0; i < runs && !err; i++) {
        kept.size_bytes = 0;
        err = psw_run(session, &change, &settings, &result);
    }
    if (!err)
        err = wet_each_entry(wet, recorded_add, &recorded);
    for (size_t at = 0; !err && at < kept.size_bytes;) {
        const struct evq_entry *entry = (const struct evq_entry *)(kept.data + at + 8);
        uint64_t when;
        memcpy(&when, kept.data + at, sizeof(when));
        err = event_add(&live, when, entry);
        at += 8 + entry->bytes;
    }
    size_t from = 0, i = 0;
    while (from < recorded.count && live.count && recorded.list[from].time < live.list[0].time)
        from++;
    while (i < live.count && from + i < recorded.count &&
           is_same_event(&live.list[i], &recorded.list[from + i]))
        i++;
    printf("end=%d reason=%s live=%zu same=%zu\n", result.end, result.reason, live.count, i);
    if (i < live.count && from + i < recorded.count)
        loads_differ_print(&live.list[i], &recorded.list[from + i]);
    for (size_t k = i > 6 ? i - 6 : 0; k < i + 4; k++) {
        if (k < live.count)
            event_print("live    ", &live.list[k]);
        if (from + k < recorded.count)
            event_print("recorded", &recorded.list[from + k]);
    }
    return err;
}

static int time_compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static int run_unchanged(struct psw_session *session, struct wetdbg *wet, unsigned count,
                         uint64_t seed)
{
    uint64_t *times = calloc(count + 1, sizeof(*times)), last = wetdbg_get_info(wet)->last_time;
    int err = 0;
    for (unsigned i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        times[i] = 1 + (seed >> 16) % last;
    }
    qsort(times, count, sizeof(*times), time_compare);
    for (unsigned i = 0; i < count && !err; i++)
        err = run_one(session, PSW_NOTHING, times[i]);
    free(times);
    return err;
}

static void difference_print(void *arg, const struct vk_difference *difference)
{
    enum vk_modelled how;
    const char *why;
    (void)arg;
    printf("when=%llu call=%s recorded=%lld model=%lld %s%s\n",
           (unsigned long long)difference->when, vk_call_name(difference->number, &how, &why),
           (long long)difference->recorded, (long long)difference->model,
           difference->is_unknown ? "unknown: " : "", difference->text ? difference->text : "");
}

static void model_print(const struct psw_session *session)
{
    const struct vk_history *history = psw_session_history(session);
    struct vk_score score = vk_history_score(history);
    vk_history_differences(history, difference_print, NULL);
    printf("calls=%llu equal=%llu unknown=%llu different=%llu\n", (unsigned long long)score.calls,
           (unsigned long long)score.equal, (unsigned long long)score.unknown,
           (unsigned long long)score.different);
}

static bool is_setcc(void *arg, const struct wetdbg_predicate *predicate)
{
    (void)arg;
    return predicate->kind == WETDBG_PREDICATE_SETCC;
}

/* Compares some `most` of an interval: `one` stands at each, `all` looks once. */
static int setccs_compare(struct psw_instances *one, struct psw_instances *all, uint64_t k,
                          size_t most, unsigned counts[2])
{
    const struct psw_list *list;
    int err = psw_instances_of(one, k, &list);
    if (!err)
        err = psw_instances_of(all, k, &list);
    for (size_t i = 0; !err && i < list->count; i += 1 + list->count / most) {
        wetdbg_time time = list->first_time + list->items[i].time_off;
        uint32_t ways[2];
        for (unsigned l = 0; l < PSW_LISTS_KEPT; l++)
            one->lists[l].asked = 0;
        err = psw_instance_way(one, time, list->items[i].predicate, &ways[0]);
        if (!err)
            err = psw_instance_way(all, time, list->items[i].predicate, &ways[1]);
        if (!err && (ways[0] != ways[1] || ways[0] == PSW_NONE))
            printf("time=%llu flags=%u result=%u\n", (unsigned long long)time, ways[0], ways[1]);
        counts[0]++;
        counts[1] += all->lists[0].set_bytes != NULL;
    }
    return err;
}

static int setccs(struct wetdbg *wet, size_t most)
{
    struct wetdbg_candidates_options options = {.libraries = true, .is_wanted = is_setcc};
    struct psw_predicates predicates = {0};
    struct psw_instances one = {0}, all = {0};
    unsigned counts[2] = {0};
    int err = psw_predicates_find(&predicates, wet, &options);
    if (!err)
        err = psw_instances_init(&one, &predicates, NULL, NULL);
    if (!err)
        err = psw_instances_init(&all, &predicates, NULL, NULL);
    for (uint64_t k = 0; !err && k < wetdbg_get_info(wet)->intervals; k++)
        if (psw_has_instances(&predicates, k))
            err = setccs_compare(&one, &all, k, most, counts);
    printf("setccs=%u looked_up=%u\n", counts[0], counts[1]);
    psw_instances_fini(&one);
    psw_instances_fini(&all);
    psw_predicates_fini(&predicates);
    return err;
}

static int command_run(struct psw_session *session, struct wetdbg *wet, int argc, char **argv)
{
    const char *command = argv[2];
    uint64_t first = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
    const struct wetdbg_info *info = wetdbg_get_info(wet);
    printf("run status=%#x instructions=%llu\n", info->wait_status,
           (unsigned long long)info->instructions);
    if (!strcmp(command, "model"))
        model_print(session);
    else if (!strcmp(command, "unchanged"))
        return run_unchanged(session, wet, (unsigned)first,
                             argc > 4 ? strtoull(argv[4], NULL, 0) : 1);
    else if (!strcmp(command, "compare"))
        return compare(session, wet, first, argc > 4 ? (unsigned)atoi(argv[4]) : 1);
    else if (!strcmp(command, "repeat"))
        return repeat(session, first, argc > 4 ? (unsigned)atoi(argv[4]) : 100);
    else if (!strcmp(command, "setccs"))
        return setccs(wet, first);
    else
        return run_one(session, !strcmp(command, "switch") ? PSW_SWITCH : PSW_NOTHING, first);
    return 0;
}

static int session_open(struct wetdbg *wet, struct psw_session **out)
{
    const struct wetdbg_info *info = wetdbg_get_info(wet);
    struct psw_surroundings where = {.cwd = info->recorded_in,
                                     .disk_before_ns = info->recorded_at_ns,
                                     .disk_until_ns = info->recorded_until_ns};
    return psw_session_open(wet, &where, out);
}

int main(int argc, char **argv)
{
    struct wetdbg *wet = NULL;
    struct psw_session *session = NULL;
    if (argc < 3)
        return 2;
    double start = wd_seconds();
    int err = wetdbg_open(argv[1], &wet);
    if (!err)
        wetdbg_trust(wet);
    if (!err)
        err = session_open(wet, &session);
    if (!err) {
        printf("session seconds=%.3f\n", wd_seconds() - start);
        err = command_run(session, wet, argc, argv);
    }
    if (err)
        fprintf(stderr, "error: %s\n", wetdbg_error(err));
    psw_session_close(session);
    wetdbg_close(wet);
    return err ? 1 : 0;
}
