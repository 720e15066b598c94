/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Single effects. Each updates the model of the space it happens in, and for the replayed space
 * appends the op. Other spaces are modelled only to know what they share, so there nonsense in
 * the recording is passed over; in the replayed one it is an error.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include "recorder/event/ops.h"
#include "recorder/feed/feed_priv.h"
#include <wetdbg/errors.h>

enum {
    PROT_BITS = PROT_READ | PROT_WRITE | PROT_EXEC,
    WRITE_OP_BYTES = 1 << 20, /* largest payload of one EVQ_OP_WRITE */
};
#define STACK_ROOM_BYTES (64u << 20)

_Static_assert(sizeof(struct rrt_regs) == sizeof(struct evq_regs), "same registers, same order");

static int fail_frame(int code, const struct rrt_frame *frame, const char *format, va_list args)
{
    char reason[512];
    vsnprintf(reason, sizeof(reason), format, args);
    return wetdbg_fail(code, "frame %llu (%s of thread %d): %s", (unsigned long long)frame->time,
                       rrt_event_name(frame->event), frame->tid, reason);
}

int feed_refuse(const struct rrt_frame *frame, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int err = fail_frame(-WETDBG_ERR_UNSUPPORTED, frame, format, args);
    va_end(args);
    return err;
}

int feed_corrupt(const struct rrt_frame *frame, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int err = fail_frame(-WETDBG_ERR_CORRUPT, frame, format, args);
    va_end(args);
    return err;
}

/* 1: a range of pages; 0: nothing to do (empty, or nonsense elsewhere); or an error. */
static int check_pages(struct feed_conv *conv, uint64_t start, uint64_t end)
{
    if (start == end)
        return 0;
    if (start < end && end <= FEED_ADDRESS_END && wd_page_is_start(start | end))
        return 1;
    if (!conv->is_target)
        return 0;
    return feed_corrupt(conv->frame, "[%#llx, %#llx) is no range of user pages",
                        (unsigned long long)start, (unsigned long long)end);
}

static int append(struct feed_conv *conv, const struct evq_op *op, const void *payload,
                  size_t payload_bytes)
{
    if (!conv->is_target)
        return 0;
    return feed_entry_op(&conv->build, op, payload, payload_bytes);
}

/* ---------------------------------------------------------------- mappings */

static uint32_t flags_of(const struct rrt_mmap *map)
{
    uint32_t flags = 0;
    bool is_shared = map->flags & MAP_SHARED; /* set in MAP_SHARED_VALIDATE too */
    if (is_shared)
        flags |= FEED_VMA_SHARED;
    if (map->flags & MAP_GROWSDOWN)
        flags |= FEED_VMA_GROWSDOWN;
    if (map->source == RRT_SOURCE_FILE)
        flags |= FEED_VMA_FILE;
    if (map->source == RRT_SOURCE_TRACE && !is_shared && map->name[0] == '/')
        flags |= FEED_VMA_FILE_COPY;
    if (map->start >= FEED_RECORDER_PAGE && map->end <= FEED_RECORDER_END)
        flags |= FEED_VMA_RECORDER;
    return flags;
}

static int add_to_model(struct feed_conv *conv, const struct rrt_mmap *map, uint32_t vma_flags)
{
    uint64_t name = EVQ_NAME_NONE;
    struct feed_vma vma = {
        .start = map->start,
        .end = map->end,
        .device = map->device,
        .inode = map->inode,
        .offset = map->file_offset_bytes,
        .prot = (uint32_t)map->prot & PROT_BITS,
        .flags = flags_of(map) | vma_flags,
    };
    if (vma.flags & FEED_VMA_SHARED && !(vma.flags & FEED_VMA_RECORDER)) {
        int err = feed_tables_name(conv->feed, map->name, &name);
        if (err)
            return err;
        conv->feed->shares_changed = true;
    }
    vma.name = name == EVQ_NAME_NONE ? FEED_VMA_NAMELESS : (uint32_t)name;
    return feed_vmas_map(&conv->space->vmas, &vma);
}

/* The mapping of librrpage.so among those of the frame: rr's stub page comes from that file,
 * though its own record says that it is zero. */
static const struct rrt_mmap *find_stub_file(const struct feed_conv *conv)
{
    for (size_t i = 0; i < conv->frame->mmap_count; i++) {
        const struct rrt_mmap *map = &conv->frame->mmaps[i];
        if (map->start == FEED_RECORDER_VDSO && map->source == RRT_SOURCE_FILE)
            return map;
    }
    return NULL;
}

/* How many bytes of the mapping come from its file. */
static int valid_bytes(struct feed_conv *conv, const struct rrt_mmap *map, uint64_t file_bytes,
                       uint64_t *valid)
{
    uint64_t size = map->stat_size_bytes > 0 ? (uint64_t)map->stat_size_bytes : 0;
    uint64_t offset = map->file_offset_bytes, length = map->end - map->start;
    if (!wd_page_is_start(offset) || offset > INT64_MAX - length)
        return feed_corrupt(conv->frame, "%s is mapped from offset %#llx", map->name,
                            (unsigned long long)offset);
    *valid = offset >= size ? 0 : size - offset < length ? size - offset : length;
    if (*valid && offset + *valid > file_bytes)
        return feed_refuse(conv->frame, "%s has only %llu bytes, but %llu were mapped",
                           map->backing, (unsigned long long)file_bytes,
                           (unsigned long long)(offset + *valid));
    return 0;
}

/* Fills in where the bytes of `map` come from. */
static int set_source(struct feed_conv *conv, const struct rrt_mmap *map, struct evq_op *op)
{
    const struct rrt_mmap *source = map;
    struct rrt_mmap stubs;
    if (map->start == FEED_RECORDER_PAGE && map->source == RRT_SOURCE_ZERO) {
        const struct rrt_mmap *file = find_stub_file(conv);
        if (!file)
            return feed_refuse(conv->frame, "rr's stub page comes without librrpage.so");
        stubs = *file;
        stubs.start = map->start;
        stubs.end = map->end;
        stubs.file_offset_bytes = FEED_RECORDER_STUBS_OFFSET;
        source = &stubs;
    }
    if (source->source != RRT_SOURCE_FILE)
        return 0;
    int err = feed_tables_file(conv->feed, source, &op->map.file);
    if (!err)
        err = valid_bytes(conv, source, conv->feed->tables.files[op->map.file].size_bytes,
                          &op->map.file_bytes);
    op->map.file_off = source->file_offset_bytes;
    return err;
}

/* Clears the end of a mapping's last page: a file that has grown since shows more there than the
 * program saw. */
static int clear_tail(struct feed_conv *conv, const struct evq_op *map)
{
    uint64_t tail = map->map.file_bytes % WD_PAGE;
    if (map->map.file == EVQ_FILE_NONE || !tail)
        return 0;
    if (conv->feed->tables.files[map->map.file].size_bytes ==
        map->map.file_off + map->map.file_bytes)
        return 0;
    return feed_op_zero(conv, map->map.start + map->map.file_bytes, WD_PAGE - tail);
}

static int append_map(struct feed_conv *conv, const struct rrt_mmap *map)
{
    struct evq_op op = {
        .op = EVQ_OP_MAP,
        .map = {.start = map->start,
                .size = map->end - map->start,
                .prot = (uint64_t)map->prot & PROT_BITS,
                .file = EVQ_FILE_NONE},
    };
    uint64_t room = map->flags & MAP_GROWSDOWN ? STACK_ROOM_BYTES : 0;
    int err = feed_tables_range(conv->feed, map->start > room ? map->start - room : 0, map->end);
    if (!err)
        err = set_source(conv, map, &op);
    if (!err)
        err = feed_tables_name(conv->feed, map->name, &op.map.name);
    if (!err)
        err = append(conv, &op, NULL, 0);
    return err ? err : clear_tail(conv, &op);
}

int feed_op_map(struct feed_conv *conv, const struct rrt_mmap *map, uint32_t vma_flags)
{
    int err = check_pages(conv, map->start, map->end);
    if (err <= 0)
        return err;
    err = add_to_model(conv, map, vma_flags);
    return err || !conv->is_target ? err : append_map(conv, map);
}

/* Growth of a stack or the heap: never disturbs what is there. */
int feed_op_map_holes(struct feed_conv *conv, const struct rrt_mmap *map, const char *name)
{
    struct rrt_mmap part = *map;
    uint64_t at = map->start;
    int err = check_pages(conv, map->start, map->end);
    if (err <= 0)
        return err;
    if (!part.name[0])
        part.name = name;
    for (err = 0; !err; at = part.end) {
        at = feed_vmas_mapped_until(&conv->space->vmas, at, map->end);
        if (at == map->end)
            break;
        const struct feed_vma *next = feed_vmas_above(&conv->space->vmas, at);
        part.start = at;
        part.end = next && next->start < map->end ? next->start : map->end;
        part.file_offset_bytes = map->file_offset_bytes + (at - map->start);
        err = feed_op_map(conv, &part, 0);
    }
    return err;
}

int feed_op_unmap(struct feed_conv *conv, uint64_t start, uint64_t end)
{
    int err = check_pages(conv, start, end);
    if (err <= 0)
        return err;
    err = feed_vmas_unmap(&conv->space->vmas, start, end);
    conv->feed->shares_changed |= conv->space->conflict.since != 0;
    struct evq_op op = evq_op_range(EVQ_OP_UNMAP, start, end - start);
    return err ? err : append(conv, &op, NULL, 0);
}

int feed_op_protect(struct feed_conv *conv, uint64_t start, uint64_t end, uint32_t prot)
{
    int err = check_pages(conv, start, end);
    if (err <= 0)
        return err;
    err = feed_vmas_protect(&conv->space->vmas, start, end, prot & PROT_BITS);
    if (prot & PROT_WRITE)
        conv->feed->shares_changed = true;
    struct evq_op op = evq_op_range(EVQ_OP_PROTECT, start, end - start);
    op.protect.prot = prot & PROT_BITS;
    return err ? err : append(conv, &op, NULL, 0);
}

int feed_op_move(struct feed_conv *conv, uint64_t from, uint64_t from_bytes, uint64_t to,
                 uint64_t to_bytes, bool keep)
{
    int err = check_pages(conv, from, from + from_bytes);
    if (err > 0)
        err = check_pages(conv, to, to + to_bytes);
    if (err <= 0)
        return err;
    err = feed_vmas_move(&conv->space->vmas, from, from_bytes, to, to_bytes, keep);
    if (!err && conv->is_target)
        err = feed_tables_range(conv->feed, to, to + to_bytes);
    struct evq_op op = evq_op_range(EVQ_OP_REMAP, from, from_bytes);
    op.remap.to = to;
    op.remap.to_size = to_bytes;
    op.remap.stays = keep;
    return err ? err : append(conv, &op, NULL, 0);
}

int feed_op_discard(struct feed_conv *conv, uint64_t start, uint64_t end)
{
    int err = check_pages(conv, start, end);
    if (err <= 0)
        return err;
    struct evq_op op = evq_op_range(EVQ_OP_DISCARD, start, end - start);
    return append(conv, &op, NULL, 0);
}

int feed_op_zero(struct feed_conv *conv, uint64_t start, uint64_t bytes)
{
    struct evq_op op = evq_op_range(EVQ_OP_ZERO, start, bytes);
    return append(conv, &op, NULL, 0);
}

int feed_op_clear(struct feed_conv *conv)
{
    struct evq_op op = evq_op_new(EVQ_OP_CLEAR_SPACE);
    return append(conv, &op, NULL, 0);
}

int feed_op_all_maps(struct feed_conv *conv)
{
    int err = 0;
    for (size_t i = 0; i < conv->frame->mmap_count && !err; i++)
        err = feed_op_map(conv, &conv->frame->mmaps[i], 0);
    return err;
}

/* ---------------------------------------------------------------- contents */

static int append_bytes(struct feed_conv *conv, uint64_t address, const uint8_t *bytes,
                        uint64_t count)
{
    int err = 0;
    for (uint64_t done = 0; done < count && !err;) {
        uint64_t piece = count - done < WRITE_OP_BYTES ? count - done : WRITE_OP_BYTES;
        struct evq_op op = evq_op_range(EVQ_OP_WRITE, address + done, piece);
        err = append(conv, &op, bytes + done, piece);
        done += piece;
    }
    return err;
}

int feed_op_bytes(struct feed_conv *conv, uint64_t address, const void *bytes, uint64_t count)
{
    uint64_t end = address + count;
    if (!conv->is_target)
        return 0;
    if (end < address || end > FEED_ADDRESS_END ||
        feed_vmas_mapped_until(&conv->space->vmas, address, end) != end)
        return feed_corrupt(conv->frame, "%llu bytes for address %#llx, where nothing is mapped",
                            (unsigned long long)count, (unsigned long long)address);
    return append_bytes(conv, address, bytes, count);
}

/* Stored bytes and holes in turn, up to `limit` bytes of the range. */
static int append_pieces(struct feed_conv *conv, const struct rrt_write *write, uint64_t limit)
{
    const uint8_t *bytes = write->bytes;
    uint64_t at = 0;
    int err = 0;
    for (size_t i = 0; i <= write->hole_count && !err && at < limit; i++) {
        bool is_last = i == write->hole_count;
        uint64_t hole = is_last ? write->size_bytes : write->holes[i].offset_bytes;
        uint64_t stop = hole < limit ? hole : limit;
        err = append_bytes(conv, write->addr + at, bytes, stop - at);
        if (err || is_last || hole >= limit)
            break;
        uint64_t zeros = write->holes[i].size_bytes;
        err = feed_op_zero(conv, write->addr + hole, zeros < limit - hole ? zeros : limit - hole);
        bytes += stop - at;
        at = hole + zeros;
    }
    return err;
}

int feed_op_write(struct feed_conv *conv, const struct rrt_write *write)
{
    if (!write->size_bytes || !conv->is_target)
        return 0;
    uint64_t end = write->addr + write->size_bytes;
    if (end < write->addr || end > FEED_ADDRESS_END)
        return feed_corrupt(conv->frame, "a record of %llu bytes for address %#llx",
                            (unsigned long long)write->size_bytes, (unsigned long long)write->addr);
    uint64_t stop = feed_vmas_mapped_until(&conv->space->vmas, write->addr, end);
    if (stop < end && !write->size_is_conservative)
        return feed_corrupt(conv->frame,
                            "a record of %llu bytes for address %#llx, where nothing is mapped "
                            "from %#llx on",
                            (unsigned long long)write->size_bytes, (unsigned long long)write->addr,
                            (unsigned long long)stop);
    if (!conv->build.out || stop == write->addr)
        return 0;
    if (!write->bytes && write->stored_bytes)
        return feed_corrupt(conv->frame, "a record without its bytes");
    return append_pieces(conv, write, stop - write->addr);
}

int feed_op_writes_of(struct feed_conv *conv, int tid)
{
    int err = 0;
    for (size_t i = 0; i < conv->frame->write_count && !err; i++)
        if (conv->frame->writes[i].tid == tid)
            err = feed_op_write(conv, &conv->frame->writes[i]);
    return err;
}

int feed_op_all_writes(struct feed_conv *conv)
{
    int err = 0;
    for (size_t i = 0; i < conv->frame->write_count && !err; i++) {
        const struct feed_task *owner = feed_task_find(conv->feed, conv->frame->writes[i].tid);
        if (owner && owner->space == conv->space)
            err = feed_op_write(conv, &conv->frame->writes[i]);
    }
    return err;
}

int feed_op_capture(struct feed_conv *conv, uint64_t address, uint64_t bytes, unsigned tag)
{
    if (!conv->is_target || !bytes || address > FEED_ADDRESS_END ||
        bytes > FEED_ADDRESS_END - address)
        return 0;
    if (feed_vmas_mapped_until(&conv->space->vmas, address, address + bytes) != address + bytes)
        return 0;
    struct evq_op op = evq_op_range(EVQ_OP_CAPTURE, address, bytes);
    op.capture.tag = tag;
    return append(conv, &op, NULL, 0);
}

/* ---------------------------------------------------------------- registers */

int feed_op_regs(struct feed_conv *conv, const struct rrt_regs *regs)
{
    struct evq_op op = evq_op_new(EVQ_OP_REGS);
    return append(conv, &op, regs, sizeof(*regs));
}

/* Whether rr writes there by itself, so that a replay has other contents. */
static bool is_recorders(const struct rep_feed *feed, uint64_t address)
{
    for (size_t i = 0; i < feed->task_count; i++) {
        const struct feed_task *task = &feed->tasks[i];
        bool is_near = address + TCK_STACK_LINE > task->buffer && address < task->buffer_end;
        if (task->space == feed->target && task->buffer && is_near)
            return true;
    }
    return false;
}

/* Drops the targets that are of no use, which are an address and a hash each; how many stay. */
static uint32_t targets_choose(const struct rep_feed *feed, uint64_t *targets, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (is_recorders(feed, targets[2ul * i]))
            continue;
        memmove(targets + 2ul * kept, targets + 2ul * i, 2 * sizeof(*targets));
        kept++;
    }
    return kept;
}

int feed_op_place(struct feed_conv *conv, const struct evq_place *place, uint64_t lines_at)
{
    struct {
        struct evq_place place;
        uint64_t lines[TCK_WORDS_MAX];
    } payload = {.place = *place};
    struct evq_op op = evq_op_new(EVQ_OP_PLACE);
    uint32_t count = 0;
    int err = 0;
    if (place->flags & EVQ_PLACE_LINES && conv->build.out) {
        uint32_t lines = tck_line_count(place->stack_bytes, place->data_bytes, place->heap_bytes);
        count = lines + 2 * (uint32_t)place->targets;
        err = feed_digests_lines(conv->feed->digests, lines_at, count, payload.lines);
        if (!err) {
            payload.place.targets =
                targets_choose(conv->feed, payload.lines + lines, (uint32_t)place->targets);
            count = lines + 2 * (uint32_t)payload.place.targets;
        }
    }
    return err ? err
               : append(conv, &op, &payload, sizeof(*place) + count * sizeof(payload.lines[0]));
}

int feed_op_xstate(struct feed_conv *conv)
{
    struct rep_feed *feed = conv->feed;
    if (!conv->frame->extra_regs_bytes || !conv->is_target)
        return 0;
    int err =
        feed_xsave_convert(&feed->recorded_layout, &feed->local_layout, conv->frame->extra_regs,
                           conv->frame->extra_regs_bytes, &feed->xstate);
    if (err)
        return err;
    struct evq_op op = evq_op_new(EVQ_OP_XSTATE);
    op.xstate.size = feed->xstate.size_bytes;
    return append(conv, &op, feed->xstate.data, feed->xstate.size_bytes);
}

int feed_op_task_new(struct feed_conv *conv, const struct feed_task *task,
                     const struct rrt_regs *regs)
{
    struct evq_op op = evq_op_new(EVQ_OP_TASK_NEW);
    op.task_new.task = (uint64_t)task->slot;
    op.task_new.tid = (uint64_t)task->tid;
    return append(conv, &op, regs, sizeof(*regs));
}
