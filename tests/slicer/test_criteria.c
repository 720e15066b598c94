/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Criteria: what the texts mean in programs that crash, exit and write, and what is said when they
 * mean nothing. Arguments: builds of the programs, in any order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slicer/descriptors.h"
#include "slicer/slicer.h"
#include "tests/slicer/fake_wet.h"
#include <wetdbg/errors.h>
#include <wetdbg/set.h>

/* cmocka.h needs the headers above. */
#include <cmocka.h>

#define STEPS_MAX 400000

static char **builds;

struct row {
    const char *program, *criterion;
    enum wetdbg_slice_kinds kinds;
    const char *description; /* a part of it, or of the error message */
    int err;
    unsigned lines[6]; /* that must be in the slice */
    unsigned absent;   /* a line that must not, or 0 */
};

/* Line numbers are those of tests/programs/shapes and tests/slicer/guests. */
static const struct row rows[] = {
    {"prog_crash_assert", "crash", WETDBG_SLICE_THIN, "SIGABRT", 0, {8, 9, 16}, 19},
    {"prog_crash_assert", "crash", WETDBG_SLICE_FULL, "half", 0, {8, 9, 14, 16}, 0},
    {"prog_crash_assert", "exit", WETDBG_SLICE_FULL, "signal 6", -WETDBG_ERR_NOT_FOUND, {0}, 0},
    {"bad_free", "crash", WETDBG_SLICE_DATA, "bad_free.c:21 in main", 0, {10, 11, 18, 21}, 17},
    {"bad_free",
     "crash",
     WETDBG_SLICE_FULL,
     "bad_free.c:21 in main",
     0,
     {9, 10, 11, 16, 18, 21},
     20},
    {"bad_copy", "crash", WETDBG_SLICE_DATA, "bad_copy.c:16 in main", 0, {11, 14, 16}, 15},
    {"prog_crash_fpe", "crash", WETDBG_SLICE_DATA, "divisor", 0, {11, 18}, 9},
    {"prog_crash_rodata", "crash", WETDBG_SLICE_DATA, "the address 0x", 0, {9, 15, 20}, 18},
    {"prog_crash_ud2", "crash", WETDBG_SLICE_DATA, "guards", 0, {7, 13, 19}, 9},
    {"prog_crash_stack", "crash", WETDBG_SLICE_THIN, "the chain of calls", 0, {11, 13, 14, 24}, 22},
    {"prog_crash_wildcall", "crash", WETDBG_SLICE_DATA, "0x123450", 0, {23}, 7},
    {"prog_exit3", "exit", WETDBG_SLICE_THIN, "exit status 3", 0, {0}, 0},
    {"prog_exit3",
     "crash",
     WETDBG_SLICE_THIN,
     "exited with status 3",
     -WETDBG_ERR_NOT_FOUND,
     {0},
     0},
    {"prog_exit3",
     "output:1000000",
     WETDBG_SLICE_THIN,
     "no more output to descriptor 1 after byte",
     0,
     {20},
     19},
    {"prog_exit3",
     "output:9:0",
     WETDBG_SLICE_THIN,
     "no more output to descriptor 9: the call by which it left",
     0,
     {20},
     19},
    {"prog_exit3",
     "output:1000000+0",
     WETDBG_SLICE_THIN,
     "is no place in the output",
     -WETDBG_ERR_USAGE,
     {0},
     0},
    {"prog_exit3",
     "output:x",
     WETDBG_SLICE_THIN,
     "output:OFFSET+LENGTH",
     -WETDBG_ERR_USAGE,
     {0},
     0},
    {"prog_exit3",
     "output:0+0",
     WETDBG_SLICE_THIN,
     "output:OFFSET+LENGTH",
     -WETDBG_ERR_USAGE,
     {0},
     0},
    {"prog_exit3", "nonsense", WETDBG_SLICE_THIN, "FILE:LINE", -WETDBG_ERR_USAGE, {0}, 0},
    {"prog_exit3", "nonsense#", WETDBG_SLICE_THIN, "#-1", -WETDBG_ERR_USAGE, {0}, 0},
    {"prog_exit3",
     "*0x10@1",
     WETDBG_SLICE_THIN,
     "nothing is mapped",
     -WETDBG_ERR_NOT_FOUND,
     {0},
     0},
    {"prog_exit3", "*0x10", WETDBG_SLICE_THIN, "@TIME", -WETDBG_ERR_USAGE, {0}, 0},
    {"prog_exit3", "*0x10@0", WETDBG_SLICE_THIN, "outside the run", -WETDBG_ERR_NOT_FOUND, {0}, 0},
    {"prog_exit3", "*0x10@soon", WETDBG_SLICE_THIN, "no time", -WETDBG_ERR_USAGE, {0}, 0},
    {"prog_exit3", "*0x10+0@1", WETDBG_SLICE_THIN, "no place in memory", -WETDBG_ERR_USAGE, {0}, 0},
    {"prog_exit3", "*-1@1", WETDBG_SLICE_THIN, "no place in memory", -WETDBG_ERR_USAGE, {0}, 0},
    {"prog_exit3", "$rip@1", WETDBG_SLICE_THIN, "do not follow", -WETDBG_ERR_USAGE, {0}, 0},
    {"prog_exit3", "$rox@1", WETDBG_SLICE_THIN, "no register", -WETDBG_ERR_USAGE, {0}, 0},
    {"prog_exit3", "prog_exit3.c:0", WETDBG_SLICE_THIN, "FILE:LINE", -WETDBG_ERR_USAGE, {0}, 0},
    {"prog_exit3", "prog_exit3.c:20#0", WETDBG_SLICE_THIN, "#-1", -WETDBG_ERR_USAGE, {0}, 0},
    {"prog_exit3",
     "prog_exit3.c:20:nothing",
     WETDBG_SLICE_THIN,
     "no variable 'nothing'",
     -WETDBG_ERR_NOT_FOUND,
     {0},
     0},
    {"prog_exit3",
     "elsewhere.c:1",
     WETDBG_SLICE_THIN,
     "elsewhere.c",
     -WETDBG_ERR_NOT_FOUND,
     {0},
     0},
    {"prog_crash_fpe",
     "prog_crash_fpe.c:19#2:count",
     WETDBG_SLICE_DATA,
     "count before",
     0,
     {18},
     20},
    {"prog_crash_fpe", "prog_crash_fpe.c:10#3:sum", WETDBG_SLICE_THIN, "sum before", 0, {7, 10}, 0},
    {"prog_crash_fpe", "prog_crash_fpe.c:10", WETDBG_SLICE_FULL, "all that", 0, {10, 9, 19}, 0},
    {"prog_crash_fpe",
     "prog_crash_fpe.c:10#999",
     WETDBG_SLICE_FULL,
     "ran 6 times",
     -WETDBG_ERR_NOT_FOUND,
     {0},
     0},
    {"prog_crash_fpe", "average#2", WETDBG_SLICE_FULL, "2 arguments", 0, {18, 19}, 11},
    {"prog_crash_fpe", "average", WETDBG_SLICE_CONTROL, "the call of average", 0, {18, 19}, 9},
    {"prog_crash_fpe", "average#9", WETDBG_SLICE_FULL, "4 times", -WETDBG_ERR_NOT_FOUND, {0}, 0},
    {"prog_crash_fpe", "average#0", WETDBG_SLICE_FULL, "#-1", -WETDBG_ERR_USAGE, {0}, 0},
};

static char *find_build(const char *program)
{
    for (char **build = builds; *build; build++)
        if (strstr(*build, program))
            return *build;
    return NULL;
}

static bool has_line(const struct wetdbg_slice *slice, const char *program, unsigned line)
{
    size_t count;
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(slice, &count);

    for (size_t i = 0; i < count; i++)
        if (lines[i].file && strstr(lines[i].file, program) && lines[i].line == line)
            return true;
    return false;
}

/* The slice, its lines together and its set have as many instances, a crash's instruction that did
 * not complete among them. */
static void check_counts(const struct wetdbg_slice *slice)
{
    uint64_t instances = wetdbg_slice_get_counts(slice)->instances, of_lines = 0;
    struct wetdbg_set *set;
    size_t count;
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(slice, &count);

    for (size_t i = 0; i < count; i++)
        of_lines += lines[i].instances;
    assert_int_equal(wetdbg_set_of_slice(slice, &set), 0);
    assert_int_equal(of_lines, instances);
    assert_int_equal(wetdbg_set_count(set), instances);
    wetdbg_set_free(set);
}

static void check_slice(struct wetdbg *wet, const struct row *row,
                        const struct wetdbg_criterion *criterion)
{
    struct wetdbg_slice_options options = {.kinds = row->kinds, .record_parents = true};
    const struct wetdbg_criterion_info *info = wetdbg_criterion_get_info(criterion);
    struct wetdbg_slice *slice;

    if (!strstr(info->description, row->description))
        fail_msg("%s, %s: the description is '%s'", row->program, row->criterion,
                 info->description);
    assert_int_equal(wetdbg_slice_backward(wet, criterion, &options, &slice), 0);
    assert_true(wetdbg_slice_contains_time(slice, info->time));
    for (unsigned i = 0; i < 6 && row->lines[i]; i++)
        if (!has_line(slice, row->program, row->lines[i]))
            fail_msg("%s, %s: line %u is not in the slice", row->program, row->criterion,
                     row->lines[i]);
    if (row->absent && has_line(slice, row->program, row->absent))
        fail_msg("%s, %s: line %u is in the slice", row->program, row->criterion, row->absent);
    check_counts(slice);
    printf("%-22s %-28s %6llu instances, %3llu lines: %s\n", row->program, row->criterion,
           (unsigned long long)wetdbg_slice_get_counts(slice)->instances,
           (unsigned long long)wetdbg_slice_get_counts(slice)->lines, info->description);
    wetdbg_slice_free(slice);
}

static void check_row(struct wetdbg *wet, const struct row *row)
{
    struct wetdbg_criterion *criterion;
    int err = wetdbg_criterion_parse(wet, row->criterion, NULL, &criterion);

    if (err != row->err)
        fail_msg("%s, %s: %d (%s)", row->program, row->criterion, err, wetdbg_error(err));
    if (!err) {
        check_slice(wet, row, criterion);
        wetdbg_criterion_free(criterion);
    } else if (!strstr(wetdbg_error(err), row->description)) {
        fail_msg("%s, %s: the message is '%s'", row->program, row->criterion, wetdbg_error(err));
    } else {
        printf("%-22s %-28s %s\n", row->program, row->criterion, wetdbg_error(err));
    }
}

static void criteria_mean_what_the_table_says(void **state)
{
    const char *last = "";
    struct wetdbg *wet = NULL;

    (void)state;
    for (size_t pass = 0; pass < sizeof(rows) / sizeof(rows[0]); pass++) {
        const struct row *row = &rows[pass];
        if (strcmp(last, row->program) != 0) {
            char *argv[] = {find_build(row->program), NULL};
            wetdbg_close(wet);
            assert_non_null(argv[0]);
            assert_int_equal(fake_wet_run(argv, NULL, STEPS_MAX, &wet), 0);
            last = row->program;
        }
        check_row(wet, row);
    }
    wetdbg_close(wet);
}

static int read_here(void *arg, const char *text, wetdbg_time *time)
{
    if (strcmp(text, "here") != 0)
        return -WETDBG_ERR_USAGE;
    *time = *(const wetdbg_time *)arg;
    return 0;
}

struct place_row {
    const char *text;
    unsigned lines[3], absent;
};

static void check_place(struct wetdbg *wet, const struct wetdbg_standpoint *from, const char *text,
                        const struct place_row *row)
{
    struct wetdbg_slice_options options = {.kinds = WETDBG_SLICE_THIN};
    struct wetdbg_criterion *criterion;
    struct wetdbg_slice *slice;

    assert_int_equal(wetdbg_criterion_parse(wet, text, from, &criterion), 0);
    assert_int_equal(wetdbg_criterion_get_info(criterion)->time, from->now);
    assert_int_equal(wetdbg_slice_backward(wet, criterion, &options, &slice), 0);
    printf("%s: %s, %llu instances\n", text, wetdbg_criterion_get_info(criterion)->description,
           (unsigned long long)wetdbg_slice_get_counts(slice)->instances);
    for (unsigned i = 0; i < 3 && row->lines[i]; i++)
        assert_true(has_line(slice, "prog_crash_fpe.c", row->lines[i]));
    if (row->absent)
        assert_false(has_line(slice, "prog_crash_fpe.c", row->absent));
    wetdbg_slice_free(slice);
    wetdbg_criterion_free(criterion);
}

/* The time is in the third call of average(values, &count), whose arguments are still in
 * registers. */
static void places_are_those_of_the_time(void **state)
{
    char *argv[] = {find_build("prog_crash_fpe"), NULL}, text[64];
    struct wetdbg_criterion *call;
    struct wetdbg_state *machine;
    struct wetdbg *wet;

    (void)state;
    assert_int_equal(fake_wet_run(argv, NULL, STEPS_MAX, &wet), 0);
    assert_int_equal(wetdbg_criterion_parse(wet, "average#3", NULL, &call), 0);
    wetdbg_time now = wetdbg_criterion_get_info(call)->time;
    wetdbg_criterion_free(call);
    struct wetdbg_standpoint from = {.now = now, .read_time = read_here, .arg = &now};
    check_place(wet, &from, "$rsi", &(struct place_row){.lines = {19}, .absent = 18});
    check_place(wet, &from, "$RSI@here", &(struct place_row){.lines = {19}, .absent = 18});
    assert_int_equal(wetdbg_criterion_parse(wet, "$rsi@there", &from, &call), -WETDBG_ERR_USAGE);
    assert_int_equal(wetdbg_state_open(wet, now, &machine), 0);
    uint64_t values = wet_state_regs(machine)->r[EVQ_RDI];
    uint64_t count = wet_state_regs(machine)->r[EVQ_RSI];
    wetdbg_state_close(machine);
    snprintf(text, sizeof(text), "*0x%llx+4@here", (unsigned long long)count);
    check_place(wet, &from, text, &(struct place_row){.lines = {18}, .absent = 10});
    snprintf(text, sizeof(text), "*%llu+12", (unsigned long long)values);
    check_place(wet, &from, text, &(struct place_row){.absent = 18});
    from.now = wetdbg_get_info(wet)->instructions + 1;
    snprintf(text, sizeof(text), "*0x%llx+4", (unsigned long long)count);
    check_place(wet, &from, text, &(struct place_row){.lines = {18}, .absent = 10});
    wetdbg_close(wet);
}

static void paths_are_the_same_by_their_text(void **state)
{
    static const struct {
        const char *plain, *meant;
        bool is;
    } pairs[] = {
        {"a.txt", "a.txt", true},
        {"dir/a.txt", "a.txt", true},
        {"/home/u/dir/a.txt", "dir/./a.txt", true},
        {"/home/u/dir/a.txt", "other/../dir/a.txt", true},
        {"/home/u/dir/a.txt", "../dir/a.txt", true},
        {"../dir/a.txt", "/home/u/dir/a.txt", true},
        {"../../a.txt", "../a.txt", true},
        {"a.txt", "/../x//../a.txt", true},
        {"dir/a.txt", "../a.txt", true},
        {"dir/a.txt", "dir/../a.txt", true}, /* which is the end of it */
        {"a.txt", "ba.txt", false},
        {"dir/a.txt", "ir/a.txt", false},
        {"dir/a.txt", "dir", false},
        {"dir/a.txt", "dir/a.txt/..", false},
        {"a.txt", ".", false},
        {"a.txt", "..", false},
        {"a.txt", "", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        if (slc_path_is(pairs[i].plain, pairs[i].meant) != pairs[i].is)
            fail_msg("'%s' is%s '%s'", pairs[i].meant, pairs[i].is ? " not" : "", pairs[i].plain);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(criteria_mean_what_the_table_says),
        cmocka_unit_test(places_are_those_of_the_time),
        cmocka_unit_test(paths_are_the_same_by_their_text),
    };

    if (argc < 2) {
        fprintf(stderr, "usage: %s BUILD...\n", argv[0]);
        return 2;
    }
    builds = argv + 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
