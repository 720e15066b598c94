/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Damaged images: truncated, bit-flipped, overwritten. Any answer will do, but there must be
 * one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"
#include "fixture.h"
#include <wetdbg/errors.h>

#ifndef ROUNDS
#define ROUNDS 1500 /* per sample */
#endif

static int ask_function(void *context, const struct wetdbg_function *function)
{
    struct wetdbg_model *model = context;
    const uint64_t *branches;
    const struct wetdbg_graph *graph;
    struct wetdbg_line line;
    uint64_t body;
    size_t count;

    wetdbg_function_body(model, function->start, &body);
    wetdbg_line_at(model, function->start + 4, &line);
    if (wetdbg_graph_at(model, function->start, &graph) == 0)
        for (uint32_t i = 0; i < wetdbg_graph_block_count(graph); i++)
            if (wetdbg_controllers(model, wetdbg_graph_block(graph, i)->start, &branches, &count) <
                0)
                break;
    return 0;
}

static int ask_line(void *context, const struct wetdbg_line *line)
{
    unsigned *count = context;

    (void)line;
    return ++*count > 5000; /* a damaged table can be long */
}

static int read_zero(void *context, uint64_t address, void *bytes, size_t count)
{
    (void)context;
    (void)address;
    memset(bytes, 0x10, count);
    return 0;
}

static int register_zero(void *context, unsigned reg, uint64_t *value)
{
    (void)context;
    *value = 0x7fff0000 + reg * 8;
    return 0;
}

static int ask_member(void *context, const struct wetdbg_member *member)
{
    const struct wetdbg_machine machine = {NULL, register_zero, read_zero};
    struct wetdbg_model *model = context;
    const char *name;
    uint64_t offset;

    wetdbg_member_offset(model, member, &machine, 0x1000, &offset);
    wetdbg_type_enumerator(model, member->type.handle, 7, &name);
    return 0;
}

static int ask_variable(void *context, const struct wetdbg_variable *variable)
{
    const struct wetdbg_machine machine = {NULL, register_zero, read_zero};
    struct wetdbg_model *model = context;
    struct wetdbg_place place;
    struct wetdbg_type target;
    uint64_t count;

    wetdbg_variable_locate(model, variable, FIXTURE_BASE + 0x1180, &machine, &place);
    wetdbg_type_members_each(model, variable->type.handle, ask_member, model);
    if (wetdbg_type_target(model, variable->type.handle, &target, &count) == 0)
        wetdbg_type_members_each(model, target.handle, ask_member, model);
    return 0;
}

static void ask_everything(struct wetdbg_model *model)
{
    struct wetdbg_line_location *locations;
    static const char *const names[] = {"our_source", "id", "counter", "Base::made", "this"};
    struct wetdbg_function *functions;
    struct wetdbg_variable variable;
    struct wetdbg_range *ranges;
    struct wetdbg_line chain[4];
    unsigned lines = 0;
    size_t count;

    if (wetdbg_functions_named(model, "Box::get", &functions, &count) == 0)
        free(functions);
    wetdbg_functions_each(model, NULL, ask_function, model);
    wetdbg_lines_each(model, NULL, ask_line, &lines);
    if (wetdbg_line_locations(model, "inline.c", 20, &locations, &count) == 0)
        free(locations);
    if (wetdbg_line_ranges(model, "state.c", 40, &ranges, &count) == 0)
        free(ranges);
    for (uint64_t pc = FIXTURE_BASE + 0x1100; pc < FIXTURE_BASE + 0x1500; pc += 0x35) {
        struct wetdbg_frame_regs regs = {.valid = 0x1ffff, .is_innermost = 1};

        regs.value[WETDBG_REG_RIP] = pc;
        regs.value[WETDBG_REG_RSP] = 0x7fff0000;
        for (int i = 0; i < 5; i++)
            if (wetdbg_unwind(model, &regs, read_zero, NULL) != 1)
                break;
        wetdbg_inline_chain(model, pc, chain, 4, &count);
        wetdbg_variables_each(model, pc, ask_variable, model);
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            if (wetdbg_variable_find_at(model, pc, i % 2, names[i], &variable) == 0)
                ask_variable(model, &variable);
    }
    if (wetdbg_variable_find(model, 0, "global_point", &variable) == 0)
        ask_variable(model, &variable);
}

/* A model of an image whose segments are those of the undamaged one. */
static void try_image(const void *data, size_t size, const struct mdl_segment *segments,
                      size_t count)
{
    struct mdl_module_input input = {
        .path = "/damaged",
        .file = {-1, data, size},
        .debug = MDL_IMAGE_NONE,
        .alt = MDL_IMAGE_NONE,
        .segments = segments,
        .segment_count = count,
    };
    struct wetdbg_model *model = mdl_new();

    assert_non_null(model);
    if (mdl_add_module(model, &input, NULL) == 0)
        ask_everything(model);
    mdl_free(model);
}

/* Does one damage to a copy: bits flipped near each other or anywhere, a run overwritten, the end
 * cut. */
static size_t damage(uint8_t *data, size_t size, unsigned round)
{
    size_t at = (size_t)random() % size;

    switch (round % 5) {
    case 0:
        for (int i = 0; i < 1 + random() % 8; i++)
            data[(size_t)random() % size] ^= (uint8_t)(1 << random() % 8);
        break;
    case 1:
        for (int i = 0; i < 300; i++)
            data[(size_t)random() % size] ^= (uint8_t)(1 << random() % 8);
        break;
    case 2:
        for (size_t i = at; i < size && i < at + (size_t)(random() % 64); i++)
            data[i] = round & 1 ? 0xff : (uint8_t)random();
        break;
    case 3: /* headers and section headers */
        at = random() % 2 ? (size_t)random() % 1024 : size - 1 - (size_t)random() % 2600;
        data[at] = (uint8_t)random();
        break;
    default:
        return at;
    }
    return size;
}

/* A read-only copy behind which no page follows: sanitizers do not see what elfutils reads. */
struct guarded {
    void *pages;
    size_t size;
    const uint8_t *data;
};

/* Makes a guarded copy: with `at_end` it ends where the guard starts, else it is aligned as file
 * mappings are. */
static void guarded_init(struct guarded *guarded, const void *data, size_t size, int at_end)
{
    size_t room = (size + 0xfff) & ~(size_t)0xfff;
    uint8_t *pages;

    guarded->size = room + 0x1000;
    pages = mmap(NULL, guarded->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    guarded->pages = pages;
    guarded->data = at_end ? pages + room - size : pages;
    memcpy((void *)guarded->data, data, size);
    assert_int_equal(mprotect(pages, room ? room : 0x1000, PROT_READ), 0);
    assert_int_equal(mprotect(pages + room, 0x1000, PROT_NONE), 0);
}

static void damage_sample(const char *path, unsigned seed)
{
    struct mdl_segment *segments;
    size_t size, count;
    uint8_t *whole = fixture_read(path, &size), *copy = malloc(size);

    assert_non_null(copy);
    count = fixture_segments(whole, size, FIXTURE_BASE, &segments);
    srandom(seed);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct guarded guarded;
        size_t left;

        memcpy(copy, whole, size);
        left = damage(copy, size, round);
        guarded_init(&guarded, copy, left, round & 1);
        try_image(guarded.data, left, segments, count);
        munmap(guarded.pages, guarded.size);
    }
    free(segments);
    free(copy);
    free(whole);
}

static void malformed_optimized_program(void **state)
{
    (void)state;
    damage_sample(SAMPLES "inline_O2", 1);
}

static void malformed_unoptimized_program(void **state)
{
    (void)state;
    damage_sample(SAMPLES "state_O0", 2);
}

static void malformed_dwarf4_compressed_program(void **state)
{
    (void)state;
    damage_sample(SAMPLES "flow_dwarf4", 3);
}

static void malformed_cxx_program(void **state)
{
    (void)state;
    damage_sample(SAMPLES "names_O2", 4);
}

static void malformed_cxx_program_with_type_units(void **state)
{
    (void)state;
    damage_sample(SAMPLES "names_types", 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_optimized_program),
        cmocka_unit_test(malformed_unoptimized_program),
        cmocka_unit_test(malformed_dwarf4_compressed_program),
        cmocka_unit_test(malformed_cxx_program),
        cmocka_unit_test(malformed_cxx_program_with_type_units),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
