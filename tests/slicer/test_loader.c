/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The dynamic linker is passed by: slices of a lazily bound program hold none of it, and what was
 * given to a function on its first call is still found, also that what its resolver saves of vector
 * registers ends below the caller's frame. Arguments: the programs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slicer/slicer.h"
#include "tests/slicer/fake_wet.h"
#include "wet/model/make_model.h"
#include <wetdbg/errors.h>

/* cmocka.h needs the headers above. */
#include <cmocka.h>

#define STEPS_MAX 1000000

static char *program, *output_program;
static struct wetdbg *wet;

static struct wetdbg_function function_named(const char *name)
{
    struct wetdbg_function *functions, found;
    size_t count;

    assert_int_equal(wetdbg_functions_named(wetdbg_get_model(wet), name, &functions, &count), 0);
    assert_true(count > 0);
    found = functions[0];
    free(functions);
    return found;
}

static bool is_in(const struct wetdbg_function *function, uint64_t pc)
{
    return pc >= function->start && pc < function->end;
}

static bool is_loader(uint64_t pc)
{
    struct wetdbg_module module;
    return wetdbg_module_at(wetdbg_get_model(wet), pc, &module) == 0 &&
           strncmp(module.name, "ld-linux", 8) == 0;
}

/* eax where main returns. */
static struct wetdbg_criterion *result_of_main(void)
{
    const struct wetdbg_function main_function = function_named("main");
    struct wetdbg_criterion *criterion;
    struct ins_regset regs = {0};
    wetdbg_time at = 0;

    for (wetdbg_time t = 1; t <= wetdbg_get_info(wet)->instructions; t++)
        if (fake_step(wet, t)->info->klass == INS_RET &&
            is_in(&main_function, fake_step(wet, t)->pc))
            at = t;
    assert_true(at > 0);
    ins_regset_add_gpr(&regs, INS_RAX, 0, 4);
    assert_int_equal(slc_criterion_of_places(wet, at, &regs, 0, 0, &criterion), 0);
    return criterion;
}

struct tally {
    uint64_t all, loader, integer, number, calls, resolver;
};

static struct tally count_members(const struct wetdbg_slice *slice)
{
    const struct wetdbg_function in_main = function_named("main");
    const struct wetdbg_function in_integer = function_named("make_integer");
    const struct wetdbg_function in_double = function_named("make_double");
    struct tally tally = {0};

    for (wetdbg_time t = 1; t <= wetdbg_get_info(wet)->instructions; t++) {
        const struct fake_step *step = fake_step(wet, t);
        tally.resolver += is_loader(step->pc) && step->info->klass == INS_JMP_INDIRECT &&
                          !is_loader(fake_step(wet, t + 1)->pc);
        if (!wetdbg_slice_contains_time(slice, t))
            continue;
        tally.all++;
        tally.loader += is_loader(step->pc);
        tally.integer += is_in(&in_integer, step->pc);
        tally.number += is_in(&in_double, step->pc);
        tally.calls += step->info->klass == INS_CALL && is_in(&in_main, step->pc);
    }
    return tally;
}

static struct tally slice_with(enum wetdbg_slice_kinds kinds, bool parents, bool loader,
                               bool no_bypass)
{
    struct wetdbg_slice_options options = {
        .kinds = kinds, .record_parents = parents, .loader = loader, .no_bypass = no_bypass};
    struct wetdbg_criterion *criterion = result_of_main();
    struct wetdbg_slice *slice;

    assert_int_equal(wetdbg_slice_backward(wet, criterion, &options, &slice), 0);
    struct tally tally = count_members(slice);
    assert_int_equal(wetdbg_slice_get_counts(slice)->instances, tally.all);
    printf("%d %s%s%s: %llu instances, %llu in the linker\n", (int)kinds, parents ? "parents" : "",
           loader ? " loader" : "", no_bypass ? " no bypass" : "", (unsigned long long)tally.all,
           (unsigned long long)tally.loader);
    wetdbg_slice_free(slice);
    wetdbg_criterion_free(criterion);
    return tally;
}

static void arguments_are_followed_across_lazy_binding(void **state)
{
    (void)state;
    for (unsigned kinds = WETDBG_SLICE_FULL; kinds <= WETDBG_SLICE_THIN; kinds++)
        for (unsigned variant = 0; variant < 4; variant++) {
            struct tally tally =
                slice_with((enum wetdbg_slice_kinds)kinds, variant & 1, false, variant & 2);
            assert_true(tally.resolver >= 2);
            assert_int_equal(tally.loader, 0);
            assert_true(tally.integer > 0);
            assert_true(tally.number > 0);
            /* There are instances of both makers and of both functions elsewhere. */
            assert_true(kinds != WETDBG_SLICE_FULL || tally.calls == 4);
        }
}

static void parents_or_not_is_the_same(void **state)
{
    (void)state;
    for (unsigned kinds = 0; kinds < 4; kinds++) {
        struct tally plain = slice_with((enum wetdbg_slice_kinds)kinds, false, false, false);
        struct tally parents = slice_with((enum wetdbg_slice_kinds)kinds, true, false, false);
        assert_int_equal(plain.all, parents.all);
    }
}

static void the_linker_is_there_if_asked_for(void **state)
{
    (void)state;
    struct tally full = slice_with(WETDBG_SLICE_FULL, false, true, false);
    struct tally without = slice_with(WETDBG_SLICE_FULL, false, false, false);
    assert_true(full.loader > 0);
    assert_true(full.all - full.loader >= without.all);
    assert_int_equal(slice_with(WETDBG_SLICE_DATA, false, true, false).all,
                     slice_with(WETDBG_SLICE_DATA, true, true, false).all);
}

static int set_up(void **state)
{
    char *argv[] = {program, NULL};
    (void)state;
    return fake_wet_run(argv, NULL, STEPS_MAX, &wet);
}

static int tear_down(void **state)
{
    (void)state;
    wetdbg_close(wet);
    return 0;
}

/* The instruction that made a byte of the output, and how many instances its data slice has. */
static uint64_t output_slice(struct wetdbg *run, const char *text, bool loader, bool from_write)
{
    struct wetdbg_slice_options options = {.kinds = WETDBG_SLICE_DATA, .loader = loader};
    struct wetdbg_standpoint from = {.from_write = from_write};
    struct wetdbg_criterion *criterion;
    struct wetdbg_slice *slice;

    assert_int_equal(wetdbg_criterion_parse(run, text, &from, &criterion), 0);
    assert_int_equal(wetdbg_slice_backward(run, criterion, &options, &slice), 0);
    uint64_t instances = wetdbg_slice_get_counts(slice)->instances;
    printf("%s%s%s: %s, %llu instances\n", text, loader ? " loader" : "",
           from_write ? " from the write" : "", wetdbg_criterion_get_info(criterion)->description,
           (unsigned long long)instances);
    wetdbg_slice_free(slice);
    wetdbg_criterion_free(criterion);
    return instances;
}

/* Thousands of instances found the relocation; nothing that was written came of that. */
static void output_was_there_before_the_resolver_ran(void **state)
{
    char *argv[] = {output_program, NULL};
    struct wetdbg *run;

    (void)state;
    assert_int_equal(fake_wet_run(argv, NULL, STEPS_MAX, &run), 0);
    for (unsigned i = 0; i < 8; i++) {
        const char *text = i & 1 ? "output:1" : "output:2";
        assert_in_range(output_slice(run, text, i & 2, i & 4), 1, 40);
    }
    wetdbg_close(run);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_followed_across_lazy_binding),
        cmocka_unit_test(parents_or_not_is_the_same),
        cmocka_unit_test(the_linker_is_there_if_asked_for),
        cmocka_unit_test(output_was_there_before_the_resolver_ran),
    };

    if (argc != 3) {
        fprintf(stderr, "usage: %s PROGRAM PROGRAM\n", argv[0]);
        return 2;
    }
    program = argv[1];
    output_program = argv[2];
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
