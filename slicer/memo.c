/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/memo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "slicer/fast.h"

#define MEMOS_MAX 64 /* of a node; what goes other ways is not kept */

/* ---- which nodes ---- */

void slc_memos_init(struct slc_node *node)
{
    struct slc_memos *memos = &node->memos;

    memos->is_fit = node->statement_count <= 64 && node->store_count <= SLC_MEMO_STORES_MAX;
    memos->words = 1;
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
        free(memo->steps);
        free(memo->meetings);
        free(memo);
    }
    memos->count = 0;
}

/* ---- the key ---- */

/* Wanted bytes of a store; false if a saved register waits there, or it lies in two words of which
 * something is wanted. */
static inline bool store_mask(struct slc_scan *scan, uint64_t address, unsigned size,
                              uint64_t *mask)
{
    struct slc_memory *memory = &scan->memory;
    unsigned off = address % 64;

    *mask = 0;
    if (off + size > 64)
        return !slc_memory_wants_long(memory, address, size);
    const struct slc_page *page = slc_memory_look(memory, address);
    if (!page)
        return true;
    unsigned group = address % SLC_PAGE_BYTES / 64;
    *mask = page->bytes[group] >> off & (UINT64_MAX >> (64 - size));
    return slc_page_slots(page, group) == 0;
}

/* A piece and its wanted bytes as one word. */
static inline uint64_t narrow_word(const struct slc_regs *regs, unsigned loc)
{
    return (uint64_t)loc << 32 | regs->masks[loc];
}

/* Appends the pieces of `set` of which not all bytes are wanted; returns how many there are, of
 * which at most SLC_MEMO_NARROW_MAX are appended. */
static unsigned narrow_words(const struct slc_regs *regs, const struct ins_regset *set,
                             unsigned words, uint64_t *list)
{
    unsigned count = 0;

    for (unsigned i = 0; i < words; i++)
        for (uint64_t left = regs->narrow.bits[i] & set->bits[i]; left; left &= left - 1) {
            if (count < SLC_MEMO_NARROW_MAX)
                list[count] = narrow_word(regs, 64 * i + (unsigned)__builtin_ctzll(left));
            count++;
        }
    return count;
}

enum found { FOUND_NOTHING, FOUND_KEY, FOUND_UNKEYED };

/* Fills the key, of *count words; FOUND_NOTHING if nothing of it is wanted. */
static inline enum found key_make(struct slc_scan *scan, const struct slc_task *task,
                                  const struct slc_node *node, const uint64_t *slots, uint64_t *key,
                                  unsigned *count)
{
    unsigned at = 1, words = node->memos.words;
    uint64_t narrow = 0;
    bool is_control = scan->hits.best.distance != SLC_NOT_WANTED;
    uint64_t any = is_control;
    bool is_keyed = true;

    for (unsigned i = 0; i < words; i++) {
        key[at] = task->regs.value.bits[i] & node->defs.bits[i];
        key[at + 1] = task->regs.address.bits[i] & node->defs.bits[i];
        any |= key[at] | key[at + 1];
        narrow |= task->regs.narrow.bits[i] & node->defs.bits[i];
        at += 2;
    }
    for (uint32_t i = 0; i < node->store_count; i++, at++) {
        const struct slc_store *store = &node->stores[i];
        is_keyed &= store_mask(scan, slots[store->slot], store->size_bytes, &key[at]);
        any |= key[at];
    }
    key[0] = is_control | scan->slice->options.no_bypass << 1 | scan->follows_data << 2 |
             scan->follows_control << 3;
    if (narrow) {
        unsigned more = narrow_words(&task->regs, &node->defs, words, key + at);
        is_keyed &= more <= SLC_MEMO_NARROW_MAX;
        key[0] |= (uint64_t)more << 8;
        at += more;
    }
    *count = at;
    if (!is_keyed)
        return FOUND_UNKEYED;
    return any ? FOUND_KEY : FOUND_NOTHING;
}

static inline struct slc_memo *memo_find(struct slc_memos *memos, const uint64_t *key,
                                         unsigned words)
{
    struct slc_memo **link = &memos->first;

    for (struct slc_memo *memo; (memo = *link); link = &memo->next) {
        uint64_t differs = 0;
        if (memo->key[0] != key[0]) /* it says how many words there are */
            continue;
        for (unsigned i = 1; i < words; i++)
            differs |= memo->key[i] ^ key[i];
        if (differs)
            continue;
        *link = memo->next;
        memo->next = memos->first;
        memos->first = memo;
        return memo;
    }
    return NULL;
}

/* ---- operands that overlap ---- */

static bool overlaps(uint64_t a, unsigned a_bytes, uint64_t b, unsigned b_bytes)
{
    return b - a < a_bytes || a - b < b_bytes;
}

static inline bool meetings_hold(const struct slc_memo *memo, const uint64_t *slots)
{
    for (unsigned i = 0; i < memo->meeting_count; i++) {
        const struct slc_meeting *meeting = &memo->meetings[i];
        uint64_t store = slots[meeting->store_slot], other = slots[meeting->slot];
        if (meeting->is_overlap ? other - store != (uint64_t)(int64_t)meeting->distance
                                : overlaps(store, meeting->store_bytes, other, meeting->bytes))
            return false;
    }
    return true;
}

/* Moves rsp by a constant at most. */
static bool keeps_stack(const struct ins_info *info)
{
    struct ins_regset rsp = {0};
    bool is_implicit = false, is_stack = true, defines = false;

    ins_regset_add_gpr(&rsp, INS_RSP, 0, 8);
    for (unsigned f = 0; f < info->flow_count; f++)
        if (ins_regset_intersects(&info->flows[f].defs, &rsp) ||
            ins_regset_intersects(&info->flows[f].may_defs, &rsp)) {
            defines = true;
            is_stack &= (info->flows[f].kinds & INS_FLOW_STACK) != 0;
        }
    for (unsigned m = 0; m < info->mem_count; m++)
        is_implicit |= info->mems[m].flags & INS_MEM_IMPLICIT && info->mems[m].base == INS_RSP;
    return !defines || (is_stack && is_implicit);
}

static bool defines_gpr(const struct ins_info *info, int gpr)
{
    struct ins_regset all = ins_all_defs(info), own = {0};

    if (gpr < 0)
        return false;
    ins_regset_add_gpr(&own, (unsigned)gpr, 0, 8);
    return ins_regset_intersects(&all, &own);
}

static const struct ins_mem *operand_at(const struct slc_node *node, uint32_t s, unsigned slot)
{
    return &node->wet->statements[s].info->mems[slot - node->wet->statements[s].slot];
}

/* Whether operands of statements i < j lie the same way in all executions. */
static bool is_told_by_code(const struct slc_node *node, uint32_t i, unsigned store_slot,
                            uint32_t j, unsigned slot)
{
    const uint16_t odd = INS_MEM_BIT_OFFSET | INS_MEM_ADDR32 | INS_MEM_INDEX_BYTE | INS_MEM_LINE |
                         INS_MEM_FS | INS_MEM_GS;
    const struct ins_mem *a = operand_at(node, i, store_slot), *b = operand_at(node, j, slot);

    if (a->base != b->base || a->index != b->index || (a->index >= 0 && a->scale != b->scale) ||
        ((a->flags | b->flags) & odd))
        return false;
    for (uint32_t s = i; s < j; s++) {
        const struct ins_info *info = node->wet->statements[s].info;
        if (a->base == INS_RSP ? !keeps_stack(info) : defines_gpr(info, a->base))
            return false;
        if (defines_gpr(info, a->index))
            return false;
    }
    return true;
}

struct meetings {
    struct slc_meeting list[UINT8_MAX];
    unsigned count;
    bool is_full;
};

static void meetings_add(struct meetings *meetings, const struct slc_node *node,
                         const uint64_t *slots, const struct slc_store *store, uint32_t s,
                         unsigned slot, unsigned bytes)
{
    struct slc_meeting meeting = {.store_slot = store->slot,
                                  .slot = (uint16_t)slot,
                                  .store_bytes = (uint8_t)store->size_bytes,
                                  .bytes = (uint8_t)bytes};

    if (is_told_by_code(node, store->statement, store->slot, s, slot))
        return;
    if (meetings->count == UINT8_MAX) {
        meetings->is_full = true;
        return;
    }
    meeting.is_overlap = overlaps(slots[store->slot], store->size_bytes, slots[slot], bytes);
    if (meeting.is_overlap)
        meeting.distance = (int8_t)(slots[slot] - slots[store->slot]);
    meetings->list[meetings->count++] = meeting;
}

/* A store's wanted bytes may come from, or be taken by, what comes later in the node. */
static void meetings_find(struct meetings *meetings, const struct slc_node *node,
                          const uint64_t *slots, const uint64_t *masks,
                          const struct slc_draft *draft)
{
    meetings->count = 0;
    meetings->is_full = false;
    for (uint32_t i = 0; i < node->store_count; i++) {
        const struct slc_store *store = &node->stores[i];
        for (unsigned k = 0; k < draft->step_count; k++) {
            const struct slc_step *step = &draft->steps[k];
            if (!step->is_store && step->statement > store->statement)
                meetings_add(meetings, node, slots, store, step->statement, step->slot,
                             operand_at(node, step->statement, step->slot)->size_bytes);
        }
        for (uint32_t k = 0; k < node->store_count && masks[i]; k++)
            if (masks[k] && node->stores[k].statement > store->statement)
                meetings_add(meetings, node, slots, store, node->stores[k].statement,
                             node->stores[k].slot, node->stores[k].size_bytes);
    }
}

/* ---- writing down ---- */

static void *copy_of(const void *list, size_t bytes)
{
    void *copy = malloc(bytes + 1);

    if (copy)
        memcpy(copy, list, bytes);
    return copy;
}

static int memo_keep(struct slc_node *node, const uint64_t *key, unsigned words,
                     const struct slc_draft *draft, const struct slc_regs *regs,
                     const struct meetings *meetings)
{
    uint64_t narrow[SLC_MEMO_NARROW_MAX];
    unsigned narrow_count = narrow_words(regs, &regs->value, 4, narrow);

    if (narrow_count > SLC_MEMO_NARROW_MAX)
        return 0;
    struct slc_memo *memo = calloc(1, sizeof(*memo) + (words + narrow_count) * sizeof(*key));
    if (!memo)
        return -ENOMEM;
    memo->node = node;
    memo->members = draft->members;
    memo->value = regs->value;
    ins_regset_remove(&memo->value, &regs->narrow);
    memo->address = regs->address;
    memo->key_count = (uint16_t)words;
    memo->narrow_count = (uint8_t)narrow_count;
    memcpy(memo->key + words, narrow, narrow_count * sizeof(*narrow));
    memo->step_count = (uint8_t)draft->step_count;
    memo->steps = copy_of(draft->steps, draft->step_count * sizeof(*memo->steps));
    memo->meeting_count = (uint8_t)meetings->count;
    memo->meetings = copy_of(meetings->list, meetings->count * sizeof(*memo->meetings));
    memo->class_count = (uint8_t)draft->class_count;
    memcpy(memo->classes, draft->classes, sizeof(memo->classes));
    memcpy(memo->key, key, words * sizeof(*key));
    if (!memo->steps || !memo->meetings) {
        free(memo->steps);
        free(memo->meetings);
        free(memo);
        return -ENOMEM;
    }
    memo->next = node->memos.first;
    node->memos.first = memo;
    node->memos.count++;
    return 0;
}

/* Follows the execution with nothing wanted of registers but what the key says: what is wanted of
 * them afterwards is what the memo holds. */
static int memo_make(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
                     struct slc_node *node, const uint64_t *key, unsigned words)
{
    const uint64_t *slots = scan->interval->slots + exec->slot_off;
    struct slc_regs *regs = &task->regs, passed = *regs;
    struct slc_draft draft = {.step_count = 0};
    struct meetings meetings;

    slc_regs_remove(&passed, &node->defs);
    slc_regs_keep(regs, &node->defs);
    scan->draft = &draft;
    int error = slc_fast_exec(scan, task, exec, node, node->statement_count);
    scan->draft = NULL;
    if (!error && !draft.is_void) {
        meetings_find(&meetings, node, slots, key + 1 + 2 * node->memos.words, &draft);
        if (!meetings.is_full)
            error = memo_keep(node, key, words, &draft, regs, &meetings);
    }
    slc_regs_join(regs, &passed);
    return error;
}

/* ---- doing it again ---- */

static inline void mark_members(struct slc_scan *scan, struct slc_memo *memo, uint32_t off)
{
    unsigned shift = off % 64;
    uint64_t *word = scan->bits + off / 64;
    wet_time time = scan->interval->first_time + off;

    word[0] |= memo->members << shift;
    word[1] |= memo->members >> 1 >> (63 - shift);
    if (memo->hits++ == 0) {
        memo->last_time = time;
        memo->next_used = scan->code->used_memos;
        scan->code->used_memos = memo;
    }
    memo->first_time = time;
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

static inline int do_step(struct slc_memory *memory, const struct slc_step *step, uint64_t address)
{
    unsigned off = address % 64;

    if (!step->is_store)
        return slc_memory_add_bytes(memory, address, step->mask);
    drop_word(memory, address, step->mask);
    if (off && step->mask >> (64 - off))
        drop_word(memory, address - off + 64, step->mask >> (64 - off));
    return 0;
}

static int memo_apply(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
                      struct slc_memo *memo)
{
    const struct slc_node *node = memo->node;
    const uint64_t *slots = scan->interval->slots + exec->slot_off;
    unsigned words = node->memos.words;
    int error = 0;

    if (memo->members) {
        if (!scan->bits && (error = slc_slice_make_bits(scan->slice, scan->interval, &scan->bits)))
            return error;
        mark_members(scan, memo, exec->time_off);
    }
    for (unsigned i = 0; i < words; i++) {
        task->regs.value.bits[i] &= ~node->defs.bits[i];
        task->regs.address.bits[i] &= ~node->defs.bits[i];
        task->regs.narrow.bits[i] &= ~(node->defs.bits[i] | memo->value.bits[i]);
        task->regs.value.bits[i] |= memo->value.bits[i];
        task->regs.address.bits[i] |= memo->address.bits[i];
    }
    for (unsigned i = 0; i < memo->narrow_count; i++) {
        uint64_t word = memo->key[memo->key_count + i];
        slc_regs_add_mask(&task->regs, (unsigned)(word >> 32), (uint32_t)word, &slc_some_want);
    }
    for (unsigned i = 0; i < memo->step_count && !error; i++)
        error = do_step(&scan->memory, &memo->steps[i], slots[memo->steps[i].slot]);
    for (unsigned i = 0; i < memo->class_count && !error; i++)
        if (slc_frames_top(&task->frames)->last_klass != memo->classes[i]) {
            struct slc_want want = {
                .distance = 1, .edge = SLC_EDGE_CONTROL, .location = INS_LOC_COUNT};
            error = slc_frames_request(&task->frames, scan->code->classes, memo->classes[i], &want);
        }
    return error;
}

static inline void forget_hit(struct slc_hits *hits)
{
    hits->best = slc_no_want();
    hits->best_address = 0;
    hits->is_guard = false;
}

int slc_memo_exec(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
                  struct slc_node *node)
{
    const uint64_t *slots = scan->interval->slots + exec->slot_off;
    uint64_t key[SLC_MEMO_KEY_MAX];
    unsigned words;

    if (!node->memos.is_fit || (scan->tracks_frames && !scan->follows_control))
        return slc_fast_exec(scan, task, exec, node, node->statement_count);
    enum found found = key_make(scan, task, node, slots, key, &words);
    if (found == FOUND_NOTHING)
        return 0;
    if (found == FOUND_UNKEYED)
        return slc_fast_exec(scan, task, exec, node, node->statement_count);
    struct slc_memo *memo = memo_find(&node->memos, key, words);
    if (memo && meetings_hold(memo, slots)) {
        int error = memo_apply(scan, task, exec, memo);
        if (key[0] & 1)
            forget_hit(&scan->hits);
        return error;
    }
    if (memo || node->memos.count >= MEMOS_MAX)
        return slc_fast_exec(scan, task, exec, node, node->statement_count);
    return memo_make(scan, task, exec, node, key, words);
}
