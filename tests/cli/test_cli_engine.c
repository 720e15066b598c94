/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a program to answers about its crash, through the command line alone. */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/cli/cli_place.h"
#include "tests/cli/cli_program.h"

static int record(void **state)
{
    (void)state;
    if (cli_place_make() != 0)
        return -1;
    /* The shell stands between, so that the crash is a status and no signal to us. */
    return record_and_hear("bash -c '" WETDBG_PROGRAM " record " CLI_SAMPLE
                           " hello 2>/dev/null' 2>/dev/null; echo status $?",
                           "argument hello\nstatus 139\n");
}

static unsigned line_of(const char *mark)
{
    return line_of_mark(CLI_SAMPLE_SOURCE, mark);
}

/* Answer to one command of the prompt about the newest recording. */
static int ask(const char *command, char **text)
{
    char args[512];
    snprintf(args, sizeof(args), "replay --batch -e '%s'", command);
    return run_wetdbg(args, text);
}

static json_t *ask_json(const char *command)
{
    char args[512], *text;
    snprintf(args, sizeof(args), "replay --json --batch -e '%s'", command);
    int status = run_wetdbg(args, &text);
    json_t *object = json_loads(text, 0, NULL);
    if (status != 0 || !object)
        fail_msg("'%s' gave status %d and said: %s", command, status, text);
    free(text);
    return object;
}

static json_t *line_in(json_t *slice, unsigned line)
{
    json_t *lines = json_object_get(slice, "lines");
    for (size_t i = 0; i < json_array_size(lines); i++) {
        json_t *row = json_array_get(lines, i);
        if (strcmp(json_string_value(json_object_get(row, "file")), CLI_SAMPLE_SOURCE) == 0 &&
            json_integer_value(json_object_get(row, "line")) == line)
            return row;
    }
    return NULL;
}

static void verification_alone_keeps_nothing(void **state)
{
    char *text;
    (void)state;
    assert_int_equal(run_wetdbg("replay --no-trace --json", &text), 0);
    json_t *object = json_loads(text, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(object, "schema")), "wetdbg.replay/1");
    assert_true(json_integer_value(json_object_get(object, "events_checked")) > 50);
    assert_true(json_integer_value(json_object_get(object, "instructions")) > 10000);
    json_decref(object);
    free(text);
    assert_int_not_equal(run_shell("ls \"$_RR_TRACE_DIR\"/*/*.wet 2>/dev/null", &text), 0);
    free(text);
}

static void opening_shows_signal_line_and_calls(void **state)
{
    char *text, frame[128];
    (void)state;
    assert_int_equal(run_wetdbg("replay --batch", &text), 0);
    assert_non_null(strstr(text, "SIGSEGV (address not mapped: 0x4)"));
    snprintf(frame, sizeof(frame), "cli_sample.c:%u: return found->tag; /* CRASH */\n",
             line_of("CRASH"));
    assert_non_null(strstr(text, frame));
    snprintf(frame, sizeof(frame), "value=12) at cli_sample.c:%u\n", line_of("CRASH"));
    assert_non_null(strstr(text, frame));
    snprintf(frame, sizeof(frame), ") at cli_sample.c:%u\n", line_of("CALL"));
    assert_non_null(strstr(text, frame));
    free(text);
}

/* With 12,000 calls, of which 10,000 are looked at: a screen of them and no more. */
static void opening_after_deep_recursion_is_short(void **state)
{
    char command[256], *text;
    (void)state;
    snprintf(command, sizeof(command), "bash -c '%s record -o %s/deep %s down 12000' 2>/dev/null",
             WETDBG_PROGRAM, cli_place, CLI_SAMPLE);
    assert_int_equal(run_shell(command, &text), 139);
    free(text);
    snprintf(command, sizeof(command), "replay %s/deep --batch", cli_place);
    assert_int_equal(run_wetdbg(command, &text), 0);
    assert_non_null(strstr(text, "\n #19 "));
    assert_null(strstr(text, "\n #20 "));
    assert_non_null(strstr(text, "\n(at least 9980 more frames)\n"));
    free(text);
    snprintf(command, sizeof(command), "rm %s/deep", cli_place);
    assert_int_equal(run_wetdbg(command, &text), 0);
    free(text);
}

static void slice_of_the_crash_holds_the_fault(void **state)
{
    (void)state;
    json_t *slice = ask_json("slice backward crash");
    assert_string_equal(json_string_value(json_object_get(slice, "criterion")), "crash");
    json_t *fault = line_in(slice, line_of("FAULT"));
    assert_non_null(fault);
    assert_string_equal(json_string_value(json_object_get(fault, "function")), "main");
    assert_non_null(line_in(slice, line_of("CRASH")));
    assert_non_null(line_in(slice, line_of("STEP")));
    assert_null(line_in(slice, line_of("CALL") + 1));
    json_decref(slice);
}

static void why_leads_from_the_crash_to_the_fault(void **state)
{
    char args[256], *text;
    (void)state;
    snprintf(args, sizeof(args),
             "replay --json --batch -e 'slice backward crash' -e 'why cli_sample.c:%u'",
             line_of("FAULT"));
    assert_int_equal(run_wetdbg(args, &text), 0);
    json_t *object = json_loads(strchr(text, '\n') + 1, 0, NULL);
    json_t *hops = json_object_get(object, "hops");
    json_t *first = json_array_get(hops, 0);
    json_t *last = json_array_get(hops, json_array_size(hops) - 1);
    assert_true(json_array_size(hops) >= 2);
    assert_string_equal(json_string_value(json_object_get(first, "kind")), "criterion");
    assert_int_equal(json_integer_value(json_object_get(first, "line")), line_of("CRASH"));
    assert_int_equal(json_integer_value(json_object_get(last, "line")), line_of("FAULT"));
    for (size_t i = 1; i < json_array_size(hops); i++)
        assert_true(json_integer_value(json_object_get(json_array_get(hops, i), "time")) <
                    json_integer_value(json_object_get(json_array_get(hops, i - 1), "time")));
    json_decref(object);
    free(text);
}

static void values_at_the_crash_are_the_program_s(void **state)
{
    static const struct {
        const char *command, *says;
    } rows[] = {
        {"print value", "value = 12\n"},
        {"print/x value", "value = 0xc\n"},
        {"print found", "found = (struct item *) 0x0\n"},
        {"print list->value", "list->value = 9\n"},
        {"print list->tag", "list->tag = 100 'd'\n"},
        {"print *list->next->next->next",
         "*list->next->next->next = {value = 0, tag = 97 'a', next = 0x0}\n"},
        {"output", "+15     \"argument hello\\n\"\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *text;
        int status = ask(rows[i].command, &text);
        if (status != 0 || !strstr(text, rows[i].says))
            fail_msg("'%s' gave %d and said: %s", rows[i].command, status, text);
        free(text);
    }
}

static void instances_of_a_line_are_as_many_as_it_ran(void **state)
{
    char command[64];
    (void)state;
    snprintf(command, sizeof(command), "instances cli_sample.c:%u", line_of("PUSH"));
    json_t *object = ask_json(command);
    assert_int_equal(json_integer_value(json_object_get(object, "count")), 4);
    assert_int_equal(json_array_size(json_object_get(object, "instances")), 4);
    json_decref(object);
    /* 0 is found after 3 steps, 3 after 2, 6 after 1, 9 at once, 12 never: 4. */
    snprintf(command, sizeof(command), "instances cli_sample.c:%u", line_of("STEP"));
    object = ask_json(command);
    assert_int_equal(json_integer_value(json_object_get(object, "count")), 3 + 2 + 1 + 4);
    json_decref(object);
}

static void instances_of_a_line_that_never_ran_are_one_object(void **state)
{
    char command[128], *text;
    (void)state;
    snprintf(command, sizeof(command), "replay --json --batch -e 'instances cli_sample.c:%u'",
             line_of("DEEP"));
    assert_int_equal(run_wetdbg(command, &text), 1);
    json_t *object = json_loads(text, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(object, "schema")), "wetdbg.error/1");
    assert_non_null(strstr(json_string_value(json_object_get(object, "message")), "did not run"));
    json_decref(object);
    free(text);
}

static void writes_of_what_was_there_are_no_changes(void **state)
{
    char *text;
    (void)state;
    assert_int_equal(ask("history same --changes", &text), 0);
    if (!strstr(text, "nothing changed it from time 1 to ") ||
        !strstr(text, ": 1 write of what was there already\n"))
        fail_msg("it said: %s", text);
    free(text);
}

static void verb_for_the_other_kind_is_named(void **state)
{
    char command[256], *text;
    (void)state;
    snprintf(command, sizeof(command), "replay -o %s/other.wet --batch", cli_place);
    assert_int_equal(run_wetdbg(command, &text), 0);
    free(text);
    snprintf(command, sizeof(command), "replay --batch %s/other.wet", cli_place);
    assert_int_equal(run_wetdbg(command, &text), 2);
    assert_non_null(strstr(text, "is not a trace directory: 'wetdbg open "));
    free(text);
    assert_int_equal(run_wetdbg("open --batch cli_sample-0", &text), 2);
    assert_non_null(
        strstr(text, "cli_sample-0 is a recording: 'wetdbg replay cli_sample-0' opens it\n"));
    free(text);
}

static void reader_that_leaves_ends_the_slice_quietly(void **state)
{
    char *text;
    (void)state;
    assert_int_equal(run_shell("bash -c '" WETDBG_PROGRAM
                               " replay --batch -e \"slice backward crash --all\" | head -n 1 | "
                               "wc -l; echo ${PIPESTATUS[0]}' 2>&1",
                               &text),
                     0);
    assert_string_equal(text, "1\n0\n");
    free(text);
}

static void questions_without_an_answer_give_status_1(void **state)
{
    char *text;
    (void)state;
    assert_int_equal(ask("slice backward exit", &text), 1);
    free(text);
    assert_int_equal(ask("why cli_sample.c:1", &text), 2);
    free(text);
    assert_int_equal(ask("instances cli_sample.c:1", &text), 1);
    free(text);
    assert_int_equal(ask("slice backward cli_sample.c", &text), 1);
    free(text);
}

static void info_of_recording_and_file_are_the_same(void **state)
{
    char command[256], *text, *again;
    (void)state;
    snprintf(command, sizeof(command), "replay -o %s/kept.wet --batch", cli_place);
    assert_int_equal(run_wetdbg(command, &text), 0);
    free(text);
    assert_int_equal(run_wetdbg("info --json cli_sample-0", &text), 0);
    snprintf(command, sizeof(command), "info --json %s/kept.wet", cli_place);
    assert_int_equal(run_wetdbg(command, &again), 0);
    json_t *one = json_loads(text, 0, NULL), *two = json_loads(again, 0, NULL);
    static const char *const same[] = {"program",  "argv",         "exit",           "signal",
                                       "threads",  "nodes",        "loads",          "stores",
                                       "syscalls", "instructions", "node_executions"};
    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
        assert_non_null(json_object_get(one, same[i]));
        assert_true(json_equal(json_object_get(one, same[i]), json_object_get(two, same[i])));
    }
    assert_true(json_real_value(json_object_get(one, "bits_per_instruction")) > 0);
    assert_true(json_integer_value(json_object_get(one, "wet_bytes")) >
                json_integer_value(json_object_get(one, "static_bytes")));
    json_decref(one);
    json_decref(two);
    free(text);
    free(again);
}

/* Last: the recording goes away, the file stays. */
static void file_needs_no_recording(void **state)
{
    char command[256], *text;
    (void)state;
    assert_int_equal(run_wetdbg("rm cli_sample-0", &text), 0);
    free(text);
    assert_int_equal(run_wetdbg("replay --batch", &text), 1);
    free(text);
    snprintf(command, sizeof(command), "open %s/kept.wet --batch -e \"print value\"", cli_place);
    assert_int_equal(run_wetdbg(command, &text), 0);
    assert_non_null(strstr(text, "value = 12\n"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verification_alone_keeps_nothing),
        cmocka_unit_test(opening_shows_signal_line_and_calls),
        cmocka_unit_test(opening_after_deep_recursion_is_short),
        cmocka_unit_test(slice_of_the_crash_holds_the_fault),
        cmocka_unit_test(why_leads_from_the_crash_to_the_fault),
        cmocka_unit_test(values_at_the_crash_are_the_program_s),
        cmocka_unit_test(instances_of_a_line_are_as_many_as_it_ran),
        cmocka_unit_test(instances_of_a_line_that_never_ran_are_one_object),
        cmocka_unit_test(writes_of_what_was_there_are_no_changes),
        cmocka_unit_test(verb_for_the_other_kind_is_named),
        cmocka_unit_test(reader_that_leaves_ends_the_slice_quietly),
        cmocka_unit_test(questions_without_an_answer_give_status_1),
        cmocka_unit_test(info_of_recording_and_file_are_the_same),
        cmocka_unit_test(file_needs_no_recording),
    };
    return cmocka_run_group_tests_name("engine", tests, record, cli_place_end);
}
