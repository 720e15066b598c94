/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who jumps to whom.
 *
 * A branch to a fragment that exists jumps straight to its body. One to a fragment that does not
 * leaves through its stub, and is kept in `waiting` under the address that it wants. Where a body
 * would end in a jump to a fragment that does not exist yet, and that one is translated next, it
 * takes the jump's place: dbi_exits.fall.
 */
#ifndef RECORDER_DBI_LINKS_H
#define RECORDER_DBI_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/dbi/fragment.h"
#include "recorder/dbi/region.h"
#include "recorder/dbi/translate.h"

struct waiting {
    uint64_t target;
    struct dbi_exit_site site;
    uint32_t region;
    uint32_t next; /* 1 + index */
};

/* The jump at the end of the fragment emitted last, if it leads nowhere yet. */
struct fall {
    struct region *region; /* NULL: none */
    struct fragment *from;
    struct dbi_exit_site site;
};

struct dbi_exits {
    struct waiting *waiting;
    size_t waiting_count, waiting_capacity;
    uint32_t *waiting_by_pc; /* heads, 1 + index */
    struct fall fall;
};

/* 0 or -ENOMEM; dbi_exits_fini() is due either way. */
int dbi_exits_init(struct dbi *dbi);
void dbi_exits_fini(struct dbi *dbi);
void dbi_exits_empty(struct dbi *dbi);

/* Links the exits of a fragment just emitted, now or when their targets come; a last one may be
 * left open in dbi->exits.fall. */
int dbi_exits_link(struct dbi *dbi, struct region *region, struct fragment *fragment,
                   const struct dbi_output *output);

/* Leads the exits of a fragment that always leaves to the agent. */
int dbi_exits_leave(struct region *region, const struct dbi_output *output);

/* Links what dbi->exits.fall has. */
int dbi_fall_close(struct dbi *dbi);

/* Leads whatever waits for the fragment's address to it. */
void dbi_waiters_link(struct dbi *dbi, const struct fragment *fragment);

#endif
