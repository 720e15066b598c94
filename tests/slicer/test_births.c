/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Output is sliced from where the program put it into its buffer, whoever stored it there on its
 * behalf; from the write only if that is asked for. Arguments: guests/births.c and its builds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slicer/criteria/criterion.h"
#include "tests/slicer/builds.h"
#include <wetdbg/caller.h>
#include <wetdbg/errors.h>

/* cmocka.h needs the headers above. */
#include <cmocka.h>

static const struct {
    const char *name, *send;
} cases[] = {
    {"putc", "stdio"}, {"printf", "stdio"}, {"fwrite", "stdio"}, {"fputs", "stdio"},
    {"memcpy", "own"}, {"store", "own"},    {"read", "own"},
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

static struct wetdbg_criterion *parse(struct wetdbg *wet, size_t offset, bool from_write)
{
    struct wetdbg_standpoint from = {.from_write = from_write};
    struct wetdbg_criterion *criterion;
    char text[64];

    snprintf(text, sizeof(text), "output:%zu", offset);
    int err = wetdbg_criterion_parse(wet, text, &from, &criterion);
    if (err)
        fail_msg("%s: %s", text, wetdbg_error(err));
    return criterion;
}

static struct wetdbg_slice *slice_of(struct wetdbg *wet, const struct wetdbg_criterion *criterion,
                                     enum wetdbg_slice_kinds kinds, bool has_parents)
{
    struct wetdbg_slice_options options = {.kinds = kinds, .record_parents = has_parents};
    struct wetdbg_slice *slice;

    assert_int_equal(wetdbg_slice_backward(wet, criterion, &options, &slice), 0);
    return slice;
}

/* The data slice of a birth is that of the byte just after it was stored. */
static void check_data(struct wetdbg *wet, const struct wetdbg_criterion *birth, bool has_parents)
{
    const struct slc_seed *seed = &birth->seeds[0];
    wetdbg_time after = seed->time + seed->places[0].is_after;
    const struct ins_regset none = {0};
    struct wetdbg_criterion *place;

    assert_int_equal(birth->seed_count, 1);
    assert_int_equal(slc_criterion_of_places(wet, after, &none, seed->places[0].address,
                                             seed->places[0].size_bytes, &place),
                     0);
    struct wetdbg_slice *slice = slice_of(wet, birth, WETDBG_SLICE_DATA, has_parents);
    struct wetdbg_slice *expected = slice_of(wet, place, WETDBG_SLICE_DATA, has_parents);
    for (wetdbg_time t = 1; t <= wetdbg_get_info(wet)->instructions; t++)
        if (t != after &&
            wetdbg_slice_contains_time(slice, t) != wetdbg_slice_contains_time(expected, t))
            fail_msg("%s: time %llu is in one data slice only", birth->text, (unsigned long long)t);
    wetdbg_slice_free(slice);
    wetdbg_slice_free(expected);
    wetdbg_criterion_free(place);
}

static void check_full(struct wetdbg *wet, const struct wetdbg_criterion *criterion,
                       const char *build, size_t i, bool is_sent)
{
    unsigned put = builds_line("PUT", cases[i].name), sent = builds_line("SEND", cases[i].send);
    struct wetdbg_slice *slice = slice_of(wet, criterion, WETDBG_SLICE_FULL, false);

    if (!builds_slice_has(slice, put))
        fail_msg("%s: line %u (%s) is not in the slice of its byte", build, put, cases[i].name);
    if (i == 0 && builds_slice_has(slice, sent) != is_sent)
        fail_msg("%s: line %u, which sent the byte, is%s in the slice", build, sent,
                 is_sent ? " not" : "");
    wetdbg_slice_free(slice);
}

/* The byte that was put there is the one that is written. */
static void check_forward(struct wetdbg *wet, const struct wetdbg_criterion *birth, size_t offset)
{
    struct wetdbg_slice_options options = {.kinds = WETDBG_SLICE_DATA};
    struct wetdbg_slice *slice;
    size_t count;
    bool is_reached = false;

    assert_int_equal(wetdbg_slice_forward(wet, birth, &options, &slice), 0);
    const struct wetdbg_slice_reached *reached = wetdbg_slice_get_reached(slice, &count);
    for (size_t r = 0; r < count; r++)
        is_reached |= reached[r].fd == 1 && offset - reached[r].offset < reached[r].size;
    assert_true(is_reached);
    wetdbg_slice_free(slice);
}

static void check_case(struct wetdbg *wet, const char *build, size_t i)
{
    struct wetdbg_criterion *birth = parse(wet, i, false), *written = parse(wet, i, true);
    const struct wetdbg_criterion_info *info = wetdbg_criterion_get_info(birth);
    unsigned put = builds_line("PUT", cases[i].name);

    if (info->born.line != put)
        fail_msg("%s: %s put its byte in line %u, not in %u", build, cases[i].name, put,
                 info->born.line);
    assert_true(wetdbg_is_own(wet, info->born.pc));
    assert_true(info->born.time <= info->time && info->time < info->written);
    assert_int_equal(info->written, wetdbg_criterion_get_info(written)->time);
    assert_int_equal(wetdbg_criterion_get_info(written)->born.time, 0);
    check_full(wet, birth, build, i, false);
    check_full(wet, written, build, i, true);
    check_data(wet, birth, false);
    check_data(wet, birth, true);
    check_forward(wet, birth, i);
    wetdbg_criterion_free(birth);
    wetdbg_criterion_free(written);
}

static void check_build(struct wetdbg *wet, const char *build)
{
    for (size_t i = 0; i < CASES; i++)
        check_case(wet, build, i);
    /* what nothing stored is sliced from the write */
    struct wetdbg_criterion *criterion = parse(wet, CASES, false);
    assert_int_equal(wetdbg_criterion_get_info(criterion)->born.time, 0);
    assert_int_equal(wetdbg_criterion_get_info(criterion)->written, 0);
    wetdbg_criterion_free(criterion);
}

static void output_is_sliced_from_its_buffer(void **state)
{
    (void)state;
    builds_each(check_build);
}

/* Bytes that different code put there are one criterion. */
static void check_all(struct wetdbg *wet, const char *build)
{
    struct wetdbg_standpoint from = {.from_write = false};
    struct wetdbg_criterion *criterion;

    (void)build;
    assert_int_equal(wetdbg_criterion_parse(wet, "output:0+8", &from, &criterion), 0);
    assert_int_equal(criterion->seed_count, CASES + 1);
    for (size_t i = 1; i < criterion->seed_count; i++)
        assert_true(criterion->seeds[i].time < criterion->seeds[i - 1].time);
    struct wetdbg_slice *slice = slice_of(wet, criterion, WETDBG_SLICE_FULL, true);
    for (size_t i = 0; i < CASES; i++)
        assert_true(builds_slice_has(slice, builds_line("PUT", cases[i].name)));
    wetdbg_slice_free(slice);
    wetdbg_criterion_free(criterion);
}

static void bytes_of_several_buffers_are_one_criterion(void **state)
{
    (void)state;
    builds_each(check_all);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_is_sliced_from_its_buffer),
        cmocka_unit_test(bytes_of_several_buffers_are_one_criterion),
    };

    return builds_take(argc, argv) ? cmocka_run_group_tests(tests, NULL, NULL) : 2;
}
