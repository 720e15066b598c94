/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finding a memo, and doing again what it tells; slicer/scan/memo_make.c makes them. */
#include "slicer/scan/memo.h"

#include <stdlib.h>

#include "slicer/scan/fast.h"

#define MEMOS_MAX 64 /* of a node; what goes other ways is not kept */

/* ---- which nodes ---- */

void slc_memos_init(struct slc_node *node)
{
    struct slc_memos *memos = &node->memos;

    memos->is_fit = node->statement_count <= 64 && node->store_count <= SLC_MEMO_STORES_MAX;
    memos->words = 1;
    memos->has_choices = node->compiled.choice_count != 0;
    for (uint32_t s = 0; s < node->statement_count; s++) {
        if (node->compiled.ops[s].flags & SLC_OP_HARD)
            memos->is_fit = false;
        if (!(node->compiled.ops[s].flags & SLC_OP_NARROW))
            memos->words = 4;
    }
    for (uint32_t i = 0; i < node->store_count; i++)
        if (node->stores[i].is_range || node->stores[i].size_bytes > 64)
            memos->is_fit = false;
}

void slc_memos_free(struct slc_memos *memos)
{
    while (memos->first) {
        struct slc_memo *memo = memos->first;
        memos->first = memo->next;
        free(memo);
    }
    memos->count = 0;
}

/* ---- the key ---- */

unsigned slc_memo_odd(const struct slc_regs *regs, const uint64_t *set, unsigned words,
                      uint64_t *list)
{
    unsigned count = 0;

    for (unsigned i = 0; i < words; i++)
        for (uint64_t left = regs->narrow.bits[i] & regs->odd.bits[i] & set[i]; left;
             left &= left - 1) {
            unsigned loc = 64 * i + (unsigned)__builtin_ctzll(left);
            if (count < SLC_MEMO_ODD_MAX)
                list[count] = (uint64_t)loc << 32 | regs->masks[loc];
            count++;
        }
    return count;
}

/* Adds to the key what waits in the slot of store i, if that is a push of it: false if it is
 * not. */
static bool key_push(const struct slc_scan *scan, const struct slc_node *node, uint32_t task,
                     uint32_t i, uint64_t address, uint64_t *word)
{
    const struct slc_saved *saved = slc_bypass_find(&scan->bypass, address);
    int pushed = node->pushed[node->stores[i].statement];

    if (!saved || saved->reg != pushed || saved->task != task || node->stores[i].size_bytes != 8)
        return false;
    *word = (uint64_t)i << 32 | slc_saved_word(saved);
    return true;
}

enum found { FOUND_NOTHING, FOUND_KEY, FOUND_UNKEYED };

/* FOUND_NOTHING if nothing of the key is wanted, FOUND_UNKEYED if a store lies in two words of
 * which something is wanted, or ends what waits without being its push. */
__attribute__((always_inline)) static inline enum found
key_make(struct slc_scan *scan, const struct slc_task *task, const struct wet_exec *exec,
         const struct slc_node *node, bool is_control, unsigned words, unsigned stores,
         struct slc_memo_key *key)
{
    const uint64_t *slots = scan->interval->slots + exec->slot_off;
    uint64_t any = is_control | scan->joints, odd = 0, pushes[SLC_MEMO_STORES_MAX];
    unsigned at = 1, push_count = 0, odd_count = 0;
    bool is_keyed = true;

    for (unsigned i = 0; i < words; i++, at += 3) {
        uint64_t defs = node->defs.bits[i];
        key->words[at] = task->regs.value.bits[i] & defs;
        key->words[at + 1] = task->regs.address.bits[i] & defs;
        key->words[at + 2] = task->regs.narrow.bits[i] & defs;
        any |= key->words[at] | key->words[at + 1];
        odd |= key->words[at + 2] & task->regs.odd.bits[i];
    }
    key->met = 0;
    for (unsigned i = 0; i < stores; i++, at++) {
        const struct slc_store *store = &node->stores[i];
        uint64_t address = slots[store->slot];
        unsigned off = address % 64, group = address % SLC_PAGE_BYTES / 64;
        key->words[at] = 0;
        if (off + store->size_bytes > 64) {
            is_keyed &= !slc_memory_wants_long(&scan->memory, address, store->size_bytes);
            continue;
        }
        const struct slc_page *page = slc_page_find(&scan->memory, address >> SLC_PAGE_BITS);
        if (!page)
            continue;
        key->words[at] = page->bytes[group] >> off & (UINT64_MAX >> (64 - store->size_bytes));
        unsigned waits = slc_page_slots_among(page, group, off, store->size_bytes);
        if (waits)
            is_keyed &= key_push(scan, node, exec->task, i, address, &pushes[push_count++]);
        key->met |= (uint32_t)(key->words[at] || waits) << i;
    }
    for (unsigned i = 0; i < push_count && is_keyed; i++)
        key->words[at++] = pushes[i];
    if (odd)
        odd_count = slc_memo_odd(&task->regs, node->defs.bits, words, key->words + at);
    key->words[0] = (uint64_t)is_control | (uint64_t)scan->slice->options.no_bypass << 1 |
                    (uint64_t)scan->follows_data << 2 | (uint64_t)scan->follows_control << 3 |
                    (uint64_t)odd_count << 8 | (uint64_t)push_count << 16 |
                    (uint64_t)scan->joints << 32;
    key->count = at + odd_count;
    if (!is_keyed || odd_count > SLC_MEMO_ODD_MAX)
        return FOUND_UNKEYED;
    return any | key->met ? FOUND_KEY : FOUND_NOTHING;
}

/* ---- finding ---- */

static inline bool meetings_hold(const struct slc_memo *memo, const uint64_t *slots)
{
    for (unsigned i = 0; i < memo->meeting_count; i++) {
        const struct slc_meeting *meeting = &memo->meetings[i];
        uint64_t store = slots[meeting->store_slot], other = slots[meeting->slot];
        if (meeting->is_overlap ? other - store != (uint64_t)(int64_t)meeting->distance
                                : slc_overlaps(store, meeting->store_bytes, other, meeting->bytes))
            return false;
    }
    return true;
}

static inline bool picks_hold(const struct slc_memo *memo, const uint64_t *slots)
{
    uint64_t differs = 0;

    for (unsigned i = 0; i < memo->pick_count; i++)
        differs |= (slots[memo->picks[i].slot] ^ memo->picks[i].value) & memo->picks[i].mask;
    return !differs;
}

/* Whether the memo's pops are passed by this time too. Their slots go down, or one might be
 * another's. */
static bool pops_hold(struct slc_scan *scan, const struct slc_memo *memo, const uint64_t *slots,
                      wetdbg_time time)
{
    uint64_t above = UINT64_MAX;

    for (unsigned i = 0; i < memo->step_count; i++) {
        const struct slc_step *step = &memo->steps[i];
        uint64_t slot = slots[step->slot];
        if (step->kind != SLC_STEP_POP)
            continue;
        if (slot % 8 || slot >= above ||
            slc_bypass_is_refused(&scan->bypass, time + step->statement))
            return false;
        const struct slc_page *page = slc_page_find(&scan->memory, slot >> SLC_PAGE_BITS);
        if (page && slc_page_slots_among(page, slot % SLC_PAGE_BYTES / 64, slot % 64, 8))
            return false;
        above = slot;
    }
    return true;
}

/* `fixed`: so many words the key has at least. */
__attribute__((always_inline)) static inline struct slc_memo *
memo_find(struct slc_memos *memos, const struct slc_memo_key *key, const uint64_t *slots,
          unsigned fixed, uint64_t chosen)
{
    struct slc_memo **link = &memos->first;

    for (struct slc_memo *memo; (memo = *link); link = &memo->next) {
        uint64_t differs = (chosen ^ memo->chosen) & memo->choices;
        for (unsigned i = 0; i < fixed; i++)
            differs |= memo->key[i] ^ key->words[i];
        if (differs) /* or there are as many words, which the first one says */
            continue;
        for (unsigned i = fixed; i < key->count; i++)
            differs |= memo->key[i] ^ key->words[i];
        if (differs || !meetings_hold(memo, slots) || !picks_hold(memo, slots))
            continue;
        if (link == &memos->first)
            return memo;
        *link = memo->next;
        memo->next = memos->first;
        memos->first = memo;
        return memo;
    }
    return NULL;
}

/* ---- doing it again ---- */

static inline void mark_members(struct slc_scan *scan, struct slc_memo *memo, uint32_t off)
{
    unsigned shift = off % 64;
    uint64_t *word = scan->bits + off / 64;
    wetdbg_time time = scan->interval->first_time + off;

    word[0] |= memo->members << shift;
    word[1] |= memo->members >> 1 >> (63 - shift);
    if (memo->hits++ == 0) {
        memo->last_time = time;
        memo->next_used = scan->code->used_memos;
        scan->code->used_memos = memo;
    }
    memo->first_time = time;
}

__attribute__((always_inline)) static inline void set_registers(struct slc_regs *regs,
                                                                const struct slc_node *node,
                                                                const struct slc_memo *memo,
                                                                unsigned words)
{
    for (unsigned i = 0; i < words; i++) {
        const struct slc_memo_word *more = &memo->words[i];
        uint64_t kept = ~node->defs.bits[i];
        uint64_t value = regs->value.bits[i] & kept;
        uint64_t narrow = regs->narrow.bits[i] & kept & ~more->value;
        uint64_t fresh = more->half & ~value;
        uint64_t mixed = more->half & narrow & regs->odd.bits[i];
        regs->value.bits[i] = value | more->value | more->half;
        regs->address.bits[i] = (regs->address.bits[i] & kept) | more->address;
        regs->narrow.bits[i] = narrow | fresh;
        regs->odd.bits[i] &= ~fresh;
        for (; mixed; mixed &= mixed - 1)
            slc_regs_add_mask(regs, 64 * i + (unsigned)__builtin_ctzll(mixed), SLC_HALF_MASK,
                              &slc_some_want);
    }
    for (unsigned i = 0; i < memo->odd_count; i++)
        slc_regs_add_mask(regs, (unsigned)(memo->odd[i] >> 32), (uint32_t)memo->odd[i],
                          &slc_some_want);
}

static inline void drop_word(struct slc_memory *memory, uint64_t address, uint64_t mask)
{
    struct slc_page *page = slc_page_find(memory, address >> SLC_PAGE_BITS);

    if (page) {
        uint64_t *word = &page->bytes[address % SLC_PAGE_BYTES / 64];
        uint64_t left = *word & ~(mask << (address % 64));
        memory->word_count -= *word && !left;
        *word = left;
    }
}

static inline int do_step(struct slc_scan *scan, const struct wet_exec *exec,
                          const struct slc_step *step, uint64_t address)
{
    struct slc_memory *memory = &scan->memory;
    unsigned off = address % 64;

    if (step->kind == SLC_STEP_WANT)
        return slc_memory_add_bytes(memory, address, step->mask);
    switch ((enum slc_step_kind)step->kind) {
    case SLC_STEP_WANT:
    case SLC_STEP_DROP:
        drop_word(memory, address, step->mask);
        if (off && step->mask >> (64 - off))
            drop_word(memory, address - off + 64, step->mask >> (64 - off));
        return 0;
    case SLC_STEP_POP:
        return slc_bypass_wait(&scan->bypass, memory, exec->task, (uint32_t)step->mask, address,
                               scan->interval->first_time + exec->time_off + step->statement);
    case SLC_STEP_PUSH:
        slc_bypass_end(&scan->bypass, memory, slc_bypass_find(&scan->bypass, address));
        return 0;
    }
    return 0;
}

__attribute__((always_inline)) static inline int memo_apply(struct slc_scan *scan,
                                                            struct slc_task *task,
                                                            const struct wet_exec *exec,
                                                            struct slc_memo *memo, unsigned words)
{
    const uint64_t *slots = scan->interval->slots + exec->slot_off;
    int err = 0;

    if (memo->members) {
        if (!scan->bits && (err = slc_slice_make_bits(scan->slice, scan->interval, &scan->bits)))
            return err;
        mark_members(scan, memo, exec->time_off);
    }
    set_registers(&task->regs, memo->node, memo, words);
    for (unsigned i = 0; i < memo->step_count && !err; i++)
        err = do_step(scan, exec, &memo->steps[i], slots[memo->steps[i].slot]);
    for (unsigned i = 0; i < memo->class_count && !err; i++)
        err = slc_frames_wait(&task->frames, scan->code->classes, memo->classes[i]);
    return err;
}

/* ---- an execution ---- */

static void hold_hit(struct slc_scan *scan, bool is_control)
{
    if (is_control && scan->hits.best.distance == SLC_NOT_WANTED)
        scan->hits.best = (struct slc_want){
            .distance = 1, .edge = WETDBG_EDGE_CONTROL, .location = INS_LOC_COUNT};
}

static int exec_fast(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
                     struct slc_node *node, bool is_control)
{
    hold_hit(scan, is_control);
    slc_join_judge(node);
    return slc_fast_exec(scan, task, exec, node, node->statement_count);
}

/* `words` and `stores` are constants: loops over them are unrolled, so that no branch has to be
 * guessed for them. */
__attribute__((always_inline)) static inline int
exec_shape(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
           struct slc_node *node, bool is_control, unsigned words, unsigned stores)
{
    const uint64_t *slots = scan->interval->slots + exec->slot_off;
    struct slc_memo_key key;
    enum found found = key_make(scan, task, exec, node, is_control, words, stores, &key);

    if (found == FOUND_NOTHING)
        return 0;
    if (found == FOUND_UNKEYED)
        return exec_fast(scan, task, exec, node, is_control);
    uint64_t chosen = node->memos.has_choices ? slc_op_list_chosen(&node->compiled, slots) : 0;
    struct slc_memo *memo = memo_find(&node->memos, &key, slots, 1 + 3 * words + stores, chosen);
    if (memo && (!memo->pop_count ||
                 pops_hold(scan, memo, slots, scan->interval->first_time + exec->time_off)))
        return memo_apply(scan, task, exec, memo, words);
    if (memo || node->memos.count >= MEMOS_MAX)
        return exec_fast(scan, task, exec, node, is_control);
    hold_hit(scan, is_control);
    slc_join_judge(node);
    return slc_memo_make(scan, task, exec, node, &key);
}

int slc_memo_exec(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
                  struct slc_node *node, bool is_control)
{
    if (!node->memos.is_fit || (scan->tracks_frames && !scan->follows_control))
        return exec_fast(scan, task, exec, node, is_control);
    if (node->memos.words != 1)
        return exec_shape(scan, task, exec, node, is_control, 4, node->store_count);
    switch (node->store_count) {
    case 0:
        return exec_shape(scan, task, exec, node, is_control, 1, 0);
    case 1:
        return exec_shape(scan, task, exec, node, is_control, 1, 1);
    case 2:
        return exec_shape(scan, task, exec, node, is_control, 1, 2);
    default:
        return exec_shape(scan, task, exec, node, is_control, 1, node->store_count);
    }
}
