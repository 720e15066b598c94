/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/locate_loop.h"

#include <stdlib.h>

#include "dbgcli/alloc.h"
#include "dbgcli/nav/moment.h"
#include <wetdbg/caller.h>
#include <wetdbg/errors.h>

#define WINDOW     4  /* what goes round in the last of so many parts of the run goes on */
#define CALL_BYTES 16 /* a frame's address may lie inside its call */

/* A function's blocks, seen from one of them. */
struct around {
    const struct wetdbg_graph *graph;
    uint32_t count, here;
    bool *comes_back; /* a way leads from the block to `here`; from `here`, if it is in a loop */
    bool *follows;    /* a way leads there from `here` */
    uint64_t *exits;  /* branches of the loop */
    size_t exit_count;
};

static bool leads_back(const struct around *around, const struct wetdbg_block *block)
{
    for (uint32_t i = 0; i < block->successor_count; i++) {
        uint32_t next = block->successors[i];
        if (next == around->here || (next < around->count && around->comes_back[next]))
            return true;
    }
    return false;
}

static void find_ways_back(struct around *around)
{
    for (bool is_new = true; is_new;) {
        is_new = false;
        for (uint32_t i = around->count; i-- > 0;) {
            if (around->comes_back[i] || !leads_back(around, wetdbg_graph_block(around->graph, i)))
                continue;
            around->comes_back[i] = is_new = true;
        }
    }
}

static void find_followers(struct around *around)
{
    uint32_t *todo = cli_realloc(NULL, around->count + 1, sizeof(*todo)), left = 0;

    todo[left++] = around->here;
    while (left) {
        const struct wetdbg_block *block = wetdbg_graph_block(around->graph, todo[--left]);
        for (uint32_t i = 0; i < block->successor_count; i++) {
            uint32_t next = block->successors[i];
            if (next >= around->count || around->follows[next])
                continue;
            around->follows[next] = true;
            todo[left++] = next;
        }
    }
    free(todo);
}

/* Whether a block of the loop decides between staying in it and leaving; `ends_too`: also if what
 * leaves ends the program there. */
static bool is_exit(const struct around *around, uint32_t index, bool ends_too)
{
    const struct wetdbg_block *block = wetdbg_graph_block(around->graph, index);

    if (!around->follows[index] || !around->comes_back[index] || block->successor_count < 2)
        return false;
    for (uint32_t i = 0; i < block->successor_count; i++) {
        uint32_t next = block->successors[i];
        bool is_block = next < around->count;
        bool ends =
            is_block && wetdbg_graph_block(around->graph, next)->kind == WETDBG_BLOCK_END_STOP;
        bool stays = is_block && (next == around->here || around->comes_back[next]);
        if (!stays && (ends_too || !ends))
            return true;
    }
    return false;
}

static void find_exits(struct around *around, bool ends_too)
{
    for (uint32_t i = 0; i < around->count; i++) {
        if (!is_exit(around, i, ends_too))
            continue;
        around->exits = cli_realloc(around->exits, around->exit_count + 1, sizeof(uint64_t));
        around->exits[around->exit_count++] = wetdbg_graph_block(around->graph, i)->last;
    }
}

static int note_pc(void *arg, wetdbg_time time, uint64_t pc)
{
    (void)time;
    *(uint64_t *)arg = pc;
    return 0;
}

static void drop_exit(struct around *around, uint64_t pc)
{
    size_t kept = 0;

    for (size_t i = 0; i < around->exit_count; i++)
        if (around->exits[i] != pc)
            around->exits[kept++] = around->exits[i];
    around->exit_count = kept;
}

/* The exit that was passed last, of those that were so twice since `from`. */
static int find_passed(struct wetdbg *wet, struct around *around, wetdbg_time from,
                       struct cli_loop *loop)
{
    while (around->exit_count) {
        int err = wetdbg_find_instance(wet, around->exits, around->exit_count, -1, &loop->last);
        if (!err && loop->last < from)
            return -WETDBG_ERR_NOT_FOUND;
        if (!err)
            err = wetdbg_each_instance(wet, around->exits, around->exit_count, loop->last,
                                       loop->last, note_pc, &loop->exit_pc);
        if (err)
            return err;
        err = wetdbg_find_instance(wet, &loop->exit_pc, 1, -2, &loop->before);
        if (!err && loop->before >= from)
            return 0;
        if (err && err != -WETDBG_ERR_NOT_FOUND)
            return err;
        drop_exit(around, loop->exit_pc);
    }
    return -WETDBG_ERR_NOT_FOUND;
}

/* The block that an address lies in; false if the graph does not have it. */
static bool find_block(struct wetdbg *wet, uint64_t pc, struct around *around)
{
    struct wetdbg_model *model = wetdbg_get_model(wet);
    struct wetdbg_function function;

    if (wetdbg_function_at(model, pc, &function) ||
        wetdbg_graph_at(model, function.start, &around->graph))
        return false;
    for (unsigned back = 0; back < CALL_BYTES; back++)
        if (!wetdbg_graph_find(around->graph, pc - back, &around->here))
            return true;
    return false;
}

/* The loop around an instruction. */
static int find_around(struct wetdbg *wet, uint64_t pc, wetdbg_time from, struct cli_loop *loop)
{
    struct around around = {0};
    int err = -WETDBG_ERR_NOT_FOUND;

    if (!find_block(wet, pc, &around))
        return err;
    around.count = wetdbg_graph_block_count(around.graph);
    around.comes_back = calloc(around.count, sizeof(*around.comes_back));
    around.follows = calloc(around.count, sizeof(*around.follows));
    if (!around.comes_back || !around.follows)
        cli_die();
    find_ways_back(&around);
    find_followers(&around);
    for (unsigned ends_too = 0; ends_too < 2 && err == -WETDBG_ERR_NOT_FOUND; ends_too++) {
        around.exit_count = 0;
        find_exits(&around, ends_too);
        err = find_passed(wet, &around, from, loop);
    }
    free(around.comes_back);
    free(around.follows);
    free(around.exits);
    return err;
}

/* Of what calls itself each place is asked about once. */
static bool is_known(uint64_t *pcs, size_t *count, uint64_t pc)
{
    for (size_t i = 0; i < *count; i++)
        if (pcs[i] == pc)
            return true;
    pcs[(*count)++] = pc;
    return false;
}

int cli_loop_find(struct wetdbg *wet, struct cli_loop *loop)
{
    const struct wetdbg_info *info = wetdbg_get_info(wet);
    wetdbg_time from = info->last_time - (info->last_time - info->first_time) / WINDOW;
    struct cli_moment *moment;
    size_t known = 0;
    int err = cli_moment_open(wet, info->last_time, &moment);

    if (err)
        return err;
    uint64_t *pcs = cli_realloc(NULL, moment->frame_count + 1, sizeof(*pcs));
    err = -WETDBG_ERR_NOT_FOUND;
    for (size_t i = moment->frame_count; i-- > 0 && err == -WETDBG_ERR_NOT_FOUND;) {
        const struct cli_frame *frame = &moment->frames[i];
        if (!frame->is_inlined && !frame->is_tail && wetdbg_is_own(wet, frame->lookup_pc) &&
            !is_known(pcs, &known, frame->lookup_pc))
            err = find_around(wet, frame->lookup_pc, from, loop);
    }
    free(pcs);
    cli_moment_close(moment);
    return err;
}
