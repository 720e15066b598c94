/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Calls wetdbg_record and behaves as `wetdbg record` does, for tests and for developers of other
 * parts. Not a product: it is not installed.
 *
 *     record_driver [-o DIR] [-t auto|hardware|software] [-b] [-q] -- PROGRAM [ARGUMENT...]
 *     record_driver -c | -j        what can this machine do
 *
 * Prints "trace: DIR" on stderr at the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <wetdbg/errors.h>
#include <wetdbg/record.h>

static enum wetdbg_ticks ticks_of(const char *text)
{
    if (strcmp(text, "hardware") == 0)
        return WETDBG_TICKS_HARDWARE;
    return strcmp(text, "software") == 0 ? WETDBG_TICKS_SOFTWARE : WETDBG_TICKS_AUTO;
}

static int record(const struct wetdbg_record_options *options, char **argv)
{
    struct wetdbg_record_outcome outcome;
    int err = wetdbg_record(options, argv, &outcome), status;

    if (err) {
        fprintf(stderr, "record_driver: %s\n", wetdbg_error(err));
        return WETDBG_EXIT_FAILED;
    }
    if (!options->quiet)
        fprintf(stderr, "trace: %s\n", outcome.trace_dir);
    status = outcome.exit_status;
    if (outcome.signal)
        wetdbg_die_of(outcome.signal);
    wetdbg_record_outcome_fini(&outcome);
    return status;
}

int main(int argc, char **argv)
{
    struct wetdbg_record_options options = {0};
    int opt;

    while ((opt = getopt(argc, argv, "+o:t:bqcj")) != -1) {
        switch (opt) {
        case 'o':
            options.out_dir = optarg;
            break;
        case 't':
            options.ticks = ticks_of(optarg);
            break;
        case 'b':
            options.buffers_calls = true;
            break;
        case 'q':
            options.quiet = true;
            break;
        case 'c':
        case 'j':
            return wetdbg_record_check(stdout, opt == 'j') ? EXIT_FAILURE : EXIT_SUCCESS;
        default:
            return WETDBG_EXIT_FAILED;
        }
    }
    return record(&options, argv + optind);
}
