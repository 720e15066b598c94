/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers on their way out: untrusted text in both forms, styles, ends of pipes and full disks. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dbgcli/exit_status.h"
#include "dbgcli/out.h"
#include "dbgcli/progress.h"
#include "tests/cli/cli_unit.h"
#include <wetdbg/errors.h>

/* What `write` makes of a string that is all there is in `out`. */
static char *collect(void (*write)(struct cli_out *out, const char *text), const char *text)
{
    char *result;
    size_t size;
    struct cli_out out = {.stream = open_memstream(&result, &size)};
    write(&out, text);
    fclose(out.stream);
    return result;
}

static void write_quoted(struct cli_out *out, const char *text)
{
    cli_out_quoted(out, text, strlen(text));
}

static void out_text_loses_control_characters(void **state)
{
    (void)state;
    char *text = collect(cli_out_text, "a\tb\033[31mc\nd\177\xc3\xa9");
    assert_string_equal(text, "a\tb?[31mc?d?\xc3\xa9");
    free(text);
}

/* A control character is stopped whichever way it got into the stream; cut in pieces anywhere,
 * since the stream is. */
static void out_stream_passes_no_control_characters(void **state)
{
    static const struct {
        bool is_styled;
        const char *from, *to;
    } rows[] = {
        {false, "a\tb\n", "a\tb\n"},
        {false, "a\033[31mc\r\b\177\001", "a?[31mc????"},
        {false, "\033[1mb\033[0m", "?[1mb?[0m"},
        {true, "\033[1mb\033[0m\033[2m\033[7m\033", "\033[1mb\033[0m\033[2m?[7m"},
        {true, "\033\033[\033[1x\033[1m", "??[?[1x\033[1m"},
        {true, "\033[32mf\033[0m\033[33mg\033[35m\033[3\033[36m",
         "\033[32mf\033[0m\033[33mg?[35m?[3\033[36m"},
        {false, "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {false,
         "\xc2\x9b"
         "1m \x9b",
         "??1m ?"}, /* C1: also an escape */
        {false, "\xe2\x82 \xf0\x9f\xc3\xa9 \xed\xa0\x80 \xff", "?? ??\xc3\xa9 ??? ?"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        size_t size = strlen(rows[i].from);
        for (size_t cut = 0; cut <= size; cut++) {
            struct cli_filter filter = {0};
            char to[128];
            size_t used = cli_filter_pass(&filter, rows[i].is_styled, rows[i].from, cut, to);
            used += cli_filter_pass(&filter, rows[i].is_styled, rows[i].from + cut, size - cut,
                                    to + used);
            to[used] = 0;
            assert_string_equal(to, rows[i].to);
        }
    }
}

static void out_quoted_is_a_c_literal(void **state)
{
    (void)state;
    char *text = collect(write_quoted, "a\n\"\\\001\xff\xc3\xa9\xc2\x9b");
    assert_string_equal(text, "a\\n\\\"\\\\\\001\\377\xc3\xa9\\302\\233");
    free(text);
}

static void out_json_text_is_always_valid_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
    } rows[] = {
        {"plain", "plain"},
        {"\xff", "\xef\xbf\xbd"},
        {"a\xc3", "a\xef\xbf\xbd"},
        {"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"},                                 /* overlong NUL */
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},                 /* a surrogate */
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* > 10FFFF */
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        json_t *value = cli_json_text(rows[i].from);
        assert_string_equal(json_string_value(value), rows[i].to);
        json_decref(value);
    }
    assert_true(json_is_null(cli_json_text(NULL)));
}

static void write_json(struct cli_out *out, const char *text)
{
    cli_out_json(out, json_pack("[o]", cli_json_text(text)));
}

/* Escaped, so that no filter of the stream replaces them and a reader gets them back. */
static void out_json_escapes_all_control_characters(void **state)
{
    (void)state;
    char *text = collect(write_json, "\177a\033\177\177b\n\177");
    assert_string_equal(text, "[\"\\u007fa\\u001B\\u007f\\u007fb\\n\\u007f\"]\n");
    free(text);
}

static void out_json_counts_above_63_bits_are_strings(void **state)
{
    (void)state;
    json_t *value = cli_json_count(UINT64_MAX);
    assert_string_equal(json_string_value(value), "18446744073709551615");
    json_decref(value);
    value = cli_json_count(INT64_MAX);
    assert_true(json_is_integer(value));
    json_decref(value);
}

static void out_error_is_a_line_or_an_object(void **state)
{
    (void)state;
    char *answer, *errors;
    size_t answer_size, errors_size;
    struct cli_out out = {
        .stream = open_memstream(&answer, &answer_size),
        .errors = open_memstream(&errors, &errors_size),
    };
    wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no %s\n here", "such");
    assert_int_equal(cli_out_error(&out, "wetdbg", -WETDBG_ERR_NOT_FOUND), CLI_EXIT_NOT_FOUND);
    out.json = true;
    assert_int_equal(cli_out_error(&out, "wetdbg", -WETDBG_ERR_NOT_FOUND), CLI_EXIT_NOT_FOUND);
    fclose(out.stream);
    fclose(out.errors);
    assert_string_equal(errors, "wetdbg: no such? here\n");
    assert_string_equal(answer, "{\"schema\":\"wetdbg.error/1\",\"message\":\"no such\\n here\","
                                "\"status\":1}\n");
    free(answer);
    free(errors);
}

static void out_reader_that_left_is_no_error(void **state)
{
    (void)state;
    struct cli_out out;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(cli_out_init(&out, ends[1], stderr), 0);
    close(ends[0]);
    assert_false(cli_out_is_gone(&out));
    fputs("nobody reads this\n", out.stream);
    fflush(out.stream);
    assert_true(cli_out_is_gone(&out));
    assert_int_equal(cli_out_fini(&out), 0);
    close(ends[1]);
}

static void out_full_disk_is_an_error(void **state)
{
    (void)state;
    struct cli_out out;
    int fd = open("/dev/full", O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(cli_out_init(&out, fd, stderr), 0);
    fputs("no room for this\n", out.stream);
    assert_int_equal(cli_out_fini(&out), -ENOSPC);
    assert_string_equal(wetdbg_error(-ENOSPC), "cannot write the output: No space left on device");
    close(fd);
}

static void progress_shows_part_rate_and_what_is_left(void **state)
{
    (void)state;
    char text[160];
    cli_progress_format(text, sizeof(text), 50, 200, 30000000, 10.0);
    assert_string_equal(text,
                        "[######..................]  25%  30.0 M instructions, 3.0 M/s, left 0:30");
    cli_progress_format(text, sizeof(text), 0, 0, 0, 0.0);
    assert_string_equal(text, "[........................]   0%  0.0 M instructions, 0.0 M/s");
    cli_progress_format(text, sizeof(text), 300, 200, 0, 7200.0);
    assert_non_null(strstr(text, "100%"));
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(out_text_loses_control_characters),
        cmocka_unit_test(out_stream_passes_no_control_characters),
        cmocka_unit_test(out_quoted_is_a_c_literal),
        cmocka_unit_test(out_json_text_is_always_valid_utf8),
        cmocka_unit_test(out_json_escapes_all_control_characters),
        cmocka_unit_test(out_json_counts_above_63_bits_are_strings),
        cmocka_unit_test(out_error_is_a_line_or_an_object),
        cmocka_unit_test(out_reader_that_left_is_no_error),
        cmocka_unit_test(out_full_disk_is_an_error),
        cmocka_unit_test(progress_shows_part_rate_and_what_is_left),
    };
    return cmocka_run_group_tests_name("out", tests, NULL, NULL);
}
