/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Real runs: every interval reproduces itself forwards and backwards, the cut into intervals shows
 * nowhere, and what indexes say is what a walk finds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/wet/wet_fixture.h"
#include "tests/wet/wet_unit.h"
#include "wet/intervals.h"
#include "wet/query/interval.h"
#include <wetdbg/errors.h>

RUN(run_printf, PROGRAMS "/prog_printf_O0_pie")
RUN(run_repstr, PROGRAMS "/prog_repstr_O2_static")
RUN(run_signals, PROGRAMS "/prog_signals_O0_pie")
RUN(run_simd, PROGRAMS "/prog_simd_O2_pie")
RUN(run_heap, PROGRAMS "/prog_heap_O2_pie")
RUN(run_wildcall, PROGRAMS "/prog_crash_wildcall_O0_static")
RUN(run_ud2, PROGRAMS "/prog_crash_ud2_O2_pie")
RUN(run_ls, "ls", "-l", "/")
RUN(run_gzip, "gzip", "-c", LICENSE)
RUN(run_rewritten, GENERATED, "rewritten", "400")
RUN(run_changes_itself, GENERATED, "itself", "400")
RUN(run_stores, GENERATED, "stores", "60")
RUN(run_either_or, GENERATED, "either_or", "80")
RUN(run_beside, GENERATED, "beside", "400")
RUN(run_moved, GENERATED, "moved", "30")

/* ---- walking ---- */

/* Everything about a run, one execution or event after the other, whatever the intervals. Names
 * are left out that a build chooses (ids of nodes). */
struct walker {
    struct wetdbg *wet;
    uint64_t k;
    const struct wet_interval *interval;
    size_t exec, event;
};

static const struct wet_exec *walker_next(struct walker *walker)
{
    while (!walker->interval || walker->exec == walker->interval->exec_count) {
        uint64_t next = walker->interval ? walker->k + 1 : 0;
        wet_interval_put(walker->wet, walker->interval);
        walker->interval = NULL;
        if (next == wetdbg_get_info(walker->wet)->intervals)
            return NULL;
        ok(wet_interval_get(walker->wet, next, &walker->interval));
        walker->k = next;
        walker->exec = 0;
    }
    return &walker->interval->execs[walker->exec++];
}

static void assert_same_exec(struct walker *a, const struct wet_exec *x, struct walker *b,
                             const struct wet_exec *y)
{
    const struct wet_node *n = wet_get_node(a->wet, x->node), *m = wet_get_node(b->wet, y->node);
    assert_non_null(n);
    assert_non_null(m);
    if (n->pc != m->pc || n->code_bytes != m->code_bytes || n->slot_count != m->slot_count ||
        n->statement_count != m->statement_count || memcmp(n->code, m->code, n->code_bytes))
        fail_msg("node %#llx and node %#llx", (unsigned long long)n->pc, (unsigned long long)m->pc);
    assert_int_equal(a->interval->first_time + x->time_off, b->interval->first_time + y->time_off);
    assert_int_equal(x->task, y->task);
    assert_memory_equal(a->interval->slots + x->slot_off, b->interval->slots + y->slot_off,
                        n->slot_count * sizeof(uint64_t));
}

static void interval_shorter_ones_hold_the_same_execs_and_slots(void **state)
{
    const struct fixture *fixture = *state;
    struct walker a = {.wet = fixture->whole}, b = {.wet = fixture->cut};
    const struct wet_exec *x, *y;
    uint64_t time = 1;
    const struct wetdbg_info *cut = wetdbg_get_info(fixture->cut);
    assert_in_range(cut->intervals, cut->instructions / (FIXTURE_SHORT + 100),
                    cut->instructions / 10000);
    do {
        x = walker_next(&a);
        y = walker_next(&b);
        assert_true(!x == !y);
        if (!x)
            break;
        assert_same_exec(&a, x, &b, y);
        assert_int_equal(a.interval->first_time + x->time_off, time);
        time += wet_get_node(fixture->whole, x->node)->statement_count;
    } while (x);
    assert_int_equal(time, wetdbg_get_info(fixture->whole)->instructions + 1);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * 0x9e3779b97f4a7c15ull + (hash >> 29);
}

/* A hash over everything in an interval. */
static uint64_t interval_hash(struct wetdbg *wet, uint64_t k)
{
    const struct wet_interval *interval;
    ok(wet_interval_get(wet, k, &interval));
    uint64_t hash = mix(interval->first_time, interval->instructions);
    for (size_t i = 0; i < interval->exec_count; i++) {
        const struct wet_exec *exec = &interval->execs[i];
        hash = mix(mix(mix(hash, exec->node), exec->time_off), exec->task);
        for (uint32_t s = 0; s < wet_get_node(wet, exec->node)->slot_count; s++)
            hash = mix(hash, interval->slots[exec->slot_off + s]);
    }
    for (size_t i = 0; i < interval->event_count; i++) {
        const struct wet_event *event = &interval->events[i];
        hash = mix(mix(mix(hash, event->time), event->exec), event->entry->kind);
    }
    wet_interval_put(wet, interval);
    return hash;
}

static void interval_is_the_same_forwards_backwards_and_at_random(void **state)
{
    const struct fixture *fixture = *state;
    uint64_t count = wetdbg_get_info(fixture->cut)->intervals,
             seed = unit_seed("order of intervals");
    uint64_t *hashes = calloc(count, sizeof(*hashes));
    for (uint64_t k = 0; k < count; k++)
        hashes[k] = interval_hash(fixture->cut, k);
    for (uint64_t k = count; k-- > 0;)
        assert_int_equal(interval_hash(fixture->cut, k), hashes[k]);
    for (unsigned i = 0; i < 30; i++) {
        uint64_t k = unit_random(&seed) % count;
        assert_int_equal(interval_hash(fixture->cut, k), hashes[k]);
    }
    free(hashes);
}

/* Events in intervals are those that can be had without running anything. */
struct event_list {
    struct wetdbg *wet;
    uint64_t k;
    const struct wet_interval *interval;
    size_t at, total;
};

static int event_compare(void *arg, const struct wet_event *event)
{
    struct event_list *list = arg;
    while (!list->interval || list->at == list->interval->event_count) {
        if (list->interval)
            list->k++;
        wet_interval_put(list->wet, list->interval);
        ok(wet_interval_get(list->wet, list->k, &list->interval));
        list->at = 0;
    }
    const struct wet_event *here = &list->interval->events[list->at++];
    assert_int_equal(here->time, event->time);
    assert_int_equal(here->task, event->task);
    assert_int_equal(here->entry->bytes, event->entry->bytes);
    assert_memory_equal(here->entry, event->entry, event->entry->bytes);
    assert_true((int32_t)here->exec < (int32_t)list->interval->exec_count);
    list->total++;
    return 0;
}

static void events_of_intervals_are_those_of_the_run(void **state)
{
    const struct fixture *fixture = *state;
    struct event_list list = {.wet = fixture->cut};
    ok(wet_each_entry(fixture->cut, event_compare, &list));
    wet_interval_put(fixture->cut, list.interval);
    assert_int_equal(list.total, wetdbg_get_info(fixture->cut)->events);
}

/* ---- counts and instances ---- */

static void counts_of_nodes_make_up_the_run(void **state)
{
    const struct fixture *fixture = *state;
    struct wetdbg *wet = fixture->cut;
    const struct wetdbg_info *info = wetdbg_get_info(wet);
    uint64_t instructions = 0, executions = 0, nodes = 0;
    for (uint32_t id = 0; id < wet_node_limit(wet); id++) {
        const struct wet_node *node = wet_get_node(wet, id);
        uint64_t here = 0;
        if (!node)
            continue;
        for (uint64_t k = 0; k < info->intervals; k++)
            here += wet_node_executions_in(wet, id, k);
        assert_int_equal(here, node->executions);
        nodes++;
        executions += here;
        instructions += here * node->statement_count;
    }
    assert_int_equal(nodes, info->nodes);
    assert_int_equal(executions, info->node_executions);
    assert_int_equal(instructions, info->instructions);
    assert_int_equal(instructions, wetdbg_get_info(fixture->whole)->instructions);
    assert_null(wet_get_node(wet, wet_node_limit(wet)));
}

/* Statements of the same bytes share what is known of them. */
static void statements_are_what_their_bytes_decode_to(void **state)
{
    const struct fixture *fixture = *state;
    uint64_t decoded = 0, addresses = 0;
    for (uint32_t id = 0; id < wet_node_limit(fixture->cut); id++) {
        const struct wet_node *node = wet_get_node(fixture->cut, id);
        uint32_t off = 0;
        for (uint32_t s = 0; node && s < node->statement_count; s++) {
            const struct wet_statement *statement = &node->statements[s];
            struct ins_info info;
            assert_int_equal(statement->byte_off, off);
            assert_int_equal(statement->pc, node->pc + off);
            if (ins_decode(node->code + off, node->code_bytes - off, statement->pc, &info) == 0) {
                assert_memory_equal(statement->info, &info, ins_info_bytes(&info));
                decoded++;
                addresses += info.target != 0;
                for (unsigned m = 0; m < info.mem_count; m++)
                    addresses += info.mems[m].base < 0;
            }
            off += statement->info->length;
        }
    }
    assert_true(decoded > 1000 && addresses > 100);
}

struct times {
    uint64_t count;
    wetdbg_time last, picked;
    uint64_t pick; /* the rank whose time is wanted */
};

static int time_note(void *arg, wetdbg_time time, uint64_t pc)
{
    struct times *times = arg;
    (void)pc;
    assert_true(time > times->last);
    times->last = time;
    if (++times->count == times->pick)
        times->picked = time;
    return 0;
}

/* Instances of some statements by walking all intervals. */
static struct times instances_walk(struct wetdbg *wet, const uint64_t *pcs, size_t pc_count,
                                   uint64_t pick)
{
    struct times times = {.pick = pick};
    struct walker walker = {.wet = wet};
    for (const struct wet_exec *exec; (exec = walker_next(&walker));) {
        const struct wet_node *node = wet_get_node(wet, exec->node);
        for (uint32_t s = 0; s < node->statement_count; s++) {
            for (size_t i = 0; i < pc_count; i++) {
                if (node->statements[s].pc == pcs[i])
                    time_note(&times, walker.interval->first_time + exec->time_off + s, 0);
            }
        }
    }
    return times;
}

static void assert_instances_agree(struct wetdbg *wet, const uint64_t *pcs, size_t pc_count,
                                   uint64_t pick_seed)
{
    uint64_t count, total;
    wetdbg_time time;
    ok(wetdbg_count_instances(wet, pcs, pc_count, &total));
    uint64_t pick = 1 + pick_seed % total;
    struct times walked = instances_walk(wet, pcs, pc_count, pick), each = {.pick = pick};
    assert_int_equal(total, walked.count);
    ok(wetdbg_each_instance(wet, pcs, pc_count, 1, UINT64_MAX, time_note, &each));
    assert_int_equal(each.count, walked.count);
    assert_int_equal(each.picked, walked.picked);
    ok(wetdbg_find_instance(wet, pcs, pc_count, (int64_t)pick, &time));
    assert_int_equal(time, walked.picked);
    ok(wetdbg_find_instance(wet, pcs, pc_count, (int64_t)pick - (int64_t)total - 1, &time));
    assert_int_equal(time, walked.picked);
    ok(wetdbg_find_instance(wet, pcs, pc_count, -1, &time));
    assert_int_equal(time, walked.last);
    const int64_t absent[] = {0, (int64_t)total + 1, -(int64_t)total - 1, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
        assert_int_equal(wetdbg_find_instance(wet, pcs, pc_count, absent[i], &time),
                         -WETDBG_ERR_NOT_FOUND);
    struct times part = {0};
    ok(wetdbg_each_instance(wet, pcs, pc_count, walked.picked, walked.picked, time_note, &part));
    count = part.count;
    assert_int_equal(count, 1);
}

static const struct wet_node *random_node(struct wetdbg *wet, uint64_t *seed)
{
    const struct wet_node *node;
    do
        node = wet_get_node(wet, (uint32_t)(unit_random(seed) % wet_node_limit(wet)));
    while (!node);
    return node;
}

static void instances_counted_walked_and_found_agree(void **state)
{
    const struct fixture *fixture = *state;
    uint64_t seed = unit_seed("statements"), none = 0x10, count = 1;
    for (unsigned i = 0; i < 4; i++) {
        uint64_t pcs[3];
        size_t pc_count = 0;
        while (pc_count < 3) {
            const struct wet_node *node = random_node(fixture->cut, &seed);
            uint64_t pc = node->statements[unit_random(&seed) % node->statement_count].pc;
            if ((pc_count < 1 || pcs[0] != pc) && (pc_count < 2 || pcs[1] != pc))
                pcs[pc_count++] = pc;
        }
        assert_instances_agree(fixture->cut, pcs, i % 2 ? 3 : 1, unit_random(&seed) >> 1);
    }
    ok(wetdbg_count_instances(fixture->cut, &none, 1, &count));
    assert_int_equal(count, 0);
    ok(wetdbg_count_instances(fixture->cut, NULL, 0, &count));
    assert_int_equal(count, 0);
}

static int give_up(void *arg, wetdbg_time time, uint64_t pc)
{
    (void)arg;
    (void)time;
    (void)pc;
    return 17;
}

static void instances_callback_ends_the_search(void **state)
{
    const struct fixture *fixture = *state;
    uint64_t seed = 5, pc = random_node(fixture->cut, &seed)->pc;
    assert_int_equal(wetdbg_each_instance(fixture->cut, &pc, 1, 0, UINT64_MAX, give_up, NULL), 17);
    assert_int_equal(wetdbg_each_instance(fixture->cut, &pc, 1, 0, 0, give_up, NULL), 0);
}

static void interval_beyond_the_last_is_not_found(void **state)
{
    const struct fixture *fixture = *state;
    const struct wet_interval *interval;
    const struct wetdbg_info *info = wetdbg_get_info(fixture->cut);
    assert_int_equal(wet_interval_get(fixture->cut, info->intervals, &interval),
                     -WETDBG_ERR_NOT_FOUND);
    assert_int_equal(wetdbg_interval_at(fixture->cut, 1), 0);
    assert_int_equal(wetdbg_interval_at(fixture->cut, info->instructions + 1), info->intervals - 1);
}

/* ---- everything about one run ---- */

static void whole_run_is_consistent(void **state)
{
    interval_shorter_ones_hold_the_same_execs_and_slots(state);
    interval_is_the_same_forwards_backwards_and_at_random(state);
    events_of_intervals_are_those_of_the_run(state);
    counts_of_nodes_make_up_the_run(state);
    instances_counted_walked_and_found_agree(state);
}

static void info_tells_how_the_run_ended(void **state)
{
    const struct fixture *fixture = *state;
    const struct wetdbg_info *info = wetdbg_get_info(fixture->whole);
    assert_true(WIFSIGNALED(info->wait_status));
    assert_int_equal(info->signal, WTERMSIG(info->wait_status));
    assert_int_equal(info->signal, WTERMSIG(fixture->run.status));
    assert_in_range(info->signal_time, info->instructions, info->instructions + 1);
}

static void query_that_is_interrupted_gives_up_and_goes_on_later(void **state)
{
    const struct fixture *fixture = *state;
    struct wetdbg *wet;
    const struct wet_interval *interval;
    ok(wetdbg_open(fixture->whole_path, &wet));
    wetdbg_interrupt(wet);
    int err = wet_interval_get(wet, 0, &interval);
    if (!err)
        wet_interval_put(wet, interval); /* so short that nobody looked at the flag */
    else
        assert_int_equal(err, -WETDBG_ERR_INTERRUPTED);
    wetdbg_interrupt_clear(wet);
    ok(wet_interval_get(wet, 0, &interval));
    wet_interval_put(wet, interval);
    wetdbg_close(wet);
}

/* ---- an interval that is broken ---- */

static void interval_that_is_broken_is_told_why(void **state)
{
    struct fixture *fixture = *state;
    const struct wet_interval *interval;
    uint64_t k = 0;
    ok(wet_interval_get(fixture->cut, k, &interval));
    while (interval->event_count < 2) { /* else there is nothing to put in another order */
        wet_interval_put(fixture->cut, interval);
        ok(wet_interval_get(fixture->cut, ++k, &interval));
    }
    struct wet_exec *execs = calloc(interval->exec_count, sizeof(*execs));
    struct wet_event *events = calloc(interval->event_count, sizeof(*events));
    memcpy(execs, interval->execs, interval->exec_count * sizeof(*execs));
    memcpy(events, interval->events, interval->event_count * sizeof(*events));
    struct wet_interval is = *interval;
    is.execs = execs;
    is.events = events;
    const struct wet_exec last = execs[is.exec_count - 1], second = execs[1];
    const struct wet_event first = events[0], next = events[1];
    size_t slots = last.slot_off + wet_get_node(fixture->cut, last.node)->slot_count;
    ok(wet_interval_validate(fixture->cut, &is, slots));
#define BREAK(change, reason)                                                                      \
    change;                                                                                        \
    assert_int_equal(wet_interval_validate(fixture->cut, &is, slots), -WETDBG_ERR_MACHINE);        \
    if (!strstr(wetdbg_error(-WETDBG_ERR_MACHINE), reason))                                        \
        fail_msg("\"%s\" does not say \"%s\"", wetdbg_error(-WETDBG_ERR_MACHINE), reason);         \
    execs[1] = second;                                                                             \
    events[0] = first;                                                                             \
    events[1] = next;                                                                              \
    is.instructions = interval->instructions
    BREAK(execs[1].node = wet_node_limit(fixture->cut), "execution 1 is of node");
    BREAK(execs[1].time_off++, "execution 1 is at");
    BREAK(execs[1].time_off = 0, "execution 1 is at 0 and not at");
    BREAK(execs[1].slot_off++, "execution 1 has slots from");
    BREAK(execs[1].task = EVQ_TASKS_MAX, "execution 1 is of task");
    BREAK(is.instructions++, "executions have");
    BREAK(events[0].time = is.first_time + is.instructions, "event 0 is at");
    BREAK(events[1].time = first.time - 1, "event 1 is at");
    BREAK(events[0].task = EVQ_TASKS_MAX, "event 0 is of task");
    BREAK(events[0].entry = NULL, "has no entry");
    BREAK(events[0].exec += 2, "is not behind execution");
    ok(wet_interval_validate(fixture->cut, &is, slots));
    free(execs);
    free(events);
    wet_interval_put(fixture->cut, interval);
}

int main(void)
{
#define CASE(name, run)                                                                            \
    {                                                                                              \
#name " (" #run ")", name, run, fixture_close, NULL                                        \
    }
    const struct CMUnitTest tests[] = {
        CASE(interval_shorter_ones_hold_the_same_execs_and_slots, run_printf),
        CASE(interval_is_the_same_forwards_backwards_and_at_random, run_printf),
        CASE(events_of_intervals_are_those_of_the_run, run_printf),
        CASE(counts_of_nodes_make_up_the_run, run_printf),
        CASE(statements_are_what_their_bytes_decode_to, run_printf),
        CASE(instances_counted_walked_and_found_agree, run_printf),
        CASE(instances_callback_ends_the_search, run_repstr),
        CASE(interval_beyond_the_last_is_not_found, run_repstr),
        CASE(interval_that_is_broken_is_told_why, run_printf),
        CASE(query_that_is_interrupted_gives_up_and_goes_on_later, run_heap),
        CASE(info_tells_how_the_run_ended, run_wildcall),
        CASE(info_tells_how_the_run_ended, run_ud2),
        CASE(whole_run_is_consistent, run_repstr),
        CASE(whole_run_is_consistent, run_signals),
        CASE(whole_run_is_consistent, run_simd),
        CASE(whole_run_is_consistent, run_heap),
        CASE(whole_run_is_consistent, run_wildcall),
        CASE(whole_run_is_consistent, run_ud2),
        CASE(whole_run_is_consistent, run_ls),
        CASE(whole_run_is_consistent, run_gzip),
        CASE(whole_run_is_consistent, run_rewritten),
        CASE(whole_run_is_consistent, run_changes_itself),
        CASE(whole_run_is_consistent, run_stores),
        CASE(whole_run_is_consistent, run_either_or),
        CASE(whole_run_is_consistent, run_beside),
        CASE(whole_run_is_consistent, run_moved),
    };
    return cmocka_run_group_tests_name("wet", tests, NULL, NULL);
}
