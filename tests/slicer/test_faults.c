/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Programs with one known fault (tests/programs/faults.tsv): the fault's line must be in the slice
 * of the failure. Prints in which kinds of slice it is, and how large they are.
 *
 * Arguments: the directory of tests/programs, then for each build its path; a build's name begins
 * with that of its program.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wordexp.h>

#include "slicer/slicer.h"
#include "tests/slicer/fake_wet.h"
#include "wet/model/make_model.h"
#include <wetdbg/errors.h>

/* cmocka.h needs the headers above. */
#include <cmocka.h>

#define STEPS_MAX 600000

static const char *programs_dir;
static char **builds;

struct fault {
    char name[64], arguments[256], input[64], kind[64], criterion[64], file[64];
};

/* A row of faults.tsv for a build's path. */
static bool find_fault(const char *build, struct fault *fault)
{
    char path[512], line[1024];
    const char *base = strrchr(build, '/') ? strrchr(build, '/') + 1 : build;
    bool found = false;

    snprintf(path, sizeof(path), "%s/faults.tsv", programs_dir);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (!found && fgets(line, sizeof(line), file))
        found = line[0] != '#' &&
                sscanf(line, "%63[^\t]\t%255[^\t]\t%63[^\t]\t%63[^\t]\t%*[^\t]\t%63[^\t]\t%63s",
                       fault->name, fault->arguments, fault->input, fault->kind, fault->criterion,
                       fault->file) == 6 &&
                strstr(base, fault->name);
    fclose(file);
    return found;
}

static unsigned fault_line(const struct fault *fault)
{
    char path[512], text[1024];
    unsigned line = 0, found = 0;

    snprintf(path, sizeof(path), "%s/faults/%s", programs_dir, fault->file);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (!found && fgets(text, sizeof(text), file)) {
        line++;
        if (strstr(text, "/* FAULT"))
            found = line;
    }
    fclose(file);
    assert_true(found > 0);
    return found;
}

static struct wetdbg *run(char *build, const struct fault *fault)
{
    char input[512];
    wordexp_t words = {.we_offs = 1};
    struct wetdbg *wet;

    assert_int_equal(wordexp(strcmp(fault->arguments, "-") ? fault->arguments : "", &words,
                             WRDE_DOOFFS | WRDE_NOCMD),
                     0);
    words.we_wordv[0] = build;
    snprintf(input, sizeof(input), "%s/data/%s", programs_dir, fault->input);
    assert_int_equal(
        fake_wet_run(words.we_wordv, strcmp(fault->input, "-") ? input : NULL, STEPS_MAX, &wet), 0);
    words.we_wordv[0] = NULL;
    wordfree(&words);
    return wet;
}

static bool has_line(const struct wetdbg_slice *slice, const char *file, unsigned line,
                     uint32_t *distance)
{
    size_t count;
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(slice, &count);

    for (size_t i = 0; i < count; i++) {
        const char *base = lines[i].file ? strrchr(lines[i].file, '/') : NULL;
        if (base && strcmp(base + 1, file) == 0 && lines[i].line == line) {
            *distance = lines[i].min_distance;
            return true;
        }
    }
    return false;
}

static size_t own_lines(const struct wetdbg_slice *slice, const char *file)
{
    size_t count, own = 0;
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(slice, &count);

    for (size_t i = 0; i < count; i++) {
        const char *base = lines[i].file ? strrchr(lines[i].file, '/') : NULL;
        own += base && strcmp(base + 1, file) == 0;
    }
    return own;
}

/* What went wrong is that something was not done: no dependence leads from the failure to it. */
static bool is_omission(const struct fault *fault)
{
    return strcmp(fault->kind, "missing statement") == 0 ||
           strcmp(fault->name, "fault_symtab") == 0;
}

static bool is_optimized(const char *build)
{
    return strstr(build, "_O2") != NULL;
}

/* Whether the line has code that ran: a table has none, and optimized code may have lost it. */
static bool ran(struct wetdbg *wet, const char *file, unsigned line)
{
    struct wetdbg_line at;

    for (wetdbg_time t = 1; t <= wetdbg_get_info(wet)->instructions; t++)
        if (wetdbg_line_at(wetdbg_get_model(wet), fake_step(wet, t)->pc, &at) == 0 && at.file &&
            at.line == line && strrchr(at.file, '/') &&
            strcmp(strrchr(at.file, '/') + 1, file) == 0)
            return true;
    return false;
}

/* Whether the slice uses initial bytes of a variable. */
static bool uses_initial(struct wetdbg *wet, const struct wetdbg_slice *slice, const char *variable)
{
    struct wetdbg_symbol symbol;
    size_t count;
    const struct wetdbg_slice_initial *initials = wetdbg_slice_initials(slice, &count);

    assert_int_equal(wetdbg_symbol_named(wetdbg_get_model(wet), variable, &symbol), 0);
    for (size_t i = 0; i < count; i++)
        if (initials[i].location == INS_LOC_COUNT &&
            initials[i].address < symbol.start + symbol.size_bytes &&
            initials[i].address + initials[i].size_bytes > symbol.start)
            return true;
    return false;
}

static void check_build(char *build)
{
    struct fault fault;
    struct wetdbg_criterion *criterion;
    bool in_full = false;
    char cells[3][32];

    assert_true(find_fault(build, &fault));
    struct wetdbg *wet = run(build, &fault);
    unsigned line = fault_line(&fault);
    int err = wetdbg_criterion_parse(wet, fault.criterion, NULL, &criterion);
    if (err && is_optimized(build) && strchr(fault.criterion + 1, '#')) {
        printf("%-32s %s\n", strrchr(build, '/') + 1, wetdbg_error(err));
        wetdbg_close(wet);
        return;
    }
    if (err)
        fail_msg("%s: %s: %s", build, fault.criterion, wetdbg_error(err));
    for (unsigned kinds = WETDBG_SLICE_FULL; kinds <= WETDBG_SLICE_THIN; kinds++) {
        struct wetdbg_slice_options options = {.kinds = (enum wetdbg_slice_kinds)kinds};
        struct wetdbg_slice *slice;
        uint32_t distance = 0;
        assert_int_equal(wetdbg_slice_backward(wet, criterion, &options, &slice), 0);
        bool has = has_line(slice, fault.file, line, &distance);
        if (strcmp(fault.kind, "wrong table entry") == 0 && kinds == WETDBG_SLICE_DATA)
            assert_true(uses_initial(wet, slice, "days_before"));
        in_full |= kinds == WETDBG_SLICE_FULL && has;
        snprintf(cells[kinds], sizeof(cells[kinds]), "%s %zu (%u)", has ? "yes" : "no ",
                 own_lines(slice, fault.file), distance);
        wetdbg_slice_free(slice);
    }
    printf("%-32s %-24s %7llu  %-14s %-14s %-14s\n", strrchr(build, '/') + 1, fault.kind,
           (unsigned long long)wetdbg_get_info(wet)->instructions, cells[0], cells[1], cells[2]);
    fflush(stdout);
    bool must_be_found = ran(wet, fault.file, line) && !is_omission(&fault);
    wetdbg_criterion_free(criterion);
    wetdbg_close(wet);
    if (!in_full && must_be_found)
        fail_msg("%s: line %u is not in the full slice of %s", build, line, fault.criterion);
}

static void fault_line_is_in_the_slice(void **state)
{
    (void)state;
    printf("%-32s %-24s %7s  %-14s %-14s %-14s (fault in slice, lines, its distance)\n", "build",
           "fault", "steps", "full", "data", "thin");
    for (char **build = builds; *build; build++)
        check_build(*build);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fault_line_is_in_the_slice)};

    if (argc < 3) {
        fprintf(stderr, "usage: %s DIRECTORY BUILD...\n", argv[0]);
        return 2;
    }
    programs_dir = argv[1];
    builds = argv + 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
