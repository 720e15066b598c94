/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Why there is no output at all: the branches that guard the calls which would have put something
 * out are the criterion, the last instance of each. Arguments: guests/silent.c and its builds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "slicer/criteria/criterion.h"
#include "slicer/criteria/silence.h"
#include "tests/slicer/builds.h"
#include <wetdbg/errors.h>

/* cmocka.h needs the headers above. */
#include <cmocka.h>

static const char *const guards[] = {"callee", "loop", "nested", "pointer", "setting", "hook"};
static const char *const others[] = {"unreached", "behind", "mute", "complaint", "end"};

static bool has_turn(struct wetdbg *wet, const struct slc_turn *turns, size_t count, unsigned line)
{
    for (size_t i = 0; i < count; i++) {
        struct wetdbg_line at;
        if (wetdbg_line_of_instruction(wetdbg_get_model(wet), turns[i].pc, &at) == 0 &&
            at.line == line)
            return true;
    }
    return false;
}

static void check_turns(struct wetdbg *wet, const char *build)
{
    struct slc_turn *turns;
    size_t count;

    assert_int_equal(slc_silent_turns(wet, false, &turns, &count), 0);
    for (size_t i = 0; i < sizeof(guards) / sizeof(guards[0]); i++)
        if (!has_turn(wet, turns, count, builds_line("GUARD", guards[i])))
            fail_msg("%s: the guard '%s' is no turn", build, guards[i]);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (has_turn(wet, turns, count, builds_line("OTHER", others[i])))
            fail_msg("%s: '%s' is a turn", build, others[i]);
    for (size_t i = 1; i < count; i++)
        assert_true(turns[i - 1].time < turns[i].time);
    free(turns);
    assert_int_equal(slc_silent_turns(wet, true, &turns, &count), 0);
    assert_true(has_turn(wet, turns, count, builds_line("OTHER", "complaint")));
    assert_true(has_turn(wet, turns, count, builds_line("OTHER", "end")));
    assert_false(has_turn(wet, turns, count, builds_line("GUARD", "loop")));
    free(turns);
}

static void guards_of_calls_that_put_something_out_are_the_turns(void **state)
{
    (void)state;
    builds_each(check_turns);
}

static void check_slice(struct wetdbg *wet, const char *build)
{
    static const char *const criteria[] = {"output:end", "output:0", "output:nowhere:end"};

    for (size_t c = 0; c < sizeof(criteria) / sizeof(criteria[0]); c++) {
        struct wetdbg_slice_options options = {.kinds = WETDBG_SLICE_FULL};
        struct wetdbg_criterion *criterion;
        struct wetdbg_slice *slice;

        assert_int_equal(wetdbg_criterion_parse(wet, criteria[c], NULL, &criterion), 0);
        assert_int_equal(wetdbg_slice_backward(wet, criterion, &options, &slice), 0);
        for (size_t i = 0; i < sizeof(guards) / sizeof(guards[0]); i++)
            if (!builds_slice_has(slice, builds_line("GUARD", guards[i])))
                fail_msg("%s: %s: the guard '%s' is not in the slice", build, criteria[c],
                         guards[i]);
        wetdbg_slice_free(slice);
        wetdbg_criterion_free(criterion);
    }
}

static void the_slice_of_missing_output_has_them(void **state)
{
    (void)state;
    builds_each(check_slice);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guards_of_calls_that_put_something_out_are_the_turns),
        cmocka_unit_test(the_slice_of_missing_output_has_them),
    };

    return builds_take(argc, argv) ? cmocka_run_group_tests(tests, NULL, NULL) : 2;
}
