/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Source lines in both directions against addr2line and gdb, and source text. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include <wetdbg/errors.h>

#define FLOW  SOURCES "flow.c"
#define STATE SOURCES "state.c"
#define NAMES SOURCES "names.cpp"

static const struct {
    const char *path, *source;
    uint64_t base;
    uint32_t line_count;
} samples[] = {
    {SAMPLES "flow_O0", FLOW, FIXTURE_BASE, 180},
    {SAMPLES "flow_O2", FLOW, FIXTURE_BASE, 180},
    {SAMPLES "flow_nopie", FLOW, 0, 180},
    {SAMPLES "flow_O2_nopie", FLOW, 0, 180},
    {SAMPLES "flow_static", FLOW, 0, 180},
    {SAMPLES "flow_dwarf4", FLOW, FIXTURE_BASE, 180},
    {SAMPLES "state_O0", STATE, FIXTURE_BASE, 100},
    {SAMPLES "inline_O2", SOURCES "inline.c", FIXTURE_BASE, 70},
    {SAMPLES "relative_O0", FLOW, FIXTURE_BASE, 180},
    {SAMPLES "names_O0", NAMES, FIXTURE_BASE, 130},
    {SAMPLES "names_O2", NAMES, FIXTURE_BASE, 130},
};

#define SAMPLE_COUNT (sizeof(samples) / sizeof(samples[0]))

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* ---- Address to line --------------------------------------------------------------------- */

/* What gdb says of each address: "Line 12 of "x.c" ..." or "No line number information ...". */
static char *gdb_info_lines(const char *path, const char *list)
{
    return fixture_run(
        "sed 's/.*/-ex\\ninfo line *&/' %s | xargs -d '\\n' gdb -nx -batch -ex 'set width "
        "0' %s 2>/dev/null | grep -E '^(Line|No line|Address)'",
        list, path);
}

/* addr2line and we may choose differently where an inlined function has no code of its own. */
static int is_in_chain(struct wetdbg_model *model, uint64_t pc, const char *function)
{
    struct wetdbg_line chain[8];
    size_t count;
    int found = 0;

    assert_int_equal(wetdbg_inline_chain(model, pc, chain, 8, &count), 0);
    for (size_t i = 0; i < count && i < 8; i++)
        found |= strcmp(chain[i].linkage_name, function) == 0 ||
                 strcmp(chain[i].function, function) == 0;
    return found;
}

/* Every third byte of each function with line information: the function must be that of addr2line,
 * and the line that of gdb, which prefers statements as we do. */
static unsigned check_addresses(const char *path, uint64_t base)
{
    struct wetdbg_model *model = fixture_load(path, base);
    char list[] = "/tmp/model-addresses-XXXXXX", *output, *at, *gdb, *gdb_at;
    int fd = mkstemp(list);

    assert_true(fd >= 0);
    unsigned count = fixture_put_addresses(model, base, fdopen(fd, "w"));
    at = output = fixture_run("addr2line -a -f -e %s < %s", path, list);
    gdb_at = gdb = gdb_info_lines(path, list);
    unlink(list);
    for (unsigned i = 0; i < count; i++) {
        uint64_t pc = base + strtoull(strsep(&at, "\n"), NULL, 16);
        char *function = strsep(&at, "\n"), *other = strsep(&at, "\n");
        char *answer = strsep(&gdb_at, "\n"), place[256];
        struct wetdbg_line line;
        unsigned number;
        int result = wetdbg_line_at(model, pc, &line);

        assert_non_null(answer);
        if (sscanf(answer, "Line %u ", &number) != 1) {
            assert_true(result < 0 || line.line == 0);
            continue;
        }
        if (result < 0)
            fail_msg("%s: %s, gdb says %s", path, wetdbg_error(result), answer);
        /* gdb leaves out rows that differ from the one before by their discriminator only, and
         * takes a statement before that one: then addr2line, which knows no statements, is right */
        if (line.line != number && line.line == strtoul(strrchr(other, ':') + 1, NULL, 10) &&
            strstr(answer, "starts at address 0x") &&
            base + strtoull(strstr(answer, "address 0x") + 8, NULL, 16) < line.start)
            continue;
        if (line.line != number)
            fail_msg("%s: line %u at 0x%llx, gdb says %s", path, line.line,
                     (unsigned long long)(pc - base), answer);
        assert_int_equal(sscanf(answer, "Line %*u of \"%255[^\"]\"", place), 1);
        assert_string_equal(last_part(line.file), last_part(place));
        assert_true(line.file[0] == '/');
        assert_true(line.start <= pc && pc < line.end);
        assert_non_null(line.function);
        function[strcspn(function, ".")] = '\0'; /* of a cold part */
        if (!is_in_chain(model, pc, function))
            fail_msg("%s: %s at 0x%llx, addr2line says %s", path, line.function,
                     (unsigned long long)(pc - base), function);
    }
    free(output);
    free(gdb);
    mdl_free(model);
    return count;
}

static void lines_addresses_equal_gdb_and_addr2line(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLE_COUNT; i++)
        assert_in_range(check_addresses(samples[i].path, samples[i].base), 80, 1000000);
}

/* ---- Line to address --------------------------------------------------------------------- */

/* The breakpoint addresses of one line as text: "0x1 0x2". Empty if there is no code, or none
 * that gdb sees, and if some is in a cold part: when that lies before its function, gdb "skips the
 * prologue" from it to the entry. */
static void our_breakpoints(struct wetdbg_model *model, uint64_t base, const char *source,
                            uint32_t line, char *text, size_t size)
{
    struct wetdbg_line_location *locations;
    size_t count, used = 0;

    text[0] = '\0';
    if (wetdbg_line_locations(model, source, line, &locations, &count) < 0)
        return;
    for (size_t i = 0; i < count; i++) {
        if ((locations[i].function && strstr(locations[i].function, ".cold")) ||
            locations[i].is_hidden) {
            text[0] = '\0';
            break;
        }
        if (locations[i].is_breakpoint && used < size)
            used += (size_t)snprintf(text + used, size - used, "0x%llx ",
                                     (unsigned long long)(locations[i].pc - base));
    }
    free(locations);
}

/* gdb's: from "info breakpoints", by breakpoint number. */
static void gdb_breakpoints(const char *path, const char *source, uint32_t line_count,
                            char text[][1024])
{
    char script[] = "/tmp/model-gdb-XXXXXX", *output, *at, *row;
    FILE *out = fdopen(mkstemp(script), "w");
    uint32_t number = 0;

    assert_non_null(out);
    /* a line without code takes a number then, too: newer gdbs refuse those before a function */
    fprintf(out, "-ex\nset breakpoint pending on\n");
    for (uint32_t line = 1; line <= line_count; line++)
        fprintf(out, "-ex\nbreak %s:%u\n", last_part(source), line);
    fprintf(out, "-ex\ninfo breakpoints\n");
    fclose(out);
    /* breaking past the last line fails, which leaves the numbers of those before alone */
    at = output = fixture_run("xargs -a %s -d '\\n' gdb -nx -batch -ex 'set width 0' %s 2>&1; true",
                              script, path);
    unlink(script);
    while ((row = strsep(&at, "\n"))) {
        char *address = strstr(row, "0x"), *place = strrchr(row, ':');
        unsigned parsed;
        size_t used;

        if (sscanf(row, "%u.", &parsed) == 1 && parsed > 0)
            number = parsed;
        if (!address || !place || number == 0 || number > line_count ||
            strncmp(row, "Breakpoint", 10) == 0)
            continue;
        used = strlen(text[number]);
        snprintf(text[number] + used, 1024 - used, "0x%llx ", strtoull(address, NULL, 16));
    }
    free(output);
}

static void lines_breakpoints_equal_gdb(void **state)
{
    unsigned checked = 0;

    (void)state;
    for (size_t i = 0; i < SAMPLE_COUNT; i++) {
        char(*gdb)[1024] = calloc(samples[i].line_count + 1, 1024);
        struct wetdbg_model *model = fixture_load(samples[i].path, samples[i].base);

        assert_non_null(gdb);
        gdb_breakpoints(samples[i].path, samples[i].source, samples[i].line_count, gdb);
        for (uint32_t line = 1; line <= samples[i].line_count; line++) {
            char ours[1024];

            our_breakpoints(model, samples[i].base, samples[i].source, line, ours, sizeof(ours));
            if (!ours[0])
                continue; /* gdb takes the next line with code, we say that there is none */
            if (strcmp(ours, gdb[line]) != 0)
                fail_msg("%s line %u: gdb breaks at %s, we at %s", samples[i].path, line, gdb[line],
                         ours);
            checked++;
        }
        free(gdb);
        mdl_free(model);
    }
    assert_in_range(checked, 400, 5000);
}

/* gdb drops a row that goes on with a line in which it saw a discriminator, though it alone is a
 * statement: main of this sample has its place in the line further below. */
static void lines_rows_that_gdb_drops_are_no_places(void **state)
{
    char gdb[7][1024] = {{0}}, ours[1024];
    struct wetdbg_model *model = fixture_load(SAMPLES "rows_O0", 0);

    (void)state;
    gdb_breakpoints(SAMPLES "rows_O0", SOURCES "rows.c", 6, gdb);
    our_breakpoints(model, 0, SOURCES "rows.c", 6, ours, sizeof(ours));
    assert_non_null(strstr(ours, " 0x")); /* that of the function above, and that one */
    assert_string_equal(ours, gdb[6]);
    mdl_free(model);
}

static void lines_function_bodies_equal_gdb(void **state)
{
    static const char *const names[] = {"main", "nested", "interpret", "big_switch", "do_loop"};

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        struct wetdbg_model *model = fixture_load(samples[i].path, samples[i].base);
        size_t count = strstr(samples[i].path, "O0") || strstr(samples[i].path, "static") ? 5 : 1;

        for (size_t n = 0; n < count; n++) { /* the others have inlined copies, so several places */
            char *output = fixture_run("gdb -nx -batch -ex 'break %s' %s 2>&1 | grep '^Breakpoint'",
                                       names[n], samples[i].path);
            uint64_t body;

            assert_int_equal(wetdbg_function_body(model, fixture_function(model, names[n]), &body),
                             0);
            assert_non_null(strstr(output, "0x"));
            assert_int_equal(body - samples[i].base, strtoull(strstr(output, "0x"), NULL, 16));
            free(output);
        }
        mdl_free(model);
    }
}

/* ---- Ranges, errors, enumeration --------------------------------------------------------- */

static void lines_ranges_are_those_of_the_line(void **state)
{
    struct wetdbg_model *model = fixture_load(SAMPLES "flow_O2", FIXTURE_BASE);
    unsigned checked = 0;

    (void)state;
    for (uint32_t line = 1; line < 180; line++) {
        struct wetdbg_range *ranges;
        struct wetdbg_line at;
        size_t count;

        if (wetdbg_line_ranges(model, "flow.c", line, &ranges, &count) < 0)
            continue;
        for (size_t i = 0; i < count; i++) {
            assert_true(ranges[i].start < ranges[i].end);
            assert_true(i == 0 || ranges[i - 1].end < ranges[i].start);
            assert_int_equal(wetdbg_line_at(model, ranges[i].end - 1, &at), 0);
            checked += at.line == line;
        }
        free(ranges);
    }
    assert_in_range(checked, 50, 1000);
    mdl_free(model);
}

static void lines_without_code_name_the_nearest(void **state)
{
    struct wetdbg_model *model = fixture_load(SAMPLES "flow_O0", FIXTURE_BASE);
    uint32_t test = fixture_marker(FLOW, "@if_test");
    struct wetdbg_line_location *locations;
    struct wetdbg_range *ranges;
    char message[200];
    size_t count;

    (void)state;
    assert_int_equal(wetdbg_line_locations(model, "flow.c", test + 2, &locations, &count),
                     -WETDBG_ERR_NOT_FOUND);
    snprintf(message, sizeof(message), "no code at flow.c:%u; nearest lines are %u and %u",
             test + 2, test + 1, test + 3);
    assert_string_equal(wetdbg_error(-WETDBG_ERR_NOT_FOUND), message);
    assert_int_equal(wetdbg_line_ranges(model, "low.c", test, &ranges, &count),
                     -WETDBG_ERR_NOT_FOUND);
    assert_string_equal(wetdbg_error(-WETDBG_ERR_NOT_FOUND),
                        "no source file \"low.c\" in any module's debug information");
    assert_int_equal(wetdbg_line_locations(model, "flow.c", 99999, &locations, &count),
                     -WETDBG_ERR_NOT_FOUND);
    assert_non_null(strstr(wetdbg_error(-WETDBG_ERR_NOT_FOUND), "the last line with code is"));
    mdl_free(model);
}

static void lines_files_match_by_whole_parts(void **state)
{
    static const struct {
        const char *name;
        int is_match;
    } rows[] = {
        {"flow.c", 1},
        {"samples/flow.c", 1},
        {"./flow.c", 1},
        {"ples/flow.c", 0},
        {"x/../samples/flow.c", 1},
        {"/flow.c", 0},
        {FLOW, 1},
        {"flow", 0},
        {"", 0},
    };
    struct wetdbg_model *model = fixture_load(SAMPLES "flow_O0", FIXTURE_BASE);
    uint32_t line = fixture_marker(FLOW, "@if_test");

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct wetdbg_range *ranges;
        size_t count;
        int result = wetdbg_line_ranges(model, rows[i].name, line, &ranges, &count);

        if ((result == 0) != rows[i].is_match)
            fail_msg("\"%s\" should %smatch", rows[i].name, rows[i].is_match ? "" : "not ");
        if (result == 0)
            free(ranges);
    }
    mdl_free(model);
}

static int see_file(void *context, const char *file, wetdbg_module_id module)
{
    unsigned *count = context;

    *count += module == 0 && strcmp(last_part(file), "flow.c") == 0;
    return 0;
}

static int see_line(void *context, const struct wetdbg_line *line)
{
    unsigned *count = context;

    assert_string_equal(last_part(line->file), "flow.c");
    ++*count;
    return 0;
}

static void lines_files_and_rows_are_listed(void **state)
{
    struct wetdbg_model *model = fixture_load(SAMPLES "flow_O0", FIXTURE_BASE);
    unsigned files = 0, rows = 0;

    (void)state;
    assert_int_equal(wetdbg_files_each(model, see_file, &files), 0);
    assert_int_equal(files, 1);
    assert_int_equal(wetdbg_lines_each(model, "flow.c", see_line, &rows), 0);
    assert_in_range(rows, 100, 1000);
    mdl_free(model);
}

static void lines_inlined_calls_make_a_chain(void **state)
{
    struct wetdbg_model *model = fixture_load(SAMPLES "inline_O2", FIXTURE_BASE);
    uint32_t store = fixture_marker(SOURCES "inline.c", "@square_store");
    struct wetdbg_line chain[8];
    struct wetdbg_range *ranges;
    size_t range_count, count;

    (void)state;
    assert_int_equal(wetdbg_line_ranges(model, "inline.c", store, &ranges, &range_count), 0);
    assert_in_range(range_count, 2, 100);
    for (size_t i = 0; i < range_count; i++) {
        assert_int_equal(wetdbg_inline_chain(model, ranges[i].start, chain, 8, &count), 0);
        assert_int_equal(count, 3);
        assert_int_equal(chain[0].line, store);
        assert_string_equal(chain[0].function, "square");
        assert_string_equal(chain[1].function, "twice");
        assert_int_equal(chain[1].line, fixture_marker(SOURCES "inline.c", "@twice"));
        assert_string_equal(chain[2].function, "compute");
    }
    free(ranges);
    mdl_free(model);
}

/* ---- Source text ------------------------------------------------------------------------- */

static void source_text_and_its_warnings(void **state)
{
    char path[] = "/tmp/model-source-XXXXXX", moved[300];
    int fd = mkstemp(path);
    struct mdl_segment segment = {0x10000, 0x1000, 0, 5};
    struct mdl_module_input input = {.path = "/m",
                                     .file = {-1, "\xc3", 1},
                                     .debug = MDL_IMAGE_NONE,
                                     .alt = MDL_IMAGE_NONE,
                                     .segments = &segment,
                                     .segment_count = 1,
                                     .mtime_s = 1000};
    struct wetdbg_model *model = mdl_new();
    const char *text;
    unsigned flags;

    (void)state;
    assert_int_equal(write(fd, "one\r\n\nthree", 11), 11);
    close(fd);
    assert_int_equal(mdl_add_module(model, &input, NULL), 0);
    assert_int_equal(wetdbg_source_line(model, path, 1, 0, &text, &flags), 0);
    assert_string_equal(text, "one");
    assert_int_equal(flags, 0);
    assert_int_equal(wetdbg_source_line(model, path, 2, 0x10000, &text, &flags), 0);
    assert_string_equal(text, "");
    assert_int_equal(flags, WETDBG_SOURCE_NEWER);
    assert_int_equal(wetdbg_source_line(model, path, 3, 0, &text, &flags), 0);
    assert_string_equal(text, "three");
    assert_int_equal(wetdbg_source_line(model, path, 4, 0, &text, &flags), 0);
    assert_null(text);
    assert_int_equal(flags, WETDBG_SOURCE_SHORT);
    assert_int_equal(wetdbg_source_line(model, "/gone/far/x.c", 1, 0, &text, &flags), 0);
    assert_null(text);
    assert_int_equal(flags, WETDBG_SOURCE_MISSING);
    snprintf(moved, sizeof(moved), "/gone/away/%s", last_part(path));
    assert_int_equal(wetdbg_source_map(model, "/gone/away", "/tmp"), 0);
    assert_int_equal(wetdbg_source_line(model, moved, 3, 0, &text, &flags), 0);
    assert_string_equal(text, "three");
    unlink(path);
    mdl_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_addresses_equal_gdb_and_addr2line),
        cmocka_unit_test(lines_breakpoints_equal_gdb),
        cmocka_unit_test(lines_rows_that_gdb_drops_are_no_places),
        cmocka_unit_test(lines_function_bodies_equal_gdb),
        cmocka_unit_test(lines_ranges_are_those_of_the_line),
        cmocka_unit_test(lines_without_code_name_the_nearest),
        cmocka_unit_test(lines_files_match_by_whole_parts),
        cmocka_unit_test(lines_files_and_rows_are_listed),
        cmocka_unit_test(lines_inlined_calls_make_a_chain),
        cmocka_unit_test(source_text_and_its_warnings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
