/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/wet/wet_run.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/record/spawn.h"
#include "tests/wet/wet_unit.h"
#include "wet/intervals.h"
#include <wetdbg/errors.h>

void run_record(struct run *run, const char *const argv[])
{
    const char *command[32] = {RECORD_DRIVER, "-q", "-o", NULL, "--"};
    size_t count = 5;
    run->dir = scratch_new();
    run->trace = unit_path(run->dir, "trace");
    command[3] = run->trace;
    while (*argv && count < 31)
        command[count++] = *argv++;
    struct spawn_result result = spawn(command, NULL);
    if (unit_count_names(run->dir, "trace") != 1)
        fail_msg("%s cannot be recorded: %s", command[5], result.err);
    run->out = result.out;
    run->out_bytes = result.out_bytes;
    run->status = result.status;
    result.out = NULL;
    spawn_result_fini(&result);
}

void run_fini(struct run *run)
{
    scratch_free(run->dir);
    free(run->trace);
    free(run->out);
    *run = (struct run){0};
}

int run_build_with(const struct run *run, const char *path, const struct wet_build_options *options)
{
    struct wetdbg_recording *trace = NULL;
    struct rep_feed *feed = NULL;
    struct rep_selection which = {0};
    struct wet_build_result result;
    int err = wetdbg_recording_open(run->trace, &trace);
    if (!err)
        err = rep_feed_open(trace, &which, &feed);
    if (!err)
        err = wet_build(feed, path, options, &result);
    rep_feed_close(feed);
    wetdbg_recording_close(trace);
    return err;
}

int run_build(const struct run *run, const char *path, uint64_t interval_instructions)
{
    const struct wet_build_options options = {.fingerprint = "test",
                                              .interval_instructions = interval_instructions};
    return run_build_with(run, path, &options);
}

void run_record_and_build(struct run *run, const char *const argv[], uint64_t interval,
                          char **wet_path, char **short_path)
{
    run_record(run, argv);
    *wet_path = unit_path(run->dir, "wet");
    *short_path = unit_path(run->dir, "short");
    int err = run_build(run, *wet_path, 0);
    if (!err)
        err = run_build(run, *short_path, interval);
    if (err)
        fail_msg("%s: %s", argv[0], wetdbg_error(err));
}

void good_wet_make(struct good_wet *good, const char *program, uint64_t interval,
                   const char *changed_name)
{
    run_record(&good->run, (const char *const[]){program, NULL});
    good->path = unit_path(good->run.dir, "good.wet");
    good->changed = unit_path(good->run.dir, changed_name);
    int err = run_build(&good->run, good->path, interval);
    if (err)
        fail_msg("%s", wetdbg_error(err));
    unit_sections_load(&good->sections, good->path);
}

void good_wet_fini(struct good_wet *good)
{
    unit_sections_fini(&good->sections);
    free(good->path);
    free(good->changed);
    run_fini(&good->run);
}

/* Builds `whole` in intervals of rebuilt->interval; how many instructions it has. */
static uint64_t build_whole(struct rebuilt *rebuilt)
{
    struct wetdbg *wet = NULL;
    int err = run_build(&rebuilt->run, rebuilt->whole, rebuilt->interval);
    if (!err)
        err = wetdbg_open(rebuilt->whole, &wet);
    if (err)
        fail_msg("%s: %s", rebuilt->whole, wetdbg_error(err));
    uint64_t instructions = wetdbg_get_info(wet)->instructions;
    rebuilt->intervals = (unsigned)wetdbg_get_info(wet)->intervals;
    wetdbg_close(wet);
    return instructions;
}

int rebuilt_make(void **state, uint64_t interval, const char *name, const char *const argv[])
{
    struct rebuilt *rebuilt = calloc(1, sizeof(*rebuilt));
    char file[64];
    run_record(&rebuilt->run, argv);
    snprintf(file, sizeof(file), "%s.wet", name);
    rebuilt->interval = interval;
    rebuilt->whole = unit_path(rebuilt->run.dir, "whole.wet");
    rebuilt->path = unit_path(rebuilt->run.dir, file);
    rebuilt->seed = unit_seed(name);
    uint64_t instructions = build_whole(rebuilt);
    if (rebuilt->intervals <= REBUILT_FEW) {
        rebuilt->interval = instructions / (2 * REBUILT_FEW);
        build_whole(rebuilt);
    }
    *state = rebuilt;
    return 0;
}

int rebuilt_drop(void **state)
{
    struct rebuilt *rebuilt = *state;
    run_fini(&rebuilt->run);
    free(rebuilt->whole);
    free(rebuilt->path);
    free(rebuilt);
    return 0;
}
