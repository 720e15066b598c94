/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/agent/memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "common/page.h"
#include "recorder/agent/sys.h"

/* A guarded page with more stores than GUARD_FAULTS within GUARD_SPAN instructions is left
 * unwatched for as long. */
#define GUARD_FAULTS 64u
#define GUARD_SPAN   (1u << 24)

/* Memory that is mapped at once and is worth huge pages; a thread's stack is not. */
#define HUGE_LEAST   (16u << 20)
#define HUGE_PAGE    (2ull << 20)
#define GATHER_FIRST 8
#define GATHER_MOST  (16ull << 30) /* a range that is longer is a reservation, hardly touched */

/* Program code is read, never executed: only its translation runs. */
static long host_prot(uint32_t prot)
{
    return (prot & PROT_EXEC) ? (long)((prot & ~PROT_EXEC) | PROT_READ) : (long)prot;
}

static void host_check(struct agt *agt, const struct evq_op *op, long result)
{
    if (result < 0 && result > -4096)
        agt_stop(agt, AGT_REQ_DIVERGED, AGT_DIV_HOST, op->op, (uint64_t)-result, op->range.start);
}

static void table_check(struct agt *agt, const struct evq_op *op, bool ok)
{
    if (!ok)
        agt_stop(agt, AGT_REQ_DIVERGED, AGT_DIV_HOST, op->op, 12 /* ENOMEM */, op->range.start);
}

static void range_check(struct agt *agt, const struct evq_op *op, uint64_t start, uint64_t bytes)
{
    uint64_t end;
    bool bad = __builtin_add_overflow(start, bytes, &end) || end > 0x7ffffffff000ull ||
               (start < agt->base + AGT_AREA_BYTES && end > agt->base);
    if (bad)
        agt_stop(agt, AGT_REQ_DIVERGED, AGT_DIV_MEMORY, op->op, start, bytes);
}

static long host_protect(uint64_t start, uint64_t end, long prot)
{
    return sys_call3(SYS_mprotect, (long)start, (long)(end - start), prot);
}

/* ---- code that was fetched ---- */

/* Gives `prot` to the guarded pages in [start, end), in as few steps as possible. */
static void guards_protect(struct agt *agt, uint64_t start, uint64_t end, long prot)
{
    const struct agt_guards *guards = &agt->guards;
    for (size_t i = agt_guards_find(guards, wd_page_down(start));
         i < guards->count && guards->list[i].page < end;) {
        uint64_t from = guards->list[i].page, to = from;
        bool set = guards->list[i].state == AGT_GUARD_SET;
        while (i < guards->count && guards->list[i].page == to && to < end &&
               (guards->list[i].state == AGT_GUARD_SET) == set) {
            to += WD_PAGE;
            i++;
        }
        if (set)
            host_protect(from, to, prot);
    }
}

static bool is_guarded(const struct agt *agt, uint64_t start, uint64_t end)
{
    const struct agt_guards *guards = &agt->guards;
    for (size_t i = agt_guards_find(guards, wd_page_down(start));
         i < guards->count && guards->list[i].page < end; i++) {
        if (guards->list[i].state == AGT_GUARD_SET)
            return true;
    }
    return false;
}

/* Tells the supervisor that what was fetched from [start, end) is no code any more, or other
 * code. */
static void code_changes(struct agt *agt, uint64_t start, uint64_t end)
{
    struct agt_views *views = &agt->views;
    uint64_t low = UINT64_MAX, high = 0;
    for (size_t i = agt_views_find(views, start); i < views->count; i++) {
        struct agt_view *view = &views->list[i];
        if (view->start >= end)
            break;
        if (!view->fetched)
            continue;
        uint64_t from = view->start > start ? view->start : start;
        uint64_t to = view->end < end ? view->end : end;
        guards_protect(agt, from, to, host_prot(view->prot));
        agt_guards_remove(&agt->guards, from, to);
        if (from == view->start && to == view->end)
            view->fetched = 0;
        low = from < low ? from : low;
        high = to;
    }
    if (low < high)
        agt_ask(agt, AGT_REQ_CODE_CHANGED, low, high, 0, 0);
}

/* Bytes in [start, end) of the view are written by an op, whatever guards are there. */
static void code_written(struct agt *agt, const struct agt_view *view, uint64_t start, uint64_t end)
{
    if (view->fetched && (!(view->prot & PROT_WRITE) || is_guarded(agt, start, end)))
        agt_ask(agt, AGT_REQ_CODE_CHANGED, start, end, 0, 0);
}

static bool guards_init(struct agt *agt)
{
    if (agt->guards.list)
        return true;
    long at = sys_call6(SYS_mmap, (long)(agt->base + AGT_GUARDS_OFF), AGT_GUARDS_BYTES,
                        PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    if (at < 0 && at > -4096)
        return false;
    agt->guards.list = (struct agt_guard *)at;
    agt->guards.most = AGT_GUARDS_BYTES / sizeof(struct agt_guard);
    return true;
}

/* Guards a page if that is possible; whether it is. */
static bool guard_set(struct agt *agt, uint64_t page)
{
    struct agt_guard *guard = guards_init(agt) ? agt_guards_add(&agt->guards, page) : NULL;
    if (!guard ||
        (guard->state == AGT_GUARD_UNWATCHED && agt_time(agt) - guard->since < GUARD_SPAN))
        return false;
    bool is_set = host_protect(page, page + WD_PAGE, PROT_READ) == 0;
    guard->state = is_set ? AGT_GUARD_SET : AGT_GUARD_UNWATCHED;
    return is_set;
}

bool agt_memory_unguard(struct agt *agt, uint64_t address)
{
    uint64_t page = wd_page_down(address);
    struct agt_guard *guard = agt_guards_at(&agt->guards, page);
    const struct agt_view *view = agt_views_at(&agt->views, address);
    if (!guard || guard->state != AGT_GUARD_SET || !view || !(view->prot & PROT_WRITE))
        return false;
    agt_ask(agt, AGT_REQ_CODE_CHANGED, page, page + WD_PAGE, 0, 0);
    host_protect(page, page + WD_PAGE, host_prot(view->prot));
    guard->state = AGT_GUARD_OPEN;
    uint64_t now = agt_time(agt);
    if (now - guard->since >= GUARD_SPAN) {
        guard->since = now;
        guard->faults = 0;
    }
    if (++guard->faults > GUARD_FAULTS) {
        guard->state = AGT_GUARD_UNWATCHED;
        guard->since = now;
        guard->faults = 0;
    }
    return true;
}

/* ---- ops ---- */

bool agt_memory_readable(const struct agt *agt, uint64_t address, uint64_t bytes)
{
    for (uint64_t at = address; at < address + bytes;) {
        const struct agt_view *view = agt_views_at(&agt->views, at);
        if (!view || !(view->prot & (PROT_READ | PROT_EXEC)))
            return false;
        at = view->end;
    }
    return true;
}

void agt_memory_mark(struct agt *agt, uint64_t address, uint64_t bytes)
{
    while (bytes) {
        const struct agt_view *view = agt_views_at(&agt->views, address);
        if (!view)
            return;
        uint64_t here = view->end - address < bytes ? view->end - address : bytes;
        for (uint64_t line = address >> AGT_LINE_SHIFT;
             line <= (address + here - 1) >> AGT_LINE_SHIFT; line++)
            agt->lines[line & 0xffffffff] = 1;
        address += here;
        bytes -= here;
    }
}

void agt_memory_mark_down(struct agt *agt, uint64_t end, uint64_t bytes)
{
    while (bytes) {
        const struct agt_view *view = agt_views_at(&agt->views, end - 1);
        if (!view)
            return;
        uint64_t here = end - view->start < bytes ? end - view->start : bytes;
        agt_memory_mark(agt, end - here, here);
        end -= here;
        bytes -= here;
    }
}

static void unmap(struct agt *agt, const struct evq_op *op, uint64_t start, uint64_t bytes)
{
    if (!bytes)
        return;
    range_check(agt, op, start, bytes);
    code_changes(agt, start, start + bytes);
    size_t first = agt_views_find(&agt->views, start);
    agt->has_stray_marks |=
        first < agt->views.count && agt->views.list[first].start < start + bytes;
    table_check(agt, op, agt_views_remove(&agt->views, start, start + bytes));
    host_check(agt, op, sys_call3(SYS_munmap, (long)start, (long)bytes, 0));
}

/* To copy a process costs less then, by far: the kernel copies a table's entry for 2 MB in place of
 * 512. Nothing depends on whether it does. */
static void huge_ask(struct agt *agt, uint64_t start, uint64_t bytes, uint32_t prot)
{
    const long huge_page = 14; /* MADV_HUGEPAGE */
    if (bytes < HUGE_LEAST || bytes > agt->ctx->huge_bytes - agt->huge_bytes ||
        agt->huge_bytes > agt->ctx->huge_bytes || !(prot & PROT_WRITE))
        return;
    agt->huge_bytes += bytes;
    sys_call3(SYS_madvise, (long)start, (long)bytes, huge_page);
}

/* Whether most small pages of the huge page at `start` are there. */
static bool is_dense(uint64_t start)
{
    uint8_t is_there[HUGE_PAGE / WD_PAGE];
    unsigned count = 0;
    if (sys_call3(SYS_mincore, (long)start, HUGE_PAGE, (long)is_there) != 0)
        return false;
    for (unsigned i = 0; i < sizeof(is_there); i++)
        count += is_there[i] & 1;
    return count > sizeof(is_there) / 2;
}

/*
 * Huge pages of [start, end) are made of the small ones, `left` bytes at most, in as few calls as
 * possible: each first waits for every processor. A system that cannot (before Linux 6.1, or short
 * of memory) leaves them as they are.
 */
static void range_gather(uint64_t start, uint64_t end, uint64_t *left)
{
    const long collapse = 25; /* MADV_COLLAPSE */
    uint64_t at = (start + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1), from = at;
    for (; at + HUGE_PAGE <= end; at += HUGE_PAGE) {
        if (*left >= HUGE_PAGE && is_dense(at)) {
            *left -= HUGE_PAGE;
            continue;
        }
        if (from < at)
            sys_call3(SYS_madvise, (long)from, (long)(at - from), collapse);
        from = at + HUGE_PAGE;
    }
    if (from < at)
        sys_call3(SYS_madvise, (long)from, (long)(at - from), collapse);
}

static bool is_gathered(const struct agt_view *view)
{
    return view->file == EVQ_FILE_NONE && view->prot & PROT_WRITE;
}

/* To gather costs as much as some ten copies of small pages, so it is done for the eighth copy, and
 * again for what came since when there have been twice as many. */
void agt_memory_gather(struct agt *agt)
{
    const struct agt_views *views = &agt->views;
    uint64_t left = agt->ctx->huge_bytes, count = ++agt->branches;
    if (count < GATHER_FIRST || count & (count - 1))
        return;
    for (size_t i = 0, next; i < views->count; i = next) {
        uint64_t end = views->list[i].end;
        for (next = i + 1; is_gathered(&views->list[i]) && next < views->count &&
                           is_gathered(&views->list[next]) && views->list[next].start == end;
             next++)
            end = views->list[next].end;
        uint64_t bytes = end - views->list[i].start;
        if (is_gathered(&views->list[i]) && bytes >= HUGE_LEAST && bytes <= GATHER_MOST)
            range_gather(views->list[i].start, end, &left);
    }
}

static void map_piece(struct agt *agt, const struct evq_op *op, uint64_t start, uint64_t bytes,
                      uint32_t prot, uint64_t file, uint64_t off)
{
    if (!bytes)
        return;
    long flags =
        MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE | (file == EVQ_FILE_NONE ? MAP_ANONYMOUS : 0);
    long fd = file == EVQ_FILE_NONE ? -1 : (long)(AGT_FILES_FD_BASE + file);
    host_check(
        agt, op,
        sys_call6(SYS_mmap, (long)start, (long)bytes, host_prot(prot), flags, fd, (long)off));
    if (file == EVQ_FILE_NONE)
        huge_ask(agt, start, bytes, prot);
}

static void map_view(struct agt *agt, const struct evq_op *op, const struct agt_view *view)
{
    uint64_t bytes = view->end - view->start;
    uint64_t from_file = view->file == EVQ_FILE_NONE ? 0 : wd_page_up(view->file_bytes);
    if (from_file > bytes)
        from_file = bytes;
    map_piece(agt, op, view->start, from_file, view->prot, view->file, view->file_off);
    map_piece(agt, op, view->start + from_file, bytes - from_file, view->prot, EVQ_FILE_NONE, 0);
}

static void map(struct agt *agt, const struct evq_op *op)
{
    range_check(agt, op, op->map.start, op->map.size);
    if (op->map.file != EVQ_FILE_NONE && op->map.file >= agt->ctx->file_count)
        agt_stop(agt, AGT_REQ_DIVERGED, AGT_DIV_MEMORY, op->op, op->map.start, op->map.size);
    unmap(agt, op, op->map.start, op->map.size);
    struct agt_view view = {.start = op->map.start,
                            .end = op->map.start + op->map.size,
                            .prot = (uint32_t)op->map.prot,
                            .file = op->map.file,
                            .file_off = op->map.file_off,
                            .file_bytes = op->map.file_bytes,
                            .name = op->map.name};
    table_check(agt, op, agt_views_add(&agt->views, &view));
    map_view(agt, op, &view);
}

static void protect(struct agt *agt, const struct evq_op *op)
{
    uint64_t start = op->protect.start, end = op->protect.start + op->protect.size;
    range_check(agt, op, start, op->protect.size);
    table_check(agt, op, agt_views_split(&agt->views, start) && agt_views_split(&agt->views, end));
    for (size_t i = agt_views_find(&agt->views, start);
         i < agt->views.count && agt->views.list[i].start < end; i++) {
        struct agt_view *view = &agt->views.list[i];
        /* how code is cut into fragments depends on both */
        if ((view->prot ^ op->protect.prot) & (PROT_WRITE | PROT_EXEC))
            code_changes(agt, view->start, view->end);
        view->prot = (uint32_t)op->protect.prot;
        host_check(agt, op, host_protect(view->start, view->end, host_prot(view->prot)));
        guards_protect(agt, view->start, view->end, PROT_READ);
    }
}

/* Moves each view of [old, old + bytes) by the same distance. */
static void move(struct agt *agt, const struct evq_op *op, uint64_t old, uint64_t to,
                 uint64_t bytes)
{
    struct agt_views *views = &agt->views;
    table_check(agt, op, agt_views_split(views, old) && agt_views_split(views, old + bytes));
    if (!agt_views_cover(views, old, old + bytes))
        agt_stop(agt, AGT_REQ_DIVERGED, AGT_DIV_MEMORY, op->op, old, bytes);
    unmap(agt, op, to, bytes);
    agt->has_stray_marks = true;
    for (uint64_t at = old; at < old + bytes;) {
        struct agt_view view = *agt_views_at(views, at);
        uint64_t length = view.end - view.start;
        host_check(agt, op,
                   sys_call6(SYS_mremap, (long)at, (long)length, (long)length,
                             MREMAP_MAYMOVE | MREMAP_FIXED, (long)(to + (at - old)), 0));
        table_check(agt, op, agt_views_remove(views, view.start, view.end));
        view.start = to + (at - old);
        view.end = view.start + length;
        view.fetched = 0;
        table_check(agt, op, agt_views_add(views, &view));
        at += length;
    }
    agt_memory_mark(agt, to, bytes);
}

static void remap(struct agt *agt, const struct evq_op *op)
{
    uint64_t kept = op->remap.size < op->remap.to_size ? op->remap.size : op->remap.to_size;
    range_check(agt, op, op->remap.start, op->remap.size);
    range_check(agt, op, op->remap.to, op->remap.to_size);
    code_changes(agt, op->remap.start, op->remap.start + op->remap.size);
    const struct agt_view *last =
        op->remap.size ? agt_views_at(&agt->views, op->remap.start + op->remap.size - 1) : NULL;
    if (!last)
        agt_stop(agt, AGT_REQ_DIVERGED, AGT_DIV_MEMORY, op->op, op->remap.start, op->remap.size);
    struct agt_view shape = *last;
    if (op->remap.start != op->remap.to)
        move(agt, op, op->remap.start, op->remap.to, kept);
    if (op->remap.size > kept)
        unmap(agt, op, op->remap.start + kept, op->remap.size - kept);
    if (op->remap.to_size > kept) {
        struct agt_view tail = {.start = op->remap.to + kept,
                                .end = op->remap.to + op->remap.to_size,
                                .prot = shape.prot,
                                .file = EVQ_FILE_NONE,
                                .name = shape.name};
        unmap(agt, op, tail.start, tail.end - tail.start);
        table_check(agt, op, agt_views_add(&agt->views, &tail));
        map_view(agt, op, &tail);
    }
    if (op->remap.stays) {
        struct agt_view old = {.start = op->remap.start,
                               .end = op->remap.start + op->remap.size,
                               .prot = shape.prot,
                               .file = EVQ_FILE_NONE,
                               .name = shape.name};
        unmap(agt, op, old.start, old.end - old.start);
        table_check(agt, op, agt_views_add(&agt->views, &old));
        map_view(agt, op, &old);
    }
}

/* Puts contents back to those of their source, by mapping each view again. */
static void discard(struct agt *agt, const struct evq_op *op)
{
    uint64_t start = op->range.start, end = op->range.start + op->range.size;
    range_check(agt, op, start, op->range.size);
    code_changes(agt, start, end);
    table_check(agt, op, agt_views_split(&agt->views, start) && agt_views_split(&agt->views, end));
    for (size_t i = agt_views_find(&agt->views, start);
         i < agt->views.count && agt->views.list[i].start < end; i++)
        map_view(agt, op, &agt->views.list[i]);
    agt_memory_mark(agt, start, op->range.size);
}

/* Makes [start, end) of a view accessible for the agent itself, and back. */
static void range_lift(struct agt *agt, const struct agt_view *view, uint64_t start, uint64_t end,
                       bool lift, uint32_t need)
{
    long prot = host_prot(view->prot);
    if ((prot & need) == need && !(need & PROT_WRITE && is_guarded(agt, start, end)))
        return;
    host_protect(wd_page_down(start), wd_page_up(end), lift ? PROT_READ | PROT_WRITE : prot);
    if (!lift)
        guards_protect(agt, start, end, PROT_READ);
}

static void view_lift(struct agt *agt, const struct agt_view *view, bool lift, uint32_t need)
{
    range_lift(agt, view, view->start, view->end, lift, need);
}

static void write_bytes(struct agt *agt, const struct evq_op *op, const uint8_t *bytes)
{
    uint64_t at = op->range.start, left = op->range.size;
    while (left) {
        struct agt_view *view = agt_views_at(&agt->views, at);
        if (!view)
            agt_stop(agt, AGT_REQ_DIVERGED, AGT_DIV_MEMORY, op->op, at, left);
        uint64_t here = view->end - at < left ? view->end - at : left;
        code_written(agt, view, at, at + here);
        range_lift(agt, view, at, at + here, true, PROT_READ | PROT_WRITE);
        if (bytes)
            sys_copy((void *)at, bytes + (at - op->range.start), here);
        else
            sys_fill((void *)at, 0, here);
        range_lift(agt, view, at, at + here, false, PROT_READ | PROT_WRITE);
        agt_memory_mark(agt, at, here);
        at += here;
        left -= here;
    }
}

uint64_t agt_memory_read(struct agt *agt, void *to, uint64_t address, uint64_t bytes)
{
    uint64_t done = 0;
    while (done < bytes) {
        struct agt_view *view = agt_views_at(&agt->views, address + done);
        if (!view)
            break;
        uint64_t here = view->end - (address + done);
        if (here > bytes - done)
            here = bytes - done;
        uint64_t at = address + done;
        range_lift(agt, view, at, at + here, true, PROT_READ);
        sys_copy((uint8_t *)to + done, (void *)at, here);
        range_lift(agt, view, at, at + here, false, PROT_READ);
        done += here;
    }
    return done;
}

static uint8_t *transfer_area(struct agt *agt)
{
    return (uint8_t *)agt->ctx + AGT_XFER_OFF;
}

uint64_t agt_memory_fetch(struct agt *agt, uint64_t address)
{
    struct agt_view *view = agt_views_at(&agt->views, address);
    if (!view)
        return 1;
    if (!(view->prot & PROT_EXEC))
        return 2;
    uint64_t page = wd_page_down(address);
    view->fetched = 1;
    sys_copy(transfer_area(agt), (void *)page, WD_PAGE);
    if (!(view->prot & PROT_WRITE))
        return 0;
    return guard_set(agt, page) ? 3 : 4;
}

/* ---- written lines ---- */

#define TABLE_PAGE_LINES 4096ull /* lines whose marks share one page of the table */
#define RESIDENCY_BATCH  256ull

/* Calls `fn` for each run of lines [first, last) of the view whose marks' page is in memory. The
 * table is mostly untouched, and a view may be a reservation of terabytes. */
static void each_resident(struct agt *agt, const struct agt_view *view,
                          void (*fn)(struct agt *, const struct agt_view *, uint64_t, uint64_t,
                                     void *),
                          void *arg)
{
    uint8_t resident[RESIDENCY_BATCH];
    uint64_t first = view->start >> AGT_LINE_SHIFT;
    uint64_t last = (view->end + AGT_LINE_BYTES - 1) >> AGT_LINE_SHIFT;
    while (first < last) {
        uint64_t table_page = first & 0xffffffff & ~(TABLE_PAGE_LINES - 1);
        uint64_t pages = RESIDENCY_BATCH;
        if (pages > (AGT_LINES_BYTES - table_page) / WD_PAGE)
            pages = (AGT_LINES_BYTES - table_page) / WD_PAGE;
        if (sys_call3(SYS_mincore, (long)(agt->lines + table_page), (long)(pages * WD_PAGE),
                      (long)resident) != 0)
            for (uint64_t i = 0; i < pages; i++) /* nobody says: read all of it */
                resident[i] = 1;
        for (uint64_t i = 0; i < pages && first < last; i++) {
            uint64_t next = (first & ~(TABLE_PAGE_LINES - 1)) + TABLE_PAGE_LINES;
            if (next > last)
                next = last;
            if (resident[i] & 1)
                fn(agt, view, first, next, arg);
            first = next;
        }
    }
}

struct line_sender {
    uint64_t used_bytes;
    uint64_t spill; /* a line that follows a marked one: a store may reach into it */
};

static void send_line(struct agt *agt, struct line_sender *sender, uint64_t line)
{
    uint8_t *area = transfer_area(agt);
    if (sender->used_bytes + 8 + AGT_LINE_BYTES > AGT_XFER_BYTES) {
        agt_ask(agt, AGT_REQ_LINES, sender->used_bytes, 0, 0, 0);
        sender->used_bytes = 0;
    }
    uint64_t address = line << AGT_LINE_SHIFT;
    sys_copy(area + sender->used_bytes, &address, 8);
    sys_copy(area + sender->used_bytes + 8, (void *)address, AGT_LINE_BYTES);
    sender->used_bytes += 8 + AGT_LINE_BYTES;
}

static void send_marked(struct agt *agt, const struct agt_view *view, uint64_t first, uint64_t last,
                        void *arg)
{
    struct line_sender *sender = arg;
    const uint8_t *marks = agt->lines;
    for (uint64_t line = first; line < last; line++) {
        if (!(line & 7) && line + 8 <= last && sender->spill != line &&
            *(const uint64_t *)(marks + (line & 0xffffffff)) == 0) {
            line += 7;
            continue;
        }
        bool marked = marks[line & 0xffffffff];
        if (marked || sender->spill == line)
            send_line(agt, sender, line);
        if (marked)
            sender->spill = line + 1;
    }
    /* The marks of the next line may be in a page that nobody looks at. Twice does no harm. */
    if (sender->spill == last && last << AGT_LINE_SHIFT < view->end)
        send_line(agt, sender, last);
}

static void forget_marked(struct agt *agt, const struct agt_view *view, uint64_t first,
                          uint64_t last, void *arg)
{
    (void)view;
    (void)arg;
    sys_fill(agt->lines + (first & 0xffffffff), 0, last - first);
}

/* Forgets all marks, also those of memory that is gone: which lines an interval wrote must not
 * depend on when the replay began. */
static void marks_forget(struct agt *agt)
{
    const long dont_need = 4; /* MADV_DONTNEED */
    if (agt->has_stray_marks)
        sys_call3(SYS_madvise, (long)agt->lines, (long)AGT_LINES_BYTES, dont_need);
    for (size_t i = 0; !agt->has_stray_marks && i < agt->views.count; i++)
        each_resident(agt, &agt->views.list[i], forget_marked, NULL);
    agt->has_stray_marks = false;
}

uint64_t agt_memory_lines(struct agt *agt)
{
    struct line_sender sender = {0};
    for (size_t i = 0; i < agt->views.count; i++) {
        struct agt_view *view = &agt->views.list[i];
        view_lift(agt, view, true, PROT_READ);
        if (sender.spill << AGT_LINE_SHIFT == view->start)
            send_line(agt, &sender, sender.spill);
        each_resident(agt, view, send_marked, &sender);
        view_lift(agt, view, false, PROT_READ);
    }
    marks_forget(agt);
    return sender.used_bytes;
}

void agt_memory_clear(struct agt *agt)
{
    for (size_t i = 0; i < agt->views.count; i++) {
        const struct agt_view *view = &agt->views.list[i];
        each_resident(agt, view, forget_marked, NULL);
        sys_call3(SYS_munmap, (long)view->start, (long)(view->end - view->start), 0);
    }
    agt->views.count = 0;
    agt->guards.count = 0;
    agt->huge_bytes = agt->branches = 0;
}

void agt_memory_op(struct agt *agt, const struct evq_op *op)
{
    switch (op->op) {
    case EVQ_OP_WRITE:
        write_bytes(agt, op, (const uint8_t *)(op + 1));
        break;
    case EVQ_OP_ZERO:
        write_bytes(agt, op, NULL);
        break;
    case EVQ_OP_MAP:
        map(agt, op);
        break;
    case EVQ_OP_UNMAP:
        unmap(agt, op, op->range.start, op->range.size);
        break;
    case EVQ_OP_PROTECT:
        protect(agt, op);
        break;
    case EVQ_OP_REMAP:
        remap(agt, op);
        break;
    case EVQ_OP_DISCARD:
        discard(agt, op);
        break;
    case EVQ_OP_CLEAR_SPACE:
        code_changes(agt, 0, UINT64_MAX);
        agt_memory_clear(agt);
        break;
    }
}
