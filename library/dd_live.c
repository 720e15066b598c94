/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Joins delta debugging and runs that go on differently: the failing run is recorded, and each
 * candidate is a live run from the first call on that asked for the input, with the candidate's
 * bytes in the virtual kernel.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/array.h"
#include "delta/crash_place.h"
#include "delta/dd.h"
#include "delta/output_look.h"
#include "delta/question.h"
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
    const char *input;   /* the file's name; NULL: standard input */
    char *cwd, *scratch; /* where we work, and the recorded run's own directory, without links */
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
                                           .disk_until_ns = info->recorded_until_ns,
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

static int places_find(struct session *session)
{
    const char *scratch = wetdbg_dd_recording_get(session->recording)->scratch;
    const char *slash = strrchr(scratch, '/');
    char *place = slash ? strndup(scratch, (size_t)(slash - scratch)) : NULL;
    char *root = place ? realpath(*place ? place : "/", NULL) : NULL;
    free(place);
    session->cwd = getcwd(NULL, 0);
    if (!root || !session->cwd || asprintf(&session->scratch, "%s%s", root, slash) < 0)
        session->scratch = NULL;
    free(root);
    return session->scratch ? 0 : wetdbg_fail_errno("%s", scratch);
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
    if (!err)
        err = places_find(session);
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
    /* for a command: what it is asked about; the files are ours */
    struct dlt_ended_run ended;
    struct dlt_left_file *files;
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

/* ---- what a command finds ---- */

#define LEFT_MAX (UINT64_C(256) << 20) /* bytes of a file that a command is asked about */

static int stream_take(struct vk_kernel *kernel, int fd, struct wetdbg_dd_bytes *bytes)
{
    int64_t size = vk_kernel_output_size(kernel, fd);
    if (size < 0 || size > (int64_t)LEFT_MAX)
        return -ENODATA;
    *bytes = (struct wetdbg_dd_bytes){malloc((size_t)size + 1), (size_t)size};
    return bytes->data ? vk_kernel_output_read(kernel, fd, 0, bytes->data, bytes->size) : -ENOMEM;
}

/* What is left of a path behind a directory; NULL: it is not in there. */
static const char *below(const char *path, const char *directory)
{
    size_t length = strlen(directory);
    length -= length == 1; /* the root */
    return !strncmp(path, directory, length) && path[length] == '/' ? path + length + 1 : NULL;
}

/* Where a command finds what the recorded run had as `path`; its name is NULL if nowhere. Of the
 * run's own directory only what the program may use: the rest is its warden's. */
static struct dlt_left_file place_of(const struct session *session, const char *path)
{
    const char *name = below(path, session->scratch);
    struct dlt_left_file left = {.name = name, .is_of_scratch = name != NULL};
    if (name && strncmp(name, "input/", 6) && strncmp(name, "temporary/", 10) &&
        strncmp(name, "work/", 5))
        left.name = NULL;
    else if (!name)
        left.name = below(path, session->cwd);
    if (left.name && !dlt_left_name_is_below(left.name))
        left.name = NULL;
    return left;
}

/* One file or directory more; its bytes are its own then. */
static int left_add(struct live_run *run, const struct dlt_left_file *left)
{
    size_t count = run->ended.file_count;
    struct dlt_left_file added = *left;
    added.name = strdup(left->name);
    if (!added.name || wd_grow_one(run->files, count)) {
        free((char *)added.name);
        free(added.bytes.data);
        return -ENOMEM;
    }
    run->files[count] = added;
    run->ended.files = run->files;
    run->ended.file_count = count + 1;
    return 0;
}

typedef int (*left_read_fn)(struct vk_kernel *kernel, size_t index, uint64_t offset, void *bytes,
                            size_t size);

static int left_take(struct live_run *run, struct vk_kernel *kernel, const struct vk_file *file,
                     size_t index, left_read_fn read)
{
    struct dlt_left_file left = place_of(run->session, file->path);
    int err = 0;
    left.is_gone = file->is_gone;
    left.is_directory = !file->is_gone && S_ISDIR(file->mode);
    bool is_plain = !file->is_gone && !left.is_directory;
    if (!left.name || file->size > LEFT_MAX || (is_plain && !S_ISREG(file->mode)))
        return -ENODATA;
    if (is_plain) {
        left.bytes = (struct wetdbg_dd_bytes){malloc(file->size + 1), file->size};
        err = left.bytes.data ? read(kernel, index, 0, left.bytes.data, file->size) : -ENOMEM;
    }
    if (!err)
        return left_add(run, &left);
    free(left.bytes.data);
    return err;
}

/* Files, directories and names that the run changed; what the command could not find where it would
 * look for it makes the run unresolved. */
static int left_find(struct live_run *run, struct vk_kernel *kernel)
{
    char path[PATH_MAX] = "a place without a name";
    struct vk_file file;
    int err = 0;
    for (size_t i = 0; !err; i++) {
        err = vk_kernel_name(kernel, i, &file, path, sizeof(path));
        if (!err)
            err = left_take(run, kernel, &file, i, vk_kernel_name_read);
    }
    if (err == -ENOENT)
        err = 0;
    size_t count = vk_kernel_file_count(kernel);
    for (size_t i = 0; i < count && !err; i++) {
        err = vk_kernel_file(kernel, i, &file, path, sizeof(path));
        file.mode |= file.mode & S_IFMT ? 0 : S_IFREG;
        if (!err)
            err = left_take(run, kernel, &file, i, vk_kernel_file_read);
    }
    if (!err)
        return 0;
    bool is_reachable = place_of(run->session, path).name != NULL;
    snprintf(run->answer->reason, sizeof(run->answer->reason),
             err == -ENODATA && is_reachable
                 ? "not all that it leaves in %.160s is known"
                 : "the oracle's command would not find what it leaves in %.160s",
             path);
    return err;
}

static void left_drop(struct live_run *run)
{
    for (size_t i = 0; i < run->ended.file_count; i++) {
        free((char *)run->files[i].name);
        free(run->files[i].bytes.data);
    }
    free(run->files);
    free(run->ended.output.data);
    free(run->ended.errors.data);
}

/* Asks the command. Where it finds other files than a real run's command, it may miss some: then
 * only a clear word counts. */
static void oracle_ask(struct live_run *run)
{
    struct dlt_report *report = &run->answer->report;
    bool is_elsewhere = false;
    run->ended.is_of_search = true;
    run->ended.how = report->program;
    for (size_t i = 0; i < run->ended.file_count; i++)
        is_elsewhere = is_elsewhere || !run->files[i].is_of_scratch;
    int err = dlt_question_of_search(run->session->plan, &run->ended, run->candidate, report);
    if (err)
        unresolved(run->answer, wetdbg_error(err));
    else if (report->command.ending != DLT_EXITED || (is_elsewhere && report->command.number > 1))
        unresolved(run->answer, "the oracle's command cannot tell");
}

static void kernel_take(void *arg, struct vk_kernel *kernel)
{
    struct live_run *run = arg;
    bool is_command = run->session->plan->options->oracle == WETDBG_DD_COMMAND;
    run->answer->is_resolved = true;
    if (output_take(run, kernel) || (is_command && (stream_take(kernel, 1, &run->ended.output) ||
                                                    stream_take(kernel, 2, &run->ended.errors))))
        unresolved(run->answer, "what it put out is not known");
    else if (is_command && left_find(run, kernel))
        run->answer->is_resolved = false;
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
    struct live_run run = {.session = session, .candidate = candidate, .answer = answer};
    const struct psw_change change = {.kind = PSW_NOTHING, .time = session->asked};
    const struct psw_settings settings = {
        .begins = input_change, .crashed = crash_take, .ended = kernel_take, .arg = &run};
    struct psw_result result;
    *answer = (struct dlt_live_answer){0};
    int err = psw_run(session->runs, &change, &settings, &result);
    if (!err && result.end == PSW_EXIT)
        end_take(&run, result.status);
    else if (!err)
        unresolved(answer, result.reason);
    if (!err && answer->is_resolved && session->plan->options->oracle == WETDBG_DD_COMMAND)
        oracle_ask(&run);
    left_drop(&run);
    return err;
}

int wetdbg_dd(const struct wetdbg_dd_options *options, struct wetdbg_dd_result *result)
{
    static const struct dlt_live_engine engine = {
        .prepare = prepare, .adopt = adopt, .run = run_live};
    return dlt_dd(options, options->runs == WETDBG_DD_RUNS_REAL ? NULL : &engine, result);
}
