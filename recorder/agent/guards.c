/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/agent/guards.h"

#include "common/bisect.h"

size_t agt_guards_find(const struct agt_guards *guards, uint64_t page)
{
    return wd_bisect(0, guards->count, i, guards->list[i].page < page);
}

struct agt_guard *agt_guards_at(const struct agt_guards *guards, uint64_t page)
{
    size_t at = agt_guards_find(guards, page);
    return at < guards->count && guards->list[at].page == page ? &guards->list[at] : NULL;
}

struct agt_guard *agt_guards_add(struct agt_guards *guards, uint64_t page)
{
    size_t at = agt_guards_find(guards, page);
    if (at < guards->count && guards->list[at].page == page)
        return &guards->list[at];
    if (guards->count == guards->most)
        return NULL;
    for (size_t i = guards->count++; i > at; i--)
        guards->list[i] = guards->list[i - 1];
    guards->list[at] = (struct agt_guard){.page = page};
    return &guards->list[at];
}

void agt_guards_remove(struct agt_guards *guards, uint64_t start, uint64_t end)
{
    size_t to = agt_guards_find(guards, start), from = agt_guards_find(guards, end);
    while (from < guards->count)
        guards->list[to++] = guards->list[from++];
    guards->count = to < guards->count ? to : guards->count;
}
