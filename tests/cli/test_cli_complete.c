/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What Tab offers, on the run of cli_fake_run.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/commands/complete_words.h"
#include "dbgcli/commands/session.h"
#include "tests/cli/cli_place.h"
#include "tests/cli/cli_prompt.h"
#include "tests/cli/cli_unit.h"

static int set_up(void **state)
{
    struct cli_prompt *f = calloc(1, sizeof(*f));
    if (cli_place_make() != 0)
        return -1;
    *state = f;
    int result = cli_prompt_open(f);
    return result ? result : cli_repl_execute(&f->repl, "bookmark overrun 9");
}

static int tear_down(void **state)
{
    struct cli_prompt *f = *state;
    cli_prompt_close(f);
    free(f);
    return cli_place_remove();
}

/* All that is offered for a line whose end the cursor is at, with blanks between. */
static void expect(struct cli_prompt *f, const char *line, const char *offered)
{
    struct cli_completions completions;
    char all[4096] = "";
    cli_complete(&f->repl, line, strlen(line), cli_complete_operand, &completions);
    assert_in_range(completions.start, 0, strlen(line));
    for (size_t i = 0; i < completions.count; i++) {
        assert_in_range(strlen(all) + strlen(completions.list[i]), 0, sizeof(all) - 2);
        strcat(all, i ? " " : "");
        strcat(all, completions.list[i]);
    }
    if (strcmp(all, offered) != 0)
        fail_msg("'%s' offered: %s", line, all);
    cli_completions_fini(&completions);
}

static void first_word_is_a_command(void **state)
{
    expect(*state, "boo", "bookmark");
    expect(*state, "  hi", "history");
    expect(*state, "reverse-s", "reverse-step reverse-stepi");
    expect(*state, "nosuch", "");
    expect(*state, "# boo", "");
}

static void options_come_from_the_command_s_table(void **state)
{
    expect(*state, "history --re", "--reverse");
    expect(*state, "hist x --c", "--changes");
    expect(*state, "goto --", "--help");
    expect(*state, "history --limit --", "");
    expect(*state, "nosuch --", "");
}

static void times_are_keywords_bookmarks_and_files(void **state)
{
    expect(*state, "goto st", "start");
    expect(*state, "goto o", "overrun");
    expect(*state, "goto ", "crash end now overrun start");
    expect(*state, "goto ma", "main main.c:");
    expect(*state, "goto main.c:12#", "main.c:12#-1 main.c:12#1 main.c:12#124");
    expect(*state, "goto main.c:12#12", "main.c:12#124");
    expect(*state, "goto nosuch.c:12#", "");
    expect(*state, "bookmark o", "overrun");
    expect(*state, "bookmark new st", "start");
}

static void criteria_are_keywords_functions_and_files(void **state)
{
    expect(*state, "slice backward cr", "crash");
    expect(*state, "slice b", "backward both");
    expect(*state, "slice backward ma", "main main.c:");
    expect(*state, "why u", "util.c:");
    expect(*state, "slice forward i", "input:");
    expect(*state, "slice output:", "output:/tmp/table: output:1: output:2: output:end");
    expect(*state, "slice backward output:1:", "output:1: output:1:end");
    expect(*state, "slice output:/tmp/table:e", "output:/tmp/table:end");
    expect(*state, "slice main.c:", "main.c:");
    expect(*state, "slice main.c:12:ver", "verbose");
    expect(*state, "chop input:", "input:/tmp/table: input:0:");
    expect(*state, "chop argv:", "argv:0 argv:1");
    expect(*state, "chop argv:1 env:", "env:HOME env:LC_ALL");
    expect(*state, "origin env:H", "env:HOME");
}

static void values_of_options_are_offered(void **state)
{
    expect(*state, "slice --measure=", "dstar jaccard ochiai op2 tarantula");
    expect(*state, "slice backward --measure o", "ochiai op2");
    expect(*state, "switch --order=le", "lefs");
    expect(*state, "prune --wrong argv:", "argv:0 argv:1");
    expect(*state, "prune --ok=ex", "exit");
    expect(*state, "bookmark --delete=o", "overrun");
    expect(*state, "switch --expect=/tmp/nothing-is-called-so", "");
    expect(*state, "switch --expect=/proc/self/envir", "/proc/self/environ");
    expect(*state, "slice --svg /proc/self/fdin", "/proc/self/fdinfo/");
    expect(*state, "slice --against /proc/self/envir", "/proc/self/environ");
    expect(*state, "what-if x=1 --keep /proc/self/envir", "/proc/self/environ");
    expect(*state, "save A /proc/self/envir", "/proc/self/environ");
    expect(*state, "save bre", "breakpoints");
    expect(*state, "let A = load /proc/self/envir", "/proc/self/environ");
    expect(*state, "what-if main.c:12 sw", "switch");
    expect(*state, "what-if x=1 @s", "start");
    expect(*state, "what-if cr", "");
    expect(*state, "what-if i", "input:");
    expect(*state, "slice --limit=", "");
    expect(*state, "slice --nosuch=", "");
}

static void verdicts_of_marks_are_offered(void **state)
{
    expect(*state, "mark ", "bad clear good");
    expect(*state, "mark g", "good");
    expect(*state, "mark bad ma", "main.c:");
}

/* Behind '=' stands what gives a slice: no command that gives none, and no variable. */
static void a_name_is_given_slices_only(void **state)
{
    struct cli_prompt *f = *state;
    cli_prompt_execute(f, "let Sum = slice backward crash");
    expect(f, "let S", "Sum");
    expect(f, "let A = ", "Sum chop load slice");
    expect(f, "let A = sl", "slice");
    expect(f, "let A = slice --in", "");
    expect(f, "let A = slice --t", "--thin");
    expect(f, "slice --in", "--instances");
    expect(f, "let A = slice --a", "");
    expect(f, "let A=ch", "chop");
    expect(f, "let A = Sum & ", "Sum");
    expect(f, "let A = (S", "Sum");
    expect(f, "let A = (Sum|S", "Sum");
    expect(f, "let A = slice forw", "forward");
    expect(f, "let A = slice forward argv:", "argv:0 argv:1");
    expect(f, "let A = slice --thi", "--thin");
    expect(f, "let A = chop argv:0 ex", "exit");
    expect(f, "let A = step ", "Sum");
    expect(f, "show S", "Sum");
    assert_int_equal(cli_prompt_execute(f, "let --delete Sum"), 0);
}

static void expression_offers_variables_members_and_registers(void **state)
{
    expect(*state, "print ", "c x");
    expect(*state, "print/x x", "x");
    expect(*state, "history x + c", "c");
    expect(*state, "p *c", "c");
    expect(*state, "print ver", "verbose");
    expect(*state, "print unknown", "");
    expect(*state, "print s.l", "letter low");
    expect(*state, "print (s).fi", "first");
    expect(*state, "print $r1", "$r10 $r11 $r12 $r13 $r14 $r15");
    expect(*state, "print x@over", "overrun");
    expect(*state, "print x->", "");
    expect(*state, "print nothing.", "");
}

static void subjects_and_commands_are_offered(void **state)
{
    expect(*state, "info prog", "program");
    expect(*state, "info functions hel", "helper");
    expect(*state, "help wh", "what-if whatis while why");
    expect(*state, "set p", "pager print");
    expect(*state, "set print ", "elements pretty repeats");
    expect(*state, "show va", "values");
    expect(*state, "set pager ", "off on");
    expect(*state, "list hel", "helper");
    expect(*state, "frame f", "function");
    expect(*state, "thread a", "apply");
}

/* Whoever adds a command says what Tab offers for it, and be it nothing. */
static void each_command_with_operands_has_a_rule(void **state)
{
    (void)state;
    for (const struct cli_command *c = cli_commands; c->name; c++)
        if (c->syntax->operands_max && !cli_complete_knows(c->name))
            fail_msg("dbgcli/commands/complete_words.c has no rule for '%s'", c->name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_word_is_a_command),
        cmocka_unit_test(options_come_from_the_command_s_table),
        cmocka_unit_test(times_are_keywords_bookmarks_and_files),
        cmocka_unit_test(criteria_are_keywords_functions_and_files),
        cmocka_unit_test(values_of_options_are_offered),
        cmocka_unit_test(verdicts_of_marks_are_offered),
        cmocka_unit_test(a_name_is_given_slices_only),
        cmocka_unit_test(expression_offers_variables_members_and_registers),
        cmocka_unit_test(subjects_and_commands_are_offered),
        cmocka_unit_test(each_command_with_operands_has_a_rule),
    };
    return cmocka_run_group_tests_name("complete", tests, set_up, tear_down);
}
