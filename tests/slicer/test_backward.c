/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Slices of small programs against the brute-force slicer: equal sets of instances and equal
 * distances, for criteria all over the run, in each kind. Arguments: programs; after -t programs
 * whose threads take turns, and after -s such that get signals, as several random numbers say;
 * after -j such whose jumps leave frames.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slicer/slice_session.h"
#include "tests/slicer/brute.h"
#include "tests/slicer/runs.h"
#include <wetdbg/errors.h>

/* cmocka.h needs the headers above. */
#include <cmocka.h>

#define CRITERIA_COUNT 24

#define SEEDS 3

static char **programs;
static struct run_kind kind;
static const char *const kind_names[] = {"full", "data", "thin", "control"};

static int print_instance(void *arg, const struct wetdbg_slice_instance *instance)
{
    if (instance->time == *(const wetdbg_time *)arg)
        printf("  wanted by time %llu through %s (%s, 0x%llx), distance %u\n",
               (unsigned long long)instance->parent, wetdbg_edge_name(instance->edge),
               instance->location < INS_LOC_COUNT ? ins_location_name(instance->location)
                                                  : "memory",
               (unsigned long long)instance->address, instance->distance);
    return 0;
}

static uint64_t compare(const struct wetdbg *wet, const struct wetdbg_slice *slice,
                        const uint32_t *expected, const char *what)
{
    uint64_t steps = wetdbg_get_info(wet)->instructions, members = 0;

    for (wetdbg_time t = steps; t > 0; t--) {
        bool has = wetdbg_slice_contains_time(slice, t), wanted = expected[t] != UINT32_MAX;
        members += has;
        if (has && !wanted)
            wetdbg_slice_each_instance(slice, NULL, 0, print_instance, &t);
        if (has != wanted)
            fail_msg("%s: time %llu (pc 0x%llx) is %s the slice, and brute force says otherwise "
                     "(distance %u)",
                     what, (unsigned long long)t, (unsigned long long)fake_step(wet, t)->pc,
                     has ? "in" : "not in", expected[t]);
    }
    return members;
}

struct check {
    const uint32_t *expected;
    const struct brute *brute;
    const struct wetdbg_slice *slice;
    const char *what;
    uint64_t count;
    wetdbg_time last;
};

static int check_instance(void *arg, const struct wetdbg_slice_instance *instance)
{
    struct check *check = arg;

    if (instance->distance != check->expected[instance->time])
        print_instance((void *)(uintptr_t)&instance->time, instance);
    if (instance->distance != check->expected[instance->time])
        fail_msg("%s: time %llu (pc 0x%llx) has distance %u, and %u by brute force", check->what,
                 (unsigned long long)instance->time, (unsigned long long)instance->pc,
                 instance->distance, check->expected[instance->time]);
    if (instance->distance) {
        assert_int_equal(check->expected[instance->parent], instance->distance - 1);
        assert_true(brute_has_edge(check->brute, instance->parent, instance->time, instance->edge));
    }
    assert_true(check->last == 0 || instance->time < check->last);
    check->last = instance->time;
    check->count++;
    return 0;
}

static void check_path(const struct wetdbg_slice *slice, const struct wetdbg_slice_line *lines,
                       size_t i, const struct brute *brute)
{
    struct wetdbg_slice_path *path;

    assert_int_equal(wetdbg_slice_path_to_line(slice, i, &path), 0);
    assert_int_equal(path->count, lines[i].min_distance + 1);
    for (size_t h = 1; h < path->count; h++)
        assert_true(
            brute_has_edge(brute, path->hops[h - 1].time, path->hops[h].time, path->hops[h].edge));
    wetdbg_slice_path_free(path);
}

/* Where copies are as near as their users, paths have more hops than distance, and all of them are
 * dependences. */
static void check_near(struct wetdbg *wet, const struct wetdbg_criterion *criterion,
                       struct wetdbg_slice_options options, const struct brute *brute)
{
    struct wetdbg_slice *slice;
    struct wetdbg_slice_path *path;
    size_t count;

    options.copies_are_near = true;
    assert_int_equal(wetdbg_slice_backward(wet, criterion, &options, &slice), 0);
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(slice, &count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(wetdbg_slice_path_to_line(slice, i, &path), 0);
        assert_int_equal(path->hops[path->count - 1].distance, lines[i].min_distance);
        assert_int_equal(path->hops[0].edge, WETDBG_EDGE_NONE);
        for (size_t h = 1; h < path->count; h++)
            assert_true(brute_has_edge(brute, path->hops[h - 1].time, path->hops[h].time,
                                       path->hops[h].edge));
        wetdbg_slice_path_free(path);
    }
    wetdbg_slice_free(slice);
}

/* Without users a slice is made by other code (slicer/scan/fast.c): the same members and counts. */
static void check_plain(struct wetdbg *wet, const struct wetdbg_criterion *criterion,
                        const struct wetdbg_slice *known, struct wetdbg_slice_options options,
                        const uint32_t *expected, const char *what)
{
    struct wetdbg_slice *slice;
    size_t count, known_count;

    options.record_parents = false;
    assert_int_equal(wetdbg_slice_backward(wet, criterion, &options, &slice), 0);
    uint64_t members = compare(wet, slice, expected, what);
    assert_int_equal(wetdbg_slice_get_counts(slice)->instances, members);
    assert_int_equal(wetdbg_slice_get_counts(slice)->statements,
                     wetdbg_slice_get_counts(known)->statements);
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(slice, &count);
    const struct wetdbg_slice_line *known_lines = wetdbg_slice_lines(known, &known_count);
    assert_int_equal(count, known_count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(lines[i].pc, known_lines[i].pc);
        assert_int_equal(lines[i].instances, known_lines[i].instances);
        assert_int_equal(lines[i].statements, known_lines[i].statements);
        assert_int_equal(lines[i].first_time, known_lines[i].first_time);
        assert_int_equal(lines[i].last_time, known_lines[i].last_time);
        assert_int_equal(lines[i].min_distance, WETDBG_DISTANCE_UNKNOWN);
    }
    const struct wetdbg_slice_initial *initials = wetdbg_slice_initials(slice, &count);
    const struct wetdbg_slice_initial *known_initials = wetdbg_slice_initials(known, &known_count);
    assert_int_equal(count, known_count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(initials[i].location, known_initials[i].location);
        assert_int_equal(initials[i].address, known_initials[i].address);
        assert_int_equal(initials[i].size_bytes, known_initials[i].size_bytes);
    }
    wetdbg_slice_free(slice);
}

static uint64_t check_slice(struct wetdbg *wet, struct wetdbg_slice_session *session,
                            struct brute *brute, const struct brute_criterion *c,
                            enum wetdbg_slice_kinds kinds, bool bypass, const char *what)
{
    uint32_t *expected = brute_slice(brute, c, kinds);
    struct wetdbg_slice_options options = {
        .kinds = kinds, .record_parents = true, .no_exits = !bypass, .no_bypass = !bypass};
    struct wetdbg_criterion *criterion;
    struct wetdbg_slice *slice;
    size_t line_count;

    assert_int_equal(
        slc_criterion_of_places(wet, c->time, &c->regs, c->address, c->size, &criterion), 0);
    assert_int_equal(wetdbg_slice_backward(wet, criterion, &options, &slice), 0);
    uint64_t members = compare(wet, slice, expected, what);
    struct check check = {expected, brute, slice, what, 0, 0};
    assert_int_equal(wetdbg_slice_each_instance(slice, NULL, 0, check_instance, &check), 0);
    assert_int_equal(check.count, members);
    assert_int_equal(wetdbg_slice_get_counts(slice)->instances, members);
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(slice, &line_count);
    for (size_t i = 0; i < line_count; i += 1 + line_count / 8)
        check_path(slice, lines, i, brute);
    if (kinds == WETDBG_SLICE_FULL) {
        check_near(wet, criterion, options, brute);
        check_plain(wet, criterion, slice, options, expected, what);
        /* this one finds what earlier criteria left, the one below all */
        options.session = session;
        check_plain(wet, criterion, slice, options, expected, what);
    }
    options.session = session;
    check_plain(wet, criterion, slice, options, expected, what);
    wetdbg_slice_free(slice);
    wetdbg_criterion_free(criterion);
    free(expected);
    return members;
}

static void check_run(char *program, bool bypass, uint64_t run_seed)
{
    struct brute_criterion criteria[CRITERIA_COUNT];
    struct wetdbg *wet = run_program(&kind, program, run_seed);
    struct wetdbg_slice_session *session;
    uint64_t sums[4] = {0};

    assert_int_equal(wetdbg_slice_session_new(wet, &session), 0);
    session->stretch_bits = run_seed % 2 ? 7 : 10; /* the runs are short */
    session->join_mask = 1;
    choose_criteria(wet, criteria, CRITERIA_COUNT);
    if (kind.has_jumps)
        stand_after_landings(wet, criteria, CRITERIA_COUNT);
    struct brute *brute =
        (bypass ? brute_new : brute_new_no_exits)(wet, criteria, CRITERIA_COUNT, bypass);
    for (unsigned i = 0; i < CRITERIA_COUNT; i++)
        for (unsigned kinds = 0; kinds < 4; kinds++) {
            char what[512];
            snprintf(what, sizeof(what), "%s, seed %llu, criterion %u at time %llu, %s", program,
                     (unsigned long long)run_seed, i, (unsigned long long)criteria[i].time,
                     kind_names[kinds]);
            sums[kinds] += check_slice(wet, session, brute, &criteria[i],
                                       (enum wetdbg_slice_kinds)kinds, bypass, what);
        }
    const char *base = strrchr(program, '/');
    printf(
        "%-34s %8llu %6s %9llu %9llu %9llu %9llu\n", base ? base + 1 : program,
        (unsigned long long)wetdbg_get_info(wet)->instructions, bypass ? "yes" : "no",
        (unsigned long long)sums[0] / CRITERIA_COUNT, (unsigned long long)sums[1] / CRITERIA_COUNT,
        (unsigned long long)sums[2] / CRITERIA_COUNT, (unsigned long long)sums[3] / CRITERIA_COUNT);
    assert_true(sums[0] >= sums[1] && sums[1] >= sums[2] && sums[0] >= sums[3]);
    assert_true(session->taken > 0);
    assert_true(session->codes[SLC_CODE_ADDRESSES + (bypass ? 0 : SLC_CODE_KINDS)].joined_count);
    wetdbg_slice_session_free(session);
    brute_free(brute);
    wetdbg_close(wet);
}

static void check_program(char *program, bool bypass)
{
    const char *given = getenv("WETDBG_SEED");
    uint64_t first = given ? strtoull(given, NULL, 0) : 1;

    for (uint64_t i = 0; i < (bypass && (kind.has_turns || kind.has_signals) ? SEEDS : 1); i++)
        check_run(program, bypass, first + i);
}

static void backward_slices_equal_brute_force(void **state)
{
    (void)state;
    printf("%-34s %8s %6s %9s %9s %9s %9s  (instances, mean of %d criteria)\n", "program", "steps",
           "bypass", "full", "data", "thin", "control", CRITERIA_COUNT);
    for (char **program = programs; *program; program++)
        check_program(*program, true);
}

static void backward_slices_without_bypass_equal_brute_force(void **state)
{
    (void)state;
    for (char **program = programs; *program; program += program[1] ? 2 : 1)
        check_program(*program, false);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(backward_slices_equal_brute_force),
        cmocka_unit_test(backward_slices_without_bypass_equal_brute_force),
    };

    if (argc < 2) {
        fprintf(stderr, "usage: %s PROGRAM...\n", argv[0]);
        return 2;
    }
    programs = run_kind_read(&kind, argv + 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
