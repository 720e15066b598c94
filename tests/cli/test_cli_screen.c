/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers on a terminal: what fits, what goes to a pager, and the line of a query that takes its
 * time. */
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dbgcli/out.h"
#include "dbgcli/screen.h"
#include "tests/cli/cli_unit.h"

#define ROWS    10
#define WAIT_MS 60000 /* for what is sure to come */

struct fixture {
    int near, far; /* ours and the person's end of the terminal */
    struct cli_out out;
    char seen[1 << 16];
    size_t size;
};

static void ignore_signal(int number)
{
    (void)number;
}

static int open_terminal(struct fixture *f, const char *pager, bool may_page)
{
    struct winsize size = {.ws_row = ROWS, .ws_col = 40};
    assert_int_equal(setenv("TERM", "xterm", 1), 0); /* a dumb one has no styles */
    assert_int_equal(unsetenv("NO_COLOR"), 0);
    assert_int_equal(setenv("PAGER", pager, 1), 0);
    signal(SIGPIPE, ignore_signal);
    *f = (struct fixture){.near = -1};
    assert_int_equal(openpty(&f->far, &f->near, NULL, NULL, &size), 0);
    assert_int_equal(cli_out_init(&f->out, f->near, stderr), 0);
    return cli_screen_new(f->near, f->near, may_page, &f->out.screen);
}

static void close_terminal(struct fixture *f)
{
    assert_int_equal(cli_out_fini(&f->out), 0);
    cli_screen_free(f->out.screen);
    close(f->near);
    close(f->far);
}

/* Reads what the person sees until `text` is in it. */
static void see(struct fixture *f, const char *text)
{
    struct pollfd end = {.fd = f->far, .events = POLLIN};
    while (!strstr(f->seen, text)) {
        if (poll(&end, 1, WAIT_MS) != 1)
            fail_msg("'%s' is not in what is seen:\n%s", text, f->seen);
        ssize_t count = read(f->far, f->seen + f->size, sizeof(f->seen) - f->size - 1);
        assert_true(count > 0);
        f->size += (size_t)count;
        f->seen[f->size] = 0;
    }
}

static void answer(struct fixture *f, int lines)
{
    cli_out_begin(&f->out);
    for (int i = 1; i <= lines; i++)
        fprintf(f->out.stream, "line %d\n", i);
    cli_out_end(&f->out);
    fprintf(f->out.stream, "end of %d lines\n", lines);
}

static void screen_answer_that_fits_needs_no_pager(void **state)
{
    struct fixture f;
    (void)state;
    assert_int_equal(open_terminal(&f, "sed s/^/paged/", true), 0);
    answer(&f, ROWS - 1);
    see(&f, "end of 9 lines");
    assert_null(strstr(f.seen, "paged"));
    assert_non_null(strstr(f.seen, "line 1\r\nline 2\r\n"));
    close_terminal(&f);
}

static void screen_longer_answer_goes_to_the_pager_whole(void **state)
{
    struct fixture f;
    (void)state;
    assert_int_equal(open_terminal(&f, "sed s/^/paged/", true), 0);
    answer(&f, ROWS);
    see(&f, "end of 10 lines");
    assert_non_null(strstr(f.seen, "pagedline 1\r\npagedline 2\r\n"));
    assert_non_null(strstr(f.seen, "pagedline 10\r\nend of"));
    close_terminal(&f);
}

static void screen_wrapped_lines_count_as_rows(void **state)
{
    struct fixture f;
    (void)state;
    assert_int_equal(open_terminal(&f, "sed s/^/paged/", true), 0);
    cli_out_begin(&f.out);
    fprintf(f.out.stream, "\033[1m%0*d\033[0m\n", 40 * ROWS, 0);
    cli_out_end(&f.out);
    see(&f, "\033[0m");
    assert_non_null(strstr(f.seen, "paged"));
    close_terminal(&f);
}

/* A pager that was left ends its answer and nothing else. */
static void screen_left_pager_ends_the_answer(void **state)
{
    struct fixture f;
    (void)state;
    assert_int_equal(open_terminal(&f, "head -n1", true), 0);
    cli_out_begin(&f.out);
    while (!cli_out_is_gone(&f.out))
        fputs("line\n", f.out.stream);
    cli_out_end(&f.out);
    assert_false(cli_out_is_gone(&f.out));
    answer(&f, 1);
    see(&f, "end of 1 lines");
    assert_string_equal(f.seen, "line\r\nline 1\r\nend of 1 lines\r\n");
    close_terminal(&f);
}

static void screen_without_a_pager_shows_all_and_says_so_once(void **state)
{
    struct fixture f;
    (void)state;
    assert_int_equal(open_terminal(&f, "/no/such/pager -x", true), 0);
    answer(&f, ROWS);
    see(&f, "end of 10 lines");
    assert_non_null(strstr(f.seen, "cannot run the pager '/no/such/pager'"));
    assert_non_null(strstr(f.seen, "line 1\r\nline 2\r\n"));
    assert_false(cli_screen_pages(f.out.screen));
    f.size = f.seen[0] = 0;
    answer(&f, 20);
    see(&f, "end of 20 lines");
    assert_null(strstr(f.seen, "pager"));
    close_terminal(&f);
}

static void screen_failure_of_the_pager_is_told(void **state)
{
    struct fixture f;
    (void)state;
    assert_int_equal(open_terminal(&f, "cat >/dev/null; exit 127", true), 0);
    answer(&f, ROWS);
    see(&f, "end of 10 lines");
    assert_non_null(strstr(f.seen, "the pager failed"));
    assert_false(cli_screen_pages(f.out.screen));
    close_terminal(&f);
}

static void screen_pages_only_if_allowed(void **state)
{
    static const struct {
        const char *pager;
        bool may_page, is_set, pages;
    } rows[] = {
        {"sed s/^/paged/", true, true, true},
        {"sed s/^/paged/", true, false, false},
        {"sed s/^/paged/", false, true, false},
        {"", true, true, false},
        {"cat", true, true, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct fixture f;
        assert_int_equal(open_terminal(&f, rows[i].pager, rows[i].may_page), 0);
        assert_int_equal(cli_screen_set_pages(f.out.screen, rows[i].is_set), rows[i].pages);
        answer(&f, ROWS);
        see(&f, "end of 10 lines");
        assert_int_equal(strstr(f.seen, "paged") != NULL, rows[i].pages);
        close_terminal(&f);
    }
}

/* What was held is shown once it takes long, and a pager gets it again. */
static void screen_slow_answer_shows_a_line_and_what_there_is(void **state)
{
    struct fixture f;
    (void)state;
    assert_int_equal(open_terminal(&f, "sed s/^/paged/", true), 0);
    cli_out_begin(&f.out);
    fputs("first\n", f.out.stream);
    cli_screen_progress(f.out.screen, "searching", 1, 4);
    see(&f, "first\r\n\rsearching: 25%, ");
    fputs("second\n", f.out.stream);
    f.size = f.seen[0] = 0;
    see(&f, "\r\033[Ksecond\r\n\rsearching: ");
    for (int i = 0; i < ROWS; i++)
        fputs("more\n", f.out.stream);
    cli_out_end(&f.out);
    fputs("end\n", f.out.stream);
    see(&f, "pagedmore\r\nend");
    assert_non_null(strstr(f.seen, "\r\033[Kpagedfirst\r\npagedsecond\r\n"));
    close_terminal(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(screen_answer_that_fits_needs_no_pager),
        cmocka_unit_test(screen_longer_answer_goes_to_the_pager_whole),
        cmocka_unit_test(screen_wrapped_lines_count_as_rows),
        cmocka_unit_test(screen_left_pager_ends_the_answer),
        cmocka_unit_test(screen_without_a_pager_shows_all_and_says_so_once),
        cmocka_unit_test(screen_failure_of_the_pager_is_told),
        cmocka_unit_test(screen_pages_only_if_allowed),
        cmocka_unit_test(screen_slow_answer_shows_a_line_and_what_there_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
