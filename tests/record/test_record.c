/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records real programs with the installed rr and software ticks, and compares with the same
 * programs run natively. `rr replay` (with the same preload) is the oracle for the recordings of
 * single tasks; with several it wants ticks that software cannot give.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "recorder/ticks/digest_format.h"
#include "recorder/ticks/protocol.h"
#include "tests/record/record_fixture.h"
#include "tests/record/spawn.h"
#include "tests/record/unit.h"
#include <wetdbg/record.h>

#define ARGS_MAX    24
#define GUEST(name) GUEST_DIR "/" name

/* `before` and `argv` end with NULL; `before` goes in front of the driver, and may be NULL. */
static struct spawn_result record_as(const char *trace, const char *const *before,
                                     const char *const *argv, const struct spawn_env *env)
{
    const char *full[ARGS_MAX] = {0};
    size_t n = 0;

    while (before && *before)
        full[n++] = *before++;
    full[n++] = DRIVER;
    full[n++] = "-q";
    full[n++] = "-t";
    full[n++] = "software";
    if (trace) {
        full[n++] = "-o";
        full[n++] = trace;
    }
    full[n++] = "--";
    while (*argv && n < ARGS_MAX - 1)
        full[n++] = *argv++;
    return spawn(full, env);
}

static struct spawn_result record(const char *trace, const char *const *argv)
{
    return record_as(trace, NULL, argv, NULL);
}

static char *read_trace_file(const char *trace, const char *name, size_t *bytes)
{
    char *path, *text;

    assert_true(asprintf(&path, "%s/%s", trace, name) > 0);
    text = slurp(path, bytes);
    free(path);
    return text;
}

/* The stops of the side file, to be freed. */
static struct tck_stop *read_stops(const char *trace, size_t *count)
{
    struct tck_file_header header;
    struct tck_stop *stops;
    size_t bytes;
    char *text = read_trace_file(trace, TCK_DIGESTS_NAME, &bytes);

    assert_non_null(text);
    assert_true(bytes >= sizeof(header));
    memcpy(&header, text, sizeof(header));
    assert_memory_equal(header.magic, TCK_MAGIC, sizeof(header.magic));
    assert_int_equal(header.version, TCK_FORMAT_VERSION);
    assert_int_equal(header.record_bytes, sizeof(struct tck_stop));
    assert_int_equal((bytes - sizeof(header)) % sizeof(struct tck_stop), 0);
    *count = (bytes - sizeof(header)) / sizeof(struct tck_stop);
    stops = malloc(bytes);
    assert_non_null(stops);
    memcpy(stops, text + sizeof(header), bytes - sizeof(header));
    free(text);
    return stops;
}

/* ---- the program does not notice ---- */

static void record_programs_output_and_status_are_native(void **state)
{
    static const char *const programs[][6] = {
        {"ls", "-s", "/usr/bin"}, /* not -l: rr makes hard links to programs */
        {"gzip", "-c", "/bin/sh"},
        {"perl", "-e", "$h{$_ % 7} += $_ for 1 .. 9999; print map { \"$_=$h{$_}\\n\" } 0 .. 6"},
        {"/usr/bin/python3", "-c", "print(sum(i * i for i in range(9999)))"},
        {"sh", "-c", "ls /usr/bin | sort -r | wc -l"},
        {"sh", "-c", "echo out; echo err >&2; exit 69"},
        {"sh", "-c", "exit 125"},
        {"sh", "-c", "kill -TERM $$"},
        {"sh", "-c", "kill -KILL $$"},
        {"sh", "-c", "kill -ABRT $$"},
        {GUEST("guest_segv")},
        {GUEST("guest_still")},
        {GUEST("guest_mutex")},
        {GUEST("guest_waitloop")},
        {GUEST("guest_sleeper")},
        {GUEST("guest_tscspin")},
    };
    struct fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        struct spawn_result native = spawn(programs[i], NULL), recorded;
        char *trace;

        assert_true(asprintf(&trace, "%s-%zu", fixture->trace, i) > 0);
        recorded = record(trace, programs[i]);
        if (recorded.status != native.status)
            print_message("%s: %s\n", programs[i][0], recorded.err);
        assert_int_equal(recorded.status, native.status);
        assert_int_equal(recorded.out_bytes, native.out_bytes);
        assert_memory_equal(recorded.out, native.out, native.out_bytes);
        assert_string_equal(recorded.err, native.err);
        spawn_result_fini(&native);
        spawn_result_fini(&recorded);
        free(trace);
    }
}

static void record_closed_descriptors_stay_closed(void **state)
{
    const char *const program[] = {"sh",
                                   "-c",
                                   "\"$0\" \"$@\" <&- >&-",
                                   DRIVER,
                                   "-q",
                                   "-t",
                                   "software",
                                   "-o",
                                   ((struct fixture *)*state)->trace,
                                   "--",
                                   "/bin/sh",
                                   "-c",
                                   "exec 3</dev/null; ls /proc/self/fd >&2; "
                                   "ls /proc/self/fd/1 >&2",
                                   NULL};
    const char *const native_program[] = {"sh",
                                          "-c",
                                          "\"$0\" \"$@\" <&- >&-",
                                          "/bin/sh",
                                          "-c",
                                          "exec 3</dev/null; ls /proc/self/fd >&2; "
                                          "ls /proc/self/fd/1 >&2",
                                          NULL};
    struct spawn_result recorded = spawn(program, NULL), native = spawn(native_program, NULL);
    char *own = strstr(recorded.err, "999\n"); /* rr's socket to its tracees */

    assert_int_equal(recorded.status, native.status);
    assert_non_null(own);
    memmove(own, own + 4, strlen(own + 4) + 1);
    assert_string_equal(recorded.err, native.err);
    spawn_result_fini(&recorded);
    spawn_result_fini(&native);
}

static void record_environment_is_the_users(void **state)
{
    static const struct spawn_env without[] = {{"LD_PRELOAD", NULL}, {NULL, NULL}};
    static const struct spawn_env with[] = {
        {"LD_PRELOAD", PRELOADED},
        {"ASAN_OPTIONS", "verify_asan_link_order=0"}, /* for a driver with that sanitizer */
        {NULL, NULL}};
    static const char *const program[] = {"env", NULL};
    struct fixture *fixture = *state;
    char *second;
    struct spawn_result result = record_as(fixture->trace, NULL, program, without);

    assert_int_equal(result.status, 0);
    assert_null(strstr(result.out, TCK_ENV_PREFIX));
    assert_null(strstr(result.out, "libwetdbg-ticks"));
    spawn_result_fini(&result);

    assert_true(asprintf(&second, "%s-2", fixture->trace) > 0);
    result = record_as(second, NULL, program, with);
    assert_int_equal(result.status, 0);
    assert_null(strstr(result.out, TCK_ENV_PREFIX));
    assert_null(strstr(result.out, "libwetdbg-ticks"));
    assert_non_null(strstr(result.out, ":" PRELOADED "\n"));
    spawn_result_fini(&result);
    free(second);
}

static void record_read_only_directory_is_no_obstacle(void **state)
{
    const char *const program[] = {"sh",
                                   "-c",
                                   "cd /proc && exec \"$0\" -q -t software -o \"$1\" -- "
                                   "pwd",
                                   DRIVER,
                                   ((struct fixture *)*state)->trace,
                                   NULL};
    struct spawn_result result = spawn(program, NULL);

    assert_int_equal(result.status, 0);
    assert_string_equal(result.out, "/proc\n");
    spawn_result_fini(&result);
}

/* ---- what is left in the trace ---- */

static void record_leaves_mark_and_side_file(void **state)
{
    static const char *const program[] = {"true", NULL};
    struct fixture *fixture = *state;
    struct spawn_result result = record(fixture->trace, program);
    struct tck_stop *stops;
    size_t count;
    char *mark, expected[32];

    assert_int_equal(result.status, 0);
    assert_string_equal(result.err, "");
    mark = read_trace_file(fixture->trace, TCK_MARK_NAME, NULL);
    snprintf(expected, sizeof(expected), TCK_MARK_SOFTWARE "%d\n", TCK_FORMAT_VERSION);
    assert_string_equal(mark, expected);
    assert_true(wetdbg_recording_is_software_ticks(fixture->trace));
    stops = read_stops(fixture->trace, &count);
    assert_int_equal(count, 0); /* one task, no signal */
    free(stops);
    free(mark);
    spawn_result_fini(&result);
}

static void digest_tells_equal_memory_from_changed(void **state)
{
    static const char *const program[] = {GUEST("guest_selfsignal"), NULL};
    struct fixture *fixture = *state;
    struct spawn_result result = record(fixture->trace, program);
    struct tck_stop *stops;
    size_t count;

    assert_int_equal(result.status, 0);
    stops = read_stops(fixture->trace, &count);
    assert_int_equal(count, 3);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(stops[i].signo, SIGUSR1);
        assert_int_equal(stops[i].flags, 0);
        assert_true(stops[i].stack_bytes > TCK_RED_ZONE_BYTES);
        assert_int_equal(stops[i].stack_start, stops[i].regs[19] - TCK_RED_ZONE_BYTES);
        assert_true(stops[i].data_bytes > 0);
        assert_int_equal(stops[i].regs[16], stops[0].regs[16]); /* rip */
    }
    assert_int_equal(stops[0].data_digest, stops[1].data_digest);
    assert_int_equal(stops[0].stack_digest, stops[1].stack_digest);
    assert_int_equal(stops[1].stack_digest, stops[2].stack_digest);
    assert_int_not_equal(stops[1].data_digest, stops[2].data_digest);
    free(stops);
    spawn_result_fini(&result);
}

/* gdb under rr's own replay dumps the two ranges where the program faults. */
static void dump_ranges_at_fault(const struct fixture *fixture, const struct tck_stop *stop)
{
    static const struct spawn_env env[] = {
        {"LD_PRELOAD", TICKS_PRELOAD}, {TCK_ENV_MODE, TCK_MODE_SOFTWARE}, {NULL, NULL}};
    const char *const argv[] = {"sh", "-c", "exec rr -A zen replay \"$0/trace\" < \"$0/commands\"",
                                fixture->dir, NULL};
    struct spawn_result result;
    char *path;
    FILE *file;

    assert_true(asprintf(&path, "%s/commands", fixture->dir) > 0);
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "set confirm off\nhandle SIGUSR1 nostop noprint pass\ncontinue\n");
    fprintf(file, "dump binary memory %s/stack 0x%jx 0x%jx\n", fixture->dir,
            (uintmax_t)stop->stack_start, (uintmax_t)(stop->stack_start + stop->stack_bytes));
    fprintf(file, "dump binary memory %s/data 0x%jx 0x%jx\nkill\nquit\n", fixture->dir,
            (uintmax_t)stop->data_start, (uintmax_t)(stop->data_start + stop->data_bytes));
    fclose(file);
    free(path);
    result = spawn(argv, env);
    assert_int_equal(result.status, 0);
    spawn_result_fini(&result);
}

static void digest_is_of_the_memory_that_replay_has(void **state)
{
    static const char *const program[] = {GUEST("guest_segv"), NULL};
    struct fixture *fixture = *state;
    struct spawn_result result = record(fixture->trace, program);
    struct tck_stop *stops;
    size_t count, bytes;
    char *contents, *path;

    stops = read_stops(fixture->trace, &count);
    assert_int_equal(count, 1);
    assert_int_equal(stops[0].signo, SIGSEGV);
    dump_ranges_at_fault(fixture, &stops[0]);
    assert_true(asprintf(&path, "%s/stack", fixture->dir) > 0);
    contents = slurp(path, &bytes);
    assert_non_null(contents);
    assert_int_equal(bytes, stops[0].stack_bytes);
    assert_int_equal(XXH3_64bits(contents, bytes), stops[0].stack_digest);
    free(contents);
    free(path);
    assert_true(asprintf(&path, "%s/data", fixture->dir) > 0);
    contents = slurp(path, &bytes);
    assert_non_null(contents);
    assert_int_equal(bytes, stops[0].data_bytes);
    assert_int_equal(XXH3_64bits(contents, bytes), stops[0].data_digest);
    free(contents);
    free(path);
    free(stops);
    spawn_result_fini(&result);
}

static size_t count_expired(const struct tck_stop *stops, size_t count)
{
    size_t expired = 0;

    for (size_t i = 0; i < count; i++) {
        const unsigned both = TCK_STOP_SLICE | TCK_STOP_EXPIRED;

        expired += (stops[i].flags & both) == both;
    }
    return expired;
}

static void spinning_threads_are_made_to_take_turns(void **state)
{
    static const char *const program[] = {GUEST("guest_spin"), NULL};
    struct fixture *fixture = *state;
    struct spawn_result result = record(fixture->trace, program);
    struct tck_stop *stops;
    size_t count;

    assert_int_equal(result.status, 0);
    assert_string_equal(result.out, "done\n");
    stops = read_stops(fixture->trace, &count);
    assert_true(count_expired(stops, count) >= 2);
    free(stops);
    spawn_result_fini(&result);
}

static void refused_events_are_imitated(void **state)
{
    static const char *const deny[] = {DENY_PERF, NULL};
    static const char *const programs[][2] = {{GUEST("guest_spin")}, {GUEST("guest_mutex")}};
    struct fixture *fixture = *state;

    for (size_t i = 0; i < 2; i++) {
        struct spawn_result native = spawn(programs[i], NULL), result;
        char *trace;

        assert_true(asprintf(&trace, "%s-%zu", fixture->trace, i) > 0);
        result = record_as(trace, deny, programs[i], NULL);
        assert_int_equal(result.status, 0);
        assert_string_equal(result.out, native.out);
        assert_true(wetdbg_recording_is_software_ticks(trace));
        spawn_result_fini(&native);
        spawn_result_fini(&result);
        free(trace);
    }
}

static void rr_replays_single_tasks_alike(void **state)
{
    static const char *const programs[][4] = {{"ls", "-l", "/usr"},
                                              {"gzip", "-c", "/bin/sh"},
                                              {GUEST("guest_segv")},
                                              {GUEST("guest_tscmade")}};
    static const struct spawn_env env[] = {
        {"LD_PRELOAD", TICKS_PRELOAD}, {TCK_ENV_MODE, TCK_MODE_SOFTWARE}, {NULL, NULL}};
    struct fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        struct spawn_result recorded, replayed;
        char *trace;

        assert_true(asprintf(&trace, "%s-%zu", fixture->trace, i) > 0);
        recorded = record(trace, programs[i]);
        replayed =
            spawn((const char *const[]){"rr", "-A", "zen", "replay", "-a", trace, NULL}, env);
        assert_int_equal(replayed.status, 0);
        assert_int_equal(replayed.out_bytes, recorded.out_bytes);
        assert_memory_equal(replayed.out, recorded.out, recorded.out_bytes);
        spawn_result_fini(&recorded);
        spawn_result_fini(&replayed);
        free(trace);
    }
}

static void record_without_directory_uses_rrs_place(void **state)
{
    static const char *const program[] = {"true", NULL};
    struct fixture *fixture = *state;
    const struct spawn_env env[] = {{"_RR_TRACE_DIR", fixture->trace}, {NULL, NULL}};
    struct spawn_result result = record_as(NULL, NULL, program, env);
    struct wetdbg_recording_entry *entries;
    char *newest;
    size_t count;

    assert_int_equal(result.status, 0);
    setenv("_RR_TRACE_DIR", fixture->trace, 1);
    assert_int_equal(wetdbg_recordings_list(&entries, &count), 0);
    assert_int_equal(count, 1);
    assert_string_equal(entries[0].name, "true-0");
    assert_true(entries[0].is_finished);
    assert_false(entries[0].is_running);
    assert_true(entries[0].is_software_ticks);
    assert_int_equal(wetdbg_recording_newest(&newest), 0);
    assert_string_equal(newest, entries[0].path);
    unsetenv("_RR_TRACE_DIR");
    wetdbg_recordings_free(entries, count);
    free(newest);
    spawn_result_fini(&result);
}

/* ---- failures of ours ---- */

static void assert_fails(const struct spawn_result *result, const char *saying)
{
    assert_true(WIFEXITED(result->status));
    assert_int_equal(WEXITSTATUS(result->status), WETDBG_EXIT_FAILED);
    if (!strstr(result->err, saying))
        print_message("not \"%s\" but: %s\n", saying, result->err);
    assert_non_null(strstr(result->err, saying));
    assert_string_equal(result->out, "");
}

static void record_into_existing_directory_is_refused(void **state)
{
    static const char *const program[] = {"echo", "hello", NULL};
    struct fixture *fixture = *state;
    struct spawn_result result;

    assert_int_equal(mkdir(fixture->trace, 0700), 0);
    result = record(fixture->trace, program);
    assert_fails(&result, "exists already");
    assert_int_equal(rmdir(fixture->trace), 0); /* nothing was put into it */
    spawn_result_fini(&result);
}

static void record_into_directory_with_any_name_is_complete(void **state)
{
    static const char *const names[] = {"two words", "line\nend", "dir \nstarted 1\n", "\"q'$*"};
    static const char *const program[] = {"true", NULL};
    const struct fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char *trace, *mark;
        struct spawn_result result;

        assert_true(asprintf(&trace, "%s/%s", fixture->dir, names[i]) > 0);
        result = record(trace, program);
        if (result.status != 0)
            fail_msg("into '%s': status %d, and %s", names[i], result.status, result.err);
        mark = read_trace_file(trace, "wetdbg.mark", NULL);
        assert_non_null(mark);
        free(mark);
        free(trace);
        spawn_result_fini(&result);
    }
}

static void record_of_what_cannot_run_fails_and_leaves_nothing(void **state)
{
    static const struct {
        const char *program, *saying;
    } rows[] = {
        {"wetdbg-no-such-program", "no such program in PATH"},
        {"/nowhere/program", "no such program"},
        {"/usr", "is a directory"},
        {"/etc/passwd", "is not executable"},
        {"", "name is empty"},
    };
    struct fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *const program[] = {rows[i].program, NULL};
        struct spawn_result result = record(fixture->trace, program);

        assert_fails(&result, rows[i].saying);
        assert_int_not_equal(access(fixture->trace, F_OK), 0);
        spawn_result_fini(&result);
    }
}

/* Makes a file that can be executed, in so far as its mode goes; its path is to be freed. */
static char *put_program(const struct fixture *fixture, const char *text)
{
    char *path;
    FILE *file;

    assert_true(asprintf(&path, "%s/program", fixture->dir) > 0);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fchmod(fileno(file), 0700);
    fclose(file);
    return path;
}

static void record_of_files_that_are_no_programs_fails(void **state)
{
    static const struct {
        const char *text, *saying;
    } rows[] = {
        {"echo hello\n", "neither an ELF program nor a script"},
        {"", "neither an ELF program nor a script"},
        {"\177ELF\1", "32-bit"},
    };
    struct fixture *fixture = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *path = put_program(fixture, rows[i].text);
        struct spawn_result result = record(fixture->trace, (const char *const[]){path, NULL});

        assert_fails(&result, rows[i].saying);
        assert_int_not_equal(access(fixture->trace, F_OK), 0);
        spawn_result_fini(&result);
        free(path);
    }
}

static void record_of_missing_interpreter_fails_and_leaves_nothing(void **state)
{
    struct fixture *fixture = *state;
    char *script = put_program(fixture, "#!/nowhere/interpreter\n");
    struct spawn_result result = record(fixture->trace, (const char *const[]){script, NULL});

    assert_fails(&result, "could not start");
    assert_int_not_equal(access(fixture->trace, F_OK), 0);
    spawn_result_fini(&result);
    free(script);
}

static void hardware_ticks_are_used_or_refused_by_name(void **state)
{
    struct fixture *fixture = *state;
    struct spawn_result result = spawn(
        (const char *const[]){DRIVER, "-t", "hardware", "-o", fixture->trace, "--", "true", NULL},
        NULL);

    if (result.status == 0) {
        assert_false(wetdbg_recording_is_software_ticks(fixture->trace));
    } else {
        assert_fails(&result, "hardware ticks are impossible: the PMU ");
        assert_int_not_equal(access(fixture->trace, F_OK), 0);
    }
    spawn_result_fini(&result);
}

static void record_without_rr_says_how_to_install_it(void **state)
{
    static const struct spawn_env no_rr[] = {
        {"PATH", "/nowhere"}, {"WETDBG_RR", NULL}, {NULL, NULL}};
    static const struct spawn_env wrong_rr[] = {{"WETDBG_RR", "/nowhere/rr"}, {NULL, NULL}};
    static const char *const program[] = {"/bin/true", NULL};
    struct fixture *fixture = *state;
    struct spawn_result result = record_as(fixture->trace, NULL, program, no_rr);

    assert_fails(&result, "apt install rr");
    spawn_result_fini(&result);
    result = record_as(fixture->trace, NULL, program, wrong_rr);
    assert_fails(&result, "WETDBG_RR");
    spawn_result_fini(&result);
}

static void record_below_missing_directory_fails(void **state)
{
    static const char *const program[] = {"true", NULL};
    struct spawn_result result = record("/nowhere/trace", program);

    (void)state;
    assert_fails(&result, "cannot make /nowhere/trace");
    spawn_result_fini(&result);
}

static void record_terminated_from_outside_ends_program_and_recording(void **state)
{
    struct fixture *fixture = *state;
    const char *const program[] = {
        "sh",
        "-c",
        "\"$0\" -q -t software -o \"$1\" -- sleep 60 & while ! [ -s \"$1/tasks\" ] && ! "
        "[ -e \"$1/incomplete\" ]; do sleep 0.05; done; sleep 0.5; kill -TERM $!; wait $!",
        DRIVER,
        fixture->trace,
        NULL};
    struct spawn_result result = spawn(program, NULL);
    char *version;

    assert_true(WIFEXITED(result.status));
    assert_int_equal(WEXITSTATUS(result.status), 128 + SIGTERM);
    version = read_trace_file(fixture->trace, "version", NULL);
    assert_non_null(version);
    free(version);
    spawn_result_fini(&result);
}

static void check_gives_a_verdict(void **state)
{
    struct spawn_result text = spawn((const char *const[]){DRIVER, "-c", NULL}, NULL),
                        json = spawn((const char *const[]){DRIVER, "-j", NULL}, NULL);
    const char *verdict = strstr(text.out, "\nverdict: recording works, with ");

    (void)state;
    assert_int_equal(text.status, 0);
    assert_int_equal(json.status, 0);
    assert_non_null(verdict);
    assert_non_null(strstr(json.out, "\"possible\": true"));
    spawn_result_fini(&text);
    spawn_result_fini(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(record_programs_output_and_status_are_native),
        FIXTURE_TEST(record_closed_descriptors_stay_closed),
        FIXTURE_TEST(record_environment_is_the_users),
        FIXTURE_TEST(record_read_only_directory_is_no_obstacle),
        FIXTURE_TEST(record_leaves_mark_and_side_file),
        FIXTURE_TEST(digest_tells_equal_memory_from_changed),
        FIXTURE_TEST(digest_is_of_the_memory_that_replay_has),
        FIXTURE_TEST(spinning_threads_are_made_to_take_turns),
        FIXTURE_TEST(refused_events_are_imitated),
        FIXTURE_TEST(rr_replays_single_tasks_alike),
        FIXTURE_TEST(record_without_directory_uses_rrs_place),
        FIXTURE_TEST(record_into_existing_directory_is_refused),
        FIXTURE_TEST(record_into_directory_with_any_name_is_complete),
        FIXTURE_TEST(record_of_what_cannot_run_fails_and_leaves_nothing),
        FIXTURE_TEST(record_of_files_that_are_no_programs_fails),
        FIXTURE_TEST(hardware_ticks_are_used_or_refused_by_name),
        FIXTURE_TEST(record_of_missing_interpreter_fails_and_leaves_nothing),
        FIXTURE_TEST(record_without_rr_says_how_to_install_it),
        FIXTURE_TEST(record_below_missing_directory_fails),
        FIXTURE_TEST(record_terminated_from_outside_ends_program_and_recording),
        FIXTURE_TEST(check_gives_a_verdict),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
