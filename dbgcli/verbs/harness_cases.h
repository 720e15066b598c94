/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a test program says of its cases, by the framework that it was written with: read from what
 * it printed, which is untrusted.
 */
#ifndef DBGCLI_VERBS_HARNESS_CASES_H
#define DBGCLI_VERBS_HARNESS_CASES_H

#include <stdbool.h>
#include <stddef.h>

enum cli_framework {
    CLI_FRAMEWORK_NONE,
    CLI_FRAMEWORK_CMOCKA,
    CLI_FRAMEWORK_CHECK,
    CLI_FRAMEWORK_CUNIT,
    CLI_FRAMEWORK_GTEST,
    CLI_FRAMEWORK_TAP,
    CLI_FRAMEWORK_UNITY,
};

struct cli_case {
    char *name;  /* of TAP its number and what it is called: "3 - reads a list" */
    char *group; /* of Check its TCase; else NULL */
    bool is_ok;
    char *file; /* of the assertion that failed, as the compiler called it; or NULL */
    unsigned line;
};

struct cli_cases {
    enum cli_framework framework;
    struct cli_case *list;
    size_t count;
    void *by_name; /* for tsearch(3) */
    /* Check and CUnit may list what failed only: then a whole run is one that printed its summary,
     * and `checks` is how many cases that has. */
    bool lists_failures_only, is_whole;
    unsigned long checks;
};

/* "cmocka", "Check", "CUnit", "GoogleTest", "TAP", "Unity"; "" for none; static. */
const char *cli_framework_name(enum cli_framework framework);

/* `text` ends with a 0. cli_cases_fini() is due. */
void cli_cases_read(const char *text, struct cli_cases *cases);
void cli_cases_fini(struct cli_cases *cases);

/* By name; a TAP test also by its number or what it is called alone. NULL if there is none. */
const struct cli_case *cli_cases_find(const struct cli_cases *cases, const char *name);

/* The first that failed, or NULL. */
const struct cli_case *cli_cases_failed(const struct cli_cases *cases);

/*
 * Whether `target`, which failed in `before`, is ok in `now`, and whatever failed in `now` had
 * failed in `before`. *is_all: nothing else failed.
 */
bool cli_cases_are_right(const struct cli_cases *now, const struct cli_cases *before,
                         const char *target, bool *is_all);

/* The place in "FILE:LINE: FUNCTION: Assertion `...' failed." as assert() prints it; *file is to be
 * freed. False if there is none. */
bool cli_assertion_read(const char *text, char **file, unsigned *line);

#endif
