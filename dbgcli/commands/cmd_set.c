/* SPDX-License-Identifier: GPL-3.0-or-later */
/* set: what stays set until the session ends; the init file may hold it. */
#include <string.h>

#include "dbgcli/commands/settings.h"
#include "dbgcli/eval/value.h"
#include <wetdbg/errors.h>

const struct cli_syntax cli_cmd_set_syntax = {
    .example = "set $i = 1",
    .usage = "[$NAME = EXPRESSION|pager on|off|print pretty on|off|print elements N|\n"
             "     print repeats N|listsize N|disassembly-flavor att|intel]",
    .operands_max = 1,
    .is_raw = true,
    .details =
        "Without arguments shows what is set.\n"
        "$NAME: a variable of yours, which expressions know from then on; += and the like,\n"
        "and ++, change it. 'show convenience' lists them.\n"
        "pager: whether answers that are longer than the screen go through $PAGER (less).\n"
        "Where nobody types, with --batch and with --json it is off whatever is set.\n"
        "print pretty: each member of a structure has a line of its own.\n"
        "print elements: how many elements of an array or a text are shown (200); print repeats:\n"
        "from how many equal ones on they are put together (10). 0 or unlimited: no end.\n"
        "listsize: how many lines 'list' shows (10).\n"
        "~/.config/wetdbg/init may hold such lines.",
};

/* "var x = 5" is the same as "x = 5". */
static const char *skip_variable(const char *text)
{
    size_t length = strcspn(text, " \t");
    bool is_word = length >= 3 && length <= strlen("variable") &&
                   strncmp(text, "variable", length) == 0 && text[length];
    return is_word ? text + length + strspn(text + length, " \t") : text;
}

static int evaluate(struct cli_session *session, const char *text)
{
    struct cli_moment *moment;
    struct cli_value value;
    int err = cli_session_moment(session, &moment);
    if (err)
        return err;
    struct cli_frame_view view = {moment, session->frame};
    return cli_value_evaluate(&view, text, &value);
}

int cli_cmd_set(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_session *session = repl->session;
    const char *text = args->operand_count ? args->operands[0] : "", *behind;
    size_t index;
    int err = 0;
    (void)format;
    if (*text && cli_setting_find(text, &index, &behind))
        err = cli_setting_set(session, index, behind);
    else if (*text && cli_setting_explain(text, 0))
        err = -WETDBG_ERR_USAGE;
    else if (strchr(text, '=') || strchr(text, '+') || strchr(text, '-'))
        return evaluate(session, skip_variable(text));
    else if (*text)
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "set: there is no '%s' to set; usage: set %s", text,
                          "[$NAME = EXPRESSION|pager|print pretty|print elements|print repeats|"
                          "listsize|disassembly-flavor]");
    if (!err && (!*text || repl->out->json))
        cli_settings_show(session);
    return err;
}
