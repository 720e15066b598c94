/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Calls rec_record and behaves as `wetdbg record` does, for tests and for developers of other
 * parts. Not a product: it is not installed.
 *
 *     record_driver [-o DIR] [-t auto|hardware|software] [-q] -- PROGRAM [ARGUMENT...]
 *     record_driver -c | -j        what can this machine do
 *
 * Prints "trace: DIR" on stderr at the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/err.h"
#include "recorder/record/record.h"

static enum rec_ticks ticks_of(const char *text)
{
    if (strcmp(text, "hardware") == 0)
        return REC_TICKS_HARDWARE;
    return strcmp(text, "software") == 0 ? REC_TICKS_SOFTWARE : REC_TICKS_AUTO;
}

static int record(const struct rec_options *options, char **argv)
{
    struct rec_outcome outcome;
    int err = rec_record(options, argv, &outcome), status;

    if (err) {
        fprintf(stderr, "record_driver: %s\n", wd_error_message(err));
        return REC_EXIT_FAILED;
    }
    if (!options->quiet)
        fprintf(stderr, "trace: %s\n", outcome.trace_dir);
    status = outcome.exit_status;
    if (outcome.signal)
        rec_die_of(outcome.signal);
    rec_outcome_fini(&outcome);
    return status;
}

int main(int argc, char **argv)
{
    struct rec_options options = {0};
    int opt;

    while ((opt = getopt(argc, argv, "+o:t:qcj")) != -1) {
        switch (opt) {
        case 'o':
            options.out_dir = optarg;
            break;
        case 't':
            options.ticks = ticks_of(optarg);
            break;
        case 'q':
            options.quiet = true;
            break;
        case 'c':
        case 'j':
            return rec_check(stdout, opt == 'j') ? EXIT_FAILURE : EXIT_SUCCESS;
        default:
            return REC_EXIT_FAILED;
        }
    }
    return record(&options, argv + optind);
}
