/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A search goes over the run in pieces: the states of one interval each. Of a piece all candidates
 * are gathered (candidates.c), then judged in order (judge.c).
 */
#include <errno.h>
#include <stdlib.h>

#include "breaks/breaks_priv.h"
#include <wetdbg/errors.h>

int wetdbg_breaks_open(struct wetdbg *wet, struct wetdbg_breaks **out)
{
    struct wetdbg_breaks *breaks = malloc(sizeof(*breaks));
    if (!breaks)
        return -ENOMEM;
    *breaks = (struct wetdbg_breaks){.wet = wet};
    *out = breaks;
    return 0;
}

void wetdbg_breaks_close(struct wetdbg_breaks *breaks)
{
    if (!breaks)
        return;
    wetdbg_write_finder_close(breaks->writes);
    wetdbg_write_finder_close(breaks->reads);
    free(breaks->events);
    free(breaks->items);
    free(breaks);
}

void wetdbg_breaks_watch(struct wetdbg_breaks *breaks,
                         bool (*is_unwanted)(void *arg, wetdbg_time now), void *arg)
{
    breaks->is_unwanted = is_unwanted;
    breaks->arg = arg;
}

int brk_check(struct wetdbg_breaks *breaks, uint64_t k)
{
    if (breaks->is_unwanted &&
        breaks->is_unwanted(breaks->arg, wetdbg_interval_time(breaks->wet, k)))
        return wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
    return 0;
}

/* The piece of interval k between two states; empty (low > high) if there is none. The last
 * interval has the state behind the run's last instruction, too. */
static void set_piece(struct brk_search *search, uint64_t k, wetdbg_time low, wetdbg_time high)
{
    struct wetdbg *wet = search->breaks->wet;
    const struct wetdbg_info *info = wetdbg_get_info(wet);
    wetdbg_time first = wetdbg_interval_time(wet, k);
    wetdbg_time last =
        k + 1 < info->intervals ? wetdbg_interval_time(wet, k + 1) - 1 : info->last_time + 1;
    search->k = k;
    search->low = low > first ? low : first;
    search->high = high < last ? high : last;
    search->is_whole = search->low == first && search->high == last;
}

static int look_at_piece(struct brk_search *search, wetdbg_time *time)
{
    if (search->low > search->high)
        return 0;
    int result = brk_check(search->breaks, search->k);
    search->breaks->count = 0;
    if (!result)
        result = brk_gather(search);
    return result ? result : brk_judge(search, time);
}

/* States low..high, in the search's direction. */
static int look_between(struct brk_search *search, wetdbg_time low, wetdbg_time high,
                        wetdbg_time *time)
{
    struct wetdbg *wet = search->breaks->wet;
    int result = 0;
    if (low > high)
        return 0;
    uint64_t first = wetdbg_interval_at(wet, low), last = wetdbg_interval_at(wet, high);
    for (uint64_t i = 0; i <= last - first && !result; i++) {
        set_piece(search, search->is_back ? last - i : first + i, low, high);
        result = look_at_piece(search, time);
    }
    return result;
}

int wetdbg_breaks_find(struct wetdbg_breaks *breaks, struct wetdbg_break *const *list, size_t count,
                       wetdbg_time from, wetdbg_time to, bool is_back, wetdbg_time *time)
{
    const struct wetdbg_info *info = wetdbg_get_info(breaks->wet);
    struct brk_search search = {
        .breaks = breaks,
        .list = list,
        .count = count,
        .is_back = is_back,
    };
    bool has_any = false;
    for (size_t i = 0; i < count; i++) {
        list[i]->is_hit = false;
        has_any |= list[i]->is_enabled;
    }
    if (!has_any)
        return 0;
    wetdbg_time low = is_back ? to : from + 1, high = is_back ? from - 1 : to;
    return look_between(&search, low > info->first_time ? low : info->first_time,
                        high <= info->last_time ? high : info->last_time + 1, time);
}
