/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/nav/walker.h"

#include <stddef.h>

int cli_walker_go(struct cli_walker *walker, wetdbg_time time)
{
    int err = 0;
    if (walker->state && time >= walker->time) {
        if (time > walker->time)
            err = wetdbg_state_advance(walker->state, time);
    } else {
        cli_walker_fini(walker);
        err = wetdbg_state_open(walker->session->wet, time, &walker->state);
    }
    if (err)
        cli_walker_fini(walker);
    walker->time = time;
    return err;
}

void cli_walker_fini(struct cli_walker *walker)
{
    wetdbg_state_close(walker->state);
    walker->state = NULL;
}

static const struct cli_frame *telling_frame(struct cli_session *session, struct cli_moment *moment)
{
    for (size_t i = 0; i < moment->frame_count; i++) {
        const struct cli_frame *frame = &moment->frames[i];
        if (frame->file && cli_source_text(session, frame->file, frame->line, frame->lookup_pc))
            return frame;
    }
    return &moment->frames[cli_moment_first_frame(moment)];
}

void cli_telling_place(struct cli_session *session, struct cli_moment *moment,
                       struct cli_place *place, const char **inner)
{
    const struct cli_frame *frame = telling_frame(session, moment);
    const struct cli_frame *top = &moment->frames[0];
    *inner = NULL;
    cli_place_of_pc(session, frame->lookup_pc, place);
    if (!frame->file)
        return;
    place->function = frame->function;
    place->linkage_name = frame->linkage_name;
    place->file = frame->file;
    place->line = frame->line;
    place->text = cli_source_text(session, frame->file, frame->line, frame->lookup_pc);
    if (frame != top)
        *inner = top->function ? top->function : top->module;
}
