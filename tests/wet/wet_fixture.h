/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A recording with two WETs of it: with the default intervals and with short ones. */
#ifndef TESTS_WET_WET_FIXTURE_H
#define TESTS_WET_WET_FIXTURE_H

#include <stdlib.h>

#include "tests/wet/wet_run.h"
#include "tests/wet/wet_unit.h"
#include "wet/intervals.h"
#include <wetdbg/errors.h>

struct fixture {
    struct run run;
    char *whole_path, *short_path;
    struct wetdbg *whole, *cut;
};

static inline void ok(int err)
{
    if (err)
        fail_msg("%s", wetdbg_error(err));
}

static inline int fixture_open(void **state, uint64_t interval, const char *const argv[])
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    *state = fixture;
    run_record_and_build(&fixture->run, argv, interval, &fixture->whole_path, &fixture->short_path);
    ok(wetdbg_open(fixture->whole_path, &fixture->whole));
    ok(wetdbg_open(fixture->short_path, &fixture->cut));
    return 0;
}

/* A suite's set-up function NAME: a program's recording, and its files. */
#define RUN_CUT(name, interval, ...)                                                               \
    static int name(void **state)                                                                  \
    {                                                                                              \
        return fixture_open(state, interval, (const char *const[]){__VA_ARGS__, NULL});            \
    }

#define FIXTURE_SHORT  20000
#define RUN(name, ...) RUN_CUT(name, FIXTURE_SHORT, __VA_ARGS__)

static inline int fixture_close(void **state)
{
    struct fixture *fixture = *state;
    wetdbg_close(fixture->whole);
    wetdbg_close(fixture->cut);
    free(fixture->whole_path);
    free(fixture->short_path);
    run_fini(&fixture->run);
    free(fixture);
    return 0;
}

#endif
