/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `show`: the lines of a named slice, or of several put together. */
#include <inttypes.h>
#include <stdlib.h>

#include "dbgcli/commands/set_expression.h"
#include "dbgcli/commands/slice_view.h"
#include "dbgcli/commands/slicing.h"
#include "dbgcli/repl/words.h"
#include <wetdbg/errors.h>

static const struct cli_option options[] = {
    {"instances", 0, NULL, "under each line, its instances"},
    {"unfold", 0, NULL, "with --instances, each one, not those of an instruction as one row"},
    {"limit", 0, "N", "at most N lines (40) and, unfolded, at most N instances of each; 0: all"},
    {"all", 0, NULL, "every line, also of libraries, and what only called others"},
    {0},
};

const struct cli_syntax cli_cmd_show_syntax = {
    .example = "show A & B",
    .usage = "NAME|EXPRESSION [--instances] [--limit N] [--all]",
    .options = options,
    .next = "more",
    .operands_min = 1,
    .operands_max = CLI_OPERANDS_ANY,
    .details = "The lines of a slice that 'let' named, or of several: 'A & B' is what both have,\n"
               "'A | B' what either has, 'A - B' what A has and B has not; parentheses group.",
};

static int show_text(struct cli_slice_view *view, const char *text)
{
    const struct wetdbg_slice_counts *counts = wetdbg_slice_get_counts(view->slice);
    cli_out_text(view->session->out, text);
    fprintf(view->session->out->stream,
            ": %" PRIu64 " instances of %" PRIu64 " instructions in %" PRIu64 " lines (%.2f s)\n",
            counts->instances, counts->statements, counts->lines, counts->seconds);
    return cli_slice_view_print(view);
}

static int show_json(struct cli_slice_view *view, const char *text)
{
    const struct wetdbg_slice_counts *counts = wetdbg_slice_get_counts(view->slice);
    json_t *object = cli_json_object("wetdbg.show/1");
    cli_json_set(object, "expression", cli_json_text(text));
    cli_json_set(object, "instances", cli_json_count(counts->instances));
    cli_json_set(object, "statements", cli_json_count(counts->statements));
    cli_json_set(object, "line_count", cli_json_count(counts->lines));
    cli_json_set(object, "seconds", json_real(counts->seconds));
    int err = cli_slice_view_to_json(view, object);
    if (err)
        json_decref(object);
    else
        cli_out_json(view->session->out, object);
    return err;
}

static int show(struct cli_slice_view *view, const struct wetdbg_set *set, const char *text)
{
    struct wetdbg_slice *slice;
    int err = cli_slice_of_set(view->session, set, &slice);
    if (err)
        return err;
    err = cli_slice_view_open(view, slice);
    if (!err)
        err = view->session->out->json ? show_json(view, text) : show_text(view, text);
    cli_slice_view_close(view);
    wetdbg_slice_free(slice);
    return err;
}

int cli_cmd_show(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_slice_view view = {
        .session = repl->session,
        .has_instances = cli_args_has(args, "instances"),
        .unfolds = cli_args_has(args, "unfold"),
        .shows_all = cli_args_has(args, "all"),
        .keeps_rest = true,
    };
    struct wetdbg_set *set;
    (void)format;
    int err = cli_slice_view_limit(&view, args);
    if (err)
        return err;
    char *text = cli_words_join(args->operands, args->operand_count);
    err = cli_set_evaluate(repl->session->named, text, &set);
    if (!err) {
        err = show(&view, set, text);
        wetdbg_set_free(set);
    }
    free(text);
    return err;
}
