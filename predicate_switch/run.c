/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "predicate_switch/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predicate_switch/answer.h"
#include "predicate_switch/compare.h"
#include "predicate_switch/entries.h"
#include "predicate_switch/tell.h"
#include "recorder/insn/insn.h"
#include "wet/whole.h"
#include <wetdbg/errors.h>

#define LIMIT_TIMES 10 /* the recorded run, if no limit is given */

struct psw_session {
    struct wetdbg *wet;
    struct rep_engine *engine;
    struct psw_told told;
    /* where the recorded run stands */
    struct vk_kernel *kernel;
    uint64_t k; /* interval whose entries come next */
    bool is_in_call[VK_TASKS_MAX];
    uint64_t frame; /* of the last event that was taken */
    uint64_t taken; /* how many entries were */
    bool has_begun;
};

/* Nothing of the recorded run has passed. */
static int kernel_renew(struct psw_session *session)
{
    session->k = session->frame = session->taken = 0;
    session->has_begun = false;
    memset(session->is_in_call, 0, sizeof(session->is_in_call));
    if (session->kernel)
        vk_kernel_free(session->kernel);
    session->kernel = NULL;
    return vk_kernel_new(session->told.history, &session->kernel);
}

/* ---- life ---- */

int psw_session_open(struct wetdbg *wet, const struct psw_surroundings *where,
                     struct psw_session **out)
{
    struct psw_session *session = calloc(1, sizeof(*session));
    if (!session)
        return -ENOMEM;
    session->wet = wet;
    int err = wet_whole_engine(wet, &session->engine);
    if (!err)
        err = psw_tell(wet, session->engine, where, &session->told);
    if (!err)
        err = rep_engine_reset(session->engine);
    if (!err)
        err = kernel_renew(session);
    if (err) {
        psw_session_close(session);
        return err;
    }
    *out = session;
    return 0;
}

void psw_session_close(struct psw_session *session)
{
    if (!session)
        return;
    if (session->kernel)
        vk_kernel_free(session->kernel);
    rep_engine_free(session->engine);
    psw_told_fini(&session->told);
    free(session);
}

const struct vk_history *psw_session_history(const struct psw_session *session)
{
    return session->told.history;
}

uint64_t psw_session_output(const struct psw_session *session, int fd, wetdbg_time time)
{
    const struct psw_told *told = &session->told;
    uint64_t size = 0;
    for (size_t i = 0; i < told->output_count && told->outputs[i].time < time; i++)
        size +=
            told->outputs[i].fd == fd && told->outputs[i].ended < time ? told->outputs[i].size : 0;
    return size;
}

int psw_session_output_read(const struct psw_session *session, int fd, wetdbg_time time,
                            struct wd_buf *out)
{
    const struct psw_told *told = &session->told;
    int err = 0;
    for (size_t i = 0; i < told->output_count && told->outputs[i].time < time && !err; i++)
        if (told->outputs[i].fd == fd ||
            (fd == PSW_BOTH && (told->outputs[i].fd == 1 || told->outputs[i].fd == 2)))
            err =
                wd_buf_append(out, told->bytes.data + told->outputs[i].off, told->outputs[i].size);
    return err;
}

int psw_session_at_end(const struct psw_session *session,
                       void (*fn)(void *arg, struct vk_kernel *kernel), void *arg)
{
    struct vk_kernel *kernel;
    int err = vk_kernel_new(session->told.history, &kernel);
    if (err)
        return err;
    err = vk_kernel_advance(kernel, UINT64_MAX);
    if (!err)
        fn(arg, kernel);
    vk_kernel_free(kernel);
    return err;
}

const struct wetdbg_info *psw_session_info(const struct psw_session *session)
{
    return wetdbg_get_info(session->wet);
}

wetdbg_time psw_session_asked(struct psw_session *session, const char *input)
{
    return vk_history_asked(session->told.history, input);
}

const volatile sig_atomic_t *psw_session_interrupted(const struct psw_session *session)
{
    return wet_whole_interrupted(session->wet);
}

int psw_session_adopt(struct psw_session *session)
{
    session->engine = NULL;
    int err = wet_whole_engine(session->wet, &session->engine);
    return err ? err : kernel_renew(session);
}

/* ---- the recorded run ---- */

static int recorded_next(void *arg, struct wd_buf *out)
{
    struct psw_session *session = arg;
    if (session->k >= wetdbg_get_info(session->wet)->intervals)
        return 0;
    int err = wet_whole_entries(session->wet, session->k++, out);
    return err ? err : 1;
}

static int recorded_taken(void *arg, const struct evq_entry *entry, uint64_t time,
                          uint64_t ring_bytes)
{
    struct psw_session *session = arg;
    (void)time;
    (void)ring_bytes;
    session->frame = entry->frame;
    session->taken++;
    if (entry->kind == EVQ_SYSCALL_ENTER || entry->kind == EVQ_SYSCALL_EXIT)
        session->is_in_call[entry->task] = entry->kind == EVQ_SYSCALL_ENTER;
    else if (entry->kind == EVQ_TASK_EXIT)
        session->is_in_call[entry->task] = false;
    return 0;
}

static int begin_again(struct psw_session *session)
{
    int err = rep_engine_reset(session->engine);
    return err ? err : kernel_renew(session);
}

/* Has the recorded run stand just before instruction `time`. */
static int stand_at(struct psw_session *session, wetdbg_time time)
{
    struct rep_source source = {.next = recorded_next, .taken = recorded_taken, .arg = session};
    uint64_t goal = time - 1, now = rep_engine_time(session->engine);
    enum rep_stop why;
    int err = session->has_begun && now > goal ? begin_again(session) : 0;
    while (!err && (!session->has_begun || rep_engine_time(session->engine) != goal)) {
        session->has_begun = true;
        now = rep_engine_time(session->engine);
        err = rep_engine_run(session->engine, &source, goal - now, true, &why);
        if (err == -EAGAIN)
            err = begin_again(session);
        else if (!err && rep_engine_time(session->engine) != goal)
            err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "the run ends before instruction %llu",
                              (unsigned long long)time);
    }
    return err ? err : vk_kernel_advance(session->kernel, time);
}

/* ---- changes ---- */

/* The running task's registers; its index in *task. */
static int regs_get(struct rep_engine *engine, struct evq_regs *regs, uint32_t *task)
{
    *task = rep_engine_running(engine);
    return rep_engine_regs(engine, *task, regs)
               ? 0
               : wetdbg_fail(-WETDBG_ERR_MACHINE, "the replay process runs no thread");
}

/* An event of now, that loads these registers. */
static int load_append(struct psw_live *live, const struct evq_regs *regs)
{
    struct psw_entry entry;
    struct evq_regs now;
    uint32_t task;
    int err = regs_get(live->engine, &now, &task);
    if (!err)
        err = psw_place_begin(&entry, &live->first, task, ++live->frame, 0,
                              rep_engine_time(live->engine), &now);
    if (!err)
        err = psw_entry_load(&entry, regs);
    if (!err)
        psw_entry_end(&entry);
    return err;
}

static int not_conditional(uint64_t pc)
{
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                       "the instruction at %#llx has no condition that could be switched",
                       (unsigned long long)pc);
}

/* The instruction that the engine stands at. */
static int insn_get(struct rep_engine *engine, uint64_t pc, struct ins_info *info)
{
    uint8_t code[15];
    size_t done = rep_engine_code(engine, pc, code, sizeof(code));
    int err = 0;
    if (done < sizeof(code))
        err = rep_engine_read(engine, pc, code, sizeof(code), &done);
    return err ? err : ins_decode(code, done, pc, info);
}

static int met_nothing(void *arg, const struct rep_met *met, struct wd_buf *out)
{
    (void)arg;
    (void)out;
    return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "the instruction at %#llx faults",
                       (unsigned long long)met->regs.r[EVQ_RIP]);
}

/* Executes the instruction that the branch stands at, with what the live run begins with. */
static int step(struct psw_live *live)
{
    struct rep_source source = psw_live_source(live);
    source.met = met_nothing;
    enum rep_stop why;
    return rep_engine_run(live->engine, &source, 1, true, &why);
}

/* The instruction does the other thing, since the condition is another one while it runs. */
static int switch_make(struct psw_live *live)
{
    struct evq_regs regs, altered, after;
    struct ins_info info;
    uint32_t task;
    int err = regs_get(live->engine, &regs, &task);
    if (!err)
        err = insn_get(live->engine, regs.r[EVQ_RIP], &info);
    if (err)
        return err;
    altered = regs;
    if (info.condition == INS_COND_NONE)
        return not_conditional(regs.r[EVQ_RIP]);
    bool holds = ins_condition_holds(info.condition, regs.r[EVQ_EFLAGS], regs.r[EVQ_RCX]);
    if (!psw_condition_make(info.condition, !holds, &altered.r[EVQ_EFLAGS], &altered.r[EVQ_RCX]))
        return not_conditional(regs.r[EVQ_RIP]);
    err = load_append(live, &altered);
    if (!err)
        err = step(live);
    if (!err)
        err = regs_get(live->engine, &after, &task);
    if (err)
        return err;
    after.r[EVQ_EFLAGS] = regs.r[EVQ_EFLAGS];
    if (info.condition >= INS_COND_RCXZ)
        after.r[EVQ_RCX] += regs.r[EVQ_RCX] - altered.r[EVQ_RCX];
    return load_append(live, &after);
}

static int jump_make(struct psw_live *live, uint64_t target)
{
    struct evq_regs regs;
    uint32_t task;
    int err = step(live);
    if (!err)
        err = regs_get(live->engine, &regs, &task);
    regs.r[EVQ_RIP] = target;
    return err ? err : load_append(live, &regs);
}

static int set_make(struct psw_live *live, const struct psw_change *change)
{
    struct evq_regs regs, now;
    struct psw_entry entry;
    uint32_t task;
    int err = regs_get(live->engine, &now, &task);
    regs = now;
    if (change->mask)
        regs.r[change->reg] = (now.r[change->reg] & ~change->mask) | (change->value & change->mask);
    if (!err)
        err = psw_place_begin(&entry, &live->first, task, ++live->frame, 0, change->time - 1, &now);
    for (size_t i = 0; !err && i < change->write_count; i++)
        err = psw_entry_write(&entry, change->writes[i].address, change->writes[i].bytes,
                              change->writes[i].size);
    if (!err)
        err = psw_entry_load(&entry, &regs);
    if (!err)
        psw_entry_end(&entry);
    return err;
}

static int change_make(struct psw_live *live, const struct psw_change *change)
{
    switch (change->kind) {
    case PSW_SWITCH:
        return switch_make(live);
    case PSW_JUMP:
        return jump_make(live, change->target);
    case PSW_SET:
        return set_make(live, change);
    default:
        return 0;
    }
}

/* ---- the whole of a run, for a file of its own ---- */

/* The entries that were taken before the branch. */
static int entries_before(struct psw_session *session, struct wd_buf *out)
{
    const struct wetdbg_info *info = wetdbg_get_info(session->wet);
    struct wd_buf entries = {0};
    uint64_t left = session->taken;
    int err = 0;
    for (uint64_t k = 0; !err && left && k < info->intervals; k++) {
        size_t at = 0;
        entries.size_bytes = 0;
        err = wet_whole_entries(session->wet, k, &entries);
        for (; !err && left && at < entries.size_bytes; left--)
            at += ((const struct evq_entry *)(entries.data + at))->bytes;
        if (!err)
            err = wd_buf_append(out, entries.data, at);
    }
    wd_buf_fini(&entries);
    return err;
}

/* ---- a run ---- */

struct watching {
    const struct psw_settings *settings;
    struct psw_compare compare;
    uint64_t outputs;
};

static int output_take(void *arg, const struct vk_output *output)
{
    struct watching *watching = arg;
    watching->outputs++;
    psw_compare_put(&watching->compare, output->fd, output->bytes, output->size);
    if (watching->settings->stops_at_difference && watching->compare.difference.is_there)
        return 1;
    return watching->settings->output ? watching->settings->output(watching->settings->arg, output)
                                      : 0;
}

static void result_take(const struct psw_live *live, int err, struct psw_result *result)
{
    static const enum psw_end ends[] = {[VK_THEN_RUN] = PSW_LIMIT,
                                        [VK_THEN_END] = PSW_EXIT,
                                        [VK_THEN_HANGS] = PSW_HANGS,
                                        [VK_THEN_UNRESOLVED] = PSW_UNRESOLVED,
                                        [VK_THEN_STOPPED] = PSW_STOPPED};
    result->end = ends[live->then];
    result->status = live->status;
    result->instructions = rep_engine_time(live->engine);
    snprintf(result->reason, sizeof(result->reason), "%s", live->reason);
    if (result->end == PSW_LIMIT)
        snprintf(result->reason, sizeof(result->reason), "limit of instructions");
    if (!err)
        return;
    result->end = PSW_UNRESOLVED;
    snprintf(result->reason, sizeof(result->reason), "%s", wetdbg_error(err));
}

/* Errors that are about this run only. */
static bool is_runs_own(int err)
{
    return err == -WETDBG_ERR_UNSUPPORTED || err == -WETDBG_ERR_DIVERGED ||
           err == -WETDBG_ERR_CORRUPT || err == -WETDBG_ERR_MACHINE || err == -EAGAIN;
}

static int begins(struct psw_live *live, const struct psw_settings *settings)
{
    int err = settings->begins ? settings->begins(settings->arg, live->kernel) : 0;
    return err == -ENOTSUP ? wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "the input is no plain file")
                           : err;
}

/* In the branch. */
static int live_run(struct psw_session *session, struct psw_live *live,
                    const struct psw_change *change, const struct psw_settings *settings,
                    struct psw_result *result)
{
    uint64_t limit = settings->instructions;
    if (!limit)
        limit = LIMIT_TIMES * wetdbg_get_info(session->wet)->instructions;
    int err = change_make(live, change);
    if (!err)
        err = psw_detours_begin(&live->detours, settings->detours, settings->detour_count,
                                live->engine, &live->frame, &live->first);
    if (!err)
        err = vk_kernel_advance(live->kernel, rep_engine_time(live->engine) + 1);
    if (!err)
        err = begins(live, settings);
    if (!err)
        err = psw_live_begin(live, session->is_in_call);
    if (!err)
        err = psw_live_run(live, limit);
    result_take(live, err, result);
    if (!err && result->end == PSW_EXIT && live->is_struck && settings->crashed)
        settings->crashed(settings->arg,
                          &(struct psw_crash){live->engine, live->struck.regs, live->struck.address,
                                              live->struck.kind == EVQ_FAULT});
    return is_runs_own(err) ? 0 : err;
}

int psw_run(struct psw_session *session, const struct psw_change *change,
            const struct psw_settings *settings, struct psw_result *result)
{
    struct psw_live live = {.engine = session->engine,
                            .wet = session->wet,
                            .rdtscp_leaves_rcx = session->told.rdtscp_leaves_rcx,
                            .kept = settings->entries};
    struct watching watching = {.settings = settings};
    *result = (struct psw_result){0};
    if (!change->time || change->time > wetdbg_get_info(session->wet)->last_time)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                           "nothing runs at time %llu, so nothing can be changed there: the last "
                           "instruction is at %llu",
                           (unsigned long long)change->time,
                           (unsigned long long)wetdbg_get_info(session->wet)->last_time);
    int err = stand_at(session, change->time);
    if (!err)
        err = vk_kernel_clone(session->kernel, &live.kernel);
    if (!err && settings->before)
        err = entries_before(session, settings->before);
    if (!err)
        err = rep_engine_branch(session->engine);
    if (!err) {
        live.frame = session->frame;
        psw_compare_begin(&watching.compare, &session->told, change->time);
        vk_kernel_on_output(live.kernel, output_take, &watching);
        vk_kernel_limit_memory(live.kernel, settings->memory);
        err = live_run(session, &live, change, settings, result);
        int end = rep_engine_branch_end(session->engine);
        err = err ? err : end;
    }
    bool has_exited = !err && result->end == PSW_EXIT;
    if (has_exited)
        psw_compare_end(&watching.compare);
    if (has_exited && settings->ended)
        settings->ended(settings->arg, live.kernel);
    result->difference = watching.compare.difference;
    result->outputs = watching.outputs;
    psw_live_fini(&live);
    if (live.kernel)
        vk_kernel_free(live.kernel);
    return err;
}
