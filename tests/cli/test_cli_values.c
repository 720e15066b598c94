/* SPDX-License-Identifier: GPL-3.0-or-later */
/* history and search, on a recording of cli_values.c. */
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
    return record_and_hear(WETDBG_PROGRAM " record " CLI_VALUES " 2>/dev/null",
                           "15000 103 put together through a pipe\n");
}

static unsigned line_of(const char *mark)
{
    return line_of_mark(CLI_VALUES_SOURCE, mark);
}

/* The object that the last of the commands answers; `commands` are -e options. */
static json_t *ask(const char *commands)
{
    char args[1024], *text;
    snprintf(args, sizeof(args), "replay --json --batch %s", commands);
    int status = run_wetdbg(args, &text);
    size_t length = strlen(text);
    while (length && text[length - 1] == '\n')
        text[--length] = 0;
    char *last = strrchr(text, '\n');
    json_t *object = json_loads(last ? last + 1 : text, 0, NULL);
    if (status != 0 || !object)
        fail_msg("'%s' gave status %d and said: %s", commands, status, text);
    free(text);
    return object;
}

static json_t *row_of(json_t *object, const char *list, size_t index)
{
    json_t *row = json_array_get(json_object_get(object, list), index);
    if (!row)
        fail_msg("there is no row %zu: %s", index, json_dumps(object, 0));
    return row;
}

static void assert_row(json_t *object, size_t index, const char *before, const char *after,
                       const char *mark)
{
    json_t *row = row_of(object, "writes", index);
    const char *was = json_string_value(json_object_get(row, "before"));
    const char *is = json_string_value(json_object_get(row, "after"));
    if ((before && strcmp(was, before) != 0) || strcmp(is, after) != 0 ||
        json_integer_value(json_object_get(row, "line")) != line_of(mark))
        fail_msg("row %zu is %s", index, json_dumps(row, 0));
}

static size_t count_of(json_t *object, const char *list)
{
    return json_array_size(json_object_get(object, list));
}

static void history_of_a_global_has_each_write(void **state)
{
    (void)state;
    json_t *object = ask("-e 'history total'");
    assert_int_equal(count_of(object, "writes"), 5);
    assert_row(object, 0, "10000", "15000", "SUM");
    assert_row(object, 4, "0", "1000", "SUM");
    assert_true(json_is_true(json_object_get(object, "complete")));
    json_decref(object);
    object = ask("-e 'history total --reverse --limit 2'");
    assert_int_equal(count_of(object, "writes"), 2);
    assert_row(object, 0, "0", "1000", "SUM");
    assert_row(object, 1, "1000", "3000", "SUM");
    assert_false(json_is_true(json_object_get(object, "complete")));
    json_decref(object);
}

static void history_before_and_after_the_current_time(void **state)
{
    char commands[256];
    (void)state;
    snprintf(commands, sizeof(commands), "-e 'goto cli_values.c:%u#3' -e 'history total --before'",
             line_of("SUM"));
    json_t *object = ask(commands);
    assert_int_equal(count_of(object, "writes"), 2);
    assert_row(object, 0, "1000", "3000", "SUM");
    json_decref(object);
    snprintf(commands, sizeof(commands), "-e 'goto cli_values.c:%u#3' -e 'history total --after'",
             line_of("SUM"));
    object = ask(commands);
    assert_int_equal(count_of(object, "writes"), 3);
    assert_row(object, 2, "3000", "6000", "SUM");
    json_decref(object);
}

/* The same function is active four times, one in the other: each has its own. */
static void history_of_a_local_is_that_of_its_frame(void **state)
{
    (void)state;
    for (unsigned k = 1; k <= 4; k++) {
        char commands[256], value[16], later[16];
        unsigned level = 4 - k;
        snprintf(commands, sizeof(commands), "-e 'goto cli_values.c:%u#%u' -e 'history local'",
                 line_of("BEGIN"), k);
        snprintf(value, sizeof(value), "%u", level);
        snprintf(later, sizeof(later), "%u", level + 100);
        json_t *object = ask(commands);
        assert_int_equal(count_of(object, "writes"), 2);
        assert_row(object, 0, value, later, "AGAIN");
        assert_row(object, 1, NULL, value, "BEGIN");
        json_decref(object);
    }
}

static void history_names_the_system_call(void **state)
{
    (void)state;
    json_t *object = ask("-e 'history received'");
    assert_int_equal(count_of(object, "writes"), 1);
    json_t *row = row_of(object, "writes", 0);
    assert_string_equal(json_string_value(json_object_get(row, "syscall")), "read");
    assert_string_equal(json_string_value(json_object_get(row, "by")), "kernel");
    assert_int_equal(json_integer_value(json_object_get(row, "line")), line_of("READ"));
    json_decref(object);
}

static void assert_hit(json_t *object, size_t index, const char *mark)
{
    json_t *row = row_of(object, "found", index);
    if (json_integer_value(json_object_get(row, "line")) != line_of(mark))
        fail_msg("hit %zu is %s", index, json_dumps(row, 0));
}

static void search_finds_text_that_came_together_byte_by_byte(void **state)
{
    (void)state;
    json_t *object = ask("-e 'search --string \"put together\"'");
    assert_hit(object, 0, "BYTE");
    assert_hit(object, 1, "COPY");
    json_decref(object);
}

static void search_finds_numbers_where_they_are_stored(void **state)
{
    (void)state;
    json_t *object = ask("-e 'search 6000 --size 8'");
    assert_hit(object, 0, "SUM");
    assert_int_equal(count_of(object, "found"), 1);
    json_decref(object);
    object = ask("-e 'search 15000 --size 8 --limit 1'");
    assert_hit(object, 0, "SUM");
    json_decref(object);
    object = ask("-e 'search 6000 --registers'");
    assert_hit(object, 0, "SUM");
    assert_string_equal(json_string_value(json_object_get(row_of(object, "found", 0), "register")),
                        "rax");
    json_decref(object);
}

static void search_finds_what_the_kernel_brought(void **state)
{
    (void)state;
    json_t *object = ask("-e 'search --bytes \"74 68 72 6f 75 67 68 20 61 20 70 69\" --limit 1'");
    assert_hit(object, 0, "READ");
    assert_string_equal(json_string_value(json_object_get(row_of(object, "found", 0), "syscall")),
                        "read");
    json_decref(object);
}

static void search_without_a_find_is_status_1(void **state)
{
    char *text;
    (void)state;
    assert_int_equal(run_wetdbg("replay --batch -e 'search --string \"nowhere at all\"'", &text),
                     1);
    assert_non_null(strstr(text, "not found in what was written"));
    free(text);
    assert_int_equal(run_wetdbg("replay --batch -e 'search --bytes \"1 2\"'", &text), 2);
    free(text);
    assert_int_equal(run_wetdbg("replay --batch -e 'search 1 --string x'", &text), 2);
    free(text);
    assert_int_equal(run_wetdbg("replay --batch -e 'search 300 --size 1'", &text), 2);
    assert_non_null(strstr(text, "does not fit"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(history_of_a_global_has_each_write),
        cmocka_unit_test(history_before_and_after_the_current_time),
        cmocka_unit_test(history_of_a_local_is_that_of_its_frame),
        cmocka_unit_test(history_names_the_system_call),
        cmocka_unit_test(search_finds_text_that_came_together_byte_by_byte),
        cmocka_unit_test(search_finds_numbers_where_they_are_stored),
        cmocka_unit_test(search_finds_what_the_kernel_brought),
        cmocka_unit_test(search_without_a_find_is_status_1),
    };
    return cmocka_run_group_tests_name("values", tests, record, cli_place_end);
}
