/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/slice_reached.h"

#include <inttypes.h>

#define PIECES_SHOWN 8

/* As the criterion that names it. */
static void print_piece(struct cli_out *out, const struct wetdbg_slice_reached *piece)
{
    uint64_t first = piece->path ? piece->path_offset : piece->offset;
    if (piece->path) {
        fputs("output:", out->stream);
        cli_out_text(out, piece->path);
        fprintf(out->stream, ":%" PRIu64, first);
    } else {
        fprintf(out->stream, "output:%d:%" PRIu64, piece->fd, first);
    }
    if (piece->size > 1)
        fprintf(out->stream, "-%" PRIu64, first + piece->size - 1);
}

static void print_pieces(struct cli_session *session, const struct wetdbg_slice_reached *pieces,
                         size_t count, bool is_control, bool all)
{
    struct cli_out *out = session->out;
    size_t shown = 0, of_kind = 0;
    for (size_t i = 0; i < count; i++)
        of_kind += pieces[i].is_control == is_control;
    if (!of_kind)
        return;
    fputs(is_control ? "output that was written because of it: " : "output that it reached: ",
          out->stream);
    for (size_t i = 0; i < count; i++) {
        if (pieces[i].is_control != is_control)
            continue;
        if (!all && shown == PIECES_SHOWN)
            break;
        fputs(shown ? ", " : "", out->stream);
        print_piece(out, &pieces[i]);
        shown++;
    }
    if (shown < of_kind)
        fprintf(out->stream, " (%zu pieces more; --all shows them)", of_kind - shown);
    putc('\n', out->stream);
}

void cli_slice_reached_print(struct cli_session *session, const struct wetdbg_slice *slice,
                             bool all)
{
    size_t count;
    const struct wetdbg_slice_reached *pieces = wetdbg_slice_get_reached(slice, &count);
    if (wetdbg_slice_get_counts(slice)->instances == 0)
        fputs("nothing uses it\n", session->out->stream);
    print_pieces(session, pieces, count, false, all);
    print_pieces(session, pieces, count, true, all);
    if (wetdbg_slice_reaches_crash(slice))
        fputs("it reached the crash\n", session->out->stream);
    else if (count == 0)
        fputs(session->info->signal ? "it reached no output, and not the crash\n"
                                    : "it reached no output\n",
              session->out->stream);
}

void cli_slice_reached_to_json(json_t *object, const struct wetdbg_slice *slice)
{
    size_t count;
    const struct wetdbg_slice_reached *pieces = wetdbg_slice_get_reached(slice, &count);
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *row = json_object();
        cli_json_set(row, "fd", json_integer(pieces[i].fd));
        cli_json_set(row, "offset", cli_json_count(pieces[i].offset));
        cli_json_set(row, "size", cli_json_count(pieces[i].size));
        cli_json_set(row, "path", cli_json_text(pieces[i].path));
        cli_json_set(row, "path_offset",
                     pieces[i].path ? cli_json_count(pieces[i].path_offset) : json_null());
        cli_json_set(row, "control", json_boolean(pieces[i].is_control));
        cli_json_append(array, row);
    }
    cli_json_set(object, "output", array);
    cli_json_set(object, "crash", json_boolean(wetdbg_slice_reaches_crash(slice)));
}
