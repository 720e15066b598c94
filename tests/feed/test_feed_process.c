/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The way to a process through execs and forks. */
#include <string.h>

#include "recorder/feed/feed.h"
#include "tests/feed/feed_unit.h"
#include <wetdbg/errors.h>

static const struct {
    const char *text;
    int err;
    int pid;
    const char *name;
    unsigned nth;
} rows[] = {
    {NULL, 0, 0, "", 0},
    {"", 0, 0, "", 0},
    {"1234", 0, 1234, "", 0},
    {"ls", 0, 0, "ls", 0},
    {"1234#2", 0, 1234, "", 2},
    {"ls#2", 0, 0, "ls", 2},
    {"c#sharp#3", 0, 0, "c#sharp", 3},
    {"7zip", 0, 0, "7zip", 0},
    {"ls#0", -WETDBG_ERR_USAGE, 0, "", 0},
    {"ls#", -WETDBG_ERR_USAGE, 0, "", 0},
    {"ls#-1", -WETDBG_ERR_USAGE, 0, "", 0},
    {"ls#2x", -WETDBG_ERR_USAGE, 0, "", 0},
    {"#2", -WETDBG_ERR_USAGE, 0, "", 0},
    {"ls#99999999999999999999", -WETDBG_ERR_USAGE, 0, "", 0},
};

static void selection_texts_are_understood(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rep_selection got = {0};
        assert_int_equal(rep_selection_parse(rows[i].text, &got), rows[i].err);
        assert_int_equal(got.pid, rows[i].pid);
        assert_string_equal(got.name, rows[i].name);
        assert_int_equal(got.nth, rows[i].nth);
    }
}

static void selection_name_without_room_is_rejected(void **state)
{
    (void)state;
    char text[300];
    struct rep_selection got;
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    assert_int_equal(rep_selection_parse(text, &got), -WETDBG_ERR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selection_texts_are_understood),
        cmocka_unit_test(selection_name_without_room_is_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
