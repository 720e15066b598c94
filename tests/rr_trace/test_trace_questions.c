/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is asked of a whole recording: can it be replayed, its processes, its dump, the files
 * behind its mappings. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/rr_trace/rr_trace.h"
#include "tests/rr_trace/buffered_events.h"
#include "tests/rr_trace/rr_trace_unit.h"
#include "tests/rr_trace/trace_build.h"
#include <wetdbg/errors.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char *dir;
static struct build_trace built;
static struct wetdbg_recording *trace;
static struct build build;

static void open_built(void)
{
    build_write(&built, dir, 4096);
    assert_int_equal(wetdbg_recording_open(dir, &trace), 0);
}

static void close_built(void)
{
    wetdbg_recording_close(trace);
    trace = NULL;
    build_trace_fini(&built);
}

static int set_up(void **state)
{
    (void)state;
    memset(&built, 0, sizeof(built));
    trace = NULL;
    dir = build_temp_dir();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    wetdbg_recording_close(trace);
    build_trace_fini(&built);
    build_remove_dir(dir);
    return 0;
}

/* ---------------------------------------------------------------- support */

static void add_frame(enum rrt_event event)
{
    struct rrt_regs regs = {0};
    struct built frame = build_frame(&build, 10, event);
    build_regs(&build, frame, &regs);
    build_pack(&built.events, &build);
}

static void add_call(enum rrt_syscall_state state, int number, uint64_t result, enum rrt_arch arch)
{
    struct rrt_regs regs = {.rax = result};
    struct built frame = build_frame(&build, 10, RRT_EVENT_SYSCALL);
    build_syscall(&build, frame, state, number);
    build.words[frame.data + 3] ^= RRT_ARCH_X86_64 ^ arch;
    build_regs(&build, frame, &regs);
    build_pack(&built.events, &build);
}

static void expect_unsupported(int code, const char *words)
{
    open_built();
    int r = rrt_check_supported(trace);
    assert_int_equal(r, code);
    if (!strstr(wetdbg_error(r), words))
        fail_msg("\"%s\" lacks \"%s\"", wetdbg_error(r), words);
    close_built();
}

static void support_of_the_sample_is_given(void **state)
{
    (void)state;
    build_sample(&built);
    open_built();
    assert_int_equal(rrt_check_supported(trace), 0);
}

/* A recording of that call alone is refused so. */
static void expect_of_call(enum rrt_syscall_state state, int number, uint64_t result,
                           enum rrt_arch arch, int code, const char *says)
{
    build_version(&built);
    add_call(state, number, result, arch);
    expect_unsupported(code, says);
}

/* Which of them are supported, the feed says. */
static void support_lets_buffered_calls_pass(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(buffered_events); i++) {
        build_version(&built);
        add_frame(buffered_events[i]);
        open_built();
        assert_int_equal(rrt_check_supported(trace), 0);
        close_built();
    }
}

static void support_refuses_what_we_cannot_replay(void **state)
{
    (void)state;
    expect_of_call(RRT_SYSCALL_ENTERING, 1, 0, RRT_ARCH_X86, -WETDBG_ERR_UNSUPPORTED, "int 0x80");
    expect_of_call(RRT_SYSCALL_ENTERING_PTRACE, 1, 0, RRT_ARCH_X86_64, -WETDBG_ERR_UNSUPPORTED,
                   "ptrace");
    expect_of_call(RRT_SYSCALL_EXITING, 101, 0, RRT_ARCH_X86_64, -WETDBG_ERR_UNSUPPORTED, "ptrace");
    build_version(&built);
    add_frame(RRT_EVENT_SCHED);
    build_task(&build, 1, 10, RRT_TASK_DETACH);
    build_pack(&built.tasks, &build);
    expect_unsupported(-WETDBG_ERR_UNSUPPORTED, "detached");
    build_version(&built);
    expect_unsupported(-WETDBG_ERR_UNSUPPORTED, "no event");
}

static void support_notices_streams_that_were_cut(void **state)
{
    (void)state;
    build_version(&built);
    add_frame(RRT_EVENT_EXIT);
    expect_unsupported(-WETDBG_ERR_CORRUPT, "tasks");
    expect_of_call(RRT_SYSCALL_EXITING, 9, 0x7000, RRT_ARCH_X86_64, -WETDBG_ERR_CORRUPT, "mmaps");
    expect_of_call(RRT_SYSCALL_EXITING, 59, 0, RRT_ARCH_X86_64, -WETDBG_ERR_CORRUPT, "tasks");
    build_version(&built);
    add_call(RRT_SYSCALL_EXITING, 59, (uint64_t)-2, RRT_ARCH_X86_64);
    open_built();
    assert_int_equal(rrt_check_supported(trace), 0);
}

/* ---------------------------------------------------------------- processes */

static void processes_of_the_sample_are_found(void **state)
{
    (void)state;
    const struct wetdbg_process *list;
    size_t count;
    build_sample(&built);
    open_built();
    assert_int_equal(wetdbg_recording_processes(trace, &list, &count), 0);
    assert_int_equal(count, 2);
    assert_int_equal(list[0].pid, 10);
    assert_int_equal(list[0].parent_pid, 0);
    assert_int_equal(list[0].start_time, 1);
    assert_int_equal(list[0].end_time, BUILD_SAMPLE_FRAMES);
    assert_int_equal(list[0].end, WETDBG_PROCESS_EXITED);
    assert_int_equal(WEXITSTATUS(list[0].wait_status), 3);
    assert_int_equal(list[0].frame_count, 5);
    assert_int_equal(list[0].exec_count, 1);
    assert_string_equal(list[0].execs[0].file, "/bin/sample");
    assert_int_equal(list[0].execs[0].time, 2);
    assert_int_equal(list[1].pid, 11);
    assert_int_equal(list[1].parent_pid, 10);
    assert_int_equal(list[1].start_time, 3);
    assert_int_equal(list[1].end_time, 6);
    assert_int_equal(list[1].end, WETDBG_PROCESS_SIGNALED);
    assert_int_equal(list[1].fatal_signal, 11);
    assert_int_equal(list[1].fatal_signal_time, 4);
    assert_int_equal(list[1].exec_count, 0);
    assert_string_equal(list[1].inherited->file, "/bin/sample");
    const struct wetdbg_process *again;
    assert_int_equal(wetdbg_recording_processes(trace, &again, &count), 0);
    assert_ptr_equal(again, list);
}

static struct built task_event(uint64_t time, int tid, enum rrt_task_kind kind, unsigned bit,
                               uint64_t value)
{
    struct built task = build_task(&build, time, tid, kind);
    build_set(&build, task, bit, value);
    return task;
}

/* Task 10 starts thread 11, which runs a program and is from then on called 10. */
static void processes_follow_a_program_run_by_a_second_thread(void **state)
{
    (void)state;
    const struct wetdbg_process *list;
    size_t count;
    struct built task;
    build_version(&built);
    for (int i = 0; i < 4; i++)
        add_frame(RRT_EVENT_SCHED);
    task = task_event(1, 11, RRT_TASK_CLONE, 96, 10);
    build_set(&build, task, 128, 0x50f00);
    build_pack(&built.tasks, &build);
    task_event(2, 10, RRT_TASK_EXIT, 96, 0);
    build_pack(&built.tasks, &build);
    task = task_event(3, 10, RRT_TASK_CLONE, 96, 11);
    build_set(&build, task, 128, 0x50f00);
    build_pack(&built.tasks, &build);
    task_event(3, 11, RRT_TASK_EXIT, 96, 0);
    build_pack(&built.tasks, &build);
    task = build_task(&build, 3, 11, RRT_TASK_EXEC);
    build_bytes(&build, task.pointers, "/bin/new", 8);
    build_pack(&built.tasks, &build);
    task_event(4, 10, RRT_TASK_EXIT, 96, 5 << 8);
    build_pack(&built.tasks, &build);
    open_built();
    assert_int_equal(wetdbg_recording_processes(trace, &list, &count), 0);
    assert_int_equal(count, 1);
    assert_int_equal(list[0].tid_count, 2);
    assert_int_equal(list[0].exec_count, 1);
    assert_int_equal(list[0].end, WETDBG_PROCESS_EXITED);
    assert_int_equal(list[0].wait_status, 5 << 8);
    assert_int_equal(list[0].frame_count, 4);
}

static void processes_still_alive_at_the_end_say_so(void **state)
{
    (void)state;
    const struct wetdbg_process *list;
    size_t count;
    build_version(&built);
    add_frame(RRT_EVENT_SCHED);
    add_frame(RRT_EVENT_SCHED);
    struct built task = task_event(1, 11, RRT_TASK_CLONE, 96, 10);
    build_set(&build, task, 128, 0x50f00);
    build_pack(&built.tasks, &build);
    task_event(2, 10, RRT_TASK_EXIT, 96, 0); /* the first thread only */
    build_pack(&built.tasks, &build);
    open_built();
    assert_int_equal(wetdbg_recording_processes(trace, &list, &count), 0);
    assert_int_equal(count, 1);
    assert_int_equal(list[0].end, WETDBG_PROCESS_ALIVE);
}

static void processes_of_impossible_events_are_refused(void **state)
{
    (void)state;
    static const struct {
        enum rrt_task_kind kind;
        int tid;
        int parent;
    } rows[] = {
        {RRT_TASK_CLONE, 11, 12}, /* unknown parent */
        {RRT_TASK_CLONE, 10, 10}, /* lives already */
        {RRT_TASK_EXIT, 11, 0},
        {RRT_TASK_DETACH, 11, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct wetdbg_process *list;
        size_t count;
        build_version(&built);
        add_frame(RRT_EVENT_SCHED);
        task_event(1, rows[i].tid, rows[i].kind, 96, (uint64_t)rows[i].parent);
        build_pack(&built.tasks, &build);
        open_built();
        assert_int_equal(wetdbg_recording_processes(trace, &list, &count), -WETDBG_ERR_CORRUPT);
        wetdbg_recording_close(trace);
        trace = NULL;
        build_trace_fini(&built);
    }
}

static void processes_without_their_start_are_refused(void **state)
{
    (void)state;
    const struct wetdbg_process *list;
    size_t count;
    for (int with_exec = 0; with_exec < 2; with_exec++) {
        build_version(&built);
        add_frame(RRT_EVENT_SCHED);
        add_frame(RRT_EVENT_SCHED);
        task_event(1, 10, RRT_TASK_EXIT, 96, 0);
        build_pack(&built.tasks, &build);
        if (with_exec) {
            build_task(&build, 2, 10, RRT_TASK_EXEC);
            build_pack(&built.tasks, &build);
        }
        open_built();
        assert_int_equal(wetdbg_recording_processes(trace, &list, &count), -WETDBG_ERR_CORRUPT);
        assert_non_null(strstr(wetdbg_error(-WETDBG_ERR_CORRUPT), "/tasks: frame 2: task 10"));
        wetdbg_recording_close(trace);
        trace = NULL;
        build_trace_fini(&built);
    }
}

/* ---------------------------------------------------------------- the dump */

static void expect_dump(unsigned what, bool json, const char *expected)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(wetdbg_recording_dump(trace, what, json, out), 0);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

static void dump_text_is_one_line_per_item(void **state)
{
    (void)state;
    build_sample(&built);
    open_built();
    expect_dump(
        0, false,
        "1 event tid=10 event=SYSCALL state=entering number=59 name=execve ticks=0 ip=0x401000\n"
        "2 event tid=10 event=SYSCALL state=exiting number=59 name=execve result=0 ticks=0 ip=0x0\n"
        "3 event tid=10 event=SYSCALL state=entering number=57 name=fork ticks=0 ip=0x401000\n"
        "4 event tid=11 event=SIGNAL signal=11 code=0 deterministic=yes disposition=fatal ticks=0 "
        "ip=0x401234\n"
        "5 event tid=11 event=SIGNAL_DELIVERY signal=11 code=0 deterministic=yes "
        "disposition=fatal ticks=0 ip=0x401234\n"
        "6 event tid=11 event=EXIT ticks=0\n"
        "7 event tid=10 event=SYSCALL state=entering number=231 name=exit_group ticks=0 "
        "ip=0x401000\n"
        "8 event tid=10 event=EXIT ticks=0\n");
    expect_dump(WETDBG_DUMP_DATA, false,
                "2 data tid=10 addr=0x500000 size=5 stored=5\n"
                "2 data tid=10 addr=0x501000 size=12 stored=8\n");
    expect_dump(WETDBG_DUMP_TASKS, false,
                "2 task tid=10 what=exec file=\"/bin/sample\" argv=[\"sample\",\"-x "
                "\\\"q\\\"\\x0a\\xff\"] exe_base=0x0 interp_base=0x0 interp=\"\"\n"
                "3 task tid=11 what=clone parent=10 flags=0x11 own_ns_tid=11\n"
                "6 task tid=11 what=exit wait_status=11\n"
                "8 task tid=10 what=exit wait_status=768\n");
}

static void dump_json_is_one_object_per_line(void **state)
{
    (void)state;
    build_sample(&built);
    open_built();
    expect_dump(
        WETDBG_DUMP_TASKS | WETDBG_DUMP_MMAPS, true,
        "{\"schema\":\"wetdbg.dump/"
        "1\",\"type\":\"task\",\"time\":2,\"tid\":10,\"what\":\"exec\",\"file\":"
        "\"/bin/sample\",\"argv\":[\"sample\",\"-x \\\"q\\\"\\u000a\\ufffd\"],"
        "\"exe_base\":\"0x0\",\"interp_base\":\"0x0\",\"interp\":\"\"}\n"
        "{\"schema\":\"wetdbg.dump/"
        "1\",\"type\":\"mmap\",\"time\":2,\"start\":\"0x400000\",\"end\":\"0x402000\","
        "\"prot\":3,\"flags\":\"0x2\",\"offset\":\"0x0\",\"device\":\"0x0\",\"inode\":0,"
        "\"mode\":\"0x0\",\"uid\":0,\"gid\":0,\"size\":0,\"mtime\":0,\"source\":\"file\","
        "\"name\":\"/bin/sample\",\"backing\":\"mmap_hardlink_1_sample\"}\n"
        "{\"schema\":\"wetdbg.dump/"
        "1\",\"type\":\"mmap\",\"time\":2,\"start\":\"0x500000\",\"end\":\"0x510000\","
        "\"prot\":3,\"flags\":\"0x2\",\"offset\":\"0x0\",\"device\":\"0x0\",\"inode\":0,"
        "\"mode\":\"0x0\",\"uid\":0,\"gid\":0,\"size\":0,\"mtime\":0,\"source\":\"zero\","
        "\"name\":\"[stack]\"}\n"
        "{\"schema\":\"wetdbg.dump/"
        "1\",\"type\":\"task\",\"time\":3,\"tid\":11,\"what\":\"clone\",\"parent\":10,"
        "\"flags\":\"0x11\",\"own_ns_tid\":11}\n"
        "{\"schema\":\"wetdbg.dump/"
        "1\",\"type\":\"task\",\"time\":6,\"tid\":11,\"what\":\"exit\",\"wait_status\":11}\n"
        "{\"schema\":\"wetdbg.dump/"
        "1\",\"type\":\"task\",\"time\":8,\"tid\":10,\"what\":\"exit\",\"wait_status\":768}\n");
}

/* Names as they are on the left give what is on the right. */
static void dump_escapes_what_is_not_plain_text(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *json;
    } rows[] = {
        {"plain", "\"plain\"", "\"plain\""},
        {"a\tb\x7f", "\"a\\x09b\\x7f\"", "\"a\\u0009b\\u007f\""},
        {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"",
         "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\""},
        {"\xc2\x9b", "\"\\xc2\\x9b\"", "\"\xc2\x9b\""},       /* a terminal's control sequence */
        {"\xc0\x80", "\"\\xc0\\x80\"", "\"\\ufffd\\ufffd\""}, /* overlong */
        {"\xed\xa0\x80", "\"\\xed\\xa0\\x80\"", "\"\\ufffd\\ufffd\\ufffd\""}, /* surrogate */
        {"\xe2\x82", "\"\\xe2\\x82\"", "\"\\ufffd\\ufffd\""},                 /* cut */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        build_version(&built);
        add_frame(RRT_EVENT_SCHED);
        build_mmap(&build, 1, 0, 0x1000, RRT_SOURCE_ZERO, rows[i].name, NULL);
        build_pack(&built.mmaps, &build);
        open_built();
        assert_int_equal(wetdbg_recording_dump(trace, WETDBG_DUMP_MMAPS, false, out), 0);
        assert_int_equal(wetdbg_recording_dump(trace, WETDBG_DUMP_MMAPS, true, out), 0);
        fclose(out);
        assert_non_null(strstr(text, rows[i].text));
        assert_non_null(strstr(strchr(text, '\n'), rows[i].json));
        free(text);
        wetdbg_recording_close(trace);
        trace = NULL;
        build_trace_fini(&built);
    }
}

static void dump_registers_are_those_of_the_frame(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    build_sample(&built);
    open_built();
    assert_int_equal(
        wetdbg_recording_dump(trace, WETDBG_DUMP_EVENTS | WETDBG_DUMP_REGISTERS, false, out), 0);
    fclose(out);
    assert_non_null(strstr(text, " r15=0x0 "));
    assert_non_null(strstr(text, " rax=0x7 "));
    assert_non_null(strstr(text, " orig_rax=0x3b rip=0x401000 "));
    free(text);
}

static void questions_leave_the_reader_where_it_is(void **state)
{
    (void)state;
    const struct wetdbg_process *list;
    struct rrt_frame frame;
    size_t count;
    FILE *nowhere = fopen("/dev/null", "w");
    build_sample(&built);
    open_built();
    assert_int_equal(rrt_next(trace, &frame), 1);
    assert_int_equal(rrt_next(trace, &frame), 1);
    assert_int_equal(wetdbg_recording_processes(trace, &list, &count), 0);
    assert_int_equal(rrt_check_supported(trace), 0);
    assert_int_equal(wetdbg_recording_dump(trace, 0, false, nowhere), 0);
    fclose(nowhere);
    assert_memory_equal(frame.writes[0].bytes, "hello", 5);
    assert_int_equal(rrt_next(trace, &frame), 1);
    assert_int_equal(frame.time, 3);
}

/* ---------------------------------------------------------------- backing files */

static struct rrt_mmap map_of(const char *backing, int64_t size, int64_t mtime)
{
    return (struct rrt_mmap){.source = RRT_SOURCE_FILE,
                             .backing = backing,
                             .stat_size_bytes = size,
                             .stat_mtime_seconds = mtime};
}

static int try_open(const char *backing, int64_t size, int64_t mtime)
{
    struct rrt_mmap map = map_of(backing, size, mtime);
    char byte;
    struct rrt_backing opened = {.fd = -1};
    int r = rrt_backing_open(trace, &map, &opened);
    if (r != 0) {
        assert_int_equal(opened.fd, -1);
        return r;
    }
    assert_int_equal(read(opened.fd, &byte, 1), 1);
    assert_int_equal(opened.size_bytes, size);
    assert_int_equal(opened.proof,
                     strstr(backing, "mmap_copy") ? RRT_PROOF_SIZE : RRT_PROOF_SIZE_TIME);
    close(opened.fd);
    return 0;
}

static void make_file(const char *name, const char *bytes, time_t mtime)
{
    struct timespec times[2] = {{mtime, 0}, {mtime, 0}};
    build_write_file(dir, name, bytes, strlen(bytes));
    assert_int_equal(utimensat(rrt_trace_dir_fd(trace), name, times, 0), 0);
}

static void backing_inside_is_opened_if_unchanged(void **state)
{
    (void)state;
    build_sample(&built);
    open_built();
    make_file("mmap_hardlink_1_x", "content", 1000);
    make_file("mmap_copy_2_x", "content", 2000);
    assert_int_equal(try_open("mmap_hardlink_1_x", 7, 1000), 0);
    assert_int_equal(try_open("mmap_hardlink_1_x", 7, 0), -WETDBG_ERR_UNSUPPORTED);
    assert_int_equal(try_open("mmap_hardlink_1_x", 7, 1001), -WETDBG_ERR_UNSUPPORTED);
    assert_non_null(strstr(wetdbg_error(-WETDBG_ERR_UNSUPPORTED), "mmap_hardlink_1_x has changed"));
    assert_int_equal(try_open("mmap_hardlink_1_x", 8, 1000), -WETDBG_ERR_UNSUPPORTED);
    assert_int_equal(try_open("mmap_copy_2_x", 7, 1000), 0); /* a copy is younger */
    assert_int_equal(try_open("mmap_copy_2_x", 6, 1000), -WETDBG_ERR_UNSUPPORTED);
    assert_int_equal(try_open("mmap_copy_3_x", 6, 1000), -ENOENT);
}

static void backing_original_is_opened_if_unchanged(void **state)
{
    (void)state;
    char path[4096];
    build_sample(&built);
    open_built();
    make_file("original", "\177ELF...", 1000);
    snprintf(path, sizeof(path), "%s/original", dir);
    assert_int_equal(try_open(path, 7, 1000), 0);
    assert_int_equal(try_open(path, 7, 999), -WETDBG_ERR_UNSUPPORTED);
    assert_int_equal(try_open(path, 7, 0), -WETDBG_ERR_UNSUPPORTED);
    assert_int_equal(try_open(path, 9, 1000), -WETDBG_ERR_UNSUPPORTED);
}

/* Whoever made the recording cannot read it, but sees its size and time. */
static void backing_that_is_private_is_refused_without_a_digest(void **state)
{
    (void)state;
    char path[4096];
    build_sample(&built);
    open_built();
    make_file("secret", "content", 1000);
    assert_int_equal(fchmodat(rrt_trace_dir_fd(trace), "secret", 0600, 0), 0);
    snprintf(path, sizeof(path), "%s/secret", dir);
    assert_int_equal(try_open(path, 7, 1000), -WETDBG_ERR_UNSUPPORTED);
    assert_non_null(strstr(wetdbg_error(-WETDBG_ERR_UNSUPPORTED),
                           "nothing tells that it holds what was recorded"));
}

static void backing_that_leads_outside_is_refused(void **state)
{
    (void)state;
    char path[4096];
    build_sample(&built);
    open_built();
    int dir_fd = rrt_trace_dir_fd(trace);
    make_file("mmap_hardlink_1_x", "content", 1000);
    assert_int_equal(mkdirat(dir_fd, "sub", 0700), 0);
    assert_int_equal(symlinkat("mmap_hardlink_1_x", dir_fd, "link"), 0);
    assert_int_equal(mkfifoat(dir_fd, "fifo", 0600), 0);
    snprintf(path, sizeof(path), "%s/sub/../mmap_hardlink_1_x", dir);
    const char *const names[] = {"..",  "../x", ".",         "sub/../mmap_hardlink_1_x",
                                 "sub", "fifo", "/dev/null", "link",
                                 "/..", path};
    for (size_t i = 0; i < COUNT(names); i++) {
        int r = try_open(names[i], 7, 1000);
        if (r != -WETDBG_ERR_CORRUPT)
            fail_msg("%s: %d", names[i], r);
    }
    assert_int_equal(try_open("", 7, 1000), -EINVAL);
    struct rrt_mmap map = map_of("mmap_hardlink_1_x", 7, 1000);
    struct rrt_backing opened;
    map.source = RRT_SOURCE_ZERO;
    assert_int_equal(rrt_backing_open(trace, &map, &opened), -EINVAL);
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        CASE(support_of_the_sample_is_given),
        CASE(support_lets_buffered_calls_pass),
        CASE(support_refuses_what_we_cannot_replay),
        CASE(support_notices_streams_that_were_cut),
        CASE(processes_of_the_sample_are_found),
        CASE(processes_follow_a_program_run_by_a_second_thread),
        CASE(processes_still_alive_at_the_end_say_so),
        CASE(processes_of_impossible_events_are_refused),
        CASE(processes_without_their_start_are_refused),
        CASE(dump_text_is_one_line_per_item),
        CASE(dump_escapes_what_is_not_plain_text),
        CASE(dump_registers_are_those_of_the_frame),
        CASE(dump_json_is_one_object_per_line),
        CASE(questions_leave_the_reader_where_it_is),
        CASE(backing_inside_is_opened_if_unchanged),
        CASE(backing_original_is_opened_if_unchanged),
        CASE(backing_that_is_private_is_refused_without_a_digest),
        CASE(backing_that_leads_outside_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
