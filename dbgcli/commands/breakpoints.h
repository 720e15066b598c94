/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The session's breakpoints, watchpoints and catchpoints as the user sees them: numbered, with
 * conditions and commands. Where the run stops at them <wetdbg/breaks.h> finds out.
 */
#ifndef DBGCLI_COMMANDS_BREAKPOINTS_H
#define DBGCLI_COMMANDS_BREAKPOINTS_H

#include "dbgcli/commands/session.h"
#include "dbgcli/eval/value.h"
#include <wetdbg/breaks.h>

/* What becomes of one when it has stopped. */
enum cli_disposition {
    CLI_KEEP,
    CLI_DELETE,  /* tbreak */
    CLI_DISABLE, /* enable once */
};

struct cli_breakpoint {
    unsigned number;
    enum cli_disposition disposition;
    char *what;      /* as it was asked for: "parse.c:120", "table[3]", "syscall write" */
    char *condition; /* an expression, or NULL */
    char **commands; /* that are run when it has stopped */
    size_t command_count;
    uint64_t stops_left; /* `enable count`: disabled after so many; 0: not counted */
    struct wetdbg_break is;
    uint64_t *pcs;             /* of `is` */
    struct cli_value *watched; /* of a watchpoint: type and address */
    const char *function;      /* in which a watched expression was read, the model's; NULL: any */
    int *numbers;              /* of a catchpoint: the calls or signals wanted; none: all */
    size_t number_count;
    bool is_of_signals, is_of_beginnings;
    uint64_t clone_flags,
        clone_mask; /* of fork: of the call's first argument, if the mask is set */
    char *failure;  /* why its condition could not be asked at the last stop, or NULL */
    struct cli_session *session;
};

/* All of them, in the order in which they were made. */
struct cli_breakpoints {
    struct cli_breakpoint **list;
    size_t count;
    unsigned last_number;
    struct wetdbg_breaks *finder; /* NULL until needed */
};

struct cli_breakpoints *cli_breakpoints_new(void);
void cli_breakpoints_free(struct cli_breakpoints *all); /* NULL is fine */

/* A new one with the next number, enabled; the session's. */
struct cli_breakpoint *cli_breakpoint_add(struct cli_session *session, enum wetdbg_break_kind kind);
void cli_breakpoint_remove(struct cli_session *session, struct cli_breakpoint *one);

/* Forgets what the search has learned and counted: for another condition. NULL takes it away. */
void cli_breakpoint_set_condition(struct cli_breakpoint *one, const char *condition);

/* Reads a breakpoint's number, or a variable ("$bpnum") that holds one. -WETDBG_ERR_USAGE. */
int cli_breakpoint_number(struct cli_session *session, const char *text, uint64_t *number);

/* That of a number, as above. -WETDBG_ERR_USAGE, -WETDBG_ERR_NOT_FOUND. */
int cli_breakpoint_find(struct cli_session *session, const char *number,
                        struct cli_breakpoint **one);

/* "Breakpoint", "Temporary breakpoint", "Watchpoint", "Read watchpoint", ... */
const char *cli_breakpoint_title(const struct cli_breakpoint *one);

/* The type and the disposition, as `info breakpoints` has them. */
const char *cli_breakpoint_type(const struct cli_breakpoint *one);

/* What a session asks for with `break`: "", LINE, +N, -N, FILE:FUNCTION, and what
 * cli_breakpoint_pcs() takes; a line without code is the next one that has some. */
int cli_break_location(struct cli_session *session, const char *text, uint64_t **pcs,
                       size_t *count);

/* Splits "WHAT thread N if CONDITION"; *what and *condition (NULL: none) are to be freed. */
int cli_break_clauses(struct cli_session *session, const char *text, char **what,
                      const struct wetdbg_thread **thread, char **condition);

/* Prints of a new breakpoint where it is, as JSON or text. */
void cli_breakpoint_print_new(const struct cli_breakpoint *one);

/* As an object for `info breakpoints` and its like. */
json_t *cli_breakpoint_to_json(const struct cli_breakpoint *one);

#endif
