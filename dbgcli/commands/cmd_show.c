/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `show`: the lines of a named slice, or of several put together. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/named_slices.h"
#include "dbgcli/commands/set_expression.h"
#include "dbgcli/commands/settings.h"
#include "dbgcli/commands/show_kept.h"
#include "dbgcli/commands/slice_manner.h"
#include "dbgcli/commands/slicing.h"
#include "dbgcli/repl/words.h"
#include <wetdbg/errors.h>

static const struct cli_option options[] = {
    {"instances", 0, NULL, "under each line, its instances"},
    {"unfold", 0, NULL, "with --instances, each one, not those of an instruction as one row"},
    {"limit", 0, "N", "at most N lines (40) and, unfolded, at most N instances of each; 0: all"},
    {"all", 0, NULL, "every line, also of libraries, and what only called others"},
    CLI_STATS_OPTION,
    CLI_NO_GRAPH_OPTIONS,
    {0},
};

const struct cli_syntax cli_cmd_show_syntax = {
    .example = "show A & B",
    .usage = "NAME|EXPRESSION [--instances] [--limit N] [--all] [--stats],\n"
             "      values [N], convenience or SETTING",
    .options = options,
    .next = "more",
    .operands_min = 1,
    .operands_max = CLI_OPERANDS_ANY,
    .details =
        "The lines of a slice that 'let' named, or of several: 'A & B' is what both have,\n"
        "'A | B' what either has, 'A - B' what A has and B has not; parentheses group.\n"
        "A set has no distances of its own. What this session sliced or chopped keeps those\n"
        "that its first look told, and lines come by them: of 'A | B' by the nearer one, of\n"
        "'A & B' by the sum, of 'A - B' as A has them. What a file brought has none: there the\n"
        "most recent line comes first, and marks of implicit dependences are not kept in it.\n"
        "'show values' lists the last values that 'print' showed, 'show convenience' what\n"
        "'set $name = ...' set, 'show print pretty' and the like what 'set' set.",
};

static int show_text(struct cli_slice_view *view, const struct cli_slice_manner *manner,
                     const char *text)
{
    bool is_all;
    const struct wetdbg_slice_counts *counts = wetdbg_slice_get_counts(view->slice);
    cli_out_text(view->session->out, text);
    fputs(": ", view->session->out->stream);
    cli_slice_counts_print(view->session->out->stream, counts);
    fprintf(view->session->out->stream, " (%.2f s)\n", counts->seconds);
    int err = cli_slice_manner_print(view, manner, false, &is_all);
    if (err || is_all)
        return err;
    fputs(view->near ? "(the nearest first, as far as distances are known)\n"
                     : "(the most recent first: no distances are known)\n",
          view->session->out->stream);
    return cli_slice_view_print(view);
}

static int show_json(struct cli_slice_view *view, const struct cli_slice_manner *manner,
                     const char *text)
{
    const struct wetdbg_slice_counts *counts = wetdbg_slice_get_counts(view->slice);
    json_t *object = cli_json_object("wetdbg.show/1");
    cli_json_set(object, "expression", cli_json_text(text));
    cli_json_set(object, "instances", cli_json_count(counts->instances));
    cli_json_set(object, "statements", cli_json_count(counts->statements));
    cli_json_set(object, "line_count", cli_json_count(counts->lines));
    cli_json_set(object, "seconds", json_real(counts->seconds));
    int err = cli_slice_view_to_json(view, object);
    if (!err)
        err = cli_slice_manner_to_json(view, manner, false, object);
    if (err)
        json_decref(object);
    else
        cli_out_json(view->session->out, object);
    return err;
}

static int show(struct cli_slice_view *view, const struct cli_slice_manner *manner,
                const struct cli_made *made, const char *text)
{
    struct wetdbg_slice *slice, *plain = NULL;
    int err = cli_slice_of_set(view->session, made->set, &slice);
    if (err)
        return err;
    if (made->plain)
        err = cli_slice_of_set(view->session, made->plain, &plain);
    view->plain = plain;
    if (!err)
        err = cli_slice_view_open(view, slice);
    if (!err)
        err = view->session->out->json ? show_json(view, manner, text)
                                       : show_text(view, manner, text);
    cli_slice_view_close(view);
    wetdbg_slice_free(plain);
    wetdbg_slice_free(slice);
    return err;
}

/* Shows what is no slice, if one word after the other says so; else false. */
static bool show_other(struct cli_repl *repl, const char *text, int *err)
{
    struct cli_session *session = repl->session;
    const char *behind;
    char *operand;
    size_t index, word = strcspn(text, " ");
    char *first = cli_strndup(text, word);
    struct cli_named_slice *slice;
    bool is_slice = cli_named_slices_find(session->named, first, &slice) == 0;
    free(first);
    if (is_slice)
        return false;
    operand = cli_strdup(text + word + strspn(text + word, " "));
    *err = 0;
    bool is_other = true;
    if (word >= 3 && strncmp("values", text, word) == 0)
        *err = cli_show_values(session, *operand ? operand : NULL);
    else if (word >= 4 && strncmp("convenience", text, word) == 0)
        *err = cli_show_convenience(session, operand);
    else if (cli_setting_find(text, &index, &behind) && !*behind)
        cli_setting_show(session, index);
    else
        is_other = false;
    free(operand);
    return is_other;
}

int cli_cmd_show(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_slice_view view = {
        .session = repl->session,
        .has_instances = cli_args_has(args, "instances"),
        .unfolds = cli_args_has(args, "unfold"),
        .shows_all = cli_args_has(args, "all"),
    };
    struct cli_slice_manner manner;
    struct cli_made made = {.set = NULL};
    (void)format;
    int err = cli_slice_view_limit(&view, args);
    if (!err)
        err =
            cli_slice_manner_refuse(args, "a set has no dependences; 'slice' and 'chop' draw them");
    if (err)
        return err;
    cli_slice_manner_parse(args, view.limit, &manner);
    char *text = cli_words_join(args->operands, args->operand_count);
    if (!args->given_count && show_other(repl, text, &err)) {
        free(text);
        return err;
    }
    err = cli_set_evaluate(repl->session->named, text, &made);
    if (err == -WETDBG_ERR_NOT_FOUND)
        err = cli_setting_explain(text, err);
    if (!err) {
        view.near = made.near;
        err = show(&view, &manner, &made, text);
        cli_made_fini(&made);
    }
    free(text);
    return err;
}
