/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Why there is no more output: what turned the program away from where it wrote is the criterion,
 * and in its slices. Arguments: guests/ends.c and its builds.
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
#include <wetdbg/errors.h>

/* cmocka.h needs the headers above. */
#include <cmocka.h>

static const struct {
    const char *name;
    int fd;
    unsigned bytes;
} cases[] = {{"loop", 10, 2}, {"leaving", 11, 2}, {"caller", 12, 4}, {"exit", 13, 4}};

static unsigned line_of(const char *name)
{
    char text[256], wanted[64];
    unsigned line = 0;
    FILE *file = fopen(builds_source, "r");

    assert_non_null(file);
    snprintf(wanted, sizeof(wanted), "/* END %s */", name);
    while (fgets(text, sizeof(text), file)) {
        line++;
        if (strstr(text, wanted)) {
            fclose(file);
            return line;
        }
    }
    fail_msg("%s has no %s", builds_source, wanted);
    return 0;
}

static struct wetdbg_criterion *parse(struct wetdbg *wet, const char *text)
{
    struct wetdbg_criterion *criterion;
    int err = wetdbg_criterion_parse(wet, text, NULL, &criterion);

    if (err)
        fail_msg("%s: %s", text, wetdbg_error(err));
    return criterion;
}

static void check_slice(struct wetdbg *wet, const char *build, const char *text, const char *name)
{
    struct wetdbg_criterion *criterion = parse(wet, text);

    for (unsigned kinds = 0; kinds < 4; kinds++) {
        struct wetdbg_slice_options options = {.kinds = (enum wetdbg_slice_kinds)kinds};
        struct wetdbg_slice *slice;

        assert_int_equal(wetdbg_slice_backward(wet, criterion, &options, &slice), 0);
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
            bool is_it = strcmp(cases[i].name, name) == 0;
            /* what decided is in it; what decided about other output is not, but the exit, without
             * which main might have gone on */
            if (is_it && !builds_slice_has(slice, line_of(name)))
                fail_msg("%s: %s: line %u is not in its slice (%u): %s", build, text, line_of(name),
                         kinds, wetdbg_criterion_get_info(criterion)->description);
            if (!is_it && kinds == WETDBG_SLICE_THIN && strcmp(cases[i].name, "exit") != 0 &&
                builds_slice_has(slice, line_of(cases[i].name)))
                fail_msg("%s: %s: line %u is in its slice", build, text, line_of(cases[i].name));
        }
        wetdbg_slice_free(slice);
    }
    wetdbg_criterion_free(criterion);
}

static void check_build(struct wetdbg *wet, const char *build)
{
    char text[64];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(text, sizeof(text), "output:%d:end", cases[i].fd);
        check_slice(wet, build, text, cases[i].name);
        snprintf(text, sizeof(text), "output:%d:%u", cases[i].fd, cases[i].bytes);
        check_slice(wet, build, text, cases[i].name);
    }
    /* what was never written, and what there was to be written to */
    check_slice(wet, build, "output:end", "exit");
    check_slice(wet, build, "output:7:end", "exit");
    check_slice(wet, build, "output:nowhere:end", "exit");
}

static void missing_output_is_sliced_from_what_turned_away(void **state)
{
    (void)state;
    builds_each(check_build);
}

static void refuse(struct wetdbg *wet, const char *text, int expected, const char *message)
{
    struct wetdbg_standpoint from = {.from_write = true};
    struct wetdbg_criterion *criterion;

    assert_int_equal(wetdbg_criterion_parse(wet, text, &from, &criterion), expected);
    if (!strstr(wetdbg_error(expected), message))
        fail_msg("%s: '%s' does not say '%s'", text, wetdbg_error(expected), message);
}

static void check_refusals(struct wetdbg *wet, const char *build)
{
    (void)build;
    refuse(wet, "output:10:2", -WETDBG_ERR_NOT_FOUND, "2 bytes were written to descriptor 10");
    refuse(wet, "output:10:1+2", -WETDBG_ERR_NOT_FOUND, "output byte 2 does not exist");
    refuse(wet, "output:ends", -WETDBG_ERR_USAGE, "no place in the output");
}

static void bytes_that_were_not_written_are_refused_from_the_write(void **state)
{
    (void)state;
    builds_each(check_refusals);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_output_is_sliced_from_what_turned_away),
        cmocka_unit_test(bytes_that_were_not_written_are_refused_from_the_write),
    };

    return builds_take(argc, argv) ? cmocka_run_group_tests(tests, NULL, NULL) : 2;
}
