/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `wetdbg record --chaos`: rr says in the recording that lots were drawn, and they can be seen. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "recorder/rr_trace/rr_trace.h"
#include "tests/record/spawn.h"
#include "tests/record/unit.h"

#define RACE     GUEST_DIR "/guest_race"
#define RUNS_MAX 40

static int set_up(void **state)
{
    *state = scratch_new();
    return 0;
}

static int tear_down(void **state)
{
    scratch_free(*state);
    return 0;
}

/* The line that the program printed, to be freed; the recording is in `trace`. */
static char *record(const char *trace, const char *option)
{
    const char *const argv[] = {WETDBG, "record", "--ticks=software", option, "-o", trace, "--",
                                RACE,   NULL};
    struct spawn_result result = spawn(argv, NULL);
    char *out = strndup(result.out, strcspn(result.out, "\n"));

    if (!WIFEXITED(result.status) || WEXITSTATUS(result.status) != 0)
        fail_msg("status %x: %s", result.status, result.err);
    spawn_result_fini(&result);
    return out;
}

static enum rrt_quirk chaos_of(const char *trace_dir)
{
    struct wetdbg_recording *trace;
    enum rrt_quirk chaos;

    assert_int_equal(wetdbg_recording_open(trace_dir, &trace), 0);
    chaos = rrt_trace_header(trace)->chaos_mode;
    wetdbg_recording_close(trace);
    return chaos;
}

static void assert_replays(const char *trace, const char *said)
{
    const char *const argv[] = {WETDBG, "replay", "--batch", "-e", "output", trace, NULL};
    struct spawn_result result = spawn(argv, NULL);

    if (!WIFEXITED(result.status) || WEXITSTATUS(result.status) != 0)
        fail_msg("status %x: %s", result.status, result.err);
    assert_non_null(strstr(result.out, said));
    spawn_result_fini(&result);
}

static void chaos_is_in_the_header_and_only_if_asked_for(void **state)
{
    char trace[4096], *said;

    snprintf(trace, sizeof(trace), "%s/plain", (char *)*state);
    free(record(trace, "--wait"));
    assert_int_equal(chaos_of(trace), RRT_QUIRK_NO);
    snprintf(trace, sizeof(trace), "%s/chaos", (char *)*state);
    said = record(trace, "--chaos");
    assert_int_equal(chaos_of(trace), RRT_QUIRK_YES);
    assert_replays(trace, said);
    free(said);
}

static void chaos_brings_threads_in_other_orders(void **state)
{
    char trace[4096], *first, *other = NULL;

    snprintf(trace, sizeof(trace), "%s/0", (char *)*state);
    first = record(trace, "--chaos");
    for (int i = 1; i < RUNS_MAX && !other; i++) {
        snprintf(trace, sizeof(trace), "%s/%d", (char *)*state, i);
        other = record(trace, "--chaos");
        if (strcmp(first, other) != 0)
            break;
        free(other);
        other = NULL;
    }
    if (!other)
        fail_msg("%d recordings all say %s", RUNS_MAX, first);
    assert_replays(trace, other);
    free(first);
    free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(chaos_is_in_the_header_and_only_if_asked_for, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(chaos_brings_threads_in_other_orders, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
