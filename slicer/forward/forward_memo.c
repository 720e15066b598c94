/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/forward/forward_memo.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MEMOS_MAX 24 /* of a node */

/* ---- keys ---- */

/* How two operands lie to each other: 0 if they have nothing in common, else a byte that tells the
 * distance. */
static inline uint64_t lie(uint64_t store, unsigned store_bytes, uint64_t load, unsigned load_bytes)
{
    return slc_overlaps(store, store_bytes, load, load_bytes) ? (uint8_t)(64 + (load - store)) : 0;
}

static unsigned key_registers(const struct slc_regs *regs, const struct slc_glance *glance,
                              struct slc_fwd_key *key, unsigned at)
{
    uint64_t odd = 0;
    unsigned odd_count = 0;

    for (unsigned i = 0; i < glance->words; i++, at += 3) {
        uint64_t uses = glance->uses.bits[i];
        key->words[at] = regs->value.bits[i] & uses;
        key->words[at + 1] = regs->address.bits[i] & uses;
        key->words[at + 2] = regs->narrow.bits[i] & uses;
        odd |= key->words[at + 2] & regs->odd.bits[i];
    }
    if (odd)
        odd_count = slc_memo_odd(regs, glance->uses.bits, glance->words, key->words + at);
    key->words[0] |= (uint64_t)odd_count << 40;
    return odd_count > SLC_FWD_ODD_MAX ? 0 : at + odd_count;
}

static unsigned key_pairs(const struct slc_glance *glance, const uint64_t *slots,
                          struct slc_fwd_key *key, unsigned at)
{
    for (unsigned i = 0; i < glance->pair_count; i++) {
        const struct slc_operands *pair = &glance->pairs[i];
        uint64_t how = lie(slots[pair->store.slot], pair->store.bytes, slots[pair->load.slot],
                           pair->load.bytes);
        if (how && pair->is_pop)
            return 0;
        if (i % 8 == 0)
            key->words[at + i / 8] = 0;
        key->words[at + i / 8] |= how << 8 * (i % 8);
    }
    return at + (glance->pair_count + 7) / 8;
}

/* A pop without a note that is marked itself asks for what the run did before. */
static unsigned key_pops(const struct slc_forward *fwd, const struct slc_glance *glance,
                         const struct wet_exec *exec, const struct slc_node *node, bool is_let,
                         struct slc_fwd_key *key, unsigned at)
{
    struct slc_memory *memory = (struct slc_memory *)(uintptr_t)&fwd->memory;
    const uint64_t *slots = fwd->interval->slots + exec->slot_off;

    for (unsigned i = 0; i < glance->pop_count; i++) {
        uint64_t slot = slots[glance->pops[i].slot];
        int reg = node->popped[glance->pops[i].statement];
        const struct slc_save *save =
            slc_saves_find(&fwd->saves, memory, exec->task, (unsigned)reg, slot);
        bool is_marked = is_let || slc_memory_mask(memory, slot, 8);
        if (!save && is_marked)
            return 0;
        key->words[at++] = save ? 1 + slc_save_word(save) : 0;
    }
    return at;
}

/* By what bytes are chosen. */
static unsigned key_picks(const struct slc_node *node, const uint64_t *slots,
                          struct slc_fwd_key *key, unsigned at)
{
    for (uint32_t s = 0; s < node->statement_count; s++) {
        const struct slc_op *op = &node->compiled.ops[s];
        for (unsigned i = 0; op->pick && i < op->pick->choice.slots; i++)
            key->words[at++] = slots[slc_op_pick_slot(op) + i];
        if (op->tops && op->top_slot == op->choice_slot)
            key->words[at++] = slots[op->top_slot] & SLC_TOP_BITS;
    }
    return at;
}

/* All of it is marked, whatever it uses: only saved registers matter. */
static bool key_whole(const struct slc_forward *fwd, const struct slc_fwd_task *task,
                      const struct slc_glance *glance, const struct slc_node *node,
                      const struct wet_exec *exec, struct slc_fwd_key *key)
{
    const uint64_t *slots = fwd->interval->slots + exec->slot_off;
    unsigned at = glance->pop_count ? key_pairs(glance, slots, key, 1) : 1;

    key->words[0] |= UINT64_C(1) << 33;
    for (unsigned i = 0; i < glance->push_count && at; i++)
        key->words[at++] = slc_saves_word(&task->regs, glance->pushed[i]);
    key->count = at ? key_pops(fwd, glance, exec, node, true, key, at) : 0;
    return key->count != 0;
}

bool slc_fwd_key(const struct slc_forward *fwd, const struct slc_fwd_task *task,
                 const struct slc_glance *glance, const struct slc_node *node,
                 const struct wet_exec *exec, unsigned lets, struct slc_fwd_key *key)
{
    const uint64_t *slots = fwd->interval->slots + exec->slot_off;
    bool has_marks = fwd->memory.word_count != 0;

    key->words[0] = lets | (uint64_t)fwd->slice->options.no_bypass << 32;
    if (slc_fwd_is_whole(glance, lets))
        return key_whole(fwd, task, glance, node, exec, key);
    unsigned at = key_registers(&task->regs, glance, key, 1);
    for (unsigned i = 0; i < glance->load_count && at; i++)
        key->words[at++] = has_marks ? slc_memory_mask(&fwd->memory, slots[glance->loads[i].slot],
                                                       glance->loads[i].bytes)
                                     : 0;
    if (at && glance->pair_count)
        at = key_pairs(glance, slots, key, at);
    if (at && glance->pop_count)
        at = key_pops(fwd, glance, exec, node, lets != 0, key, at);
    if (at && node->compiled.pick_slots)
        at = key_picks(node, slots, key, at);
    if (at && node->compiled.choice_count)
        key->words[at++] = slc_op_list_chosen(&node->compiled, slots);
    key->count = at;
    return at != 0;
}

/* ---- finding ---- */

/* Behind what a memo holds of registers, three words for each of the glance's; see struct
 * slc_fwd_memo. */
static inline struct slc_fwd_step *steps_of(const struct slc_glance *glance,
                                            const struct slc_fwd_memo *memo)
{
    return (struct slc_fwd_step *)(uintptr_t)(memo->lists + 3 * glance->words);
}

static inline uint64_t *odd_of(const struct slc_glance *glance, const struct slc_fwd_memo *memo)
{
    return (uint64_t *)(steps_of(glance, memo) + memo->step_count);
}

struct slc_fwd_memo *slc_fwd_memo_find(struct slc_glance *glance, const struct slc_fwd_key *key)
{
    struct slc_fwd_memo **link = &glance->memos;

    for (struct slc_fwd_memo *memo; (memo = *link); link = &memo->next) {
        const uint64_t *words = odd_of(glance, memo) + memo->odd_count;
        uint64_t differs = memo->key_count ^ key->count;
        for (unsigned i = 0; i < key->count && !differs; i++)
            differs = words[i] ^ key->words[i];
        if (differs)
            continue;
        *link = memo->next;
        memo->next = glance->memos;
        glance->memos = memo;
        return memo;
    }
    return NULL;
}

/* ---- doing it again ---- */

static inline void set_registers(struct slc_regs *regs, const struct slc_glance *glance,
                                 const struct slc_fwd_memo *memo)
{
    const uint64_t *odd = odd_of(glance, memo);

    for (unsigned i = 0; i < glance->words; i++) {
        uint64_t kept = ~glance->defines.bits[i], narrow = memo->lists[3 * i + 2];
        regs->value.bits[i] = (regs->value.bits[i] & kept) | memo->lists[3 * i];
        regs->address.bits[i] = (regs->address.bits[i] & kept) | memo->lists[3 * i + 1];
        regs->narrow.bits[i] = (regs->narrow.bits[i] & kept) | narrow;
        regs->odd.bits[i] &= ~narrow;
    }
    for (unsigned i = 0; i < memo->odd_count; i++) {
        unsigned loc = (unsigned)(odd[i] >> 32);
        regs->masks[loc] = (uint32_t)odd[i];
        ins_regset_add(&regs->odd, loc);
    }
}

static int mark_members(struct slc_forward *fwd, struct slc_fwd_memo *memo, uint32_t off)
{
    unsigned shift = off % 64;
    wetdbg_time time = fwd->interval->first_time + off;
    int err = 0;

    if (!fwd->bits && (err = slc_slice_make_bits(fwd->slice, fwd->interval, &fwd->bits)))
        return err;
    fwd->bits[off / 64] |= memo->members << shift;
    fwd->bits[off / 64 + 1] |= memo->members >> 1 >> (63 - shift);
    memo->last_time = time;
    if (memo->hits++)
        return 0;
    memo->first_time = time;
    memo->next_used = fwd->used_memos;
    fwd->used_memos = memo;
    return 0;
}

int slc_fwd_memo_apply(struct slc_forward *fwd, struct slc_fwd_task *task,
                       const struct slc_glance *glance, const struct wet_exec *exec,
                       struct slc_fwd_memo *memo)
{
    const uint64_t *slots = fwd->interval->slots + exec->slot_off;
    const struct slc_fwd_step *steps = steps_of(glance, memo);
    int err = memo->members ? mark_members(fwd, memo, exec->time_off) : 0;

    for (unsigned i = 0; i < memo->step_count && !err; i++) {
        uint64_t address = slots[steps[i].slot];
        if (steps[i].reg < 0)
            err = slc_fwd_store(&fwd->memory, address, steps[i].size, steps[i].bytes);
        else if (address % 8 == 0)
            err = slc_saves_put(&fwd->saves, &fwd->memory, exec->task, (unsigned)steps[i].reg,
                                address, (uint32_t)steps[i].bytes);
    }
    set_registers(&task->regs, glance, memo);
    return err;
}

void slc_fwd_memos_collect(struct slc_forward *fwd)
{
    for (struct slc_fwd_memo *memo = fwd->used_memos; memo; memo = memo->next_used) {
        for (uint64_t left = memo->members; left; left &= left - 1) {
            unsigned s = (unsigned)__builtin_ctzll(left);
            slc_code_tally(fwd->code, memo->node->pc_index[s], memo->hits, memo->first_time + s,
                           memo->last_time + s, WETDBG_DISTANCE_UNKNOWN);
        }
        memo->hits = 0;
    }
    fwd->used_memos = NULL;
}

/* ---- keeping ---- */

/* The one that was used least lately goes, if its counts have been collected. */
static void make_room(struct slc_glance *glance)
{
    struct slc_fwd_memo **link = &glance->memos;

    while (*link && (*link)->next)
        link = &(*link)->next;
    if (glance->memo_count < MEMOS_MAX || (*link)->hits)
        return;
    free(*link);
    *link = NULL;
    glance->memo_count--;
}

int slc_fwd_memo_keep(struct slc_glance *glance, const struct slc_node *node,
                      const struct slc_regs *regs, const struct slc_fwd_key *key,
                      const struct slc_fwd_draft *draft, bool is_parent)
{
    uint64_t odd[INS_LOC_K];
    unsigned odd_count = slc_memo_odd(regs, glance->defines.bits, glance->words, odd);

    bool is_whole = key->count == 1; /* no others have as few words */

    make_room(glance);
    if (draft->is_void || odd_count > SLC_FWD_ODD_MAX ||
        (glance->memo_count >= MEMOS_MAX && !is_whole))
        return 0;
    struct slc_fwd_memo *memo =
        malloc(sizeof(*memo) + draft->step_count * sizeof(draft->steps[0]) +
               (3 * glance->words + odd_count + key->count) * sizeof(uint64_t));
    if (!memo)
        return -ENOMEM;
    assert(key->count <= SLC_FWD_KEY_MAX && node->statement_count <= 64);
    *memo = (struct slc_fwd_memo){.node = node,
                                  .members = draft->members,
                                  .step_count = (uint8_t)draft->step_count,
                                  .odd_count = (uint8_t)odd_count,
                                  .key_count = (uint8_t)key->count,
                                  .is_parent = is_parent};
    for (unsigned i = 0; i < glance->words; i++) {
        memo->lists[3 * i] = regs->value.bits[i] & glance->defines.bits[i];
        memo->lists[3 * i + 1] = regs->address.bits[i] & glance->defines.bits[i];
        memo->lists[3 * i + 2] = regs->narrow.bits[i] & glance->defines.bits[i];
    }
    memcpy(steps_of(glance, memo), draft->steps, draft->step_count * sizeof(draft->steps[0]));
    memcpy(odd_of(glance, memo), odd, odd_count * sizeof(odd[0]));
    memcpy(odd_of(glance, memo) + odd_count, key->words, key->count * sizeof(key->words[0]));
    if (is_whole) {
        assert(!glance->whole);
        glance->whole = memo;
        return 0;
    }
    memo->next = glance->memos;
    glance->memos = memo;
    glance->memo_count++;
    return 0;
}

void slc_fwd_memos_free(struct slc_fwd_memo *first)
{
    for (struct slc_fwd_memo *memo = first, *next; memo; memo = next) {
        next = memo->next;
        free(memo);
    }
}
