/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Real recordings through the feed: every entry passes the gate and makes sense in a simulated
 * address space; the right process is chosen; what cannot be replayed is refused by name. */
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/feed/feed_simulator.h"
#include "tests/feed/feed_unit.h"
#include "tests/rr_checksums.h"
#include <wetdbg/errors.h>

static char place[] = "/tmp/feed_recordings_XXXXXX";

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static int make_place(void **state)
{
    (void)state;
    return mkdtemp(place) ? 0 : -1;
}

static int remove_place(void **state)
{
    (void)state;
    return nftw(place, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Records argv, its output dropped; the recording stays open. */
static struct wetdbg_recording *record(const char *name, const char *const argv[])
{
    char dir[256];
    const char *command[16] = {RECORD_DRIVER, "-q", "-o", dir, "--"};
    struct wetdbg_recording *trace;
    size_t count = 5;
    int status;
    snprintf(dir, sizeof(dir), "%s/%s", place, name);
    for (size_t i = 0; argv[i]; i++)
        command[count++] = argv[i];
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        if (!freopen("/dev/null", "w", stdout))
            _exit(126);
        execv(command[0], (char **)command);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    int err = wetdbg_recording_open(dir, &trace);
    if (err)
        fail_msg("%s (status %#x): %s", name, status, wetdbg_error(err));
    return trace;
}

static struct rep_feed *open_feed(struct wetdbg_recording *trace, const char *which)
{
    struct rep_selection selection;
    struct rep_feed *feed;
    assert_int_equal(rep_selection_parse(which, &selection), 0);
    int err = rep_feed_open(trace, &selection, &feed);
    if (err)
        fail_msg("%s", wetdbg_error(err));
    return feed;
}

/* What is wrong with a frame's entries, the first of them in *entry; or NULL. */
static const char *find_wrong(struct simulator *sim, const char *dir, const struct wd_buf *buf,
                              const struct evq_entry **entry)
{
    const char *wrong = NULL;
    for (size_t at = 0; at < buf->size_bytes && !wrong; at += (*entry)->bytes) {
        *entry = (const struct evq_entry *)(void *)(buf->data + at);
        int err = evq_entry_check(*entry, buf->size_bytes - at);
        if (err)
            fail_msg("%s", wetdbg_error(err));
        wrong = simulator_take(sim, *entry);
        bool is_last = at + (*entry)->bytes == buf->size_bytes; /* of this frame */
        /* (what left the space has a list of its own) */
        if (!wrong && is_last && (*entry)->kind != EVQ_TASK_EXIT)
            wrong = simulator_compare_maps(sim, dir, (*entry)->frame);
    }
    return wrong;
}

static void take_all(struct simulator *sim, const char *dir, const struct wd_buf *buf)
{
    const struct evq_entry *entry;
    const char *wrong = find_wrong(sim, dir, buf, &entry);
    if (!wrong)
        return;
    rep_entry_print(entry, stderr);
    fail_msg("frame %llu: %s", (unsigned long long)entry->frame, wrong);
}

/* Runs the whole feed through the simulator; a sum of all bytes, to compare two runs. */
static uint64_t run(struct rep_feed *feed, const char *dir, struct simulator_counts *counts)
{
    struct simulator *sim = simulator_new(feed);
    struct wd_buf buf = {0};
    uint64_t sum = 0;
    int err;
    while ((err = rep_feed_next(feed, &buf)) == 1) {
        assert_true(buf.size_bytes > 0);
        take_all(sim, dir, &buf);
        for (size_t i = 0; i < buf.size_bytes; i++)
            sum = sum * 31 + buf.data[i];
        buf.size_bytes = 0;
    }
    if (err)
        fail_msg("%s", wetdbg_error(err));
    *counts = *simulator_counts(sim);
    assert_int_equal(counts->entries[EVQ_END], 1);
    simulator_free(sim);
    wd_buf_fini(&buf);
    return sum;
}

/* Records, runs twice, and checks that the second time gives the same. */
static void check_program(const char *name, const char *const argv[], const char *which,
                          struct simulator_counts *counts, struct rep_info *info)
{
    struct wetdbg_recording *trace = record(name, argv);
    struct rep_feed *feed = open_feed(trace, which);
    uint64_t first = run(feed, rrt_trace_dir(trace), counts);
    assert_int_equal(rep_feed_rewind(feed), 0);
    assert_true(run(feed, rrt_trace_dir(trace), counts) == first);
    *info = *rep_feed_info(feed);
    info->exe = NULL; /* borrowed */
    info->argv = NULL;
    assert_true(counts->entries[EVQ_SYSCALL_ENTER] > 5);
    assert_true(counts->instructions_checked >= counts->entries[EVQ_SYSCALL_ENTER]);
    rep_feed_close(feed);
    wetdbg_recording_close(trace);
}

#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---------------------------------------------------------------- tests */

static void single_programs_make_sense(void **state)
{
    (void)state;
    struct simulator_counts counts;
    struct rep_info info;
    check_program("ls", ARGV("ls", "-l", "/"), NULL, &counts, &info);
    assert_true(info.has_wait_status && info.wait_status == 0 && !info.fatal_signal);
    assert_int_equal(counts.tasks_at_once, 1);
    check_program("gzip", ARGV("gzip", "-c", RECORD_DRIVER), NULL, &counts, &info);
    check_program("perl", ARGV("perl", "-e", "print join(',', map { $_ * 2 } 1..1000)"), NULL,
                  &counts, &info);
}

static void pipelines_make_sense(void **state)
{
    (void)state;
    struct simulator_counts counts;
    struct rep_info info;
    check_program("bash", ARGV("bash", "-c", "for i in 1 2 3; do echo $i; done | sort | wc -l"),
                  "sort", &counts, &info);
    assert_int_equal(info.fork_count, 0);
    check_program("bash2", ARGV("bash", "-c", "(echo a; exit 5)"), NULL, &counts, &info);
    assert_int_equal(WEXITSTATUS(info.wait_status), 5);
}

static void python_with_a_child_makes_sense(void **state)
{
    (void)state;
    struct simulator_counts counts;
    struct rep_info info;
    const char *script = "import json, subprocess\n"
                         "print(json.dumps([1])); subprocess.run(['true'])";
    check_program("python", ARGV("/usr/bin/python3", "-c", script), "python3", &counts, &info);
    assert_int_equal(info.wait_status, 0);
}

static void workout_uses_every_op(void **state)
{
    (void)state;
    struct simulator_counts counts;
    struct rep_info info;
    check_program("workout", ARGV(PROGRAMS "/feed_workout", "exit"), "feed_workout", &counts,
                  &info);
    for (unsigned op = EVQ_OP_REGS; op <= EVQ_OP_PLACE; op++)
        if (!counts.ops[op] && op != EVQ_OP_ZERO)
            fail_msg("no %s", rep_opcode_name(op));
    assert_int_equal(counts.captured_tags, 1u << REP_CAPTURE_IOVEC | 1u << REP_CAPTURE_MSGHDR);
    assert_int_equal(counts.tasks_at_once, 2); /* system and vfork, one after the other */
    assert_int_equal(counts.ops[EVQ_OP_TASK_NEW], 4);
    assert_int_equal(counts.entries[EVQ_TASK_EXIT], 5);
    assert_true(counts.entries[EVQ_PLACE] >= 1);
    assert_int_equal(info.wait_status, 0);
}

static void static_program_makes_sense(void **state)
{
    (void)state;
    struct simulator_counts counts;
    struct rep_info info;
    check_program("static", ARGV(PROGRAMS "/feed_workout_static", "exit"), "feed_workout_static",
                  &counts, &info);
    assert_int_equal(info.wait_status, 0);
}

static void crashes_end_in_their_signal(void **state)
{
    (void)state;
    struct simulator_counts counts;
    struct rep_info info;
    siginfo_t siginfo;
    check_program("crash", ARGV(PROGRAMS "/feed_workout", "crash"), NULL, &counts, &info);
    assert_int_equal(counts.entries[EVQ_FAULT], 1);
    assert_int_equal(info.fatal_signal, SIGSEGV);
    memcpy(&siginfo, info.fatal_siginfo, sizeof(siginfo));
    assert_ptr_equal(siginfo.si_addr, (void *)0x1234);
    check_program("abort", ARGV(PROGRAMS "/feed_workout", "abort"), NULL, &counts, &info);
    assert_int_equal(counts.entries[EVQ_FAULT], 0);
    assert_int_equal(info.fatal_signal, SIGABRT);
}

static void second_fault_of_a_handler_frame_is_immediate(void **state)
{
    (void)state;
    struct simulator_counts counts;
    struct rep_info info;
    check_program("overflow", ARGV(PROGRAMS "/feed_workout", "overflow"), NULL, &counts, &info);
    assert_int_equal(counts.entries[EVQ_FAULT], 1);
    assert_int_equal(info.fatal_signal, SIGSEGV);
}

static void grandchild_is_followed_through_two_forks(void **state)
{
    (void)state;
    struct simulator_counts counts;
    struct rep_info info;
    check_program("child", ARGV(PROGRAMS "/feed_workout", "child"), NULL, &counts, &info);
    assert_int_equal(info.fork_count, 2);
    assert_int_equal(info.fatal_signal, SIGSEGV);
    assert_int_equal(counts.entries[EVQ_FAULT], 1);
}

static void inner_failure_behind_a_shell_is_chosen(void **state)
{
    (void)state;
    struct wetdbg_recording *trace = record("inner", ARGV("sh", "-c", "true; false; exit $?"));
    struct rep_feed *feed = open_feed(trace, NULL);
    assert_int_equal(WEXITSTATUS(rep_feed_info(feed)->wait_status), 1);
    rep_feed_close(feed);
    wetdbg_recording_close(trace);
    trace = record("inner2", ARGV("sh", "-c", PROGRAMS "/feed_workout crash; exit $?"));
    feed = open_feed(trace, NULL);
    assert_string_equal(rep_feed_info(feed)->argv[1], "crash");
    assert_int_equal(rep_feed_info(feed)->fatal_signal, SIGSEGV);
    rep_feed_close(feed);
    wetdbg_recording_close(trace);
}

static void processes_are_selected_by_pid_and_name(void **state)
{
    (void)state;
    struct wetdbg_recording *trace =
        record("select", ARGV("sh", "-c", "cat /dev/null; cat /dev/null; ls /"));
    const struct wetdbg_process *list;
    size_t count, cats = 0;
    assert_int_equal(wetdbg_recording_processes(trace, &list, &count), 0);
    for (size_t i = 0; i < count; i++) {
        char which[32];
        bool is_cat = list[i].exec_count && strstr(list[i].execs[0].file, "/cat");
        if (is_cat)
            snprintf(which, sizeof(which), "cat#%zu", ++cats);
        else
            snprintf(which, sizeof(which), "%d", list[i].pid);
        int pid = list[i].pid;
        struct rep_feed *feed = open_feed(trace, which);
        assert_int_equal(rep_feed_info(feed)->pid, pid);
        rep_feed_close(feed);
    }
    assert_int_equal(cats, 2);
    struct rep_feed *feed;
    struct rep_selection third = {.name = "cat", .nth = 3};
    assert_int_equal(rep_feed_open(trace, &third, &feed), -WETDBG_ERR_NOT_FOUND);
    wetdbg_recording_close(trace);
}

static void expect_refusal(const char *name, const char *const argv[], const char *which,
                           const char *reason)
{
    struct wetdbg_recording *trace = record(name, argv);
    struct rep_selection selection;
    struct rep_feed *feed;
    assert_int_equal(rep_selection_parse(which, &selection), 0);
    assert_int_equal(rep_feed_open(trace, &selection, &feed), -WETDBG_ERR_UNSUPPORTED);
    if (!strstr(wetdbg_error(-WETDBG_ERR_UNSUPPORTED), reason))
        fail_msg("%s: %s", name, wetdbg_error(-WETDBG_ERR_UNSUPPORTED));
    wetdbg_recording_close(trace);
}

static void what_cannot_be_replayed_is_refused(void **state)
{
    (void)state;
    expect_refusal("alias", ARGV(PROGRAMS "/feed_shares", "alias"), NULL, "mapped shared both");
    expect_refusal("shares", ARGV(PROGRAMS "/feed_shares", "child"), "feed_shares",
                   "is shared with process");
}

static void threads_make_sense(void **state)
{
    static const struct {
        const char *how, *which;
        int status;
        unsigned at_once; /* tasks; 0: whoever ran the program that is replayed had none */
        bool has_places;
    } rows[] = {
        {"join", NULL, 0, 2, false},       {"spin", NULL, 0, 5, true},
        {"exit", NULL, 0x300, 5, false},   {"spinexit", NULL, 0x300, 5, true},
        {"kill", NULL, SIGKILL, 5, true},  {"exec", "true", 0, 1, false},
        {"execself", "true", 0, 1, false}, {"fork", NULL, SIGABRT, 5, false},
        {"leader", NULL, 0, 2, false},     {"robust", NULL, 0, 2, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct simulator_counts counts;
        struct rep_info info;
        char name[32];
        snprintf(name, sizeof(name), "threads_%s", rows[i].how);
        check_program(name, ARGV(PROGRAMS "/feed_threads", rows[i].how), rows[i].which, &counts,
                      &info);
        print_message("%s: %u at once, %u places searched, %u with digests\n", name,
                      counts.tasks_at_once, counts.places_searched, counts.places_with_digests);
        assert_true(info.has_wait_status);
        assert_int_equal(info.wait_status & ~0x80, rows[i].status); /* 0x80: left a core */
        assert_true(counts.tasks_at_once >= rows[i].at_once);
        assert_int_equal(counts.entries[EVQ_TASK_EXIT], counts.ops[EVQ_OP_TASK_NEW] + 1);
        if (!strcmp(rows[i].how, "join"))
            assert_int_equal(counts.captured_tags, 1u << REP_CAPTURE_COMM);
        if (rows[i].has_places)
            assert_true(counts.places_with_digests > 0);
    }
}

/* rr wrote down what was mapped at every event. */
static void mappings_are_those_that_the_recorder_saw(void **state)
{
    static const struct {
        const char *const argv[3];
        const char *which;
    } rows[] = {{{PROGRAMS "/feed_threads", "join"}, NULL},
                {{PROGRAMS "/feed_threads", "fork"}, NULL},
                {{PROGRAMS "/feed_threads", "robust"}, NULL},
                {{PROGRAMS "/feed_threads", "spinexit"}, NULL},
                {{PROGRAMS "/feed_workout", "exit"}, "feed_workout"}};
    (void)state;
    assert_int_equal(setenv("WETDBG_RR", RR_WITH_CHECKSUMS, 1), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct simulator_counts counts;
        struct rep_info info;
        char name[32];
        snprintf(name, sizeof(name), "mappings_%zu", i);
        check_program(name, rows[i].argv, rows[i].which, &counts, &info);
        print_message("%s %s: mappings compared at %u frames\n", rows[i].argv[0], rows[i].argv[1],
                      counts.maps_compared);
        assert_true(counts.maps_compared > 40);
    }
}

/* The last of rr's lists of the process, and the scratch area of a task that has left before. */
struct last_list {
    char path[512];
    struct rep_range left;
};

static void find_last_list(struct wetdbg_recording *trace, struct rep_feed *feed,
                           struct last_list *last)
{
    struct simulator *sim = simulator_new(feed);
    struct wd_buf buf = {0};
    char path[512];
    unsigned count;
    while (rep_feed_next(feed, &buf) == 1) {
        take_all(sim, rrt_trace_dir(trace), &buf);
        uint64_t frame = ((const struct evq_entry *)(void *)buf.data)->frame;
        if (rr_checksums_find(path, sizeof(path), rrt_trace_dir(trace), frame,
                              rep_feed_info(feed)->pid))
            memcpy(last->path, path, sizeof(path));
        buf.size_bytes = 0;
    }
    const struct rep_range *left = simulator_left(sim, &count);
    assert_true(count > 0);
    last->left = left[0];
    simulator_free(sim);
    wd_buf_fini(&buf);
}

/* Takes the range out of the list if it is a line of it, and puts it in if not. */
static void change_list(const struct last_list *last, struct rep_range range)
{
    char line[512], wanted[64], *kept = NULL;
    size_t kept_bytes = 0;
    bool is_found = false;
    snprintf(wanted, sizeof(wanted), " %#llx-%#llx ", (unsigned long long)range.start,
             (unsigned long long)range.end);
    FILE *from = fopen(last->path, "re"), *to = open_memstream(&kept, &kept_bytes);
    assert_true(from && to);
    while (fgets(line, sizeof(line), from))
        if (strstr(line, wanted))
            is_found = true;
        else
            fputs(line, to);
    if (!is_found)
        fprintf(to, "(200000)%srwxp 00000000 00:00 0\n", wanted);
    fclose(from);
    fclose(to);
    to = fopen(last->path, "we");
    assert_true(to && fwrite(kept, 1, kept_bytes, to) == kept_bytes);
    fclose(to);
    free(kept);
}

/* Whether the feed agrees with all lists. */
static bool agrees(struct wetdbg_recording *trace, struct rep_feed *feed)
{
    struct simulator *sim = simulator_new(feed);
    const struct evq_entry *entry;
    const char *wrong = NULL;
    struct wd_buf buf = {0};
    assert_int_equal(rep_feed_rewind(feed), 0);
    while (!wrong && rep_feed_next(feed, &buf) == 1) {
        wrong = find_wrong(sim, rrt_trace_dir(trace), &buf, &entry);
        buf.size_bytes = 0;
    }
    simulator_free(sim);
    wd_buf_fini(&buf);
    return !wrong;
}

/* rr unmaps the scratch area of a vfork's child that execs only if the parent stands still by then:
 * it is in rr's lists from then on, or it is not. Nothing else may be there too much, or too
 * little. */
static void scratch_of_a_child_that_execs_may_stay(void **state)
{
    struct last_list last;
    (void)state;
    assert_int_equal(setenv("WETDBG_RR", RR_WITH_CHECKSUMS, 1), 0);
    struct wetdbg_recording *trace = record("left", ARGV(PROGRAMS "/feed_workout", "exit"));
    struct rep_feed *feed = open_feed(trace, "feed_workout");
    find_last_list(trace, feed, &last);
    assert_true(agrees(trace, feed));
    change_list(&last, last.left);
    assert_true(agrees(trace, feed));
    change_list(&last, last.left);
    assert_true(agrees(trace, feed));
    struct rep_range nowhere = {0x10000, 0x11000};
    change_list(&last, nowhere);
    assert_false(agrees(trace, feed));
    rep_feed_close(feed);
    wetdbg_recording_close(trace);
}

static int use_any_rr(void **state)
{
    (void)state;
    return unsetenv("WETDBG_RR");
}

static void signals_make_sense(void **state)
{
    static const struct {
        const char *how;
        int status;
        bool is_searched;
    } rows[] = {{"loop", 0, true},     {"altstack", 0, true}, {"nested", 0, true},
                {"restart", 0, false}, {"eintr", 0, false},   {"fatal", SIGALRM, true}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct simulator_counts counts;
        struct rep_info info;
        char name[32];
        snprintf(name, sizeof(name), "signals_%s", rows[i].how);
        check_program(name, ARGV(PROGRAMS "/feed_signals", rows[i].how), "feed_signals", &counts,
                      &info);
        assert_int_equal(info.wait_status, rows[i].status);
        assert_true(counts.entries[EVQ_PLACE] > 0);
        /* On a busy machine the timer also strikes before a read, or after it. */
        if (rows[i].is_searched)
            assert_true(counts.places_with_digests > 0);
        else
            assert_true(counts.places_searched < counts.entries[EVQ_PLACE]);
    }
}

static void shared_memory_of_a_child_that_execs_is_fine(void **state)
{
    (void)state;
    struct simulator_counts counts;
    struct rep_info info;
    check_program("shares2", ARGV(PROGRAMS "/feed_shares", "exec"), "feed_shares", &counts, &info);
    assert_int_equal(info.wait_status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_programs_make_sense),
        cmocka_unit_test(pipelines_make_sense),
        cmocka_unit_test(python_with_a_child_makes_sense),
        cmocka_unit_test(workout_uses_every_op),
        cmocka_unit_test(static_program_makes_sense),
        cmocka_unit_test(crashes_end_in_their_signal),
        cmocka_unit_test(second_fault_of_a_handler_frame_is_immediate),
        cmocka_unit_test(grandchild_is_followed_through_two_forks),
        cmocka_unit_test(inner_failure_behind_a_shell_is_chosen),
        cmocka_unit_test(processes_are_selected_by_pid_and_name),
        cmocka_unit_test(threads_make_sense),
        cmocka_unit_test_teardown(mappings_are_those_that_the_recorder_saw, use_any_rr),
        cmocka_unit_test_teardown(scratch_of_a_child_that_execs_may_stay, use_any_rr),
        cmocka_unit_test(signals_make_sense),
        cmocka_unit_test(what_cannot_be_replayed_is_refused),
        cmocka_unit_test(shared_memory_of_a_child_that_execs_is_fine),
    };
    return cmocka_run_group_tests(tests, make_place, remove_place);
}
