/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A replayee in the middle of the run, from STATE and the space: entries that map what is mapped
 * there, write what differs from the files, and load the registers. They are made while they are
 * taken, since a program's memory may be large.
 *
 * Mapping the space's own memory file would be quicker, and is how intervals are run again. But
 * this replayee goes on by the recording's entries, some of which mean a mapping's source
 * (EVQ_OP_DISCARD), and the space under it changes.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/page.h"
#include "recorder/event/ops.h"
#include "wet/build/builder.h"
#include "wet/build/scan_memory.h"
#include "wet/trace/records.h"
#include "wet/trace/stored_entry.h"
#include <wetdbg/errors.h>

#define MAPS_PER_ENTRY 4096
#define WRITE_MAX      (1u << 20)
#define MAP_PAGES      512u

enum phase { MAPPING, WRITING, TASKS, DONE };

struct restart {
    struct wet_builder *builder;
    const struct agt_view *views;
    uint64_t view_count;
    struct wd_view tasks; /* the records, with their images */
    uint32_t task_count, running;
    enum phase phase;
    uint64_t view; /* to be mapped, or written, next */
    uint64_t at;   /* in the view that is being written */
    uint64_t entries;
    int map; /* of this process' pages, for a space in private memory; else -1 */
    uint64_t pages[MAP_PAGES], pages_first, pages_count; /* what has been read of it */
};

static int damaged(void)
{
    return wetdbg_fail(-WETDBG_ERR_CORRUPT, "the state to begin with is damaged");
}

/* ---- entries ---- */

static void entry_close(struct restart *restart, struct wd_buf *out, size_t at, uint32_t op_count)
{
    wet_entry_close(out, at, op_count);
    restart->entries++;
}

/* ---- mappings ---- */

/* Appends an op that maps the view as it was, from the same file. */
static int map_append(const struct restart *restart, const struct agt_view *view,
                      struct wd_buf *out)
{
    const struct wet_object *object = &restart->builder->space.objects[view->file];
    uint64_t bytes = view->end - view->start;
    uint64_t from_file =
        object->file_bytes > view->file_off ? object->file_bytes - view->file_off : 0;
    bool has_file = object->file != EVQ_FILE_NONE;
    struct evq_op map = {.op = EVQ_OP_MAP,
                         .map.start = view->start,
                         .map.size = bytes,
                         .map.prot = view->prot,
                         .map.file = object->file,
                         .map.file_off = has_file ? object->file_off + view->file_off : 0,
                         .map.file_bytes = !has_file           ? 0
                                           : from_file < bytes ? from_file
                                                               : bytes,
                         .map.name = view->name};
    return wet_entry_add_op(out, &map, NULL, 0);
}

static int maps_give(struct restart *restart, struct wd_buf *out)
{
    size_t at;
    uint32_t ops = 0;
    int err = wet_entry_open(out, 0, &at);
    for (; !err && restart->view < restart->view_count && ops < MAPS_PER_ENTRY; ops++)
        err = map_append(restart, &restart->views[restart->view++], out);
    if (!err)
        entry_close(restart, out, at, ops);
    if (restart->view == restart->view_count) {
        restart->phase = WRITING;
        restart->view = restart->at = 0;
    }
    return err;
}

/* ---- contents ---- */

/* Whether the page at `off` in the object is other than what mapping it gives. */
static int page_differs(const struct restart *restart, const struct wet_object *object,
                        uint64_t off)
{
    struct wet_builder *builder = restart->builder;
    uint8_t source[WD_PAGE] = {0};
    int err = 0;
    if (object->file != EVQ_FILE_NONE && off < object->file_bytes)
        err = wet_builder_file_read(builder, object->file, object->file_off + off, source, WD_PAGE);
    return err ? err
               : memcmp(source, builder->space.bytes + object->mirror_off + off, WD_PAGE) != 0;
}

/* What the map says of page n of the space's memory; 0 beyond `last`. */
static uint64_t page_of(struct restart *restart, uint64_t n, uint64_t last)
{
    uint64_t first = (uint64_t)restart->builder->space.bytes / WD_PAGE;
    if (n - restart->pages_first < restart->pages_count)
        return restart->pages[n - restart->pages_first];
    uint64_t count = last - n < MAP_PAGES ? last - n : MAP_PAGES;
    ssize_t want = (ssize_t)(count * sizeof(*restart->pages));
    if (pread(restart->map, restart->pages, (size_t)want, (off_t)((first + n) * 8)) != want) {
        restart->pages[0] = WET_PAGE_PRESENT; /* a system that does not tell: look at everything */
        count = 1;
    }
    restart->pages_first = n;
    restart->pages_count = count;
    return restart->pages[0];
}

/* The first byte from `from` on that the space's private memory may hold, before `to`; else
 * `to`. */
static uint64_t private_data(struct restart *restart, uint64_t from, uint64_t to)
{
    for (; from < to; from += WD_PAGE) {
        if (page_of(restart, from / WD_PAGE, to / WD_PAGE) & (WET_PAGE_PRESENT | WET_PAGE_SWAPPED))
            break;
    }
    return from;
}

/* Moves restart->at over what has no bytes in the space: zeros, as it was mapped. */
static void holes_skip(struct restart *restart, const struct wet_object *object,
                       const struct agt_view *view)
{
    uint64_t base = object->mirror_off + view->file_off;
    uint64_t bytes = view->end - view->start;
    if (restart->builder->space.fd < 0) {
        restart->at = private_data(restart, base + restart->at, base + bytes) - base;
        return;
    }
    off_t data = lseek(restart->builder->space.fd, (off_t)(base + restart->at), SEEK_DATA);
    uint64_t to = data < 0 ? bytes : wd_page_down((uint64_t)data) - base;
    if (data < 0 && errno != ENXIO)
        return; /* a system that cannot tell: look at everything */
    restart->at = to < bytes ? to : bytes;
}

/* The next run of pages that differ, of WRITE_MAX bytes at most, as one entry. */
static int write_give(struct restart *restart, struct wd_buf *out)
{
    const struct agt_view *view = &restart->views[restart->view];
    const struct wet_object *object = &restart->builder->space.objects[view->file];
    uint64_t bytes = view->end - view->start, from = 0, count = 0;
    int differs = 0;
    while (restart->at < bytes && count < WRITE_MAX) {
        if (!count)
            holes_skip(restart, object, view);
        if (restart->at == bytes)
            break;
        differs = page_differs(restart, object, view->file_off + restart->at);
        if (differs < 0)
            return differs;
        if (!differs && count)
            break;
        if (differs && !count)
            from = restart->at;
        count += differs ? WD_PAGE : 0;
        restart->at += WD_PAGE;
    }
    if (restart->at == bytes) {
        restart->view++;
        restart->at = 0;
    }
    if (!count)
        return 0;
    size_t at;
    struct evq_op write = evq_op_range(EVQ_OP_WRITE, view->start + from, count);
    const uint8_t *data =
        restart->builder->space.bytes + object->mirror_off + view->file_off + from;
    int err = wet_entry_open(out, 0, &at);
    if (!err)
        err = wet_entry_add_op(out, &write, data, count);
    if (!err)
        entry_close(restart, out, at, 1);
    return err;
}

/* ---- tasks ---- */

static int task_append(struct restart *restart, const struct wet_task_record *task,
                       const uint8_t *xsave, struct wd_buf *out)
{
    size_t at;
    struct evq_op regs = evq_op_new(EVQ_OP_REGS);
    struct evq_op xstate = evq_op_new(EVQ_OP_XSTATE);
    xstate.xstate.size = task->xsave_bytes;
    int err = wet_entry_open(out, task->task, &at);
    if (!err)
        err = wet_entry_add_op(out, &xstate, xsave, task->xsave_bytes);
    if (!err)
        err = wet_entry_add_op(out, &regs, task->regs, sizeof(task->regs));
    if (!err)
        entry_close(restart, out, at, 2);
    return err;
}

static int task_new_append(struct restart *restart, const struct wet_task_record *task,
                           struct wd_buf *out)
{
    size_t at;
    struct evq_op op = evq_op_new(EVQ_OP_TASK_NEW);
    op.task_new.task = task->task;
    int err = wet_entry_open(out, 0, &at);
    if (!err)
        err = wet_entry_add_op(out, &op, task->regs, sizeof(task->regs));
    if (!err)
        entry_close(restart, out, at, 1);
    return err;
}

/* Gives the tasks. Slot 0 is there from the start. The running task comes last: it stays the
 * running one. */
static int tasks_give(struct restart *restart, struct wd_buf *out)
{
    const struct wet_task_record *running = NULL;
    const uint8_t *running_xsave = NULL;
    struct wd_view *view = &restart->tasks;
    int err = 0;
    for (uint32_t i = 0; !err && i < restart->task_count; i++) {
        const struct wet_task_record *task = (const void *)wd_view_bytes(view, sizeof(*task));
        const uint8_t *xsave = task ? wd_view_bytes(view, task->xsave_bytes) : NULL;
        wd_view_bytes(view, -view->at & 7);
        if (view->failed || !xsave || task->task >= EVQ_TASKS_MAX ||
            task->xsave_bytes > AGT_XSAVE_MAX)
            return damaged();
        if (task->task)
            err = task_new_append(restart, task, out);
        if (task->task == restart->running) {
            running = task;
            running_xsave = xsave;
        } else if (!err) {
            err = task_append(restart, task, xsave, out);
        }
    }
    restart->phase = DONE;
    if (!err)
        err = running ? task_append(restart, running, running_xsave, out) : damaged();
    return err;
}

/* ---- the whole ---- */

static int entries_give(void *arg, struct wd_buf *out)
{
    struct restart *restart = arg;
    size_t before = out->size_bytes;
    int err = 0;
    while (!err && out->size_bytes == before && restart->phase != DONE) {
        if (restart->phase == MAPPING)
            err = maps_give(restart, out);
        else if (restart->phase == WRITING && restart->view < restart->view_count)
            err = write_give(restart, out);
        else if (restart->phase == WRITING)
            restart->phase = TASKS;
        else
            err = tasks_give(restart, out);
    }
    return err ? err : out->size_bytes > before;
}

static int views_check(const struct restart *restart)
{
    const struct wet_space *space = &restart->builder->space;
    for (uint64_t i = 0; i < restart->view_count; i++) {
        const struct agt_view *view = &restart->views[i];
        if (view->start >= view->end || !wet_builder_has_room(restart->builder, view) ||
            view->file >= space->object_count ||
            view->file_off > space->objects[view->file].bytes ||
            view->end - view->start > space->objects[view->file].bytes - view->file_off)
            return damaged();
    }
    return 0;
}

static int line_ignore(void *arg, uint64_t address, const uint8_t *bytes)
{
    (void)arg;
    (void)address;
    (void)bytes;
    return 0;
}

int wet_restart(struct wet_builder *builder, const struct wd_buf *state)
{
    struct wd_view view = wd_view_of(state->data, state->size_bytes);
    const struct wet_state_record *head = (const void *)wd_view_bytes(&view, sizeof(*head));
    struct restart restart = {.builder = builder, .map = -1};
    if (head && head->view_count < AGT_VIEWS_MAX) {
        restart.view_count = head->view_count;
        restart.views =
            (const void *)wd_view_bytes(&view, head->view_count * sizeof(*restart.views));
        restart.task_count = head->task_count;
        restart.running = head->running;
        restart.tasks = view;
    }
    if (!restart.views || views_check(&restart))
        return damaged();
    if (builder->space.fd < 0)
        restart.map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    struct rep_source source = {.next = entries_give, .arg = &restart};
    enum rep_stop why;
    int err = rep_engine_run(builder->engine, &source, 0, true, &why);
    if (!err)
        err = rep_engine_lines(builder->engine, line_ignore, NULL);
    if (restart.map >= 0)
        close(restart.map);
    builder->start_entries = restart.entries;
    return err;
}
