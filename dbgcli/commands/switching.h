/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search for critical predicates in a session's run: for `wetdbg switch` and for `switch` at
 * the prompt. */
#ifndef DBGCLI_COMMANDS_SWITCHING_H
#define DBGCLI_COMMANDS_SWITCHING_H

#include "dbgcli/commands/session.h"
#include "dbgcli/progress.h"
#include <wetdbg/switch.h>

struct cli_harness; /* dbgcli/verbs/harness.h */

/* Rows of an option table. */
#define CLI_SWITCHING_OPTIONS                                                                      \
    {"expect", 0, "FILE", "right is: standard output is that of FILE, and the exit status"},       \
        {"status", 0, "N", "that is N; by default the recorded one, after a crash 0"},             \
        {"oracle", 0, "CMD", "right is: CMD exits with 0; 1 is wrong, others say nothing"},        \
        {"no-crash", 0, NULL, "right is: the program exits"},                                      \
        {"target", 0, "CRITERION", "what is wrong in the run, as for 'slice'"},                    \
        {"order", 0, "ORDER", "near (the default), lefs, prior, spectrum"},                        \
        {"passing", 0, "FILE.wet", "a run of the program that passes; may be repeated"},           \
        {"pass", 0, "CRITERION",                                                                   \
         "input that passing runs have otherwise (repeatable); prior begins there"},               \
        {"ok", 0, "CRITERION", "this is right, for the order near (repeatable)"},                  \
        {"extents", 0, NULL, "also a branch's way for all its instances, and from one on"},        \
        {"depth", 0, "N", "2: also pairs of the first candidates"},                                \
        {"budget", 0, "TIME|N", "at most N switched runs, or 30s, 5m, 1h for these and CMD"},      \
        {"jobs", 0, "N", "switched runs side by side; by default one for each processor"},         \
        {"all", 0, NULL, "go on after the first that is right"},                                   \
        {"libraries", 0, NULL, "switch in libraries, too"},                                        \
    {                                                                                              \
        "restart", 0, NULL, "begin anew instead of going on after an end"                          \
    }

/* What `help` says of them. */
#define CLI_SWITCHING_DETAILS                                                                      \
    "Verdicts: exact (output and exit status are right), prefix (right past the first wrong\n"     \
    "byte), no-crash, unresolved (the model does not know a call, or a limit was reached).\n"      \
    "CMD is for sh, or a program's name, within limits, in a directory of its own with the\n"      \
    "files that the run changed, but with all rights that you have; it has the standard output\n"  \
    "as standard input, and its name in WETDBG_OUTPUT; WETDBG_STATUS is the status (128 + N for\n" \
    "signal N).\n"                                                                                 \
    "Orders: near goes by dependence distance, potential dependences and what passing runs did;\n" \
    "lefs switches the last first; prior goes by the slice, --pass by what also depends on that\n" \
    "input; spectrum by what passing runs did.\n"                                                  \
    "With a finding are shown: what the run does then, the values on its line before the\n"        \
    "decision, and the lines that led to it or depend on it, the nearest first.\n"

#define CLI_SWITCHING_PASSING_MAX 16

struct cli_switching {
    struct cli_session *session;
    const struct cli_args *args;
    const char *wet_path;
    struct wetdbg_expectation right;
    uint8_t *expected;
    struct wetdbg_trials *trials;
    double judging_s;            /* the recorded run took so long to be judged */
    const char *target;          /* what is wrong */
    struct cli_harness *harness; /* a test, which says what is right; NULL: the options do */
    char *found;                 /* of a test: what is wrong */
    struct wetdbg_criterion *criterion;
    struct wetdbg_slice *slice;
    struct wetdbg_set *wrong, *chop;
    struct wetdbg_profile *profile;
    struct wetdbg_prune *prune;
    struct wetdbg *passing[CLI_SWITCHING_PASSING_MAX];
    size_t passing_count;
    struct wetdbg_candidates *candidates;
    struct wetdbg_order *order;
    struct cli_progress progress;
    uint64_t instances;
    struct wetdbg_search_result result;
    json_t *all; /* findings, for one object; else NULL */
    bool is_cut; /* somebody interrupted: findings are only named */
};

/* Before anything is recorded: -WETDBG_ERR_USAGE, explained, for options that do not go together.
 * `is_test`: none of them has to say what is right. */
int cli_switching_check(const struct cli_args *args, bool is_test);

/* --budget: "30s", "5m", "1h", or a number of runs; leaves both alone if it is not given.
 * -WETDBG_ERR_USAGE, explained. */
int cli_budget_parse(const struct cli_args *args, uint64_t *trials, double *seconds);

/* Reads a file with the right output (/dev/null: there is none); *bytes is to be freed, also after
 * an error, and 0 before. -WETDBG_ERR_USAGE for what is no file of a reasonable size, -errno. */
int cli_expected_read(const char *path, uint8_t **bytes, size_t *count);

/* Searches in the session's run, whose file is `wet_path`, and prints what was found; in JSON an
 * object for each finding and a last one, or one for all (`is_one`). `harness`: the test of which
 * it is a process, or NULL. 0 found, 1 none, 125 none, and
 * some were unresolved; or a negative error, -WETDBG_ERR_INTERRUPTED with what was found so far
 * printed. */
int cli_switching_run(struct cli_session *session, const char *wet_path,
                      const struct cli_args *args, struct cli_harness *harness, bool is_one);

/* ---- switching_answer.c ---- */

/* Prints findings and an end; the exit status, or a negative error. */
int cli_switching_answer(struct cli_switching *self);

/* " at time 1234, the 2nd of its 3 times": which instances of a predicate a switch concerns; to be
 * freed. */
char *cli_switching_when(const struct wetdbg_candidate *switched, uint64_t instances);

/* How many candidates the order has not come to. */
uint64_t cli_switching_left(const struct cli_switching *self,
                            const struct wetdbg_search_progress *progress);

#endif
