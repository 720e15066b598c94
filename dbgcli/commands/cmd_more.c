/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `more`: what the last slice's text left over. */
#include "dbgcli/commands/rest.h"
#include "dbgcli/commands/slice_view.h"

static const struct cli_option options[] = {
    {"limit", 0, "N", "at most N lines (40); 0: all"},
    {0},
};

const struct cli_syntax cli_cmd_more_syntax = {
    .example = "more --limit 0",
    .usage = "[--limit N]",
    .options = options,
    .next = "more",
    .details =
        "Further lines of what was listed last by 'slice', 'chop', 'show', 'diff', 'prune' or\n"
        "'mark'. An empty line after these and after 'more' means it, too.",
};

int cli_cmd_more(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    uint64_t limit;
    (void)format;
    int err = cli_args_number(args, "limit", CLI_SLICE_LINES, &limit);
    return err ? err : cli_rest_print(repl->session, limit);
}
