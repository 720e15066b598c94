/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Building entries, the gate that they have to pass, and their text. */
#include <stdlib.h>
#include <string.h>

#include "recorder/event/ops.h"
#include "recorder/feed/feed.h"
#include "recorder/feed/feed_entry.h"
#include "tests/feed/feed_unit.h"
#include <wetdbg/errors.h>

static const struct evq_regs some_regs = {.r = {[EVQ_RIP] = 0x401000, [EVQ_RSP] = 0x7ffe0000}};

static void add_op(struct feed_builder *builder, struct evq_op op, const void *payload,
                   size_t payload_bytes)
{
    assert_int_equal(feed_entry_op(builder, &op, payload, payload_bytes), 0);
}

/* One entry with an op of each code, all of them right. */
static void build_sample(struct wd_buf *out)
{
    struct feed_builder builder = {.out = out};
    struct evq_entry head = {
        .kind = EVQ_PLACE, .task = 3, .frame = 77, .number = 9, .compare_mask = EVQ_MASK_GENERAL};
    static const uint8_t image[576];
    const struct evq_place place = {.flags = EVQ_PLACE_STACK,
                                    .stack_start = 0x7ffdff80,
                                    .stack_bytes = 4224,
                                    .stack_digest = 0x1234,
                                    .limit = 1000};
    assert_int_equal(feed_entry_begin(&builder, &head, &some_regs), 0);
    add_op(&builder, evq_op_new(EVQ_OP_PLACE), &place, sizeof(place));
    add_op(&builder, evq_op_new(EVQ_OP_CLEAR_SPACE), NULL, 0);
    add_op(
        &builder,
        (struct evq_op){.op = EVQ_OP_MAP,
                        .map = {.start = 0x1000, .size = 0x3000, .prot = 5, .file_bytes = 0x1800}},
        NULL, 0);
    add_op(&builder, evq_op_range(EVQ_OP_WRITE, 0x1001, 5), "hello", 5);
    add_op(&builder, evq_op_range(EVQ_OP_ZERO, 0x1001, 3), NULL, 0);
    add_op(&builder, (struct evq_op){.op = EVQ_OP_PROTECT, .protect = {0x1000, 0x1000, .prot = 7}},
           NULL, 0);
    add_op(&builder,
           (struct evq_op){.op = EVQ_OP_REMAP,
                           .remap = {0x1000, 0x1000, .to = 0x9000, .to_size = 0x2000}},
           NULL, 0);
    add_op(&builder, evq_op_range(EVQ_OP_DISCARD, 0x9000, 0x1000), NULL, 0);
    add_op(&builder, evq_op_range(EVQ_OP_UNMAP, 0x9000, 0x1000), NULL, 0);
    add_op(&builder, (struct evq_op){.op = EVQ_OP_CAPTURE, .capture = {0x2000, 16, .tag = 1}}, NULL,
           0);
    add_op(&builder, (struct evq_op){.op = EVQ_OP_TASK_NEW, .task_new = {.task = 4}}, &some_regs,
           sizeof(some_regs));
    add_op(&builder, (struct evq_op){.op = EVQ_OP_XSTATE, .xstate = {.size = 576}}, image, 576);
    add_op(&builder, evq_op_new(EVQ_OP_REGS), &some_regs, sizeof(some_regs));
}

static struct evq_op *op_of(struct wd_buf *buf, uint32_t code)
{
    struct evq_entry *entry = (struct evq_entry *)(void *)buf->data;
    for (const struct evq_op *op = NULL; (op = evq_op_next(entry, op));)
        if (op->op == code)
            return (struct evq_op *)op;
    fail();
    return NULL;
}

static void sample_passes_the_gate(void **state)
{
    (void)state;
    struct wd_buf buf = {0};
    build_sample(&buf);
    const struct evq_entry *entry = (const struct evq_entry *)(void *)buf.data;
    assert_int_equal(entry->bytes, buf.size_bytes);
    assert_int_equal(entry->op_count, EVQ_OP_PLACE);
    assert_int_equal(evq_entry_check(buf.data, buf.size_bytes), 0);
    wd_buf_fini(&buf);
}

#define PLACE_AT(field) (sizeof(struct evq_op) + offsetof(struct evq_place, field))

enum field { ENTRY_KIND, ENTRY_FLAGS, ENTRY_TASK, ENTRY_MASK, ENTRY_BYTES, ENTRY_OPS, OP };
static const struct spoiled {
    enum field field;
    uint32_t op;
    size_t offset; /* of a u64 in the op */
    uint64_t value;
} spoiled[] = {
    {ENTRY_KIND, 0, 0, 0},
    {ENTRY_KIND, 0, 0, EVQ_PAD},
    {ENTRY_KIND, 0, 0, EVQ_SYSCALL_ENTER}, /* with a place */
    {ENTRY_FLAGS, 0, 0, 0x20 | EVQ_FLAG_REGS},
    {ENTRY_FLAGS, 0, 0, 0}, /* compares without registers */
    {ENTRY_TASK, 0, 0, EVQ_TASKS_MAX},
    {ENTRY_MASK, 0, 0, 1u << EVQ_REG_COUNT},
    {ENTRY_BYTES, 0, 0, 40},
    {ENTRY_BYTES, 0, 0, 1u << 20},
    {ENTRY_OPS, 0, 0, EVQ_OP_PLACE - 1},
    {ENTRY_OPS, 0, 0, EVQ_OP_PLACE + 1},
    {ENTRY_OPS, 0, 0, UINT32_MAX},
    {OP, EVQ_OP_MAP, offsetof(struct evq_op, map.start), 0x1008},
    {OP, EVQ_OP_MAP, offsetof(struct evq_op, map.size), 0},
    {OP, EVQ_OP_MAP, offsetof(struct evq_op, map.size), UINT64_MAX - 0xfff},
    {OP, EVQ_OP_MAP, offsetof(struct evq_op, map.prot), 8},
    {OP, EVQ_OP_MAP, offsetof(struct evq_op, map.file_off), 1},
    {OP, EVQ_OP_MAP, offsetof(struct evq_op, map.file_off), UINT64_MAX - 0xfff},
    {OP, EVQ_OP_MAP, offsetof(struct evq_op, map.file_bytes), 0x3001},
    {OP, EVQ_OP_WRITE, offsetof(struct evq_op, range.start), UINT64_MAX - 2},
    {OP, EVQ_OP_WRITE, offsetof(struct evq_op, range.start), 0x7ffffffff000 - 4},
    {OP, EVQ_OP_WRITE, offsetof(struct evq_op, range.size), 9},
    {OP, EVQ_OP_WRITE, offsetof(struct evq_op, range.size), UINT64_MAX},
    {OP, EVQ_OP_WRITE, offsetof(struct evq_op, range.size), 0},
    {OP, EVQ_OP_ZERO, offsetof(struct evq_op, range.size), UINT64_MAX},
    {OP, EVQ_OP_PROTECT, offsetof(struct evq_op, protect.prot), 8},
    {OP, EVQ_OP_REMAP, offsetof(struct evq_op, remap.to_size), 0},
    {OP, EVQ_OP_REMAP, offsetof(struct evq_op, remap.to), 1},
    {OP, EVQ_OP_REMAP, offsetof(struct evq_op, remap.stays), 2},
    {OP, EVQ_OP_DISCARD, offsetof(struct evq_op, range.size), 1},
    {OP, EVQ_OP_UNMAP, offsetof(struct evq_op, range.size), 1ull << 63},
    {OP, EVQ_OP_CAPTURE, offsetof(struct evq_op, capture.size), 65537},
    {OP, EVQ_OP_TASK_NEW, offsetof(struct evq_op, task_new.task), EVQ_TASKS_MAX},
    {OP, EVQ_OP_XSTATE, offsetof(struct evq_op, xstate.size), 512},
    {OP, EVQ_OP_XSTATE, offsetof(struct evq_op, xstate.size), 1024},
    {OP, EVQ_OP_REGS, offsetof(struct evq_op, bytes), EVQ_OP_WRITE},
    {OP, EVQ_OP_REGS, offsetof(struct evq_op, bytes), 0},
    {OP, EVQ_OP_WRITE, offsetof(struct evq_op, op), EVQ_OP_PLACE},
    {OP, EVQ_OP_PLACE, offsetof(struct evq_op, op), EVQ_OP_REGS},
    {OP, EVQ_OP_PLACE, PLACE_AT(flags), 256},
    {OP, EVQ_OP_PLACE, PLACE_AT(flags), EVQ_PLACE_STACK | EVQ_PLACE_LINES}, /* no lines follow */
    {OP, EVQ_OP_PLACE, PLACE_AT(heap_bytes), UINT64_MAX},
    {OP, EVQ_OP_PLACE, PLACE_AT(stack_bytes), (1u << 20) + 1},
    {OP, EVQ_OP_PLACE, PLACE_AT(data_bytes), UINT64_MAX},
};

static void spoil(struct wd_buf *buf, const struct spoiled *how)
{
    struct evq_entry *entry = (struct evq_entry *)(void *)buf->data;
    switch (how->field) {
    case ENTRY_KIND:
        entry->kind = (uint16_t)how->value;
        break;
    case ENTRY_FLAGS:
        entry->flags = (uint16_t)how->value;
        break;
    case ENTRY_TASK:
        entry->task = (uint32_t)how->value;
        break;
    case ENTRY_MASK:
        entry->compare_mask = (uint32_t)how->value;
        break;
    case ENTRY_BYTES:
        entry->bytes = (uint32_t)how->value;
        break;
    case ENTRY_OPS:
        entry->op_count = (uint32_t)how->value;
        break;
    case OP:
        memcpy((uint8_t *)op_of(buf, how->op) + how->offset, &how->value, sizeof(how->value));
        break;
    }
}

static void each_spoiled_field_is_rejected(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(spoiled) / sizeof(spoiled[0]); i++) {
        struct wd_buf buf = {0};
        build_sample(&buf);
        spoil(&buf, &spoiled[i]);
        if (evq_entry_check(buf.data, buf.size_bytes) != -WETDBG_ERR_CORRUPT)
            fail_msg("row %zu was accepted", i);
        wd_buf_fini(&buf);
    }
}

static void every_cut_is_rejected(void **state)
{
    (void)state;
    struct wd_buf buf = {0};
    build_sample(&buf);
    for (size_t size = 0; size < buf.size_bytes; size++) {
        uint8_t *exact = malloc(size + 1); /* so that a sanitizer sees reads beyond */
        assert_non_null(exact);
        memcpy(exact, buf.data, size);
        assert_int_equal(evq_entry_check(exact, size), -WETDBG_ERR_CORRUPT);
        free(exact);
    }
    wd_buf_fini(&buf);
}

/* Whatever passes can be printed without reading outside, which a sanitizer watches. */
static void random_damage_never_reads_outside(void **state)
{
    (void)state;
    struct wd_buf buf = {0};
    FILE *null = fopen("/dev/null", "w");
    unsigned passed = 0;
    assert_non_null(null);
    build_sample(&buf);
    srandom(7);
    for (int round = 0; round < 20000; round++) {
        uint8_t *exact = malloc(buf.size_bytes);
        assert_non_null(exact);
        memcpy(exact, buf.data, buf.size_bytes);
        for (int i = 0; i < 3; i++)
            exact[(size_t)random() % buf.size_bytes] = (uint8_t)random();
        if (!evq_entry_check(exact, buf.size_bytes)) {
            rep_entry_print((const struct evq_entry *)(void *)exact, null);
            passed++;
        }
        free(exact);
    }
    assert_true(passed > 0 && passed < 20000);
    fclose(null);
    wd_buf_fini(&buf);
}

/* Fills an entry of `kind` with more than one may hold; the kinds that come out. */
static size_t overfill(uint16_t kind, uint16_t *kinds, size_t limit)
{
    static uint8_t bytes[1 << 20];
    struct wd_buf buf = {0};
    struct feed_builder builder = {.out = &buf};
    struct evq_entry head = {.kind = kind, .task = 1, .frame = 5, .number = 2};
    size_t count = 0;
    uint64_t total = 0;
    assert_int_equal(feed_entry_begin(&builder, &head, NULL), 0);
    for (uint64_t i = 0; i < 9; i++)
        add_op(&builder, evq_op_range(EVQ_OP_WRITE, 0x10000 + i * sizeof(bytes), sizeof(bytes)),
               bytes, sizeof(bytes));
    add_op(&builder, evq_op_new(EVQ_OP_REGS), &some_regs, sizeof(some_regs));
    for (size_t at = 0; at < buf.size_bytes;) {
        const struct evq_entry *entry = (const struct evq_entry *)(void *)(buf.data + at);
        assert_int_equal(evq_entry_check(entry, buf.size_bytes - at), 0);
        assert_int_equal(entry->frame, 5);
        assert_int_equal(entry->task, 1);
        assert_true(count < limit);
        kinds[count++] = entry->kind;
        total += entry->op_count;
        at += entry->bytes;
    }
    assert_int_equal(total, 10);
    wd_buf_fini(&buf);
    return count;
}

static void too_large_exit_comes_last(void **state)
{
    (void)state;
    uint16_t kinds[8];
    size_t count = overfill(EVQ_SYSCALL_EXIT, kinds, 8);
    assert_true(count > 2);
    for (size_t i = 0; i + 1 < count; i++)
        assert_int_equal(kinds[i], EVQ_OPS);
    assert_int_equal(kinds[count - 1], EVQ_SYSCALL_EXIT);
}

static void too_large_entry_that_runs_comes_first(void **state)
{
    (void)state;
    uint16_t kinds[8];
    size_t count = overfill(EVQ_SYSCALL_ENTER, kinds, 8);
    assert_true(count > 2);
    assert_int_equal(kinds[0], EVQ_SYSCALL_ENTER);
    for (size_t i = 1; i < count; i++)
        assert_int_equal(kinds[i], EVQ_OPS);
}

static void print_gives_a_line_for_each_op(void **state)
{
    (void)state;
    struct wd_buf buf = {0};
    char *text;
    size_t size, lines = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    build_sample(&buf);
    assert_int_equal(rep_entry_print((const struct evq_entry *)(void *)buf.data, out), 0);
    fclose(out);
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    assert_int_equal(lines, 1 + EVQ_OP_PLACE);
    assert_non_null(strstr(text, "77 PLACE task 3 number 9"));
    assert_non_null(strstr(text, "    PLACE searched, stack [0x7ffdff80, 0x7ffe1000)"));
    assert_non_null(strstr(text, "    MAP [0x1000, 0x4000) r-x file 0 from 0, 0x1800 bytes"));
    free(text);
    wd_buf_fini(&buf);
}

static void names_of_nothing_are_question_marks(void **state)
{
    (void)state;
    assert_string_equal(rep_entry_kind_name(0), "?");
    assert_string_equal(rep_entry_kind_name(1000), "?");
    assert_string_equal(rep_opcode_name(0), "?");
    assert_string_equal(rep_opcode_name(EVQ_OP_PLACE + 1), "?");
    for (unsigned kind = EVQ_OPS; kind <= EVQ_PAD; kind++)
        assert_string_not_equal(rep_entry_kind_name(kind), "?");
    for (unsigned op = EVQ_OP_REGS; op <= EVQ_OP_PLACE; op++)
        assert_string_not_equal(rep_opcode_name(op), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sample_passes_the_gate),
        cmocka_unit_test(each_spoiled_field_is_rejected),
        cmocka_unit_test(every_cut_is_rejected),
        cmocka_unit_test(random_damage_never_reads_outside),
        cmocka_unit_test(too_large_exit_comes_last),
        cmocka_unit_test(too_large_entry_that_runs_comes_first),
        cmocka_unit_test(print_gives_a_line_for_each_op),
        cmocka_unit_test(names_of_nothing_are_question_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
