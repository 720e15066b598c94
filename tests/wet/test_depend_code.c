/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The finder alone, on made-up rings: instructions that load and store every size at every
 * alignment, also over the border of two chunks of labels, against a label for each byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/insn/insn_ranges.h"
#include "wet/depend/depend_priv.h"
#include <wetdbg/errors.h>

/* cmocka.h needs the headers above. */
#include <cmocka.h>

#define EXECUTIONS 60000u
#define WINDOW     192u /* bytes of each place that operands lie in */
#define OPS_MAX    6

/* One instruction with one memory operand; rep stos has four slots, others one. */
struct op {
    uint8_t code[8];
    uint8_t bytes; /* of the operand; an element's with rep */
    bool is_load, is_store, is_rep;
};

static const struct op OPS[] = {
    {{0x8a, 0x07}, 1, true, false, false},                          /* mov al, [rdi] */
    {{0x88, 0x07}, 1, false, true, false},                          /* mov [rdi], al */
    {{0x66, 0x8b, 0x07}, 2, true, false, false},                    /* mov ax, [rdi] */
    {{0x66, 0x89, 0x07}, 2, false, true, false},                    /* mov [rdi], ax */
    {{0x8b, 0x07}, 4, true, false, false},                          /* mov eax, [rdi] */
    {{0x89, 0x07}, 4, false, true, false},                          /* mov [rdi], eax */
    {{0x01, 0x07}, 4, true, true, false},                           /* add [rdi], eax */
    {{0x48, 0x8b, 0x07}, 8, true, false, false},                    /* mov rax, [rdi] */
    {{0x48, 0x89, 0x07}, 8, false, true, false},                    /* mov [rdi], rax */
    {{0xdb, 0x2f}, 10, true, false, false},                         /* fld tbyte [rdi] */
    {{0xdb, 0x3f}, 10, false, true, false},                         /* fstp tbyte [rdi] */
    {{0x0f, 0x10, 0x07}, 16, true, false, false},                   /* movups xmm0, [rdi] */
    {{0x0f, 0x11, 0x07}, 16, false, true, false},                   /* movups [rdi], xmm0 */
    {{0xc5, 0xfc, 0x10, 0x07}, 32, true, false, false},             /* vmovups ymm0, [rdi] */
    {{0xc5, 0xfc, 0x11, 0x07}, 32, false, true, false},             /* vmovups [rdi], ymm0 */
    {{0x62, 0xf1, 0x7c, 0x48, 0x10, 0x07}, 64, true, false, false}, /* vmovups zmm0, [rdi] */
    {{0x62, 0xf1, 0x7c, 0x48, 0x11, 0x07}, 64, false, true, false}, /* vmovups [rdi], zmm0 */
    {{0xf3, 0xaa}, 1, true, true, true},                            /* rep stosb */
};
#define OP_COUNT (sizeof(OPS) / sizeof(OPS[0]))

/* Where operands lie; one place is on the border of two chunks, one far up. */
static const uint64_t PLACES[] = {0x601000, 0x100000000 - WINDOW / 2, 0x7ffff7ff0f80};
#define PLACE_COUNT (sizeof(PLACES) / sizeof(PLACES[0]))

struct access {
    uint64_t address, bytes;
    const struct op *op;
};

struct made_node {
    const struct op *ops[OPS_MAX];
    unsigned op_count;
    uint8_t code[OPS_MAX * 8];
    struct dbi_fragment fragment;
};

struct made {
    struct made_node nodes[40];
    uint64_t *words;
    size_t word_count;
    struct access *accesses; /* of all executions, one after the other */
    size_t access_count, access_at;
    uint32_t expected[PLACE_COUNT][WINDOW + 512];
    uint64_t executions, seed;
};

static uint32_t draw(struct made *made, uint32_t below)
{
    made->seed = made->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((made->seed >> 33) % below);
}

static void node_make(struct made *made, struct made_node *node, uint32_t id)
{
    unsigned bytes = 0;
    node->op_count = 1 + draw(made, OPS_MAX);
    for (unsigned i = 0; i < node->op_count; i++) {
        struct ins_info info;
        node->ops[i] = &OPS[draw(made, OP_COUNT)];
        assert_int_equal(ins_decode(node->ops[i]->code, 8, 0, &info), 0);
        memcpy(node->code + bytes, node->ops[i]->code, info.length);
        bytes += info.length;
    }
    node->fragment = (struct dbi_fragment){.pc = 0x400000 + 0x1000 * id,
                                           .id = id,
                                           .insn_count = (uint16_t)node->op_count,
                                           .code_bytes = (uint16_t)bytes,
                                           .code = node->code};
}

/* Near the last one mostly, so that operands overlap. */
static struct access access_make(struct made *made, const struct op *op)
{
    uint64_t count = op->is_rep ? draw(made, 200) : 1;
    uint64_t align = draw(made, 2) ? ~(uint64_t)(op->bytes - 1u) : ~0ull;
    uint64_t address = PLACES[draw(made, PLACE_COUNT)] + draw(made, WINDOW);
    if (op->bytes & (op->bytes - 1))
        align = ~0ull;
    return (struct access){.address = address & align, .bytes = op->bytes * count, .op = op};
}

static void execution_make(struct made *made)
{
    uint32_t id = draw(made, sizeof(made->nodes) / sizeof(made->nodes[0]));
    const struct made_node *node = &made->nodes[id];
    made->words[made->word_count++] = id;
    for (unsigned i = 0; i < node->op_count; i++) {
        struct access access = access_make(made, node->ops[i]);
        made->accesses[made->access_count++] = access;
        made->words[made->word_count++] = access.address;
        if (access.op->bytes == 10) /* of the x87: TOP */
            made->words[made->word_count++] = draw(made, 8) << 11;
        if (!access.op->is_rep)
            continue;
        made->words[made->word_count++] = access.bytes; /* rcx before, after; rdi after */
        made->words[made->word_count++] = 0;
        made->words[made->word_count++] = access.address + access.bytes;
    }
}

static uint32_t *expected_at(struct made *made, uint64_t address)
{
    for (unsigned p = 0; p < PLACE_COUNT; p++)
        if (address - (PLACES[p] - 64) < sizeof(made->expected[p]) / sizeof(made->expected[p][0]))
            return &made->expected[p][address - (PLACES[p] - 64)];
    fail_msg("%#llx is in no place", (unsigned long long)address);
    return NULL;
}

/* On this test's only thread, so it may assert. */
static const uint32_t *load_check(struct made *made, const struct access *access,
                                  const uint32_t *label)
{
    if (*label != WET_LABEL_RUNS) {
        for (uint64_t i = 0; i < access->bytes; i++)
            assert_int_equal(*expected_at(made, access->address + i), *label);
        return label + 1;
    }
    uint32_t runs = label[1];
    uint64_t at = access->address;
    assert_int_not_equal(runs, 1);
    label += 2;
    for (uint32_t r = 0; r < runs; r++, label += 2)
        for (uint32_t i = 0; i < label[1]; i++)
            assert_int_equal(*expected_at(made, at++), label[0]);
    assert_int_equal(at, access->address + access->bytes);
    return label;
}

static int block_check(void *arg, const struct wet_label_block *block)
{
    struct made *made = arg;
    const uint32_t *words = block->words;
    for (uint64_t e = 0; e < block->executions; e++) {
        const struct made_node *node = &made->nodes[*words];
        const struct wet_label_node *is = block->nodes[*words];
        uint32_t number = (uint32_t)(block->first + e);
        assert_int_equal(number, ++made->executions);
        assert_int_equal(is->pc, node->fragment.pc);
        words += 1 + is->input_count;
        for (unsigned i = 0; i < node->op_count; i++) {
            const struct access *access = &made->accesses[made->access_at++];
            if (access->op->is_load)
                words = load_check(made, access, words);
            for (uint64_t b = 0; access->op->is_store && b < access->bytes; b++)
                *expected_at(made, access->address + b) = number;
        }
    }
    assert_ptr_equal(words, block->words + block->word_count);
    return 0;
}

static void ring_make(struct made *made)
{
    size_t words = EXECUTIONS * (1 + 4 * OPS_MAX) + DEP_SLACK_BYTES / 8;
    made->words = calloc(words, sizeof(*made->words));
    made->accesses = calloc(EXECUTIONS * OPS_MAX, sizeof(*made->accesses));
    assert_true(made->words && made->accesses);
    for (uint32_t id = 0; id < sizeof(made->nodes) / sizeof(made->nodes[0]); id++)
        node_make(made, &made->nodes[id], id);
    for (unsigned i = 0; i < EXECUTIONS; i++)
        execution_make(made);
}

static struct made *made_new(uint64_t seed)
{
    struct made *made = calloc(1, sizeof(*made));
    assert_non_null(made);
    made->seed = seed;
    ring_make(made);
    return made;
}

static void made_free(struct made *made)
{
    free(made->words);
    free(made->accesses);
    free(made);
}

static int made_pass(struct made *made, size_t word_count, struct wet_depend_result *result)
{
    struct wet_depend_options options = {.labels = block_check, .arg = made};
    struct dep_finder finder = {.options = &options, .result = result};
    struct dep_stretch stretch = {.words = made->words, .word_count = word_count};
    int err = dep_finder_init(&finder);
    for (uint32_t id = 0; !err && id < sizeof(made->nodes) / sizeof(made->nodes[0]); id++)
        err = dep_finder_add(&finder, &made->nodes[id].fragment);
    if (!err)
        err = dep_finder_pass(&finder, &stretch);
    dep_finder_fini(&finder);
    return err;
}

static void depend_code_operands_of_every_size_and_alignment_are_exact(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct wet_depend_result result = {0};
        struct made *made = made_new(seed);
        assert_int_equal(made_pass(made, made->word_count, &result), 0);
        assert_int_equal(made->executions, EXECUTIONS);
        assert_int_equal(result.executions, EXECUTIONS);
        assert_int_equal(made->access_at, made->access_count);
        assert_int_equal(result.instructions, made->access_count);
        assert_true(result.split_labels > EXECUTIONS / 10);
        made_free(made);
    }
}

static void depend_code_an_id_that_is_none_is_an_error(void **state)
{
    struct wet_depend_result result = {0};
    struct made *made = made_new(5);
    (void)state;
    made->words[0] = 1000000;
    assert_int_equal(made_pass(made, made->word_count, &result), -WETDBG_ERR_MACHINE);
    made_free(made);
}

static void depend_code_a_ring_that_ends_in_a_record_is_an_error(void **state)
{
    struct wet_depend_result result = {0};
    struct made *made = made_new(6);
    (void)state;
    assert_int_equal(made_pass(made, made->word_count - 1, &result), -WETDBG_ERR_MACHINE);
    made_free(made);
}

static void depend_code_an_address_that_is_none_does_no_harm(void **state)
{
    struct wet_depend_result result = {0};
    struct made_node *node;
    struct made *made = made_new(7);
    (void)state;
    node = &made->nodes[made->words[0]];
    made->words[1] = UINT64_C(0x8123000000000000) | made->accesses[0].address;
    assert_true(node->op_count >= 1);
    /* the low 48 bits count: nothing else changes */
    if (made->accesses[0].op->is_rep)
        made->words[4] |= UINT64_C(0x8123000000000000);
    assert_int_equal(made_pass(made, made->word_count, &result), 0);
    made_free(made);
}

/* ---- the shadow ---- */

static uint32_t byte_label(const struct dep_shadow *shadow, uint64_t address)
{
    uint32_t label;
    assert_int_equal(dep_shadow_run(shadow, address, 1, &label), 1);
    return label;
}

static void depend_shadow_moved_labels_are_those_of_the_old_place(void **state)
{
    struct dep_shadow *shadow = calloc(1, sizeof(*shadow));
    uint64_t from = 0x10000, to = 0x7fff00001000;
    (void)state;
    assert_non_null(shadow);
    assert_int_equal(dep_shadow_fill(shadow, from + 100, 9000, 7), 0);
    assert_int_equal(dep_shadow_fill(shadow, from + 201, 1, 8), 0);
    assert_int_equal(dep_shadow_fill(shadow, to, 16384, 9), 0);
    assert_int_equal(dep_shadow_copy(shadow, to, from, 16384), 0);
    for (uint64_t i = 0; i < 16384; i++)
        assert_int_equal(byte_label(shadow, to + i), i == 201 ? 8 : i >= 100 && i < 9100 ? 7 : 0);
    dep_shadow_fini(shadow);
    free(shadow);
}

static void depend_shadow_what_is_given_back_has_no_labels(void **state)
{
    struct dep_shadow *shadow = calloc(1, sizeof(*shadow));
    uint64_t start = 0xffff0000;
    (void)state;
    assert_non_null(shadow);
    assert_int_equal(dep_shadow_fill(shadow, start, 1 << 20, 3), 0);
    assert_int_equal(dep_shadow_fill(shadow, start + 5001, 1, 4), 0);
    assert_int_equal(dep_shadow_fill(shadow, start + 5000, 1000001, 0), 0);
    for (uint64_t i = 0; i < 1 << 20; i++)
        assert_int_equal(byte_label(shadow, start + i), i >= 5000 && i < 1005001 ? 0 : 3);
    /* the sides were given back too: a mixed granule is made anew */
    assert_int_equal(dep_shadow_fill(shadow, start + 5002, 1, 5), 0);
    assert_int_equal(byte_label(shadow, start + 5001), 0);
    assert_int_equal(byte_label(shadow, start + 5002), 5);
    assert_int_equal(dep_shadow_fill(shadow, 0, UINT64_MAX, 0), 0);
    assert_int_equal(byte_label(shadow, start), 0);
    dep_shadow_fini(shadow);
    free(shadow);
}

/* ---- what the finder trusts, broken ---- */

static void assert_reason(int err, const char *reason)
{
    assert_int_equal(err, -WETDBG_ERR_MACHINE);
    if (!strstr(wetdbg_error(err), reason))
        fail_msg("\"%s\" does not say \"%s\"", wetdbg_error(err), reason);
}

static void depend_groups_that_are_broken_are_told_why(void **state)
{
    struct dep_groups groups, whole;
    struct ins_regset set = {0}, changed = {0};
    (void)state;
    dep_groups_init(&whole);
    assert_int_equal(dep_groups_validate(&whole), 0);
    ins_regset_add(&set, INS_LOC_GPR);
    ins_regset_add(&set, INS_LOC_VEC + 1);
    dep_groups_refine(&whole, &set, &changed);
    assert_int_equal(dep_groups_validate(&whole), 0);
    groups = whole;
    groups.of[INS_LOC_GPR] = 5;
    assert_reason(dep_groups_validate(&groups), "location 0 is not in its group 5");
    groups = whole;
    ins_regset_add(&groups.sets[1], INS_LOC_VEC);
    assert_reason(dep_groups_validate(&groups), "groups have");
    groups = whole;
    groups.count = INS_LOC_COUNT + 1;
    assert_reason(dep_groups_validate(&groups), "groups of");
}

static void depend_stretch_that_is_broken_is_told_why(void **state)
{
    struct mark {
        struct dep_mark mark;
        struct evq_entry entry;
    } marks[] = {{{4}, {.bytes = sizeof(struct evq_entry)}},
                 {{9}, {.bytes = sizeof(struct evq_entry)}}};
    struct dep_stretch stretch = {.marks = {(uint8_t *)marks, sizeof(marks), sizeof(marks)}};
    (void)state;
    assert_int_equal(dep_stretch_validate(&stretch), 0);
    marks[1].mark.ring_words = 3;
    assert_reason(dep_stretch_validate(&stretch), "is before another one");
    marks[1].mark.ring_words = 4;
    assert_int_equal(dep_stretch_validate(&stretch), 0);
    marks[1].entry.bytes++;
    assert_reason(dep_stretch_validate(&stretch), "is not whole");
    marks[1].entry.bytes = 0;
    assert_reason(dep_stretch_validate(&stretch), "is not whole");
    stretch.marks.size_bytes -= 8;
    assert_reason(dep_stretch_validate(&stretch), "is not whole");
    stretch.running = EVQ_TASKS_MAX;
    assert_reason(dep_stretch_validate(&stretch), "ends in task");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(depend_code_operands_of_every_size_and_alignment_are_exact),
        cmocka_unit_test(depend_code_an_id_that_is_none_is_an_error),
        cmocka_unit_test(depend_code_a_ring_that_ends_in_a_record_is_an_error),
        cmocka_unit_test(depend_code_an_address_that_is_none_does_no_harm),
        cmocka_unit_test(depend_shadow_moved_labels_are_those_of_the_old_place),
        cmocka_unit_test(depend_shadow_what_is_given_back_has_no_labels),
        cmocka_unit_test(depend_groups_that_are_broken_are_told_why),
        cmocka_unit_test(depend_stretch_that_is_broken_is_told_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
