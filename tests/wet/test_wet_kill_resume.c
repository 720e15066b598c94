/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Builds that go on after they ended in the middle: the file is the one that a build makes which
 * was left alone, byte for byte, whatever the number of threads that compress.
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
#include "tests/wet/attempt.h"
#include "tests/wet/wet_run.h"
#include "tests/wet/wet_same.h"
#include "tests/wet/wet_unit.h"
#include "wet/intervals.h"
#include <wetdbg/errors.h>

#define ATTEMPTS 400
#define KILLS    4

/* Attempts until one comes to the end; how many of them went on with what was there. */
static unsigned build_in_pieces(struct rebuilt *fixture, const struct wet_build_options *options)
{
    unsigned resumed = 0;
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        unsigned most = fixture->intervals / 4 + 4;
        struct attempt attempt = {.left =
                                      i ? 3 + (unsigned)(unit_random(&fixture->seed) % most) : 3};
        int err = attempt_build(fixture, &attempt, options);
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

static int make(void **state)
{
    const struct sample *sample = sample_named(*state);
    return rebuilt_make(state, sample->interval, "pieces", sample->argv);
}

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
            struct attempt attempt = {.left = fixture->intervals / 3, .strike = attempt_die};
            attempt_build(fixture, &attempt, &(struct wet_build_options){0});
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFSIGNALED(status))
            break; /* the kills before left it less than a third */
    }
    if (access(fixture->path, F_OK))
        assert_int_equal(attempt_build(fixture, &last, &(struct wet_build_options){0}), 0);
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
        int err = attempt_build(fixture, &attempt, &(struct wet_build_options){0});
        assert_int_equal(err, -WETDBG_ERR_INTERRUPTED);
        spoil(fixture, suffixes[i % 2], i / 2 % 2);
        err = attempt_build(fixture, &again, &(struct wet_build_options){0});
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
        int err = attempt_build(fixture, &attempt, &(struct wet_build_options){0});
        assert_int_equal(err, -WETDBG_ERR_INTERRUPTED);
        char *name = part_name(fixture, suffixes[i]);
        unit_write(name, "no such thing at all, and long enough for a record", 50);
        free(name);
        assert_int_equal(attempt_build(fixture, &again, &(struct wet_build_options){0}), 0);
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
    assert_int_equal(attempt_build(fixture, &attempt, &other), -WETDBG_ERR_INTERRUPTED);
    assert_int_equal(unit_count_names(fixture->run.dir, ".part"), 2);
    assert_int_equal(attempt_build(fixture, &again, &(struct wet_build_options){0}), 0);
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
    assert_int_equal(attempt_build(fixture, &attempt, &other), -WETDBG_ERR_INTERRUPTED);
    assert_int_equal(attempt_build(fixture, &again, &ours), 0);
    assert_int_equal(again.anew, 1);
    assert_int_equal(again.resumed, 0);
    assert_int_equal(attempt_build(fixture, &third, &ours), -WETDBG_ERR_INTERRUPTED);
    again = (struct attempt){0};
    assert_int_equal(attempt_build(fixture, &again, &ours), 0);
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

#define CASE(name, sample)                                                                         \
    cmocka_unit_test_prestate_setup_teardown(name, make, rebuilt_drop, (void *)(sample))
#define IN_PIECES(sample) CASE(build_in_pieces_gives_the_same_file, sample)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PIECES("printf"),
        IN_PIECES("heap"),
        IN_PIECES("signals"),
        IN_PIECES("simd"),
        IN_PIECES("ud2"),
        IN_PIECES("tls"),
        IN_PIECES("queue"),
        IN_PIECES("nested"),
        IN_PIECES("moved"),
        IN_PIECES("rewritten"),
        CASE(build_on_any_number_of_threads_gives_the_same_file, "heap"),
        CASE(build_killed_goes_on, "printf"),
        CASE(unfinished_file_with_damage_still_gives_the_same_file, "heap"),
        CASE(unfinished_file_that_is_all_damage_is_said_to_be, "printf"),
        CASE(unfinished_file_of_somebody_else_is_not_gone_on_with, "printf"),
        CASE(unfinished_file_of_something_else_is_not_gone_on_with, "printf"),
        CASE(window_in_pieces_is_the_window, "heap"),
        CASE(window_in_pieces_is_the_window, "queue"),
    };
    return cmocka_run_group_tests_name("wet_kill_resume", tests, NULL, NULL);
}
