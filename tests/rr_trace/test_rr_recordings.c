/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fresh recordings: compared with rr's own dump of them, asked for their processes, their backing
 * files opened, and damaged. argv: record_driver, and the folder of the sample programs.
 */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/rr_trace/rr_trace.h"
#include "tests/rr_trace/read_all.h"
#include "tests/rr_trace/rr_dump_compare.h"
#include "tests/rr_trace/rr_trace_unit.h"
#include "tests/rr_trace/trace_build.h"
#include <wetdbg/errors.h>

static const char *record_driver;
static const char *programs;
static char *place;

static int set_up(void **state)
{
    (void)state;
    place = build_temp_dir();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    build_remove_dir(place);
    return 0;
}

/* Records the shell words `command` as `name`; the trace's path goes to `dir`. */
static int record(const char *name, const char *command, char dir[PATH_MAX])
{
    char line[3 * PATH_MAX];
    snprintf(dir, PATH_MAX, "%s/%s", place, name);
    snprintf(line, sizeof(line), "%s -q -o %s -- %s >%s/output 2>&1", record_driver, dir, command,
             place);
    int status = system(line);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void open_all_backing_files(struct wetdbg_recording *trace)
{
    struct rrt_frame frame;
    size_t opened = 0;
    int r;
    while ((r = rrt_next(trace, &frame)) > 0) {
        for (size_t i = 0; i < frame.mmap_count; i++) {
            struct rrt_backing backing;
            if (frame.mmaps[i].source != RRT_SOURCE_FILE)
                continue;
            r = rrt_backing_open(trace, &frame.mmaps[i], &backing);
            if (r != 0)
                fail_msg("%s", wetdbg_error(r));
            close(backing.fd);
            opened++;
        }
    }
    assert_int_equal(r, 0);
    assert_true(opened > 0);
}

/* Checks what holds of every recording. */
static void check_recording(const char *dir)
{
    struct rr_dump_counts counts;
    struct wetdbg_recording *trace;
    assert_int_equal(rr_dump_compare(dir, &counts), 0);
    assert_true(counts.frames > 30 && counts.registers > 30 && counts.vectors > 0 &&
                counts.mmaps > 5 && counts.tasks > 1 && counts.writes > 10);
    assert_int_equal(wetdbg_recording_open(dir, &trace), 0);
    int r = rrt_check_supported(trace);
    if (r != 0)
        fail_msg("%s", wetdbg_error(r));
    open_all_backing_files(trace);
    wetdbg_recording_close(trace);
}

static void recordings_of_common_programs_agree_with_rr(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *command;
        int status;
    } rows[] = {
        {"ls", "ls -l /usr/bin", 0},
        {"gzip", "sh -c 'gzip -c /bin/sh | gzip -dc | wc -c'", 0},
        {"perl", "perl -e 'my %h; $h{$_} = 2 * $_ for 1..2000; print scalar keys %h'", 0},
        {"fail", "sh -c 'ls /nowhere; exit 9'", 9},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char dir[PATH_MAX];
        assert_int_equal(record(rows[i].name, rows[i].command, dir), rows[i].status);
        check_recording(dir);
    }
}

/* rr pack turns the backing files into copies under other names, and makes another list of
 * mappings. */
static void recordings_that_were_packed_agree_with_rr(void **state)
{
    (void)state;
    char dir[PATH_MAX];
    char line[2 * PATH_MAX];
    struct wetdbg_recording *trace;
    assert_int_equal(record("packed", "sh -c 'ls / | wc'", dir), 0);
    snprintf(line, sizeof(line), "rr pack '%s' >%s/output 2>&1", dir, place);
    assert_int_equal(system(line), 0);
    assert_int_equal(wetdbg_recording_open(dir, &trace), 0);
    assert_int_equal(rrt_is_packed(trace), 1);
    assert_int_equal(rrt_check_sums(trace), 0);
    open_all_backing_files(trace);
    wetdbg_recording_close(trace);
    snprintf(line, sizeof(line), "%s/wetdbg.sums", dir);
    assert_int_equal(unlink(line), 0);
    check_recording(dir);
}

/* Records a program of this folder, which ends with that status, and opens the recording. */
static struct wetdbg_recording *record_sample(const char *name, const char *program, int status,
                                              const struct wetdbg_process **list, size_t *count)
{
    char command[PATH_MAX];
    char dir[PATH_MAX];
    struct wetdbg_recording *trace;
    snprintf(command, sizeof(command), "%s/%s", programs, program);
    assert_int_equal(record(name, command, dir), status);
    check_recording(dir);
    assert_int_equal(wetdbg_recording_open(dir, &trace), 0);
    assert_int_equal(wetdbg_recording_processes(trace, list, count), 0);
    return trace;
}

static void recordings_of_threads_and_signals_agree_with_rr(void **state)
{
    (void)state;
    const struct wetdbg_process *list;
    size_t count;
    struct wetdbg_recording *trace =
        record_sample("threads", "rr_trace_threads", 128 + SIGABRT, &list, &count);
    assert_int_equal(count, 1);
    assert_int_equal(list[0].tid_count, 5);
    assert_int_equal(list[0].end, WETDBG_PROCESS_SIGNALED);
    assert_int_equal(WTERMSIG(list[0].wait_status), SIGABRT);
    assert_int_equal(list[0].fatal_signal, SIGABRT);
    assert_true(list[0].fatal_signal_time > 0 && list[0].fatal_signal_time <= list[0].end_time);
    wetdbg_recording_close(trace);
}

static void check_tasks_processes(const struct wetdbg_process *list, size_t count)
{
    assert_int_equal(count, 6);
    assert_int_equal(list[0].parent_pid, 0);
    assert_int_equal(list[0].end, WETDBG_PROCESS_EXITED);
    assert_int_equal(list[0].wait_status, 0);
    for (size_t i = 1; i < 6; i++)
        assert_int_equal(list[i].parent_pid, list[0].pid);
    assert_int_equal(list[1].wait_status, 3 << 8); /* forked, exited */
    assert_int_equal(list[1].exec_count, 0);
    assert_ptr_not_equal(list[1].inherited, NULL);
    assert_int_equal(list[2].end, WETDBG_PROCESS_SIGNALED); /* died of its own fault */
    assert_int_equal(list[2].fatal_signal, SIGSEGV);
    assert_int_equal(list[3].end, WETDBG_PROCESS_SIGNALED); /* was killed: no signal frame */
    assert_int_equal(list[3].wait_status, SIGKILL);
    assert_int_equal(list[3].fatal_signal, 0);
    assert_int_equal(list[4].exec_count, 1); /* vfork and exec */
    assert_string_equal(list[4].execs[0].argv[2], "vfork");
    assert_int_equal(list[4].wait_status, 0);
    assert_int_equal(list[5].tid_count, 3); /* the second thread ran a program */
    assert_int_equal(list[5].exec_count, 1);
    assert_string_equal(list[5].execs[0].argv[1], "leaf");
    assert_int_equal(list[5].wait_status, 5 << 8);
}

static void recordings_of_several_processes_agree_with_rr(void **state)
{
    (void)state;
    const struct wetdbg_process *list;
    size_t count;
    struct wetdbg_recording *trace = record_sample("tasks", "rr_trace_tasks", 0, &list, &count);
    check_tasks_processes(list, count);
    wetdbg_recording_close(trace);
}

/* Opens the recording again and again until it says `words`; the test's own timeout ends that. */
static void wait_for_refusal(const char *dir, const char *words)
{
    for (;;) {
        struct wetdbg_recording *trace;
        int r = wetdbg_recording_open(dir, &trace);
        assert_true(r < 0);
        if (strstr(wetdbg_error(r), words))
            return;
        usleep(20000);
    }
}

static void recordings_in_the_making_are_refused(void **state)
{
    (void)state;
    struct wetdbg_recording *trace;
    char dir[PATH_MAX];
    char line[2 * PATH_MAX];
    snprintf(dir, sizeof(dir), "%s/making", place);
    snprintf(line, sizeof(line), "%s -q -o %s -- cat", record_driver, dir);
    FILE *standard_input = popen(line, "w");
    assert_non_null(standard_input);
    wait_for_refusal(dir, "still being recorded");
    assert_int_equal(pclose(standard_input), 0); /* the end of input ends cat */
    assert_int_equal(wetdbg_recording_open(dir, &trace), 0);
    wetdbg_recording_close(trace);
}

static void recordings_that_are_damaged_never_crash(void **state)
{
    (void)state;
    static const char *const names[] = {"events", "data", "mmaps", "tasks", "version"};
    char dir[PATH_MAX];
    assert_int_equal(record("damaged", "true", dir), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t size = file_size(dir, names[i]);
        size_t step = size / 100 + 1;
        size_t cuts = (size + step - 1) / step;
        /* Nothing at all in mmaps or tasks reads well; rrt_check_supported() notices. */
        size_t unnoticed = i == 2 || i == 3 ? 1 : 0;
        assert_true(cut_everywhere(dir, names[i], step) >= cuts - unnoticed);
        flip_everywhere(dir, names[i], 8 * step + 3);
    }
    assert_int_equal(read_all_in(dir, false), 0);
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        CASE(recordings_of_common_programs_agree_with_rr),
        CASE(recordings_that_were_packed_agree_with_rr),
        CASE(recordings_of_threads_and_signals_agree_with_rr),
        CASE(recordings_of_several_processes_agree_with_rr),
        CASE(recordings_in_the_making_are_refused),
        CASE(recordings_that_are_damaged_never_crash),
    };
    if (argc != 3) {
        fprintf(stderr, "usage: test_rr_recordings RECORD_DRIVER PROGRAMS\n");
        return 2;
    }
    record_driver = argv[1];
    programs = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
