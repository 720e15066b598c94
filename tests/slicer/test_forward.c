/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Forward slices of small programs against brute force: equal sets of instances and equal
 * distances; and against backward slices: an instance is in the forward slice of another one if and
 * only if that one is in the backward slice of all that it uses. Arguments as test_backward's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slicer/forward/answers.h"
#include "slicer/forward/passage.h"
#include "slicer/slice_session.h"
#include "tests/slicer/brute.h"
#include "tests/slicer/runs.h"
#include <wetdbg/errors.h>

/* cmocka.h needs the headers above. */
#include <cmocka.h>

#define SOURCE_COUNT 12
#define PAIR_SOURCES 6
#define PAIR_USERS   16
#define SEEDS        3

static char **programs;
static struct run_kind kind;
static const char *const kind_names[] = {"full", "data", "thin", "control"};

/* ---- brute force ---- */

static int print_instance(void *arg, const struct wetdbg_slice_instance *instance)
{
    if (instance->time == *(const wetdbg_time *)arg)
        printf("  it uses what %llu defined: %s (%s, 0x%llx), distance %u\n",
               (unsigned long long)instance->parent, wetdbg_edge_name(instance->edge),
               instance->location < INS_LOC_COUNT ? ins_location_name(instance->location)
                                                  : "memory",
               (unsigned long long)instance->address, instance->distance);
    return 0;
}

static uint64_t compare(const struct wetdbg *wet, const struct wetdbg_slice *slice,
                        const uint32_t *expected, const char *what)
{
    uint64_t members = 0;

    for (wetdbg_time t = 1; t <= wetdbg_get_info(wet)->instructions; t++) {
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
    const char *what;
    wetdbg_time source;
    bool is_instance;
    uint64_t count;
    wetdbg_time last;
};

static int check_instance(void *arg, const struct wetdbg_slice_instance *instance)
{
    struct check *check = arg;

    if (instance->distance != check->expected[instance->time])
        fail_msg("%s: time %llu (pc 0x%llx) has distance %u from %llu by a %s edge, and %u by "
                 "brute force",
                 check->what, (unsigned long long)instance->time, (unsigned long long)instance->pc,
                 instance->distance, (unsigned long long)instance->parent,
                 wetdbg_edge_name(instance->edge), check->expected[instance->time]);
    if (instance->distance > 1 || (instance->distance && check->is_instance)) {
        assert_int_equal(check->expected[instance->parent], instance->distance - 1);
        assert_true(brute_has_edge(check->brute, instance->time, instance->parent, instance->edge));
    } else if (instance->distance) {
        assert_int_equal(instance->parent, check->source);
    }
    assert_true(check->last == 0 || instance->time < check->last);
    check->last = instance->time;
    check->count++;
    return 0;
}

/* A call that waited for what it delivers was made before that was sent. */
static void check_path(const struct wetdbg *wet, const struct wetdbg_slice *slice, size_t line,
                       const struct wetdbg_slice_line *lines, wetdbg_time source)
{
    struct wetdbg_slice_path *path;

    assert_int_equal(wetdbg_slice_path_to_line(slice, line, &path), 0);
    assert_int_equal(path->count, lines[line].min_distance + 1);
    assert_int_equal(path->hops[0].time, source);
    for (size_t h = 1; h < path->count; h++)
        assert_true(path->hops[h].time > path->hops[h - 1].time || h == 1 ||
                    fake_step(wet, path->hops[h].time)->info->klass == INS_SYSCALL);
    wetdbg_slice_path_free(path);
}

/* Without parents a slice is made by other code (slicer/forward/forward_fast.c). */
static void check_plain(struct wetdbg *wet, const struct wetdbg_criterion *source,
                        struct wetdbg_slice_options options, const uint32_t *expected,
                        const struct wetdbg_slice *known, const char *what)
{
    struct wetdbg_slice *slice;
    size_t count, known_count;

    options.record_parents = false;
    assert_int_equal(wetdbg_slice_forward(wet, source, &options, &slice), 0);
    uint64_t members = compare(wet, slice, expected, what);
    assert_int_equal(wetdbg_slice_get_counts(slice)->instances, members);
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(slice, &count);
    const struct wetdbg_slice_line *known_lines = wetdbg_slice_lines(known, &known_count);
    assert_int_equal(count, known_count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(lines[i].pc, known_lines[i].pc);
        assert_int_equal(lines[i].instances, known_lines[i].instances);
        assert_int_equal(lines[i].first_time, known_lines[i].first_time);
        assert_int_equal(lines[i].last_time, known_lines[i].last_time);
    }
    const struct wetdbg_slice_reached *reached = wetdbg_slice_get_reached(slice, &count);
    const struct wetdbg_slice_reached *known_reached =
        wetdbg_slice_get_reached(known, &known_count);
    assert_int_equal(count, known_count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(reached[i].offset, known_reached[i].offset);
        assert_int_equal(reached[i].size, known_reached[i].size);
    }
    wetdbg_slice_free(slice);
}

static uint64_t check_slice(struct wetdbg *wet, struct wetdbg_slice_session *session,
                            struct brute *brute, const struct brute_criterion *c,
                            enum wetdbg_slice_kinds kinds, bool bypass, const char *what)
{
    uint32_t *expected = brute_forward(brute, c, kinds);
    struct wetdbg_slice_options options = {
        .kinds = kinds, .record_parents = true, .no_bypass = !bypass};
    struct wetdbg_criterion *source;
    struct wetdbg_slice *slice;
    size_t line_count;

    assert_int_equal(slc_criterion_of_places(wet, c->time, &c->regs, c->address, c->size, &source),
                     0);
    assert_int_equal(wetdbg_slice_forward(wet, source, &options, &slice), 0);
    uint64_t members = compare(wet, slice, expected, what);
    struct check check = {.expected = expected,
                          .brute = brute,
                          .what = what,
                          .source = c->time,
                          .is_instance = !c->size && ins_regset_is_empty(&c->regs)};
    assert_int_equal(wetdbg_slice_each_instance(slice, NULL, 0, check_instance, &check), 0);
    assert_int_equal(check.count, members);
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(slice, &line_count);
    for (size_t i = 0; i < line_count; i += 1 + line_count / 8)
        check_path(wet, slice, i, lines, c->time);
    check_plain(wet, source, options, expected, slice, what);
    options.session = session;
    for (unsigned i = 0; i < (kinds == WETDBG_SLICE_FULL ? 3 : 1); i++) {
        check_plain(wet, source, options, expected, slice, what);
        check_plain(wet, source, options, expected, slice, what); /* the same slice once more */
        slc_answers_free(session);                                /* or made anew */
    }
    assert_int_equal(slc_passages_validate(session->passages), 0);
    wetdbg_slice_free(slice);
    wetdbg_criterion_free(source);
    free(expected);
    return members;
}

/* A register that is restored, by a pop or after a handler, holds by brute force what it held
 * before; a source is what it holds at one time. */
static void take_other_registers(struct brute_criterion *sources)
{
    static const unsigned kept[] = {3, 5, 12, 13, 14, 15};

    for (unsigned i = 0; i < SOURCE_COUNT; i++)
        if (kind.has_signals)
            sources[i].regs = (struct ins_regset){{0}};
    for (unsigned i = 0; i < SOURCE_COUNT; i++)
        for (unsigned k = 0; k < 6; k++)
            for (unsigned p = 0; p < 3; p++)
                if (ins_regset_has(&sources[i].regs, 3 * kept[k] + p)) {
                    sources[i].regs = (struct ins_regset){{0}};
                    ins_regset_add_gpr(&sources[i].regs, k % 3, 0, 8);
                }
}

static void check_run(char *program, bool bypass, uint64_t run_seed)
{
    struct brute_criterion sources[SOURCE_COUNT];
    struct wetdbg *wet = run_program(&kind, program, run_seed);
    struct wetdbg_slice_session *session;
    uint64_t sums[4] = {0};
    bool is_async = kind.has_turns || kind.has_signals;

    assert_int_equal(wetdbg_slice_session_new(wet, &session), 0);
    session->stretch_bits = run_seed % 2 ? 5 : 9; /* the runs are short */
    choose_criteria(wet, sources, SOURCE_COUNT);
    if (bypass || is_async)
        take_other_registers(sources);
    struct brute *brute = brute_new(wet, sources, SOURCE_COUNT, bypass);
    for (unsigned i = 0; i < (is_async ? SOURCE_COUNT / 3 : SOURCE_COUNT); i++)
        for (unsigned kinds = 0; kinds < 4; kinds++) {
            char what[512];
            snprintf(what, sizeof(what), "%s, seed %llu, source %u at time %llu, %s", program,
                     (unsigned long long)run_seed, i, (unsigned long long)sources[i].time,
                     kind_names[kinds]);
            sums[kinds] += check_slice(wet, session, brute, &sources[i],
                                       (enum wetdbg_slice_kinds)kinds, bypass, what);
        }
    const char *base = strrchr(program, '/');
    printf("%-34s %8llu %6s %9llu %9llu %9llu %9llu\n", base ? base + 1 : program,
           (unsigned long long)wetdbg_get_info(wet)->instructions, bypass ? "yes" : "no",
           (unsigned long long)sums[0] / SOURCE_COUNT, (unsigned long long)sums[1] / SOURCE_COUNT,
           (unsigned long long)sums[2] / SOURCE_COUNT, (unsigned long long)sums[3] / SOURCE_COUNT);
    assert_true(sums[0] >= sums[1] && sums[1] >= sums[2] && sums[0] >= sums[3]);
    assert_true(session->passages->taken > 0);
    wetdbg_slice_session_free(session);
    brute_free(brute);
    wetdbg_close(wet);
}

static void forward_slices_equal_brute_force(void **state)
{
    (void)state;
    printf("%-34s %8s %6s %9s %9s %9s %9s  (instances, mean of %d sources)\n", "program", "steps",
           "bypass", "full", "data", "thin", "control", SOURCE_COUNT);
    for (char **program = programs; *program; program++)
        for (uint64_t i = 0; i < (kind.has_turns || kind.has_signals ? SEEDS : 1); i++)
            check_run(*program, i % 2 == 0, 1 + i);
}

static void forward_slices_without_bypass_equal_brute_force(void **state)
{
    (void)state;
    for (char **program = programs; *program && program < programs + 3; program++)
        check_run(*program, false, 1);
}

/* ---- backward slices ---- */

static struct wetdbg_slice *slice_of_instance(struct wetdbg *wet, wetdbg_time time, bool is_forward,
                                              const struct wetdbg_slice_options *options,
                                              struct wetdbg_criterion **criterion)
{
    struct wetdbg_slice *slice;

    assert_int_equal(slc_criterion_of_places(wet, time, NULL, 0, 0, criterion), 0);
    assert_int_equal((is_forward ? wetdbg_slice_forward : wetdbg_slice_backward)(wet, *criterion,
                                                                                 options, &slice),
                     0);
    return slice;
}

static unsigned check_pairs(struct wetdbg *wet, enum wetdbg_slice_kinds kinds, const char *what)
{
    struct wetdbg_slice_options options = {.kinds = kinds};
    struct wetdbg_slice *forward[PAIR_SOURCES];
    struct wetdbg_criterion *sources[PAIR_SOURCES], *criterion;
    wetdbg_time times[PAIR_SOURCES];
    uint64_t seed = 88172645463325252u, steps = wetdbg_get_info(wet)->instructions;
    unsigned in = 0;

    assert_int_equal(wetdbg_slice_session_new(wet, &options.session), 0);
    for (unsigned a = 0; a < PAIR_SOURCES; a++) {
        times[a] = 1 + next_random(&seed) % steps;
        forward[a] = slice_of_instance(wet, times[a], true, &options, &sources[a]);
    }
    for (unsigned u = 0; u < PAIR_USERS; u++) {
        wetdbg_time time = 1 + next_random(&seed) % steps;
        while (u % 2 && time < steps &&
               !wetdbg_slice_contains_time(forward[u / 2 % PAIR_SOURCES], time))
            time++;
        struct wetdbg_slice *backward = slice_of_instance(wet, time, false, &options, &criterion);
        for (unsigned a = 0; a < PAIR_SOURCES; a++) {
            bool has = wetdbg_slice_contains_time(forward[a], time);
            in += has;
            if (has != wetdbg_slice_contains_time(backward, times[a]))
                fail_msg(
                    "%s: the forward slice of %llu has %llu%s, the backward slice of the latter "
                    "says otherwise",
                    what, (unsigned long long)times[a], (unsigned long long)time,
                    has ? "" : " not");
        }
        wetdbg_slice_free(backward);
        wetdbg_criterion_free(criterion);
    }
    for (unsigned a = 0; a < PAIR_SOURCES; a++) {
        wetdbg_slice_free(forward[a]);
        wetdbg_criterion_free(sources[a]);
    }
    wetdbg_slice_session_free(options.session);
    return in;
}

static void forward_has_it_if_backward_does(void **state)
{
    unsigned in = 0;

    (void)state;
    for (char **program = programs; *program; program++) {
        struct wetdbg *wet = run_program(&kind, *program, 2);
        for (unsigned kinds = 0; kinds < 4; kinds++)
            in += check_pairs(wet, (enum wetdbg_slice_kinds)kinds, *program);
        wetdbg_close(wet);
    }
    assert_true(in > 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_slices_equal_brute_force),
        cmocka_unit_test(forward_slices_without_bypass_equal_brute_force),
        cmocka_unit_test(forward_has_it_if_backward_does),
    };

    if (argc < 2) {
        fprintf(stderr, "usage: %s PROGRAM...\n", argv[0]);
        return 2;
    }
    programs = run_kind_read(&kind, argv + 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
