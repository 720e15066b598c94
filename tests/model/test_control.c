/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Graphs and control dependence of compiled code against what its source says. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "fixture.h"
#include <wetdbg/errors.h>

#define FLOW SOURCES "flow.c"

/* A marked line, and the marked lines whose branches it depends on: in both forms, and one that it
 * depends on where calls that never return leave. */
static const struct {
    const char *line, *guard;
    const char *controllers[4];
} expected[] = {
    {"@if_before", NULL, {NULL}},
    {"@if_test", NULL, {NULL}},
    {"@if_then", NULL, {"@if_test"}},
    {"@if_else", NULL, {"@if_test"}},
    {"@if_after", NULL, {NULL}},
    {"@while_test", NULL, {"@while_test"}},
    {"@while_body", NULL, {"@while_test"}},
    {"@while_after", NULL, {NULL}},
    {"@do_body", NULL, {"@do_test"}},
    {"@do_test", NULL, {"@do_test"}},
    {"@do_after", NULL, {NULL}},
    {"@case0", NULL, {"@switch"}},
    {"@case1", NULL, {"@switch"}},
    {"@case2", NULL, {"@switch"}},
    {"@case6", NULL, {"@switch"}},
    {"@default", NULL, {"@switch"}},
    {"@switch_after", NULL, {NULL}},
    {"@goto_middle", NULL, {"@goto_a"}},
    {"@goto_b", NULL, {"@goto_a"}},
    {"@goto_then", NULL, {"@goto_b"}},
    {"@goto_out", NULL, {NULL}},
    {"@early_test", NULL, {NULL}},
    {"@early_return", NULL, {"@early_test"}},
    {"@early_rest", NULL, {"@early_test"}},
    {"@endless_before", NULL, {NULL}},
    {"@endless_body", NULL, {NULL}},
    {"@endless_test", NULL, {NULL}},
    {"@endless_then", NULL, {"@endless_test"}},
    {"@endless_rest", NULL, {NULL}},
    {"@check_abort", NULL, {"@check_test"}},
    {"@check_after", "@check_test", {NULL}},
    {"@doubt_lost", NULL, {"@doubt_test"}},
    {"@plain_test", "@doubt_test", {NULL}},
    {"@plain_call", NULL, {"@plain_test"}},
    {"@doubt_after", "@doubt_test", {NULL}},
#ifndef __clang__
    /* clang gives branches of a statement that spans lines to other ones of these lines */
    {"@and_a", NULL, {NULL}},
    {"@and_b", NULL, {"@and_a"}},
    {"@and_then", NULL, {"@and_b"}},
    {"@or_b", NULL, {NULL}},
    {"@or_c", NULL, {"@or_b"}},
    {"@or_then", NULL, {"@or_b", "@or_c"}},
    {"@and_or_after", NULL, {NULL}},
    {"@for_init", NULL, {NULL}},
    {"@for_outer", NULL, {"@for_outer"}},
    {"@for_step", NULL, {"@for_outer"}},
    {"@for_if", NULL, {"@for_outer"}},
    {"@for_inner_init", NULL, {"@for_if"}},
    /* on itself by the jump around the break, which has the test's line */
    {"@for_inner ", NULL, {"@for_if", "@for_break_test", "@for_inner "}},
    {"@for_break_test", NULL, {"@for_inner "}},
    {"@for_break ", NULL, {"@for_break_test"}},
    {"@for_innermost", NULL, {"@for_break_test"}},
    {"@for_tail", NULL, {"@for_if"}},
    {"@for_after", NULL, {NULL}},
#endif
};

#define LINES_MAX 32

/* A set of lines of flow.c. */
struct lines {
    uint32_t line[LINES_MAX];
    size_t count;
};

static void lines_add(struct lines *lines, uint32_t line)
{
    for (size_t i = 0; i < lines->count; i++)
        if (lines->line[i] == line)
            return;
    assert_in_range(lines->count, 0, LINES_MAX - 1);
    lines->line[lines->count++] = line;
}

static int lines_have(const struct lines *lines, uint32_t line)
{
    for (size_t i = 0; i < lines->count; i++)
        if (lines->line[i] == line)
            return 1;
    return 0;
}

static uint32_t line_of(struct wetdbg_model *model, uint64_t pc)
{
    struct wetdbg_line line;
    int result = wetdbg_line_at(model, pc, &line);

    if (result < 0)
        fail_msg("%s", wetdbg_error(result));
    return line.line;
}

/* The lines of the branches that a block depends on. */
static void add_controllers(struct wetdbg_model *model, uint64_t pc, bool no_exits,
                            struct lines *lines)
{
    const uint64_t *branches;
    size_t count;
    int result = no_exits ? wetdbg_controllers_no_exits(model, pc, &branches, &count)
                          : wetdbg_controllers(model, pc, &branches, &count);

    if (result < 0)
        fail_msg("%s", wetdbg_error(result));
    for (size_t i = 0; i < count; i++) {
        assert_true(i == 0 || branches[i - 1] < branches[i]);
        lines_add(lines, line_of(model, branches[i]));
    }
}

/* What all blocks that have code of a line depend on. */
static void controllers_of_line(struct wetdbg_model *model, uint32_t line, bool no_exits,
                                struct lines *lines)
{
    const struct wetdbg_graph *graph;
    struct wetdbg_range *ranges;
    size_t count;
    int result = wetdbg_line_ranges(model, FLOW, line, &ranges, &count);

    if (result < 0)
        fail_msg("%s", wetdbg_error(result));
    for (size_t i = 0; i < count; i++) {
        add_controllers(model, ranges[i].start, no_exits, lines);
        assert_int_equal(wetdbg_graph_at(model, ranges[i].start, &graph), 0);
        for (uint32_t b = 0; b < wetdbg_graph_block_count(graph); b++) {
            uint64_t start = wetdbg_graph_block(graph, b)->start;

            if (start >= ranges[i].start && start < ranges[i].end)
                add_controllers(model, start, no_exits, lines);
        }
    }
    free(ranges);
}

static void check_form(struct wetdbg_model *model, const char *sample, bool no_exits)
{
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        struct lines want = {.count = 0}, have = {.count = 0};

        for (size_t c = 0; c < 4 && expected[i].controllers[c]; c++)
            lines_add(&want, fixture_marker(FLOW, expected[i].controllers[c]));
        if (expected[i].guard && !no_exits)
            lines_add(&want, fixture_marker(FLOW, expected[i].guard));
        controllers_of_line(model, fixture_marker(FLOW, expected[i].line), no_exits, &have);
        for (size_t c = 0; c < have.count; c++)
            if (!lines_have(&want, have.line[c]))
                fail_msg("%s in %s depends on line %u", expected[i].line, sample, have.line[c]);
        if (want.count != have.count)
            fail_msg("%s in %s depends on %zu lines, expected %zu", expected[i].line, sample,
                     have.count, want.count);
    }
}

static void check_dependences(const char *sample, uint64_t base)
{
    struct wetdbg_model *model = fixture_load(sample, base);

    check_form(model, sample, false);
    check_form(model, sample, true);
    check_form(model, sample, false);
    mdl_free(model);
}

static void control_pie_depends_as_the_source_says(void **state)
{
    (void)state;
    check_dependences(SAMPLES "flow_O0", FIXTURE_BASE);
}

static void control_no_pie_depends_as_the_source_says(void **state)
{
    (void)state;
    check_dependences(SAMPLES "flow_nopie", 0);
}

static void control_static_depends_as_the_source_says(void **state)
{
    (void)state;
    check_dependences(SAMPLES "flow_static", 0);
}

/* Where paths meet again. */
static void control_ipdom_is_where_paths_meet(void **state)
{
    static const char *const pairs[][2] = {
        {"@if_test", "@if_after"},
        {"@switch *", "@switch_after"},
#ifndef __clang__
        {"@goto_b ", "@goto_out"}, /* clang jumps there from a block with the test's line */
#endif
        {"@endless_test", "@endless_rest"},
    };
    struct wetdbg_model *model = fixture_load(SAMPLES "flow_O0", FIXTURE_BASE);
    uint64_t meet;

    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        uint64_t test = fixture_line(model, FLOW, fixture_marker(FLOW, pairs[i][0]));

        assert_int_equal(wetdbg_ipdom(model, test, &meet), 0);
        assert_int_not_equal(meet, 0);
        assert_int_equal(line_of(model, meet), fixture_marker(FLOW, pairs[i][1]));
    }
    assert_int_equal(wetdbg_ipdom(model,
                                  fixture_line(model, FLOW, fixture_marker(FLOW, "@switch_after")),
                                  &meet),
                     0);
    assert_int_equal(meet, 0);
    /* an abort is a way out, too */
    assert_int_equal(
        wetdbg_ipdom(model, fixture_line(model, FLOW, fixture_marker(FLOW, "@check_test")), &meet),
        0);
    assert_int_equal(meet, 0);
    mdl_free(model);
}

/* The only indirect jump of a function; fails if there is none. */
static const struct wetdbg_block *indirect_block(struct wetdbg_model *model, const char *function)
{
    const struct wetdbg_block *found = NULL;
    const struct wetdbg_graph *graph;

    assert_int_equal(wetdbg_graph_at(model, fixture_function(model, function), &graph), 0);
    for (uint32_t i = 0; i < wetdbg_graph_block_count(graph); i++)
        if (wetdbg_graph_block(graph, i)->kind == WETDBG_BLOCK_END_INDIRECT)
            found = wetdbg_graph_block(graph, i);
    assert_non_null(found);
    return found;
}

static void control_switch_tables_are_decoded(void **state)
{
    static const struct {
        const char *sample, *function;
        uint64_t base;
        unsigned targets;
    } rows[] = {
        {SAMPLES "flow_O0", "big_switch", FIXTURE_BASE, 7},
        {SAMPLES "flow_nopie", "big_switch", 0, 7},
        {SAMPLES "flow_static", "big_switch", 0, 7},
        {SAMPLES "inline_O2", "dispatch", FIXTURE_BASE, 6},
        {SAMPLES "tables_O0", "hoisted_byte", FIXTURE_BASE, 3},
        {SAMPLES "tables_O0", "hoisted_word", FIXTURE_BASE, 3},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct wetdbg_model *model = fixture_load(rows[i].sample, rows[i].base);
        const struct wetdbg_block *block = indirect_block(model, rows[i].function);

        assert_true(block->is_complete);
        assert_in_range(block->successor_count, rows[i].targets, 9);
        mdl_free(model);
    }
}

/* The library's own switches, in code that nobody wrote for this test. */
static int count_indirect(void *context, const struct wetdbg_function *function)
{
    struct {
        struct wetdbg_model *model;
        unsigned complete;
    } *count = context;
    const struct wetdbg_graph *graph;
    int result = wetdbg_graph_at(count->model, function->start, &graph);

    if (result < 0 && result != -WETDBG_ERR_NOT_FOUND)
        return result;
    for (uint32_t i = 0; result == 0 && i < wetdbg_graph_block_count(graph); i++) {
        const struct wetdbg_block *block = wetdbg_graph_block(graph, i);

        assert_true(block->start <= block->last && block->last < block->end);
        count->complete += block->kind == WETDBG_BLOCK_END_INDIRECT && block->is_complete;
    }
    return 0;
}

static void control_every_function_of_the_c_library_has_a_graph(void **state)
{
    struct {
        struct wetdbg_model *model;
        unsigned complete;
    } count = {NULL, 0};
    char *path = fixture_run("ldd %s | awk '/libc.so/ {printf \"%%s\", $3}'", SAMPLES "flow_O0");

    (void)state;
    count.model = fixture_load(path, UINT64_C(0x7ffff7d00000));
    assert_int_equal(wetdbg_functions_each(count.model, NULL, count_indirect, &count), 0);
    assert_in_range(count.complete, 20, 10000);
    mdl_free(count.model);
    free(path);
}

/* What is split off belongs to the graph of the function that jumps there. */
static void control_cold_part_belongs_to_its_function(void **state)
{
    struct wetdbg_model *model = fixture_load(SAMPLES "inline_O2", FIXTURE_BASE);
    const struct wetdbg_graph *graph;
    struct wetdbg_function *cold;
    const uint64_t *branches;
    size_t count;

    (void)state;
    if (wetdbg_functions_named(model, "dispatch.cold", &cold, &count) < 0) {
        /* this compiler keeps it in place: then abort's block must be in the function itself */
        uint64_t pc = indirect_block(model, "dispatch")->last;

        assert_int_equal(wetdbg_controllers(model, pc, &branches, &count), 0);
        mdl_free(model);
        return;
    }
    assert_int_equal(wetdbg_graph_at(model, cold[0].start, &graph), 0);
    assert_int_equal(wetdbg_graph_entry(graph), fixture_function(model, "dispatch"));
    assert_int_equal(wetdbg_controllers(model, cold[0].start, &branches, &count), 0);
    assert_in_range(count, 1, 2);
    free(cold);
    mdl_free(model);
}

/* Computed gotos have no bounded table; the run shows where they went. */
static void control_observed_targets_complete_the_graph(void **state)
{
    struct wetdbg_model *model = fixture_load(SAMPLES "flow_O0", FIXTURE_BASE);
    uint64_t add = fixture_line(model, FLOW, fixture_marker(FLOW, "@op_add"));
    uint64_t sub = fixture_line(model, FLOW, fixture_marker(FLOW, "@op_sub"));
    /* without optimization compilers let all computed gotos share one jump */
    const struct wetdbg_block *block = indirect_block(model, "interpret");
    const uint64_t *branches;
    uint64_t jump = block->last;
    size_t count;

    (void)state;
    assert_false(block->is_complete);
    assert_int_equal(mdl_add_indirect_target(model, jump, add), 1);
    assert_int_equal(wetdbg_controllers(model, add, &branches, &count), 0);
    assert_int_equal(count, 0); /* the only target so far */
    assert_int_equal(mdl_add_indirect_target(model, jump, sub), 1);
    assert_int_equal(mdl_add_indirect_target(model, jump, sub), 0);
    assert_int_equal(wetdbg_controllers(model, add, &branches, &count), 0);
    assert_int_equal(count, 1);
    assert_int_equal(branches[0], jump);
    mdl_free(model);
}

/* Code that nothing describes: functions come from mdl_add_entry(). */
static void control_generated_code_gets_entries(void **state)
{
    /* f: test edi,edi; je +3; inc eax; ret ... at 0; g: ret at 16 */
    static const uint8_t code[32] = {0x85, 0xff, 0x74, 0x02, 0xff, 0xc0, 0xc3, [16] = 0xc3};
    struct wetdbg_model *model = fixture_generated(code, sizeof(code), 0x1000);
    struct wetdbg_function function;
    const uint64_t *branches;
    size_t count;

    (void)state;
    assert_int_equal(mdl_add_entry(model, 0x10010), 1);
    assert_int_equal(mdl_add_entry(model, 0x10010), 0);
    assert_int_equal(wetdbg_function_at(model, 0x10004, &function), 0);
    assert_int_equal(function.start, 0x10000);
    assert_int_equal(function.end, 0x10010);
    assert_string_equal(function.name, "[generated]+0x0");
    assert_int_equal(wetdbg_controllers(model, 0x10004, &branches, &count), 0);
    assert_int_equal(count, 1);
    assert_int_equal(branches[0], 0x10002);
    assert_int_equal(wetdbg_controllers(model, 0x10006, &branches, &count), 0);
    assert_int_equal(count, 0);
    assert_int_equal(wetdbg_controllers(model, 0x20000, &branches, &count), -WETDBG_ERR_NOT_FOUND);
    mdl_free(model);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* No instruction begins with 06, so making the graph once more to find one there is in vain each
 * time. */
static void control_what_a_graph_lacks_is_remembered(void **state)
{
    enum { BRANCHES = 5000, TIMES = 1000 };
    static uint8_t code[2 * BRANCHES + 2]; /* jz to the next one, and so on; ret; 06 */
    struct wetdbg_model *model;
    const uint64_t *branches;
    size_t count;
    double once, often;

    (void)state;
    for (size_t i = 0; i < BRANCHES; i++)
        code[2 * i] = 0x74;
    code[sizeof(code) - 2] = 0xc3;
    code[sizeof(code) - 1] = 0x06;
    model = fixture_generated(code, sizeof(code), 0x3000);
    once = seconds();
    assert_int_equal(wetdbg_controllers(model, 0x10000 + sizeof(code) - 1, &branches, &count),
                     -WETDBG_ERR_NOT_FOUND);
    once = seconds() - once;
    often = seconds();
    for (unsigned i = 0; i < TIMES; i++)
        assert_int_equal(wetdbg_controllers(model, 0x10000 + sizeof(code) - 1, &branches, &count),
                         -WETDBG_ERR_NOT_FOUND);
    often = seconds() - often;
    print_message("the first time %.6f s, %d times more %.6f s\n", once, TIMES, often);
    assert_true(often < once * TIMES / 10);
    assert_int_equal(wetdbg_controllers(model, 0x10000, &branches, &count), 0);
    mdl_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_pie_depends_as_the_source_says),
        cmocka_unit_test(control_no_pie_depends_as_the_source_says),
        cmocka_unit_test(control_static_depends_as_the_source_says),
        cmocka_unit_test(control_ipdom_is_where_paths_meet),
        cmocka_unit_test(control_switch_tables_are_decoded),
        cmocka_unit_test(control_every_function_of_the_c_library_has_a_graph),
        cmocka_unit_test(control_cold_part_belongs_to_its_function),
        cmocka_unit_test(control_observed_targets_complete_the_graph),
        cmocka_unit_test(control_generated_code_gets_entries),
        cmocka_unit_test(control_what_a_graph_lacks_is_remembered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
