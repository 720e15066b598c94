/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * oracle_driver TRACEDIR [--pid N] [--from-event E] [--steps N] [--count] [--run] [--checksums]
 *
 * Prints one line per instruction of a window (--from-event, --steps), or with --count one line
 * per frame with the number of instructions executed since the exec, with --run just runs the
 * whole recording natively, or with --checksums does so and compares memory with the checksums
 * that are in the recording. Exit statuses are those of the command line (dbgcli/exit_status.h).
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/exit_status.h"
#include "tests/oracle/oracle.h"
#include "tests/oracle/oracle_checksums.h"
#include <wetdbg/errors.h>

struct options {
    const char *dir;
    int pid;
    uint64_t from_event;
    uint64_t steps;
    bool count;
    bool run;
    bool checksums;
};

static int usage(void)
{
    return wetdbg_fail(-WETDBG_ERR_USAGE,
                       "usage: oracle_driver TRACEDIR [--pid N] [--from-event E] "
                       "[--steps N] [--count] [--run] [--checksums]");
}

static int parse(int argc, char **argv, struct options *options)
{
    static const struct option table[] = {
        {"pid", required_argument, NULL, 'p'},
        {"from-event", required_argument, NULL, 'e'},
        {"steps", required_argument, NULL, 's'},
        {"count", no_argument, NULL, 'c'},
        {"run", no_argument, NULL, 'r'},
        {"checksums", no_argument, NULL, 'm'},
        {NULL, 0, NULL, 0},
    };
    int c;

    *options = (struct options){.steps = 100};
    opterr = 0;
    while ((c = getopt_long(argc, argv, "", table, NULL)) != -1) {
        switch (c) {
        case 'p':
            options->pid = atoi(optarg);
            break;
        case 'e':
            options->from_event = strtoull(optarg, NULL, 10);
            break;
        case 's':
            options->steps = strtoull(optarg, NULL, 10);
            break;
        case 'c':
            options->count = true;
            break;
        case 'r':
            options->run = true;
            break;
        case 'm':
            options->checksums = true;
            break;
        default:
            return usage();
        }
    }
    if (optind + 1 != argc)
        return usage();
    options->dir = argv[optind];
    return 0;
}

static void print_event(void *context, const struct rrt_frame *frame, uint64_t instructions)
{
    (void)context;
    printf("event %" PRIu64 " %s", frame->time, rrt_event_name(frame->event));
    if (frame->event == RRT_EVENT_SYSCALL)
        printf(" %d %s", frame->syscall.number,
               frame->syscall.state == RRT_SYSCALL_EXITING ? "exit" : "enter");
    printf(" count %" PRIu64 "\n", instructions);
}

static int print_insn(void *context, const struct orc_insn *insn)
{
    orc_insn_print(insn, context);
    return 0;
}

struct comparison {
    struct orc *orc;
    const char *dir;
    uint64_t compared;
    int err; /* of the first difference, and what it was */
    char message[512];
};

static void compare_event(void *context, const struct rrt_frame *frame, uint64_t instructions)
{
    struct comparison *comparison = context;

    (void)instructions;
    if (comparison->err != 0)
        return;
    comparison->err =
        orc_checksums_compare(comparison->orc, comparison->dir, frame, &comparison->compared);
    if (comparison->err != 0)
        snprintf(comparison->message, sizeof(comparison->message), "%s",
                 wetdbg_error(comparison->err));
}

static int drive_comparison(struct orc *orc, const struct options *options)
{
    struct comparison comparison = {.orc = orc, .dir = options->dir};
    int err;

    orc_set_event_fn(orc, compare_event, &comparison);
    err = orc_run_to_end(orc);
    if (comparison.err != 0)
        return wetdbg_fail(comparison.err, "%s", comparison.message);
    if (err == 0 && comparison.compared == 0)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "%s has no checksums", options->dir);
    if (err == 0)
        printf("%" PRIu64 " mappings equal, %u ambiguous\n", comparison.compared,
               orc_ambiguous_count(orc));
    return err;
}

static int drive(struct orc *orc, const struct options *options)
{
    uint64_t done;
    int err;

    if (options->checksums)
        return drive_comparison(orc, options);
    if (options->run) {
        err = orc_run_to_end(orc);
        if (err == 0)
            printf("end at frame %" PRIu64 ", %u ambiguous\n", orc_event(orc),
                   orc_ambiguous_count(orc));
        return err;
    }
    if (options->count) {
        orc_set_event_fn(orc, print_event, NULL);
        err = orc_step(orc, UINT64_MAX, NULL, NULL, &done);
        if (err == 0)
            printf("total %" PRIu64 "\n", done);
        return err;
    }
    err = orc_run_to_event(orc, options->from_event);
    if (err == 0)
        err = orc_step(orc, options->steps, print_insn, stdout, &done);
    return err;
}

int main(int argc, char **argv)
{
    struct wetdbg_recording *trace = NULL;
    struct orc *orc = NULL;
    struct options options;
    int err = parse(argc, argv, &options);

    if (err == 0)
        err = wetdbg_recording_open(options.dir, &trace);
    if (err == 0)
        err = orc_open(trace, options.pid, &orc);
    if (err == 0)
        err = drive(orc, &options);
    if (err != 0) {
        fflush(stdout);
        fprintf(stderr, "oracle_driver: %s\n", wetdbg_error(err));
    }
    orc_close(orc);
    wetdbg_recording_close(trace);
    return cli_exit_status(err);
}
