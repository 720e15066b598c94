/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run as several: the parts in which it did what is right are passing runs of their own, and
 * the part in which it did what is wrong is the failing one. */
#include <errno.h>
#include <stdlib.h>

#include "locate/locate_priv.h"
#include "wet/intervals.h"
#include <wetdbg/caller.h>
#include <wetdbg/errors.h>
#include <wetdbg/model.h>

#define FAILING (UINT64_C(1) << WETDBG_PIECES_MAX)

struct cutting {
    struct wetdbg_locate *locate;
    const wetdbg_time *times;
    size_t count, piece; /* the one that the run is in */
    wetdbg_time until;
    uint64_t *seen; /* by node: bit i for piece i, and FAILING */
};

/* Each interval's executions are in the order of time. False where what is wrong has been made. */
static bool interval_look(struct cutting *cutting, const struct wet_interval *interval)
{
    for (size_t i = 0; i < interval->exec_count; i++) {
        const struct wet_exec *exec = &interval->execs[i];
        wetdbg_time time = interval->first_time + exec->time_off;
        if (time > cutting->until)
            return false;
        while (cutting->piece < cutting->count && time > cutting->times[cutting->piece])
            cutting->piece++;
        cutting->seen[exec->node] |=
            cutting->piece < cutting->count ? UINT64_C(1) << cutting->piece : FAILING;
    }
    return true;
}

static int run_look(struct cutting *cutting, bool (*is_unwanted)(void *arg), void *arg)
{
    struct wetdbg *wet = cutting->locate->wet;
    uint64_t intervals = wetdbg_get_info(wet)->intervals;
    bool goes_on = true;
    int err = 0;

    for (uint64_t k = 0; k < intervals && goes_on && !err; k++) {
        const struct wet_interval *interval;
        if (is_unwanted && is_unwanted(arg))
            return wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
        err = wet_interval_get(wet, k, &interval);
        if (err)
            break;
        goes_on = interval_look(cutting, interval);
        wet_interval_put(wet, interval);
    }
    return err;
}

static void node_take(struct cutting *cutting, const struct wet_node *node)
{
    uint64_t seen = cutting->seen[node->id];

    for (uint32_t i = 0; i < node->statement_count && seen; i++) {
        struct wetdbg_suspect *suspect = loc_find_pc(cutting->locate, node->statements[i].pc);
        if (suspect)
            suspect->evidence.piece_bits |= seen;
    }
}

/* How many pieces before what is wrong a line ran last; 0 if in that, or in none. */
static uint32_t pieces_since(const struct cutting *cutting, uint64_t bits)
{
    return !bits || bits & FAILING ? 0 : (uint32_t)cutting->count + __builtin_clzll(bits) - 63;
}

static void lines_take(struct cutting *cutting)
{
    struct wetdbg_locate *locate = cutting->locate;

    for (size_t i = 0; i < locate->count; i++)
        locate->items[i].evidence.piece_bits = 0;
    for (uint32_t id = 0; id < wet_node_limit(locate->wet); id++) {
        const struct wet_node *node = wet_get_node(locate->wet, id);
        if (node && node->executions && wetdbg_is_own(locate->wet, node->pc))
            node_take(cutting, node);
    }
    for (size_t i = 0; i < locate->count; i++) {
        struct wetdbg_evidence *evidence = &locate->items[i].evidence;
        evidence->pieces = (uint32_t)__builtin_popcountll(evidence->piece_bits & (FAILING - 1));
        evidence->in_failing_piece = (evidence->piece_bits & FAILING) != 0;
        evidence->pieces_ago = pieces_since(cutting, evidence->piece_bits);
    }
    locate->pieces = (uint32_t)cutting->count;
}

int wetdbg_locate_take_pieces(struct wetdbg_locate *locate, enum wetdbg_pieces kind,
                              const wetdbg_time *times, size_t count, wetdbg_time until,
                              bool (*is_unwanted)(void *arg), void *arg)
{
    struct cutting cutting = {.locate = locate, .times = times, .count = count, .until = until};

    if (count > WETDBG_PIECES_MAX)
        return -EINVAL;
    cutting.seen = calloc(wet_node_limit(locate->wet) + 1, sizeof(*cutting.seen));
    int err = cutting.seen ? run_look(&cutting, is_unwanted, arg) : -ENOMEM;
    if (!err) {
        lines_take(&cutting);
        locate->pieces_kind = kind;
    }
    free(cutting.seen);
    return err;
}
