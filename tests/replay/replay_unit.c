/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/replay/replay_unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/replay/start.h"
#include "tests/record/spawn.h"
#include <wetdbg/errors.h>

#define STEP_INSTRUCTIONS (4u << 20)

char *unit_work;

int unit_work_new(void **state)
{
    (void)state;
    unit_work = scratch_new();
    return 0;
}

int unit_work_remove(void **state)
{
    (void)state;
    scratch_free(unit_work);
    return 0;
}

void unit_check(int err, const char *what)
{
    if (err)
        fail_msg("%s: %s", what, wetdbg_error(err));
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
    return wd_buf_append(&replay->events, &event, sizeof(event));
}

static int open_any(struct unit_replay *replay, const char *dir, const char *process,
                    void (*alter)(struct rrt_header *header), enum dbi_mode mode)
{
    struct rep_selection which = {0};
    *replay =
        (struct unit_replay){.source = {.next = feed_next, .taken = feed_taken, .arg = replay}};
    int err = rep_selection_parse(process, &which);
    if (!err)
        err = wetdbg_recording_open(dir, &replay->trace);
    if (!err && alter)
        alter((struct rrt_header *)rrt_trace_header(replay->trace));
    if (!err)
        err = rep_feed_open(replay->trace, &which, &replay->feed);
    return err ? err : rep_engine_from_feed(replay->feed, mode, &replay->engine);
}

int unit_open(struct unit_replay *replay, const char *dir, const char *process, enum dbi_mode mode)
{
    return open_any(replay, dir, process, NULL, mode);
}

int unit_open_altered(struct unit_replay *replay, const char *dir,
                      void (*alter)(struct rrt_header *header), enum dbi_mode mode)
{
    return open_any(replay, dir, NULL, alter, mode);
}

void unit_close(struct unit_replay *replay)
{
    rep_engine_free(replay->engine);
    rep_feed_close(replay->feed);
    wetdbg_recording_close(replay->trace);
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
