/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/agent/views.h"

#include "common/bisect.h"

static void shift(struct agt_views *views, size_t at, long by)
{
    if (by > 0) {
        for (size_t i = views->count; i-- > at;)
            views->list[i + (size_t)by] = views->list[i];
    } else {
        for (size_t i = at; i < views->count; i++)
            views->list[i - (size_t)-by] = views->list[i];
    }
    views->count += (size_t)by;
}

size_t agt_views_find(const struct agt_views *views, uint64_t address)
{
    return wd_bisect(0, views->count, i, views->list[i].end <= address);
}

struct agt_view *agt_views_at(const struct agt_views *views, uint64_t address)
{
    size_t at = agt_views_find(views, address);
    if (at == views->count || views->list[at].start > address)
        return NULL;
    return &views->list[at];
}

bool agt_views_cover(const struct agt_views *views, uint64_t start, uint64_t end)
{
    for (size_t at = agt_views_find(views, start); start < end; at++) {
        if (at == views->count || views->list[at].start > start)
            return false;
        start = views->list[at].end;
    }
    return true;
}

bool agt_views_split(struct agt_views *views, uint64_t address)
{
    struct agt_view *view = agt_views_at(views, address);
    if (!view || view->start == address)
        return true;
    if (views->count == AGT_VIEWS_MAX)
        return false;
    size_t at = (size_t)(view - views->list);
    shift(views, at, 1);
    uint64_t head = address - views->list[at].start;
    struct agt_view *tail = &views->list[at + 1];
    views->list[at].end = address;
    tail->start = address;
    tail->file_off += head;
    tail->file_bytes = tail->file_bytes > head ? tail->file_bytes - head : 0;
    if (views->list[at].file_bytes > head)
        views->list[at].file_bytes = head;
    return true;
}

bool agt_views_remove(struct agt_views *views, uint64_t start, uint64_t end)
{
    if (!agt_views_split(views, start) || !agt_views_split(views, end))
        return false;
    size_t first = agt_views_find(views, start);
    size_t after = first;
    while (after < views->count && views->list[after].start < end)
        after++;
    shift(views, after, -(long)(after - first));
    return true;
}

bool agt_views_add(struct agt_views *views, const struct agt_view *view)
{
    if (views->count == AGT_VIEWS_MAX)
        return false;
    size_t at = agt_views_find(views, view->start);
    shift(views, at, 1);
    views->list[at] = *view;
    return true;
}
