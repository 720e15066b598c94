/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program as a user runs it: statuses, messages, help against the man page. */
#include <ctype.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cli/cli_program.h"
#include "tests/skipped.h"

static void argument_errors_say_what_and_give_status_2(void **state)
{
    (void)state;
    static const struct {
        const char *args;
        int status;
        const char *says;
    } rows[] = {
        {"", 2, "usage: wetdbg VERB"},
        {"recrod", 2, "wetdbg: unknown verb 'recrod'; did you mean 'record'?\n"},
        {"xyzzy", 2, "wetdbg: unknown verb 'xyzzy' (see 'wetdbg help')\n"},
        {"--verison", 2, "wetdbg: unknown option '--verison'; did you mean '--version'?\n"},
        {"-q", 2, "wetdbg: unknown option '-q' (see 'wetdbg help')\n"},
        {"ls --jsno", 2, "wetdbg: ls: unknown option '--jsno'; did you mean '--json'?\n"},
        {"ls extra", 2, "wetdbg: ls: unexpected argument 'extra'"},
        {"rm", 2, "wetdbg: rm: something is missing; usage: rm TRACE..."},
        {"ps one two", 2, "wetdbg: ps: unexpected argument 'two'"},
        {"dump", 2, "wetdbg: dump: something is missing"},
        {"dump --events=1 x", 2, "wetdbg: dump: option '--events' takes no value\n"},
        {"record", 2, "wetdbg: record: which program?"},
        {"record -o", 2, "wetdbg: record: option '-o' needs a value: DIR\n"},
        {"record --ticks=sundial true", 2, "auto, hardware or software, not 'sundial'\n"},
        {"record --json true", 2, "record: --json goes with --check only\""},
        {"record --check true", 2, "wetdbg: record: --check takes no program ('true')\n"},
        {"replay --bach", 2, "wetdbg: replay: unknown option '--bach'; did you mean '--batch'?\n"},
        {"replay one two", 2, "wetdbg: replay: unexpected argument 'two'"},
        {"replay --no-trace -e info", 2, "wetdbg: replay: --no-trace leaves nothing for -e\n"},
        {"verify --memory=1M x.wet", 2,
         "wetdbg: verify: option '--memory' needs a size of 16M or more, such as 500M or 4G, not "
         "'1M'\n"},
        {"replay -e", 2, "wetdbg: replay: option '-e' needs a value: COMMAND\n"},
        {"replay /nonexistent/trace", 1, "/nonexistent/trace"},
        {"open", 2, "wetdbg: open: something is missing"},
        {"open --batch /nonexistent/file.wet", 1, "/nonexistent/file.wet"},
        {"open --batch /dev/null", 3, "/dev/null"},
        {"info", 2, "wetdbg: info: something is missing"},
        {"info /nonexistent/trace", 1, "/nonexistent/trace"},
        {"info --process=1 " WETDBG_MAN_PAGE, 2, "info: --process goes with a recording only\n"},
        {"info " WETDBG_MAN_PAGE, 3, "wetdbg.1"},
        {"help xyzzy", 2, "wetdbg: no verb 'xyzzy' (see 'wetdbg help')\n"},
        {"help dmup", 2, "wetdbg: no verb 'dmup'; did you mean 'dump'?\n"},
        {"help slice", 2,
         "wetdbg: 'slice' is a command of the prompt; 'help slice' there explains it\n"},
        {"ps /nonexistent/trace", 1, "/nonexistent/trace"},
        {"dump /nonexistent/trace", 1, "/nonexistent/trace"},
        {"rm /nonexistent/trace", 1, "/nonexistent/trace"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *text;
        int status = run_wetdbg(rows[i].args, &text);
        if (status != rows[i].status || !strstr(text, rows[i].says))
            fail_msg("'wetdbg %s' gave status %d and said: %s", rows[i].args, status, text);
        free(text);
    }
}

static void errors_in_json_are_one_object_on_standard_output(void **state)
{
    (void)state;
    static const struct {
        const char *args;
        int status;
    } rows[] = {
        {"ls --json --nonsense", 2},
        {"ps --json one two", 2},
        {"ps --json /nonexistent/trace", 1},
        {"dump --json /nonexistent/trace", 1},
        {"replay --json --no-trace /nonexistent/trace", 1},
        {"info --json " WETDBG_MAN_PAGE, 3},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char command[512], *text;
        snprintf(command, sizeof(command), "%s %s 2>/dev/null", WETDBG_PROGRAM, rows[i].args);
        assert_int_equal(run_shell(command, &text), rows[i].status);
        json_t *object = json_loads(text, 0, NULL);
        if (!object)
            fail_msg("'wetdbg %s' is no JSON: %s", rows[i].args, text);
        assert_string_equal(json_string_value(json_object_get(object, "schema")), "wetdbg.error/1");
        assert_int_equal(json_integer_value(json_object_get(object, "status")), rows[i].status);
        json_decref(object);
        free(text);
    }
}

static void version_and_help_succeed_in_each_spelling(void **state)
{
    (void)state;
    static const struct {
        const char *args, *says;
    } rows[] = {
        {"--version", "wetdbg "},          {"version", "wetdbg "},
        {"--help", "usage: wetdbg"},       {"-h", "usage: wetdbg"},
        {"help", "usage: wetdbg"},         {"help record", "usage: wetdbg record"},
        {"ls --help", "usage: wetdbg ls"}, {"record -h", "usage: wetdbg record"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *text;
        assert_int_equal(run_wetdbg(rows[i].args, &text), 0);
        assert_int_equal(strncmp(text, rows[i].says, strlen(rows[i].says)), 0);
        free(text);
    }
}

static void complete_offers_what_the_tables_have(void **state)
{
    static const struct {
        const char *words, *offered;
    } rows[] = {
        {"re", "record\nreplay\n"},
        {"--v", "--version\n"},
        {"record --ti", "--ticks\n"},
        {"record --ticks s", "software\n"},
        {"replay --ba", "--batch\n"},
        {"open --color ''", "auto\nalways\nnever\n"},
        {"open --color =", "auto\nalways\nnever\n"},
        {"open --color = al", "always\n"},
        {"replay --output = dir/f", "*\n"},
        {"open = x", "*.wet\n"},
        {"open x", "*.wet\n"},
        {"help rec", "record\n"},
        {"nosuch x", ""},
        {"record ./a", "*\n"},
        {"dd --unit t", "token\ntree\n"},
        {"dd --runs l", "live\n"},
        {"dd --fail x", "*\n"},
        {"dd ./a", "*\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char args[128], *text;
        snprintf(args, sizeof(args), "complete %s", rows[i].words);
        assert_int_equal(run_wetdbg(args, &text), 0);
        assert_string_equal(text, rows[i].offered);
        free(text);
    }
}

static void bash_completes_with_it(void **state)
{
    char *text;
    (void)state;
    assert_int_equal(run_shell("bash -c '. " WETDBG_BASH_COMPLETION "; COMP_WORDS=(" WETDBG_PROGRAM
                               " re); COMP_CWORD=1; _wetdbg; echo \"${COMPREPLY[@]}\"'",
                               &text),
                     0);
    assert_string_equal(text, "record replay\n");
    free(text);
    assert_int_equal(
        run_shell("bash -c '. " WETDBG_BASH_COMPLETION "; cd /; COMP_WORDS=(" WETDBG_PROGRAM
                  " replay --output = et); COMP_CWORD=4; _wetdbg; echo \"${COMPREPLY[@]}\"'",
                  &text),
        0);
    assert_string_equal(text, "etc\n");
    free(text);
}

static void color_is_as_asked_for(void **state)
{
    char *text;
    (void)state;
    assert_int_equal(run_wetdbg("open --color=sometimes nosuch.wet", &text), 2);
    assert_non_null(strstr(text, "--color is auto, always or never, not 'sometimes'"));
    free(text);
}

static void ls_of_an_empty_place_is_an_empty_list(void **state)
{
    (void)state;
    char *text;
    assert_int_equal(
        run_shell("_RR_TRACE_DIR=/nonexistent/place " WETDBG_PROGRAM " ls --json", &text), 0);
    assert_string_equal(text, "{\"schema\":\"wetdbg.ls/1\",\"recordings\":[]}\n");
    free(text);
}

static void reader_that_leaves_ends_it_quietly(void **state)
{
    (void)state;
    char *text;
    int status =
        run_shell("bash -c '" WETDBG_PROGRAM " help | true; echo ${PIPESTATUS[0]}' 2>&1", &text);
    assert_int_equal(status, 0);
    assert_string_equal(text, "0\n");
    free(text);
}

static void full_output_is_reported(void **state)
{
    (void)state;
    char *text;
    assert_int_equal(run_shell(WETDBG_PROGRAM " help 2>&1 >/dev/full", &text), 5);
    assert_string_equal(text, "wetdbg: cannot write the output: No space left on device\n");
    free(text);
}

/* ---- help against the man page ---- */

#define WORDS_MAX 200
#define WORD_MAX  80

/* "verb --option" for each option of each verb, sorted by first occurrence. */
struct word_set {
    char words[WORDS_MAX][WORD_MAX];
    size_t count;
};

static bool set_has(const struct word_set *set, const char *word)
{
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->words[i], word) == 0)
            return true;
    return false;
}

static void set_add(struct word_set *set, const char *verb, const char *option, size_t length)
{
    char word[WORD_MAX];
    snprintf(word, sizeof(word), "%s %.*s", verb, (int)length, option);
    if (set_has(set, word))
        return;
    assert_true(set->count < WORDS_MAX);
    strcpy(set->words[set->count++], word);
}

/* Options in a line of text: a dash after a blank, bracket, bar or comma. */
static void add_options(struct word_set *set, const char *verb, const char *line)
{
    for (const char *at = line; (at = strchr(at, '-')); at++) {
        bool is_start = at == line || strchr(" [|,(", at[-1]);
        size_t length = strspn(at, "-");
        if (!is_start || length > 2 || !isalpha((unsigned char)at[length])) {
            at += length - 1;
            continue;
        }
        while (isalnum((unsigned char)at[length]) || at[length] == '-')
            length++;
        if (at[1] != '-')
            length = 2;
        set_add(set, verb, at, length);
        at += length - 1;
    }
}

/* Undoes what the man page needs: "\-" for a dash, macros, font changes. */
static void strip_roff(char *line)
{
    char *to = line, *from = line;
    if (*from == '.')
        from += strcspn(from, " \n");
    for (; *from; from++) {
        if (from[0] == '\\' && from[1] == 'f')
            from += 2;
        else if (from[0] == '\\')
            continue;
        else if (from[0] != '"')
            *to++ = *from;
    }
    *to = 0;
}

static void read_help(struct word_set *set)
{
    char *text, verb[WORD_MAX] = "", *line, *rest;
    assert_int_equal(run_wetdbg("help", &text), 0);
    for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (sscanf(line, " wetdbg %60s", verb) == 1)
            set_add(set, verb, "", 0);
        /* Of option lines only the first column; the rest is prose. */
        const char *first = line + strspn(line, " ");
        if (*first == '-' && first - line <= 6 && strlen(line) > 24)
            line[24] = 0;
        if (*verb && line[0] == ' ')
            add_options(set, verb, line);
    }
    free(text);
}

static void read_man_page(struct word_set *set)
{
    char line[1024], verb[WORD_MAX] = "";
    bool is_heading = false;
    FILE *file = fopen(WETDBG_MAN_PAGE, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        bool is_tag = is_heading;
        is_heading = strncmp(line, ".TP", 3) == 0;
        if (strncmp(line, ".SH", 3) == 0)
            verb[0] = 0;
        bool is_verb = strncmp(line, ".SS wetdbg ", 11) == 0;
        strip_roff(line);
        if (is_verb) {
            assert_int_equal(sscanf(line, " wetdbg %60s", verb), 1);
            set_add(set, verb, "", 0);
        }
        if (*verb && (is_verb || is_tag))
            add_options(set, verb, line);
    }
    fclose(file);
}

static void help_and_man_page_know_the_same_options(void **state)
{
    (void)state;
    static struct word_set help, page;
    read_help(&help);
    read_man_page(&page);
    assert_true(set_has(&help, "record --ticks") && set_has(&help, "record -o"));
    assert_true(set_has(&page, "dump --registers"));
    for (size_t i = 0; i < help.count; i++)
        if (!set_has(&page, help.words[i]))
            fail_msg("the man page does not know '%s'", help.words[i]);
    for (size_t i = 0; i < page.count; i++)
        if (!set_has(&help, page.words[i]))
            fail_msg("help does not know '%s'", page.words[i]);
}

static void man_page_is_clean_roff(void **state)
{
    (void)state;
    char *text;
    int status = run_shell("command -v groff >/dev/null || exit 77; "
                           "groff -man -Tutf8 -ww -z " WETDBG_MAN_PAGE " 2>&1",
                           &text);
    if (status == 77) {
        skipped_say("test_cli_command_line", "the manual page: groff is not installed");
        free(text);
        skip();
    }
    assert_int_equal(status, 0);
    assert_string_equal(text, "");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(argument_errors_say_what_and_give_status_2),
        cmocka_unit_test(errors_in_json_are_one_object_on_standard_output),
        cmocka_unit_test(version_and_help_succeed_in_each_spelling),
        cmocka_unit_test(ls_of_an_empty_place_is_an_empty_list),
        cmocka_unit_test(reader_that_leaves_ends_it_quietly),
        cmocka_unit_test(full_output_is_reported),
        cmocka_unit_test(complete_offers_what_the_tables_have),
        cmocka_unit_test(bash_completes_with_it),
        cmocka_unit_test(color_is_as_asked_for),
        cmocka_unit_test(help_and_man_page_know_the_same_options),
        cmocka_unit_test(man_page_is_clean_roff),
    };
    return cmocka_run_group_tests_name("command line", tests, NULL, NULL);
}
