/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A test as CTest knows it: `ctest --show-only=json-v1`, read. */
#ifndef DBGCLI_VERBS_CTEST_LIST_H
#define DBGCLI_VERBS_CTEST_LIST_H

#include <jansson.h>
#include <stdbool.h>

/* Lists end with NULL. Strings live until cli_ctest_fini(). */
struct cli_ctest {
    const char *name;
    char **argv;
    const char *directory; /* where it runs */
    char **environment;    /* all of it; NULL: ours */
    bool will_fail;
    const char **pass, **fail, **skip; /* regular expressions; NULL: none */
    int skip_status;                   /* -1: none */
    double seconds;                    /* TIMEOUT; 0: none */
    json_t *root;
};

/*
 * Finds a test in a build directory (NULL: this one, or its folder `build`). 0, and
 * cli_ctest_fini() is due; -WETDBG_ERR_USAGE, explained, if there is no such directory or test
 * (then near names are told), or its program is not built; errors of running ctest.
 */
int cli_ctest_find(const char *build, const char *name, struct cli_ctest *test);
/* Makes the test of a command of which CTest knows nothing: right is an exit status of 0. The
 * words of `argv` are borrowed. */
void cli_ctest_of_command(char *const *argv, struct cli_ctest *test);
void cli_ctest_fini(struct cli_ctest *test);

/* The environment of a test with more variables: `more` is "NAME=VALUE", ending with NULL. Both the
 * list and its strings are to be freed, by cli_environment_free(). */
char **cli_ctest_environment(const struct cli_ctest *test, const char *const *more);
void cli_environment_free(char **environment); /* NULL is fine */

/* Whether CTest calls a run passed that ended so (`status` as wait(2) has it) and printed that. */
bool cli_ctest_passes(const struct cli_ctest *test, int status, const char *text);

/* Whether these words, behind what a failing test printed, would make CTest call it passed. */
bool cli_ctest_is_swayed(const struct cli_ctest *test, const char *text);

#endif
