/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Summaries of code. Addresses of instructions are interned, because one instruction is in several
 * nodes when something jumps behind a node's start.
 *
 * The model is told the targets of indirect jumps before a scan. Should it learn of one while a
 * scan runs, that may change the controllers of the jump's function; classes given out before are
 * wrong then, and the scan is done again: `judged` lists functions of which a class was given out.
 */
#include "slicer/scan/code_summary.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/hash.h"
#include "slicer/forward/answers.h"
#include "slicer/forward/glance.h"
#include "slicer/forward/passage.h"
#include "slicer/scan/recorder.h"
#include "slicer/scan/station.h"
#include "slicer/slice_session.h"
#include <wetdbg/errors.h>

#define PLACES_FIRST 4096 /* of the index of addresses, twice as many as there are at least */

int slc_code_init(struct slc_code *code, struct wetdbg *wet, bool has_memos, bool follows_address)
{
    *code = (struct slc_code){.wet = wet,
                              .model = wetdbg_get_model(wet),
                              .has_memos = has_memos,
                              .follows_address = follows_address};
    code->node_limit = wet_node_limit(code->wet);
    code->nodes = calloc((size_t)code->node_limit + 1, sizeof(*code->nodes));
    int err = wd_index_renew(&code->by_pc, PLACES_FIRST);
    err = err ? err : wd_grow_zeroed(code->classes, code->class_capacity, 1);
    code->class_count = 1; /* the empty class */
    if (!err && code->nodes && wetdbg_get_info(wet)->is_buffered)
        err = slc_recorder_find(code);
    return code->nodes ? err : -ENOMEM;
}

static void forget_classes(struct slc_code *code)
{
    for (uint32_t i = 1; i < code->class_count; i++)
        free(code->classes[i].branches);
    code->class_count = code->classes ? 1 : 0;
    memset(code->class_heads, 0, sizeof(code->class_heads));
    code->judged_count = 0;
}

static void node_free(struct slc_node *node)
{
    free(node->stores);
    free(node->pc_index);
    free(node->pushed);
    slc_memos_free(&node->memos);
    slc_glance_free(node->glance);
    free(node->needs);
    slc_op_list_free(&node->compiled);
    free(node);
}

void slc_code_fini(struct slc_code *code)
{
    slc_joined_free(code);
    for (uint32_t i = 0; code->nodes && i < code->node_limit; i++)
        if (code->nodes[i])
            node_free(code->nodes[i]);
    forget_classes(code);
    free(code->nodes);
    free(code->pcs);
    free(code->counted);
    free(code->are_calls);
    free(code->stub_pages);
    free(code->lines);
    wd_index_fini(&code->by_line);
    wd_index_fini(&code->by_pc);
    free(code->classes);
    free(code->judged);
    *code = (struct slc_code){0};
}

/* An op has others for each TOP. */
static void set_pc(struct slc_op *op, uint32_t pc_index)
{
    op->pc_index = pc_index;
    for (unsigned top = 0; op->tops && top < 8; top++)
        op->tops[top].pc_index = pc_index;
}

static void forget_class(struct slc_op *op)
{
    op->klass = SLC_UNKNOWN;
    for (unsigned top = 0; op->tops && top < 8; top++)
        op->tops[top].klass = SLC_UNKNOWN;
}

void slc_code_forget(struct slc_code *code)
{
    forget_classes(code);
    if (code->session) {
        slc_stretches_forget(code->session, UINT64_MAX);
        slc_passages_forget(code->session->passages, (unsigned)(code - code->session->codes));
        slc_answers_free(code->session);
    }
    code->used_memos = NULL;
    code->is_outdated = false;
    slc_code_clear_tallies(code);
    for (uint32_t i = 0; i < code->pc_count; i++)
        code->pcs[i].klass = SLC_UNKNOWN;
    slc_joined_forget(code);
    for (uint32_t i = 0; i < code->node_limit; i++) {
        if (!code->nodes[i])
            continue;
        slc_memos_free(&code->nodes[i]->memos);
        slc_glance_free(code->nodes[i]->glance);
        code->nodes[i]->glance = NULL;
        for (uint32_t s = 0; s < code->nodes[i]->statement_count; s++)
            forget_class(&code->nodes[i]->compiled.ops[s]);
    }
}

/* ---- counts ---- */

void slc_code_collect(struct slc_code *code)
{
    for (struct slc_memo *memo = code->used_memos; memo; memo = memo->next_used) {
        for (uint64_t left = memo->members; left; left &= left - 1) {
            unsigned s = (unsigned)__builtin_ctzll(left);
            slc_code_tally(code, memo->node->pc_index[s], memo->hits, memo->first_time + s,
                           memo->last_time + s, WETDBG_DISTANCE_UNKNOWN);
        }
        memo->hits = 0;
    }
    code->used_memos = NULL;
}

void slc_code_clear_tallies(struct slc_code *code)
{
    for (struct slc_memo *memo = code->used_memos; memo; memo = memo->next_used)
        memo->hits = 0;
    code->used_memos = NULL;
    for (uint32_t i = 0; i < code->counted_count; i++)
        code->pcs[code->counted[i]].tally.instances = 0;
    code->counted_count = 0;
}

/* ---- nodes ---- */

static uint32_t last_flags(const struct ins_info *info)
{
    switch (info->klass) {
    case INS_JCC:
        return SLC_NODE_BRANCH | SLC_NODE_JUMP;
    case INS_JMP:
        return SLC_NODE_JUMP;
    case INS_JMP_INDIRECT:
        return SLC_NODE_BRANCH | SLC_NODE_JUMP | SLC_NODE_INDIRECT;
    case INS_CALL:
    case INS_CALL_INDIRECT:
        return SLC_NODE_CALL;
    case INS_RET:
        return SLC_NODE_RET;
    default:
        return 0;
    }
}

static int list_stores(struct slc_node *node, const struct wet_node *wet)
{
    uint32_t count = 0;

    for (int pass = 0; pass < 2; pass++) {
        count = 0;
        for (uint32_t s = 0; s < wet->statement_count; s++) {
            const struct wet_statement *statement = &wet->statements[s];
            for (unsigned m = 0; m < statement->info->mem_count; m++) {
                const struct ins_mem *mem = &statement->info->mems[m];
                if (!(mem->flags & INS_MEM_WRITE))
                    continue;
                if (pass)
                    node->stores[count] = (struct slc_store){
                        .statement = (uint16_t)s,
                        .operand = (uint8_t)m,
                        .is_range = mem->flags & (INS_MEM_REP | INS_MEM_VSIB32 | INS_MEM_VSIB64 |
                                                  INS_MEM_SIZE_BOUND),
                        .slot = (uint16_t)(statement->slot + m),
                        .size_bytes = mem->size_bytes};
                count++;
            }
        }
        if (!pass && !(node->stores = calloc((size_t)count + 1, sizeof(*node->stores))))
            return -ENOMEM;
    }
    node->store_count = count;
    return 0;
}

uint32_t slc_stack_slot(const struct wet_statement *statement)
{
    for (unsigned m = 0; m < statement->info->mem_count; m++)
        if (statement->info->mems[m].flags & INS_MEM_IMPLICIT)
            return statement->slot + m;
    return SLC_UNKNOWN;
}

bool slc_code_is_loader(const struct slc_code *code, uint64_t pc)
{
    struct wetdbg_module module;

    return wetdbg_module_at(code->model, pc, &module) == 0 &&
           (strncmp(module.name, "ld-linux", 8) == 0 || strncmp(module.name, "ld-2.", 5) == 0);
}

/* Whether a function of the dynamic linker may be its lazy-binding resolver: without symbols any
 * might be. */
static bool is_resolver(const struct wetdbg_function *function)
{
    return !(function->flags & WETDBG_FUNCTION_SYMBOL) ||
           strncmp(function->name, "_dl_runtime_resolve", 19) == 0;
}

static void find_function(struct slc_code *code, struct slc_node *node)
{
    struct wetdbg_function function;

    node->is_loader = slc_code_is_loader(code, node->wet->pc);
    node->is_recorder = slc_recorder_has(code, node->wet->pc);
    if (wetdbg_function_at(code->model, node->wet->pc, &function))
        return;
    node->is_resolver = node->is_loader && is_resolver(&function);
    node->function = function.start;
    node->has_displaced = node->is_recorder && slc_recorder_has_displaced(function.name);
    node->is_entry = function.start == node->wet->pc;
    node->is_cold = function.flags & WETDBG_FUNCTION_COLD;
    node->is_unwinder = strncmp(function.name, "_Unwind_", 8) == 0;
}

static int describe_statements(struct slc_code *code, struct slc_node *node)
{
    for (uint32_t s = 0; s < node->statement_count; s++) {
        const struct wet_statement *statement = &node->wet->statements[s];
        node->pushed[s] = (int8_t)slc_pushed_register(statement->info);
        node->popped[s] = (int8_t)slc_popped_register(statement->info);
        node->has_pops |= node->popped[s] >= 0;
        struct ins_regset defs = ins_all_defs(statement->info);
        ins_regset_join(&node->defs, &defs);
        node->pc_index[s] = slc_code_pc(code, statement->pc);
        if (node->pc_index[s] == SLC_UNKNOWN)
            return -ENOMEM;
        code->are_calls[node->pc_index[s]] =
            statement->info->klass == INS_CALL || statement->info->klass == INS_CALL_INDIRECT;
        set_pc(&node->compiled.ops[s], node->pc_index[s]);
    }
    return 0;
}

struct slc_node *slc_code_make_node(struct slc_code *code, uint32_t id)
{
    const struct wet_node *wet = wet_get_node(code->wet, id);

    if (!wet || id >= code->node_limit || wet->statement_count == 0) {
        wetdbg_fail(-WETDBG_ERR_CORRUPT, "an execution names node %u, which does not exist", id);
        return NULL;
    }
    struct slc_node *node = aligned_alloc(64, (sizeof(*node) + 63) & ~(size_t)63);
    if (!node)
        return NULL;
    *node = (struct slc_node){.wet = wet};
    node->statement_count = wet->statement_count;
    node->pc_index = malloc(wet->statement_count * sizeof(*node->pc_index));
    node->pushed = malloc(2 * (size_t)wet->statement_count);
    node->popped = node->pushed ? node->pushed + wet->statement_count : NULL;
    if (!node->pc_index || !node->pushed || list_stores(node, wet) ||
        slc_op_list_make(&node->compiled, wet, code->follows_address) ||
        describe_statements(code, node)) {
        node_free(node);
        return NULL;
    }
    slc_joining_init(node);
    if (code->has_memos)
        slc_memos_init(node);
    const struct wet_statement *last = &wet->statements[wet->statement_count - 1];
    node->last_pc = last->pc;
    node->branch_bit = slc_pc_bit(last->pc);
    node->flags = last_flags(last->info);
    node->exit_slot = slc_stack_slot(last);
    if (node->exit_slot == SLC_UNKNOWN)
        node->flags &= ~(uint32_t)(SLC_NODE_CALL | SLC_NODE_RET);
    find_function(code, node);
    code->nodes[id] = node;
    return node;
}

/* ---- addresses ---- */

static uint32_t *pc_slot(const struct slc_code *code, uint64_t pc)
{
    assert(code->pc_count < code->by_pc.capacity);
    return wd_index_find(&code->by_pc, wd_hash_u64(pc) >> 32, n, code->pcs[n].pc == pc);
}

/* Room for one more. */
static int grow_pcs(struct slc_code *code)
{
    uint32_t capacity = code->pc_capacity, as_many = code->pc_capacity,
             once_more = code->pc_capacity;

    if (wd_grow(code->pcs, capacity, code->pc_count + 1) ||
        wd_grow(code->counted, as_many, code->pc_count + 1) ||
        wd_grow(code->are_calls, once_more, code->pc_count + 1))
        return -ENOMEM;
    code->pc_capacity = capacity;
    if (code->pc_count * 2 < code->by_pc.capacity)
        return 0;
    if (wd_index_renew(&code->by_pc, code->by_pc.capacity * 2))
        return -ENOMEM;
    for (uint32_t i = 0; i < code->pc_count; i++)
        *pc_slot(code, code->pcs[i].pc) = i + 1;
    return 0;
}

uint32_t slc_code_pc(struct slc_code *code, uint64_t pc)
{
    uint32_t *slot = pc_slot(code, pc);

    if (*slot)
        return *slot - 1;
    if (grow_pcs(code))
        return SLC_UNKNOWN;
    slot = pc_slot(code, pc);
    code->pcs[code->pc_count] =
        (struct slc_pc){.pc = pc, .line = SLC_UNKNOWN, .klass = SLC_UNKNOWN};
    code->are_calls[code->pc_count] = false;
    *slot = ++code->pc_count;
    return *slot - 1;
}

/* ---- control classes ---- */

static uint32_t intern_class(struct slc_code *code, const uint64_t *branches, size_t count)
{
    uint64_t hash = count;
    struct slc_class klass = {.count = count};

    assert(code->class_count);
    if (count == 0)
        return 0;
    for (size_t i = 0; i < count; i++) {
        hash = wd_hash_u64(hash ^ branches[i]);
        klass.bloom |= slc_pc_bit(branches[i]);
    }
    uint32_t *head = &code->class_heads[hash >> 54];
    for (uint32_t i = *head; i; i = code->classes[i].next)
        if (code->classes[i].count == count &&
            memcmp(code->classes[i].branches, branches, count * 8) == 0)
            return i;
    if (wd_grow(code->classes, code->class_capacity, code->class_count + 1))
        return SLC_UNKNOWN;
    klass.branches = malloc(count * 8);
    if (!klass.branches)
        return SLC_UNKNOWN;
    memcpy(klass.branches, branches, count * 8);
    klass.next = *head;
    *head = code->class_count;
    code->classes[code->class_count] = klass;
    return code->class_count++;
}

static bool is_judged(const struct slc_code *code, uint64_t function)
{
    for (uint32_t i = code->judged_count; i-- > 0;)
        if (code->judged[i] == function)
            return true;
    return false;
}

static int judge(struct slc_code *code, uint64_t pc)
{
    struct wetdbg_function function;

    if (wetdbg_function_at(code->model, pc, &function) || is_judged(code, function.start))
        return 0;
    if (wd_grow(code->judged, code->judged_capacity, code->judged_count + 1))
        return -ENOMEM;
    code->judged[code->judged_count++] = function.start;
    return 0;
}

uint32_t slc_code_class(struct slc_code *code, uint32_t index)
{
    struct slc_pc *entry = &code->pcs[index];
    const uint64_t *branches = NULL;
    size_t count = 0;

    assert(index < code->pc_count);
    if (entry->klass != SLC_UNKNOWN)
        return entry->klass;
    if (judge(code, entry->pc))
        return SLC_UNKNOWN;
    int err = code->no_exits
                  ? wetdbg_controllers_no_exits(code->model, entry->pc, &branches, &count)
                  : wetdbg_controllers(code->model, entry->pc, &branches, &count);
    if (err == -ENOMEM)
        return SLC_UNKNOWN;
    entry->klass = intern_class(code, branches, err ? 0 : count);
    return entry->klass;
}

/* ---- jumps ---- */

bool slc_code_is_inner_jump(const struct wetdbg_function *from, const struct wetdbg_function *to,
                            uint64_t target)
{
    bool is_entry = to->start == target, is_cold = to->flags & WETDBG_FUNCTION_COLD;

    if (from->start == to->start)
        return true;
    if (strncmp(from->name, "_Unwind_", 8) == 0 && !(is_entry && !is_cold))
        return false;
    return is_cold || from->flags & WETDBG_FUNCTION_COLD;
}

int slc_code_saw_jump(struct slc_code *code, const struct slc_node *from, const struct slc_node *to)
{
    uint64_t key = from->last_pc ^ wd_hash_u64(to->wet->pc);
    uint64_t *cached = &code->jump_cache[key % 1024];

    if (*cached == key || !from->function || !to->function || slc_is_landing(from, to) ||
        (from->function != to->function && !to->is_cold && !from->is_cold))
        return 0;
    *cached = key;
    if (mdl_add_indirect_target(code->model, from->last_pc, to->wet->pc) <= 0)
        return 0;
    for (unsigned i = 0; code->session && i < SLC_SESSION_CODES; i++) {
        struct slc_code *other = &code->session->codes[i];
        if (other != code && (is_judged(other, from->function) || is_judged(other, to->function)))
            other->is_outdated = true;
    }
    return is_judged(code, from->function) || is_judged(code, to->function);
}

bool slc_is_tail_jump(const struct slc_node *from, const struct slc_node *to)
{
    return to->is_entry && !to->is_cold && from->function != to->function;
}

/* What throws ends with a jump from the unwinder to a landing pad, which may be in a cold part. */
bool slc_is_landing(const struct slc_node *from, const struct slc_node *to)
{
    return from->is_unwinder && from->flags & SLC_NODE_INDIRECT && to->function &&
           from->function != to->function && !(to->is_entry && !to->is_cold);
}

bool slc_is_far_jump(const struct slc_node *from, const struct slc_node *to)
{
    if (slc_is_landing(from, to))
        return true;
    return from->flags & SLC_NODE_INDIRECT && from->function && to->function &&
           from->function != to->function && !to->is_entry && !to->is_cold && !from->is_cold;
}
