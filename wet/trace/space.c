/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wet/trace/space.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "common/checked.h"
#include "common/page.h"
#include "common/room.h"
#include "wet/trace/rules.h"
#include <wetdbg/errors.h>

#define SPACE_BYTES (1ull << 43)
#define STEP_BYTES  (16ull << 20) /* after so many it is asked whether there is room */
#define BLOCK_BYTES 512           /* of st_blocks */

static int views_init(struct wet_space *space)
{
    void *views = mmap(NULL, AGT_HEAP_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    space->views.list = views == MAP_FAILED ? NULL : views;
    return space->views.list ? 0 : wetdbg_fail_errno("memory for the program's image");
}

static int bytes_init(struct wet_space *space, int flags)
{
    void *bytes =
        mmap(NULL, SPACE_BYTES, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, space->fd, 0);
    if (bytes == MAP_FAILED)
        return wetdbg_fail_errno("memory for the program's image");
    space->bytes = bytes;
    return 0;
}

int wet_space_init(struct wet_space *space)
{
    memset(space, 0, sizeof(*space));
    space->fd = memfd_create("wetdbg-space", MFD_CLOEXEC);
    if (space->fd < 0 || ftruncate(space->fd, (off_t)SPACE_BYTES))
        return wetdbg_fail_errno("memory for the program's image");
    int err = views_init(space);
    return err ? err : bytes_init(space, MAP_SHARED);
}

int wet_space_init_private(struct wet_space *space)
{
    memset(space, 0, sizeof(*space));
    space->fd = -1;
    int err = views_init(space);
    if (!err)
        err = bytes_init(space, MAP_PRIVATE | MAP_ANONYMOUS);
    /* a mapping of a few pages shall not take 2 MiB, and those be copied for each process */
    if (!err)
        madvise(space->bytes, SPACE_BYTES, MADV_NOHUGEPAGE);
    return err;
}

void wet_space_fini(struct wet_space *space)
{
    if (space->bytes)
        munmap(space->bytes, SPACE_BYTES);
    if (space->views.list)
        munmap(space->views.list, AGT_HEAP_BYTES);
    if (space->fd > 0)
        close(space->fd);
    free(space->objects);
    memset(space, 0, sizeof(*space));
}

int wet_space_add_object(struct wet_space *space, const struct wet_object *shape)
{
    if (!shape->bytes || !wd_page_is_start(shape->bytes) ||
        shape->bytes > SPACE_BYTES - space->used_bytes)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                           "the program maps more memory than can be kept (%llu "
                           "bytes at %#llx)",
                           (unsigned long long)shape->bytes, (unsigned long long)shape->start);
    if (wd_grow(space->objects, space->object_capacity, space->object_count + 1))
        return -ENOMEM;
    struct wet_object *object = &space->objects[space->object_count++];
    *object = *shape;
    object->mirror_off = space->used_bytes;
    space->used_bytes += shape->bytes;
    return 0;
}

/* To be called before so many bytes are written: once in a while what is there is counted. */
static int room_take(struct wet_space *space, uint64_t bytes)
{
    struct stat stat;
    space->unasked += bytes;
    if (space->unasked < STEP_BYTES)
        return 0;
    uint64_t more = space->unasked;
    space->unasked = 0;
    if (space->most_bytes && space->fd >= 0 && !fstat(space->fd, &stat) &&
        (uint64_t)stat.st_blocks * BLOCK_BYTES + more > space->most_bytes)
        return wetdbg_fail(
            -WETDBG_ERR_MACHINE,
            "the program's memory takes more than %llu MiB; --memory=SIZE allows more",
            (unsigned long long)space->most_bytes >> 20);
    return wd_room_ask(more);
}

int wet_space_fill_object(struct wet_space *space, size_t n)
{
    assert(n < space->object_count);
    const struct wet_object *object = &space->objects[n];
    if (object->file == EVQ_FILE_NONE || !space->file_read)
        return 0;
    uint64_t bytes = object->file_bytes < object->bytes ? object->file_bytes : object->bytes;
    uint64_t whole = space->file_size ? space->file_size(space->arg, object->file) : UINT64_MAX;
    uint64_t left = whole > object->file_off ? whole - object->file_off : 0;
    int err = 0;
    bytes = bytes < left ? bytes : left; /* what is mapped beyond the file's end takes nothing */
    for (uint64_t at = 0, here; !err && at < bytes; at += here) {
        here = bytes - at < STEP_BYTES ? bytes - at : STEP_BYTES;
        err = room_take(space, here);
        if (!err)
            err = space->file_read(space->arg, object->file, object->file_off + at,
                                   space->bytes + object->mirror_off + at, here);
    }
    return err;
}

void wet_space_punch(const struct wet_space *space, uint64_t from, uint64_t to)
{
    if (from >= to)
        return;
    assert(to <= space->used_bytes);
    if (space->fd >= 0)
        fallocate(space->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from,
                  (off_t)(to - from));
    else
        madvise(space->bytes + from, to - from, MADV_DONTNEED);
}

static int views_full(void)
{
    return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "the program has too many mappings");
}

static int map(struct wet_space *space, uint64_t start, uint64_t bytes, uint64_t prot,
               uint64_t file, uint64_t file_off, uint64_t file_bytes, uint64_t name)
{
    struct wet_object shape = {.start = start,
                               .bytes = bytes,
                               .file = file,
                               .file_off = file_off,
                               .file_bytes = file_bytes,
                               .prot = prot,
                               .name = name};
    int err = wet_space_add_object(space, &shape);
    if (!err)
        err = wet_space_fill_object(space, space->object_count - 1);
    if (err)
        return err;
    struct agt_view view = {.start = start,
                            .end = start + bytes,
                            .prot = (uint32_t)prot,
                            .file = space->object_count - 1,
                            .name = name};
    return agt_views_add(&space->views, &view) ? 0 : views_full();
}

static int unmap(struct wet_space *space, uint64_t start, uint64_t end)
{
    struct agt_views *views = &space->views;
    if (!agt_views_split(views, start) || !agt_views_split(views, end))
        return views_full();
    for (size_t i = agt_views_find(views, start);
         space->forgetful && i < views->count && views->list[i].start < end; i++) {
        const struct agt_view *view = &views->list[i];
        uint64_t off = space->objects[view->file].mirror_off + view->file_off;
        wet_space_punch(space, off, off + (view->end - view->start));
    }
    return agt_views_remove(views, start, end) ? 0 : views_full();
}

static int protect(struct wet_space *space, const struct evq_op *op)
{
    struct agt_views *views = &space->views;
    if (!agt_views_split(views, op->protect.start) ||
        !agt_views_split(views, op->protect.start + op->protect.size))
        return views_full();
    for (size_t i = agt_views_find(views, op->protect.start);
         i < views->count && views->list[i].start < op->protect.start + op->protect.size; i++)
        views->list[i].prot = (uint32_t)op->protect.prot;
    return 0;
}

/* Moves the views of [old, +bytes) to `to`, with their objects. */
static int move(struct wet_space *space, uint64_t old, uint64_t to, uint64_t bytes)
{
    struct agt_views *views = &space->views;
    int err = unmap(space, to, to + bytes);
    if (err || !agt_views_split(views, old) || !agt_views_split(views, old + bytes))
        return err ? err : views_full();
    for (uint64_t at = old; at < old + bytes;) {
        struct agt_view *found = agt_views_at(views, at);
        if (!found)
            return wetdbg_fail(-WETDBG_ERR_CORRUPT, "mremap of %#llx, where nothing is mapped",
                               (unsigned long long)at);
        struct agt_view view = *found;
        at = view.end;
        if (!agt_views_remove(views, view.start, view.end))
            return views_full();
        view.start = view.start - old + to;
        view.end = view.end - old + to;
        if (!agt_views_add(views, &view))
            return views_full();
    }
    return 0;
}

static int remap(struct wet_space *space, const struct evq_op *op)
{
    uint64_t kept = op->remap.size < op->remap.to_size ? op->remap.size : op->remap.to_size;
    const struct agt_view *last =
        op->remap.size ? agt_views_at(&space->views, op->remap.start + op->remap.size - 1) : NULL;
    if (!last)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "mremap of %#llx, where nothing is mapped",
                           (unsigned long long)op->remap.start);
    uint64_t prot = last->prot, name = last->name;
    int err =
        op->remap.start != op->remap.to ? move(space, op->remap.start, op->remap.to, kept) : 0;
    if (!err && op->remap.size > kept)
        err = unmap(space, op->remap.start + kept, op->remap.start + op->remap.size);
    if (!err && op->remap.to_size > kept) {
        err = unmap(space, op->remap.to + kept, op->remap.to + op->remap.to_size);
        if (!err)
            err = map(space, op->remap.to + kept, op->remap.to_size - kept, prot, EVQ_FILE_NONE, 0,
                      0, name);
    }
    if (!err && op->remap.stays) {
        err = unmap(space, op->remap.start, op->remap.start + op->remap.size);
        if (!err)
            err = map(space, op->remap.start, op->remap.size, prot, EVQ_FILE_NONE, 0, 0, name);
    }
    return err;
}

static int op_apply(struct wet_space *space, const struct evq_op *op)
{
    int err;
    switch (op->op) {
    case EVQ_OP_MAP:
        err = unmap(space, op->map.start, op->map.start + op->map.size);
        return err ? err
                   : map(space, op->map.start, op->map.size, op->map.prot, op->map.file,
                         op->map.file_off, op->map.file_bytes, op->map.name);
    case EVQ_OP_UNMAP:
        return unmap(space, op->range.start, op->range.start + op->range.size);
    case EVQ_OP_PROTECT:
        return protect(space, op);
    case EVQ_OP_REMAP:
        return remap(space, op);
    case EVQ_OP_CLEAR_SPACE:
        return unmap(space, 0, UINT64_MAX);
    }
    return 0;
}

int wet_space_op(struct wet_space *space, const struct evq_op *op)
{
    int err = op_apply(space, op);
    return err ? err : wd_checked(wet_space_validate(space));
}

int wet_space_discard(struct wet_space *space, uint64_t start, uint64_t end)
{
    int err = 0;
    for (size_t i = agt_views_find(&space->views, start);
         !err && i < space->views.count && space->views.list[i].start < end; i++) {
        const struct agt_view *view = &space->views.list[i];
        const struct wet_object *object = &space->objects[view->file];
        uint64_t from = view->start > start ? view->start : start;
        uint64_t to = view->end < end ? view->end : end;
        uint64_t off = view->file_off + (from - view->start), bytes = to - from;
        uint64_t in_file = off < object->file_bytes ? object->file_bytes - off : 0;
        wet_space_punch(space, object->mirror_off + off, object->mirror_off + off + bytes);
        if (object->file != EVQ_FILE_NONE && space->file_read && in_file)
            err = space->file_read(space->arg, object->file, object->file_off + off,
                                   space->bytes + object->mirror_off + off,
                                   in_file < bytes ? in_file : bytes);
    }
    return err;
}

uint8_t *wet_space_at(struct wet_space *space, uint64_t address, uint64_t *left)
{
    const struct agt_view *view = agt_views_at(&space->views, address);
    if (!view)
        return NULL;
    *left = view->end - address;
    return space->bytes + space->objects[view->file].mirror_off + view->file_off +
           (address - view->start);
}

/* ---- what is trusted ---- */

int wet_views_validate(const struct agt_views *views)
{
    for (size_t i = 0; i < views->count; i++) {
        const struct agt_view *view = &views->list[i];
        uint64_t start = view->start, end = view->end;
        if (start >= end || end > WET_ADDRESS_END || !wd_page_is_start(start | end))
            return wd_fail_defect("view %zu has a range %#llx to %#llx that cannot be", i,
                                  (unsigned long long)start, (unsigned long long)end);
        if (i && views->list[i - 1].end > start)
            return wd_fail_defect("view %zu at %#llx begins before the one before it ends", i,
                                  (unsigned long long)start);
        if (view->prot > 7)
            return wd_fail_defect("view %zu at %#llx has protection %#x", i,
                                  (unsigned long long)start, view->prot);
    }
    return 0;
}

int wet_space_validate(const struct wet_space *space)
{
    uint64_t end = 0;
    for (size_t i = 0; i < space->object_count; i++) {
        const struct wet_object *object = &space->objects[i];
        if (object->mirror_off != end || !object->bytes || !wd_page_is_start(object->bytes))
            return wd_fail_defect("object %zu has no place of its own in the memory file", i);
        end += object->bytes;
    }
    if (end != space->used_bytes)
        return wd_fail_defect("objects have %llu bytes and the memory file %llu",
                              (unsigned long long)end, (unsigned long long)space->used_bytes);
    int err = wet_views_validate(&space->views);
    for (size_t i = 0; !err && i < space->views.count; i++) {
        const struct agt_view *view = &space->views.list[i];
        if (view->file >= space->object_count)
            return wd_fail_defect("view %zu shows object %llu of %zu", i,
                                  (unsigned long long)view->file, space->object_count);
        uint64_t bytes = space->objects[view->file].bytes;
        if (view->file_off > bytes || view->end - view->start > bytes - view->file_off)
            return wd_fail_defect("view %zu shows more than object %llu has", i,
                                  (unsigned long long)view->file);
    }
    return err;
}

/* ---- changes ---- */

void wet_changes_clear(struct wet_changes *changes)
{
    changes->places.size_bytes = changes->masks.size_bytes = changes->words.size_bytes = 0;
    changes->last_line = changes->count = 0;
}

void wet_changes_fini(struct wet_changes *changes)
{
    wd_buf_fini(&changes->places);
    wd_buf_fini(&changes->masks);
    wd_buf_fini(&changes->words);
}

int wet_changes_add(struct wet_changes *changes, struct wet_space *space, uint64_t mirror_off,
                    const uint8_t *now)
{
    assert(mirror_off % WET_LINE_BYTES == 0 && mirror_off < space->used_bytes);
    uint64_t old[WET_LINE_BYTES / 8], new[WET_LINE_BYTES / 8], differ[WET_LINE_BYTES / 8];
    uint32_t mask = 0;
    size_t count = 0;
    memcpy(old, space->bytes + mirror_off, sizeof(old));
    memcpy(new, now, sizeof(new));
    for (unsigned i = 0; i < WET_LINE_BYTES / 8; i++) {
        if (old[i] != new[i]) {
            differ[count++] = old[i] ^ new[i];
            mask |= 1u << i;
        }
    }
    if (mask)
        memcpy(space->bytes + mirror_off, new, sizeof(new));
    uint64_t line = mirror_off / WET_LINE_BYTES;
    int err = wd_buf_append_varint(&changes->places, line - changes->last_line);
    if (!err)
        err = wd_buf_append_u32(&changes->masks, mask);
    if (!err)
        err = wd_buf_append(&changes->words, differ, count * 8);
    changes->last_line = line;
    changes->count++;
    return err;
}

int wet_changes_encode(const struct wet_changes *changes, struct wd_buf *out)
{
    int err = wd_buf_append_u64(out, changes->count);
    if (!err)
        err = wd_buf_append_u64(out, changes->places.size_bytes);
    if (!err)
        err = wd_buf_append(out, changes->places.data, changes->places.size_bytes);
    if (!err)
        err = wd_buf_append(out, changes->masks.data, changes->masks.size_bytes);
    if (!err)
        err = wd_buf_append(out, changes->words.data, changes->words.size_bytes);
    return err;
}

static int changes_damaged(void)
{
    return wetdbg_fail(-WETDBG_ERR_CORRUPT, "damaged list of memory changes");
}

/* A list of changes that is gone through. */
struct walk {
    struct wd_view all, places;
    const uint8_t *masks;
    uint64_t count, line, page; /* lines; the one it is at, and the page of the one before */
};

static int walk_begin(struct walk *walk, const void *bytes, size_t size_bytes)
{
    walk->all = wd_view_of(bytes, size_bytes);
    walk->count = wd_view_u64(&walk->all);
    uint64_t place_bytes = wd_view_u64(&walk->all);
    const uint8_t *places = wd_view_bytes(&walk->all, place_bytes);
    walk->places = wd_view_of(places, places ? place_bytes : 0);
    walk->masks = walk->count <= size_bytes ? wd_view_bytes(&walk->all, walk->count * 4) : NULL;
    walk->line = 0;
    walk->page = UINT64_MAX;
    return walk->all.failed || !walk->masks ? changes_damaged() : 0;
}

/* Gives line i, which is the next one: its mask and words. */
static int walk_on(struct walk *walk, uint64_t i, uint32_t *mask, const uint8_t **words)
{
    memcpy(mask, walk->masks + 4 * i, 4);
    walk->line += wd_view_varint(&walk->places);
    *words = wd_view_bytes(&walk->all, 8 * (size_t)__builtin_popcount(*mask));
    return walk->places.failed || !*words ? changes_damaged() : 0;
}

static int changes_check(const struct wet_space *space, const void *bytes, size_t size_bytes)
{
    struct walk walk;
    uint32_t mask;
    const uint8_t *words;
    int err = walk_begin(&walk, bytes, size_bytes);
    for (uint64_t i = 0; !err && i < walk.count; i++) {
        err = walk_on(&walk, i, &mask, &words);
        if (!err && walk.line >= space->used_bytes / WET_LINE_BYTES)
            err = changes_damaged();
    }
    if (!err && (walk.all.at != walk.all.size_bytes || walk.places.at != walk.places.size_bytes))
        err = changes_damaged();
    return err;
}

static void line_apply(uint8_t *to, uint32_t mask, const uint8_t *words)
{
    for (; mask; mask &= mask - 1, words += 8) {
        uint64_t old, differ;
        uint8_t *word = to + 8 * (unsigned)__builtin_ctz(mask);
        memcpy(&old, word, 8);
        memcpy(&differ, words, 8);
        old ^= differ;
        memcpy(word, &old, 8);
    }
}

/* Makes changes that have been checked; *made tells how many, should memory not suffice: a word may
 * be all that is written to a page. With `again` the first *made of them, whose pages are there. */
static int changes_make(struct wet_space *space, const void *bytes, size_t size_bytes, bool again,
                        uint64_t *made)
{
    struct walk walk;
    uint32_t mask;
    const uint8_t *words;
    uint64_t i = 0;
    int err = walk_begin(&walk, bytes, size_bytes);
    for (uint64_t most = again ? *made : walk.count; !err && i < most; i += !err) {
        err = walk_on(&walk, i, &mask, &words);
        uint64_t page = walk.line / (WD_PAGE / WET_LINE_BYTES);
        if (!err && mask && page != walk.page && !again)
            err = room_take(space, WD_PAGE);
        if (!err)
            line_apply(space->bytes + walk.line * WET_LINE_BYTES, mask, words);
        walk.page = page;
    }
    *made = i;
    return err;
}

int wet_changes_apply(struct wet_space *space, const void *bytes, size_t size_bytes)
{
    uint64_t made;
    int err = changes_check(space, bytes, size_bytes);
    if (err)
        return err;
    err = changes_make(space, bytes, size_bytes, false, &made);
    if (err)
        changes_make(space, bytes, size_bytes, true, &made);
    return err;
}
