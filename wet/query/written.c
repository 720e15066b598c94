/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which memory an interval wrote, without running it.
 *
 * A file lists written lines by their place in the memory file, so an address needs the view that
 * held it. If the same view held it at the interval's start and at its end, then all along (an
 * object that moves away and back is marked as written); in any other case the answer is "may".
 */
#include <stdlib.h>

#include "common/bisect.h"
#include "wet/query/wet_priv.h"

/* Reads the views at the start of interval k; they stay in `state`. */
static int views_read(struct wetdbg *wet, uint64_t k, struct wd_buf *state, struct agt_views *views)
{
    int err = wet_store_read(wet->store, WET_SEC_STATE, k, state);
    struct wd_view view = wd_view_of(state->data, state->size_bytes);
    const struct wet_state_record *head = (const void *)wd_view_bytes(&view, sizeof(*head));
    uint64_t count = !err && head && head->view_count < AGT_VIEWS_MAX ? head->view_count : 0;
    views->list = (struct agt_view *)(void *)wd_view_bytes(&view, count * sizeof(*views->list));
    views->count = views->list ? count : 0;
    return err;
}

static int lines_read(struct wetdbg *wet, uint64_t k, uint64_t **lines, size_t *count)
{
    struct wd_buf bytes = {0};
    int err = wet_store_read(wet->store, WET_SEC_LINES, k, &bytes);
    struct wd_view all = wd_view_of(bytes.data, bytes.size_bytes);
    uint64_t line_count = wd_view_u64(&all), place_bytes = wd_view_u64(&all), line = 0;
    const uint8_t *place_data = wd_view_bytes(&all, place_bytes);
    struct wd_view places = wd_view_of(place_data, place_data ? place_bytes : 0);
    *lines = NULL;
    *count = 0;
    if (!err && line_count <= place_bytes)
        *lines = malloc((line_count + 1) * sizeof(**lines));
    for (uint64_t i = 0; *lines && i < line_count && !places.failed; i++) {
        line += wd_view_varint(&places);
        (*lines)[(*count)++] = line;
    }
    wd_buf_fini(&bytes);
    return *lines ? 0 : -1;
}

static void written_drop(void *arg, struct wet_kept *kept)
{
    struct wet_written *written = (struct wet_written *)kept;
    (void)arg;
    free(written->lines);
    wd_buf_fini(&written->start_state);
    wd_buf_fini(&written->end_state);
    *written = (struct wet_written){0};
}

int wet_written_load(struct wetdbg *wet, uint64_t k, const struct wet_written **out)
{
    struct wet_written *written = &wet->written[k];
    *out = written;
    if (written->loaded) {
        wet_keep_touch(&written->kept);
        return 0;
    }
    int err = lines_read(wet, k, &written->lines, &written->line_count);
    if (!err)
        err = views_read(wet, k, &written->start_state, &written->start);
    if (!err && k + 1 < wet->info.intervals)
        err = views_read(wet, k + 1, &written->end_state, &written->end);
    if (err) {
        written_drop(wet, &written->kept);
        return err;
    }
    written->loaded = true;
    written->kept.drop = written_drop;
    wet_keep(&wet->keeper, &written->kept,
             written->line_count * 8 + written->start_state.capacity_bytes +
                 written->end_state.capacity_bytes);
    return 0;
}

static bool has_line(const struct wet_written *written, uint64_t first, uint64_t last)
{
    size_t at = wd_bisect(0, written->line_count, i, written->lines[i] < first);
    return at < written->line_count && written->lines[at] <= last;
}

bool wetdbg_interval_may_write(const struct wetdbg *wet, uint64_t k, uint64_t address,
                               uint64_t size)
{
    const struct wet_written *written;
    if (k >= wet->info.intervals || wet_written_load((struct wetdbg *)wet, k, &written))
        return true;
    while (size) {
        const struct agt_view *start = agt_views_at(&written->start, address);
        const struct agt_view *end = agt_views_at(&written->end, address);
        if (!start || !end || start->file != end->file ||
            start->file_off - start->start != end->file_off - end->start ||
            start->file >= wet->space.object_count)
            return true;
        uint64_t stop = start->end < end->end ? start->end : end->end;
        uint64_t here = stop - address < size ? stop - address : size;
        uint64_t off =
            wet->space.objects[start->file].mirror_off + start->file_off + (address - start->start);
        if (has_line(written, off / WET_LINE_BYTES, (off + here - 1) / WET_LINE_BYTES))
            return true;
        address += here;
        size -= here;
    }
    return false;
}
