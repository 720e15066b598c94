/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `let`: a slice, a chop, or what comes of putting named ones together, under a name. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/named_slices.h"
#include "dbgcli/commands/set_expression.h"
#include "dbgcli/commands/slice_made.h"
#include "dbgcli/commands/slice_manner.h"
#include "dbgcli/repl/words.h"
#include <wetdbg/errors.h>

static const struct cli_option options[] = {
    {"delete", 'd', "NAME", "forget a named slice, and the file that it was saved in"},
    {0},
};

static const char *const makers[] = {"chop", "load", "slice", NULL};
/* What only concerns showing. */
static const char *const shown[] = {"instances", "unfold", "limit", "all", "stats", "against",
                                    "measure",   "tree",   "dot",   "svg", NULL};

const struct cli_syntax cli_cmd_let_syntax = {
    .example = "let A = slice backward crash",
    .usage = "NAME = slice ...|chop ...|load FILE|EXPRESSION, or --delete NAME",
    .options = options,
    .operands_max = CLI_OPERANDS_ANY,
    .ends_at_operand = true,
    .made_by = makers,
    .made_without = shown,
    .details =
        "Gives a set of instances a name, until the session ends:\n"
        "  let A = slice backward crash       any form of 'slice', without what only concerns\n"
        "  let B = chop input:1024 crash      showing, or of 'chop'\n"
        "  let C = (A | B) - D                what either has, and D has not; '&' is what both\n"
        "                                     have, and binds closest\n"
        "  let D = load FILE                  what 'save NAME FILE' wrote\n"
        "What 'let' slices is the last slice, for 'why', 'decisions' and 'prune'.\n"
        "'show C' and 'diff A B' look at them, 'info slices' lists them, 'save' keeps them for\n"
        "the next session. A name has letters, digits and '_'.",
};

/* What stands right of the '='. */
struct value {
    char *text; /* all of it, with one blank between words */
    char **words;
    int count;
};

/* Splits the operands at the first '='; *name is to be freed. */
static int split(const struct cli_args *args, char **name, struct value *value)
{
    size_t at = 0;
    while (at < args->operand_count && !strchr(args->operands[at], '='))
        at++;
    if (at == args->operand_count)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "let: a '=' is missing; usage: let %s",
                           cli_cmd_let_syntax.usage);
    char *equals = strchr(args->operands[at], '=');
    char *last = cli_strndup(args->operands[at], (size_t)(equals - args->operands[at]));
    char *before = cli_words_join(args->operands, at);
    *name = cli_asprintf("%s%s%s", before, *before && *last ? " " : "", last);
    free(before);
    free(last);
    if (equals[1])
        args->operands[at] = equals + 1;
    else
        at++;
    value->words = args->operands + at;
    value->count = (int)(args->operand_count - at);
    value->text = cli_words_join(value->words, (size_t)value->count);
    return 0;
}

/* ---- what a name is given ---- */

static int run_form(struct cli_session *session, const char *name, const struct cli_syntax *syntax,
                    int (*make)(struct cli_session *, const struct cli_args *, struct cli_made *),
                    const struct value *value, struct cli_made *made)
{
    struct cli_args args;
    int err = cli_args_parse(&args, name, syntax, value->count - 1, value->words + 1);
    if (err)
        return err;
    if (args.wants_help)
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "let: 'help %s' has the forms of '%s'", name, name);
    if (!err)
        err = cli_slice_manner_refuse(&args, "a name is for a set, which has no dependences; leave "
                                             "out 'let' to draw them");
    for (size_t i = 0; shown[i] && !err; i++)
        if (cli_args_has(&args, shown[i]))
            err = wetdbg_fail(-WETDBG_ERR_USAGE,
                              strcmp(shown[i], "against") == 0 || strcmp(shown[i], "measure") == 0
                                  ? "let: --%s ranks lines, a set has none; leave out 'let'"
                                  : "let: --%s is for 'show'",
                              shown[i]);
    if (!err)
        err = make(session, &args, made);
    cli_args_fini(&args);
    return err;
}

static int load(struct cli_session *session, const struct value *value, struct cli_made *made,
                char **how)
{
    if (value->count != 2)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "let: 'load' takes one file");
    return wetdbg_set_load(session->wet, value->words[1], &made->set, how);
}

/* Makes what is asked for, and of what is loaded how it was made. */
static int evaluate(struct cli_session *session, const struct value *value, struct cli_made *made,
                    char **how)
{
    const char *first = value->count ? value->words[0] : "";
    if (strcmp(first, "slice") == 0)
        return run_form(session, first, &cli_cmd_slice_syntax, cli_slice_to_set, value, made);
    if (strcmp(first, "chop") == 0)
        return run_form(session, first, &cli_cmd_chop_syntax, cli_chop_to_set, value, made);
    if (strcmp(first, "load") == 0)
        return load(session, value, made, how);
    return cli_set_evaluate(session->named, value->text, made);
}

static void say(struct cli_session *session, const struct cli_named_slice *slice, double seconds)
{
    struct cli_out *out = session->out;
    uint64_t count = wetdbg_set_count(slice->set);
    if (out->json) {
        json_t *object = cli_json_object("wetdbg.let/1");
        cli_json_set(object, "name", cli_json_text(slice->name));
        cli_json_set(object, "made", cli_json_text(slice->how));
        cli_json_set(object, "instances", cli_json_count(count));
        cli_json_set(object, "line_count",
                     slice->lines == CLI_LINES_UNKNOWN ? json_null()
                                                       : cli_json_count(slice->lines));
        cli_json_set(object, "seconds", json_real(seconds));
        cli_out_json(out, object);
        return;
    }
    fprintf(out->stream, "%s has %" PRIu64 " instance%s", slice->name, count,
            count == 1 ? "" : "s");
    if (slice->lines != CLI_LINES_UNKNOWN)
        fprintf(out->stream, " in %" PRIu64 " line%s", slice->lines, slice->lines == 1 ? "" : "s");
    if (seconds > 0)
        fprintf(out->stream, " (%.2f s)", seconds);
    putc('\n', out->stream);
}

static int assign(struct cli_session *session, const char *name, const struct value *value)
{
    struct cli_made made = {.lines = CLI_LINES_UNKNOWN};
    char *how = NULL;
    int err = evaluate(session, value, &made, &how);
    if (err) {
        cli_made_fini(&made);
        return err;
    }
    struct cli_named_slice *slice =
        cli_named_slices_set(session->named, name, made.set, made.near, how ? how : value->text);
    slice->plain = made.plain;
    slice->lines = made.lines;
    free(how);
    say(session, slice, made.seconds);
    return 0;
}

static int delete_one(struct cli_session *session, const struct cli_args *args, const char *name)
{
    if (args->operand_count)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "let: --delete NAME takes nothing else ('%s')",
                           args->operands[0]);
    int err = cli_named_slices_delete(session->named, name);
    if (!err && session->out->json) {
        json_t *object = cli_json_object("wetdbg.let/1");
        cli_json_set(object, "deleted", cli_json_text(name));
        cli_out_json(session->out, object);
    }
    return err;
}

int cli_cmd_let(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    const char *unwanted = cli_args_value(args, "delete");
    struct value value;
    char *name;
    (void)format;
    if (unwanted)
        return delete_one(repl->session, args, unwanted);
    int err = split(args, &name, &value);
    if (err)
        return err;
    err = cli_named_slice_check(name);
    if (!err)
        err = assign(repl->session, name, &value);
    free(name);
    free(value.text);
    return err;
}
