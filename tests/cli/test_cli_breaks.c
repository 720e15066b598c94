/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Breakpoints, and commands that have others run, on the run of cli_fake_run.h. */
#include "tests/cli/cli_fake_run.h"
#include "tests/cli/cli_prompt.h"
#include "tests/cli/cli_rows.h"
#include "tests/cli/cli_unit.h"

/* Runs lines of which the last one ends blocks; its status. */
static int execute_lines(struct cli_prompt *f, const char *const *lines)
{
    int status = 0;
    for (; *lines; lines++)
        status = cli_prompt_execute(f, *lines);
    return status;
}

static void lines_of_commands_get_a_name(void **state)
{
    static const char *const made[] = {
        "define inner", "print $arg0 * 2", "end", "define outer", "inner $arg0",
        "print $argc",  "print 3",         "end", "outer 21 x",   NULL};
    static const char *const told[] = {"document outer", "Says numbers.", "end", "help outer",
                                       NULL};
    static const char *const endless[] = {"define again", "again", "end", "again", NULL};
    static const struct cli_row rows[] = {
        {"help inner", 0, "print $arg0 * 2\n"},
        {"define list", 2, "define: 'list' is a command already\n"},
        {"define a/b", 2, "define: a name has letters, digits, '-', '_' and '.', not '/'\n"},
        {"document nobody", 1, "document: 'define' made no command 'nobody'\n"},
        {"source /nonexistent", 5, "cannot read '/nonexistent': No such file or directory\n"},
        {"echo a\\tb\\n", 0, "a\tb\n"},
        {"printf \"%d\"", 2, "printf: a value is missing for the format\n"},
        {"printf \"%n\", 1", 2, "printf: '%n' is no conversion that is there\n"},
        {"printf \"x\", 1", 2, "printf: ', 1' has no place in the format\n"},
        {"printf x", 2,
         "printf: a format in quotes comes first; usage: printf \"FORMAT\"[, EXPRESSION]...\n"},
        {"apropos confidence", 0,
         "prune             what is left of a slice without what led to right output\n"},
        {"apropos (", 2, "apropos: '(': Unmatched ( or \\(\n"},
        {"apropos qqq", 1, "no command has to do with 'qqq'\n"},
    };
    struct cli_prompt *f = *state;
    assert_int_equal(execute_lines(f, made), 0);
    assert_string_equal(f->said.answer, "21 * 2 = 42\n2 = 2\n3 = 3\n");
    assert_int_equal(execute_lines(f, told), 0);
    assert_string_equal(f->said.answer, "Says numbers.\n");
    assert_int_equal(execute_lines(f, endless), 2);
    assert_string_equal(f->said.errors, "'again' calls itself without end\n");
    cli_rows_check(f, rows, sizeof(rows) / sizeof(*rows));
}

static void breakpoints_stop_both_ways_and_count(void **state)
{
    static const struct cli_row rows[] = {
        {"info breakpoints", 0, "No breakpoints, watchpoints or catchpoints.\n"},
        {"break main.c:12 if 2 > 1", 0,
         "Breakpoint 1 at 0x1020: file main.c, line 12. It is reached 124 times in the run.\n"},
        {"run", 0, "Breakpoint 1, time 3: main at main.c:12\n12\tmain line 12;\n"},
        {"tbreak main.c:14", 0,
         "Temporary breakpoint 2 at 0x1040: file main.c, line 14. It is reached 124 times in the "
         "run.\n"},
        {"continue", 0, "Temporary breakpoint 2, time 5: main at main.c:14\n14\tmain line 14;\n"},
        {"continue", 0, "Breakpoint 1, time 11: main at main.c:12\n12\tmain line 12;\n"},
        {"reverse-continue", 0, "Breakpoint 1, time 3: main at main.c:12\n12\tmain line 12;\n"},
        {"continue 3", 0,
         "Will ignore next 2 crossings of breakpoint 1.  Continuing.\n"
         "Breakpoint 1, time 27: main at main.c:12\n12\tmain line 12;\n"},
        {"ignore 1 2", 0, "Will ignore next 2 crossings of breakpoint 1.\n"},
        {"info breakpoints", 0,
         "Num     Type           Disp Enb Address            What\n"
         "1       breakpoint     keep y   0x0000000000001020 in main at main.c:12\n"
         "\tstop only if 2 > 1\n"
         "\tbreakpoint already hit 6 times\n"
         "\tignore next 2 hits\n"
         "\treached 124 times in the run\n"},
        {"condition 1 0", 0, ""},
        {"continue", 0, "time 1001: helper at util.c:30\n30\treturn *p;?[31m\n"},
        {"condition 1", 0, "Breakpoint 1 now unconditional.\n"},
        {"ignore 1 0", 0, "Will stop next time breakpoint 1 is reached.\n"},
        {"display 6 * 7", 0, "1: 6 * 7 = 42\n"},
        {"reverse-continue", 0,
         "Breakpoint 1, time 987: main at main.c:12\n12\tmain line 12;\n1: 6 * 7 = 42\n"},
        {"undisplay 1", 0, ""},
        {"disable 1", 0, ""},
        {"reverse-continue", 0, "time 1: main at main.c:10\n10\tmain line 10;\n"},
        {"enable once 1", 0, ""},
        {"continue", 0, "Breakpoint 1, time 3: main at main.c:12\n12\tmain line 12;\n"},
        {"advance main.c:16", 0, "time 7: main at main.c:16\n16\tmain line 16;\n"},
        {"clear main.c:12", 0, "Deleted breakpoint 1\n"},
    };
    cli_rows_check(*state, rows, sizeof(rows) / sizeof(*rows));
}

static void what_cannot_stop_is_refused(void **state)
{
    static const struct cli_row rows[] = {
        {"break nowhere", 1, "no function is called 'nowhere'\n"},
        {"break main.c:12 if", 2, "behind 'if' comes a condition\n"},
        {"break main.c:12 thread 7", 1, "there is no thread 7: there are 1 to 1\n"},
        {"break main.c:12 if nothing", 1,
         "no variable 'nothing' is visible here, in main (main.c:12, time 3)\n"},
        {"watch 3", 3,
         "'3' is not in memory here but in a register, or was computed: only memory is watched "
         "(try 'origin 3')\n"},
        {"catch nonsense", 2,
         "catch: 'nonsense' cannot be caught; usage: catch syscall, signal, fork, vfork, exec, "
         "throw, rethrow or catch\n"},
        {"catch syscall nonsense", 2, "catch: no system call is called 'nonsense'\n"},
        {"catch signal SIGUSR1 write", 2, "catch: no signal is called 'write'\n"},
        {"catch throw", 1, "the program has no C++ exceptions: nothing is called '__cxa_throw'\n"},
        {"delete 1", 1, "there is no breakpoint number 1\n"},
        {"ignore x 1", 2, "'x' is no number of a breakpoint\n"},
        {"disable 3-1", 2, "'3-1' is no number of a breakpoint\n"},
        {"commands", 1, "there are no breakpoints yet\n"},
        {"continue nosuch", 1, "no function is called 'nosuch'\n"},
        {"continue nofile.c:main", 1, "no function of nofile.c is called 'main'\n"},
        {"advance nosuch", 1, "no function is called 'nosuch'\n"},
        {"break nosuch", 1, "no function is called 'nosuch'\n"},
        {"continue 2", 1, "no breakpoint stopped here that could be passed 2 times\n"},
        {"undisplay 4", 1, "there is no display number 4\n"},
        {"rbreak ^nothing", 1, "no function with lines matches '^nothing'\n"},
        {"clear main.c:12", 1, "no breakpoint is at main.c:12\n"},
    };
    cli_rows_check(*state, rows, sizeof(rows) / sizeof(*rows));
}

/* Lines that are typed one by one. */
static void lines_run_by_conditions(void **state)
{
    static const struct cli_row rows[] = {
        {"if 2 > 1", 0, ""},
        {"print 1", 0, ""},
        {"else", 0, ""},
        {"print 2", 0, ""},
        {"end", 0, "1 = 1\n"},
        {"if(2 < 1)", 0, ""},
        {"print 1", 0, ""},
        {"if 1", 0, ""},
        {"else", 0, ""},
        {"end", 0, ""},
        {"else", 0, ""},
        {"print 2", 0, ""},
        {"end", 0, "2 = 2\n"},
        {"set $n = 0", 0, ""},
        {"while 1", 0, ""},
        {"set $n = $n + 1", 0, ""},
        {"if $n == 2", 0, ""},
        {"loop_continue", 0, ""},
        {"end", 0, ""},
        {"if $n > 3000", 0, ""},
        {"loop_break", 0, ""},
        {"end", 0, ""},
        {"while $n < 4", 0, ""},
        {"echo inner\\n", 0, ""},
        {"loop_break", 0, ""},
        {"end", 0, ""},
        {"end", 0, "inner\ninner\n"},
        {"print $n", 0, "$n = 3001\n"},
        {"while 0", 0, ""},
        {"print 1", 0, ""},
        {"end", 0, ""},
        {"loop_break", 2, "loop_break: it stands in no 'while'\n"},
        {"define leave", 0, ""},
        {"loop_break", 0, ""},
        {"end", 0, ""},
        {"while 1", 0, ""},
        {"leave", 0, ""},
        {"end", 2, "loop_break: it stands in no 'while'\n"},
        {"while nothing", 0, ""},
        {"end", 1, "no variable 'nothing' is visible here, in helper (util.c:30, time 1001)\n"},
        {"if", 2, "if: something is missing; usage: if CONDITION\n"},
        {"else", 2, "'else' is no command here: it stands between 'if CONDITION' and its 'end'\n"},
        {"document leave", 0, ""},
        {"if this is a word of the text", 0, ""},
        {"end", 0, ""},
        {"print 3", 0, "3 = 3\n"},
        {"printf \"%s, %4s\\n\", \"a, b\", \"c\"", 0, "a, b,    c\n"},
        {"break main.c:12", 0,
         "Breakpoint 1 at 0x1020: file main.c, line 12. It is reached 124 times in the run.\n"},
        {"commands $bpnum", 0, ""},
        {"silent", 0, ""},
        {"if $bpnum == 1", 0, ""},
        {"print $bpnum", 0, ""},
        {"end", 0, ""},
        {"end", 0, ""},
        {"run", 0, "$bpnum = 1\n"},
        {"commands 1", 0, ""},
        {"end", 0, ""},
        {"continue", 0, "Breakpoint 1, time 11: main at main.c:12\n12\tmain line 12;\n"},
        {"delete $bpnum", 0, ""},
        {"delete $nothing", 2, "'$nothing' is no number of a breakpoint\n"},
    };
    cli_rows_check(*state, rows, sizeof(rows) / sizeof(*rows));
}

static void commands_of_a_breakpoint_are_run_when_it_stops(void **state)
{
    static const struct cli_row rows[] = {
        {"break main.c:12", 0,
         "Breakpoint 1 at 0x1020: file main.c, line 12. It is reached 124 times in the run.\n"},
        {"commands", 0, ""},
        {"silent", 0, ""},
        {"print 40 + 2", 0, ""},
        {"end", 0, ""},
        {"run", 0, "40 + 2 = 42\n"},
        {"goto now", 0, "time 3: main at main.c:12\n12\tmain line 12;\n"},
    };
    cli_rows_check(*state, rows, sizeof(rows) / sizeof(*rows));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, cli_rows_open, cli_rows_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(breakpoints_stop_both_ways_and_count),
        CASE(what_cannot_stop_is_refused),
        CASE(lines_run_by_conditions),
        CASE(commands_of_a_breakpoint_are_run_when_it_stops),
        CASE(lines_of_commands_get_a_name),
    };
    return cmocka_run_group_tests_name("breaks", tests, NULL, NULL);
}
