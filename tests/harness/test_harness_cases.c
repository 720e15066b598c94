/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is read from the output of test programs: a row for each framework and manner, and texts
 * that end anywhere. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/verbs/harness_cases.h"
#include "tests/cli/cli_unit.h"

/* "FRAMEWORK: NAME ok, NAME failed FILE:LINE" */
static const char *describe(const char *text)
{
    static char line[1024];
    struct cli_cases cases;
    int at;

    cli_cases_read(text, &cases);
    at = snprintf(line, sizeof(line), "%s:", cli_framework_name(cases.framework));
    for (size_t i = 0; i < cases.count; i++) {
        const struct cli_case *item = &cases.list[i];
        at += snprintf(line + at, sizeof(line) - (size_t)at, "%s %s%s%s %s", i ? "," : "",
                       item->group ? item->group : "", item->group ? "/" : "", item->name,
                       item->is_ok ? "ok" : "failed");
        if (item->file)
            at += snprintf(line + at, sizeof(line) - (size_t)at, " %s:%u", item->file, item->line);
    }
    if (cases.is_whole)
        snprintf(line + at, sizeof(line) - (size_t)at, "; whole, %lu", cases.checks);
    cli_cases_fini(&cases);
    return line;
}

static const struct {
    const char *text, *said;
} rows[] = {
    {"", ":"},
    {"hello\nworld", ":"},
    {"[==========] Running 2 test(s).\n[ RUN      ] a\n[       OK ] a\n[ RUN      ] b\n"
     "[  ERROR   ] --- 0x1 != 0x2\n[   LINE   ] --- t.c:12: error: Failure!\n[  FAILED  ] b\n"
     "[==========] 2 test(s) run.\n[  FAILED  ] 1 test(s), listed below:\n[  FAILED  ] b\n",
     "cmocka: a ok, b failed t.c:12"},
    /* Standard error first. */
    {"[  ERROR   ] --- x\n[   LINE   ] --- /d/t.c:3: error: Failure!\n"
     "[==========] suite: Running 1 test(s).\n[ RUN      ] only\n[  FAILED  ] only\n",
     "cmocka: only failed /d/t.c:3"},
    /* An older form of the library's. */
    {"[==========] Running 1 test(s).\n[ RUN      ] a\nt.c:9: error: Failure!\n[  FAILED  ] a\n",
     "cmocka: a failed t.c:9"},
    {"[==========] Running 3 tests from 1 test suite.\n[ RUN      ] S.a\n[       OK ] S.a (0 ms)\n"
     "[ RUN      ] S.b\nt.cc:5: Failure\nExpected: x\nt.cc:6: Failure\n"
     "[  FAILED  ] S.b (1 ms)\n[ RUN      ] S.c\n",
     "GoogleTest: S.a ok, S.b failed t.cc:5, S.c failed"},
    {"[==========] Running 1 test from 1 test suite.\n[ RUN      ] P/S.a/0\nt.cc:5: Failure\n"
     "[  FAILED  ] P/S.a/0, where GetParam() = 3 (0 ms)\n",
     "GoogleTest: P/S.a/0 failed t.cc:5"},
    {"Running suite(s): s\n66%: Checks: 3, Failures: 1, Errors: 0\nt.c:4:P:core:a:0: Passed\n"
     "t.c:9:F:core:b:0: Assertion 'x: y' failed\nt.c:9:F:core:b:2: again\n",
     "Check: core/a ok, core/b failed t.c:9, core/b:2 failed t.c:9; whole, 3"},
    {"     CUnit - A unit testing framework for C\n\nSuite: s\n  Test: one and two ...passed\n"
     "  Test: three ...FAILED\n    1. t.c:7  - CU_ASSERT(x)\n    2. t.c:8  - CU_ASSERT(y)\n"
     "\nRun Summary:    Type\n",
     "CUnit: one and two ok, three failed t.c:7; whole, 0"},
    {"     CUnit - A unit testing framework for C\n\nSuite s, Test three had failures:\n"
     "    1. t.c:7  - x\n",
     "CUnit: three failed t.c:7"},
    {"TAP version 13\n1..4\nok 1 - a\nnot ok 2 - b # TODO later\nnot ok 3 - c\n"
     "#   Failed test (t.c:main() at line 12)\nok 4 # SKIP no\n",
     "TAP: 1 - a ok, 2 - b ok, 3 - c failed t.c:12, 4 ok"},
    {"1..1\nnot ok 1 - c\n# (t.c at line 3)\n", "TAP: 1 - c failed t.c:3"},
    {"ok\nok 1\nnot ok 2\n# t.c:8: it is 3\n1..2\n", "TAP: 1 ok, 2 failed t.c:8"},
    {"1..2\nok a\nnot ok b\n#   at t.pl line 5.\n", "TAP: 1 a ok, 2 b failed t.pl:5"},
    {"ok 1 without a plan\n", ":"},
    {"t.c:3:a:PASS\nt.c:5:b:FAIL: Expected 1 Was 2\nt.c:7:c:IGNORE\n\n3 Tests 1 Failures 1 "
     "Ignored\n",
     "Unity: a ok, b failed t.c:5, c ok"},
};

static void frameworks_are_known_by_what_they_print(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_string_equal(describe(rows[i].text), rows[i].said);
}

static void texts_may_end_anywhere(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        for (size_t length = strlen(rows[i].text); length--;) {
            char *cut = strndup(rows[i].text, length);
            assert_true(strlen(describe(cut)) < 1000);
            free(cut);
        }
}

/* Of "NAME+ NAME-", as TAP says it. */
static void read_short(const char *text, struct cli_cases *cases)
{
    char tap[256] = "1..9\n";

    for (const char *at = text; *at; at += at[2] ? 3 : 2)
        snprintf(tap + strlen(tap), sizeof(tap) - strlen(tap), "%sok 1 %c\n",
                 at[1] == '+' ? "" : "not ", *at);
    cli_cases_read(tap, cases);
}

static void a_run_is_right_if_its_case_is_ok_and_no_other_fails_anew(void **state)
{
    static const struct {
        const char *before, *now;
        bool is_right, is_all;
    } runs[] = {
        {"a+ b-", "a+ b+", true, true},      {"a+ b-", "a+ b-", false, false},
        {"a+ b-", "a- b+", false, false},    {"a- b-", "a- b+", true, false},
        {"a- b-", "a+ b+", true, true},      {"a+ b-", "a+", false, false},
        {"a+ b-", "a+ b+ c-", false, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
        struct cli_cases before, now;
        bool is_all = false;
        read_short(runs[i].before, &before);
        read_short(runs[i].now, &now);
        assert_int_equal(cli_cases_are_right(&now, &before, "1 b", &is_all), runs[i].is_right);
        assert_int_equal(is_all, runs[i].is_all);
        cli_cases_fini(&before);
        cli_cases_fini(&now);
    }
}

static void a_tap_test_has_a_number_and_a_name(void **state)
{
    struct cli_cases cases;

    (void)state;
    cli_cases_read("1..2\nok 1 - one\nnot ok 2 - two\n", &cases);
    assert_string_equal(cli_cases_find(&cases, "2")->name, "2 - two");
    assert_string_equal(cli_cases_find(&cases, "two")->name, "2 - two");
    assert_string_equal(cli_cases_failed(&cases)->name, "2 - two");
    assert_null(cli_cases_find(&cases, "three"));
    cli_cases_fini(&cases);
}

static void assertions_are_found(void **state)
{
    char *file = NULL;
    unsigned line = 0;

    (void)state;
    assert_true(
        cli_assertion_read("x\nprog: a/b.c:12: main: Assertion `n == 1' failed.\n", &file, &line));
    assert_string_equal(file, "a/b.c");
    assert_int_equal(line, 12);
    free(file);
    assert_false(cli_assertion_read("Assertion `x' failed", &file, &line));
    assert_false(cli_assertion_read("a: b: Assertion `x' failed", &file, &line));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frameworks_are_known_by_what_they_print),
        cmocka_unit_test(texts_may_end_anywhere),
        cmocka_unit_test(a_run_is_right_if_its_case_is_ok_and_no_other_fails_anew),
        cmocka_unit_test(a_tap_test_has_a_number_and_a_name),
        cmocka_unit_test(assertions_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
