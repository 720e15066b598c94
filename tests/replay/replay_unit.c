/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/replay/replay_unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/err.h"

#define STEP_INSTRUCTIONS (4u << 20)

void unit_check(int err, const char *what)
{
    if (err)
        fail_msg("%s: %s", what, wd_error_message(err));
}

static void exec_recorder(const char *dir, const char *const argv[])
{
    char *args[64] = {RECORD_DRIVER, "-q", "-o", (char *)dir, "--"};
    int null = open("/dev/null", O_RDWR);
    for (unsigned i = 0; i < 58 && argv[i]; i++)
        args[5 + i] = (char *)argv[i];
    dup2(null, 0);
    dup2(null, 1);
    dup2(null, 2);
    execv(RECORD_DRIVER, args);
    _exit(126);
}

char *unit_record(const char *work, const char *name, const char *const argv[])
{
    struct stat st;
    char *dir;
    int status;
    assert_true(asprintf(&dir, "%s/%s", work, name) > 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        exec_recorder(dir, argv);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (stat(dir, &st))
        fail_msg("%s could not be recorded (wait status %#x)", argv[0], status);
    return dir;
}

static int feed_next(void *arg, struct wd_buf *out)
{
    return rep_feed_next(((struct unit_replay *)arg)->feed, out);
}

static int feed_taken(void *arg, const struct evq_entry *entry, uint64_t time, uint64_t ring_bytes)
{
    struct unit_replay *replay = arg;
    struct unit_event event = {.frame = entry->frame, .time = time, .kind = entry->kind};
    (void)ring_bytes;
    if (replay->entry_fn)
        replay->entry_fn(replay->entry_arg, entry);
    return wd_buf_append(&replay->events, &event, sizeof event);
}

static int engine_start(struct unit_replay *replay, enum dbi_mode mode)
{
    size_t file_count, span_count;
    const struct rep_file *files = rep_feed_files(replay->feed, &file_count);
    const struct rep_range *ranges = rep_feed_ranges(replay->feed, &span_count);
    const struct rep_cpu *cpu = rep_feed_cpu(replay->feed);
    int *fds = calloc(file_count + 1, sizeof *fds);
    struct rep_span *spans = calloc(span_count + 1, sizeof *spans);
    struct agt_cpuid *leaves = calloc(cpu->cpuid_count + 1, sizeof *leaves);
    assert_true(fds && spans && leaves);
    for (size_t i = 0; i < file_count; i++)
        fds[i] = files[i].fd;
    for (size_t i = 0; i < span_count; i++)
        spans[i] = (struct rep_span){ranges[i].start, ranges[i].end};
    for (size_t i = 0; i < cpu->cpuid_count; i++)
        memcpy(&leaves[i], &cpu->cpuid[i], sizeof leaves[i]);
    struct rep_engine_setup setup = {.mode = mode,
                                     .spans = spans,
                                     .span_count = span_count,
                                     .files = fds,
                                     .file_count = file_count,
                                     .cpuid = leaves,
                                     .cpuid_count = cpu->cpuid_count,
                                     .xcr0 = cpu->xcr0};
    int err = rep_engine_new(&setup, &replay->engine);
    free(fds);
    free(spans);
    free(leaves);
    return err;
}

int unit_open(struct unit_replay *replay, const char *dir, const char *process, enum dbi_mode mode)
{
    struct rep_selection which = {0};
    *replay =
        (struct unit_replay){.source = {.next = feed_next, .taken = feed_taken, .arg = replay}};
    int err = rep_selection_parse(process, &which);
    if (!err)
        err = rrt_open(dir, &replay->trace);
    if (!err)
        err = rep_feed_open(replay->trace, &which, &replay->feed);
    return err ? err : engine_start(replay, mode);
}

void unit_close(struct unit_replay *replay)
{
    rep_engine_free(replay->engine);
    rep_feed_close(replay->feed);
    rrt_close(replay->trace);
    wd_buf_fini(&replay->events);
}

int unit_run_to_end(struct unit_replay *replay)
{
    enum rep_stop why = REP_STOP_TIME;
    int err = 0;
    while (!err && why == REP_STOP_TIME)
        err = rep_engine_run(replay->engine, &replay->source, STEP_INSTRUCTIONS, false, &why);
    return err;
}
