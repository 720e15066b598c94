/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The instruction that faulted in forward slices: by brute force, and against the backward slice of
 * the crash. Arguments: programs that end by a fault.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "slicer/criteria/criterion.h"
#include "slicer/slice_session.h"
#include "tests/slicer/brute.h"
#include "tests/slicer/runs.h"
#include <wetdbg/set.h>

/* cmocka.h needs the headers above. */
#include <cmocka.h>

#define SOURCE_COUNT 24

static char **programs;

struct crash {
    struct wetdbg *wet;
    struct wetdbg_criterion *criterion;
    const struct slc_seed *seed;
    wetdbg_time time; /* one after the last instruction's */
};

static struct crash run_to_crash(char *program)
{
    const struct run_kind kind = {0};
    struct crash crash = {.wet = run_program(&kind, program, 1)};

    assert_int_equal(wetdbg_criterion_parse(crash.wet, "crash", NULL, &crash.criterion), 0);
    crash.seed = &crash.criterion->seeds[0];
    crash.time = crash.seed->time;
    assert_true(crash.seed->is_fault);
    assert_int_equal(crash.time, wetdbg_get_info(crash.wet)->instructions + 1);
    return crash;
}

static void crash_fini(struct crash *crash)
{
    wetdbg_criterion_free(crash->criterion);
    wetdbg_close(crash->wet);
}

/* Where sources stand: half of them in the crash's slice. */
static wetdbg_time choose_source(const struct crash *crash, const struct wetdbg_slice *backward,
                                 uint64_t *random, bool is_in)
{
    wetdbg_time time = 1 + next_random(random) % (crash->time - 1);

    while (is_in && !wetdbg_slice_contains_time(backward, time))
        time = time > 1 ? time - 1 : crash->time - 1;
    return time;
}

static int keep_fault(void *arg, const struct wetdbg_slice_instance *instance)
{
    *(struct wetdbg_slice_instance *)arg = *instance;
    return 1;
}

/* The fault's instance, which comes first; distance 0 if it is none. */
static struct wetdbg_slice_instance fault_of(const struct wetdbg_slice *slice, wetdbg_time time)
{
    struct wetdbg_slice_instance fault = {0};

    if (wetdbg_slice_contains_time(slice, time))
        assert_int_equal(wetdbg_slice_each_instance(slice, NULL, 0, keep_fault, &fault), 1);
    assert_true(!fault.time || fault.time == time);
    return fault;
}

static void check_path(const struct wetdbg_slice *slice, const struct wetdbg_slice_instance *fault,
                       wetdbg_time source)
{
    struct wetdbg_slice_path *path;

    assert_true(wetdbg_slice_contains_time(slice, fault->parent));
    assert_int_equal(wetdbg_slice_path_to_time(slice, fault->time, &path), 0);
    assert_int_equal(path->count, fault->distance + 1);
    assert_int_equal(path->hops[0].time, source);
    assert_int_equal(path->hops[path->count - 1].time, fault->time);
    wetdbg_slice_path_free(path);
}

/* A chop from the source to the crash ends with the fault, and begins with the source. */
static void check_chop(const struct wetdbg_slice *forward, const struct wetdbg_slice *backward,
                       wetdbg_time source, wetdbg_time crash)
{
    struct wetdbg_set *from, *to, *chop;

    assert_int_equal(wetdbg_set_of_slice(forward, &from), 0);
    assert_int_equal(wetdbg_set_of_slice(backward, &to), 0);
    assert_int_equal(wetdbg_set_chop(from, to, &chop), 0);
    bool is_reached = wetdbg_slice_contains_time(forward, crash);
    assert_int_equal(wetdbg_set_contains_time(chop, crash), is_reached);
    assert_int_equal(wetdbg_set_contains_time(chop, source), is_reached);
    if (!is_reached)
        assert_int_equal(wetdbg_set_count(chop), 0);
    wetdbg_set_free(from);
    wetdbg_set_free(to);
    wetdbg_set_free(chop);
}

/* Counts and lines are the same without parents, where other code makes the slice. */
static void check_plain(const struct crash *crash, const struct wetdbg_criterion *source,
                        const struct wetdbg_slice *known, struct wetdbg_slice_options options)
{
    struct wetdbg_slice *slice;
    size_t count, known_count;
    uint64_t instances = 0;

    options.record_parents = false;
    assert_int_equal(wetdbg_slice_forward(crash->wet, source, &options, &slice), 0);
    assert_int_equal(wetdbg_slice_contains_time(slice, crash->time),
                     wetdbg_slice_contains_time(known, crash->time));
    assert_int_equal(wetdbg_slice_get_counts(slice)->instances,
                     wetdbg_slice_get_counts(known)->instances);
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(slice, &count);
    wetdbg_slice_lines(known, &known_count);
    assert_int_equal(count, known_count);
    for (size_t i = 0; i < count; i++)
        instances += lines[i].instances;
    assert_int_equal(instances, wetdbg_slice_get_counts(slice)->instances);
    wetdbg_slice_free(slice);
}

/* Returns whether the fault is in it. */
static bool check_source(const struct crash *crash, const struct wetdbg_slice *backward,
                         wetdbg_time time, const struct wetdbg_slice_options *options)
{
    struct wetdbg_criterion *source;
    struct wetdbg_slice *forward;

    assert_int_equal(slc_criterion_of_places(crash->wet, time, NULL, 0, 0, &source), 0);
    assert_int_equal(wetdbg_slice_forward(crash->wet, source, options, &forward), 0);
    struct wetdbg_slice_instance fault = fault_of(forward, crash->time);
    assert_int_equal(fault.time != 0, wetdbg_slice_contains_time(backward, time));
    assert_int_equal(fault.time != 0, wetdbg_slice_reaches_crash(forward));
    if (fault.time)
        check_path(forward, &fault, time);
    check_chop(forward, backward, time, crash->time);
    check_plain(crash, source, forward, *options);
    wetdbg_slice_free(forward);
    wetdbg_criterion_free(source);
    return fault.time != 0;
}

static void forward_has_the_fault_if_its_backward_slice_has_the_source(void **state)
{
    unsigned in = 0;

    (void)state;
    for (char **program = programs; *program; program++) {
        struct crash crash = run_to_crash(*program);
        for (unsigned kinds = 0; kinds < 4; kinds++) {
            struct wetdbg_slice_options options = {.kinds = (enum wetdbg_slice_kinds)kinds,
                                                   .record_parents = true};
            struct wetdbg_slice *backward;
            uint64_t random = 88172645463325252u;
            /* what guards the fault is its criterion, also where control is not followed */
            if (crash.seed->force != SLC_FORCE_NOT &&
                (kinds == WETDBG_SLICE_DATA || kinds == WETDBG_SLICE_THIN))
                continue;
            assert_int_equal(wetdbg_slice_backward(crash.wet, crash.criterion, &options, &backward),
                             0);
            for (unsigned i = 0; i < SOURCE_COUNT; i++)
                in += check_source(&crash, backward,
                                   choose_source(&crash, backward, &random, i % 2), &options);
            wetdbg_slice_free(backward);
        }
        crash_fini(&crash);
    }
    assert_true(in > SOURCE_COUNT);
}

/* ---- brute force ---- */

static void check_distances(const struct crash *crash, struct brute *brute,
                            const struct brute_criterion *criteria, enum wetdbg_slice_kinds kinds)
{
    struct wetdbg_slice_options options = {.kinds = kinds, .record_parents = true};
    struct wetdbg_slice *backward, *forward;
    struct wetdbg_criterion *source;
    uint32_t *expected = brute_slice(brute, &criteria[SOURCE_COUNT], kinds);

    assert_int_equal(wetdbg_slice_backward(crash->wet, crash->criterion, &options, &backward), 0);
    for (wetdbg_time t = 1; t < crash->time; t++)
        assert_int_equal(wetdbg_slice_contains_time(backward, t), expected[t] != UINT32_MAX);
    for (unsigned i = 0; i < SOURCE_COUNT; i++) {
        uint32_t *spread = brute_forward(brute, &criteria[i], kinds);
        assert_int_equal(slc_criterion_of_places(crash->wet, criteria[i].time, NULL, 0, 0, &source),
                         0);
        assert_int_equal(wetdbg_slice_forward(crash->wet, source, &options, &forward), 0);
        struct wetdbg_slice_instance fault = fault_of(forward, crash->time);
        assert_int_equal(fault.time ? fault.distance : UINT32_MAX, spread[crash->time]);
        assert_int_equal(spread[crash->time], expected[criteria[i].time]);
        wetdbg_slice_free(forward);
        wetdbg_criterion_free(source);
        free(spread);
    }
    wetdbg_slice_free(backward);
    free(expected);
}

/* Of faults that are about an address, or about what guards them, as the brute force knows them. */
static void the_fault_is_as_far_as_by_brute_force(void **state)
{
    (void)state;
    for (char **program = programs; *program; program++) {
        struct crash crash = run_to_crash(*program);
        struct brute_criterion criteria[SOURCE_COUNT + 1];
        uint64_t random = 88172645463325252u;
        if (ins_regset_is_empty(&crash.seed->regs[WETDBG_EDGE_VALUE])) {
            for (unsigned i = 0; i < SOURCE_COUNT; i++)
                criteria[i] =
                    (struct brute_criterion){.time = 1 + next_random(&random) % (crash.time - 1)};
            criteria[SOURCE_COUNT] =
                (struct brute_criterion){.time = crash.time,
                                         .regs = crash.seed->regs[WETDBG_EDGE_ADDRESS],
                                         .fault_pc = crash.seed->pc};
            struct brute *brute = brute_new(crash.wet, criteria, SOURCE_COUNT + 1, true);
            check_distances(&crash, brute, criteria, WETDBG_SLICE_FULL);
            check_distances(&crash, brute, criteria, WETDBG_SLICE_CONTROL);
            if (crash.seed->force == SLC_FORCE_NOT)
                check_distances(&crash, brute, criteria, WETDBG_SLICE_DATA);
            brute_free(brute);
        }
        crash_fini(&crash);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_has_the_fault_if_its_backward_slice_has_the_source),
        cmocka_unit_test(the_fault_is_as_far_as_by_brute_force),
    };

    if (argc < 2) {
        fprintf(stderr, "usage: %s PROGRAM...\n", argv[0]);
        return 2;
    }
    programs = argv + 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
