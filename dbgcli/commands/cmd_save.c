/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `save`: named slices, and breakpoints, in files. */
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/named_slices.h"
#include "dbgcli/commands/save_breakpoints.h"
#include "dbgcli/commands/session.h"
#include <wetdbg/errors.h>

const struct cli_syntax cli_cmd_save_syntax = {
    .example = "save A",
    .usage = "[NAME [FILE]|breakpoints FILE]",
    .operands_max = 2,
    .details =
        "Writes a named slice beside the .wet, where the next session finds it, or to FILE,\n"
        "which 'let NAME = load FILE' reads; without NAME, each one that has not been saved.\n"
        "'save breakpoints' writes breakpoints, watchpoints and catchpoints as commands that\n"
        "'source FILE' runs in another session.",
};

/* Says where something was saved; in JSON as a row. */
static void tell(struct cli_session *session, const char *name, const char *verb, const char *where,
                 json_t *rows)
{
    if (session->out->json) {
        json_t *row = json_object();
        cli_json_set(row, "name", cli_json_text(name));
        cli_json_set(row, "file", cli_json_text(where));
        cli_json_append(rows, row);
    } else {
        fprintf(session->out->stream, "%s %s saved in ", name, verb);
        cli_out_text(session->out, where);
        putc('\n', session->out->stream);
    }
}

static int save(struct cli_session *session, const char *name, const char *path, json_t *rows)
{
    char *where;
    int err = cli_named_slices_save(session->named, name, path, &where);
    if (err)
        return err;
    tell(session, name, "is", where, rows);
    free(where);
    return 0;
}

static int save_breakpoints(struct cli_session *session, const char *path, json_t *rows)
{
    size_t count;
    if (!path)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "save breakpoints: in which file?");
    int err = cli_save_breakpoints(session, path, &count);
    if (err)
        return err;
    char *what = cli_asprintf("%zu breakpoint%s", count, count == 1 ? "" : "s");
    tell(session, session->out->json ? "breakpoints" : what, count == 1 ? "is" : "are", path, rows);
    free(what);
    return 0;
}

static int save_all(struct cli_session *session, json_t *rows)
{
    struct cli_named_slice *list;
    size_t count, saved = 0;
    int err = 0;
    cli_named_slices_list(session->named, &list, &count);
    for (size_t i = 0; i < count && !err; i++) {
        if (!list[i].set || list[i].is_saved)
            continue;
        err = save(session, list[i].name, NULL, rows);
        saved++;
    }
    if (!err && !saved)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                           "save: there is no named slice that is not saved");
    return err;
}

int cli_cmd_save(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_session *session = repl->session;
    json_t *rows = json_array();
    (void)format;
    int err;
    if (!args->operand_count)
        err = save_all(session, rows);
    else if (strcmp(args->operands[0], "breakpoints") == 0)
        err = save_breakpoints(session, args->operands[1], rows);
    else
        err = save(session, args->operands[0], args->operands[1], rows);
    if (err || !session->out->json) {
        json_decref(rows);
        return err;
    }
    json_t *object = cli_json_object("wetdbg.save/1");
    cli_json_set(object, "saved", rows);
    cli_out_json(session->out, object);
    return 0;
}
