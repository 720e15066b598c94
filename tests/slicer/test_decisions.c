/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Control dependence through switch tables, tail calls, longjmp and signal handlers: what decided must be
 * in the slice of what then ran. (Unwinding: tests/languages.) Arguments: guests/control.c and its builds.
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
#include <wetdbg/errors.h>

/* After what it needs. */
#include <cmocka.h>

#define STEPS_MAX 400000

static const char *source;
static char **builds;
static const char *const cases[] = {"table", "tail", "longjmp", "fault", "raise"};

static unsigned line_of(const char *mark, const char *name)
{
    char text[256], wanted[64];
    unsigned line = 0;
    FILE *file = fopen(source, "r");

    assert_non_null(file);
    snprintf(wanted, sizeof(wanted), "/* %s %s */", mark, name);
    while (fgets(text, sizeof(text), file)) {
        line++;
        if (strstr(text, wanted)) {
            fclose(file);
            return line;
        }
    }
    fail_msg("%s has no %s", source, wanted);
    return 0;
}

static bool has_line(const struct wetdbg_slice *slice, unsigned line)
{
    size_t count;
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(slice, &count);

    for (size_t i = 0; i < count; i++)
        if (lines[i].file && strstr(lines[i].file, "control.c") && lines[i].line == line)
            return true;
    return false;
}

static void check_case(struct wetdbg *wet, const char *build, const char *name)
{
    unsigned effect = line_of("EFFECT", name), control = line_of("CONTROL", name);
    struct wetdbg_slice_options options = {.kinds = WETDBG_SLICE_FULL, .record_parents = true};
    struct wetdbg_criterion *criterion;
    struct wetdbg_slice *slice;
    char text[64];

    snprintf(text, sizeof(text), "control.c:%u", effect);
    if (wetdbg_criterion_parse(wet, text, NULL, &criterion))
        fail_msg("%s, %s: %s", build, text, wetdbg_error(-WETDBG_ERR_NOT_FOUND));
    assert_int_equal(wetdbg_slice_backward(wet, criterion, &options, &slice), 0);
    if (!has_line(slice, control))
        fail_msg("%s: line %u ran because of line %u (%s), which is not in its slice", build,
                 effect, control, name);
    wetdbg_slice_free(slice);
    options.kinds = WETDBG_SLICE_DATA;
    assert_int_equal(wetdbg_slice_backward(wet, criterion, &options, &slice), 0);
    if (has_line(slice, control))
        fail_msg("%s: line %u uses values of line %u (%s): the case shows nothing", build, effect,
                 control, name);
    wetdbg_slice_free(slice);
    wetdbg_criterion_free(criterion);
}

static void what_decided_is_in_the_slice(void **state)
{
    (void)state;
    for (char **build = builds; *build; build++) {
        char *argv[] = {*build, NULL};
        struct wetdbg *wet;
        assert_int_equal(fake_wet_run(argv, NULL, STEPS_MAX, &wet), 0);
        assert_int_equal(wetdbg_get_info(wet)->wait_status, 0);
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
            check_case(wet, *build, cases[i]);
        wetdbg_close(wet);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_decided_is_in_the_slice)};

    if (argc < 3) {
        fprintf(stderr, "usage: %s SOURCE BUILD...\n", argv[0]);
        return 2;
    }
    source = argv[1];
    builds = argv + 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
