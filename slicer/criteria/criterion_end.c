/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Output that is missing: why there was no more of it. The criterion is what turned the program
 * away from where it had put its last byte (last_turn.h), or from where it might have put one if
 * there is none (silence.h); and, if the run ended before that, what ended it.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "slicer/criteria/criterion.h"
#include "slicer/criteria/silence.h"
#include <wetdbg/caller.h>
#include <wetdbg/errors.h>

/* Adds a branch: what decided where it went. */
static int add_turn(struct wetdbg_criterion *criterion, const struct slc_turn *turn)
{
    struct slc_seed *seed = slc_criterion_add(criterion, turn->time, turn->pc);

    if (!seed)
        return -ENOMEM;
    seed->uses = SLC_USES_BRANCH;
    return 0;
}

static int note_exit(void *arg, const struct wet_event *event)
{
    wetdbg_time *time = arg;

    if (event->entry->kind == EVQ_SYSCALL_ENTER &&
        (event->entry->number == SYS_exit_group || event->entry->number == SYS_exit))
        *time = event->time;
    return 0;
}

/* Adds the program's own call by which it left, and the condition under which it got there. */
static int add_exit(struct wetdbg_criterion *criterion, struct wetdbg_caller *caller)
{
    wetdbg_time time = 0;
    int err = wet_each_entry(criterion->wet, note_exit, &time);

    caller->time = 0;
    if (!err && time)
        err = wetdbg_own_caller(criterion->wet, time, caller);
    if (err == -WETDBG_ERR_NOT_FOUND || (!err && !caller->time))
        return 0;
    struct slc_seed *seed = err ? NULL : slc_criterion_add(criterion, caller->time, caller->pc);
    if (!seed)
        return err ? err : -ENOMEM;
    seed->force = SLC_FORCE_GUARD;
    return 0;
}

/* Why the run ended in the middle of it all. */
static int add_end(struct wetdbg_criterion *criterion, const char **how)
{
    struct wetdbg_caller caller;
    size_t before = criterion->seed_count;
    int err;

    if (wetdbg_get_info(criterion->wet)->signal) {
        *how = "the signal that ended the run";
        err = slc_parse_crash(criterion);
        return err == -WETDBG_ERR_NOT_FOUND ? 0 : err;
    }
    err = add_exit(criterion, &caller);
    *how = criterion->seed_count > before ? "the call by which it left" : NULL;
    return err;
}

static void describe(struct wetdbg_criterion *criterion, const struct slc_end *end,
                     const struct slc_turn *latest, size_t count, const char *how)
{
    char place[300] = "", more[64] = "", last[40] = "";

    if (end->last)
        snprintf(last, sizeof(last), " after byte %llu", (unsigned long long)(end->size - 1));
    if (latest)
        slc_describe_pc(criterion->wet, latest->pc, place, sizeof(place));
    if (count > 1)
        snprintf(more, sizeof(more), " and %zu before it", count - 1);
    snprintf(criterion->description, sizeof(criterion->description),
             "no more output to %s%s: %s%s%s%s%s", end->what, last,
             latest ? "decided by the branch at " : "", place, more,
             latest && how ? ", and by " : "", how ? how : "");
}

int slc_criterion_of_end(struct wetdbg_criterion *criterion, const struct slc_end *end)
{
    struct slc_turn *turns = NULL;
    const char *how = NULL;
    size_t count = 0;
    bool is_left = true;
    int err = end->last ? slc_last_turns(criterion->wet, end->last, &turns, &count, &is_left)
                        : slc_silent_turns(criterion->wet, end->of_errors, &turns, &count);

    for (size_t i = 0; i < count && !err; i++)
        err = add_turn(criterion, &turns[i]);
    if (!err && is_left)
        err = add_end(criterion, &how);
    if (!err && criterion->seed_count == 0)
        err =
            end->last
                ? wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                              "nothing decided that there is no more output to %s after byte "
                              "%llu: no loop leads back to where the program put its last byte",
                              end->what, (unsigned long long)(end->size - 1))
                : wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                              "nothing was written to %s, the program left by returning from main, "
                              "and no branch of its own kept it from a call that puts something "
                              "out; ask for a line that ran before it should have been: "
                              "FILE:LINE",
                              end->what);
    if (!err)
        describe(criterion, end, count ? &turns[count - 1] : NULL, count, how);
    free(turns);
    return err;
}
