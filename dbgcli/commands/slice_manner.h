/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a slice is shown as in place of lines, or besides: numbers, a tree, a picture. */
#ifndef DBGCLI_COMMANDS_SLICE_MANNER_H
#define DBGCLI_COMMANDS_SLICE_MANNER_H

#include "dbgcli/args.h"
#include "dbgcli/commands/slice_view.h"

/* Rows of option tables. */
#define CLI_STATS_OPTION                                                                           \
    {                                                                                              \
        "stats", 0, NULL, "how many instances by module and function, in place of lines"           \
    }
#define CLI_GRAPH_OPTIONS                                                                          \
    {"tree", 0, NULL, "as a tree of what gave something to what, which 'expand N' unfolds"},       \
        {"dot", 0, "FILE",                                                                         \
         "also write the nearest lines (60, --limit N) as a graph for Graphviz"},                  \
    {                                                                                              \
        "svg", 0, "FILE", "... and as Graphviz draws it"                                           \
    }
/* The same, for cli_slice_manner_refuse(): they are not listed. */
#define CLI_NO_GRAPH_OPTIONS                                                                       \
    {"tree", 0, NULL, NULL}, {"dot", 0, "FILE", NULL},                                             \
    {                                                                                              \
        "svg", 0, "FILE", NULL                                                                     \
    }

struct cli_slice_manner {
    bool has_stats, is_tree;
    const char *dot_path, *svg_path; /* or NULL */
    size_t drawn;                    /* nodes at most; 0: all */
};

/* As the options say; `limit` is that of the view. Whether a graph is wanted, for which a slice
 * needs parents. */
bool cli_slice_manner_parse(const struct cli_args *args, uint64_t limit,
                            struct cli_slice_manner *manner);

/* -WETDBG_ERR_USAGE, with what to say for it, if a graph is asked for of what has no dependences;
 * 0 if none is. */
int cli_slice_manner_refuse(const struct cli_args *args, const char *why);

/* Shows an open view's slice so. *is_all: nothing else is to be shown. `has_parents`: so has the
 * slice. Errors of wetdbg_slice_links() and of drawing. */
int cli_slice_manner_print(const struct cli_slice_view *view, const struct cli_slice_manner *manner,
                           bool has_parents, bool *is_all);

/* The members "links" and "stats". */
int cli_slice_manner_to_json(const struct cli_slice_view *view,
                             const struct cli_slice_manner *manner, bool has_parents,
                             json_t *object);

#endif
