/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `expand N`: what is below a row of the last tree. */
#include <string.h>

#include "dbgcli/commands/slice_tree.h"
#include <wetdbg/errors.h>

const struct cli_syntax cli_cmd_expand_syntax = {
    .example = "expand 12",
    .usage = "N",
    .operands_min = 1,
    .operands_max = 1,
    .details =
        "Unfolds row #N of the tree that 'slice --tree' showed: the lines that gave something\n"
        "to it. A line that was unfolded elsewhere is shown there.",
};

int cli_cmd_expand(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    const char *text = args->operands[0];
    uint64_t number;
    (void)format;
    if (!cli_number_parse(text + (text[0] == '#'), &number))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "expand: '%s' is no row; rows are called #1, #2...",
                           text);
    if (repl->out->json)
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "expand: trees are text; 'slice --tree --json' has all links at once");
    return cli_slice_tree_expand(repl->session, number);
}
