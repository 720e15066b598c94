/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is wrong in a run, as a criterion that can be sliced: found from what the run did, and from
 * what somebody says of what it should have done. */
#ifndef DBGCLI_VERBS_LOCATE_FAILURE_H
#define DBGCLI_VERBS_LOCATE_FAILURE_H

#include "dbgcli/commands/session.h"
#include "dbgcli/verbs/locate_loop.h"

struct cli_harness; /* dbgcli/verbs/harness.h */

enum cli_failure_kind {
    CLI_FAILURE_GIVEN,    /* --target said so */
    CLI_FAILURE_COMPARED, /* a tool that compared files did */
    CLI_FAILURE_CRASH,
    CLI_FAILURE_REPORT,  /* a sanitizer reported it */
    CLI_FAILURE_HANG,    /* it was ended from outside: what kept it going */
    CLI_FAILURE_OUTPUT,  /* the first wrong byte */
    CLI_FAILURE_MESSAGE, /* output is missing, and the program said why on standard error */
    CLI_FAILURE_MISSING, /* output is missing */
    CLI_FAILURE_EXIT,    /* the exit status */
    CLI_FAILURE_TEST,    /* of a test: its failing assertion, or exit status */
    CLI_FAILURE_ANY,     /* a command says that something is wrong, and not what */
};

/* "given", "compared", "crash", "report", "hang", "output", "message", "missing", "exit", "test",
 * "any" */
const char *cli_failure_name(enum cli_failure_kind kind);

struct cli_failure {
    enum cli_failure_kind kind;
    char *criterion; /* as 'slice' takes it */
    /* Of CLI_FAILURE_HANG: whether it is where a loop was not left, and that. */
    bool is_loop;
    struct cli_loop loop;
    /* Of CLI_FAILURE_OUTPUT, MESSAGE and MISSING: where in what was put out, and up to 60 bytes of
     * the line there, as it is and as it should be; else NULL. */
    uint64_t offset;
    char *got, *wanted;
};

/* What says what is right; all may be NULL. */
struct cli_right {
    const char *target; /* --target; or, if `is_compared`, a comparing tool's first difference */
    bool is_compared;
    const uint8_t *expected;
    size_t expected_size;
    const char *command; /* --oracle */
    bool is_crash;       /* --crash: it must be one */
    int status;          /* the right exit status; -1: 0 if nothing else is wrong */
    struct cli_harness *harness;
};

/*
 * Finds it. -WETDBG_ERR_USAGE, explained, if the run does not fail as far as this can tell, and of
 * --crash if it did not crash. cli_failure_fini() is due also after an error.
 */
int cli_failure_find(struct cli_session *session, const struct cli_right *right,
                     struct cli_failure *failure);
void cli_failure_fini(struct cli_failure *failure);

/* All that the run put out to descriptor 1, 2, or (fd 0) to both, with a 0 behind it, to be freed:
 * at most 64 MiB. */
int cli_failure_output(struct cli_session *session, int fd, char **text, size_t *size);

#endif
