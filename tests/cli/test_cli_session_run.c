/* SPDX-License-Identifier: GPL-3.0-or-later */
/* -e, -x and --batch, on the run of cli_fake_run.h: order, statuses, what is printed when. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dbgcli/exit_status.h"
#include "dbgcli/verbs/session_run.h"
#include "tests/cli/cli_fake_run.h"
#include "tests/cli/cli_unit.h"
#include <wetdbg/errors.h>

static const struct cli_option options[] = {CLI_SESSION_OPTIONS, {0}};
static const struct cli_syntax syntax = {.usage = "", .options = options};

struct outcome {
    int status;
    char *answer, *errors;
    size_t answer_size, errors_size;
};

static void run_on(const char *path, char **words, struct outcome *outcome)
{
    struct cli_out out = {
        .stream = open_memstream(&outcome->answer, &outcome->answer_size),
        .errors = open_memstream(&outcome->errors, &outcome->errors_size),
    };
    struct cli_app app = {.out = &out};
    struct cli_args args;
    int count = 0;
    while (words[count])
        count++;
    assert_int_equal(cli_args_parse(&args, "open", &syntax, count, words), 0);
    out.json = cli_args_has(&args, "json");
    const struct cli_wet wet = {.path = path, .build_seconds = 1.5};
    outcome->status = cli_session_run(&app, &args, &wet);
    cli_args_fini(&args);
    fclose(out.stream);
    fclose(out.errors);
}

static void outcome_fini(struct outcome *outcome)
{
    free(outcome->answer);
    free(outcome->errors);
}

static void file_that_cannot_be_opened_is_an_error(void **state)
{
    (void)state;
    char *words[] = {"--batch", NULL};
    struct outcome outcome;
    run_on("missing.wet", words, &outcome);
    assert_int_equal(outcome.status, -ENOENT);
    outcome_fini(&outcome);
}

static void batch_shows_the_crash_and_then_each_answer(void **state)
{
    (void)state;
    char *words[] = {"--batch", "-e", "print x", "-e", "p/x c", NULL};
    struct outcome outcome;
    run_on("fake.wet", words, &outcome);
    assert_int_equal(outcome.status, 0);
    assert_int_equal(strncmp(outcome.answer, "/bin/prog: SIGSEGV", 18), 0);
    assert_non_null(strstr(outcome.answer, "at main.c:14\nx = -5\nc = 0x61\n"));
    assert_string_equal(outcome.errors, "");
    outcome_fini(&outcome);
}

static void batch_status_is_that_of_the_last_failure(void **state)
{
    (void)state;
    char *words[] = {"--batch", "-e", "goto 5000", "-e", "nonsense", "-e", "print x", NULL};
    struct outcome outcome;
    run_on("fake.wet", words, &outcome);
    assert_int_equal(outcome.status, CLI_EXIT_USAGE);
    assert_non_null(strstr(outcome.answer, "x = -5\n"));
    assert_string_equal(outcome.errors, "wetdbg: time 5000 is outside the run (1 to 1001)\n"
                                        "wetdbg: unknown command 'nonsense' (try 'help')\n");
    outcome_fini(&outcome);
}

static void batch_ends_when_interrupted(void **state)
{
    (void)state;
    char *words[] = {"--batch", "-e", "slice crash", "-e", "print x", NULL};
    struct outcome outcome;
    fake_slice_is_interrupted = true;
    run_on("fake.wet", words, &outcome);
    fake_slice_is_interrupted = false;
    assert_int_equal(outcome.status, CLI_EXIT_INTERRUPTED);
    assert_null(strstr(outcome.answer, "x = -5"));
    outcome_fini(&outcome);
}

static void scripts_and_commands_keep_their_order(void **state)
{
    (void)state;
    char path[] = "/tmp/wetdbg-test-XXXXXX";
    char *words[] = {"--batch", "-e", "goto 1", "-x", path, "-e", "print now", NULL};
    static const char script[] = "# at 20\ngoto 20\nbad\ngoto 30\n";
    struct outcome outcome;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, script, strlen(script)), strlen(script));
    close(fd);
    run_on("fake.wet", words, &outcome);
    unlink(path);
    assert_int_equal(outcome.status, CLI_EXIT_USAGE);
    assert_non_null(strstr(outcome.answer, "now = 20 "));
    assert_non_null(strstr(outcome.errors, ":3: unknown command 'bad'"));
    outcome_fini(&outcome);
}

static void quit_leaves_the_rest_undone(void **state)
{
    (void)state;
    char *words[] = {"-e", "quit", "-e", "print x", NULL};
    struct outcome outcome;
    run_on("fake.wet", words, &outcome);
    assert_int_equal(outcome.status, 0);
    assert_null(strstr(outcome.answer, "x = -5"));
    outcome_fini(&outcome);
}

static void json_has_one_line_per_command(void **state)
{
    (void)state;
    char *words[] = {"--json", "--batch", "-e", "print x", "-e", "goto 5000", NULL};
    char *none[] = {"--json", "--batch", NULL};
    struct outcome outcome;
    run_on("fake.wet", words, &outcome);
    assert_int_equal(outcome.status, CLI_EXIT_NOT_FOUND);
    char *second = strchr(outcome.answer, '\n') + 1;
    assert_int_equal(strncmp(outcome.answer, "{\"schema\":\"wetdbg.print/1\"", 26), 0);
    assert_int_equal(strncmp(second, "{\"schema\":\"wetdbg.error/1\"", 26), 0);
    assert_int_equal(strchr(second, '\n')[1], 0);
    outcome_fini(&outcome);
    run_on("fake.wet", none, &outcome);
    assert_int_equal(strncmp(outcome.answer, "{\"schema\":\"wetdbg.info/1\"", 25), 0);
    assert_non_null(strstr(outcome.answer, "\"build_seconds\":1.5"));
    outcome_fini(&outcome);
}

static void without_batch_the_input_is_read(void **state)
{
    (void)state;
    char *words[] = {"-e", "goto 7", NULL};
    struct outcome outcome;
    FILE *input = tmpfile();
    int saved = dup(STDIN_FILENO);
    assert_non_null(input);
    fputs("print now\n\nnonsense\n", input);
    rewind(input);
    assert_true(dup2(fileno(input), STDIN_FILENO) >= 0);
    run_on("fake.wet", words, &outcome);
    dup2(saved, STDIN_FILENO);
    close(saved);
    fclose(input);
    assert_int_equal(outcome.status, CLI_EXIT_USAGE);
    assert_non_null(strstr(outcome.answer, "now = 7 '\\a'\n"));
    assert_null(strstr(outcome.answer, "(wetdbg)"));
    outcome_fini(&outcome);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_that_cannot_be_opened_is_an_error),
        cmocka_unit_test(batch_shows_the_crash_and_then_each_answer),
        cmocka_unit_test(batch_status_is_that_of_the_last_failure),
        cmocka_unit_test(batch_ends_when_interrupted),
        cmocka_unit_test(scripts_and_commands_keep_their_order),
        cmocka_unit_test(quit_leaves_the_rest_undone),
        cmocka_unit_test(json_has_one_line_per_command),
        cmocka_unit_test(without_batch_the_input_is_read),
    };
    return cmocka_run_group_tests_name("session run", tests, NULL, NULL);
}
