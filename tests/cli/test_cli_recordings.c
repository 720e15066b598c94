/* SPDX-License-Identifier: GPL-3.0-or-later */
/* record, ls, ps, dump and rm on real recordings, in a place of their own. */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/cli/cli_program.h"

static char place[] = "/tmp/wetdbg-recordings-XXXXXX";

/* Records once what most tests look at: a shell that starts another program and exits with 7. */
static int record(void **state)
{
    char command[512], *text;
    (void)state;
    if (!mkdtemp(place) || setenv("_RR_TRACE_DIR", place, 1) != 0)
        return -1;
    snprintf(command, sizeof(command),
             WETDBG_PROGRAM " record -o %s/shell sh -c 'echo said; cat /dev/null; exit 7' "
                            "2>/dev/null",
             place);
    int status = run_shell(command, &text);
    if (status != 7 || strcmp(text, "said\n") != 0)
        print_error("recording gave status %d and said: %s", status, text);
    int result = status == 7 && strcmp(text, "said\n") == 0 ? 0 : -1;
    free(text);
    return result;
}

static int remove_place(void **state)
{
    char command[256], *text;
    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", place);
    int status = run_shell(command, &text);
    free(text);
    return status;
}

static json_t *answer_of(const char *args)
{
    char *text;
    assert_int_equal(run_wetdbg(args, &text), 0);
    json_t *object = json_loads(text, 0, NULL);
    if (!object)
        fail_msg("'wetdbg %s' is no JSON: %s", args, text);
    free(text);
    return object;
}

static void record_gives_125_where_the_failure_is_ours(void **state)
{
    char args[256], *text;
    (void)state;
    snprintf(args, sizeof(args), "record -o %s/shell true", place);
    assert_int_equal(run_wetdbg(args, &text), 125);
    assert_non_null(strstr(text, "/shell"));
    free(text);
    snprintf(args, sizeof(args), "record -o %s/none /nonexistent/program", place);
    assert_int_equal(run_wetdbg(args, &text), 125);
    assert_non_null(strstr(text, "/nonexistent/program"));
    free(text);
}

static void record_ends_by_the_program_s_signal(void **state)
{
    char command[512], *text;
    (void)state;
    snprintf(command, sizeof(command),
             "bash -c '%s record -o %s/killed -- bash -c \"kill -TERM \\$\\$\" 2>/dev/null' "
             "2>/dev/null; echo $?",
             WETDBG_PROGRAM, place);
    assert_int_equal(run_shell(command, &text), 0);
    assert_string_equal(text, "143\n");
    free(text);
    snprintf(command, sizeof(command), "ps --json %s/killed", place);
    json_t *object = answer_of(command);
    json_t *first = json_array_get(json_object_get(object, "processes"), 0);
    assert_string_equal(json_string_value(json_object_get(first, "signal")), "SIGTERM");
    assert_true(json_is_null(json_object_get(first, "exit")));
    json_decref(object);
}

/* How many times rr put what it had buffered into the recording. */
static int count_flushes(const char *option, const char *name)
{
    char command[1024], *text;
    snprintf(command, sizeof(command),
             WETDBG_PROGRAM " record %s -o %s/%s ls / >/dev/null 2>&1 && " WETDBG_PROGRAM
                            " dump %s/%s >%s/%s.dump && awk '/SYSCALLBUF_FLUSH/ { count++ } "
                            "END { print count + 0; exit NR < 10 }' %s/%s.dump",
             option, place, name, place, name, place, name, place, name);
    assert_int_equal(run_shell(command, &text), 0);
    int count = atoi(text);
    free(text);
    return count;
}

static void record_buffers_calls_only_if_asked(void **state)
{
    char *text;
    (void)state;
    assert_true(count_flushes("--syscallbuf", "buffered") > 0);
    assert_int_equal(count_flushes("", "unbuffered"), 0);
    assert_int_equal(count_flushes("--no-syscallbuf", "not-buffered"), 0);
    assert_int_equal(run_wetdbg("record --syscallbuf --no-syscallbuf true", &text), 2);
    assert_non_null(strstr(text, "exclude each other"));
    free(text);
}

static void check_is_one_object_with_a_verdict(void **state)
{
    char *text;
    (void)state;
    assert_int_equal(run_wetdbg("record --check --json", &text), 0);
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    json_t *object = json_loads(text, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(object, "schema")), "wetdbg.check/1");
    assert_non_null(json_object_get(object, "verdict"));
    json_decref(object);
    free(text);
}

static void ls_shows_the_recording_by_name(void **state)
{
    (void)state;
    json_t *object = answer_of("ls --json");
    json_t *list = json_object_get(object, "recordings");
    bool is_found = false;
    assert_string_equal(json_string_value(json_object_get(object, "schema")), "wetdbg.ls/1");
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *row = json_array_get(list, i);
        if (strcmp(json_string_value(json_object_get(row, "name")), "shell") != 0)
            continue;
        is_found = true;
        assert_string_equal(json_string_value(json_object_get(row, "state")), "finished");
        assert_true(json_integer_value(json_object_get(row, "bytes")) > 0);
    }
    assert_true(is_found);
    json_decref(object);
}

/* On the error output: who reads the list finds it empty. */
static void ls_says_that_there_is_none(void **state)
{
    char command[512], *text;
    (void)state;
    snprintf(command, sizeof(command), "_RR_TRACE_DIR=%s/nothing %s ls 2>/dev/null", place,
             WETDBG_PROGRAM);
    assert_int_equal(run_shell(command, &text), 0);
    assert_string_equal(text, "");
    free(text);
    snprintf(command, sizeof(command), "_RR_TRACE_DIR=%s/nothing %s ls 2>&1", place,
             WETDBG_PROGRAM);
    assert_int_equal(run_shell(command, &text), 0);
    assert_non_null(strstr(text, "there is no recording in"));
    assert_non_null(strstr(text, "/nothing yet"));
    free(text);
}

static void ps_shows_processes_by_name_of_recording(void **state)
{
    (void)state;
    json_t *object = answer_of("ps --json shell");
    json_t *list = json_object_get(object, "processes");
    json_t *shell = json_array_get(list, 0), *cat = json_array_get(list, 1);
    assert_int_equal(json_array_size(list), 2);
    assert_int_equal(json_integer_value(json_object_get(shell, "exit")), 7);
    assert_true(json_is_null(json_object_get(shell, "parent")));
    assert_true(json_equal(json_object_get(shell, "pid"), json_object_get(cat, "parent")));
    assert_string_equal(json_string_value(json_array_get(json_object_get(cat, "argv"), 1)),
                        "/dev/null");
    json_decref(object);
}

static void dump_is_json_line_by_line(void **state)
{
    char *text, *line, *rest;
    size_t count = 0;
    (void)state;
    assert_int_equal(
        run_wetdbg("dump --events --mmaps --tasks --data --registers --json shell", &text), 0);
    for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        json_t *object = json_loads(line, 0, NULL);
        const char *schema = json_string_value(json_object_get(object, "schema"));
        if (!schema || strcmp(schema, "wetdbg.dump/1") != 0)
            fail_msg("no object of a dump: %s", line);
        json_decref(object);
        count++;
    }
    assert_true(count > 100);
    free(text);
}

static void dump_ends_quietly_when_nobody_reads_on(void **state)
{
    char *text;
    (void)state;
    assert_int_equal(run_shell("bash -c '" WETDBG_PROGRAM
                               " dump --events --data --registers shell | head -n 1 | wc -l; "
                               "echo ${PIPESTATUS[0]}' 2>&1",
                               &text),
                     0);
    assert_string_equal(text, "1\n0\n");
    free(text);
}

static void rm_removes_recordings_and_nothing_else(void **state)
{
    char args[256], *text;
    (void)state;
    snprintf(args, sizeof(args), "record -o %s/second true", place);
    assert_int_equal(run_wetdbg(args, &text), 0);
    free(text);
    assert_int_equal(run_wetdbg("rm missing second", &text), 1);
    free(text);
    assert_int_equal(run_wetdbg("ps second", &text), 1);
    free(text);
    snprintf(args, sizeof(args), "rm %s", place);
    assert_int_not_equal(run_wetdbg(args, &text), 0);
    free(text);
    json_decref(answer_of("ps --json shell"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(record_gives_125_where_the_failure_is_ours),
        cmocka_unit_test(record_ends_by_the_program_s_signal),
        cmocka_unit_test(record_buffers_calls_only_if_asked),
        cmocka_unit_test(check_is_one_object_with_a_verdict),
        cmocka_unit_test(ls_shows_the_recording_by_name),
        cmocka_unit_test(ls_says_that_there_is_none),
        cmocka_unit_test(ps_shows_processes_by_name_of_recording),
        cmocka_unit_test(dump_is_json_line_by_line),
        cmocka_unit_test(dump_ends_quietly_when_nobody_reads_on),
        cmocka_unit_test(rm_removes_recordings_and_nothing_else),
    };
    return cmocka_run_group_tests_name("recordings", tests, record, remove_place);
}
