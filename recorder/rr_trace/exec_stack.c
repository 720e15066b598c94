/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/rr_trace/exec_stack.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* The kernel's own limits: a quarter of the largest stack, and 32 pages. */
#define ARGUMENTS_MAX    (1u << 20)
#define STRING_MAX_BYTES (128u << 10)
#define WORD_BYTES       8

/* ---- the frame's memory ---- */

/* The recorded byte at `offset` in the write; what lies in a hole is 0. */
static uint8_t byte_in(const struct rrt_write *write, uint64_t offset)
{
    uint64_t missing = 0;
    for (size_t i = 0; i < write->hole_count; i++) {
        const struct rrt_hole *hole = &write->holes[i];
        if (offset < hole->offset_bytes)
            break;
        if (offset - hole->offset_bytes < hole->size_bytes)
            return 0;
        missing += hole->size_bytes;
    }
    return write->bytes[offset - missing];
}

/* The last write to an address is what is there; false if there is none. */
static bool byte_at(const struct rrt_frame *frame, uint64_t addr, uint8_t *byte)
{
    for (size_t i = frame->write_count; i-- > 0;) {
        const struct rrt_write *write = &frame->writes[i];
        if (!write->bytes || addr < write->addr || addr - write->addr >= write->size_bytes)
            continue;
        *byte = byte_in(write, addr - write->addr);
        return true;
    }
    return false;
}

static bool word_at(const struct rrt_frame *frame, uint64_t addr, uint64_t *word)
{
    *word = 0;
    for (unsigned i = 0; i < WORD_BYTES; i++) {
        uint8_t byte;
        if (!byte_at(frame, addr + i, &byte))
            return false;
        *word |= (uint64_t)byte << (8 * i);
    }
    return true;
}

/* "" if there is no string. NULL when out of memory. */
static const char *string_at(const struct rrt_frame *frame, uint64_t addr, struct rrt_arena *arena)
{
    size_t length = 0;
    uint8_t byte;
    while (length < STRING_MAX_BYTES && byte_at(frame, addr + length, &byte) && byte)
        length++;
    char *text = rrt_arena_alloc(arena, length + 1, 1);
    for (size_t i = 0; text && i < length && byte_at(frame, addr + i, &byte); i++)
        text[i] = (char)byte;
    return text;
}

/* ---- arguments ---- */

static int read_arguments(const struct rrt_frame *frame, uint64_t at, uint64_t count,
                          struct rrt_arena *arena, struct rrt_task_event *event)
{
    const char **argv = rrt_arena_alloc(arena, count + 1, sizeof(*argv));
    uint64_t pointer;
    if (!argv)
        return -ENOMEM;
    for (uint64_t i = 0; i < count && word_at(frame, at + WORD_BYTES * i, &pointer); i++) {
        argv[i] = string_at(frame, pointer, arena);
        if (!argv[i])
            return -ENOMEM;
        event->argc++;
    }
    event->argv = argv;
    return 0;
}

/* ---- the auxiliary vector ---- */

struct auxiliary {
    uint64_t entry, base, file;
};

static void read_auxiliary(const struct rrt_frame *frame, uint64_t at, struct auxiliary *found)
{
    uint64_t type, value;
    while (word_at(frame, at, &type) && type != AT_NULL &&
           word_at(frame, at + WORD_BYTES, &value)) {
        if (type == AT_ENTRY)
            found->entry = value;
        else if (type == AT_BASE)
            found->base = value;
        else if (type == AT_EXECFN)
            found->file = value;
        at += 2 * WORD_BYTES;
    }
}

static const struct rrt_mmap *mapping_of(const struct rrt_frame *frame, uint64_t addr)
{
    for (size_t i = 0; i < frame->mmap_count; i++)
        if (addr >= frame->mmaps[i].start && addr < frame->mmaps[i].end)
            return &frame->mmaps[i];
    return NULL;
}

/* The program is named as it was asked for, or, if that was a relative name, as it was mapped. */
static int name_program(const struct rrt_frame *frame, const struct auxiliary *found,
                        struct rrt_arena *arena, struct rrt_task_event *event)
{
    const struct rrt_mmap *program = mapping_of(frame, found->entry);
    const struct rrt_mmap *interp = mapping_of(frame, found->base);
    const char *asked = string_at(frame, found->file, arena);
    const char *name = asked && asked[0] != '/' && program ? program->name : asked;
    event->exec_file = name ? rrt_arena_string(arena, name, strlen(name)) : NULL;
    event->interp = interp ? rrt_arena_string(arena, interp->name, strlen(interp->name)) : "";
    event->exe_base = program ? program->start : 0;
    event->interp_base = found->base;
    return event->exec_file && event->interp ? 0 : -ENOMEM;
}

int rrt_exec_stack_read(const struct rrt_frame *frame, struct rrt_arena *arena,
                        struct rrt_task_event *event)
{
    struct auxiliary found = {0};
    uint64_t at = frame->regs.rsp, count, word;
    if (!word_at(frame, at, &count) || count > ARGUMENTS_MAX)
        count = 0;
    int err = read_arguments(frame, at + WORD_BYTES, count, arena, event);
    at += WORD_BYTES * (count + 2);
    while (word_at(frame, at, &word) && word) /* the environment */
        at += WORD_BYTES;
    read_auxiliary(frame, at + WORD_BYTES, &found);
    return err ? err : name_program(frame, &found, arena, event);
}
