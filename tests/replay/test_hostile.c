/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A replayee that lies. Its agent spoils what it says (hostile/), and somebody else writes to the
 * shared memory all the while. Whatever comes of it is a success or a sentence, in time: no crash,
 * no signal to a process that is none of its business, no child left behind, no absurd amount of
 * memory.
 *
 * Each run is in a process of its own. test_hostile [SEEDS]
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/replay/hostile/image.h"
#include "tests/replay/replay_unit.h"
#include "tests/wet/wet_exercise.h"
#include "wet/build/build_wet.h"
#include <wetdbg/errors.h>

#define PATIENCE    2         /* seconds before a run is interrupted */
#define HANG        60        /* seconds before it is called hung */
#define MEMORY_MOST (2 << 20) /* KiB */

static unsigned seeds = 12, patience = PATIENCE;
static char *plain_trace, *async_trace, *wet_path, *fills_path;
static pid_t canary;
static volatile sig_atomic_t interrupted;
static struct wetdbg *open_wet;    /* to be interrupted too */
static int expected;               /* what a run has to end with; 0: anything */
static const char *expected_words; /* and what the sentence has in it; NULL: anything */

/* ---- who writes meanwhile ---- */

static atomic_bool is_writing;

/* A descriptor of our own of what number `name` is, if that is an engine's shared memory: the
 * number may be another file's by the time it is used. */
static int shared_memory_open(const char *name)
{
    char path[64], target[64] = "";
    snprintf(path, sizeof(path), "/proc/self/fd/%.16s", name);
    if (readlink(path, target, sizeof(target) - 1) <= 0 ||
        strcmp(target, "/memfd:wetdbg (deleted)") != 0)
        return -1;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct stat st;
    if (fd >= 0 && (fstat(fd, &st) || st.st_size != AGT_SHM_BYTES)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* The shared memory of an engine of this process, mapped once more; NULL if there is none. */
static uint8_t *shared_memory(void)
{
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;
    uint8_t *at = NULL;
    while (dir && !at && (entry = readdir(dir))) {
        int fd = shared_memory_open(entry->d_name);
        if (fd < 0)
            continue;
        void *map =
            mmap(NULL, AGT_SHM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
        at = map == MAP_FAILED ? NULL : map;
        close(fd);
    }
    if (dir)
        closedir(dir);
    return at;
}

/* Where the agent writes its lies, and how many bytes of them. The turn itself is left alone in
 * half of the cases. */
static const struct {
    uint64_t off, bytes;
} targets[] = {
    {0, sizeof(struct agt_ctx)},
    {offsetof(struct agt_ctx, mail.request), sizeof(struct agt_mail) - 4},
    {AGT_LOG_OFF, 512},
    {AGT_TASKS_OFF, 2 * sizeof(struct agt_task)},
    {AGT_XFER_OFF, 8192},
    {AGT_COUNT_OFF, 16384},
    {AGT_RING_OFF, 1 << 20},
    {AGT_RING_OFF + AGT_RING_BYTES / 2, 1 << 20},
    {AGT_JUMPS_OFF, 4096},
    {AGT_LOOKUP_OFF, 1 << 17},
    {AGT_STEPS_OFF, 4096},
    {AGT_QUEUE_OFF, 1 << 16},
    {AGT_RETURN_OFF, 1 << 19},
    {AGT_SITES_OFF, 1 << 16},
    {AGT_TABLES_OFF, 1 << 16},
};

static void *writer_main(void *arg)
{
    unsigned seed = *(unsigned *)arg;
    uint8_t *shm = NULL;
    while (atomic_load(&is_writing)) {
        if (!shm) {
            shm = shared_memory();
            usleep(200);
            continue;
        }
        unsigned target = (unsigned)rand_r(&seed) % (sizeof(targets) / sizeof(targets[0]));
        uint64_t at =
            targets[target].off + (uint64_t)rand_r(&seed) % (targets[target].bytes / 4) * 4;
        uint32_t value = (uint32_t)rand_r(&seed) >> (rand_r(&seed) & 31);
        __atomic_store_n((uint32_t *)(shm + at), value, __ATOMIC_RELAXED);
        if (!(rand_r(&seed) & 15))
            usleep(50);
    }
    if (shm)
        munmap(shm, AGT_SHM_BYTES);
    return NULL;
}

/* ---- runs ---- */

static int line_ignore(void *arg, uint64_t address, const uint8_t *bytes)
{
    *(uint64_t *)arg += address + bytes[0] + bytes[AGT_LINE_BYTES - 1];
    return 0;
}

static int jump_ignore(void *arg, uint64_t jump, uint64_t target)
{
    *(uint64_t *)arg += jump + target;
    return 0;
}

/* Everything that an engine can be asked while it stands still. */
static int engine_ask(struct rep_engine *engine)
{
    const struct agt_task *tasks;
    const struct agt_view *views;
    uint64_t sum = 0;
    uint32_t running;
    size_t count, done;
    uint8_t bytes[4096];
    int err = rep_engine_tasks(engine, &tasks, &running);
    if (!err)
        err = rep_engine_views(engine, &views, &count);
    if (!err && count)
        err = rep_engine_read(engine, views[0].start, bytes, sizeof(bytes), &done);
    if (!err)
        err = rep_engine_lines(engine, line_ignore, &sum);
    if (!err)
        err = rep_engine_jumps(engine, jump_ignore, &sum);
    return err;
}

static int engine_run(const char *trace, enum dbi_mode mode)
{
    struct unit_replay replay;
    enum rep_stop why = REP_STOP_TIME;
    int err = unit_open(&replay, trace, NULL, mode);
    if (!err)
        rep_engine_watch(replay.engine, &interrupted);
    while (!err && why == REP_STOP_TIME) {
        err = rep_engine_run(replay.engine, &replay.source, 20000, false, &why);
        if (!err)
            err = engine_ask(replay.engine);
    }
    unit_close(&replay);
    return err;
}

static int run_plain(void)
{
    return engine_run(plain_trace, DBI_PLAIN);
}

static int run_count(void)
{
    return engine_run(plain_trace, DBI_COUNT);
}

static int run_collect(void)
{
    return engine_run(plain_trace, DBI_COLLECT);
}

static int run_async(void)
{
    return engine_run(async_trace, DBI_PLAIN);
}

static int run_build(const struct wet_moment *from, unsigned jobs)
{
    struct wetdbg_recording *trace = NULL;
    struct rep_feed *feed = NULL;
    struct rep_selection which = {0};
    struct wet_build_result result;
    char path[512];
    snprintf(path, sizeof(path), "%s/%d.wet", unit_work, (int)getpid());
    struct wet_build_options options = {.fingerprint = "hostile",
                                        .interval_instructions = 20000,
                                        .jobs = jobs,
                                        .side_by_side = jobs > 1 ? WET_SIDE_ALWAYS : WET_SIDE_NEVER,
                                        .window_intervals = 2,
                                        .from = *from,
                                        .interrupted = &interrupted};
    int err = wetdbg_recording_open(plain_trace, &trace);
    if (!err)
        err = rep_feed_open(trace, &which, &feed);
    if (!err)
        err = wet_build(feed, path, &options, &result);
    rep_feed_close(feed);
    wetdbg_recording_close(trace);
    return err;
}

static int run_whole(void)
{
    return run_build(&(struct wet_moment){0}, 1);
}

static int run_window(void)
{
    return run_build(&(struct wet_moment){.kind = WET_MOMENT_PERCENT, .value = 50}, 1);
}

static int run_side(void)
{
    return run_build(&(struct wet_moment){0}, 4);
}

static int run_open(void)
{
    int err = wetdbg_open(wet_path, &open_wet);
    if (!err)
        err = exercise_runs(open_wet);
    struct wetdbg *wet = open_wet;
    open_wet = NULL;
    wetdbg_close(wet);
    return err;
}

/* Intervals only. */
static int run_intervals(void)
{
    const struct wet_interval *interval;
    int err = wetdbg_open(wet_path, &open_wet);
    uint64_t count = err ? 0 : wetdbg_get_info(open_wet)->intervals;
    for (uint64_t k = 0; !err && k < count; k++)
        err = wet_interval_get(open_wet, k, &interval);
    struct wetdbg *wet = open_wet;
    open_wet = NULL;
    wetdbg_close(wet);
    return err;
}

static int effect_ignore(void *arg, const struct wetdbg_effect *effect)
{
    *(uint64_t *)arg += effect->size;
    return 0;
}

/* Runs an interval for all that was written, with values. */
static int run_effects(void)
{
    struct wetdbg_effects *effects = NULL;
    uint64_t sum = 0;
    int err = wetdbg_open(fills_path, &open_wet);
    uint64_t count = err ? 0 : wetdbg_get_info(open_wet)->intervals;
    if (!err)
        err = wetdbg_effects_open(open_wet, &effects);
    for (uint64_t k = 0; !err && k < count; k++)
        err = wetdbg_effects_each(effects, k, true, effect_ignore, &sum);
    wetdbg_effects_close(effects);
    struct wetdbg *wet = open_wet;
    open_wet = NULL;
    wetdbg_close(wet);
    return err;
}

/* ---- one run, and what must not have come of it ---- */

static void on_alarm(int signo)
{
    (void)signo;
    interrupted = 1;
    if (open_wet)
        wetdbg_interrupt(open_wet);
}

/* Ends the process: 0, or what is wrong. */
static void run_here(int (*run)(void), unsigned writer_seed)
{
    struct sigaction action = {.sa_handler = on_alarm};
    struct rusage usage;
    pthread_t writer;
    sigaction(SIGALRM, &action, NULL);
    alarm(patience);
    atomic_store(&is_writing, writer_seed);
    if (writer_seed && pthread_create(&writer, NULL, writer_main, &writer_seed))
        _exit(3);
    int err = run();
    if (writer_seed) {
        atomic_store(&is_writing, false);
        pthread_join(writer, NULL);
    }
    if (err && !*wetdbg_error(err)) {
        fprintf(stderr, "error %d without a sentence\n", err);
        _exit(2);
    }
    if ((expected && err != expected) ||
        (expected_words && !strstr(wetdbg_error(err), expected_words))) {
        fprintf(stderr, "ends with %d: %s\n", err, err ? wetdbg_error(err) : "-");
        _exit(5);
    }
    if (getenv("HOSTILE_SAY"))
        fprintf(stderr, "%s\n", err ? wetdbg_error(err) : "-");
    getrusage(RUSAGE_SELF, &usage);
    if (usage.ru_maxrss > MEMORY_MOST) {
        fprintf(stderr, "%ld KiB of memory\n", usage.ru_maxrss);
        _exit(4);
    }
    _exit(0);
}

/* Children of ours, also such as were left to us, but for the canary. */
static unsigned children(void)
{
    char path[64], text[4096] = "";
    unsigned count = 0;
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(read(fd, text, sizeof(text) - 1) >= 0);
    close(fd);
    for (char *at = text, *end; (void)(end = at), strtol(at, &end, 10), end != at; at = end)
        count += strtol(at, NULL, 10) != canary;
    return count;
}

/* Whether none is left within two seconds; those that have ended are reaped. */
static bool all_are_gone(void)
{
    for (unsigned i = 0; i < 200; i++) {
        siginfo_t info = {0};
        while (!waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid &&
               info.si_pid != canary) {
            waitpid(info.si_pid, NULL, 0);
            info.si_pid = 0;
        }
        if (!children())
            return true;
        usleep(10000);
    }
    return false;
}

static int status_within(pid_t pid, unsigned seconds)
{
    int status;
    for (unsigned i = 0; i < seconds * 100; i++) {
        if (waitpid(pid, &status, WNOHANG) == pid)
            return status;
        usleep(10000);
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return -1;
}

static void run_apart(const char *name, int (*run)(void), unsigned writer_seed)
{
    const struct hostile_plan *plan = hostile_plan();
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        run_here(run, writer_seed);
    int status = status_within(pid, HANG);
    bool is_clean = all_are_gone();
    if (status || !is_clean || kill(canary, 0))
        fail_msg("%s: seed %llu, from %llu, every %llu, writer %u: wait status %#x%s%s", name,
                 (unsigned long long)plan->seed, (unsigned long long)plan->first,
                 (unsigned long long)plan->every, writer_seed, (unsigned)status,
                 is_clean ? "" : ", children are left", kill(canary, 0) ? ", canary killed" : "");
}

static void spoil_runs(const char *name, int (*run)(void), uint64_t turns)
{
    struct hostile_plan *plan = hostile_plan();
    for (unsigned seed = 1; seed <= seeds; seed++) {
        plan->kind = seed % 4 ? HOSTILE_SPOIL : HOSTILE_NOT;
        plan->seed = seed * 1000003;
        plan->first = 2 + seed * 7919 % turns;
        plan->every = 1 + seed % 5;
        run_apart(name, run, seed % 4 > 1 ? 0 : seed);
    }
    plan->kind = HOSTILE_NOT;
}

static void plain_replay_ends(void **state)
{
    (void)state;
    spoil_runs("plain", run_plain, 60);
}

static void counting_ends(void **state)
{
    (void)state;
    spoil_runs("count", run_count, 60);
}

static void collecting_ends(void **state)
{
    (void)state;
    spoil_runs("collect", run_collect, 60);
}

static void searching_ends(void **state)
{
    (void)state;
    spoil_runs("async", run_async, 200);
}

static void building_ends(void **state)
{
    (void)state;
    spoil_runs("build", run_whole, 100);
    spoil_runs("window", run_window, 100);
    spoil_runs("side", run_side, 100);
}

static void asking_ends(void **state)
{
    (void)state;
    spoil_runs("open", run_open, 200);
}

static void full_hash_is_named(void **state)
{
    struct hostile_plan *plan = hostile_plan();
    (void)state;
    plan->kind = HOSTILE_FULL_HASH;
    for (plan->first = 2; plan->first < 200; plan->first += 37) {
        run_apart("plain", run_plain, 0);
        run_apart("build", run_whole, 0);
    }
    plan->kind = HOSTILE_NOT;
}

/* ---- sizes and places that cannot be ---- */

static void run_expecting(const char *name, int (*run)(void), int err, const char *words)
{
    expected = err;
    expected_words = words;
    patience = err == -WETDBG_ERR_INTERRUPTED ? PATIENCE : HANG / 2;
    run_apart(name, run, 0);
    patience = PATIENCE;
    expected = 0;
    expected_words = NULL;
}

static void effects_are_where_memory_is(void **state)
{
    struct hostile_plan *plan = hostile_plan();
    (void)state;
    run_apart("effects", run_effects, 0);
    plan->kind = HOSTILE_RING;
    plan->ring_word = FILLS_AT;
    plan->ring_other = 0x123456789000;
    run_expecting("store", run_effects, -WETDBG_ERR_DIVERGED, "where nothing is mapped");
    for (unsigned i = 0; i < 2; i++) {
        plan->ring_word = FILLS_BYTES + i;
        plan->ring_other = 3ull << 30;
        run_expecting(i ? "copy" : "fill", run_effects, -WETDBG_ERR_DIVERGED,
                      "is said to have written");
    }
    plan->kind = HOSTILE_NOT;
}

static void lines_are_as_many_as_are_mapped(void **state)
{
    struct hostile_plan *plan = hostile_plan();
    (void)state;
    plan->kind = HOSTILE_LINES;
    plan->first = 2;
    plan->step = 1;
    run_expecting("between lines", run_whole, -WETDBG_ERR_MACHINE, "list of memory lines");
    plan->step = AGT_LINE_BYTES;
    run_expecting("by turns", run_whole, -WETDBG_ERR_MACHINE, "list of memory lines");
    plan->step = 0;
    run_expecting("for ever", run_whole, -WETDBG_ERR_INTERRUPTED, NULL);
    plan->kind = HOSTILE_NOT;
}

/* ---- what never ends by itself ---- */

static void replayee_that_goes_on_for_ever_is_interrupted(void **state)
{
    static const enum hostile_kind kinds[] = {HOSTILE_DEAF, HOSTILE_NAGGING};
    struct hostile_plan *plan = hostile_plan();
    (void)state;
    expected = -WETDBG_ERR_INTERRUPTED;
    for (unsigned i = 0; i < 2; i++) {
        plan->kind = kinds[i];
        for (plan->first = 5; plan->first < 200; plan->first *= 5) {
            run_apart("count", run_count, 0);
            run_apart("build", run_whole, 0);
            run_apart("intervals", run_intervals, 0);
        }
    }
    plan->kind = HOSTILE_NOT;
    expected = 0;
}

/* ---- what ends ---- */

static void replayee_that_ends_is_noticed(void **state)
{
    struct hostile_plan *plan = hostile_plan();
    (void)state;
    plan->kind = HOSTILE_EXIT;
    for (plan->first = 1; plan->first < 50; plan->first += 1 + plan->first / 2) {
        run_expecting("plain", run_plain, -WETDBG_ERR_MACHINE, "ended");
        run_expecting("async", run_async, -WETDBG_ERR_MACHINE, "ended");
        run_expecting("build", run_whole, -WETDBG_ERR_MACHINE, "ended");
        run_expecting("intervals", run_intervals, -WETDBG_ERR_MACHINE, "ended");
    }
    plan->kind = HOSTILE_NOT;
}

/* ---- copies ---- */

static void copy_that_ends_is_noticed(void **state)
{
    (void)state;
    hostile_plan()->kind = HOSTILE_EXIT_COPY;
    run_expecting("copy", run_async, -WETDBG_ERR_MACHINE, "copy of the replay process ended");
    hostile_plan()->kind = HOSTILE_NOT;
}

/* A copy that says nothing is waited for until somebody interrupts, and then gone. */
static void mute_copy_ends_with_the_engine(void **state)
{
    (void)state;
    hostile_plan()->kind = HOSTILE_MUTE_COPY;
    expected = -WETDBG_ERR_INTERRUPTED;
    run_apart("mute copy", run_async, 0);
    hostile_plan()->kind = HOSTILE_NOT;
    expected = 0;
}

static void supervisor_is_killed(enum hostile_kind kind, unsigned milliseconds)
{
    hostile_plan()->kind = kind;
    pid_t pid = fork();
    assert_true(pid >= 0);
    while (pid == 0) {
        int err = run_async();
        if (err)
            _exit(err != 0);
    }
    usleep(1000 * milliseconds);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    hostile_plan()->kind = HOSTILE_NOT;
    if (!all_are_gone())
        fail_msg("kind %d: children survive a supervisor killed after %u ms", kind, milliseconds);
}

static void children_go_with_a_killed_supervisor(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2 * seeds; i++)
        supervisor_is_killed(HOSTILE_NOT, 10 + 37 * i % 400);
    /* it has long been waiting for the copy by then */
    for (unsigned i = 0; i < 3; i++)
        supervisor_is_killed(HOSTILE_MUTE_COPY, 3000);
}

/* ---- set-up ---- */

static char *wet_make(const char *name, const char *trace_path)
{
    struct wetdbg_recording *trace = NULL;
    struct rep_feed *feed = NULL;
    struct rep_selection which = {0};
    struct wet_build_result result;
    char *path;
    assert_true(asprintf(&path, "%s/%s.wet", unit_work, name) > 0);
    unit_check(wetdbg_recording_open(trace_path, &trace), "wetdbg_recording_open");
    unit_check(rep_feed_open(trace, &which, &feed), "rep_feed_open");
    unit_check(wet_build(feed, path,
                         &(struct wet_build_options){.fingerprint = "hostile",
                                                     .interval_instructions = 20000},
                         &result),
               "wet_build");
    rep_feed_close(feed);
    wetdbg_recording_close(trace);
    return path;
}

static int recordings_make(void **state)
{
    const char *plain[] = {GUEST_PLAIN, NULL}, *async[] = {GUEST_ASYNC, NULL},
               *fills[] = {GUEST_FILLS, NULL};
    unit_work_new(state);
    plain_trace = unit_record(unit_work, "plain", plain);
    async_trace = unit_record(unit_work, "async", async);
    char *fills_trace = unit_record(unit_work, "fills", fills);
    wet_path = wet_make("good", plain_trace);
    fills_path = wet_make("fills", fills_trace);
    free(fills_trace);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    canary = fork();
    while (canary == 0)
        pause();
    return canary < 0;
}

static int recordings_remove(void **state)
{
    if (canary > 0) {
        kill(canary, SIGKILL);
        waitpid(canary, NULL, 0);
    }
    free(plain_trace);
    free(async_trace);
    free(wet_path);
    free(fills_path);
    return unit_work_remove(state);
}

int main(int argc, char *argv[])
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_replay_ends),
        cmocka_unit_test(counting_ends),
        cmocka_unit_test(collecting_ends),
        cmocka_unit_test(searching_ends),
        cmocka_unit_test(building_ends),
        cmocka_unit_test(asking_ends),
        cmocka_unit_test(full_hash_is_named),
        cmocka_unit_test(effects_are_where_memory_is),
        cmocka_unit_test(lines_are_as_many_as_are_mapped),
        cmocka_unit_test(replayee_that_goes_on_for_ever_is_interrupted),
        cmocka_unit_test(replayee_that_ends_is_noticed),
        cmocka_unit_test(copy_that_ends_is_noticed),
        cmocka_unit_test(mute_copy_ends_with_the_engine),
        cmocka_unit_test(children_go_with_a_killed_supervisor),
    };
    if (argc > 1)
        seeds = (unsigned)atoi(argv[1]);
    return cmocka_run_group_tests(tests, recordings_make, recordings_remove);
}
