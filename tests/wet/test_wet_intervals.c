/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Intervals are the same however they were come by: kept or run again, run ahead by the wet's own
 * thread, under any budget, with other queries in between.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/wet/wet_fixture.h"
#include "tests/wet/wet_unit.h"
#include "wet/intervals.h"
#include <wetdbg/errors.h>

RUN(run_heap, PROGRAMS "/prog_heap_O2_pie")
RUN(run_threads, PROGRAMS "/thread_queue_O2_pie")
static void assert_same_events(const struct wet_interval *a, const struct wet_interval *b)
{
    assert_int_equal(a->event_count, b->event_count);
    for (size_t i = 0; i < a->event_count; i++) {
        const struct wet_event *x = &a->events[i], *y = &b->events[i];
        assert_int_equal(x->time, y->time);
        assert_int_equal(x->exec, y->exec);
        assert_int_equal(x->task, y->task);
        assert_int_equal(x->entry->bytes, y->entry->bytes);
        assert_memory_equal(x->entry, y->entry, x->entry->bytes);
    }
}

static void assert_same(struct wetdbg *wet, const struct wet_interval *a,
                        const struct wet_interval *b)
{
    assert_int_equal(a->index, b->index);
    assert_int_equal(a->first_time, b->first_time);
    assert_int_equal(a->instructions, b->instructions);
    assert_int_equal(a->exec_count, b->exec_count);
    assert_memory_equal(a->execs, b->execs, a->exec_count * sizeof(*a->execs));
    if (a->exec_count) {
        const struct wet_exec *last = &a->execs[a->exec_count - 1];
        size_t slots = last->slot_off + wet_get_node(wet, last->node)->slot_count;
        assert_memory_equal(a->slots, b->slots, slots * sizeof(*a->slots));
    }
    assert_same_events(a, b);
}

/* Interval k of another wet on the same file, against that of the fixture. */
static void assert_as_in(struct wetdbg *known, struct wetdbg *wet, uint64_t k)
{
    const struct wet_interval *a, *b;
    ok(wet_interval_get(known, k, &a));
    ok(wet_interval_get(wet, k, &b));
    assert_same(known, a, b);
    wet_interval_put(known, a);
    wet_interval_put(wet, b);
}

static struct wetdbg *open_again(const struct fixture *fixture)
{
    struct wetdbg *wet;
    ok(wetdbg_open(fixture->short_path, &wet));
    return wet;
}

static void interval_is_the_same_under_a_tiny_budget(void **state)
{
    const struct fixture *fixture = *state;
    struct wetdbg *wet = open_again(fixture);
    uint64_t count = wetdbg_get_info(wet)->intervals, seed = unit_seed("order of intervals");
    wetdbg_set_memory(wet, 1);
    /* more often than it takes to stay */
    for (unsigned round = 0; round < 4; round++) {
        for (uint64_t k = 0; k < count && k < 12; k++)
            assert_as_in(fixture->cut, wet, k);
    }
    for (unsigned i = 0; i < 40; i++) {
        wetdbg_set_memory(wet, unit_random(&seed) % (4 << 20));
        assert_as_in(fixture->cut, wet, unit_random(&seed) % count);
    }
    wetdbg_close(wet);
}

static void interval_that_is_held_stays_whatever_the_budget(void **state)
{
    const struct fixture *fixture = *state;
    struct wetdbg *wet = open_again(fixture);
    const struct wet_interval *held[6], *again;
    uint64_t count = wetdbg_get_info(wet)->intervals;
    assert_true(count > 10);
    wetdbg_set_memory(wet, 0);
    for (uint64_t k = 0; k < 6; k++)
        ok(wet_interval_get(wet, k, &held[k]));
    for (uint64_t k = 6; k < count; k++)
        assert_as_in(fixture->cut, wet, k);
    for (uint64_t k = 0; k < 6; k++) {
        ok(wet_interval_get(wet, k, &again));
        assert_ptr_equal(again, held[k]);
        wet_interval_put(wet, again);
        ok(wet_interval_get(fixture->cut, k, &again));
        assert_same(wet, held[k], again);
        wet_interval_put(fixture->cut, again);
        wet_interval_put(wet, held[k]);
    }
    wetdbg_close(wet);
}

static void tables_are_the_same_under_a_tiny_budget(void **state)
{
    const struct fixture *fixture = *state;
    struct wetdbg *wet = open_again(fixture);
    uint64_t count = wetdbg_get_info(wet)->intervals, seed = unit_seed("places");
    wetdbg_set_memory(wet, 1);
    for (unsigned i = 0; i < 2000; i++) {
        uint64_t k = unit_random(&seed) % count;
        uint32_t node = (uint32_t)(unit_random(&seed) % wet_node_limit(wet));
        assert_int_equal(wet_node_executions_in(wet, node, k),
                         wet_node_executions_in(fixture->cut, node, k));
    }
    const struct wet_interval *interval;
    ok(wet_interval_get(fixture->cut, count / 2, &interval));
    size_t slots = interval->exec_count ? interval->execs[interval->exec_count - 1].slot_off : 0;
    for (unsigned i = 0; slots && i < 500; i++) {
        uint64_t address = interval->slots[unit_random(&seed) % slots];
        uint64_t k = unit_random(&seed) % count;
        assert_int_equal(wetdbg_interval_may_write(wet, k, address, 8),
                         wetdbg_interval_may_write(fixture->cut, k, address, 8));
    }
    wet_interval_put(fixture->cut, interval);
    wetdbg_close(wet);
}

static void interval_that_was_prefetched_is_the_same(void **state)
{
    const struct fixture *fixture = *state;
    struct wetdbg *wet = open_again(fixture);
    uint64_t count = wetdbg_get_info(wet)->intervals, seed = unit_seed("prefetches");
    for (uint64_t k = count; k-- > 0;) { /* a walk, asked for and recognised */
        if (k && k % 3)
            wet_prefetch(wet, k - 1);
        assert_as_in(fixture->cut, wet, k);
    }
    for (unsigned i = 0; i < 60; i++) {
        uint64_t asked = unit_random(&seed) % count;
        wetdbg_set_memory(wet, unit_random(&seed) % (8 << 20));
        wet_prefetch(wet, asked);
        assert_as_in(fixture->cut, wet, i % 2 ? asked : unit_random(&seed) % count);
    }
    wet_prefetch(wet, count);
    wet_prefetch(wet, UINT64_MAX);
    assert_as_in(fixture->cut, wet, count - 1);
    wet_prefetch(wet, 0);
    wetdbg_close(wet); /* whatever it is doing */
}

static void state_is_the_same_while_an_interval_is_prefetched(void **state)
{
    const struct fixture *fixture = *state;
    struct wetdbg *wet = open_again(fixture);
    const struct wetdbg_info *info = wetdbg_get_info(wet);
    uint64_t seed = unit_seed("times");
    struct wetdbg_state *here, *there;
    for (unsigned i = 0; i < 12; i++) {
        wetdbg_time t = 1 + unit_random(&seed) % info->instructions;
        ok(wetdbg_state_open(fixture->cut, t, &there));
        wet_prefetch(wet, unit_random(&seed) % info->intervals);
        ok(wetdbg_state_open(wet, t, &here));
        wet_prefetch(wet, unit_random(&seed) % info->intervals);
        assert_memory_equal(wet_state_regs(here), wet_state_regs(there), sizeof(struct evq_regs));
        uint64_t a, b, stack = wet_state_regs(there)->r[EVQ_RSP];
        ok(wetdbg_state_read(there, stack, &a, sizeof(a)));
        ok(wetdbg_state_read(here, stack, &b, sizeof(b)));
        assert_int_equal(a, b);
        wetdbg_state_close(here);
        wetdbg_state_close(there);
    }
    wetdbg_close(wet);
}

static void interrupt_of_a_prefetch_leaves_the_wet_usable(void **state)
{
    const struct fixture *fixture = *state;
    const struct wet_interval *interval;
    for (unsigned i = 0; i < 6; i++) {
        struct wetdbg *wet = open_again(fixture);
        wet_prefetch(wet, i);
        wetdbg_interrupt(wet);
        int err = wet_interval_get(wet, i, &interval);
        if (!err)
            wet_interval_put(wet, interval); /* it was made before */
        else
            assert_int_equal(err, -WETDBG_ERR_INTERRUPTED);
        /* no interval is begun any more */
        assert_int_equal(wet_interval_get(wet, i + 2, &interval), -WETDBG_ERR_INTERRUPTED);
        wetdbg_interrupt_clear(wet);
        assert_as_in(fixture->cut, wet, i);
        wetdbg_close(wet);
    }
}

/* A copy of the file without the state at the start of interval k. */
static char *file_without_state(const struct fixture *fixture, uint64_t k)
{
    struct unit_sections sections = {0};
    char *path;
    assert_true(asprintf(&path, "%s.spoiled", fixture->short_path) > 0);
    unit_sections_load(&sections, fixture->short_path);
    const struct unit_section *state = unit_section_find(&sections, WET_SEC_STATE, k);
    assert_non_null(state);
    unit_sections_store(&sections, path, (size_t)(state - sections.list));
    unit_sections_fini(&sections);
    return path;
}

static void error_of_a_prefetched_interval_is_told_when_it_is_wanted(void **state)
{
    const struct fixture *fixture = *state;
    const struct wet_interval *interval;
    struct wetdbg *wet;
    char *path = file_without_state(fixture, 4);
    ok(wetdbg_open(path, &wet));
    for (unsigned i = 0; i < 3; i++) {
        wet_prefetch(wet, 4);
        assert_as_in(fixture->cut, wet, 5 + i); /* no matter of this one's */
        wet_prefetch(wet, 4);
        int err = wet_interval_get(wet, 4, &interval);
        assert_int_equal(err, -WETDBG_ERR_CORRUPT);
        assert_non_null(strstr(wetdbg_error(err), "interval 4 is missing"));
        assert_as_in(fixture->cut, wet, 3 - i);
    }
    wetdbg_close(wet);
    remove(path);
    free(path);
}

/* ---- where indirect jumps went ---- */

static void mark_jump(const struct wetdbg_jump *jumps, bool *seen, size_t count, uint64_t jump,
                      uint64_t target)
{
    size_t i = 0;
    while (i < count && (jumps[i].jump != jump || jumps[i].target != target))
        i++;
    assert_true(i < count);
    seen[i] = true;
}

/* Neither program has signal handlers, which might come between. */
static void jumps_are_those_of_the_intervals(void **state)
{
    const struct fixture *fixture = *state;
    uint64_t last[EVQ_TASKS_MAX] = {0}; /* jump that each task executed last, or 0 */
    size_t count;
    const struct wetdbg_jump *jumps = wetdbg_jumps(fixture->cut, &count);
    bool *seen = calloc(count + 1, sizeof(*seen));
    assert_true(count > 0);
    for (uint64_t k = 0; k < wetdbg_get_info(fixture->cut)->intervals; k++) {
        const struct wet_interval *interval;
        ok(wet_interval_get(fixture->cut, k, &interval));
        for (size_t i = 0; i < interval->exec_count; i++) {
            const struct wet_exec *exec = &interval->execs[i];
            const struct wet_node *node = wet_get_node(fixture->cut, exec->node);
            const struct wet_statement *end = &node->statements[node->statement_count - 1];
            if (last[exec->task])
                mark_jump(jumps, seen, count, last[exec->task], node->pc);
            last[exec->task] = end->info->klass == INS_JMP_INDIRECT ? end->pc : 0;
        }
        wet_interval_put(fixture->cut, interval);
    }
    for (size_t i = 0; i < count; i++)
        assert_true(seen[i]);
    free(seen);
}

/* ---- opening ---- */

static bool is_read_at_open(uint32_t kind)
{
    return kind == WET_SEC_JUMPS ||
           (kind < WET_SEC_MEMORY && kind != WET_SEC_DEBUG && kind != WET_SEC_ALT);
}

/* Spoils what a section holds, in the file; its checksum is then wrong. */
static void section_spoil(FILE *file, const struct wet_section *section)
{
    uint8_t *bytes = calloc(1, section->stored_bytes + 1);
    assert_int_equal(fseek(file, (long)section->off, SEEK_SET), 0);
    assert_int_equal(fwrite(bytes, 1, section->stored_bytes, file), section->stored_bytes);
    free(bytes);
}

/* How long opening takes depends neither on the number of intervals nor on the size of debug
 * files. */
static void opening_reads_no_interval_and_no_debug_file(void **state)
{
    const struct fixture *fixture = *state;
    struct unit_sections sections = {0};
    struct wet_section section;
    struct wetdbg *wet;
    uint64_t table_off, table_bytes;
    size_t spoiled = 0;
    char *path;
    assert_true(asprintf(&path, "%s.hollow", fixture->short_path) > 0);
    unit_sections_load(&sections, fixture->short_path);
    unit_sections_store(&sections, path, SIZE_MAX);
    FILE *file = fopen(path, "r+e");
    assert_non_null(file);
    assert_int_equal(fseek(file, 16, SEEK_SET), 0); /* where the header says where the table is */
    assert_int_equal(fread(&table_off, sizeof(table_off), 1, file), 1);
    assert_int_equal(fread(&table_bytes, sizeof(table_bytes), 1, file), 1);
    for (uint64_t at = 0; at < table_bytes; at += sizeof(section)) {
        assert_int_equal(fseek(file, (long)(table_off + at), SEEK_SET), 0);
        assert_int_equal(fread(&section, sizeof(section), 1, file), 1);
        if (!is_read_at_open(section.kind)) {
            section_spoil(file, &section);
            spoiled++;
        }
    }
    assert_int_equal(fclose(file), 0);
    assert_true(spoiled >= 4 * wetdbg_get_info(fixture->cut)->intervals);
    ok(wetdbg_open(path, &wet));
    const struct wet_interval *interval;
    assert_int_equal(wet_interval_get(wet, 1, &interval), -WETDBG_ERR_CORRUPT);
    wetdbg_close(wet);
    unit_sections_fini(&sections);
    remove(path);
    free(path);
}

int main(void)
{
#define CASE(name, run)                                                                            \
    {                                                                                              \
#name " (" #run ")", name, run, fixture_close, NULL                                        \
    }
    const struct CMUnitTest tests[] = {
        CASE(interval_is_the_same_under_a_tiny_budget, run_heap),
        CASE(interval_is_the_same_under_a_tiny_budget, run_threads),
        CASE(interval_that_is_held_stays_whatever_the_budget, run_heap),
        CASE(tables_are_the_same_under_a_tiny_budget, run_heap),
        CASE(interval_that_was_prefetched_is_the_same, run_heap),
        CASE(interval_that_was_prefetched_is_the_same, run_threads),
        CASE(state_is_the_same_while_an_interval_is_prefetched, run_heap),
        CASE(interrupt_of_a_prefetch_leaves_the_wet_usable, run_heap),
        CASE(error_of_a_prefetched_interval_is_told_when_it_is_wanted, run_heap),
        CASE(jumps_are_those_of_the_intervals, run_heap),
        CASE(jumps_are_those_of_the_intervals, run_threads),
        CASE(opening_reads_no_interval_and_no_debug_file, run_heap),
    };
    return cmocka_run_group_tests_name("wet_intervals", tests, NULL, NULL);
}
