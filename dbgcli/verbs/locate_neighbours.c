/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/locate_neighbours.h"

#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/verbs/build_run.h"
#include "dbgcli/verbs/locate_near.h"
#include "dbgcli/verbs/locate_rerun.h"
#include "dbgcli/verbs/locate_steps.h"
#include <wetdbg/delta_record.h>
#include <wetdbg/errors.h>
#include <wetdbg/record.h>

/* ---- one of them ---- */

static void neighbour_fini(struct cli_neighbour *neighbour)
{
    free(neighbour->wet_path);
    free(neighbour->file);
    free(neighbour->counterpart);
    free(neighbour->words);
}

/* Records it in rr's place, where it stays with its input: commands of the answer name it. */
static int record(const struct cli_neighbour_run *run, struct cli_neighbour *neighbour,
                  bool *is_trusted)
{
    struct wetdbg_build_options building = {.interrupted = cli_interrupt_flag()};
    struct wetdbg_dd_recording *recording;
    double seconds;
    int err = wetdbg_dd_record(run->how, &run->input, &(struct wetdbg_dd_place){0}, &recording);

    if (err)
        return err;
    const struct wetdbg_dd_recorded *recorded = wetdbg_dd_recording_get(recording);
    if (recorded->exit_status != run->exit_status)
        err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                          "recorded, it exited with status %d, and natively with %d",
                          recorded->exit_status, run->exit_status);
    *is_trusted = wetdbg_is_trusted(recorded->trace_dir);
    building.is_trusted = *is_trusted;
    if (!err)
        err = cli_build_wet(recorded->trace_dir, &building, &neighbour->wet_path, &seconds);
    if (!err)
        err = cli_locate_input_keep(&run->input, neighbour->wet_path, "passing-input",
                                    &neighbour->file);
    wetdbg_dd_recording_close(recording, !err);
    return err;
}

/* Of a run that is wrong in its last line of output, as far as anybody knows, the last line of the
 * other one's corresponds to that. */
static int find_counterpart(const struct cli_locating *self, struct cli_session *session,
                            char **counterpart)
{
    char *text;
    size_t size, first;
    int err = cli_failure_output(session, 1, &text, &size);

    for (first = size ? size - 1 : 0; !err && first && text[first - 1] != '\n';)
        first--;
    if (!err && size && self->failure.kind == CLI_FAILURE_ANY)
        *counterpart = cli_asprintf("output:%zu+%zu", first, size - first);
    free(text);
    return err;
}

/* Takes the run among the passing ones. */
static int open(struct cli_locating *self, struct cli_neighbour *neighbour, bool is_trusted)
{
    struct cli_passing_run *passing = &self->passing[self->passing_count];

    *passing = (struct cli_passing_run){.name = neighbour->wet_path, .is_trusted = is_trusted};
    int err = cli_passing_run_open(self->session, passing);
    if (!err)
        err = find_counterpart(self, &passing->session, &neighbour->counterpart);
    passing->counterpart = neighbour->counterpart;
    if (err)
        cli_passing_run_close(passing);
    else
        self->passing_count++;
    return err;
}

int cli_neighbours_add(struct cli_locating *self, const struct cli_neighbour_run *run, char *words)
{
    struct cli_neighbours *found = &self->found_passing;
    struct cli_neighbour neighbour = {.words = words, .input_bytes = run->input.size};
    bool is_trusted;
    int err = record(run, &neighbour, &is_trusted);

    if (err != -WETDBG_ERR_INTERRUPTED)
        cli_session_catch(self->session); /* building takes Ctrl-C for itself */
    if (!err)
        err = open(self, &neighbour, is_trusted);
    if (!err) {
        found->list[found->count++] = neighbour;
        return 0;
    }
    neighbour_fini(&neighbour);
    return err;
}

void cli_neighbours_fini(struct cli_neighbours *neighbours)
{
    for (size_t i = 0; i < neighbours->count; i++)
        neighbour_fini(&neighbours->list[i]);
    neighbours->count = 0;
}

/* ---- the step ---- */

int cli_neighbours_find(struct cli_locating *self)
{
    /* What is right for another input than that of --expect nobody knows, but that it crashes. */
    bool is_judged = !self->right.expected || self->failure.kind == CLI_FAILURE_CRASH;
    bool may_run = false;
    int err = is_judged && !self->passing_count ? cli_locate_may_rerun(self, &may_run) : 0;

    if (!err && may_run)
        err = cli_near_find(self);
    return cli_locating_miss_step(self, "passing runs", err);
}
