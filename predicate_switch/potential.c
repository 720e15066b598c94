/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Three steps: bytes that the slice's instances handed on through memory are put together by
 * granules of eight; each store on some side is held against them, as it is met in the run; and
 * what a side's blocks could have written becomes that side's omissions. Registers that were handed
 * on are held against the code.
 */
#include "predicate_switch/potential.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/bisect.h"
#include "predicate_switch/handed.h"
#include "predicate_switch/reaching.h"
#include "predicate_switch/sides.h"
#include "recorder/insn/insn_ranges.h"
#include "slicer/slicer.h"
#include "slicer/state_view.h"
#include <wetdbg/caller.h>
#include <wetdbg/errors.h>
#include <wetdbg/model.h>

#define GRANULES_MAX 64u        /* of one store that are looked at */
#define THINNED      (1u << 20) /* wanted bytes of which the far ones are dropped at once */
#define LINE         (UINT64_C(1) << 63) /* marks lines of 64 bytes among granules */
#define REGISTER     UINT64_MAX          /* in place of a granule, behind all others */

/* A byte that was handed on: once by its granule, once by its line. Or a register. */
struct wanted {
    uint64_t granule;
    wetdbg_time after, before;
    uint64_t address;
    uint64_t pc; /* that wrote it; 0: nobody did */
    uint32_t distance;
    uint16_t location; /* of a register, else WETDBG_LOCATION_NONE */
};

/* The nearest of those that a block could have written: indexes, the nearest first. */
struct nearest {
    uint32_t items[PSW_OMISSIONS_EACH];
    uint32_t count;
};

/* What an instruction of a node does for blocks: its operand lies where they write. */
struct op {
    uint32_t statement;
    uint32_t operand;
    uint32_t block;
    uint32_t next;    /* of the same node, plus 1 */
    uint64_t granule; /* that it met last */
};

/* A store through a register that holds a frame's place. */
struct frame_store {
    uint64_t function;
    int64_t disp;
    int8_t base;
    uint32_t block;
};

/* What a block may store to, but not where. */
enum guess {
    GUESS_POINTER = 1, /* through a pointer */
    GUESS_SEEN = 2,    /* ... which did so at some time */
    GUESS_CALL = 4,    /* in a library */
};

/* What a block may write, and how near to what is wanted. */
enum met {
    MET_BYTES,
    MET_LINES,
    MET_REGISTERS,
    MET_COUNT,
};

struct work {
    struct wetdbg_candidates *candidates;
    struct psw_sides sides;
    const struct wetdbg_slice *slice;
    struct wanted *wanted; /* by granule, then by distance */
    size_t wanted_count, wanted_capacity;
    size_t thinned;               /* how many were left when the far ones were dropped last */
    struct psw_handings handings; /* if is_thorough */
    struct nearest *nearest;      /* by enum met, then by block */
    bool is_thorough;
    uint8_t *guesses;          /* by block: of enum guess */
    struct nearest closest[2]; /* of all that is wanted, and of what own code wrote, or nobody */
    struct frame_store *stores;
    uint32_t store_count, store_capacity;
    struct op *ops;
    uint32_t op_count, op_capacity;
    uint32_t *first_ops; /* by node, plus 1; 0: none */
};

/* ---- what is wanted ---- */

static int by_granule(const void *a, const void *b)
{
    const struct wanted *x = a, *y = b;

    if (x->granule != y->granule)
        return x->granule < y->granule ? -1 : 1;
    if (x->distance != y->distance)
        return x->distance < y->distance ? -1 : 1;
    return x->before > y->before ? -1 : x->before < y->before;
}

/* Of each granule the nearest uses are enough. */
static void thin_out(struct work *work)
{
    size_t kept = 0, of_granule = 0;
    uint64_t granule = UINT64_MAX;

    if (work->wanted_count)
        qsort(work->wanted, work->wanted_count, sizeof(*work->wanted), by_granule);
    for (size_t i = 0; i < work->wanted_count; i++) {
        of_granule = work->wanted[i].granule == granule ? of_granule + 1 : 0;
        granule = work->wanted[i].granule;
        if (of_granule < PSW_OMISSIONS_EACH)
            work->wanted[kept++] = work->wanted[i];
    }
    work->wanted_count = work->thinned = kept;
}

static bool is_unwanted(const struct work *work)
{
    const struct wetdbg_candidates_options *options = &work->candidates->options;

    return options->is_unwanted && options->is_unwanted(options->arg);
}

static int add_wanted(struct work *work, const struct wanted *wanted)
{
    if (work->wanted_count >= THINNED + 2 * work->thinned) {
        if (is_unwanted(work))
            return wetdbg_fail_plain(-WETDBG_ERR_INTERRUPTED);
        thin_out(work);
    }
    if (wd_grow(work->wanted, work->wanted_capacity, work->wanted_count + 2))
        return -ENOMEM;
    for (unsigned i = 0; i < 2; i++) {
        struct wanted *one = &work->wanted[work->wanted_count++];
        *one = *wanted;
        one->granule = i ? wanted->address >> 6 | LINE : wanted->address >> 3;
    }
    return 0;
}

static int want_instance(void *arg, const struct wetdbg_slice_instance *instance)
{
    struct work *work = arg;
    wetdbg_time until = work->candidates->options.until;
    const struct wanted wanted = {
        .after = instance->time,
        .before = instance->parent && instance->parent < until ? instance->parent : until,
        .address = instance->address,
        .distance = instance->distance,
        .pc = instance->pc,
        .location = WETDBG_LOCATION_NONE};

    if (instance->location != WETDBG_LOCATION_NONE)
        return work->is_thorough && instance->parent <= until
                   ? psw_handings_add(&work->handings, instance)
                   : 0;
    if (!instance->address || instance->edge == WETDBG_EDGE_CONTROL ||
        instance->edge == WETDBG_EDGE_NONE || instance->time >= wanted.before)
        return 0;
    return add_wanted(work, &wanted);
}

static int want_initial(struct work *work, const struct wetdbg_slice_initial *initial)
{
    struct wanted wanted = {
        .before = initial->user, .distance = initial->distance, .location = WETDBG_LOCATION_NONE};
    int err = 0;

    if (initial->location != WETDBG_LOCATION_NONE)
        return 0;
    for (uint64_t off = 0; off < initial->size_bytes && off < 8 * GRANULES_MAX && !err; off += 8) {
        wanted.address = initial->address + off;
        err = add_wanted(work, &wanted);
    }
    return err;
}

static int find_wanted(struct work *work)
{
    size_t count;
    const struct wetdbg_slice_initial *initials = slc_slice_initials_by_user(work->slice, &count);
    int err = wetdbg_slice_each_instance(work->slice, NULL, 0, want_instance, work);

    for (size_t i = 0; i < count && !err; i++)
        err = want_initial(work, &initials[i]);
    if (!err)
        thin_out(work);
    return err;
}

/* ---- what blocks could have written ---- */

static void add_nearest(struct work *work, struct nearest *nearest, uint32_t wanted)
{
    uint32_t at = nearest->count;

    for (uint32_t i = 0; i < nearest->count; i++)
        if (nearest->items[i] == wanted)
            return;
    while (at && work->wanted[nearest->items[at - 1]].distance > work->wanted[wanted].distance)
        at--;
    if (at == PSW_OMISSIONS_EACH)
        return;
    if (nearest->count < PSW_OMISSIONS_EACH)
        nearest->count++;
    memmove(&nearest->items[at + 1], &nearest->items[at],
            (nearest->count - at - 1) * sizeof(*nearest->items));
    nearest->items[at] = wanted;
}

static struct nearest *nearest_of(const struct work *work, enum met met, uint32_t block)
{
    return &work->nearest[(size_t)met * work->sides.blocks.count + block];
}

static void meet_granules(struct work *work, struct nearest *nearest, uint64_t first, uint64_t last)
{
    last = last - first >= GRANULES_MAX ? first + GRANULES_MAX - 1 : last;
    for (size_t i = wd_bisect(0, work->wanted_count, n, work->wanted[n].granule < first);
         i < work->wanted_count && work->wanted[i].granule <= last; i++)
        add_nearest(work, nearest, (uint32_t)i);
}

/* A block writes (or would write) there. */
static void meet_range(struct work *work, uint32_t block, uint64_t address, uint64_t size)
{
    uint64_t end = address + size - 1;

    if (!size || end < address)
        return;
    meet_granules(work, nearest_of(work, MET_BYTES, block), address >> 3, end >> 3);
    meet_granules(work, nearest_of(work, MET_LINES, block), address >> 6 | LINE, end >> 6 | LINE);
}

static bool is_frame_place(const struct ins_mem *mem)
{
    return (mem->base == INS_RBP || mem->base == INS_RSP) && mem->index < 0 &&
           !(mem->flags & (INS_MEM_IMPLICIT | INS_MEM_FS | INS_MEM_GS));
}

static int add_frame_store(struct work *work, uint32_t block, const struct ins_mem *mem)
{
    if (wd_grow(work->stores, work->store_capacity, work->store_count + 1))
        return -ENOMEM;
    work->stores[work->store_count++] =
        (struct frame_store){work->sides.blocks.items[block].function, mem->disp, mem->base, block};
    return 0;
}

/* What is known of a block is that it stores somewhere. */
static void note_guess(struct work *work, uint32_t block, enum guess guess)
{
    work->guesses[block] |= (uint8_t)guess;
}

static bool is_push(const struct ins_mem *mem)
{
    return mem->flags & INS_MEM_IMPLICIT && mem->flags & INS_MEM_STACK;
}

/* Looks at the stores of a block that are known without running it. */
static int look_at_block(struct work *work, uint32_t index)
{
    const struct psw_block *block = &work->sides.blocks.items[index];
    const struct wetdbg_model *model = wetdbg_get_model(work->candidates->wet);
    uint8_t code[SLC_INSN_BYTES];
    struct ins_info info;
    int err = 0;

    for (uint64_t pc = block->start; pc < block->end && !err; pc += info.length) {
        if (!slc_decode_unrun(model, pc, block->end, code, &info))
            return 0;
        bool is_call = info.klass == INS_CALL || info.klass == INS_CALL_INDIRECT;
        if (is_call &&
            !(info.klass == INS_CALL && wetdbg_is_own(work->candidates->wet, info.target)))
            note_guess(work, index, GUESS_CALL);
        for (unsigned m = 0; m < info.mem_count && !err; m++) {
            const struct ins_mem *mem = &info.mems[m];
            if (!(mem->flags & INS_MEM_WRITE))
                continue;
            if (mem->base < 0 && mem->index < 0 && !(mem->flags & (INS_MEM_FS | INS_MEM_GS)))
                meet_range(work, index, (uint64_t)mem->disp, mem->size_bytes);
            else if (is_frame_place(mem))
                err = add_frame_store(work, index, mem);
            else if (!is_push(mem))
                note_guess(work, index, GUESS_POINTER);
        }
    }
    return err;
}

static int by_place(const void *a, const void *b)
{
    const struct frame_store *x = a, *y = b;

    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    if (x->base != y->base)
        return x->base < y->base ? -1 : 1;
    return x->disp < y->disp ? -1 : x->disp > y->disp;
}

static int look_at_blocks(struct work *work)
{
    int err = 0;

    for (uint32_t i = 0; i < work->sides.blocks.count && !err; i++)
        err = look_at_block(work, i);
    if (!err && work->store_count)
        qsort(work->stores, work->store_count, sizeof(*work->stores), by_place);
    return err;
}

/* ---- what instructions did ---- */

static int add_op(struct work *work, uint32_t node, uint32_t statement, uint32_t operand,
                  uint32_t block)
{
    if (wd_grow(work->ops, work->op_capacity, work->op_count + 1))
        return -ENOMEM;
    work->ops[work->op_count++] =
        (struct op){statement, operand, block, work->first_ops[node], UINT64_MAX};
    work->first_ops[node] = work->op_count;
    return 0;
}

/* The block that an instruction is in, if that is on some side. */
static uint32_t find_block(const struct work *work, const struct wetdbg_graph *graph, uint64_t pc)
{
    uint32_t index;

    if (wetdbg_graph_find(graph, pc, &index))
        return PSW_NONE;
    return psw_block_at(&work->sides.blocks, wetdbg_graph_block(graph, index)->start);
}

/* Other code of a function that uses what stores through the frame write to. */
static int add_frame_ops(struct work *work, uint32_t node, uint32_t statement, uint32_t operand,
                         uint64_t function, const struct ins_mem *mem)
{
    struct frame_store key = {function, mem->disp, mem->base, 0};
    int err = 0;

    for (size_t i = wd_bisect(0, work->store_count, n, by_place(&work->stores[n], &key) < 0);
         i < work->store_count && by_place(&work->stores[i], &key) == 0 && !err; i++)
        err = add_op(work, node, statement, operand, work->stores[i].block);
    return err;
}

static int add_statement(struct work *work, uint32_t node, uint32_t s,
                         const struct wet_statement *statement, const struct wetdbg_graph *graph)
{
    uint32_t block = find_block(work, graph, statement->pc);
    int err = 0;

    for (unsigned m = 0; m < statement->info->mem_count && !err; m++) {
        const struct ins_mem *mem = &statement->info->mems[m];
        if (mem->flags & (INS_MEM_LANES | INS_MEM_SIZE_BOUND))
            continue;
        if (is_frame_place(mem))
            err = add_frame_ops(work, node, s, m, wetdbg_graph_entry(graph), mem);
        else if (block != PSW_NONE && mem->flags & INS_MEM_WRITE && !is_push(mem)) {
            note_guess(work, block, GUESS_SEEN);
            err = add_op(work, node, s, m, block);
        }
    }
    return err;
}

/* Nodes whose functions have blocks on a side. */
static int find_ops(struct work *work)
{
    struct wetdbg *wet = work->candidates->wet;
    struct wetdbg_model *model = wetdbg_get_model(wet);
    uint32_t limit = wet_node_limit(wet);
    int err = 0;

    work->first_ops = calloc((size_t)limit + 1, sizeof(*work->first_ops));
    if (!work->first_ops)
        return -ENOMEM;
    for (uint32_t id = 0; id < limit && !err; id++) {
        const struct wet_node *node = wet_get_node(wet, id);
        const struct wetdbg_graph *graph;
        struct wetdbg_module module;
        bool is_of_side = node && node->executions && node->slot_count &&
                          wetdbg_module_at(model, node->pc, &module) == 0 && module.is_elf &&
                          wetdbg_is_own(wet, node->pc) &&
                          wetdbg_graph_at(model, node->pc, &graph) == 0;
        for (uint32_t s = 0; is_of_side && s < node->statement_count && !err; s++)
            err = add_statement(work, id, s, &node->statements[s], graph);
    }
    return err;
}

static void meet_exec(struct work *work, const struct wet_interval *interval,
                      const struct wet_exec *exec)
{
    const struct wet_node *node = wet_get_node(work->candidates->wet, exec->node);

    for (uint32_t n = work->first_ops[exec->node]; n && node;) {
        struct op *op = &work->ops[n - 1];
        const struct wet_statement *statement = &node->statements[op->statement];
        struct ins_range ranges[INS_RANGES_MAX];
        unsigned count =
            ins_operand_ranges(statement->info, op->operand,
                               interval->slots + exec->slot_off + statement->slot, ranges);
        if (count == 1 && (ranges[0].address >> 3 != op->granule || ranges[0].size_bytes > 8))
            meet_range(work, op->block, ranges[0].address, ranges[0].size_bytes);
        op->granule = ranges[0].address >> 3;
        n = op->next;
    }
}

static int meet_run(struct work *work)
{
    struct wetdbg_candidates *candidates = work->candidates;
    struct wetdbg *wet = candidates->wet;
    uint64_t last = wetdbg_interval_at(wet, candidates->options.until);
    uint32_t limit = wet_node_limit(wet);
    int err = 0;

    for (uint64_t k = 0; k <= last && !err && work->op_count; k++) {
        const struct wet_interval *interval;
        if (is_unwanted(work))
            return wetdbg_fail_plain(-WETDBG_ERR_INTERRUPTED);
        err = wet_interval_get(wet, k, &interval);
        if (err)
            break;
        for (size_t i = 0; i < interval->exec_count; i++)
            if (interval->execs[i].node < limit && work->first_ops[interval->execs[i].node])
                meet_exec(work, interval, &interval->execs[i]);
        wet_interval_put(wet, interval);
    }
    return err;
}

/* ---- registers ---- */

/* The uses of a definition by one instruction: `count` of the wanted ones from `first` on. */
struct register_uses {
    struct work *work;
    size_t first, count;
};

static void meet_definition(void *arg, uint64_t start)
{
    const struct register_uses *uses = arg;
    uint32_t block = psw_block_at(&uses->work->sides.blocks, start);

    for (size_t i = 0; i < uses->count && block != PSW_NONE; i++)
        add_nearest(uses->work, nearest_of(uses->work, MET_REGISTERS, block),
                    (uint32_t)(uses->first + i));
}

/* Wants those times that a definition was handed on to an instruction. */
static int want_hands(struct work *work, const struct psw_handing *handing,
                      const uint64_t use_pcs[PSW_HANDS_EACH], uint64_t use_pc)
{
    if (wd_grow(work->wanted, work->wanted_capacity, work->wanted_count + handing->count))
        return -ENOMEM;
    for (uint32_t i = 0; i < handing->count; i++) {
        const struct psw_hand *hand = &handing->hands[i];
        if (use_pcs[i] != use_pc)
            continue;
        work->wanted[work->wanted_count++] = (struct wanted){.granule = REGISTER,
                                                             .after = hand->after,
                                                             .before = hand->before,
                                                             .distance = hand->distance,
                                                             .location = handing->location};
    }
    return 0;
}

static bool is_first(const uint64_t pcs[PSW_HANDS_EACH], uint32_t at)
{
    for (uint32_t i = 0; i < at; i++)
        if (pcs[i] == pcs[at])
            return false;
    return true;
}

static int meet_handing(struct work *work, struct psw_reaching *reaching,
                        const struct psw_handing *handing)
{
    uint64_t pcs[PSW_HANDS_EACH] = {0};
    int err = 0;

    for (uint32_t i = 0; i < handing->count; i++)
        pcs[i] = slc_slice_pc_at(work->slice, handing->hands[i].before);
    for (uint32_t i = 0; i < handing->count && !err; i++) {
        struct register_uses uses = {work, work->wanted_count, 0};
        if (!pcs[i] || !is_first(pcs, i))
            continue;
        err = want_hands(work, handing, pcs, pcs[i]);
        uses.count = work->wanted_count - uses.first;
        if (!err)
            err = psw_reaching_each(reaching, handing->pc, pcs[i], handing->location,
                                    meet_definition, &uses);
    }
    return err;
}

static int meet_registers(struct work *work)
{
    struct psw_reaching *reaching;
    int err = psw_reaching_new(wetdbg_get_model(work->candidates->wet), &reaching);

    if (err)
        return err;
    for (uint32_t i = 0; i < work->handings.count && !err; i++)
        err = meet_handing(work, reaching, &work->handings.items[i]);
    psw_reaching_free(reaching);
    return err;
}

/* ---- omissions ---- */

static int add_each(struct work *work, const struct psw_side *side, const struct nearest *nearest,
                    enum psw_omission_kind kind, struct psw_omissions *omissions)
{
    if (wd_grow(omissions->items, omissions->capacity, omissions->count + nearest->count))
        return -ENOMEM;
    for (uint32_t n = 0; n < nearest->count; n++) {
        const struct wanted *wanted = &work->wanted[nearest->items[n]];
        omissions->items[omissions->count++] = (struct psw_omission){.predicate = side->predicate,
                                                                     .way = side->way,
                                                                     .distance = wanted->distance,
                                                                     .after = wanted->after,
                                                                     .before = wanted->before,
                                                                     .address = wanted->address,
                                                                     .location = wanted->location,
                                                                     .kind = kind};
    }
    return 0;
}

/* What a side's blocks met: bytes, lines or registers. */
static int add_met(struct work *work, const struct psw_side *side, enum met met,
                   struct psw_omissions *omissions)
{
    struct nearest all = {.count = 0};
    enum psw_omission_kind kind = met == MET_LINES ? PSW_OMITS_NEAR : PSW_OMITS_PLACE;

    for (uint32_t i = 0; i < side->count; i++) {
        const struct nearest *nearest = nearest_of(work, met, work->sides.members[side->first + i]);
        for (uint32_t n = 0; n < nearest->count; n++)
            add_nearest(work, &all, nearest->items[n]);
    }
    return add_each(work, side, &all, kind, omissions);
}

/* A side that may store anywhere might have written what is used nearest. */
static int add_guessed(struct work *work, const struct psw_side *side,
                       struct psw_omissions *omissions)
{
    bool is_blind = false;
    uint8_t any = 0;

    for (uint32_t i = 0; i < side->count; i++) {
        uint8_t guess = work->guesses[work->sides.members[side->first + i]];
        is_blind |= guess & GUESS_POINTER && !(guess & GUESS_SEEN);
        any |= guess & (GUESS_POINTER | GUESS_CALL);
    }
    if (!any)
        return 0;
    enum psw_omission_kind kind = is_blind ? PSW_OMITS_BLIND : PSW_OMITS_CALL;
    int err = add_each(work, side, &work->closest[0], kind, omissions);
    return err ? err : add_each(work, side, &work->closest[1], kind, omissions);
}

/* The uses that are guessed about. */
static void find_closest(struct work *work)
{
    for (size_t i = 0; i < work->wanted_count; i++) {
        if (work->wanted[i].granule & LINE)
            continue;
        add_nearest(work, &work->closest[0], (uint32_t)i);
        if (!work->wanted[i].pc || wetdbg_is_own(work->candidates->wet, work->wanted[i].pc))
            add_nearest(work, &work->closest[1], (uint32_t)i);
    }
}

static int add_omissions(struct work *work, struct psw_omissions *omissions)
{
    int err = 0;

    if (work->is_thorough)
        find_closest(work);
    for (uint32_t i = 0; i < work->sides.count && !err; i++) {
        const struct psw_side *side = &work->sides.items[i];
        for (enum met met = 0; met < MET_COUNT && !err; met++)
            err = add_met(work, side, met, omissions);
        if (!err && work->is_thorough)
            err = add_guessed(work, side, omissions);
    }
    return err;
}

int psw_omissions_find(struct wetdbg_candidates *candidates, const struct wetdbg_slice *slice,
                       bool is_thorough, struct psw_omissions *omissions)
{
    struct work work = {.candidates = candidates, .slice = slice, .is_thorough = is_thorough};
    int err = find_wanted(&work);

    if (!err)
        err = psw_sides_find(&work.sides, &candidates->predicates);
    if (!err &&
        (!(work.nearest =
               calloc(MET_COUNT * (size_t)work.sides.blocks.count + 1, sizeof(*work.nearest))) ||
         !(work.guesses = calloc((size_t)work.sides.blocks.count + 1, sizeof(*work.guesses)))))
        err = -ENOMEM;
    if (!err)
        err = look_at_blocks(&work);
    if (!err)
        err = find_ops(&work);
    if (!err)
        err = meet_run(&work);
    if (!err)
        err = meet_registers(&work);
    if (!err)
        err = add_omissions(&work, omissions);
    psw_sides_fini(&work.sides);
    psw_handings_fini(&work.handings);
    free(work.wanted);
    free(work.nearest);
    free(work.guesses);
    free(work.stores);
    free(work.ops);
    free(work.first_ops);
    return err;
}
