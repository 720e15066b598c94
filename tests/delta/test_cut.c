/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Single runs, what a search tells of its tests, and searches that are cut short. The program is a
 * shell that reads a script from its input; what it does is known from what the script says, and
 * outcomes are asked once more of single runs.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* after the above */
#include <cmocka.h>

#include "common/clock.h"
#include "delta/dd.h"
#include <wetdbg/delta_program.h>
#include <wetdbg/errors.h>

static char *const shell[] = {"sh", NULL}, *const cat[] = {"cat", NULL};

static char *write_file(const char *text)
{
    static char names[4][32];
    static unsigned next;
    char *name = names[next++ % 4];
    strcpy(name, "/tmp/wetdbg-cut-XXXXXX");
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    return name;
}

static struct wetdbg_dd_trial run(const struct wetdbg_dd_options *how, const char *text)
{
    const struct wetdbg_dd_bytes input = {(uint8_t *)text, strlen(text)};
    struct wetdbg_dd_trial trial;
    assert_int_equal(wetdbg_dd_try(how, &input, &trial), 0);
    return trial;
}

static void a_run_tells_how_it_ended(void **state)
{
    struct wetdbg_dd_options how = {.argv = shell, .fail = "script", .oracle = WETDBG_DD_CRASH};
    (void)state;

    struct wetdbg_dd_trial trial = run(&how, "echo one; exit 3\n");
    assert_true(trial.is_ended && trial.exit_status == 3 && !trial.signal);
    assert_true(trial.output_bytes == 4 && trial.outcome == WETDBG_DELTA_PASS);

    trial = run(&how, "kill -SEGV $$\n");
    assert_true(trial.is_ended && trial.signal == SIGSEGV && trial.exit_status == 128 + SIGSEGV);
    assert_int_equal(trial.outcome, WETDBG_DELTA_FAIL);

    trial = run(&how, "kill -TERM $$\n"); /* no crash, and no end of its own */
    assert_true(trial.signal == SIGTERM && trial.outcome == WETDBG_DELTA_UNRESOLVED);

    how.timeout_s = 0.3;
    trial = run(&how, "sleep 20\n");
    assert_true(!trial.is_ended && trial.exit_status == -1);
    assert_true(trial.outcome == WETDBG_DELTA_UNRESOLVED && trial.seconds < 10);
}

static void a_run_is_held_against_what_is_expected(void **state)
{
    struct wetdbg_dd_options how = {.argv = shell, .fail = "script", .oracle = WETDBG_DD_EXPECT};
    (void)state;

    how.expect = write_file("abcdef");
    struct wetdbg_dd_trial trial = run(&how, "printf abcdef\n");
    assert_true(trial.wrong_offset == WETDBG_DD_NOWHERE && trial.outcome == WETDBG_DELTA_PASS);
    trial = run(&how, "printf abc\n"); /* a beginning */
    assert_true(trial.wrong_offset == 3 && trial.output_bytes == 3);
    trial = run(&how, "printf abX\n");
    assert_true(trial.wrong_offset == 2 && trial.output_bytes == 3);
    assert_int_equal(trial.outcome, WETDBG_DELTA_FAIL);
    trial = run(&how, "printf abcdefg\n"); /* more than all */
    assert_true(trial.wrong_offset == 6 && trial.output_bytes == 7);
    trial = run(&how, ":\n");
    assert_true(trial.wrong_offset == 0 && trial.output_bytes == 0);
    unlink(how.expect);

    how.expect = "/dev/null"; /* nothing */
    trial = run(&how, ":\n");
    assert_true(trial.wrong_offset == WETDBG_DD_NOWHERE && trial.outcome == WETDBG_DELTA_PASS);
    trial = run(&how, "printf a\n");
    assert_true(trial.wrong_offset == 0 && trial.outcome == WETDBG_DELTA_FAIL);
}

static void a_run_is_judged_by_a_command(void **state)
{
    struct wetdbg_dd_options how = {.argv = shell,
                                    .fail = "script",
                                    .oracle = WETDBG_DD_COMMAND,
                                    .command = "read answer; exit $answer"};
    (void)state;

    assert_int_equal(run(&how, "echo 0\n").outcome, WETDBG_DELTA_PASS);
    assert_int_equal(run(&how, "echo 1\n").outcome, WETDBG_DELTA_FAIL);
    assert_int_equal(run(&how, "echo 2\n").outcome, WETDBG_DELTA_UNRESOLVED);
}

/* ---- searches ---- */

struct told {
    const struct wetdbg_dd_options *how;
    unsigned tests, fails;
    size_t smallest; /* that failed */
    double pause_s;  /* makes a search slow */
    volatile sig_atomic_t stops;
    unsigned stop_after; /* so many tests it is interrupted; 0: never */
};

static void on_tested(void *arg, const struct wetdbg_dd_bytes *candidate,
                      enum wetdbg_delta_outcome outcome, bool is_live)
{
    struct told *told = arg;
    struct wetdbg_dd_trial trial;
    assert_false(is_live);
    if (!told->pause_s) {
        assert_int_equal(wetdbg_dd_try(told->how, candidate, &trial), 0);
        assert_int_equal(trial.outcome, outcome);
    }
    told->tests++;
    told->fails += outcome == WETDBG_DELTA_FAIL;
    if (outcome == WETDBG_DELTA_FAIL && (!told->smallest || candidate->size < told->smallest))
        told->smallest = candidate->size;
    usleep((useconds_t)(told->pause_s * 1e6));
    told->stops = told->stop_after && told->tests >= told->stop_after;
}

/* Fails with both words in it. */
static struct wetdbg_dd_options two_words(struct told *told)
{
    return (struct wetdbg_dd_options){
        .argv = cat,
        .oracle = WETDBG_DD_COMMAND,
        .command = "grep -q cause \"$WETDBG_INPUT\" && grep -q other \"$WETDBG_INPUT\" && exit 1; "
                   "exit 0",
        .jobs = 1,
        .tested = on_tested,
        .arg = told,
        .interrupted = &told->stops};
}

#define LINE "nothing of any importance\n"

static char *long_input(void)
{
    return write_file(LINE LINE LINE "the cause\n" LINE LINE LINE LINE "the other\n" LINE LINE);
}

static void a_search_tells_of_its_tests(void **state)
{
    struct told told = {0};
    struct wetdbg_dd_options how = two_words(&told);
    struct wetdbg_dd_result found;
    (void)state;

    told.how = &how;
    how.fail = long_input();
    assert_int_equal(dlt_dd(&how, NULL, &found), 0);
    assert_false(found.is_cut);
    assert_true(told.tests && told.tests < found.tests); /* the ends are not told */
    assert_true(found.fail.size == 10 || found.fail.size == 11);
    assert_int_equal(told.smallest, found.fail.size);
    wetdbg_dd_result_fini(&found);
    unlink(how.fail);
}

/* What a search has that is cut: fails, and is the smallest that failed. */
static void check_cut(struct told *told, struct wetdbg_dd_options *how, double seconds_at_most)
{
    struct wetdbg_dd_result found;
    struct wetdbg_dd_trial trial;
    double begin = wd_seconds();

    how->fail = long_input();
    assert_int_equal(dlt_dd(how, NULL, &found), 0);
    assert_true(wd_seconds() - begin < seconds_at_most);
    assert_true(found.is_cut && found.fail.size > 11);
    if (told->fails)
        assert_int_equal(found.fail.size, told->smallest);
    else
        assert_int_equal(found.fail.size, found.original_bytes);
    told->stops = 0;
    assert_int_equal(wetdbg_dd_try(how, &found.fail, &trial), 0);
    assert_int_equal(trial.outcome, WETDBG_DELTA_FAIL);
    wetdbg_dd_result_fini(&found);
    unlink(how->fail);
}

static void a_budget_leaves_the_smallest_so_far(void **state)
{
    struct told told = {.pause_s = 0.2};
    struct wetdbg_dd_options how = two_words(&told);
    (void)state;

    told.how = &how;
    how.budget_s = 1.5;
    check_cut(&told, &how, 20);
}

static void an_interruption_leaves_it_too(void **state)
{
    struct told told = {.pause_s = 0.001, .stop_after = 6};
    struct wetdbg_dd_options how = two_words(&told);
    struct wetdbg_dd_result found;
    (void)state;

    told.how = &how;
    how.budget_s = 600;
    check_cut(&told, &how, 60);

    told = (struct told){.how = &how, .pause_s = 0.001, .stop_after = 6};
    how.budget_s = 0; /* without one it ends with nothing */
    how.fail = long_input();
    assert_int_equal(dlt_dd(&how, NULL, &found), -WETDBG_ERR_INTERRUPTED);
    unlink(how.fail);
}

static void a_budget_is_not_for_two_inputs(void **state)
{
    struct told told = {0};
    struct wetdbg_dd_options how = two_words(&told);
    struct wetdbg_dd_result found;
    (void)state;

    how.fail = how.pass = long_input();
    how.budget_s = 1;
    assert_int_equal(dlt_dd(&how, NULL, &found), -WETDBG_ERR_USAGE);
    unlink(how.fail);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_tells_how_it_ended),
        cmocka_unit_test(a_run_is_held_against_what_is_expected),
        cmocka_unit_test(a_run_is_judged_by_a_command),
        cmocka_unit_test(a_search_tells_of_its_tests),
        cmocka_unit_test(a_budget_leaves_the_smallest_so_far),
        cmocka_unit_test(an_interruption_leaves_it_too),
        cmocka_unit_test(a_budget_is_not_for_two_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
