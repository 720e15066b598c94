/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What help says of the prompt's commands: that it is true, fits, and agrees with the man page. */
#include <stdio.h>
#include <string.h>

#include "dbgcli/commands/session.h"
#include "dbgcli/repl/words.h"
#include "tests/cli/cli_prompt.h"
#include "tests/cli/cli_rows.h"
#include "tests/cli/cli_unit.h"
#include <wetdbg/errors.h>

/* Whoever adds a command shows how it is used. */
static void each_command_has_an_example_that_it_takes(void **state)
{
    (void)state;
    for (const struct cli_command *c = cli_commands; c->name; c++) {
        const struct cli_command *named;
        struct cli_words words;
        struct cli_args args;
        if (!c->syntax->example || !c->syntax->usage)
            fail_msg("'help %s' has no %s", c->name, c->syntax->example ? "usage" : "example");
        assert_int_equal(cli_words_split(&words, c->syntax->example), 0);
        char *slash = strchr(words.list[0], '/');
        if (slash)
            *slash = 0;
        assert_int_equal(cli_command_find(cli_commands, words.list[0], &named), 0);
        assert_ptr_equal(named, c);
        assert_true(!slash || c->takes_format);
        int count = (int)words.count - 1;
        if (c->syntax->is_raw && count > 1)
            count = 1; /* the rest of the line */
        if (cli_args_parse(&args, c->name, c->syntax, count, words.list + 1) != 0)
            fail_msg("'%s': %s", c->syntax->example, wetdbg_error(-WETDBG_ERR_USAGE));
        cli_args_fini(&args);
        cli_words_fini(&words);
    }
}

#define COLUMNS_MAX 100

static void help_fits_the_width(void **state)
{
    struct cli_prompt *f = *state;
    for (const struct cli_command *c = cli_commands; c->name; c++) {
        char line[64];
        snprintf(line, sizeof(line), "help %s", c->name);
        assert_int_equal(cli_prompt_execute(f, line), 0);
        for (const char *at = f->said.answer; *at; at += strspn(at, "\n")) {
            size_t length = strcspn(at, "\n");
            if (length > COLUMNS_MAX)
                fail_msg("'%s' has a line of %zu columns: %.*s", line, length, (int)length, at);
            at += length;
        }
    }
}

/* The man page's forms of a criterion: what follows each .TP of the list, without its fonts. */
static void read_forms_of_man_page(char *forms, size_t size)
{
    FILE *page = fopen(WETDBG_MAN_SOURCE, "r"), *to = fmemopen(forms, size, "w");
    char line[1024];
    bool is_list = false, is_form = false;
    assert_non_null(page);
    while (fgets(line, sizeof(line), page) && !(is_list && strcmp(line, ".RE\n") == 0)) {
        const char *at = is_form ? strchr(line, ' ') : "";
        for (; *at; at++)
            if (at[0] == '\\' && at[1] == 'f')
                at += 2;
            else if (*at != ' ' && *at != '"')
                putc(*at, to);
        if (!is_list && strcmp(line, ".B crash\n") == 0) {
            fputs("crash\n", to);
            is_list = true;
        }
        is_form = is_list && strcmp(line, ".TP\n") == 0;
    }
    fclose(page);
    fclose(to);
}

static void read_forms_of_help(char *forms, size_t size)
{
    FILE *to = fmemopen(forms, size, "w");
    const char *at = strstr(cli_cmd_slice_syntax.details, "is one of\n");
    assert_non_null(at);
    while ((at = strchr(at, '\n')) && *++at)
        if (strncmp(at, "  ", 2) == 0 && at[2] != ' ')
            fprintf(to, "%.*s\n", (int)strcspn(at + 2, " "), at + 2);
    fclose(to);
}

static void help_and_man_page_have_the_same_criteria(void **state)
{
    char help[2048] = "", page[2048] = "";
    (void)state;
    read_forms_of_help(help, sizeof(help));
    read_forms_of_man_page(page, sizeof(page));
    assert_non_null(strstr(help, "VARIABLE[@TIME]\n"));
    assert_string_equal(page, help);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(help_fits_the_width, cli_rows_open, cli_rows_close),
        cmocka_unit_test(help_and_man_page_have_the_same_criteria),
        cmocka_unit_test(each_command_has_an_example_that_it_takes),
    };
    return cmocka_run_group_tests_name("help", tests, NULL, NULL);
}
