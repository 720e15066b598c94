/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Joins delta debugging and runs that go on differently: the failing run is recorded, and each
 * candidate is a live run from the first call on that asked for the input, with the candidate's
 * bytes in the virtual kernel.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "delta/crash_place.h"
#include "delta/dd.h"
#include "delta/output_look.h"
#include "predicate_switch/run.h"
#include <wetdbg/build.h>
#include <wetdbg/delta_record.h>
#include <wetdbg/errors.h>
#include <wetdbg/model.h>
#include <wetdbg/recording.h>
#include <wetdbg/wet.h>

/* Lives until its process ends. */
struct session {
    const struct dlt_plan *plan;
    struct wetdbg_dd_recording *recording;
    struct wetdbg *wet;
    struct psw_session *runs;
    const char *input; /* the file's name; NULL: standard input */
    wetdbg_time asked;
};

/* ---- the failing run ---- */

/* A run of several programs is not modelled. */
static int programs_check(const char *trace_dir)
{
    struct wetdbg_recording *trace = NULL;
    const struct wetdbg_process *list;
    size_t count = 0;
    int err = wetdbg_recording_open(trace_dir, &trace);
    if (!err)
        err = wetdbg_recording_processes(trace, &list, &count);
    if (!err && (count != 1 || list[0].exec_count != 1))
        err = wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "the program starts others");
    wetdbg_recording_close(trace);
    return err;
}

static int wet_build(struct session *session, const char *trace_dir)
{
    struct wetdbg_replay_result result;
    const struct wetdbg_build_options how = {.jobs = 1};
    char *path;
    int err = wetdbg_replay(trace_dir, &how, &result, &path);
    if (!err)
        err = wetdbg_open(path, &session->wet);
    if (!err && wetdbg_is_trusted(trace_dir))
        wetdbg_trust(session->wet);
    free(path);
    return err;
}

static int runs_open(struct session *session)
{
    const struct wetdbg_info *info = wetdbg_get_info(session->wet);
    const struct psw_surroundings where = {.cwd = info->recorded_in,
                                           .disk_before_ns = info->recorded_at_ns,
                                           .input_is_null = session->input,
                                           .output_is_file = true,
                                           .input_is_file = !session->input};
    int err = psw_session_open(session->wet, &where, &session->runs);
    if (err)
        return err;
    session->asked = psw_session_asked(session->runs, session->input);
    if (!session->asked || session->asked > info->last_time)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "the program does not look at its input");
    return 0;
}

static int prepare(const struct dlt_plan *plan, const struct wetdbg_dd_bytes *fail, void **out)
{
    const struct wetdbg_dd_place place = {.is_temporary = true};
    struct session *session = calloc(1, sizeof(*session));
    if (!session)
        return -ENOMEM;
    session->plan = plan;
    int err = wetdbg_dd_record(plan->options, fail, &place, &session->recording);
    const char *dir = err ? NULL : wetdbg_dd_recording_get(session->recording)->trace_dir;
    if (!err)
        err = programs_check(dir);
    if (!err)
        err = wet_build(session, dir);
    if (!err) {
        session->input = wetdbg_dd_recording_get(session->recording)->input;
        err = runs_open(session);
    }
    *out = session;
    return err;
}

static int adopt(void *session)
{
    return psw_session_adopt(((struct session *)session)->runs);
}

/* ---- a run ---- */

struct live_run {
    const struct session *session;
    const struct wetdbg_dd_bytes *candidate;
    struct dlt_live_answer *answer;
    bool is_crash_known;
};

static int input_change(void *arg, struct vk_kernel *kernel)
{
    const struct live_run *run = arg;
    return vk_kernel_input(kernel, run->session->input, run->candidate->data, run->candidate->size);
}

static int engine_read(void *arg, uint64_t address, void *bytes, size_t count)
{
    size_t done = 0;
    int err = rep_engine_read(arg, address, bytes, count, &done);
    return err ? err : done == count ? 0 : -EFAULT;
}

static void crash_take(void *arg, const struct psw_crash *crash)
{
    static const uint8_t by_dwarf[] = {EVQ_RAX, EVQ_RDX, EVQ_RCX, EVQ_RBX, EVQ_RSI, EVQ_RDI,
                                       EVQ_RBP, EVQ_RSP, EVQ_R8,  EVQ_R9,  EVQ_R10, EVQ_R11,
                                       EVQ_R12, EVQ_R13, EVQ_R14, EVQ_R15, EVQ_RIP};
    struct live_run *run = arg;
    struct dlt_crash_place *place = &run->answer->report.place;
    struct dlt_crash where = {.model = wetdbg_get_model(run->session->wet),
                              .read = engine_read,
                              .arg = crash->engine,
                              .is_fault = crash->is_fault,
                              .address = crash->address};
    for (unsigned i = 0; i < sizeof(by_dwarf); i++)
        where.regs.value[i] = crash->regs.r[by_dwarf[i]];
    where.regs.valid = (1u << WETDBG_FRAME_REG_COUNT) - 1;
    where.regs.is_innermost = true;
    dlt_crash_place_tell(&where, place);
    run->is_crash_known = place->function[0];
}

static void unresolved(struct dlt_live_answer *answer, const char *reason)
{
    answer->is_resolved = false;
    snprintf(answer->reason, sizeof(answer->reason), "%s", reason);
}

/* All that went to standard output, which was a file. */
static int output_take(struct live_run *run, struct vk_kernel *kernel)
{
    uint8_t bytes[16384];
    struct dlt_output_look look;
    int64_t size = vk_kernel_output_size(kernel, 1);
    if (size < 0)
        return (int)size;
    int err = dlt_output_begin(&look, &run->session->plan->expected, &run->answer->report);
    if (err)
        return err;
    for (int64_t at = 0; at < size && !err;) {
        size_t some = size - at < (int64_t)sizeof(bytes) ? (size_t)(size - at) : sizeof(bytes);
        err = vk_kernel_output_read(kernel, 1, (uint64_t)at, bytes, some);
        if (!err)
            dlt_output_piece(&look, bytes, some);
        at += (int64_t)some;
    }
    dlt_output_end(&look);
    return err;
}

static void kernel_take(void *arg, struct vk_kernel *kernel)
{
    struct live_run *run = arg;
    run->answer->is_resolved = true;
    if (output_take(run, kernel))
        unresolved(run->answer, "what it put out is not known");
}

/* How it ended, as a warden would say. */
static void end_take(struct live_run *run, int status)
{
    struct dlt_report *report = &run->answer->report;
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    report->program = number ? (struct dlt_how){DLT_SIGNALED, number}
                             : (struct dlt_how){DLT_EXITED, WEXITSTATUS(status)};
    if (number == SIGXFSZ || number == SIGXCPU || number == SIGKILL)
        unresolved(run->answer, "a limit of the machine's ended it");
    if (!dlt_dumps_core(number) || run->session->plan->options->oracle != WETDBG_DD_CRASH) {
        report->place = (struct dlt_crash_place){0};
        return;
    }
    report->crash_signal = number;
    if (!run->is_crash_known)
        unresolved(run->answer, "where it crashed is not known");
}

static int run_live(void *arg, const struct wetdbg_dd_bytes *candidate,
                    struct dlt_live_answer *answer)
{
    struct session *session = arg;
    struct live_run run = {session, candidate, answer, false};
    const struct psw_change change = {.kind = PSW_NOTHING, .time = session->asked};
    const struct psw_settings settings = {
        .begins = input_change, .crashed = crash_take, .ended = kernel_take, .arg = &run};
    struct psw_result result;
    *answer = (struct dlt_live_answer){0};
    int err = psw_run(session->runs, &change, &settings, &result);
    if (err)
        return err;
    if (result.end == PSW_EXIT)
        end_take(&run, result.status);
    else
        unresolved(answer, result.reason);
    return 0;
}

int wetdbg_dd(const struct wetdbg_dd_options *options, struct wetdbg_dd_result *result)
{
    static const struct dlt_live_engine engine = {
        .prepare = prepare, .adopt = adopt, .run = run_live};
    return dlt_dd(options, options->runs == WETDBG_DD_RUNS_REAL ? NULL : &engine, result);
}
