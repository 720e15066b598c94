/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Placement by ticks. There is no recording with hardware ticks here, so some are made: a program
 * is recorded with software ticks; a replay that places its events by digests counts conditional
 * branches; and the counts go into a copy of the recording that has nothing else to place by.
 *
 *   test_ticks                  a few programs (ci)
 *   test_ticks all [NAME]       tests/programs/async.tsv in both builds, and this folder's guests
 *
 * Replayed from the copy, every program must come to every event after the same instructions as
 * before and print what it printed, also from its WET. With a wrong count it must diverge. A loop
 * whose turns have the same ticks cannot be placed: there the replay must say so.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dbgcli/exit_status.h"
#include "tests/record/spawn.h"
#include "tests/replay/replay_unit.h"
#include "tests/replay/replayed_output.h"
#include "tests/ticks/subject.h"
#include <wetdbg/errors.h>

#define INTERVALS     5
#define INTERVAL_MAX  (4u << 20)
#define DIGEST_FLAGS  (EVQ_PLACE_STACK | EVQ_PLACE_DATA | EVQ_PLACE_HEAP | EVQ_PLACE_LINES)
#define RECORDINGS_OF 5 /* at most, until a signal strikes in the loop that is meant */

static bool is_short = true;
static unsigned wrong_places = 2; /* tried of each program */
static unsigned harmless;         /* wrong counts that made no difference */
static const char *only;
static char *work;

/* ---- right counts ---- */

static bool is_searched(const struct counted_stop *stop)
{
    return stop->kind == EVQ_PLACE && !(stop->flags & EVQ_PLACE_HERE);
}

static bool is_switch(const struct counted_stop *stop)
{
    return stop->kind == EVQ_PLACE && !stop->signal;
}

/* Where there are ticks, threads that are killed have a last place too, also if they had not run
 * any further: the first run has none of those. */
static void extra_drop(const struct counted_run *first, struct counted_run *second)
{
    size_t first_count, count, kept = 0;
    const struct counted_stop *before = counted_stops(first, &first_count);
    struct counted_stop *after = (struct counted_stop *)second->stops.data;
    counted_stops(second, &count);
    for (size_t i = 0; i < count; i++) {
        if (!is_switch(&after[i]) || (kept < first_count && before[kept].frame == after[i].frame))
            after[kept++] = after[i];
    }
    second->stops.size_bytes = kept * sizeof(*after);
}

/* Compares runs; how many places were found by ticks alone. */
static unsigned runs_compare(const struct subject *subject, const struct counted_run *first,
                             const struct counted_run *second)
{
    size_t first_count, count;
    unsigned searched = 0;
    const struct counted_stop *before = counted_stops(first, &first_count);
    const struct counted_stop *after = counted_stops(second, &count);
    assert_true(!first->has_ticks && second->has_ticks);
    for (size_t i = 0; i < count && i < first_count; i++) {
        if (before[i].frame != after[i].frame || before[i].time != after[i].time ||
            before[i].ticks != after[i].ticks)
            fail_msg("%s: %s: event %llu after %llu instructions, %llu branches; by ticks event "
                     "%llu after %llu, %llu",
                     subject->name, first->program, (unsigned long long)before[i].frame,
                     (unsigned long long)before[i].time, (unsigned long long)before[i].ticks,
                     (unsigned long long)after[i].frame, (unsigned long long)after[i].time,
                     (unsigned long long)after[i].ticks);
        assert_false(after[i].flags & (DIGEST_FLAGS | EVQ_PLACE_AMBIGUOUS));
        searched += is_searched(&after[i]);
    }
    assert_int_equal(count, first_count);
    assert_int_equal(first->instructions, second->instructions);
    return searched;
}

static void output_check(const struct subject *subject, struct replayed_output *output,
                         const char *how)
{
    char *text = replayed_output_text(output);
    if (strcmp(text, subject->out))
        fail_msg("%s: recorded:\n%.300s\n%s:\n%.300s", subject->name, subject->out, how, text);
    free(text);
    replayed_output_fini(output);
}

/* A WET knows times and no frames, so pieces of several programs cannot be put in order. */
static void wet_check(const struct subject *subject, const struct counted_run *run)
{
    struct replayed_output plain = {0}, wet = {0};
    struct wet_facts facts = {0};
    uint64_t interval = run->instructions / INTERVALS + 1;
    interval = interval < INTERVAL_MAX ? interval : INTERVAL_MAX;
    unit_check(replayed_output_plain(subject->copy, run->program, &plain), run->program);
    int err =
        replayed_output_wet(subject->copy, run->program, subject->wet, interval, &wet, &facts);
    if (err)
        fail_msg("%s: WET of %s: %s", subject->name, run->program, wetdbg_error(err));
    assert_int_equal(wet.instructions, run->instructions);
    assert_int_equal(facts.ambiguous, 0);
    char *a = replayed_output_text(&plain), *b = replayed_output_text(&wet);
    assert_string_equal(a, b);
    free(a);
    free(b);
    replayed_output_fini(&plain);
    replayed_output_fini(&wet);
}

static unsigned right_counts_check(struct subject *subject)
{
    struct counted_runs again = {0};
    struct replayed_output output = {0};
    unsigned searched = 0;
    subject_copy_make(subject);
    int err = counted_runs_make(subject->copy, &again);
    if (err)
        fail_msg("%s: by ticks: %s", subject->name, wetdbg_error(err));
    assert_int_equal(again.count, subject->runs.count);
    for (size_t i = 0; i < again.count; i++) {
        const struct counted_run *run = &subject->runs.list[i];
        extra_drop(run, &again.list[i]);
        searched += runs_compare(subject, run, &again.list[i]);
        unit_check(replayed_output_plain(subject->copy, run->program, &output), run->program);
        wet_check(subject, run);
    }
    output_check(subject, &output, "by ticks");
    counted_runs_fini(&again);
    subject_copy_remove(subject);
    return searched;
}

/* ---- wrong counts ---- */

/* The sentence must name an event from `frame` on, and both counts. */
static void divergence_check(const struct subject *subject, uint64_t frame, const char *what,
                             int err)
{
    unsigned long long event, counted, recorded;
    const char *text = wetdbg_error(err);
    const char *branches = strstr(text, " conditional branches");
    const char *const start = "replay diverged at event ";
    if (err != -WETDBG_ERR_DIVERGED)
        fail_msg("%s: %s of event %llu: %s", subject->name, what, (unsigned long long)frame,
                 err ? text : "no divergence");
    assert_int_equal(cli_exit_status(err), CLI_EXIT_DIVERGED);
    if (strncmp(text, start, strlen(start)) || sscanf(text + strlen(start), "%llu", &event) != 1 ||
        event < frame)
        fail_msg("%s: %s of event %llu: %s", subject->name, what, (unsigned long long)frame, text);
    while (branches && branches > text && branches[-1] >= '0' && branches[-1] <= '9')
        branches--;
    if (!branches || sscanf(branches, "%llu conditional branches were executed, recorded %llu",
                            &counted, &recorded) != 2)
        fail_msg("%s: no counts: %s", subject->name, text);
}

/* A thread that waits in a loop may be stopped a turn sooner or later, and nobody can tell: then
 * all else must be as it was. */
static void harmless_check(const struct subject *subject, const struct counted_run *run,
                           const struct counted_run *wrong, const uint64_t frames[2])
{
    size_t count, wrong_count;
    const struct counted_stop *right = counted_stops(run, &count);
    const struct counted_stop *stops = counted_stops(wrong, &wrong_count);
    assert_int_equal(count, wrong_count);
    assert_int_equal(run->instructions, wrong->instructions);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(stops[i].frame, right[i].frame);
        if (stops[i].frame != frames[0] && stops[i].frame != frames[1] &&
            stops[i].ticks != right[i].ticks)
            fail_msg("%s: event %llu moved silently", subject->name,
                     (unsigned long long)stops[i].frame);
    }
}

/* `frames` are falsified; the second may be 0. */
static void wrong_run(struct subject *subject, const struct counted_run *run,
                      const uint64_t frames[2], bool may_be_harmless, const char *what)
{
    struct counted_run wrong = {0};
    memcpy(wrong.program, run->program, sizeof(wrong.program));
    subject_copy_make(subject);
    int err = counted_run_make(subject->copy, &wrong);
    extra_drop(run, &wrong);
    if (!err && may_be_harmless)
        harmless_check(subject, run, &wrong, frames);
    else
        divergence_check(subject, frames[0], what, err);
    harmless += !err;
    wd_buf_fini(&wrong.stops);
    subject_copy_remove(subject);
}

static void shift_check(struct subject *subject, const struct counted_run *run,
                        const struct counted_stop *stop, int64_t shift)
{
    int64_t *ticks = &subject->ticks[stop->frame - 1];
    const char *what = shift < 0 ? "one branch less" : "one branch more";
    *ticks += shift;
    wrong_run(subject, run, (uint64_t[]){stop->frame, 0}, is_switch(stop), what);
    *ticks -= shift;
}

static void swap_check(struct subject *subject, const struct counted_run *run,
                       const struct counted_stop *stop, uint64_t other)
{
    int64_t *a = &subject->ticks[stop->frame - 1], *b = &subject->ticks[other - 1], kept = *a;
    *a = *b;
    *b = kept;
    wrong_run(subject, run, (uint64_t[]){stop->frame, other}, is_switch(stop),
              "another event's branches");
    *b = *a;
    *a = kept;
}

/* By frame, whose it is. */
static int *tids_make(const struct subject *subject)
{
    struct wetdbg_recording *trace;
    struct rrt_frame frame;
    int *tids = calloc(subject->frames + 1, sizeof(*tids));
    assert_non_null(tids);
    unit_check(wetdbg_recording_open(subject->dir, &trace), subject->dir);
    rrt_set_skip_data(trace, true);
    while (rrt_next(trace, &frame) == 1)
        tids[frame.time - 1] = frame.tid;
    wetdbg_recording_close(trace);
    return tids;
}

/* The next event of the same task that has another count; 0: there is none. */
static uint64_t next_of_task(const struct subject *subject, const struct counted_run *run,
                             const int *tids, uint64_t frame)
{
    size_t count;
    const struct counted_stop *stops = counted_stops(run, &count);
    for (size_t i = 0; i < count; i++) {
        uint64_t other = stops[i].frame;
        if (other > frame && tids[other - 1] == tids[frame - 1] &&
            subject->ticks[other - 1] != subject->ticks[frame - 1])
            return other;
    }
    return 0;
}

/* Loops without end or branches, of slow instructions: there one branch more never comes, and the
 * search goes on for minutes until it gives up. */
static bool is_slow_to_give_up(const struct subject *subject)
{
    return strncmp(subject->name, "thread_cancel", strlen("thread_cancel")) == 0;
}

/* A wrong count that nothing comes after cannot always be told: a task's last place is left out.
 * How many were tried. */
static unsigned wrong_places_check(struct subject *subject, const struct counted_run *run,
                                   const int *tids)
{
    size_t count;
    unsigned tried = 0;
    const struct counted_stop *stops = counted_stops(run, &count);
    for (size_t i = 0; i < count && tried < wrong_places; i++) {
        uint64_t other = next_of_task(subject, run, tids, stops[i].frame);
        if (!is_searched(&stops[i]) || !other)
            continue;
        shift_check(subject, run, &stops[i], 1);
        shift_check(subject, run, &stops[i], -1);
        swap_check(subject, run, &stops[i], other);
        tried++;
    }
    return tried;
}

static void wrong_calls_check(struct subject *subject, const struct counted_run *run,
                              const int *tids)
{
    size_t count;
    const struct counted_stop *stops = counted_stops(run, &count);
    size_t middle = count / 2, last = count - 1;
    while (middle && stops[middle].kind != EVQ_SYSCALL_ENTER)
        middle--;
    while (last && stops[last].kind != EVQ_SYSCALL_ENTER)
        last--;
    shift_check(subject, run, &stops[middle], 1);
    shift_check(subject, run, &stops[middle], -1);
    shift_check(subject, run, &stops[last], -1);
    uint64_t other = next_of_task(subject, run, tids, stops[middle].frame);
    if (other)
        swap_check(subject, run, &stops[middle], other);
}

static unsigned wrong_counts_check(struct subject *subject)
{
    unsigned tried = 0;
    int *tids = tids_make(subject);
    for (size_t i = 0; i < subject->runs.count; i++) {
        if (!is_slow_to_give_up(subject))
            tried += wrong_places_check(subject, &subject->runs.list[i], tids);
        if (subject->runs.list[i].stops.size_bytes)
            wrong_calls_check(subject, &subject->runs.list[i], tids);
    }
    free(tids);
    return tried;
}

/* ---- loops that ticks say nothing about ---- */

/* How many places have these of the flags `mask`. */
static unsigned places_count(const struct counted_run *run, uint64_t mask, uint64_t flags)
{
    size_t count;
    unsigned places = 0;
    const struct counted_stop *stops = counted_stops(run, &count);
    for (size_t i = 0; i < count; i++)
        places += stops[i].kind == EVQ_PLACE && (stops[i].flags & mask) == flags;
    return places;
}

static unsigned searched_count(const struct counted_run *run)
{
    return places_count(run, EVQ_PLACE_HERE, 0);
}

static unsigned ambiguous_count(const struct counted_run *run)
{
    return places_count(run, EVQ_PLACE_AMBIGUOUS, EVQ_PLACE_AMBIGUOUS);
}

/* Loops without conditional branches that count in memory: their turns have the same ticks. */
static bool is_beyond_ticks(const struct subject *subject)
{
    return strncmp(subject->name, "signal_context", strlen("signal_context")) == 0;
}

/* Which turn was meant cannot be known, but a wrong one must not go unnoticed. */
static void beyond_ticks_check(struct subject *subject)
{
    struct counted_runs again = {0};
    subject_copy_make(subject);
    int err = counted_runs_make(subject->copy, &again);
    assert_int_equal(subject->runs.count, 1);
    assert_true(searched_count(&subject->runs.list[0]) > 0);
    assert_int_equal(ambiguous_count(&subject->runs.list[0]), 0); /* by digests */
    if (err)
        divergence_check(subject, 1, "the turn of a loop without branches", err);
    else
        assert_true(ambiguous_count(&again.list[0]) > 0);
    print_message("%-34s is beyond ticks: %s\n", subject->name,
                  err ? wetdbg_error(err) : "called ambiguous");
    counted_runs_fini(&again);
    subject_copy_remove(subject);
}

/* ---- the tests ---- */

static unsigned program_check(const char *program, const char *argument)
{
    struct subject subject;
    subject_record(&subject, work, program, argument);
    if (is_beyond_ticks(&subject)) {
        beyond_ticks_check(&subject);
        subject_end(&subject);
        return 0;
    }
    unsigned searched = right_counts_check(&subject);
    harmless = 0;
    unsigned wrong = wrong_counts_check(&subject);
    print_message(
        "%-34s %2zu programs %6zu events %4u places found by ticks, %2u falsified, %u times "
        "in vain\n",
        subject.name, subject.runs.count, subject.frames, searched, wrong, harmless);
    subject_end(&subject);
    return searched;
}

static unsigned built_check(const char *name, const char *build, const char *argument)
{
    char *path;
    if (only && strcmp(only, name))
        return 0;
    assert_true(asprintf(&path, "%s/%s_%s", PROGRAMS_DIR, name, build) > 0);
    unsigned searched = program_check(path, argument);
    free(path);
    return searched;
}

static void programs_are_placed_by_ticks_alone(void **state)
{
    char line[256], name[64], argument[32];
    unsigned searched = 0;
    (void)state;
    if (is_short) {
        searched += built_check("signal_waitloop", "O0_static", NULL);
        searched += built_check("thread_spin", "O0_static", "turns");
        assert_true(searched > 0 || only);
        return;
    }
    FILE *table = fopen(ASYNC_TABLE, "re");
    assert_non_null(table);
    while (fgets(line, sizeof(line), table)) {
        if (line[0] == '#' || sscanf(line, "%63s %31s", name, argument) != 2)
            continue;
        const char *arg = strcmp(argument, "-") ? argument : NULL;
        searched += built_check(name, "O0_static", arg);
        searched += built_check(name, "O2_pie", arg);
    }
    fclose(table);
    assert_true(searched > 0 || only);
}

static void forks_and_execs_are_placed_by_ticks_alone(void **state)
{
    (void)state;
    if (only && strcmp(only, "family"))
        return;
    assert_true(program_check(FAMILY, NULL) > 0);
}

static void loop_without_branches_is_called_ambiguous(void **state)
{
    struct subject subject;
    struct counted_runs again = {0};
    struct replayed_output output = {0}, wet = {0};
    struct wet_facts facts = {0};
    (void)state;
    if (only && strcmp(only, "branchless"))
        return;
    subject_record(&subject, work, BRANCHLESS, NULL);
    for (int i = 1; i < RECORDINGS_OF && !searched_count(&subject.runs.list[0]); i++) {
        subject_end(&subject);
        subject_record(&subject, work, BRANCHLESS, NULL);
    }
    assert_int_equal(searched_count(&subject.runs.list[0]), 1);
    assert_int_equal(ambiguous_count(&subject.runs.list[0]), 0); /* by digests */
    subject_copy_make(&subject);
    unit_check(counted_runs_make(subject.copy, &again), subject.name);
    assert_int_equal(ambiguous_count(&again.list[0]), 1);
    const char *program = again.list[0].program;
    unit_check(replayed_output_plain(subject.copy, program, &output), subject.name);
    output_check(&subject, &output, "by ticks");
    unit_check(replayed_output_wet(subject.copy, program, subject.wet, INTERVAL_MAX, &wet, &facts),
               subject.name);
    assert_int_equal(facts.ambiguous, 1);
    replayed_output_fini(&wet);
    counted_runs_fini(&again);
    subject_copy_remove(&subject);
    subject_end(&subject);
}

static int setup(void **state)
{
    (void)state;
    work = scratch_new();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scratch_free(work);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_are_placed_by_ticks_alone),
        cmocka_unit_test(forks_and_execs_are_placed_by_ticks_alone),
        cmocka_unit_test(loop_without_branches_is_called_ambiguous),
    };
    is_short = argc < 2 || strcmp(argv[1], "all") != 0;
    wrong_places = is_short ? 1 : 2;
    only = argc > 2 ? argv[2] : NULL;
    return cmocka_run_group_tests(tests, setup, teardown);
}
