/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parsing options and operands by a table, and what is said of those that are wrong. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "dbgcli/args.h"
#include "dbgcli/suggest.h"
#include "tests/cli/cli_unit.h"
#include <wetdbg/errors.h>

static const struct cli_option options[] = {
    {"output", 'o', "FILE", "where to"},
    {"json", 0, NULL, "as JSON"},
    {NULL, 'e', "COMMAND", "run it"},
    {"limit", 0, "N", "how many"},
    {0},
};

static const struct cli_syntax two_at_most = {
    .usage = "ONE [TWO]",
    .options = options,
    .operands_min = 1,
    .operands_max = 2,
};

static const struct cli_syntax program_last = {
    .usage = "PROGRAM [ARG]...",
    .options = options,
    .operands_min = 1,
    .operands_max = CLI_OPERANDS_ANY,
    .ends_at_operand = true,
};

static int parse(struct cli_args *args, const struct cli_syntax *syntax, char **words)
{
    int count = 0;
    while (words[count])
        count++;
    return cli_args_parse(args, "verb", syntax, count, words);
}

static void args_each_spelling_of_an_option_gives_its_value(void **state)
{
    (void)state;
    char *rows[][5] = {
        {"--output=x", "one"},
        {"--output", "x", "one"},
        {"-o", "x", "one"},
        {"-ox", "one"},
        {"one", "-o", "x"},
        {"-o", "y", "--output=x", "one"},
        {"--json", "one", "--output", "x"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct cli_args args;
        assert_int_equal(parse(&args, &two_at_most, rows[i]), 0);
        assert_string_equal(cli_args_value(&args, "output"), "x");
        assert_int_equal(args.operand_count, 1);
        assert_string_equal(args.operands[0], "one");
        cli_args_fini(&args);
    }
}

static void args_repeated_options_keep_their_order(void **state)
{
    (void)state;
    char *words[] = {"-e", "first", "one", "-esecond", "-e", "--third", NULL};
    static const char *const values[] = {"first", "second", "--third"};
    struct cli_args args;
    assert_int_equal(parse(&args, &two_at_most, words), 0);
    assert_int_equal(args.given_count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(args.given[i].value, values[i]);
    assert_string_equal(cli_args_value(&args, "e"), "--third");
    assert_false(cli_args_has(&args, "json"));
    cli_args_fini(&args);
}

static void args_what_follows_the_program_is_not_ours(void **state)
{
    (void)state;
    char *words[] = {"--json", "prog", "--json", "-x", "--", "-o", NULL};
    struct cli_args args;
    assert_int_equal(parse(&args, &program_last, words), 0);
    assert_int_equal(args.given_count, 1);
    assert_int_equal(args.operand_count, 5);
    assert_string_equal(args.operands[3], "--");
    assert_null(args.operands[5]);
    cli_args_fini(&args);
}

static void args_double_dash_ends_the_options(void **state)
{
    (void)state;
    char *words[] = {"--", "--json", "-", NULL};
    struct cli_args args;
    assert_int_equal(parse(&args, &two_at_most, words), 0);
    assert_int_equal(args.given_count, 0);
    assert_string_equal(args.operands[0], "--json");
    assert_string_equal(args.operands[1], "-");
    cli_args_fini(&args);
}

static void args_errors_name_the_word_at_fault(void **state)
{
    (void)state;
    struct {
        char *words[5];
        const char *says;
    } rows[] = {
        {{"--jsno", "one"}, "unknown option '--jsno'; did you mean '--json'?"},
        {{"--out=x", "one"}, "unknown option '--out=x'; did you mean '--output'?"},
        {{"--zzzzzz", "one"}, "unknown option '--zzzzzz'"},
        {{"-z", "one"}, "unknown option '-z'"},
        {{"--json=1", "one"}, "option '--json' takes no value"},
        {{"one", "--output"}, "option '--output' needs a value: FILE"},
        {{"one", "-o"}, "option '-o' needs a value: FILE"},
        {{NULL}, "something is missing; usage: verb ONE [TWO]"},
        {{"one", "two", "three"}, "unexpected argument 'three'"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct cli_args args;
        assert_int_equal(parse(&args, &two_at_most, rows[i].words), -WETDBG_ERR_USAGE);
        const char *message = wetdbg_error(-WETDBG_ERR_USAGE);
        if (strncmp(message, "verb: ", 6) != 0 || !strstr(message, rows[i].says))
            fail_msg("row %zu says: %s", i, message);
    }
}

static void args_help_wins_over_everything_else(void **state)
{
    (void)state;
    char *words[] = {"--help", "--nonsense", NULL};
    struct cli_args args;
    assert_int_equal(parse(&args, &two_at_most, words), 0);
    assert_true(args.wants_help);
    cli_args_fini(&args);
}

static void number_accepts_only_whole_unsigned_words(void **state)
{
    (void)state;
    struct {
        const char *text;
        bool is_number;
        uint64_t value;
    } rows[] = {
        {"0", true, 0},
        {"010", true, 10},
        {"0x1F", true, 31},
        {"18446744073709551615", true, UINT64_MAX},
        {"18446744073709551616", false, 0},
        {"-1", false, 0},
        {"+1", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
        {"1k", false, 0},
        {"", false, 0},
        {"0x", false, 0},
        {"ff", false, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        uint64_t value = 77;
        if (cli_number_parse(rows[i].text, &value) != rows[i].is_number)
            fail_msg("'%s'", rows[i].text);
        assert_int_equal(value, rows[i].is_number ? rows[i].value : 77);
    }
}

static void option_number_of_another_kind_is_refused(void **state)
{
    (void)state;
    char *words[] = {"--limit=ten", "one", NULL}, *none[] = {"one", NULL};
    struct cli_args args;
    uint64_t number;
    assert_int_equal(parse(&args, &two_at_most, words), 0);
    assert_int_equal(cli_args_number(&args, "limit", 5, &number), -WETDBG_ERR_USAGE);
    cli_args_fini(&args);
    assert_int_equal(parse(&args, &two_at_most, none), 0);
    assert_int_equal(cli_args_number(&args, "limit", 5, &number), 0);
    assert_int_equal(number, 5);
    cli_args_fini(&args);
}

static void suggest_distance_counts_edits_and_swaps(void **state)
{
    (void)state;
    assert_int_equal(cli_edit_distance("record", "record"), 0);
    assert_int_equal(cli_edit_distance("recrod", "record"), 1);
    assert_int_equal(cli_edit_distance("recor", "record"), 1);
    assert_int_equal(cli_edit_distance("", "abc"), 3);
    assert_int_equal(cli_edit_distance("kitten", "sitting"), 3);
    char longest[100];
    memset(longest, 'a', sizeof(longest));
    longest[99] = 0;
    assert_int_equal(cli_edit_distance(longest, "a"), UINT_MAX);
}

static void suggest_offers_the_nearest_or_nothing(void **state)
{
    (void)state;
    static const char *const words[] = {"record", "replay", "ls", "dump"};
    struct {
        const char *wanted, *best;
    } rows[] = {
        {"recrod", "record"}, {"rep", "replay"}, {"dmup", "dump"}, {"xyzzy", NULL}, {"q", NULL}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct cli_suggestion suggestion = {.wanted = rows[i].wanted};
        for (size_t j = 0; j < 4; j++)
            cli_suggestion_offer(&suggestion, words[j]);
        if (rows[i].best)
            assert_string_equal(suggestion.best, rows[i].best);
        else
            assert_null(suggestion.best);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(args_each_spelling_of_an_option_gives_its_value),
        cmocka_unit_test(args_repeated_options_keep_their_order),
        cmocka_unit_test(args_what_follows_the_program_is_not_ours),
        cmocka_unit_test(args_double_dash_ends_the_options),
        cmocka_unit_test(args_errors_name_the_word_at_fault),
        cmocka_unit_test(args_help_wins_over_everything_else),
        cmocka_unit_test(number_accepts_only_whole_unsigned_words),
        cmocka_unit_test(option_number_of_another_kind_is_refused),
        cmocka_unit_test(suggest_distance_counts_edits_and_swaps),
        cmocka_unit_test(suggest_offers_the_nearest_or_nothing),
    };
    return cmocka_run_group_tests_name("args", tests, NULL, NULL);
}
