/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The state at a time: the replayee is stopped exactly there. Registers are copied; memory and
 * mappings are read from the replayee, which is brought back there if another query has moved it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/feed/feed_registers.h"
#include "wet/query/wet_priv.h"
#include <wetdbg/errors.h>

struct wetdbg_state {
    struct wetdbg *wet;
    wetdbg_time time;
    uint64_t serial;
    uint32_t task;
    struct evq_regs regs;
    uint8_t xsave[AGT_XSAVE_MAX];
    struct wetdbg_mapping *mappings; /* NULL until somebody asks for them at this time */
    size_t mapping_count;
    struct wet_rerun rerun; /* how the replayee came to stand there, to go on from */
    bool has_rerun;
};

static void rerun_forget(struct wetdbg_state *state)
{
    if (state->has_rerun)
        wet_rerun_fini(&state->rerun);
    state->has_rerun = false;
}

/* What the running task has in its registers after `instructions` of interval k. */
static int regs_after(struct wetdbg *wet, uint64_t k, uint64_t instructions, struct evq_regs *regs)
{
    struct wet_rerun rerun = {.wet = wet, .k = k};
    const struct agt_task *tasks;
    uint32_t task;
    int err = wet_rerun(&rerun, instructions);
    wet_rerun_fini(&rerun);
    if (!err)
        err = rep_engine_tasks(wet->engine, &tasks, &task);
    if (!err)
        *regs = tasks[task].regs;
    return err;
}

/*
 * Has the interval begin with the right flags. The builder stops where the code is going to set all
 * flags before it reads one, and has used them for its clock by then. Until the code has set them,
 * what the interval began with is seen; so they are taken from an exact stop at the end of the
 * interval before, if that is the same place.
 */
static int begin_with_flags(struct wet_rerun *rerun)
{
    struct wetdbg *wet = rerun->wet;
    struct evq_regs stored, exact;
    int err = regs_after(wet, rerun->k - 1, wet->index[rerun->k - 1].instructions, &exact);
    if (!err)
        err = regs_after(wet, rerun->k, 0, &stored);
    if (err)
        return err;
    rerun->flags = exact.r[EVQ_EFLAGS];
    exact.r[EVQ_EFLAGS] = stored.r[EVQ_EFLAGS];
    rerun->has_flags = !memcmp(&exact, &stored, sizeof(exact));
    return 0;
}

/* Stops the replayee at the state's time, unless it stands there already. */
static int stand(struct wetdbg_state *state)
{
    struct wetdbg *wet = state->wet;
    wet_engine_claim(wet);
    if (state->serial && wet->state_serial == state->serial)
        return 0;
    uint64_t k = wetdbg_interval_at(wet, state->time);
    /* other threads end after the one that the signal struck */
    bool is_signal = wet->info.signal && state->time == wet->info.signal_time;
    rerun_forget(state);
    state->rerun = (struct wet_rerun){.wet = wet, .k = k, .until_signal = is_signal};
    state->has_rerun = true;
    uint64_t instructions = state->time - wet->index[k].first_time;
    int err = k && instructions < DBI_INSN_MAX ? begin_with_flags(&state->rerun) : 0;
    if (!err)
        err = wet_rerun(&state->rerun, instructions);
    if (!err)
        wet->state_serial = state->serial = ++wet->last_state_serial;
    return err;
}

static void copy_task(struct wetdbg_state *state, const struct agt_task *tasks, uint32_t task)
{
    state->task = task;
    state->regs = tasks[task].regs;
    memcpy(state->xsave, tasks[task].xsave, sizeof(state->xsave));
}

static void forget_mappings(struct wetdbg_state *state)
{
    free(state->mappings);
    state->mappings = NULL;
}

static int copy(struct wetdbg_state *state)
{
    const struct agt_task *tasks;
    uint32_t task;
    forget_mappings(state);
    int err = rep_engine_tasks(state->wet->engine, &tasks, &task);
    if (!err)
        copy_task(state, tasks, task);
    return err;
}

static int find_mappings(struct wetdbg_state *state)
{
    const struct agt_view *views;
    struct wetdbg *wet = state->wet;
    int err = stand(state);
    if (!err)
        err = rep_engine_views(wet->engine, &views, &state->mapping_count);
    if (err)
        return err;
    state->mappings = calloc(state->mapping_count + 1, sizeof(*state->mappings));
    if (!state->mappings)
        return -ENOMEM;
    for (size_t i = 0; i < state->mapping_count; i++) {
        /* memory that is shared with the replayee: looked at once */
        struct agt_view view = *(const volatile struct agt_view *)&views[i];
        const char *name = view.name < wet->name_count ? wet->names[view.name] : "";
        state->mappings[i] = (struct wetdbg_mapping){
            .start = view.start, .end = view.end, .prot = (int)view.prot, .name = name};
    }
    return 0;
}

int wetdbg_state_open(struct wetdbg *wet, wetdbg_time t, struct wetdbg_state **out)
{
    const struct wetdbg_info *info = &wet->info;
    if (t < info->first_time || t > info->last_time + 1)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "there is no time %llu: the %s has %llu to %llu",
                           (unsigned long long)t,
                           info->is_window ? "window of the run that is in the file" : "run",
                           (unsigned long long)info->first_time,
                           (unsigned long long)info->last_time + 1);
    struct wetdbg_state *state = calloc(1, sizeof(*state));
    if (!state)
        return -ENOMEM;
    state->wet = wet;
    state->time = t;
    int err = stand(state);
    if (!err)
        err = copy(state);
    if (err) {
        wetdbg_state_close(state);
        return err;
    }
    *out = state;
    return 0;
}

void wetdbg_state_close(struct wetdbg_state *state)
{
    if (!state)
        return;
    rerun_forget(state);
    forget_mappings(state);
    free(state);
}

/* Whether the replayee can go on from where it stands. Events at the very end of an interval,
 * faults with a handler, and the run's signal are left to wet_rerun(). */
static bool can_go_on(const struct wetdbg_state *state, wetdbg_time t)
{
    const struct wetdbg *wet = state->wet;
    const struct wet_index_record *index = &wet->index[state->rerun.k];
    return state->has_rerun && state->serial && wet->state_serial == state->serial &&
           t > state->time && t - index->first_time < index->instructions &&
           !wet_rerun_has_handler(&state->rerun, t - 1) &&
           !(wet->info.signal && t == wet->info.signal_time);
}

int wetdbg_state_advance(struct wetdbg_state *state, wetdbg_time t)
{
    struct wetdbg *wet = state->wet;
    if (t < state->time || t > wet->info.instructions + 1)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "a state at time %llu cannot go on to time %llu",
                           (unsigned long long)state->time, (unsigned long long)t);
    int err = -EAGAIN;
    wet_engine_claim(wet);
    if (can_go_on(state, t)) {
        err = wet_rerun_on(&state->rerun, t - state->time);
        if (!err)
            wet->state_serial = state->serial = ++wet->last_state_serial;
    }
    state->time = t;
    if (err == -EAGAIN) {
        state->serial = 0;
        err = stand(state);
    }
    return err ? err : copy(state);
}

const struct evq_regs *wet_state_regs(const struct wetdbg_state *state)
{
    return &state->regs;
}

uint32_t wetdbg_state_task(const struct wetdbg_state *state)
{
    return state->task;
}

int wetdbg_state_select(struct wetdbg_state *state, uint32_t task)
{
    const struct agt_task *tasks;
    uint32_t running;
    int err = stand(state);
    if (!err)
        err = rep_engine_tasks(state->wet->engine, &tasks, &running);
    if (!err && (task >= EVQ_TASKS_MAX || !tasks[task].live))
        err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "there is no task %u at time %llu", (unsigned)task,
                          (unsigned long long)state->time);
    if (!err)
        copy_task(state, tasks, task);
    return err;
}

const uint8_t *wetdbg_state_xstate(const struct wetdbg_state *state, size_t *size_bytes)
{
    *size_bytes = sizeof(state->xsave);
    return state->xsave;
}

int wetdbg_state_vector(const struct wetdbg_state *state, unsigned number, uint8_t bytes[64],
                        unsigned *width)
{
    struct feed_xsave_layout here;
    int err = feed_xsave_layout_here(&here);
    if (!err && width)
        *width = feed_vector_bytes(&here);
    return err ? err : feed_vector_read(&here, state->xsave, sizeof(state->xsave), number, bytes);
}

int wetdbg_state_mask(const struct wetdbg_state *state, unsigned number, uint64_t *mask)
{
    struct feed_xsave_layout here;
    int err = feed_xsave_layout_here(&here);
    return err ? err : feed_mask_read(&here, state->xsave, sizeof(state->xsave), number, mask);
}

int wetdbg_state_read(struct wetdbg_state *state, uint64_t address, void *bytes, size_t size)
{
    size_t done = 0;
    int err = stand(state);
    if (!err)
        err = rep_engine_read(state->wet->engine, address, bytes, size, &done);
    if (!err && done < size)
        err = wetdbg_fail(-EFAULT, "nothing is mapped at %#llx at time %llu",
                          (unsigned long long)(address + done), (unsigned long long)state->time);
    return err;
}

int wetdbg_state_mappings(struct wetdbg_state *state, const struct wetdbg_mapping **list,
                          size_t *count)
{
    int err = state->mappings ? 0 : find_mappings(state);
    *list = state->mappings;
    *count = err ? 0 : state->mapping_count;
    return err;
}
