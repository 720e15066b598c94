/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Control dependence through switch tables, tail calls, longjmp and signal handlers: what decided
 * must be in the slice of what then ran; and what decided whether the run goes on, unless no_exits
 * is set. (Unwinding: tests/languages.) Arguments: guests/control.c and its builds.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slicer/slicer.h"
#include "tests/slicer/builds.h"
#include <wetdbg/decisions.h>
#include <wetdbg/errors.h>
#include <wetdbg/model.h>

/* cmocka.h needs the headers above. */
#include <cmocka.h>

static const char *const cases[] = {"table", "tail", "longjmp", "fault", "raise"};
static const char *const guards[] = {"exit", "die", "assert", "jump"};

static void check_case(struct wetdbg *wet, const char *build, const char *name)
{
    unsigned effect = builds_line("EFFECT", name), control = builds_line("CONTROL", name);
    struct wetdbg_slice_options options = {.kinds = WETDBG_SLICE_FULL, .record_parents = true};
    struct wetdbg_criterion *criterion;
    struct wetdbg_slice *slice;
    char text[64];

    snprintf(text, sizeof(text), "control.c:%u", effect);
    if (wetdbg_criterion_parse(wet, text, NULL, &criterion))
        fail_msg("%s, %s: %s", build, text, wetdbg_error(-WETDBG_ERR_NOT_FOUND));
    assert_int_equal(wetdbg_slice_backward(wet, criterion, &options, &slice), 0);
    if (!builds_slice_has(slice, control))
        fail_msg("%s: line %u ran because of line %u (%s), which is not in its slice", build,
                 effect, control, name);
    wetdbg_slice_free(slice);
    options.kinds = WETDBG_SLICE_DATA;
    assert_int_equal(wetdbg_slice_backward(wet, criterion, &options, &slice), 0);
    if (builds_slice_has(slice, control))
        fail_msg("%s: line %u uses values of line %u (%s): the case shows nothing", build, effect,
                 control, name);
    wetdbg_slice_free(slice);
    wetdbg_criterion_free(criterion);
}

static void check_build(struct wetdbg *wet, const char *build)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_case(wet, build, cases[i]);
}

/* Whether the slice of a line has another one. */
static bool slice_has(struct wetdbg *wet, unsigned from, unsigned line,
                      const struct wetdbg_slice_options *options)
{
    struct wetdbg_criterion *criterion;
    struct wetdbg_slice *slice;
    char text[64];

    snprintf(text, sizeof(text), "control.c:%u", from);
    assert_int_equal(wetdbg_criterion_parse(wet, text, NULL, &criterion), 0);
    assert_int_equal(wetdbg_slice_backward(wet, criterion, options, &slice), 0);
    bool has = builds_slice_has(slice, line);
    wetdbg_slice_free(slice);
    wetdbg_criterion_free(criterion);
    return has;
}

/* `session` has to tell the two forms apart. */
static void check_guard(struct wetdbg *wet, struct wetdbg_slice_session *session, const char *build,
                        const char *name, bool is_guarded)
{
    unsigned guard = builds_line("GUARD", name);
    unsigned after = builds_line(is_guarded ? "AFTER" : "UNGUARDED", name);

    for (unsigned i = 0; i < 8; i++) {
        struct wetdbg_slice_options options = {
            .kinds = i & 1 ? WETDBG_SLICE_CONTROL : WETDBG_SLICE_FULL,
            .record_parents = i & 2,
            .no_exits = i & 4,
            .session = session,
        };
        bool expected = is_guarded && !options.no_exits;
        if (slice_has(wet, after, guard, &options) != expected)
            fail_msg("%s: the guard in line %u (%s) %s the slice of line %u (form %u)", build,
                     guard, name, expected ? "is not in" : "is in", after, i);
    }
}

static void check_guards(struct wetdbg *wet, const char *build)
{
    struct wetdbg_slice_session *session;

    assert_int_equal(wetdbg_slice_session_new(wet, &session), 0);
    for (size_t i = 0; i < sizeof(guards) / sizeof(guards[0]); i++)
        check_guard(wet, session, build, guards[i], true);
    check_guard(wet, session, build, "complaint", false);
    wetdbg_slice_session_free(session);
}

/* The branch nearest to what came after a guard is the guard, which might have left. */
static void check_decision(struct wetdbg *wet, const char *build, const char *name)
{
    unsigned guard = builds_line("GUARD", name), after = builds_line("AFTER", name);
    struct wetdbg_slice_options options = {.kinds = WETDBG_SLICE_FULL, .record_parents = true};
    struct wetdbg_criterion *criterion;
    struct wetdbg_decision *decisions;
    struct wetdbg_slice *slice;
    struct wetdbg_line line, went;
    char text[64];
    size_t count;

    snprintf(text, sizeof(text), "control.c:%u", after);
    assert_int_equal(wetdbg_criterion_parse(wet, text, NULL, &criterion), 0);
    assert_int_equal(wetdbg_slice_backward(wet, criterion, &options, &slice), 0);
    assert_int_equal(wetdbg_slice_decisions(slice, 1, &decisions, &count), 0);
    assert_int_equal(count, 1);
    struct wetdbg_model *model = wetdbg_get_model(wet);
    assert_int_equal(wetdbg_line_of_instruction(model, decisions[0].instance.pc, &line), 0);
    assert_int_equal(wetdbg_line_of_instruction(model, decisions[0].went, &went), 0);
    if (line.line != guard || went.line != after || !decisions[0].other || !decisions[0].is_way_out)
        fail_msg("%s: line %u is decided by line %u, not by %u; it went on to %u, otherwise 0x%llx "
                 "(%d)",
                 build, after, line.line, guard, went.line, (unsigned long long)decisions[0].other,
                 decisions[0].is_way_out);
    free(decisions);
    wetdbg_slice_free(slice);
    options.record_parents = false;
    assert_int_equal(wetdbg_slice_backward(wet, criterion, &options, &slice), 0);
    assert_int_equal(wetdbg_slice_decisions(slice, 1, &decisions, &count), -EINVAL);
    wetdbg_slice_free(slice);
    wetdbg_criterion_free(criterion);
}

static void check_decisions(struct wetdbg *wet, const char *build)
{
    for (size_t i = 0; i < sizeof(guards) / sizeof(guards[0]); i++)
        check_decision(wet, build, guards[i]);
}

static void the_nearest_branch_is_the_first_decision(void **state)
{
    (void)state;
    builds_each(check_decisions);
}

static void what_let_the_run_go_on_is_in_the_slice(void **state)
{
    (void)state;
    builds_each(check_guards);
}

static void what_decided_is_in_the_slice(void **state)
{
    (void)state;
    builds_each(check_build);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_decided_is_in_the_slice),
        cmocka_unit_test(what_let_the_run_go_on_is_in_the_slice),
        cmocka_unit_test(the_nearest_branch_is_the_first_decision),
    };

    return builds_take(argc, argv) ? cmocka_run_group_tests(tests, NULL, NULL) : 2;
}
