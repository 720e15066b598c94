/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recordings made on the spot, and WETs of them. */
#ifndef TESTS_WET_WET_RUN_H
#define TESTS_WET_WET_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "tests/wet/wet_unit.h"
#include "wet/build/build_wet.h"

struct run {
    char *dir;   /* everything of this run; removed with it */
    char *trace; /* dir/trace */
    char *out;   /* what the program wrote on standard output */
    size_t out_bytes;
    int status; /* its wait status */
};

/* Records a program with record_driver. */
void run_record(struct run *run, const char *const argv[]);
void run_fini(struct run *run);

/* Builds `path` with intervals of about so many instructions (0: default). 0 or the error. */
int run_build(const struct run *run, const char *path, uint64_t interval_instructions);

/* The same with options of one's own. */
int run_build_with(const struct run *run, const char *path,
                   const struct wet_build_options *options);

/* Records and builds dir/wet with the default intervals and dir/short with `interval` ones. */
void run_record_and_build(struct run *run, const char *const argv[], uint64_t interval,
                          char **wet_path, char **short_path);

/* A sound file, taken apart, and a path for one like it that is not. */
struct good_wet {
    struct run run;
    char *path, *changed;
    struct unit_sections sections;
};

void good_wet_make(struct good_wet *good, const char *program, uint64_t interval,
                   const char *changed_name);
void good_wet_fini(struct good_wet *good);

/* A recording with a file built in one go, and a path for one that is built in another way. */
struct rebuilt {
    struct run run;
    char *whole, *path;
    uint64_t interval;
    unsigned intervals; /* of `whole` */
    uint64_t seed;
};

/*
 * For suites: *state is a new one, whose path is NAME.wet; and its end. Where a run is so short
 * that it has hardly any intervals, these are shorter: how often a program turns while it waits for
 * a signal is the processor's speed.
 */
#define REBUILT_FEW 10
int rebuilt_make(void **state, uint64_t interval, const char *name, const char *const argv[]);
int rebuilt_drop(void **state);

#endif
