/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The packed form is undone piece by piece (segment table, then each segment): the writer packs
 * the pieces separately, so a run that would overshoot its piece is damage.
 *
 * All positions are kept as words into a segment and added up in 64 bits; locate() is the one
 * place where they become a place in memory, and it refuses what is not inside the segment.
 */
#include "recorder/rr_trace/capnp.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <wetdbg/errors.h>

#define BUDGET_SLACK_WORDS 64

int rrt_message_fail(const struct rrt_message *message, int code, const char *format, ...)
{
    char what[512];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    const struct rrt_stream *stream = message->stream;
    if (stream->fd < 0)
        return wetdbg_fail(code, "%s: record at byte %u: %s", stream->path, message->block_at,
                           what);
    return wetdbg_fail(code, "%s: record at byte %u of the block at offset %lu: %s", stream->path,
                       message->block_at, (unsigned long)message->block_off, what);
}

/* ---------------------------------------------------------------- unpacking */

static int unpack_tagged_word(struct rrt_stream *stream, uint8_t tag, uint64_t *word)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; i++) {
        uint8_t byte;
        if (!(tag >> i & 1))
            continue;
        int r = rrt_stream_read_byte(stream, &byte);
        if (r != 0)
            return r;
        value |= (uint64_t)byte << (8 * i);
    }
    *word = value;
    return 0;
}

static int unpack_words(struct rrt_stream *stream, uint64_t *words, size_t count)
{
    for (size_t i = 0; i < count;) {
        uint8_t tag;
        uint8_t run = 0;
        int r = rrt_stream_read_byte(stream, &tag);
        if (r == 0)
            r = unpack_tagged_word(stream, tag, &words[i++]);
        if (r == 0 && (tag == 0x00 || tag == 0xff))
            r = rrt_stream_read_byte(stream, &run);
        if (r != 0)
            return r;
        if (run > count - i)
            return rrt_stream_fail(stream, -WETDBG_ERR_CORRUPT,
                                   "a packed run overshoots its segment");
        if (tag == 0x00)
            memset(&words[i], 0, run * sizeof(*words));
        else if (tag == 0xff)
            r = rrt_stream_read(stream, &words[i], run * sizeof(*words));
        if (r != 0)
            return r;
        i += run;
    }
    return 0;
}

static int read_segment_table(struct rrt_message *message, struct rrt_stream *stream,
                              uint64_t *total_words)
{
    uint64_t table[RRT_MESSAGE_MAX_SEGMENTS / 2 + 1];
    int r = unpack_words(stream, table, 1);
    if (r != 0)
        return r;
    uint64_t count = (table[0] & UINT32_MAX) + 1;
    if (count > RRT_MESSAGE_MAX_SEGMENTS)
        return rrt_message_fail(message, -WETDBG_ERR_CORRUPT, "%lu segments are too many",
                                (unsigned long)count);
    r = unpack_words(stream, table + 1, count / 2);
    if (r != 0)
        return r;
    uint64_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t words = table[(i + 1) / 2] >> ((i + 1) % 2 * 32) & UINT32_MAX;
        if (words > RRT_MESSAGE_MAX_WORDS - total)
            return rrt_message_fail(message, -WETDBG_ERR_CORRUPT, "larger than %lu words",
                                    (unsigned long)RRT_MESSAGE_MAX_WORDS);
        message->segments[i].first_word = (uint32_t)total;
        message->segments[i].word_count = (uint32_t)words;
        total += words;
    }
    message->segment_count = (uint32_t)count;
    *total_words = total;
    return 0;
}

static int reserve_words(struct rrt_message *message, size_t count)
{
    if (message->words && message->capacity_words >= count)
        return 0;
    size_t capacity = count < 512 ? 512 : count;
    uint64_t *words = malloc(capacity * sizeof(*words));
    if (!words)
        return -ENOMEM;
    free(message->words);
    message->words = words;
    message->capacity_words = capacity;
    return 0;
}

int rrt_message_read(struct rrt_message *message, struct rrt_stream *stream)
{
    uint64_t total;
    message->segment_count = 0;
    message->stream = stream;
    int r = rrt_stream_at_end(stream);
    if (r != 0)
        return r < 0 ? r : 0;
    message->block_off = stream->block_off;
    message->block_at = stream->at;
    r = read_segment_table(message, stream, &total);
    if (r == 0)
        r = reserve_words(message, (size_t)total);
    for (uint32_t i = 0; r == 0 && i < message->segment_count; i++)
        r = unpack_words(stream, message->words + message->segments[i].first_word,
                         message->segments[i].word_count);
    if (r != 0) {
        message->segment_count = 0;
        return r;
    }
    message->budget_words = total + BUDGET_SLACK_WORDS;
    return 1;
}

void rrt_message_fini(struct rrt_message *message)
{
    free(message->words);
    memset(message, 0, sizeof(*message));
}

/* ---------------------------------------------------------------- pointers */

enum {
    KIND_STRUCT = 0,
    KIND_LIST = 1,
    KIND_FAR = 2,
};

/* A pointer after its far jumps: its word, and the position that its offset counts from. */
struct target {
    uint64_t word;
    uint32_t segment;
    int64_t base;
};

static const uint64_t *locate(const struct rrt_message *message, uint32_t segment, int64_t at,
                              uint64_t count)
{
    if (segment >= message->segment_count || at < 0)
        return NULL;
    uint64_t words = message->segments[segment].word_count;
    if ((uint64_t)at > words || count > words - (uint64_t)at)
        return NULL;
    return message->words + message->segments[segment].first_word + at;
}

static int spend(struct rrt_message *message, uint64_t words)
{
    if (words > message->budget_words)
        return rrt_message_fail(message, -WETDBG_ERR_CORRUPT, "its pointers overlap");
    message->budget_words -= words;
    return 0;
}

static int32_t pointer_offset(uint64_t word)
{
    return (int32_t)(uint32_t)word >> 2;
}

/* Follows a far pointer `word` to its landing pad. */
static int follow_far(const struct rrt_message *message, uint64_t word, struct target *target)
{
    bool is_double = word >> 2 & 1;
    uint32_t segment = (uint32_t)(word >> 32);
    int64_t pad_at = (uint32_t)word >> 3;
    const uint64_t *pad = locate(message, segment, pad_at, is_double ? 2 : 1);
    if (!pad)
        return rrt_message_fail(message, -WETDBG_ERR_CORRUPT, "a far pointer leads outside");
    if (!is_double) {
        target->word = pad[0];
        target->segment = segment;
        target->base = pad_at + 1;
    } else {
        if ((pad[0] & 7) != KIND_FAR)
            return rrt_message_fail(message, -WETDBG_ERR_CORRUPT,
                                    "a double far pointer is malformed");
        target->word = pad[1] & ~(uint64_t)0xfffffffc; /* the tag's offset means nothing */
        target->segment = (uint32_t)(pad[0] >> 32);
        target->base = (uint32_t)pad[0] >> 3;
    }
    if ((target->word & 3) == KIND_FAR)
        return rrt_message_fail(message, -WETDBG_ERR_CORRUPT, "a far pointer leads to another one");
    return 0;
}

/* Resolves the pointer word at `at`. target->word 0 is null. */
static int resolve(const struct rrt_message *message, uint32_t segment, uint64_t at,
                   struct target *target)
{
    const uint64_t *word = locate(message, segment, (int64_t)at, 1);
    *target = (struct target){0};
    if (!word)
        return rrt_message_fail(message, -WETDBG_ERR_CORRUPT, "a pointer lies outside");
    if ((*word & 3) == KIND_FAR)
        return follow_far(message, *word, target);
    target->word = *word;
    target->segment = segment;
    target->base = (int64_t)at + 1;
    return 0;
}

static int struct_from(struct rrt_message *message, const struct target *target,
                       struct rrt_object *out)
{
    memset(out, 0, sizeof(*out));
    out->message = message;
    if (target->word == 0)
        return 0;
    if ((target->word & 3) != KIND_STRUCT)
        return rrt_message_fail(message, -WETDBG_ERR_CORRUPT, "a pointer to a struct is none");
    int64_t at = target->base + pointer_offset(target->word);
    uint32_t data_words = target->word >> 32 & 0xffff;
    uint32_t pointer_words = target->word >> 48 & 0xffff;
    if (!locate(message, target->segment, at, data_words + pointer_words))
        return rrt_message_fail(message, -WETDBG_ERR_CORRUPT, "a struct lies outside");
    out->segment = target->segment;
    out->data_at = (uint32_t)at;
    out->data_words = data_words;
    out->pointer_words = pointer_words;
    return spend(message, 1 + data_words + pointer_words);
}

/* A composite list begins with a tag word, shaped like a struct pointer with a count. */
static int composite_from(struct rrt_message *message, const uint64_t *tag, uint64_t words,
                          struct rrt_list *out)
{
    uint64_t count = (uint32_t)*tag >> 2;
    uint32_t data_words = *tag >> 32 & 0xffff;
    uint32_t pointer_words = *tag >> 48 & 0xffff;
    uint64_t element_words = data_words + pointer_words;
    if ((*tag & 3) != KIND_STRUCT)
        return rrt_message_fail(message, -WETDBG_ERR_CORRUPT, "a list's tag is malformed");
    if (count * element_words > words || (count > 0 && element_words == 0))
        return rrt_message_fail(message, -WETDBG_ERR_CORRUPT, "a list has too many elements");
    out->at += 1;
    out->count = (uint32_t)count;
    out->data_words = data_words;
    out->pointer_words = pointer_words;
    return 0;
}

static uint64_t list_words(enum rrt_element element, uint64_t count)
{
    switch (element) {
    case RRT_ELEMENT_BYTE:
        return (count + 7) / 8;
    case RRT_ELEMENT_U32:
        return (count + 1) / 2;
    case RRT_ELEMENT_POINTER:
        return count;
    case RRT_ELEMENT_STRUCT:
        return count + 1;
    }
    return UINT64_MAX;
}

static int list_from(struct rrt_message *message, const struct target *target,
                     enum rrt_element element, struct rrt_list *out)
{
    memset(out, 0, sizeof(*out));
    out->message = message;
    if (target->word == 0)
        return 0;
    if ((target->word & 3) != KIND_LIST || (target->word >> 32 & 7) != element)
        return rrt_message_fail(message, -WETDBG_ERR_CORRUPT, "a pointer to a list is none");
    uint64_t count = target->word >> 35;
    uint64_t words = list_words(element, count);
    int64_t at = target->base + pointer_offset(target->word);
    const uint64_t *first = locate(message, target->segment, at, words);
    if (!first)
        return rrt_message_fail(message, -WETDBG_ERR_CORRUPT, "a list lies outside");
    out->segment = target->segment;
    out->at = (uint32_t)at;
    out->count = (uint32_t)count;
    if (element == RRT_ELEMENT_STRUCT) {
        int r = composite_from(message, first, count, out);
        if (r != 0)
            return r;
    }
    return spend(message, words);
}

/* ---------------------------------------------------------------- objects */

int rrt_message_root(struct rrt_message *message, struct rrt_object *root)
{
    struct target target;
    int r = resolve(message, 0, 0, &target);
    return r != 0 ? r : struct_from(message, &target, root);
}

/* The object's pointer number `index`; an absent one is null. */
static int resolve_field(const struct rrt_object *object, unsigned index, struct target *target)
{
    memset(target, 0, sizeof(*target));
    if (index >= object->pointer_words)
        return 0;
    return resolve(object->message, object->segment,
                   (uint64_t)object->data_at + object->data_words + index, target);
}

int rrt_object_struct(const struct rrt_object *object, unsigned index, struct rrt_object *out)
{
    struct target target;
    int r = resolve_field(object, index, &target);
    return r != 0 ? r : struct_from(object->message, &target, out);
}

int rrt_object_list(const struct rrt_object *object, unsigned index, enum rrt_element element,
                    struct rrt_list *out)
{
    struct target target;
    int r = resolve_field(object, index, &target);
    return r != 0 ? r : list_from(object->message, &target, element, out);
}

static int bytes_from(struct rrt_message *message, const struct target *target,
                      struct rrt_bytes *out)
{
    struct rrt_list list;
    memset(out, 0, sizeof(*out));
    int r = list_from(message, target, RRT_ELEMENT_BYTE, &list);
    if (r != 0 || list.count == 0)
        return r;
    out->data = (const uint8_t *)locate(message, list.segment, list.at, 0);
    out->size_bytes = list.count;
    return 0;
}

int rrt_object_bytes(const struct rrt_object *object, unsigned index, struct rrt_bytes *out)
{
    struct target target;
    int r = resolve_field(object, index, &target);
    return r != 0 ? r : bytes_from(object->message, &target, out);
}

int rrt_list_bytes(const struct rrt_list *list, uint32_t index, struct rrt_bytes *out)
{
    struct target target;
    int r = resolve(list->message, list->segment, (uint64_t)list->at + index, &target);
    return r != 0 ? r : bytes_from(list->message, &target, out);
}

struct rrt_object rrt_list_struct(const struct rrt_list *list, uint32_t index)
{
    struct rrt_object object = {
        .message = list->message,
        .segment = list->segment,
        .data_at = list->at + index * (list->data_words + list->pointer_words),
        .data_words = list->data_words,
        .pointer_words = list->pointer_words,
    };
    return object;
}

uint32_t rrt_list_u32(const struct rrt_list *list, uint32_t index)
{
    const uint64_t *words = locate(list->message, list->segment, list->at, 0);
    return (uint32_t)(words[index / 2] >> (index % 2 * 32));
}

uint64_t rrt_object_u64(const struct rrt_object *object, unsigned bit)
{
    unsigned word = bit / 64;
    if (word >= object->data_words)
        return 0;
    return *locate(object->message, object->segment, (int64_t)object->data_at + word, 1);
}

uint32_t rrt_object_u32(const struct rrt_object *object, unsigned bit)
{
    return (uint32_t)(rrt_object_u64(object, bit) >> bit % 64);
}

uint16_t rrt_object_u16(const struct rrt_object *object, unsigned bit)
{
    return (uint16_t)(rrt_object_u64(object, bit) >> bit % 64);
}

uint8_t rrt_object_u8(const struct rrt_object *object, unsigned bit)
{
    return (uint8_t)(rrt_object_u64(object, bit) >> bit % 64);
}

bool rrt_object_bit(const struct rrt_object *object, unsigned bit)
{
    return rrt_object_u64(object, bit) >> bit % 64 & 1;
}

int64_t rrt_object_i64(const struct rrt_object *object, unsigned bit)
{
    return (int64_t)rrt_object_u64(object, bit);
}

int32_t rrt_object_i32(const struct rrt_object *object, unsigned bit)
{
    return (int32_t)rrt_object_u32(object, bit);
}
