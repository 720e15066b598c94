/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/report/way.h"

#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/hop_rows.h"
#include "dbgcli/commands/slice_path.h"
#include <wetdbg/caller.h>

/* ---- the path ---- */

/* Of a line whose switched decision repairs, from that decision; else from the nearest instance. */
static int find_path(const struct wetdbg_slice *slice, const struct wetdbg_suspect *suspect,
                     struct wetdbg_slice_path **path)
{
    const struct wetdbg_evidence *evidence = &suspect->evidence;

    if (evidence->is_switched && evidence->verdict >= WETDBG_VERDICT_NO_CRASH &&
        wetdbg_slice_path_to_time(slice, evidence->change.time, path) == 0)
        return 0;
    return cli_slice_path_to(slice, suspect->file, suspect->line, path);
}

/* ---- steps ---- */

static bool is_same_place(const struct cli_step *step, const struct cli_place *place, bool is_own)
{
    if (step->is_own != is_own)
        return false;
    return !is_own ||
           (step->place.line == place->line && strcmp(step->place.file, place->file) == 0);
}

/* Takes one more hop, which is the next one in time. */
static void add_hop(struct cli_session *session, struct cli_way *way, size_t hop, bool begins)
{
    struct cli_step *last = way->count ? &way->steps[way->count - 1] : NULL;
    uint64_t pc = way->path->hops[hop].pc;
    struct cli_place place;

    cli_place_of_pc(session, pc, &place);
    bool is_own = place.file && wetdbg_is_own(session->wet, pc);
    if (last && !begins && is_same_place(last, &place, is_own))
        last->late = hop;
    else
        way->steps[way->count++] =
            (struct cli_step){.early = hop, .late = hop, .is_own = is_own, .place = place};
}

static void make_steps(struct cli_session *session, struct cli_way *way)
{
    size_t count;
    struct cli_hop_row *rows = cli_hop_rows_make(way->path, true, &count);

    way->steps = cli_realloc(NULL, way->path->count + 1, sizeof(*way->steps));
    for (size_t i = count; i-- > 0;) {
        bool is_loop = rows[i].repeats != 0, was_loop = i + 1 < count && rows[i + 1].repeats;
        size_t first = way->count;
        for (size_t k = rows[i].count; k-- > 0;)
            add_hop(session, way, rows[i].first + k,
                    k + 1 == rows[i].count && (is_loop || was_loop));
        if (!is_loop)
            continue;
        way->steps[first].repeats = rows[i].repeats;
        way->steps[first].turn = way->count - first;
    }
    free(rows);
}

int cli_way_find(struct cli_session *session, const struct wetdbg_slice *slice,
                 const struct wetdbg_suspect *suspect, struct cli_way *way)
{
    *way = (struct cli_way){.suspect = suspect};
    int err = find_path(slice, suspect, &way->path);

    if (!err)
        make_steps(session, way);
    return err;
}

void cli_way_fini(struct cli_way *way)
{
    free(way->steps);
    wetdbg_slice_path_free(way->path);
    *way = (struct cli_way){0};
}
