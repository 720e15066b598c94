/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Declarations, listed by file as gdb lists those of `info variables` and `info types`. */
#ifndef DBGCLI_COMMANDS_DECLARED_H
#define DBGCLI_COMMANDS_DECLARED_H

#include "dbgcli/out.h"

struct cli_declared {
    const char *file;
    unsigned group;   /* those of a file are sorted by group, then name ... */
    const char *name; /* ... of equal ones only that of the lowest rank is shown */
    unsigned rank;
    uint32_t line; /* 0: declared on no line */
    char *text;    /* "static int x;"; NULL if a row of JSON is there */
    json_t *json;
};

struct cli_declared_list {
    struct cli_declared *items;
    size_t count;
};

/* Takes over `text` and `json`; copies the name, borrows the file's. "name", "file" and "line" are
 * added to the row. */
void cli_declared_add(struct cli_declared_list *list, const struct cli_declared *declared);

/* Sorts the list and shows it: `noun` is "types", under which the rows are in an object of
 * `schema`; `regex` is what was asked for, or NULL. -WETDBG_ERR_NOT_FOUND if it is empty. */
int cli_declared_show(struct cli_declared_list *list, struct cli_out *out, const char *noun,
                      const char *regex, const char *schema);

void cli_declared_free(struct cli_declared_list *list);

#endif
