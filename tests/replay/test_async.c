/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Programs with threads and asynchronous signals (tests/programs/async.tsv), recorded afresh: what
 * they printed has to be printed by a plain replay and by a WET too, to the byte. Many of them
 * print how far they had got when a signal came, so an event that is placed one turn of a loop
 * away from where it struck shows.
 *
 * test_async [RECORDINGS [NAME]]: so many of each program (2 if not said), or of one; -NAME: of all
 * others. Where WETDBG_KEEP names a folder, recordings that failed are kept there.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/record/spawn.h"
#include "tests/replay/replay_unit.h"
#include "tests/replay/replayed_output.h"
#include <wetdbg/errors.h>

#define PROGRAMS_MAX 128
#define INTERVALS    5 /* of a WET of a short run, about */
#define INTERVAL_MAX (4u << 20)

struct row {
    char name[64];
    char argument[32]; /* "" for none */
    unsigned recordings, bad;
};

static struct row rows[PROGRAMS_MAX];
static size_t row_count;
static unsigned recordings = 2;
static const char *only;
static char *work;

/* ---- the table ---- */

static void rows_load(void)
{
    char line[256];
    FILE *table = fopen(ASYNC_TABLE, "re");
    assert_non_null(table);
    while (fgets(line, sizeof(line), table)) {
        struct row *row = &rows[row_count];
        if (line[0] == '#' || sscanf(line, "%63s %31s", row->name, row->argument) != 2)
            continue;
        if (!strcmp(row->argument, "-"))
            row->argument[0] = 0;
        row_count++;
        assert_true(row_count < PROGRAMS_MAX);
    }
    fclose(table);
}

/* ---- one recording ---- */

struct recording {
    char *dir; /* the trace */
    char *wet;
    char *out; /* what was printed when it was recorded */
    char handles[PROGRAMS_MAX][300];
    size_t handle_count;
};

static void record(struct recording *recording, const struct row *row, const char *build)
{
    char *program;
    assert_true(asprintf(&recording->dir, "%s/trace", work) > 0);
    assert_true(asprintf(&recording->wet, "%s/wet", work) > 0);
    assert_true(asprintf(&program, "%s/%s_%s", PROGRAMS_DIR, row->name, build) > 0);
    const char *const argv[] = {RECORD_DRIVER,
                                "-q",
                                "-o",
                                recording->dir,
                                "--",
                                program,
                                row->argument[0] ? row->argument : NULL,
                                NULL};
    struct spawn_result result = spawn(argv, NULL);
    if (result.status == -1)
        fail_msg("%s: recording it does not end", program);
    recording->out = result.out;
    result.out = NULL;
    spawn_result_fini(&result);
    free(program);
}

/* Every program of the recording that can be chosen. */
static int handles_find(struct recording *recording)
{
    const struct wetdbg_process *list;
    struct wetdbg_recording *trace = NULL;
    size_t count;
    int err = wetdbg_recording_open(recording->dir, &trace);
    if (!err)
        err = wetdbg_recording_processes(trace, &list, &count);
    for (size_t i = 0; !err && i < count; i++) {
        size_t programs = list[i].exec_count ? list[i].exec_count : 1;
        for (size_t k = 0; k < programs && recording->handle_count < PROGRAMS_MAX; k++) {
            struct wetdbg_program program = {i, list[i].exec_count ? k : WETDBG_FORKED};
            wetdbg_program_handle(list, count, program,
                                  recording->handles[recording->handle_count++],
                                  sizeof(recording->handles[0]));
        }
    }
    wetdbg_recording_close(trace);
    return err;
}

static void recording_end(struct recording *recording, bool bad, const struct row *row,
                          const char *build)
{
    const char *keep = getenv("WETDBG_KEEP");
    if (bad && keep) {
        char *to;
        assert_true(asprintf(&to, "%s/%s_%s_%ld", keep, row->name, build, (long)time(NULL)) > 0);
        print_message("  kept as %s\n", to);
        if (rename(recording->dir, to))
            print_message("  not kept: %m\n");
        free(to);
    }
    if (!access(recording->dir, F_OK))
        scratch_free(recording->dir);
    else
        free(recording->dir);
    unlink(recording->wet);
    free(recording->wet);
    free(recording->out);
}

/* ---- checks: why they failed, or NULL; `text` is room for the sentence ---- */

#define TEXT_BYTES 700

/* Checks that a WET of a program puts out what its plain replay did; what is wrong, or NULL. */
static const char *wet_check(const struct recording *recording, const char *handle,
                             const struct replayed_output *plain, struct wet_facts *facts,
                             char *text)
{
    struct replayed_output wet = {0};
    uint64_t interval = plain->instructions / INTERVALS + 1;
    const char *why = NULL;
    int err = replayed_output_wet(recording->dir, handle, recording->wet,
                                  interval < INTERVAL_MAX ? interval : INTERVAL_MAX, &wet, facts);
    char *a = replayed_output_text(plain), *b = replayed_output_text(&wet);
    if (err)
        why = wetdbg_error(err);
    else if (plain->instructions != wet.instructions)
        why = "not as many instructions as replayed";
    else if (strcmp(a, b))
        why = b;
    if (why)
        snprintf(text, TEXT_BYTES, "WET of %s: %s", handle, why);
    free(a);
    free(b);
    replayed_output_fini(&wet);
    return why ? text : NULL;
}

/* Replays one program of a recording both ways and adds its output to `output`. */
static const char *program_check(const struct recording *recording, const char *handle,
                                 struct replayed_output *output, struct wet_facts *facts,
                                 char *text)
{
    struct replayed_output plain = {0};
    const char *why = NULL;
    int err = replayed_output_plain(recording->dir, handle, &plain);
    if (!err)
        err = replayed_output_append(output, &plain);
    if (err)
        snprintf(text, TEXT_BYTES, "replay of %s: %s", handle, wetdbg_error(err));
    else
        why = wet_check(recording, handle, &plain, facts, text);
    replayed_output_fini(&plain);
    return err ? text : why;
}

static const char *recording_check(struct recording *recording, struct replayed_output *output,
                                   struct wet_facts *facts, char *text)
{
    const char *why = NULL;
    int err = handles_find(recording);
    if (err) {
        snprintf(text, TEXT_BYTES, "%s", wetdbg_error(err));
        return text;
    }
    for (size_t i = 0; !why && i < recording->handle_count; i++)
        why = program_check(recording, recording->handles[i], output, facts, text);
    if (why)
        return why;
    char *printed = replayed_output_text(output);
    bool same = !strcmp(printed, recording->out);
    if (!same)
        snprintf(text, TEXT_BYTES, "recorded:\n%.300s\nreplayed:\n%.300s", recording->out, printed);
    free(printed);
    return same ? NULL : text;
}

static void row_run(struct row *row, unsigned nth)
{
    const char *build = nth % 2 ? "O2_pie" : "O0_static";
    char text[TEXT_BYTES];
    struct recording recording = {0};
    struct replayed_output output = {0};
    struct wet_facts facts = {0};
    record(&recording, row, build);
    const char *why = recording_check(&recording, &output, &facts, text);
    row->recordings++;
    row->bad += why != NULL;
    print_message("%-20s %-9s %2u programs %2llu threads %10llu instructions %4llu placed %2llu "
                  "ambiguous %s\n",
                  row->name, build, output.programs, (unsigned long long)facts.threads,
                  (unsigned long long)output.instructions, (unsigned long long)facts.places,
                  (unsigned long long)facts.ambiguous, why ? why : "");
    recording_end(&recording, why != NULL, row, build);
    replayed_output_fini(&output);
}

static void programs_print_again_what_they_printed(void **state)
{
    unsigned bad = 0, done = 0;
    (void)state;
    for (size_t i = 0; i < row_count; i++) {
        if (only && strcmp(only, rows[i].name))
            continue;
        for (unsigned k = 0; k < recordings; k++)
            row_run(&rows[i], k);
        bad += rows[i].bad;
        done += rows[i].recordings;
    }
    for (size_t i = 0; i < row_count; i++) {
        if (rows[i].bad)
            print_message("%s: %u of %u recordings\n", rows[i].name, rows[i].bad,
                          rows[i].recordings);
    }
    print_message("%u recordings, %u bad\n", done, bad);
    assert_true(done > 0);
    assert_int_equal(bad, 0);
}

static int setup(void **state)
{
    (void)state;
    work = scratch_new();
    rows_load();
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
        cmocka_unit_test(programs_print_again_what_they_printed),
    };
    if (argc > 1)
        recordings = (unsigned)strtoul(argv[1], NULL, 10);
    if (argc > 2)
        only = argv[2];
    return cmocka_run_group_tests(tests, setup, teardown);
}
