/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `info slices`: those that have names. */
#include <inttypes.h>
#include <string.h>

#include "dbgcli/commands/info_subject.h"
#include "dbgcli/commands/named_slices.h"
#include "dbgcli/commands/slicing.h"

/* Counts lines that nobody has counted yet. */
static int count_lines(struct cli_session *session, struct cli_named_slice *slice)
{
    struct wetdbg_slice *lines;
    int err = cli_slice_of_set(session, slice->set, &lines);
    if (err)
        return err;
    slice->lines = wetdbg_slice_get_counts(lines)->lines;
    wetdbg_slice_free(lines);
    return 0;
}

static json_t *json_of(const struct cli_named_slice *slice)
{
    json_t *row = json_object();
    cli_json_set(row, "name", cli_json_text(slice->name));
    cli_json_set(row, "saved", json_boolean(slice->is_saved || !slice->set));
    cli_json_set(row, slice->set ? "made" : "error", cli_json_text(slice->how));
    if (!slice->set)
        return row;
    cli_json_set(row, "instances", cli_json_count(wetdbg_set_count(slice->set)));
    cli_json_set(row, "line_count", cli_json_count(slice->lines));
    return row;
}

static void print(struct cli_out *out, const struct cli_named_slice *slice, int width)
{
    fprintf(out->stream, "%s%s%s%*s  ", cli_out_style(out, CLI_STYLE_BOLD), slice->name,
            cli_out_style(out, CLI_STYLE_NONE), width - (int)strlen(slice->name), "");
    if (slice->set)
        fprintf(out->stream, "%" PRIu64 " instance%s in %" PRIu64 " line%s  ",
                wetdbg_set_count(slice->set), wetdbg_set_count(slice->set) == 1 ? "" : "s",
                slice->lines, slice->lines == 1 ? "" : "s");
    cli_out_text(out, slice->how);
    fputs(slice->is_saved ? "  (saved)\n" : "\n", out->stream);
}

int cli_info_slices(struct cli_session *session, const char *operand)
{
    struct cli_named_slice *list;
    size_t count;
    int err = 0, width = 0;
    (void)operand;
    cli_named_slices_list(session->named, &list, &count);
    for (size_t i = 0; i < count && !err; i++) {
        if (list[i].set && list[i].lines == CLI_LINES_UNKNOWN)
            err = count_lines(session, &list[i]);
        if ((int)strlen(list[i].name) > width)
            width = (int)strlen(list[i].name);
    }
    if (err)
        return err;
    if (session->out->json) {
        json_t *rows = json_array();
        for (size_t i = 0; i < count; i++)
            cli_json_append(rows, json_of(&list[i]));
        json_t *object = cli_json_object("wetdbg.slices/1");
        cli_json_set(object, "slices", rows);
        cli_out_json(session->out, object);
        return 0;
    }
    for (size_t i = 0; i < count && !cli_out_is_gone(session->out); i++)
        print(session->out, &list[i], width);
    if (!count)
        fputs("no slices with names; 'let A = slice backward CRITERION' makes one\n",
              session->out->stream);
    return 0;
}
