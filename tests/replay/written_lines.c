/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/replay/written_lines.h"

#include <stdlib.h>
#include <string.h>

#include "recorder/event/ops.h"
#include <wetdbg/errors.h>

#define COPY_MAX (64ull << 20) /* larger mappings are reservations */

struct copy {
    uint64_t start, end;
    uint8_t *bytes;
};

struct copies {
    struct copy list[512];
    size_t count;
};

/* What one stretch of the run reported. */
struct stretch {
    struct wd_buf lines; /* u64 addresses, sorted for the search */
    struct wd_buf holes; /* pairs of u64: mappings changed there */
};

static void hole_add(struct stretch *stretch, uint64_t start, uint64_t bytes)
{
    uint64_t range[2] = {start, start + bytes};
    assert_int_equal(wd_buf_append(&stretch->holes, range, sizeof(range)), 0);
}

static void note_mappings(void *arg, const struct evq_entry *entry)
{
    struct stretch *stretch = arg;
    for (const struct evq_op *op = NULL; (op = evq_op_next(entry, op));) {
        if (op->op == EVQ_OP_MAP || op->op == EVQ_OP_UNMAP || op->op == EVQ_OP_REMAP)
            hole_add(stretch, op->range.start, op->range.size);
        if (op->op == EVQ_OP_REMAP)
            hole_add(stretch, op->remap.to, op->remap.to_size);
        if (op->op == EVQ_OP_CLEAR_SPACE)
            hole_add(stretch, 0, INT64_MAX);
    }
}

static bool in_hole(const struct stretch *stretch, uint64_t address)
{
    const uint64_t *range = (const uint64_t *)stretch->holes.data;
    for (size_t i = 0; i < stretch->holes.size_bytes / 16; i++) {
        if (address >= range[2 * i] && address < range[2 * i + 1])
            return true;
    }
    return false;
}

static int line_note(void *arg, uint64_t address, const uint8_t *bytes)
{
    (void)bytes;
    return wd_buf_append(arg, &address, sizeof(address));
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void copies_fini(struct copies *copies)
{
    for (size_t i = 0; i < copies->count; i++)
        free(copies->list[i].bytes);
    copies->count = 0;
}

static void copies_take(struct rep_engine *engine, struct copies *copies)
{
    const struct agt_view *views;
    size_t count;
    copies->count = 0;
    unit_check(rep_engine_views(engine, &views, &count), "views");
    for (size_t i = 0; i < count; i++) {
        if (!views[i].prot || views[i].end - views[i].start > COPY_MAX)
            continue;
        assert_true(copies->count < 512);
        copies->list[copies->count++] = (struct copy){views[i].start, views[i].end, NULL};
    }
    for (size_t i = 0; i < copies->count; i++) {
        struct copy *copy = &copies->list[i];
        size_t done, bytes = copy->end - copy->start;
        copy->bytes = malloc(bytes);
        assert_non_null(copy->bytes);
        unit_check(rep_engine_read(engine, copy->start, copy->bytes, bytes, &done), "read");
        assert_int_equal(done, bytes);
    }
}

static void line_compare(const struct stretch *stretch, uint64_t address, const uint8_t *before,
                         const uint8_t *after, uint64_t time, const char *what)
{
    uint64_t line = address & ~(uint64_t)(AGT_LINE_BYTES - 1);
    if (!memcmp(before, after, AGT_LINE_BYTES) || in_hole(stretch, address) ||
        bsearch(&line, stretch->lines.data, stretch->lines.size_bytes / 8, 8, by_value))
        return;
    unsigned i = 0;
    while (before[i] == after[i])
        i++;
    fail_msg("%s: before instruction %llu, %#llx changed outside the reported lines", what,
             (unsigned long long)time, (unsigned long long)address + i);
}

static void copies_compare(const struct stretch *stretch, const struct copies *before,
                           const struct copies *after, uint64_t time, const char *what)
{
    for (size_t i = 0; i < before->count; i++) {
        const struct copy *old = &before->list[i];
        for (size_t k = 0; k < after->count; k++) {
            const struct copy *new = &after->list[k];
            uint64_t start = old->start > new->start ? old->start : new->start;
            uint64_t end = old->end < new->end ? old->end : new->end;
            for (uint64_t at = start; at < end; at += AGT_LINE_BYTES)
                line_compare(stretch, at, old->bytes + (at - old->start),
                             new->bytes + (at - new->start), time, what);
        }
    }
}

uint64_t lines_verify(const char *dir, uint64_t step, const char *what)
{
    struct unit_replay replay;
    struct stretch stretch = {0};
    static struct copies copies[2];
    unsigned now = 0;
    enum rep_stop why = REP_STOP_TIME;
    unit_check(unit_open(&replay, dir, NULL, DBI_COUNT), what);
    replay.entry_fn = note_mappings;
    replay.entry_arg = &stretch;
    while (why == REP_STOP_TIME) {
        stretch.lines.size_bytes = stretch.holes.size_bytes = 0;
        unit_check(rep_engine_run(replay.engine, &replay.source, step, false, &why), what);
        unit_check(rep_engine_lines(replay.engine, line_note, &stretch.lines), what);
        if (stretch.lines.size_bytes)
            qsort(stretch.lines.data, stretch.lines.size_bytes / 8, 8, by_value);
        copies_take(replay.engine, &copies[now]);
        copies_compare(&stretch, &copies[!now], &copies[now], rep_engine_time(replay.engine), what);
        copies_fini(&copies[!now]);
        now = !now;
    }
    uint64_t time = rep_engine_time(replay.engine);
    copies_fini(&copies[!now]);
    wd_buf_fini(&stretch.lines);
    wd_buf_fini(&stretch.holes);
    unit_close(&replay);
    return time;
}
