/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The packed form, segments and pointers; each way in which they can be malformed. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/rr_trace/capnp.h"
#include "tests/rr_trace/rr_trace_unit.h"
#include "tests/rr_trace/trace_build.h"
#include <wetdbg/errors.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct rrt_stream stream;
static struct rrt_message message;

/* Reads the first message of packed bytes. */
static int read_packed(const void *bytes, size_t count)
{
    rrt_stream_close(&stream);
    assert_int_equal(rrt_stream_open_memory(&stream, "m", bytes, count), 0);
    return rrt_message_read(&message, &stream);
}

/* Reads a message given as segments of words. */
static struct wd_buf packed;
static int read_segments(const uint64_t *const *segments, const uint32_t *sizes, uint32_t count)
{
    uint32_t table[2 * (RRT_MESSAGE_MAX_SEGMENTS + 2)] = {count - 1};
    uint64_t words[RRT_MESSAGE_MAX_SEGMENTS + 2];
    memcpy(table + 1, sizes, count * sizeof(*sizes));
    memcpy(words, table, sizeof(words));
    wd_buf_fini(&packed);
    build_pack_words(&packed, words, 1);
    if (count > 1)
        build_pack_words(&packed, words + 1, count / 2);
    for (uint32_t i = 0; i < count; i++)
        build_pack_words(&packed, segments[i], sizes[i]);
    return read_packed(packed.data, packed.size_bytes);
}

static int read_words(const uint64_t *words, uint32_t count)
{
    return read_segments(&words, &count, 1);
}

static int tear_down(void **state)
{
    (void)state;
    rrt_stream_close(&stream);
    rrt_message_fini(&message);
    wd_buf_fini(&packed);
    return 0;
}

/* ---------------------------------------------------------------- packing */

static void packed_example_of_the_format_unpacks(void **state)
{
    (void)state;
    /* table: 1 segment of 5 words; a word of each kind, with runs */
    static const uint8_t bytes[] = {0x10, 5,                                  /* table */
                                    0x51, 0x08, 0x03, 0x02,                   /* three bytes */
                                    0x00, 1,                                  /* two zero words */
                                    0xff, 1,    2,    3,    4, 5, 6, 7, 8, 1, /* verbatim */
                                    9,    0,    0,    0,    0, 0, 0, 0};
    assert_int_equal(read_packed(bytes, sizeof(bytes)), 1);
    assert_int_equal(message.segment_count, 1);
    assert_int_equal(message.segments[0].word_count, 5);
    assert_int_equal(message.words[0], 0x0002000300000008);
    assert_int_equal(message.words[1], 0);
    assert_int_equal(message.words[2], 0);
    assert_int_equal(message.words[3], 0x0807060504030201);
    assert_int_equal(message.words[4], 9);
    assert_int_equal(rrt_message_read(&message, &stream), 0);
}

static void packed_random_words_round_trip(void **state)
{
    uint64_t words[700];
    uint64_t seed = 42;
    (void)state;
    for (unsigned round = 0; round < 50; round++) {
        for (size_t i = 0; i < COUNT(words); i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            unsigned kind = seed >> 60;
            words[i] = kind < 4 ? 0 : kind < 8 ? seed | 0x0101010101010101 : seed & seed >> 13;
        }
        assert_int_equal(read_words(words, COUNT(words)), 1);
        assert_memory_equal(message.words, words, sizeof(words));
    }
}

static void packed_bytes_that_end_early_are_corrupt(void **state)
{
    uint64_t words[20] = {1, 0, 0, UINT64_MAX, UINT64_MAX, 0x0100, 7};
    (void)state;
    assert_int_equal(read_words(words, COUNT(words)), 1);
    struct wd_buf whole = packed;
    memset(&packed, 0, sizeof(packed));
    for (size_t cut = 1; cut < whole.size_bytes; cut++)
        assert_int_equal(read_packed(whole.data, cut), -WETDBG_ERR_CORRUPT);
    assert_int_equal(read_packed(whole.data, 0), 0);
    wd_buf_fini(&whole);
}

static void packed_malformed_bytes_are_corrupt(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t count;
        uint8_t bytes[16];
    } rows[] = {
        {"zero run into the next segment", 4, {0x10, 2, 0x00, 2}},
        {"verbatim run into the next segment", 12, {0x10, 1, 0xff, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
        {"too many segments", 4, {0x03, 0x00, 0x02, 0x10}},
        {"four billion segments", 5, {0x0f, 0xff, 0xff, 0xff, 0xff}},
        {"a segment of four billion words", 5, {0xf0, 0xff, 0xff, 0xff, 0xff}},
        {"run in the table", 2, {0x00, 1}},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int r = read_packed(rows[i].bytes, rows[i].count);
        if (r != -WETDBG_ERR_CORRUPT)
            fail_msg("%s: %d", rows[i].name, r);
    }
}

static void message_of_many_segments_is_read(void **state)
{
    static uint64_t word[RRT_MESSAGE_MAX_SEGMENTS];
    const uint64_t *segments[RRT_MESSAGE_MAX_SEGMENTS];
    uint32_t sizes[RRT_MESSAGE_MAX_SEGMENTS];
    (void)state;
    for (uint32_t i = 0; i < RRT_MESSAGE_MAX_SEGMENTS; i++) {
        word[i] = i + 1;
        segments[i] = &word[i];
        sizes[i] = 1;
    }
    for (uint32_t count = 1; count <= RRT_MESSAGE_MAX_SEGMENTS; count += 73) {
        assert_int_equal(read_segments(segments, sizes, count), 1);
        assert_int_equal(message.segment_count, count);
        assert_int_equal(message.words[count - 1], count);
    }
    assert_int_equal(read_segments(segments, sizes, RRT_MESSAGE_MAX_SEGMENTS), 1);
}

/* ---------------------------------------------------------------- pointers */

#define STRUCT(offset, data, pointers)                                                             \
    ((uint64_t)(uint32_t)((uint32_t)(offset) << 2) | (uint64_t)(data) << 32 |                      \
     (uint64_t)(pointers) << 48)
#define LIST(offset, element, count)                                                               \
    (1 | (uint64_t)(uint32_t)((uint32_t)(offset) << 2) | (uint64_t)(element) << 32 |               \
     (uint64_t)(count) << 35)
#define FAR(segment, at)        (2 | (uint64_t)(at) << 3 | (uint64_t)(segment) << 32)
#define DOUBLE_FAR(segment, at) (FAR(segment, at) | 4)

static void pointer_to_struct_gives_fields_and_defaults(void **state)
{
    const uint64_t words[] = {STRUCT(0, 2, 1), 0x8877665544332211, UINT64_MAX, 0};
    struct rrt_object root;
    struct rrt_object child;
    struct rrt_bytes bytes;
    (void)state;
    assert_int_equal(read_words(words, COUNT(words)), 1);
    assert_int_equal(rrt_message_root(&message, &root), 0);
    assert_int_equal(rrt_object_u64(&root, 0), 0x8877665544332211);
    assert_int_equal(rrt_object_u32(&root, 32), 0x88776655);
    assert_int_equal(rrt_object_u16(&root, 48), 0x8877);
    assert_int_equal(rrt_object_u8(&root, 8), 0x22);
    assert_true(rrt_object_bit(&root, 4));
    assert_false(rrt_object_bit(&root, 1));
    assert_int_equal(rrt_object_i32(&root, 64), -1);
    assert_int_equal(rrt_object_i64(&root, 64), -1);
    assert_int_equal(rrt_object_u64(&root, 128), 0); /* beyond the data: a default */
    assert_int_equal(rrt_object_u16(&root, 65535 * 64), 0);
    assert_int_equal(rrt_object_bytes(&root, 0, &bytes), 0); /* null */
    assert_int_equal(bytes.size_bytes, 0);
    assert_int_equal(rrt_object_struct(&root, 9, &child), 0); /* absent */
    assert_int_equal(rrt_object_u64(&child, 0), 0);
    assert_int_equal(rrt_object_bytes(&child, 0, &bytes), 0);
}

static void pointer_far_leads_to_another_segment(void **state)
{
    const uint64_t first[] = {FAR(1, 1)};
    const uint64_t second[] = {99, STRUCT(0, 1, 1), 42, LIST(0, 2, 5), 0x6f6c6c6568};
    const uint64_t *segments[] = {first, second};
    const uint32_t sizes[] = {COUNT(first), COUNT(second)};
    struct rrt_object root;
    struct rrt_bytes bytes;
    (void)state;
    assert_int_equal(read_segments(segments, sizes, 2), 1);
    assert_int_equal(rrt_message_root(&message, &root), 0);
    assert_int_equal(rrt_object_u64(&root, 0), 42);
    assert_int_equal(rrt_object_bytes(&root, 0, &bytes), 0);
    assert_int_equal(bytes.size_bytes, 5);
    assert_memory_equal(bytes.data, "hello", 5);
}

static void pointer_double_far_leads_to_a_third_segment(void **state)
{
    /* root: a struct whose landing pad (segment 1) names content in segment 2; its pointer: a
     * list of structs in segment 2 by way of another pad. A tag's offset means nothing. */
    const uint64_t first[] = {DOUBLE_FAR(1, 0)};
    const uint64_t second[] = {FAR(2, 1), STRUCT(9, 1, 1), FAR(2, 3), LIST(0, 7, 2)};
    const uint64_t third[] = {7, 42, DOUBLE_FAR(1, 2), STRUCT(2, 1, 0), 5, 6};
    const uint64_t *segments[] = {first, second, third};
    const uint32_t sizes[] = {COUNT(first), COUNT(second), COUNT(third)};
    struct rrt_object root;
    struct rrt_list list;
    (void)state;
    assert_int_equal(read_segments(segments, sizes, 3), 1);
    assert_int_equal(rrt_message_root(&message, &root), 0);
    assert_int_equal(rrt_object_u64(&root, 0), 42);
    assert_int_equal(rrt_object_list(&root, 0, RRT_ELEMENT_STRUCT, &list), 0);
    assert_int_equal(list.count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        struct rrt_object element = rrt_list_struct(&list, i);
        assert_int_equal(rrt_object_u64(&element, 0), 5 + i);
    }
}

static void pointer_backwards_is_followed(void **state)
{
    const uint64_t words[] = {STRUCT(1, 0, 1), 0x41, LIST(-2, 2, 1)};
    struct rrt_object root;
    struct rrt_bytes bytes;
    (void)state;
    assert_int_equal(read_words(words, COUNT(words)), 1);
    assert_int_equal(rrt_message_root(&message, &root), 0);
    assert_int_equal(rrt_object_bytes(&root, 0, &bytes), 0);
    assert_int_equal(bytes.size_bytes, 1);
    assert_int_equal(bytes.data[0], 'A');
}

static void list_of_each_kind_is_read(void **state)
{
    static const uint32_t numbers[] = {10, 20, 30};
    struct build build;
    struct rrt_object root;
    struct rrt_list list;
    struct rrt_bytes bytes;
    (void)state;
    struct built built = build_root(&build, 0, 3);
    build_u32s(&build, built.pointers, numbers, 3);
    size_t strings = build_pointers(&build, built.pointers + 1, 3);
    build_bytes(&build, strings, "one", 3);
    build_bytes(&build, strings + 2, "a longer string", 15);
    build_structs(&build, built.pointers + 2, 0, 3, 1);
    assert_int_equal(read_words(build.words, (uint32_t)build.count), 1);
    assert_int_equal(rrt_message_root(&message, &root), 0);
    assert_int_equal(rrt_object_list(&root, 0, RRT_ELEMENT_U32, &list), 0);
    assert_int_equal(list.count, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(rrt_list_u32(&list, i), numbers[i]);
    assert_int_equal(rrt_object_list(&root, 1, RRT_ELEMENT_POINTER, &list), 0);
    assert_int_equal(list.count, 3);
    assert_int_equal(rrt_list_bytes(&list, 0, &bytes), 0);
    assert_memory_equal(bytes.data, "one", 3);
    assert_int_equal(rrt_list_bytes(&list, 1, &bytes), 0);
    assert_int_equal(bytes.size_bytes, 0);
    assert_int_equal(rrt_list_bytes(&list, 2, &bytes), 0);
    assert_memory_equal(bytes.data, "a longer string", 15);
    assert_int_equal(rrt_object_list(&root, 2, RRT_ELEMENT_STRUCT, &list), 0);
    assert_int_equal(list.count, 0);
}

/* The root is STRUCT(0, 0, 1) and its one pointer is in words[1]. */
static int follow(const uint64_t *words, uint32_t count, enum rrt_element element)
{
    struct rrt_object root;
    struct rrt_list list;
    struct rrt_object object;
    assert_int_equal(read_words(words, count), 1);
    int r = rrt_message_root(&message, &root);
    if (r != 0)
        return r;
    if (element == 0)
        return rrt_object_struct(&root, 0, &object);
    r = rrt_object_list(&root, 0, element, &list);
    for (uint32_t i = 0; r == 0 && element == RRT_ELEMENT_POINTER && i < list.count; i++) {
        struct rrt_bytes bytes;
        r = rrt_list_bytes(&list, i, &bytes);
    }
    return r;
}

static void pointer_malformed_is_corrupt(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int element; /* 0: struct */
        uint64_t words[5];
    } rows[] = {
        {"root outside", 0, {STRUCT(9, 1, 0)}},
        {"root before the segment", 0, {STRUCT(-3, 1, 0)}},
        {"root is a list", 0, {LIST(0, 2, 1)}},
        {"struct just too long", 0, {STRUCT(0, 0, 1), STRUCT(0, 4, 0)}},
        {"struct of 65535 words twice", 0, {STRUCT(0, 0, 1), STRUCT(0, 65535, 65535)}},
        {"struct where a list is", 0, {STRUCT(0, 0, 1), LIST(0, 2, 1)}},
        {"list where a struct is", 2, {STRUCT(0, 0, 1), STRUCT(0, 1, 0)}},
        {"list of other elements", 2, {STRUCT(0, 0, 1), LIST(0, 5, 1)}},
        {"capability pointer", 2, {STRUCT(0, 0, 1), 3}},
        {"bytes just too long", 2, {STRUCT(0, 0, 1), LIST(0, 2, 25)}},
        {"bytes far too long", 2, {STRUCT(0, 0, 1), LIST(0, 2, 0x1fffffff)}},
        {"bytes before the segment", 2, {STRUCT(0, 0, 1), LIST(-3, 2, 1)}},
        {"bytes at the least offset", 2, {STRUCT(0, 0, 1), LIST(0x20000000, 2, 1)}},
        {"far into no segment", 2, {STRUCT(0, 0, 1), FAR(1, 0)}},
        {"far outside the segment", 2, {STRUCT(0, 0, 1), FAR(0, 5)}},
        {"far to itself", 2, {STRUCT(0, 0, 1), FAR(0, 1)}},
        {"far to far", 2, {STRUCT(0, 0, 1), FAR(0, 2), FAR(0, 3), LIST(0, 2, 1)}},
        {"double far, half a pad", 2, {STRUCT(0, 0, 1), DOUBLE_FAR(0, 4)}},
        {"double far, pad no far", 2, {STRUCT(0, 0, 1), DOUBLE_FAR(0, 2), STRUCT(0, 0, 0)}},
        {"double far to double far",
         2,
         {STRUCT(0, 0, 1), DOUBLE_FAR(0, 2), DOUBLE_FAR(0, 0), LIST(0, 2, 1)}},
        {"double far, content outside",
         2,
         {STRUCT(0, 0, 1), DOUBLE_FAR(0, 2), FAR(0, 5), LIST(0, 2, 1)}},
        {"double far, no segment",
         2,
         {STRUCT(0, 0, 1), DOUBLE_FAR(0, 2), FAR(9, 0), LIST(0, 2, 1)}},
        {"struct list without its tag", 7, {STRUCT(3, 0, 1), 0, 0, 0, LIST(0, 7, 0)}},
        {"struct list, tag is a list", 7, {STRUCT(0, 0, 1), LIST(0, 7, 1), LIST(1, 1, 0)}},
        {"struct list, too many", 7, {STRUCT(0, 0, 1), LIST(0, 7, 2), STRUCT(3, 1, 0)}},
        {"struct list, a billion",
         7,
         {STRUCT(0, 0, 1), LIST(0, 7, 2), STRUCT(0x3fffffff, 65535, 65535)}},
        {"struct list of nothings", 7, {STRUCT(0, 0, 1), LIST(0, 7, 0), STRUCT(1000000, 0, 0)}},
        {"pointer list outside", 6, {STRUCT(0, 0, 1), LIST(0, 6, 4)}},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int r = follow(rows[i].words, COUNT(rows[i].words), (enum rrt_element)rows[i].element);
        if (r != -WETDBG_ERR_CORRUPT)
            fail_msg("%s: %d", rows[i].name, r);
    }
}

/* Pointers that all lead to the same bytes would multiply the work: 200 of them exceed what the
 * message itself holds. */
static void pointer_targets_that_are_shared_are_corrupt(void **state)
{
    static uint64_t words[2 + 200 + 100];
    (void)state;
    words[0] = STRUCT(0, 0, 1);
    words[1] = LIST(0, 6, 200);
    for (uint32_t i = 0; i < 200; i++)
        words[2 + i] = LIST(199 - i, 2, 800);
    assert_int_equal(follow(words, COUNT(words), RRT_ELEMENT_POINTER), -WETDBG_ERR_CORRUPT);
}

#define CASE(function) cmocka_unit_test_teardown(function, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        CASE(packed_example_of_the_format_unpacks),
        CASE(packed_random_words_round_trip),
        CASE(packed_bytes_that_end_early_are_corrupt),
        CASE(packed_malformed_bytes_are_corrupt),
        CASE(message_of_many_segments_is_read),
        CASE(pointer_to_struct_gives_fields_and_defaults),
        CASE(pointer_far_leads_to_another_segment),
        CASE(pointer_double_far_leads_to_a_third_segment),
        CASE(pointer_backwards_is_followed),
        CASE(list_of_each_kind_is_read),
        CASE(pointer_malformed_is_corrupt),
        CASE(pointer_targets_that_are_shared_are_corrupt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
