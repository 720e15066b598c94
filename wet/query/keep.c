/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wet/query/keep.h"

#include <assert.h>
#include <string.h>

void wet_keeper_init(struct wet_keeper *keeper, void *arg)
{
    memset(keeper, 0, sizeof(*keeper));
    keeper->end.older = keeper->end.newer = &keeper->end;
    keeper->arg = arg;
}

static void unlink_kept(struct wet_kept *kept)
{
    assert(kept->older->newer == kept && kept->newer->older == kept);
    kept->older->newer = kept->newer;
    kept->newer->older = kept->older;
    kept->older = kept->newer = NULL;
}

static void link_latest(struct wet_keeper *keeper, struct wet_kept *kept)
{
    assert(!kept->older && !kept->newer);
    kept->older = keeper->end.older;
    kept->newer = &keeper->end;
    kept->older->newer = kept;
    keeper->end.older = kept;
}

static void drop(struct wet_keeper *keeper, struct wet_kept *kept)
{
    assert(keeper->bytes >= kept->bytes);
    unlink_kept(kept);
    keeper->bytes -= kept->bytes;
    kept->drop(keeper->arg, kept);
}

void wet_keeper_fini(struct wet_keeper *keeper)
{
    while (keeper->end.newer && keeper->end.newer != &keeper->end)
        drop(keeper, keeper->end.newer);
}

void wet_keep_trim(struct wet_keeper *keeper)
{
    struct wet_kept *kept = keeper->end.newer;
    while (keeper->bytes > keeper->budget && kept != &keeper->end && kept != keeper->end.older) {
        struct wet_kept *next = kept->newer;
        if (!kept->users)
            drop(keeper, kept);
        kept = next;
    }
}

void wet_keep(struct wet_keeper *keeper, struct wet_kept *kept, uint64_t bytes)
{
    assert(kept->drop);
    kept->keeper = keeper;
    kept->bytes = bytes;
    keeper->bytes += bytes;
    link_latest(keeper, kept);
    wet_keep_trim(keeper);
}

void wet_keep_touch(struct wet_kept *kept)
{
    assert(kept->keeper);
    unlink_kept(kept);
    link_latest(kept->keeper, kept);
}
