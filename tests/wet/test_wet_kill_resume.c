/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Builds that go on after they ended in the middle: the file is the one that a build makes which was
 * left alone, byte for byte, whatever the number of threads that compress.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/record/spawn.h"
#include "tests/wet/wet_run.h"
#include "tests/wet/wet_same.h"
#include "tests/wet/wet_unit.h"
#include "wet/intervals.h"
#include <wetdbg/errors.h>

#define ATTEMPTS 400
#define KILLS    4

/* ---- one attempt ---- */

struct attempt {
    unsigned left; /* intervals until the user has enough; 0: never */
    volatile sig_atomic_t interrupted;
    unsigned resumed, anew;
    bool dies; /* as by SIGKILL */
};

static void on_progress(void *arg, uint64_t done, uint64_t total, uint64_t instructions)
{
    struct attempt *attempt = arg;
    (void)done;
    (void)total;
    (void)instructions;
    if (attempt->left && --attempt->left == 0) {
        if (attempt->dies)
            raise(SIGKILL);
        attempt->interrupted = 1;
    }
}

static void on_notice(void *arg, const char *sentence)
{
    struct attempt *attempt = arg;
    attempt->resumed += strstr(sentence, "going on") != NULL;
    attempt->anew += strstr(sentence, "anew") != NULL;
}

static int build_try(const struct rebuilt *fixture, struct attempt *attempt,
                     const struct wet_build_options *base)
{
    struct wet_build_options options = *base;
    options.interval_instructions = fixture->interval;
    options.fingerprint = options.fingerprint ? options.fingerprint : "test";
    options.interrupted = &attempt->interrupted;
    options.progress = on_progress;
    options.progress_arg = attempt;
    options.notice = on_notice;
    options.notice_arg = attempt;
    return run_build_with(&fixture->run, fixture->path, &options);
}

/* Attempts until one comes to the end; how many of them went on with what was there. */
static unsigned build_in_pieces(struct rebuilt *fixture, const struct wet_build_options *options)
{
    unsigned resumed = 0;
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        unsigned most = fixture->intervals / 4 + 4;
        struct attempt attempt = {.left =
                                      i ? 3 + (unsigned)(unit_random(&fixture->seed) % most) : 3};
        int err = build_try(fixture, &attempt, options);
        resumed += attempt.resumed;
        assert_int_equal(attempt.anew, 0);
        if (!err)
            return resumed;
        if (err != -WETDBG_ERR_INTERRUPTED)
            fail_msg("attempt %u: %s", i, wetdbg_error(err));
    }
    fail_msg("%u attempts", ATTEMPTS);
    return 0;
}

/* ---- fixtures ---- */

#define RUN(name, interval, ...)                                                                   \
    static int name(void **state)                                                                  \
    {                                                                                              \
        return rebuilt_make(state, interval, "pieces", (const char *const[]){__VA_ARGS__, NULL});  \
    }

RUN(run_printf, 2000, PROGRAMS "/prog_printf_O0_pie")
RUN(run_heap, 3000, PROGRAMS "/prog_heap_O2_pie")
RUN(run_signals, 3000, PROGRAMS "/prog_signals_O0_pie")
RUN(run_simd, 2000, PROGRAMS "/prog_simd_O2_pie")
RUN(run_ud2, 2000, PROGRAMS "/prog_crash_ud2_O2_pie")
RUN(run_tls, 5000, PROGRAMS "/thread_tls_O0_static")
RUN(run_queue, 20000, PROGRAMS "/thread_queue_O2_pie")
RUN(run_nested, 20000, PROGRAMS "/signal_nested_O0_static")
RUN(run_moved, 2000, GENERATED, "moved", "30")
RUN(run_rewritten, 2000, GENERATED, "rewritten", "400")

/* ---- cases ---- */

static void build_in_pieces_gives_the_same_file(void **state)
{
    struct rebuilt *fixture = *state;
    assert_true(fixture->intervals > REBUILT_FEW);
    assert_true(build_in_pieces(fixture, &(struct wet_build_options){0}) > 0);
    same_file(fixture->path, fixture->whole);
    same_facts(fixture->path, fixture->whole);
    assert_int_equal(unit_count_names(fixture->run.dir, ".part"), 0);
    unlink(fixture->path);
}

static void build_on_any_number_of_threads_gives_the_same_file(void **state)
{
    struct rebuilt *fixture = *state;
    for (unsigned jobs = 1; jobs <= 7; jobs += 3) {
        struct wet_build_options options = {.fingerprint = "test",
                                            .interval_instructions = fixture->interval,
                                            .jobs = jobs,
                                            .memory_bytes = jobs > 1 ? 1 : 0};
        assert_int_equal(run_build_with(&fixture->run, fixture->path, &options), 0);
        same_file(fixture->path, fixture->whole);
    }
    unlink(fixture->path);
}

static void build_killed_goes_on(void **state)
{
    struct rebuilt *fixture = *state;
    struct attempt last = {0};
    for (unsigned i = 0; i < KILLS; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            struct attempt attempt = {.left = fixture->intervals / 3, .dies = true};
            build_try(fixture, &attempt, &(struct wet_build_options){0});
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFSIGNALED(status))
            break; /* the kills before left it less than a third */
    }
    if (access(fixture->path, F_OK))
        assert_int_equal(build_try(fixture, &last, &(struct wet_build_options){0}), 0);
    same_file(fixture->path, fixture->whole);
    assert_int_equal(unit_count_names(fixture->run.dir, ".part"), 0);
    unlink(fixture->path);
}

static char *part_name(const struct rebuilt *fixture, const char *suffix)
{
    char *name;
    assert_true(asprintf(&name, "%s%s", fixture->path, suffix) > 0);
    return name;
}

/* Flips a bit at a random place, or cuts the file there. */
static void spoil(struct rebuilt *fixture, const char *suffix, bool cut)
{
    char *name = part_name(fixture, suffix);
    size_t size_bytes;
    char *bytes = slurp(name, &size_bytes);
    assert_true(bytes && size_bytes);
    size_t at = unit_random(&fixture->seed) % size_bytes;
    bytes[at] ^= (char)(1 << unit_random(&fixture->seed) % 8);
    unit_write(name, bytes, cut ? at : size_bytes);
    free(bytes);
    free(name);
}

static void unfinished_file_with_damage_still_gives_the_same_file(void **state)
{
    struct rebuilt *fixture = *state;
    static const char *const suffixes[] = {".part", ".part-log"};
    for (unsigned i = 0; i < 8; i++) {
        struct attempt attempt = {.left = fixture->intervals / 2}, again = {0};
        int err = build_try(fixture, &attempt, &(struct wet_build_options){0});
        assert_int_equal(err, -WETDBG_ERR_INTERRUPTED);
        spoil(fixture, suffixes[i % 2], i / 2 % 2);
        err = build_try(fixture, &again, &(struct wet_build_options){0});
        if (err)
            fail_msg("%s", wetdbg_error(err));
        same_file(fixture->path, fixture->whole);
        unlink(fixture->path);
    }
}

static void unfinished_file_that_is_all_damage_is_said_to_be(void **state)
{
    struct rebuilt *fixture = *state;
    static const char *const suffixes[] = {".part", ".part-log"};
    for (unsigned i = 0; i < 2; i++) {
        struct attempt attempt = {.left = fixture->intervals / 2}, again = {0};
        int err = build_try(fixture, &attempt, &(struct wet_build_options){0});
        assert_int_equal(err, -WETDBG_ERR_INTERRUPTED);
        char *name = part_name(fixture, suffixes[i]);
        unit_write(name, "no such thing at all, and long enough for a record", 50);
        free(name);
        assert_int_equal(build_try(fixture, &again, &(struct wet_build_options){0}), 0);
        assert_int_equal(again.anew, 1);
        same_file(fixture->path, fixture->whole);
        unlink(fixture->path);
    }
}

static void unfinished_file_of_something_else_is_not_gone_on_with(void **state)
{
    struct rebuilt *fixture = *state;
    struct attempt attempt = {.left = fixture->intervals / 2}, again = {0};
    const struct wet_build_options other = {.fingerprint = "another recording"};
    assert_int_equal(build_try(fixture, &attempt, &other), -WETDBG_ERR_INTERRUPTED);
    assert_int_equal(unit_count_names(fixture->run.dir, ".part"), 2);
    assert_int_equal(build_try(fixture, &again, &(struct wet_build_options){0}), 0);
    assert_int_equal(again.anew, 1);
    assert_int_equal(again.resumed, 0);
    same_file(fixture->path, fixture->whole);
    unlink(fixture->path);
}

/* A journal is read nearly as it is: only by him who wrote it. */
static void unfinished_file_of_somebody_else_is_not_gone_on_with(void **state)
{
    struct rebuilt *fixture = *state;
    struct attempt attempt = {.left = fixture->intervals / 2}, again = {0}, third = attempt;
    const struct wet_build_options other = {.maker = "somebody"}, ours = {.maker = "us"};
    assert_int_equal(build_try(fixture, &attempt, &other), -WETDBG_ERR_INTERRUPTED);
    assert_int_equal(build_try(fixture, &again, &ours), 0);
    assert_int_equal(again.anew, 1);
    assert_int_equal(again.resumed, 0);
    assert_int_equal(build_try(fixture, &third, &ours), -WETDBG_ERR_INTERRUPTED);
    again = (struct attempt){0};
    assert_int_equal(build_try(fixture, &again, &ours), 0);
    assert_int_equal(again.resumed, 1);
    same_file(fixture->path, fixture->whole);
    unlink(fixture->path);
}

static void window_in_pieces_is_the_window(void **state)
{
    struct rebuilt *fixture = *state;
    char *whole = unit_path(fixture->run.dir, "window.wet");
    uint64_t middle = fixture->interval * fixture->intervals / 2;
    struct wet_build_options options = {
        .fingerprint = "test",
        .interval_instructions = fixture->interval,
        .from = {WET_MOMENT_TIME, middle / 2},
        .to = {WET_MOMENT_TIME, middle + middle / 2},
    };
    assert_int_equal(run_build_with(&fixture->run, whole, &options), 0);
    assert_true(build_in_pieces(fixture, &options) > 0);
    same_file(fixture->path, whole);
    same_facts(fixture->path, whole);
    unlink(fixture->path);
    free(whole);
}

#define IN_PIECES(run)                                                                             \
    cmocka_unit_test_setup_teardown(build_in_pieces_gives_the_same_file, run, rebuilt_drop)
#define CASE(name, run) cmocka_unit_test_setup_teardown(name, run, rebuilt_drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PIECES(run_printf),
        IN_PIECES(run_heap),
        IN_PIECES(run_signals),
        IN_PIECES(run_simd),
        IN_PIECES(run_ud2),
        IN_PIECES(run_tls),
        IN_PIECES(run_queue),
        IN_PIECES(run_nested),
        IN_PIECES(run_moved),
        IN_PIECES(run_rewritten),
        CASE(build_on_any_number_of_threads_gives_the_same_file, run_heap),
        CASE(build_killed_goes_on, run_printf),
        CASE(unfinished_file_with_damage_still_gives_the_same_file, run_heap),
        CASE(unfinished_file_that_is_all_damage_is_said_to_be, run_printf),
        CASE(unfinished_file_of_somebody_else_is_not_gone_on_with, run_printf),
        CASE(unfinished_file_of_something_else_is_not_gone_on_with, run_printf),
        CASE(window_in_pieces_is_the_window, run_heap),
        CASE(window_in_pieces_is_the_window, run_queue),
    };
    return cmocka_run_group_tests_name("wet_kill_resume", tests, NULL, NULL);
}
