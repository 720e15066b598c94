/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads packed Cap'n Proto messages: enough of the encoding for rr's recordings, every pointer
 * checked. A message is unpacked whole; objects are then looked at in place.
 *
 * Each object that is followed is charged to the message's budget, so a message whose pointers
 * share or repeat their targets cannot cost more than its own size. Nesting needs no limit:
 * callers walk a fixed schema, nothing here recurses.
 */
#ifndef RECORDER_RR_TRACE_CAPNP_H
#define RECORDER_RR_TRACE_CAPNP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/rr_trace/block_stream.h"
#include "recorder/rr_trace/rr_trace.h"

#define RRT_MESSAGE_MAX_SEGMENTS 512
#define RRT_MESSAGE_MAX_WORDS    ((uint64_t)8 << 20) /* 64 MiB */

struct rrt_segment {
    uint32_t first_word; /* in the message's words */
    uint32_t word_count;
};

/* Embedded by its holder; all zero is an empty message. */
struct rrt_message {
    const struct rrt_stream *stream; /* where it was read from, for error sentences */
    uint64_t block_off;
    uint32_t block_at;
    uint64_t *words;
    size_t capacity_words;
    uint32_t segment_count;
    struct rrt_segment segments[RRT_MESSAGE_MAX_SEGMENTS];
    uint64_t budget_words;
};

/* A struct inside a message; all zero is the null struct, whose fields are all 0. */
struct rrt_object {
    struct rrt_message *message;
    uint32_t segment;
    uint32_t data_at; /* words into the segment; the pointers follow the data */
    uint32_t data_words;
    uint32_t pointer_words;
};

enum rrt_element {
    RRT_ELEMENT_BYTE = 2,
    RRT_ELEMENT_U32 = 4,
    RRT_ELEMENT_POINTER = 6,
    RRT_ELEMENT_STRUCT = 7,
};

struct rrt_list {
    struct rrt_message *message;
    uint32_t segment;
    uint32_t at; /* words into the segment: the first element */
    uint32_t count;
    uint32_t data_words; /* of each element, lists of structs only */
    uint32_t pointer_words;
};

/* Unpacks the next message of `stream` into `message`. 1: done; 0: the stream ends here;
 * -WETDBG_ERR_CORRUPT, -ENOMEM or a stream's error. */
int rrt_message_read(struct rrt_message *message, struct rrt_stream *stream);
void rrt_message_fini(struct rrt_message *message);

/* Says where the message is and what is wrong with it; returns `code`. */
int rrt_message_fail(const struct rrt_message *message, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* All of these give 0 or -WETDBG_ERR_CORRUPT. Null or absent pointers give empty results. What they
 * return points into the message and lasts as long as its contents. */
int rrt_message_root(struct rrt_message *message, struct rrt_object *root);
int rrt_object_struct(const struct rrt_object *object, unsigned index, struct rrt_object *out);
int rrt_object_list(const struct rrt_object *object, unsigned index, enum rrt_element element,
                    struct rrt_list *out);
int rrt_object_bytes(const struct rrt_object *object, unsigned index, struct rrt_bytes *out);
int rrt_list_bytes(const struct rrt_list *list, uint32_t index, struct rrt_bytes *out);

/* `index` below the list's count; for lists of structs and of 4-byte numbers. */
struct rrt_object rrt_list_struct(const struct rrt_list *list, uint32_t index);
uint32_t rrt_list_u32(const struct rrt_list *list, uint32_t index);

/* Fields by their place in the data section in bits, a multiple of the field's size. A field
 * that the message lacks is 0. */
uint64_t rrt_object_u64(const struct rrt_object *object, unsigned bit);
uint32_t rrt_object_u32(const struct rrt_object *object, unsigned bit);
uint16_t rrt_object_u16(const struct rrt_object *object, unsigned bit);
uint8_t rrt_object_u8(const struct rrt_object *object, unsigned bit);
bool rrt_object_bit(const struct rrt_object *object, unsigned bit);
int64_t rrt_object_i64(const struct rrt_object *object, unsigned bit);
int32_t rrt_object_i32(const struct rrt_object *object, unsigned bit);

#endif
