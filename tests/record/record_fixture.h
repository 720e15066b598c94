/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A folder for one test, and the name of a recording in it that is still to be made. */
#ifndef TESTS_RECORD_RECORD_FIXTURE_H
#define TESTS_RECORD_RECORD_FIXTURE_H

struct fixture {
    char *dir, *trace;
};

/* For cmocka: `*state` is the fixture. The folder goes with all that is in it. */
int fixture_set_up(void **state);
int fixture_tear_down(void **state);

#define FIXTURE_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)

#endif
