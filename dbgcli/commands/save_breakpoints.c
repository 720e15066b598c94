/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/save_breakpoints.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dbgcli/commands/breakpoints.h"
#include "dbgcli/nav/place.h"
#include <wetdbg/errors.h>

/* Without a file, "120" and "+3" are lines of wherever the session stands; none at all is the
 * instruction there. */
static void write_place(FILE *file, const struct cli_breakpoint *one)
{
    struct cli_place place;
    const char *what = one->what;
    if (!*what) {
        fprintf(file, "*0x%" PRIx64, one->is.pcs[0]);
        return;
    }
    cli_place_of_pc(one->session, one->is.pcs[0], &place);
    if (isdigit((unsigned char)what[*what == '+' || *what == '-']) && place.file)
        fprintf(file, "%s:%" PRIu32, cli_base_name(place.file), place.line);
    else
        fputs(what, file);
}

static void write_what(FILE *file, const struct cli_breakpoint *one)
{
    static const char *const commands[] = {
        [WETDBG_BREAK_WATCH] = "watch",
        [WETDBG_BREAK_READ_WATCH] = "rwatch",
        [WETDBG_BREAK_ACCESS_WATCH] = "awatch",
        [WETDBG_BREAK_CATCH] = "catch",
    };
    if (one->is.kind == WETDBG_BREAK_CODE) {
        fputs(one->disposition == CLI_DELETE ? "tbreak " : "break ", file);
        write_place(file, one);
    } else {
        fprintf(file, "%s %s", commands[one->is.kind], one->what);
    }
    if (one->is.thread)
        fprintf(file, " thread %u", one->is.thread->index + 1);
    putc('\n', file);
}

static void write_one(FILE *file, const struct cli_breakpoint *one)
{
    write_what(file, one);
    if (one->condition)
        fprintf(file, "  condition $bpnum %s\n", one->condition);
    if (one->is.ignore)
        fprintf(file, "  ignore $bpnum %" PRIu64 "\n", one->is.ignore);
    if (one->stops_left)
        fprintf(file, "  enable count %" PRIu64 " $bpnum\n", one->stops_left);
    if (one->disposition == CLI_DISABLE)
        fputs("  enable once $bpnum\n", file);
    if (one->disposition == CLI_DELETE && one->is.kind != WETDBG_BREAK_CODE)
        fputs("  enable delete $bpnum\n", file);
    if (one->command_count)
        fputs("  commands\n", file);
    for (size_t i = 0; i < one->command_count; i++)
        fprintf(file, "    %s\n", one->commands[i]);
    if (one->command_count)
        fputs("  end\n", file);
    if (!one->is.is_enabled)
        fputs("disable $bpnum\n", file);
}

int cli_save_breakpoints(struct cli_session *session, const char *path, size_t *count)
{
    const struct cli_breakpoints *all = session->breakpoints;
    if (!all->count)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "save: there are no breakpoints");
    FILE *file = fopen(path, "we");
    if (!file)
        return wetdbg_fail_errno("cannot write '%s'", path);
    for (size_t i = 0; i < all->count; i++)
        write_one(file, all->list[i]);
    bool is_written = !ferror(file);
    if (fclose(file) != 0 || !is_written)
        return wetdbg_fail_errno("cannot write '%s'", path);
    *count = all->count;
    return 0;
}
