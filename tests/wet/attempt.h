/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Attempts to build a recording's file, each of which something may end in the middle: the user, a
 * signal, or what else a suite thinks of. What an attempt leaves behind, the next one may go on
 * with.
 */
#ifndef TESTS_WET_ATTEMPT_H
#define TESTS_WET_ATTEMPT_H

#include <signal.h>

#include "tests/wet/wet_run.h"

struct attempt {
    unsigned left; /* intervals until something happens; 0: nothing does */
    void (*strike)(struct attempt *attempt); /* what happens; NULL: the user has enough */
    volatile sig_atomic_t interrupted;
    unsigned killed;        /* for `strike`: windows' processes */
    unsigned resumed, anew; /* notices: it goes on with what is there; it begins anew */
};

/* A `strike`: this process dies as by kill -9. */
void attempt_die(struct attempt *attempt);

/* Builds fixture->path with `base`, its intervals' length, and the fingerprint "test" if it names
 * none. 0 or the error. */
int attempt_build(const struct rebuilt *fixture, struct attempt *attempt,
                  const struct wet_build_options *base);

/* A program that the suites of builds record, with the length of intervals that gives it some
 * dozens. */
struct sample {
    const char *name;
    uint64_t interval;
    const char *argv[4];
};

/* The sample of that name; fails the test if there is none. */
const struct sample *sample_named(const char *name);

#endif
