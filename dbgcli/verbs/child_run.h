/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a program to its end and keeps what it prints; records one in the same manner. */
#ifndef DBGCLI_VERBS_CHILD_RUN_H
#define DBGCLI_VERBS_CHILD_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLI_CHILD_TEXT_MAX (UINT64_C(64) << 20) /* bytes of what it prints */

/* All borrowed for the call. */
struct cli_child {
    char *const *argv;        /* ends with NULL; argv[0] is looked up in PATH */
    const char *directory;    /* where it runs; NULL: here */
    char *const *environment; /* NULL: ours */
    double seconds;           /* then it is killed, with what it started; 0: never */
    /* Of cli_child_record(): */
    bool has_input; /* its standard input is ours; else it is empty */
    uint64_t runs;  /* up to so many, until one fails; 0: one, whatever comes of it */
};

struct cli_child_result {
    int status;       /* as wait(2) has it */
    bool is_too_much; /* it was ended since it printed more than CLI_CHILD_TEXT_MAX bytes */
    bool is_late;     /* it was killed after its `seconds` */
    /* Standard output and standard error in the order in which they came, and a 0 behind them; what
     * is beyond 64 MiB is not kept. */
    char *text;
    size_t size;
    /* Of cli_child_record(): how many runs were made, and whether the last one drew lots. */
    uint64_t runs;
    bool drew_lots;
};

/* Standard input is empty. 0, and cli_child_result_fini() is due; -WETDBG_ERR_NOT_FOUND, explained,
 * if there is no such program, or a negative errno. */
int cli_child_run(const struct cli_child *child, struct cli_child_result *result);
void cli_child_result_fini(struct cli_child_result *result);

/* The same, recorded (`seconds` has no effect). *trace_dir is to be freed; NULL if none of several
 * runs failed. Errors of wetdbg_record(), -WETDBG_ERR_INTERRUPTED between runs. */
int cli_child_record(const struct cli_child *child, struct cli_child_result *result,
                     char **trace_dir);

/* Waits for a child of this process, at most some seconds (0: for ever); true if it has ended, with
 * *status as wait(2) has it. */
bool cli_child_wait(int pid, double seconds, int *status);

/* The errno that stopped a child before its program, as it wrote it to a pipe; 0 if that closes. */
int cli_child_hear(int fd);

/* Ends this process as a child that wait(2) tells of was ended, if that was by a signal; else the
 * exit status is returned. */
int cli_child_end_as(int status);

#endif
