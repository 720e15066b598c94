/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bookmarks on the run of cli_fake_run.h, kept in a directory of their own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dbgcli/commands/bookmark.h"
#include "dbgcli/commands/session.h"
#include "tests/cli/cli_place.h"
#include "tests/cli/cli_prompt.h"
#include "tests/cli/cli_unit.h"
#include <wetdbg/errors.h>

static int make_place(void **state)
{
    (void)state;
    return cli_place_make();
}

static int set_up(void **state)
{
    struct cli_prompt *f = calloc(1, sizeof(*f));
    *state = f;
    return cli_prompt_open(f);
}

static int tear_down(void **state)
{
    struct cli_prompt *f = *state;
    cli_prompt_close(f);
    free(f);
    return cli_place_end(state) || !mkdir(cli_place, 0700) ? 0 : -1;
}

static void expect(struct cli_prompt *f, const char *line, int status, const char *said)
{
    int got = cli_prompt_execute(f, line);
    const char *answer = got ? f->said.errors : f->said.answer;
    if (got != status || strcmp(answer, said) != 0)
        fail_msg("'%s' gave %d and said:\n%s%s", line, got, f->said.answer, f->said.errors);
}

static void bookmark_names_a_time_that_goto_and_print_take(void **state)
{
    struct cli_prompt *f = *state;
    expect(f, "bookmark", 0, "no bookmarks\n");
    expect(f, "bookmark late", 0, "late is time 1001: helper at util.c:30\n");
    expect(f, "bookmark early 9", 0, "early is time 9: main at main.c:10\n");
    expect(f, "bookmarks", 0,
           "early            time 9              main at main.c:10\n"
           "late             time 1001           helper at util.c:30\n");
    expect(f, "goto early", 0, "time 9: main at main.c:10\n10\tmain line 10;\n");
    expect(f, "print now@late", 0, "now = 233 '\\351'\n");
    expect(f, "bookmark again early", 0, "again is time 9: main at main.c:10\n");
    expect(f, "bookmark here now", 0, "here is time 9: main at main.c:10\n");
}

static void bookmark_of_a_known_name_is_replaced(void **state)
{
    struct cli_prompt *f = *state;
    expect(f, "bookmark one 9", 0, "one is time 9: main at main.c:10\n");
    expect(f, "bookmark one 10", 0, "one is time 10: main at main.c:11\n");
    expect(f, "bookmark", 0, "one              time 10             main at main.c:11\n");
    expect(f, "bookmark --delete one", 0, "");
    expect(f, "bookmark", 0, "no bookmarks\n");
}

static void bookmark_errors_say_what_to_do(void **state)
{
    struct cli_prompt *f = *state;
    expect(f, "bookmark start", 2,
           "'start' cannot be the name of a bookmark: letters, digits, '_', '-' and '.', at most "
           "63, and not start, end, crash or now\n");
    expect(f, "bookmark 9lives", 2,
           "'9lives' cannot be the name of a bookmark: letters, digits, '_', '-' and '.', at most "
           "63, and not start, end, crash or now\n");
    expect(f, "bookmark x 5000", 1, "time 5000 is outside the run (1 to 1001)\n");
    expect(f, "bookmark overrun 9", 0, "overrun is time 9: main at main.c:10\n");
    expect(f, "goto overun", 1, "no bookmark is called 'overun'; did you mean 'overrun'?\n");
    expect(f, "goto else", 2,
           "'else' is no time: a number, start, end, crash, now, output:OFFSET, FILE:LINE#K, "
           "FUNCTION#K or a "
           "bookmark\n");
    expect(f, "bookmark --delete nobody", 1, "no bookmark is called 'nobody'\n");
    expect(f, "bookmark a -d b", 2, "bookmark: --delete NAME takes nothing else ('a')\n");
}

static void bookmarks_of_two_sessions_are_joined(void **state)
{
    struct cli_prompt *f = *state;
    struct cli_bookmarks *other = cli_bookmarks_new("fake.wet");
    struct cli_bookmark mark = {.name = "theirs", .time = 5};
    expect(f, "bookmark mine 9", 0, "mine is time 9: main at main.c:10\n");
    assert_int_equal(cli_bookmarks_set(other, &mark), 0);
    expect(f, "bookmark", 0,
           "theirs           time 5              \n"
           "mine             time 9              main at main.c:10\n");
    cli_bookmarks_free(other);
}

static void bookmarks_of_another_file_are_not_seen(void **state)
{
    struct cli_prompt *f = *state;
    struct cli_bookmarks *other = cli_bookmarks_new("other.wet");
    wetdbg_time time;
    expect(f, "bookmark mine 9", 0, "mine is time 9: main at main.c:10\n");
    assert_int_equal(cli_bookmarks_find(other, "mine", &time), -WETDBG_ERR_NOT_FOUND);
    cli_bookmarks_free(other);
}

static void bookmarks_file_with_nonsense_gives_the_rest(void **state)
{
    struct cli_prompt *f = *state;
    char command[256];
    expect(f, "bookmark mine 9", 0, "mine is time 9: main at main.c:10\n");
    snprintf(command, sizeof(command),
             "f=$(ls %s/wetdbg/bookmarks/* | grep -v lock); "
             "printf 'x\\n\\n\\t\\t\\nbad time\\tzz\\t\\nwith\\t7' >>$f",
             cli_place);
    assert_int_equal(system(command), 0);
    expect(f, "bookmark", 0,
           "with             time 7              \n"
           "mine             time 9              main at main.c:10\n");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(bookmark_names_a_time_that_goto_and_print_take),
        CASE(bookmark_of_a_known_name_is_replaced),
        CASE(bookmark_errors_say_what_to_do),
        CASE(bookmarks_of_two_sessions_are_joined),
        CASE(bookmarks_of_another_file_are_not_seen),
        CASE(bookmarks_file_with_nonsense_gives_the_rest),
    };
    return cmocka_run_group_tests_name("bookmarks", tests, make_place, cli_place_end);
}
