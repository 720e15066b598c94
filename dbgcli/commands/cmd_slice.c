/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `slice`: what led to a criterion, by source line or by instance, as text or as JSON. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/origin_place.h"
#include "dbgcli/commands/slice_initials.h"
#include "dbgcli/commands/slice_reached.h"
#include "dbgcli/commands/slice_view.h"
#include "dbgcli/commands/slicing.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/nav/thread.h"
#include <wetdbg/errors.h>

static const struct cli_option options[] = {
    {"data", 0, NULL, "no control dependence"},
    {"control", 0, NULL, "control dependence only"},
    {"thin", 0, NULL, "what computed the values only: no control, no addresses"},
    {"instances", 0, NULL, "under each line, its instances: time, distance, dependence"},
    {"limit", 0, "N", "at most N lines, and at most N instances of each; 0: all (the default)"},
    {"all", 0, NULL, "every line, also of libraries whose source is not here"},
    {"from-write", 0, NULL,
     "of output, from the call that wrote it; else from its buffer's filling"},
    {"no-exits", 0, NULL, "what decided not to exit, abort or longjmp controls nothing"},
    {"no-bypass", 0, NULL, "show the saving and restoring of registers around calls too"},
    {"loader", 0, NULL, "follow the dynamic linker too, which is passed by otherwise"},
    {0},
};

const struct cli_syntax cli_cmd_slice_syntax = {
    .example = "slice backward --data output:28",
    .usage =
        "backward|forward [--data|--control|--thin] CRITERION [--instances] [--limit N] [--all]",
    .options = options,
    .operands_min = 1,
    .operands_max = 2,
    .details =
        "Backward: which executed instructions made a value what it is, by source line, most\n"
        "recent first. Forward: which ones depend on it, earliest first, and what of the output\n"
        "they came to. CRITERION is one of\n"
        "  crash                       what the signal that ended the run was due to\n"
        "  exit                        the exit status\n"
        "  output[:FD]:OFFSET[+LEN]    bytes that were written (see 'output'), from where the\n"
        "                              program put them into the buffer that was written\n"
        "  output:PATH:OFFSET[+LEN]    bytes of a file that the program wrote, as it left it\n"
        "  output[:FD|:PATH]:end       why there was no more of it\n"
        "  input[:FD|:PATH]:OFFSET[+LEN]  bytes that were read, from descriptor 0 by default\n"
        "  argv:N, env:NAME            an argument, a variable of the environment;\n"
        "                              :OFFSET[+LEN] behind it for bytes of it\n"
        "  FILE:LINE[#K][:VARIABLE]    a variable just before a line ran the K-th time, or all\n"
        "                              that the line used; without #K, the last time\n"
        "  FUNCTION[#K]                its K-th call: why it was called, and its arguments\n"
        "  VARIABLE[@TIME]             a variable, member or element as 'print' takes it\n"
        "  *ADDRESS[+LEN][@TIME]       bytes of memory just before TIME; without @TIME, now\n"
        "  $REGISTER[@TIME]            a register, a part of one ($ah, $xmm3) or a flag ($zf)",
};

/* ---- text ---- */

static int print_text(const struct cli_slice_view *view, const struct wetdbg_criterion_info *info)
{
    struct cli_out *out = view->session->out;
    const struct wetdbg_slice_counts *counts = wetdbg_slice_get_counts(view->slice);
    bool is_forward = view->session->is_forward;
    cli_out_text(out, is_forward ? info->source : info->description);
    if (info->written && !is_forward)
        fprintf(out->stream,
                "\n(from there to the write at time %" PRIu64 " it is one step, %" PRIu64
                " instructions; --from-write follows it)",
                info->written, info->written - info->born.time);
    fprintf(out->stream,
            "\n%s %sslice: %" PRIu64 " instances of %" PRIu64 " instructions in %" PRIu64
            " lines (%.2f s)\n",
            cli_kinds_name(view->session->kinds), is_forward ? "forward " : "", counts->instances,
            counts->statements, counts->lines, counts->seconds);
    if (counts->unknown_calls)
        fprintf(out->stream,
                "(approximate: what %" PRIu64 " system call%s read is not known, no signature)\n",
                counts->unknown_calls, counts->unknown_calls == 1 ? "" : "s");
    int err = cli_slice_view_print(view);
    if (err)
        return err;
    if (is_forward)
        cli_slice_reached_print(view->session, view->slice, view->shows_all);
    else
        cli_slice_initials_print(view->session, view->slice, view->shows_all);
    cli_uncertain_print(view->session, info->time);
    return 0;
}

/* ---- JSON ---- */

/* Where output was put into its buffer, if the slice begins there. */
static json_t *json_of_birth(const struct cli_slice_view *view,
                             const struct wetdbg_criterion_info *info)
{
    struct cli_place place;
    if (!info->written)
        return json_null();
    json_t *object = json_object();
    cli_json_set(object, "time", cli_json_count(info->born.time));
    cli_place_of_pc(view->session, info->born.pc, &place);
    place.file = info->born.file;
    place.line = info->born.line;
    place.function = info->born.function;
    place.text = cli_source_text(view->session, place.file, place.line, place.pc);
    cli_place_to_json(object, &place);
    cli_json_set(object, "written", cli_json_count(info->written));
    return object;
}

static int print_json(const struct cli_slice_view *view, const struct wetdbg_criterion_info *info)
{
    const struct wetdbg_slice_counts *counts = wetdbg_slice_get_counts(view->slice);
    json_t *object = cli_json_object("wetdbg.slice/1");
    cli_json_set(object, "criterion", cli_json_text(info->text));
    cli_json_set(object, "description",
                 cli_json_text(view->session->is_forward ? info->source : info->description));
    cli_json_set(object, "time", cli_json_count(info->time));
    cli_thread_to_json_at(object, view->session, info->time);
    cli_uncertain_to_json(object, view->session, info->time);
    cli_json_set(object, "birth", json_of_birth(view, info));
    cli_json_set(object, "direction",
                 cli_json_text(view->session->is_forward ? "forward" : "backward"));
    cli_json_set(object, "kinds", cli_json_text(cli_kinds_name(view->session->kinds)));
    cli_json_set(object, "instances", cli_json_count(counts->instances));
    cli_json_set(object, "statements", cli_json_count(counts->statements));
    cli_json_set(object, "line_count", cli_json_count(counts->lines));
    cli_json_set(object, "unknown_calls", cli_json_count(counts->unknown_calls));
    cli_json_set(object, "seconds", json_real(counts->seconds));
    int err = cli_slice_view_to_json(view, object);
    cli_json_set(object, "initials", cli_slice_initials_json(view->session, view->slice));
    cli_json_set(object, "start", cli_slice_start_json(view->session, view->slice));
    if (view->session->is_forward)
        cli_slice_reached_to_json(object, view->slice);
    if (err)
        json_decref(object);
    else
        cli_out_json(view->session->out, object);
    return err;
}

/* ---- the command ---- */

static int parse_operands(const struct cli_args *args, const char **criterion, bool *is_forward)
{
    static const char *const directions[] = {"backward", "forward"};
    const char *first = args->operands[0];
    size_t length = strlen(first), i = 0;
    while (i < 2 && strncmp(directions[i], first, length) != 0)
        i++;
    if (args->operand_count == 1 && i < 2)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "slice: of what? usage: slice %s",
                           cli_cmd_slice_syntax.usage);
    if (args->operand_count == 2 && i == 2)
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "slice: '%s' is no direction; there are 'backward' and 'forward'",
                           first);
    *is_forward = i == 1 && args->operand_count == 2;
    *criterion = args->operands[args->operand_count - 1];
    return 0;
}

int cli_cmd_slice(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_session *session = repl->session;
    struct wetdbg_slice_options how = {
        .record_parents = cli_args_has(args, "instances"),
        .no_exits = cli_args_has(args, "no-exits"),
        .no_bypass = cli_args_has(args, "no-bypass"),
        .loader = cli_args_has(args, "loader"),
    };
    struct cli_slice_view view = {
        .session = session,
        .has_instances = how.record_parents,
        .shows_all = cli_args_has(args, "all"),
    };
    struct wetdbg_criterion *criterion;
    struct wetdbg_slice *slice;
    const char *text = NULL;
    bool is_forward = false;
    (void)format;
    int err = parse_operands(args, &text, &is_forward);
    if (!err)
        err = cli_kinds_from(args, &how.kinds);
    if (!err)
        err = cli_args_number(args, "limit", 0, &view.limit);
    if (!err)
        err = cli_slice_criterion(session, text, cli_args_has(args, "from-write"), &criterion);
    if (err)
        return err;
    err = cli_slice_run(session, criterion, &how, is_forward, true, &slice);
    if (err) {
        wetdbg_criterion_free(criterion);
        return err;
    }
    cli_slice_remember(session, criterion, &how, is_forward, NULL);
    const struct wetdbg_criterion_info *info = wetdbg_criterion_get_info(criterion);
    err = cli_slice_view_open(&view, slice);
    if (!err)
        err = repl->out->json ? print_json(&view, info) : print_text(&view, info);
    cli_slice_view_close(&view);
    if (how.record_parents && !how.no_bypass && !how.loader)
        session->slice = slice;
    else
        wetdbg_slice_free(slice);
    return err;
}
