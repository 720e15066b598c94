/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For tests:
 *
 *     wet_driver build TRACE FILE [FROM [TO]]    builds
 *     wet_driver walk FILE           runs every interval again forwards and backwards, prints
 *                                    totals
 *     wet_driver check FILE          asks everything that can be asked
 *     wet_driver default TRACE       builds where the product would, if need be; prints the path
 *
 * The exit status is the product's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "dbgcli/exit_status.h"
#include "tests/wet/wet_exercise.h"
#include "wet/intervals.h"
#include <wetdbg/build.h>
#include <wetdbg/errors.h>

static void say(void *arg, const char *sentence)
{
    (void)arg;
    fprintf(stderr, "%s\n", sentence);
}

static int build(const char *trace, const char *file, const char *from, const char *to)
{
    struct wetdbg_build_options options = {.output = file, .from = from, .to = to, .notice = say};
    struct wetdbg_replay_result result;
    int err = wetdbg_replay(trace, &options, &result, NULL);
    if (!err)
        printf("built: %llu instructions, %llu nodes, %.3f s, %.1f M/s\n",
               (unsigned long long)result.instructions, (unsigned long long)result.nodes,
               result.seconds, (double)result.instructions / result.seconds / 1e6);
    return err;
}

static int walk(const char *file)
{
    struct wetdbg *wet = NULL;
    double start = wd_seconds();
    int err = wetdbg_open(file, &wet);
    if (err)
        return err;
    const struct wetdbg_info *info = wetdbg_get_info(wet);
    printf("open %.3f s; %s: %llu instructions, %llu intervals, %.4f bits/instr, %llu bytes (%llu "
           "static)\n",
           wd_seconds() - start, info->program, (unsigned long long)info->instructions,
           (unsigned long long)info->intervals, info->bits_per_instruction,
           (unsigned long long)info->wet_bytes, (unsigned long long)info->static_bytes);
    start = wd_seconds();
    uint64_t execs = 0, slots = 0;
    for (uint64_t pass = 0; !err && pass < 2; pass++) {
        for (uint64_t i = 0; !err && i < info->intervals; i++) {
            const struct wet_interval *interval;
            err = wet_interval_get(wet, pass ? info->intervals - 1 - i : i, &interval);
            if (err)
                break;
            execs += interval->exec_count;
            for (size_t e = 0; e < interval->exec_count; e++)
                slots += wet_get_node(wet, interval->execs[e].node)->slot_count;
            wet_interval_put(wet, interval);
        }
        printf("%s: %llu execs %llu slots, %.1f M/s\n", pass ? "backward" : "forward",
               (unsigned long long)execs, (unsigned long long)slots,
               (double)info->instructions * (double)(pass + 1) / (wd_seconds() - start) / 1e6);
    }
    wetdbg_close(wet);
    return err;
}

static int check(const char *file)
{
    struct wetdbg *wet = NULL;
    int err = wetdbg_open(file, &wet);
    if (!err) {
        int tables = exercise_tables(wet), runs = exercise_runs(wet);
        err = tables ? tables : runs;
    }
    wetdbg_close(wet);
    return err;
}

static int build_default(const char *trace)
{
    struct wetdbg_build_options options = {0};
    struct wetdbg_replay_result result;
    char *path = NULL;
    bool fresh;
    int err = wetdbg_wet_path(trace, NULL, &path, &fresh);
    if (!err && !fresh) {
        free(path);
        path = NULL;
        err = wetdbg_replay(trace, &options, &result, &path);
    }
    if (!err)
        printf("%s %s\n", fresh ? "fresh" : "built", path);
    free(path);
    return err;
}

int main(int argc, char **argv)
{
    int err = -WETDBG_ERR_USAGE;
    if (argc >= 4 && argc <= 6 && !strcmp(argv[1], "build"))
        err = build(argv[2], argv[3], argc > 4 && *argv[4] ? argv[4] : NULL,
                    argc > 5 ? argv[5] : NULL);
    else if (argc == 3 && !strcmp(argv[1], "walk"))
        err = walk(argv[2]);
    else if (argc == 3 && !strcmp(argv[1], "check"))
        err = check(argv[2]);
    else if (argc == 3 && !strcmp(argv[1], "default"))
        err = build_default(argv[2]);
    if (err)
        fprintf(stderr, "error: %s\n", wetdbg_error(err));
    return cli_exit_status(err);
}
