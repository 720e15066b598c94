/* SPDX-License-Identifier: GPL-3.0-or-later */
/* set: what stays set until the session ends; the init file may hold it. */
#include <string.h>

#include "dbgcli/commands/session.h"
#include "dbgcli/screen.h"
#include <wetdbg/errors.h>

const struct cli_syntax cli_cmd_set_syntax = {
    .example = "set pager off",
    .usage = "[pager on|off]",
    .operands_max = 2,
    .details = "Without arguments shows what is set.\n"
               "pager: whether answers that are longer than the screen go through $PAGER (less).\n"
               "Where nobody types, with --batch and with --json it is off whatever is set.\n"
               "~/.config/wetdbg/init may hold such lines.",
};

static bool pages(const struct cli_out *out)
{
    return out->screen && cli_screen_pages(out->screen);
}

static int set_pager(struct cli_out *out, const char *value)
{
    bool is_on = strcmp(value, "on") == 0;
    if (!is_on && strcmp(value, "off") != 0)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "set: pager is on or off, not '%s'", value);
    if (out->screen)
        cli_screen_set_pages(out->screen, is_on);
    return 0;
}

int cli_cmd_set(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_out *out = repl->out;
    (void)format;
    if (args->operand_count && strcmp(args->operands[0], "pager") != 0)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "set: there is no '%s' to set; only pager",
                           args->operands[0]);
    if (args->operand_count == 1)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "set: on or off? usage: set %s",
                           cli_cmd_set_syntax.usage);
    int err = args->operand_count ? set_pager(out, args->operands[1]) : 0;
    if (err)
        return err;
    if (out->json) {
        json_t *object = cli_json_object("wetdbg.settings/1");
        cli_json_set(object, "pager", json_boolean(pages(out)));
        cli_out_json(out, object);
    } else if (!args->operand_count) {
        fprintf(out->stream, "pager  %s\n", pages(out) ? "on" : "off");
    }
    return 0;
}
