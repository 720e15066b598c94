/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A failing test, to be explained: it is run once to see how it fails, and by which framework's
 * case; recorded, with the framework's own filter for that case; and the process is found whose
 * failing made it fail. Then this says what of a switched run is right, and which decisions are the
 * test's own.
 */
#ifndef DBGCLI_VERBS_HARNESS_H
#define DBGCLI_VERBS_HARNESS_H

#include "dbgcli/args.h"
#include "dbgcli/verbs/ctest_list.h"
#include "dbgcli/verbs/harness_cases.h"
#include <wetdbg/candidates.h>

/* Rows of a verb's options by which people name a failing test; `right` is what the help adds. */
#define CLI_HARNESS_OPTIONS(right)                                                                 \
    {"ctest", 0, "NAME", "a failing test of CTest's" right},                                       \
        {"build", 0, "DIR", "CTest's build directory; by default this one, or ./build"},           \
        {"harness", 0, NULL, "PROGRAM is a failing test" right},                                   \
        {"case", 0, "NAME", "the framework's test in it; by default the first that fails"},        \
    {                                                                                              \
        "process", 0, "PROC", "which process of the test; by default the one that made it fail"    \
    }

struct cli_harness {
    struct cli_ctest test;
    struct cli_cases cases; /* of the run that was seen first */
    char *target;           /* the failing case, or NULL: the program as a whole */
    char *trace_dir;
    char *process;   /* as --process takes it */
    char *program;   /* that it ran */
    bool is_whole;   /* the process is the test's first one: what CTest asks holds for it */
    char **comparer; /* words of the tool that found the process's output wrong; NULL: none did */
    /* Of the process: */
    struct cli_cases own;
    bool has_case; /* it is the one that prints how its cases went */
    char *file;    /* of the assertion that failed, or NULL */
    unsigned line;
    char *main_file;   /* NULL: not known */
    bool has_lines;    /* some decision has a source line */
    bool is_last_look; /* the test's own decisions are candidates, and only they */
};

/* Whether --ctest or --harness is given. */
bool cli_harness_is_asked(const struct cli_args *args);

/* -WETDBG_ERR_USAGE, explained, for options that do not go together. */
int cli_harness_check(const struct cli_args *args);

/* What is returned for a test that passes; explained, and no error in the end. */
#define CLI_HARNESS_PASSES (-ECANCELED)

/*
 * Runs and records the test that the options say. *harness is for cli_harness_free(), NULL after an
 * error: -WETDBG_ERR_USAGE for one that is not there; CLI_HARNESS_PASSES; errors of running and
 * recording.
 */
int cli_harness_open(const struct cli_args *args, struct cli_harness **harness);
/*
 * The same for a command that failed and is no test of CTest's: `trace_dir`, which is taken over
 * in any case, is a recording of such a run, and `text` what it printed. Where a framework's case
 * failed in the command's own process, and fails alone, too, a recording of that replaces it.
 * `process`: as --process takes it; NULL: the one that made the command fail, or that of the
 * user's own program, if a script or a comparing tool did (own_process.h).
 */
int cli_harness_take(char *const *argv, const char *text, char *trace_dir, const char *process,
                     struct cli_harness **harness);
void cli_harness_free(struct cli_harness *harness); /* NULL is fine */

/*
 * Takes a look at the process's own run: `output` is what it put out to descriptors 1 and 2.
 * *criterion is what is wrong in it, for 'slice'; to be freed. 0 or an error.
 */
int cli_harness_look(struct cli_harness *self, struct wetdbg *wet, const char *output,
                     char **criterion);

/* Whether a run of the process is right that put this out (a 0 behind it) and ended so. */
bool cli_harness_is_right(const struct cli_harness *self, const char *output, int status);

/* Whether a source file only checks what others do: one that is named so, and of a framework's test
 * those with main() and with the failing assertion (that assert() wrote of may be what is tested).
 */
bool cli_harness_only_checks(const struct cli_harness *self, const char *file);

/* For struct wetdbg_candidates_options: `arg` is the harness. */
bool cli_harness_wants(void *arg, const struct wetdbg_predicate *predicate);

/* Says why there is no candidate at all: -WETDBG_ERR_UNSUPPORTED for a program without source
 * lines, -WETDBG_ERR_NOT_FOUND. */
int cli_harness_no_candidates(const struct cli_harness *self);

#endif
