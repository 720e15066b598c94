/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Windows of a run answer what the whole run's file answers for the same times, and say what they
 * do not have.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "tests/wet/attempt.h"
#include "tests/wet/wet_run.h"
#include "tests/wet/wet_unit.h"
#include "wet/intervals.h"
#include <wetdbg/errors.h>

#define TIMES 4

struct fixture {
    struct run run;
    uint64_t interval;
    char *whole_path, *path;
    struct wetdbg *whole;
};

static void ok_at(int err, int line)
{
    if (err)
        fail_msg("line %d: %s", line, wetdbg_error(err));
}

#define ok(err) ok_at(err, __LINE__)

static int fixture_make(void **state)
{
    const struct sample *sample = sample_named(*state);
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    run_record(&fixture->run, sample->argv);
    fixture->interval = sample->interval;
    fixture->whole_path = unit_path(fixture->run.dir, "whole.wet");
    fixture->path = unit_path(fixture->run.dir, "window.wet");
    ok(run_build(&fixture->run, fixture->whole_path, sample->interval));
    ok(wetdbg_open(fixture->whole_path, &fixture->whole));
    *state = fixture;
    return 0;
}

static int fixture_drop(void **state)
{
    struct fixture *fixture = *state;
    wetdbg_close(fixture->whole);
    run_fini(&fixture->run);
    free(fixture->whole_path);
    free(fixture->path);
    free(fixture);
    return 0;
}

static int window_build(const struct fixture *fixture, struct wet_moment from, struct wet_moment to)
{
    const struct wet_build_options options = {
        .fingerprint = "test", .interval_instructions = fixture->interval, .from = from, .to = to};
    return run_build_with(&fixture->run, fixture->path, &options);
}

static struct wetdbg *window_open(const struct fixture *fixture, struct wet_moment from,
                                  struct wet_moment to)
{
    struct wetdbg *wet;
    ok(window_build(fixture, from, to));
    ok(wetdbg_open(fixture->path, &wet));
    unlink(fixture->path);
    return wet;
}

static struct wet_moment at_time(uint64_t time)
{
    return (struct wet_moment){WET_MOMENT_TIME, time};
}

static const struct wet_moment nowhere;

/* ---- comparisons ---- */

static void assert_same_state(struct wetdbg *a, struct wetdbg *b, wetdbg_time t)
{
    struct wetdbg_state *x, *y;
    uint8_t stack[2][512];
    ok(wetdbg_state_open(a, t, &x));
    ok(wetdbg_state_open(b, t, &y));
    const struct evq_regs *p = wet_state_regs(x), *q = wet_state_regs(y);
    assert_int_equal(wetdbg_state_task(x), wetdbg_state_task(y));
    for (unsigned i = 0; i < EVQ_REG_COUNT; i++) {
        /* flags that nothing reads any more may be others */
        if (p->r[i] != q->r[i] && i != EVQ_EFLAGS)
            fail_msg("register %u is %#llx and %#llx at time %llu of %llu to %llu", i,
                     (unsigned long long)p->r[i], (unsigned long long)q->r[i],
                     (unsigned long long)t, (unsigned long long)wetdbg_get_info(b)->first_time,
                     (unsigned long long)wetdbg_get_info(b)->last_time);
    }
    ok(wetdbg_state_read(x, p->r[EVQ_RSP], stack[0], sizeof(stack[0])));
    ok(wetdbg_state_read(y, p->r[EVQ_RSP], stack[1], sizeof(stack[1])));
    assert_memory_equal(stack[0], stack[1], sizeof(stack[0]));
    wetdbg_state_close(x);
    wetdbg_state_close(y);
}

/* Hashes of all pages that can be read, of the first MiB of each mapping. */
static uint64_t *pages_of(struct wetdbg *wet, wetdbg_time t, size_t *count)
{
    struct wetdbg_state *state;
    const struct wetdbg_mapping *list;
    size_t mappings;
    uint8_t page[4096];
    struct wd_buf hashes = {0};
    ok(wetdbg_state_open(wet, t, &state));
    ok(wetdbg_state_mappings(state, &list, &mappings));
    for (size_t i = 0; i < mappings; i++) {
        for (uint64_t at = list[i].start; at < list[i].end && at < list[i].start + (1 << 20);
             at += sizeof(page)) {
            memset(page, 0, sizeof(page));
            wetdbg_state_read(state, at, page, sizeof(page));
            ok(wd_buf_append_u64(&hashes, at));
            ok(wd_buf_append_u64(&hashes, XXH64(page, sizeof(page), 0)));
        }
    }
    wetdbg_state_close(state);
    *count = hashes.size_bytes / 16;
    return (uint64_t *)hashes.data;
}

static void assert_same_memory(struct wetdbg *a, struct wetdbg *b, wetdbg_time t)
{
    size_t count, wanted;
    uint64_t *x = pages_of(a, t, &wanted), *y = pages_of(b, t, &count);
    assert_int_equal(count, wanted);
    for (size_t i = 0; i < count; i++) {
        if (x[2 * i] != y[2 * i] || x[2 * i + 1] != y[2 * i + 1])
            fail_msg("other memory at %#llx, time %llu", (unsigned long long)x[2 * i],
                     (unsigned long long)t);
    }
    free(x);
    free(y);
}

struct statement {
    uint64_t pc;
    uint32_t task;
};

/* What ran from time `from` to `to`. */
static struct statement *statements_of(struct wetdbg *wet, wetdbg_time from, wetdbg_time to)
{
    struct statement *all = calloc(to - from + 2, sizeof(*all));
    for (uint64_t k = 0; k < wetdbg_get_info(wet)->intervals; k++) {
        const struct wet_interval *interval;
        ok(wet_interval_get(wet, k, &interval));
        for (size_t i = 0; i < interval->exec_count; i++) {
            const struct wet_exec *exec = &interval->execs[i];
            const struct wet_node *node = wet_get_node(wet, exec->node);
            for (uint32_t s = 0; s < node->statement_count; s++) {
                wetdbg_time time = interval->first_time + exec->time_off + s;
                if (time >= from && time <= to)
                    all[time - from] = (struct statement){node->statements[s].pc, exec->task};
            }
        }
        wet_interval_put(wet, interval);
    }
    return all;
}

static void assert_same_statements(struct wetdbg *whole, struct wetdbg *window)
{
    const struct wetdbg_info *info = wetdbg_get_info(window);
    struct statement *a = statements_of(whole, info->first_time, info->last_time);
    struct statement *b = statements_of(window, info->first_time, info->last_time);
    for (uint64_t i = 0; i < info->instructions; i++) {
        if (a[i].pc != b[i].pc || a[i].task != b[i].task)
            fail_msg("time %llu: %#llx in task %u, %#llx in task %u",
                     (unsigned long long)(info->first_time + i), (unsigned long long)a[i].pc,
                     a[i].task, (unsigned long long)b[i].pc, b[i].task);
    }
    free(a);
    free(b);
}

static void assert_same_outputs(struct wetdbg *whole, struct wetdbg *window)
{
    const struct wetdbg_info *info = wetdbg_get_info(window);
    size_t count, wanted, here = 0;
    const struct wetdbg_output *all = wetdbg_outputs(whole, &count),
                               *some = wetdbg_outputs(window, &wanted);
    for (size_t i = 0; i < count; i++) {
        if (all[i].time < info->first_time || all[i].time > info->last_time)
            continue;
        assert_true(here < wanted);
        assert_int_equal(some[here].time, all[i].time);
        assert_int_equal(some[here].fd, all[i].fd);
        assert_int_equal(some[here].offset, all[i].offset);
        assert_int_equal(some[here].address, all[i].address);
        assert_int_equal(some[here++].size, all[i].size);
    }
    assert_int_equal(here, wanted);
}

static void assert_same_threads(struct wetdbg *whole, struct wetdbg *window)
{
    const struct wetdbg_info *info = wetdbg_get_info(window);
    for (uint64_t i = 0; i <= TIMES; i++) {
        wetdbg_time t = info->first_time + (info->instructions - 1) * i / TIMES;
        const struct wetdbg_thread *a = wetdbg_thread_at(whole, t),
                                   *b = wetdbg_thread_at(window, t);
        assert_true(a && b);
        assert_int_equal(a->index, b->index);
        assert_int_equal(a->tid, b->tid);
        assert_int_equal(a->start, b->start);
    }
}

static void assert_is_window(struct wetdbg *whole, struct wetdbg *window)
{
    const struct wetdbg_info *info = wetdbg_get_info(window);
    assert_true(info->is_window);
    assert_int_equal(info->last_time, info->first_time - 1 + info->instructions);
    assert_same_statements(whole, window);
    assert_same_outputs(whole, window);
    assert_same_threads(whole, window);
    for (uint64_t i = 0; i <= TIMES; i++)
        assert_same_state(whole, window, info->first_time + info->instructions * i / TIMES);
}

/* ---- cases ---- */

static void window_has_what_the_run_has_there(void **state)
{
    struct fixture *fixture = *state;
    uint64_t all = wetdbg_get_info(fixture->whole)->instructions;
    const uint64_t bounds[][2] = {
        {all / 3, 2 * all / 3}, {1, all / 2}, {all / 2, 0}, {all / 7 + 3, all / 7 + 4}};
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        uint64_t from = bounds[i][0], to = bounds[i][1];
        struct wetdbg *window = window_open(fixture, at_time(from), to ? at_time(to) : nowhere);
        const struct wetdbg_info *info = wetdbg_get_info(window);
        assert_int_equal(info->first_time, from);
        assert_in_range(info->last_time, to ? to - 1 : all, to ? to - 1 + 128 : all);
        assert_int_equal(info->has_end, !to);
        assert_is_window(fixture->whole, window);
        wetdbg_close(window);
    }
}

static void window_has_the_memory_of_the_run(void **state)
{
    struct fixture *fixture = *state;
    uint64_t all = wetdbg_get_info(fixture->whole)->instructions;
    struct wetdbg *window = window_open(fixture, at_time(all / 2), at_time(2 * all / 3));
    const struct wetdbg_info *info = wetdbg_get_info(window);
    assert_same_memory(fixture->whole, window, info->first_time);
    assert_same_memory(fixture->whole, window, info->last_time + 1);
    wetdbg_close(window);
}

struct events {
    uint64_t frames[3]; /* of system calls: the first, one in the middle, the last */
    wetdbg_time times[3];
    uint64_t count;
};

static int note_call(void *arg, const struct wet_event *event)
{
    struct events *events = arg;
    if (event->entry->kind != EVQ_SYSCALL_ENTER)
        return 0;
    unsigned at = events->count == 0 ? 0 : events->count == 20 ? 1 : 2;
    events->frames[at] = event->entry->frame;
    events->times[at] = event->time;
    events->count++;
    return 0;
}

static void window_by_events_begins_and_ends_before_them(void **state)
{
    struct fixture *fixture = *state;
    struct events events = {.count = 0};
    ok(wet_each_entry(fixture->whole, note_call, &events));
    assert_true(events.count > 22);
    struct wetdbg *window =
        window_open(fixture, (struct wet_moment){WET_MOMENT_EVENT, events.frames[1]},
                    (struct wet_moment){WET_MOMENT_EVENT, events.frames[2]});
    const struct wetdbg_info *info = wetdbg_get_info(window);
    assert_true(info->first_time <= events.times[1]);
    assert_true(info->last_time >= events.times[1] && info->last_time < events.times[2]);
    assert_is_window(fixture->whole, window);
    wetdbg_close(window);
}

/* However many intervals that takes. */
static void window_ends_at_the_event_it_is_to_end_at(void **state)
{
    struct fixture *fixture = *state, coarse = *fixture;
    const struct wet_moment to = {WET_MOMENT_PERCENT, 90};
    coarse.interval = 1 << 22;
    struct wetdbg *whole = window_open(&coarse, nowhere, to);
    struct wetdbg *window = window_open(fixture, nowhere, to);
    assert_int_equal(wetdbg_get_info(whole)->intervals, 1);
    assert_true(wetdbg_get_info(window)->intervals > 3);
    assert_int_equal(wetdbg_get_info(window)->last_time, wetdbg_get_info(whole)->last_time);
    assert_int_equal(wetdbg_get_info(window)->events, wetdbg_get_info(whole)->events);
    wetdbg_close(whole);
    wetdbg_close(window);
}

static void window_by_percent_is_part_of_the_run(void **state)
{
    struct fixture *fixture = *state;
    struct wetdbg *window = window_open(fixture, (struct wet_moment){WET_MOMENT_PERCENT, 30},
                                        (struct wet_moment){WET_MOMENT_PERCENT, 100});
    assert_true(wetdbg_get_info(window)->first_time > 1);
    assert_true(wetdbg_get_info(window)->has_end);
    assert_is_window(fixture->whole, window);
    wetdbg_close(window);
}

static void window_counts_its_own_instances(void **state)
{
    struct fixture *fixture = *state;
    uint64_t all = wetdbg_get_info(fixture->whole)->instructions, counted = 0, total = 0;
    struct wetdbg *window = window_open(fixture, at_time(all / 3), at_time(2 * all / 3));
    const struct wetdbg_info *info = wetdbg_get_info(window);
    struct statement *some = statements_of(window, info->first_time, info->last_time);
    uint64_t pc = some[info->instructions / 2].pc;
    for (uint64_t i = 0; i < info->instructions; i++)
        counted += some[i].pc == pc;
    ok(wetdbg_count_instances(window, &pc, 1, &total));
    assert_int_equal(total, counted);
    free(some);
    wetdbg_close(window);
}

static void window_names_itself_where_it_ends(void **state)
{
    struct fixture *fixture = *state;
    uint64_t all = wetdbg_get_info(fixture->whole)->instructions;
    struct wetdbg *window = window_open(fixture, at_time(all / 3), at_time(all / 2));
    const struct wetdbg_info *info = wetdbg_get_info(window);
    struct wetdbg_state *none;
    char first[24];
    const wetdbg_time outside[] = {0,   1,         info->first_time - 1, info->last_time + 2,
                                   all, UINT64_MAX};
    snprintf(first, sizeof(first), "%llu", (unsigned long long)info->first_time);
    for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
        assert_int_equal(wetdbg_state_open(window, outside[i], &none), -WETDBG_ERR_NOT_FOUND);
        assert_non_null(strstr(wetdbg_error(-WETDBG_ERR_NOT_FOUND), "window"));
        assert_non_null(strstr(wetdbg_error(-WETDBG_ERR_NOT_FOUND), first));
        assert_null(wetdbg_thread_at(window, outside[i]));
    }
    wetdbg_close(window);
}

static void window_beyond_the_run_is_refused_with_its_length(void **state)
{
    struct fixture *fixture = *state;
    char length[24];
    uint64_t all = wetdbg_get_info(fixture->whole)->instructions;
    snprintf(length, sizeof(length), "%llu", (unsigned long long)all);
    assert_int_equal(window_build(fixture, at_time(all + 5), nowhere), -WETDBG_ERR_USAGE);
    assert_non_null(strstr(wetdbg_error(-WETDBG_ERR_USAGE), length));
    const struct wet_moment event = {WET_MOMENT_EVENT, 1ull << 40};
    assert_int_equal(window_build(fixture, event, nowhere), -WETDBG_ERR_USAGE);
    assert_non_null(strstr(wetdbg_error(-WETDBG_ERR_USAGE), length));
    /* kinds that only the run can compare */
    const struct wet_moment start = {WET_MOMENT_PERCENT, 1};
    assert_int_equal(window_build(fixture, at_time(all / 2), start), -WETDBG_ERR_USAGE);
    assert_int_equal(unit_count_names(fixture->run.dir, "window.wet"), 0);
}

#define CASE(name, sample)                                                                         \
    cmocka_unit_test_prestate_setup_teardown(name, fixture_make, fixture_drop, (void *)(sample))

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(window_has_what_the_run_has_there, "printf"),
        CASE(window_has_what_the_run_has_there, "heap"),
        CASE(window_has_what_the_run_has_there, "signals"),
        CASE(window_has_what_the_run_has_there, "ud2"),
        CASE(window_has_what_the_run_has_there, "tls"),
        CASE(window_has_what_the_run_has_there, "queue"),
        CASE(window_has_what_the_run_has_there, "moved"),
        CASE(window_has_the_memory_of_the_run, "heap"),
        CASE(window_by_events_begins_and_ends_before_them, "printf"),
        CASE(window_ends_at_the_event_it_is_to_end_at, "printf"),
        CASE(window_by_percent_is_part_of_the_run, "printf"),
        CASE(window_counts_its_own_instances, "heap"),
        CASE(window_names_itself_where_it_ends, "printf"),
        CASE(window_beyond_the_run_is_refused_with_its_length, "printf"),
    };
    return cmocka_run_group_tests_name("wet_windows", tests, NULL, NULL);
}
