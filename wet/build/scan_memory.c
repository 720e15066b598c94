/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wet/build/scan_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/page.h"
#include "wet/build/builder.h"
#include <wetdbg/errors.h>

#define MAP_PAGES 32768u /* entries of a page map that are read at once */
#define RUN_PAGES 1024u  /* pages that are read at once */

struct scan {
    struct wet_builder *builder;
    wet_scan_fn fn;
    void *arg;
    int map; /* /proc/PID/pagemap; -1: cannot be read, all pages may hold something */
    struct wd_buf bytes;
    uint64_t *pages; /* MAP_PAGES */
};

static int run_tell(struct scan *scan, const struct agt_view *view, uint64_t start, uint64_t bytes)
{
    const struct wet_space *space = &scan->builder->space;
    uint64_t mirror_off =
        space->objects[view->file].mirror_off + view->file_off + (start - view->start);
    size_t done;
    scan->bytes.size_bytes = 0;
    int err = wd_buf_reserve(&scan->bytes, bytes);
    if (!err)
        err = rep_engine_read(scan->builder->engine, start, scan->bytes.data, bytes, &done);
    if (!err && done < bytes)
        err = wetdbg_fail(-WETDBG_ERR_MACHINE, "memory at %#llx cannot be read",
                          (unsigned long long)(start + done));
    return err ? err : scan->fn(scan->arg, mirror_off, scan->bytes.data, bytes);
}

static bool may_differ(uint64_t page)
{
    return page & (WET_PAGE_PRESENT | WET_PAGE_SWAPPED) && !(page & WET_PAGE_OF_FILE);
}

/* Tells of the first `count` pages from `start` on, by scan->pages. */
static int pages_tell(struct scan *scan, const struct agt_view *view, uint64_t start,
                      uint64_t count)
{
    int err = 0;
    for (uint64_t i = 0, n; !err && i < count; i += n) {
        bool differs = may_differ(scan->pages[i]);
        for (n = 1; i + n < count && n < RUN_PAGES; n++) {
            if (may_differ(scan->pages[i + n]) != differs)
                break;
        }
        if (differs)
            err = run_tell(scan, view, start + i * WD_PAGE, n * WD_PAGE);
    }
    return err;
}

static int view_tell(struct scan *scan, const struct agt_view *view)
{
    const volatile sig_atomic_t *interrupted = scan->builder->options->interrupted;
    int err = 0;
    for (uint64_t at = view->start, count; !err && at < view->end; at += count * WD_PAGE) {
        count = (view->end - at) / WD_PAGE;
        count = count < MAP_PAGES ? count : MAP_PAGES;
        ssize_t want = (ssize_t)(count * sizeof(*scan->pages));
        if (scan->map < 0 ||
            pread(scan->map, scan->pages, (size_t)want, (off_t)(at / WD_PAGE * 8)) != want) {
            for (uint64_t i = 0; i < count; i++)
                scan->pages[i] = WET_PAGE_PRESENT;
        }
        err = pages_tell(scan, view, at, count);
        if (!err && interrupted && *interrupted)
            err = wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
    }
    return err;
}

int wet_scan(struct wet_builder *builder, wet_scan_fn fn, void *arg)
{
    struct scan scan = {.builder = builder, .fn = fn, .arg = arg, .map = -1};
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)rep_engine_pid(builder->engine));
    scan.map = open(path, O_RDONLY | O_CLOEXEC);
    scan.pages = calloc(MAP_PAGES, sizeof(*scan.pages));
    int err = scan.pages ? 0 : -ENOMEM;
    for (size_t i = 0; !err && i < builder->space.views.count; i++)
        err = view_tell(&scan, &builder->space.views.list[i]);
    if (scan.map >= 0)
        close(scan.map);
    free(scan.pages);
    wd_buf_fini(&scan.bytes);
    return err;
}
