/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `wetdbg.input` in a trace directory, and section INPUT of a .wet: what standard input still held
 * when the recorded program ended (docs/format.md, section 6). This head, then the bytes.
 */
#ifndef RECORDER_RR_TRACE_INPUT_FORMAT_H
#define RECORDER_RR_TRACE_INPUT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define RRT_INPUT_NAME    "wetdbg.input"
#define RRT_INPUT_MAGIC   "WDINPUT\n"
#define RRT_INPUT_VERSION 1
#define RRT_INPUT_ALL     1u /* flag: behind the bytes comes its end */
#define RRT_INPUT_FILE    2u /* flag: a regular file: the positions mean something */

struct rrt_input_head {
    char magic[8];
    uint32_t version, flags;
    uint64_t start; /* of a file: where it stood when the program began */
    uint64_t at;    /* of a file: position of the first byte that was kept */
};

/* Whether `size` bytes begin with such a head, which is copied to *head. */
static inline bool rrt_input_is_sound(const void *bytes, size_t size, struct rrt_input_head *head)
{
    if (size < sizeof(*head))
        return false;
    memcpy(head, bytes, sizeof(*head));
    return !memcmp(head->magic, RRT_INPUT_MAGIC, sizeof(head->magic)) &&
           head->version == RRT_INPUT_VERSION && head->flags < 4 && head->start <= INT64_MAX &&
           head->at <= INT64_MAX - size;
}

#endif
