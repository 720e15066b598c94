/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/forward/branches.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "common/array.h"

/* ---- numbers ---- */

void slc_branch_ids_fini(struct slc_branch_ids *ids)
{
    for (uint32_t i = 0; i < ids->class_capacity; i++)
        free(ids->by_class[i].ids);
    free(ids->by_class);
    free(ids->by_pc);
    *ids = (struct slc_branch_ids){0};
}

/* SLC_UNKNOWN if memory is short. */
static uint32_t branch_id(struct slc_branch_ids *ids, uint32_t pc_index)
{
    if (wd_grow_zeroed(ids->by_pc, ids->pc_capacity, pc_index + 1))
        return SLC_UNKNOWN;
    if (!ids->by_pc[pc_index])
        ids->by_pc[pc_index] = ++ids->count;
    return ids->by_pc[pc_index] - 1;
}

static int number_class(struct slc_branch_ids *ids, struct slc_code *code, uint32_t klass)
{
    size_t count = code->classes[klass].count;

    if (wd_grow_zeroed(ids->by_class, ids->class_capacity, klass + 1))
        return -ENOMEM;
    struct slc_id_list *list = &ids->by_class[klass];
    if (list->ids)
        return 0;
    list->ids = malloc((count + 1) * sizeof(*list->ids));
    for (size_t i = 0; list->ids && i < count; i++) {
        uint32_t pc_index = slc_code_pc(code, code->classes[klass].branches[i]);
        list->ids[i] = pc_index == SLC_UNKNOWN ? SLC_UNKNOWN : branch_id(ids, pc_index);
        if (list->ids[i] == SLC_UNKNOWN) {
            free(list->ids);
            list->ids = NULL;
        }
    }
    list->count = (uint32_t)count;
    return list->ids ? 0 : -ENOMEM;
}

/* ---- frames ---- */

int slc_branches_init(struct slc_branches *branches)
{
    const struct slc_want none = slc_no_want();

    *branches = (struct slc_branches){0};
    return slc_branches_push(branches, UINT64_MAX, &none);
}

void slc_branches_fini(struct slc_branches *branches)
{
    while (branches->count)
        slc_branches_pop(branches);
    free(branches->frames);
    free(branches->cells);
    free(branches->kept);
    *branches = (struct slc_branches){0};
}

int slc_branches_push(struct slc_branches *branches, uint64_t slot, const struct slc_want *maker)
{
    if (wd_grow(branches->frames, branches->capacity, branches->count + 1))
        return -ENOMEM;
    branches->frames[branches->count++] =
        (struct slc_call_frame){.slot = slot,
                                .maker = *maker,
                                .serial = ++branches->serial,
                                .first_kept = branches->kept_count,
                                .is_live = maker->distance != SLC_NOT_WANTED};
    return 0;
}

/* Puts back the cells that the top frame took. */
static void put_back(struct slc_branches *branches)
{
    size_t first = slc_branches_top(branches)->first_kept;

    while (branches->kept_count > first) {
        const struct slc_kept_cell *kept = &branches->kept[--branches->kept_count];
        branches->cells[kept->branch] = kept->cell;
    }
}

void slc_branches_pop(struct slc_branches *branches)
{
    struct slc_call_frame *top = slc_branches_top(branches);

    assert(branches->count);
    put_back(branches);
    if (top->regs) {
        slc_regs_fini(top->regs);
        free(top->regs);
    }
    branches->count--;
    if (branches->lowest >= branches->count)
        branches->lowest = branches->count ? branches->count - 1 : 0;
}

void slc_branches_leave(struct slc_branches *branches)
{
    const struct slc_want none = slc_no_want();

    while (branches->count > 1)
        slc_branches_pop(branches);
    slc_branches_remake(branches, &none);
    branches->bottom_time = 0;
    branches->is_bottom_caller = false;
}

void slc_branches_return(struct slc_branches *branches, uint64_t slot, wetdbg_time time)
{
    bool is_known = false;

    while (branches->count > 1 && !slc_branches_top(branches)->is_signal &&
           slc_branches_top(branches)->slot <= slot) {
        is_known |= slc_branches_top(branches)->slot == slot;
        slc_branches_pop(branches);
    }
    if (is_known || branches->count > 1)
        return;
    slc_branches_leave(branches);
    branches->bottom_time = time;
    branches->is_bottom_caller = true;
}

/* Frames on another stack (a handler's own, a coroutine's) are neither above nor below. */
#define SAME_STACK_BYTES (UINT64_C(64) << 20)

void slc_branches_forget_below(struct slc_branches *branches, uint64_t slot)
{
    while (branches->count > 1 && !slc_branches_top(branches)->is_signal &&
           slc_branches_top(branches)->slot <= slot &&
           slot - slc_branches_top(branches)->slot < SAME_STACK_BYTES)
        slc_branches_pop(branches);
}

/* How many frames are left if those go that are not the function's (0: any is), or have their
 * return address below `rsp`, or are a handler's; the bottom one stays. */
static size_t frames_left(const struct slc_branches *branches, uint64_t function, uint64_t rsp)
{
    size_t at = branches->count;

    while (at > 1 && (branches->frames[at - 1].slot < rsp || branches->frames[at - 1].is_signal ||
                      (function && branches->frames[at - 1].function != function)))
        at--;
    return at;
}

size_t slc_branches_landing(const struct slc_branches *branches, uint64_t function, uint64_t rsp)
{
    size_t left = frames_left(branches, function, rsp);

    if (branches->frames[left - 1].function != function && rsp)
        left = frames_left(branches, 0, rsp); /* a split-off part of a function has another start */
    return branches->frames[left - 1].function != function && left == 1 ? 0 : left;
}

void slc_branches_land(struct slc_branches *branches, size_t left, wetdbg_time time)
{
    branches->has_jumped = true;
    if (left == 0) {
        slc_branches_leave(branches);
        branches->bottom_time = time;
    }
    while (left && branches->count > left)
        slc_branches_pop(branches);
}

void slc_branches_remake(struct slc_branches *branches, const struct slc_want *maker)
{
    struct slc_call_frame *top = slc_branches_top(branches);

    put_back(branches);
    top->maker = *maker;
    top->serial = ++branches->serial;
    top->is_live = maker->distance != SLC_NOT_WANTED;
    top->has_unmarked = false;
    top->function = 0;
}

int slc_branches_restart(struct slc_branches *branches, const struct slc_want *maker)
{
    while (branches->count)
        slc_branches_pop(branches);
    branches->bottom_time = UINT64_MAX;
    return slc_branches_push(branches, UINT64_MAX, maker);
}

/* ---- branches ---- */

/* A branch of the top frame ran. */
static int set_cell(struct slc_branches *branches, uint32_t branch, wetdbg_time time,
                    uint32_t distance)
{
    struct slc_call_frame *top = slc_branches_top(branches);

    if (wd_grow_zeroed(branches->cells, branches->cell_capacity, branch + 1))
        return -ENOMEM;
    struct slc_cell *cell = &branches->cells[branch];
    if (cell->serial != top->serial) {
        if (wd_grow(branches->kept, branches->kept_capacity, branches->kept_count + 1))
            return -ENOMEM;
        branches->kept[branches->kept_count++] = (struct slc_kept_cell){branch, *cell};
    }
    *cell = (struct slc_cell){top->serial, time, distance};
    return 0;
}

int slc_branches_note(struct slc_branches *branches, struct slc_branch_ids *ids, uint32_t pc_index,
                      wetdbg_time time, uint32_t distance)
{
    struct slc_call_frame *top = slc_branches_top(branches);

    if (!top->is_live && distance == SLC_NOT_WANTED)
        return 0;
    top->is_live = true;
    top->has_unmarked |= distance == SLC_NOT_WANTED;
    uint32_t branch = branch_id(ids, pc_index);
    if (branch == SLC_UNKNOWN)
        return -ENOMEM;
    return set_cell(branches, branch, time, distance);
}

int slc_branches_parent(const struct slc_branches *branches, struct slc_branch_ids *ids,
                        struct slc_code *code, uint32_t klass, struct slc_want *mark)
{
    const struct slc_call_frame *top = slc_branches_top(branches);
    const struct slc_cell *latest = NULL;

    *mark = slc_no_want();
    if (!top->is_live)
        return 0;
    if ((klass >= ids->class_capacity || !ids->by_class[klass].ids) &&
        number_class(ids, code, klass))
        return -ENOMEM;
    const struct slc_id_list *list = &ids->by_class[klass];
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->ids[i] >= branches->cell_capacity)
            continue;
        const struct slc_cell *cell = &branches->cells[list->ids[i]];
        if (cell->serial == top->serial && (!latest || cell->time > latest->time))
            latest = cell;
    }
    *mark = top->maker;
    if (latest)
        *mark = (struct slc_want){
            .user = latest->time, .distance = latest->distance, .edge = WETDBG_EDGE_CONTROL};
    mark->edge = WETDBG_EDGE_CONTROL;
    mark->location = INS_LOC_COUNT;
    return 0;
}

/* ---- copies ---- */

void slc_branches_copy_free(struct slc_branches_copy *copy)
{
    free(copy->calls);
    free(copy->cells);
    *copy = (struct slc_branches_copy){0};
}

/* Exchanges a kept cell with the branch's: done from the last one down, the kept ones become what
 * their frames have; done from there up again, all is as it was. */
static void exchange(struct slc_branches *branches, size_t i)
{
    struct slc_kept_cell *kept = &branches->kept[i];
    struct slc_cell cell = branches->cells[kept->branch];

    branches->cells[kept->branch] = kept->cell;
    kept->cell = cell;
}

static void save_frame(const struct slc_branches *branches, size_t f, wetdbg_time since,
                       struct slc_branches_copy *copy)
{
    const struct slc_call_frame *frame = &branches->frames[f];
    size_t end = f + 1 < branches->count ? frame[1].first_kept : branches->kept_count;
    size_t before = copy->cell_count;

    for (size_t i = frame->first_kept; i < end; i++) {
        const struct slc_kept_cell *own = &branches->kept[i];
        if (own->cell.serial == frame->serial && own->cell.time >= since)
            copy->cells[copy->cell_count++] = (struct slc_cell_copy){
                own->cell.time, own->branch, own->cell.distance != SLC_NOT_WANTED};
    }
    copy->calls[copy->count++] =
        (struct slc_call_copy){.slot = frame->slot,
                               .function = frame->function,
                               .serial = frame->serial,
                               .is_marked = frame->maker.distance != SLC_NOT_WANTED,
                               .is_live = frame->is_live,
                               .has_unmarked = frame->has_unmarked,
                               .is_signal = frame->is_signal,
                               .cell_count = copy->cell_count - before};
}

int slc_branches_save(struct slc_branches *branches, size_t from, wetdbg_time since,
                      struct slc_branches_copy *copy)
{
    size_t first = branches->frames[from].first_kept;

    assert(from < branches->count);
    copy->count = copy->cell_count = 0;
    if (wd_grow(copy->calls, copy->capacity, branches->count - from) ||
        wd_grow(copy->cells, copy->cell_capacity, branches->kept_count - first))
        return -ENOMEM;
    for (size_t i = branches->kept_count; i-- > first;)
        exchange(branches, i);
    for (size_t f = from; f < branches->count; f++)
        save_frame(branches, f, since, copy);
    for (size_t i = first; i < branches->kept_count; i++)
        exchange(branches, i);
    return 0;
}

/* Puts what a copy says of a frame into the top one, which has a serial and a place already. */
static int take_frame(struct slc_branches *branches, const struct slc_call_copy *call,
                      const struct slc_cell_copy *cells)
{
    struct slc_call_frame *top = slc_branches_top(branches);
    int err = 0;

    top->function = top->function ? top->function : call->function;
    top->is_live = call->is_live;
    top->has_unmarked |= call->has_unmarked;
    for (size_t i = 0; i < call->cell_count && !err; i++) {
        top->has_unmarked |= !cells[i].is_marked;
        err = set_cell(branches, cells[i].branch, cells[i].time,
                       cells[i].is_marked ? slc_some_want.distance : SLC_NOT_WANTED);
    }
    return err;
}

int slc_branches_take(struct slc_branches *branches, size_t count, bool is_remade,
                      const struct slc_branches_copy *copy)
{
    const struct slc_want mark = slc_some_want, none = slc_no_want();
    const struct slc_cell_copy *cells = copy->cells;
    int err = 0;

    assert(count && count <= branches->count && copy->count);
    for (; count > 1; count--)
        slc_branches_pop(branches);
    for (size_t i = 0; i < copy->count && !err; i++) {
        const struct slc_call_copy *call = &copy->calls[i];
        if (i)
            err = slc_branches_push(branches, call->slot, call->is_marked ? &mark : &none);
        else if (is_remade)
            slc_branches_remake(branches, call->is_marked ? &mark : &none);
        if (!err)
            err = take_frame(branches, call, cells);
        cells += call->cell_count;
    }
    return err;
}
