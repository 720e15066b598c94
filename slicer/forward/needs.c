/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/forward/needs.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/checked.h"
#include "slicer/scan/footprint.h"

#define PAGES_MAX  32768
#define RANGES_MAX (UINT64_C(1) << 20) /* bytes of one operand */

void slc_needs_maker_fini(struct slc_needs_maker *maker)
{
    free(maker->pages);
    free(maker->words);
    wd_index_fini(&maker->by_number);
    *maker = (struct slc_needs_maker){0};
}

void slc_needs_free(struct slc_needs *needs)
{
    if (!needs)
        return;
    free(needs->pages);
    free(needs->words);
    free(needs);
}

uint64_t slc_needs_bytes(const struct slc_needs *needs)
{
    return sizeof(*needs) + needs->page_count * sizeof(*needs->pages) +
           needs->word_count * sizeof(*needs->words);
}

unsigned slc_mask_whole_slots(uint64_t mask)
{
    return ~slc_mask_slots(~mask) & 0xff;
}

/* ---- of a node ---- */

/* Adds what one statement does to registers. */
static void add_registers(struct slc_node_needs *needs, const struct slc_node *node, uint32_t s)
{
    const struct ins_info *info = node->wet->statements[s].info;
    struct ins_regset uses = {0}, surely = {0}, defines = {0};

    for (unsigned m = 0; m < info->mem_count; m++) {
        struct ins_regset address = ins_addr_uses(info, m);
        ins_regset_join(&uses, &address);
    }
    for (unsigned f = 0; f < info->flow_count; f++) {
        const struct ins_flow *flow = &info->flows[f];
        ins_regset_join(&uses, &flow->value_uses);
        ins_regset_join(&uses, &flow->cond_uses);
        ins_regset_join(&defines, &flow->defs);
        ins_regset_join(&defines, &flow->may_defs);
        ins_regset_join(&surely, &flow->defs);
    }
    for (unsigned i = 0; i < 4; i++) { /* what is perhaps defined keeps marks */
        uses.bits[i] |= defines.bits[i] & ~surely.bits[i];
        needs->uses.bits[i] |= uses.bits[i] & ~needs->surely.bits[i];
        needs->surely.bits[i] |= surely.bits[i];
        needs->defines.bits[i] |= defines.bits[i];
    }
}

static bool access_of(const struct wet_statement *statement, uint32_t s, unsigned m,
                      struct slc_access *access)
{
    const struct ins_info *info = statement->info;
    const struct ins_mem *mem = &info->mems[m];
    bool is_read = mem->flags & INS_MEM_READ, is_sure = mem->flags & INS_MEM_REP;
    bool is_written = mem->flags & INS_MEM_WRITE;

    for (unsigned f = 0; f < info->flow_count; f++) {
        is_read |= info->flows[f].mem_uses >> m & 1;
        is_sure |= info->flows[f].mem_defs >> m & 1;
        is_written |= (info->flows[f].mem_defs | info->flows[f].mem_may_defs) >> m & 1;
    }
    *access = (struct slc_access){.statement = (uint16_t)s,
                                  .operand = (uint8_t)m,
                                  .is_range = mem->flags & (INS_MEM_REP | INS_MEM_VSIB32 |
                                                            INS_MEM_VSIB64 | INS_MEM_SIZE_BOUND),
                                  .is_read = is_read || (is_written && !is_sure),
                                  .is_written = is_written,
                                  .is_sure = is_sure,
                                  .slot = (uint16_t)(statement->slot + m),
                                  .size_bytes = mem->size_bytes};
    return is_read || is_written;
}

/* An operand that is read and written is two accesses. */
static uint32_t list_accesses(const struct slc_node *node, struct slc_access *list)
{
    struct slc_access access;
    uint32_t count = 0;

    for (uint32_t s = 0; s < node->statement_count; s++)
        for (unsigned write = 0; write < 2; write++)
            for (unsigned m = 0; m < node->wet->statements[s].info->mem_count; m++) {
                bool is_any = access_of(&node->wet->statements[s], s, m, &access);
                if (!is_any || !(write ? access.is_written : access.is_read))
                    continue;
                access.is_read = !write;
                access.is_written = write;
                if (list)
                    list[count] = access;
                count++;
            }
    return count;
}

static const struct slc_node_needs *needs_of(struct slc_node *node)
{
    if (node->needs)
        return node->needs;
    uint32_t count = list_accesses(node, NULL);
    struct slc_node_needs *needs = calloc(1, sizeof(*needs) + count * sizeof(struct slc_access));
    if (!needs)
        return NULL;
    needs->count = list_accesses(node, needs->accesses);
    for (uint32_t s = 0; s < node->statement_count; s++)
        add_registers(needs, node, s);
    node->needs = needs;
    return needs;
}

/* ---- pages by number ---- */

static uint32_t *page_slot(const struct slc_needs_maker *maker, uint64_t number)
{
    return wd_index_find(&maker->by_number, wd_hash_u64(number) >> 32, n,
                         maker->pages[n].number == number);
}

static int maker_grow(struct slc_needs_maker *maker)
{
    size_t capacity = maker->capacity, as_many = maker->capacity;

    if (wd_grow(maker->pages, capacity, maker->count + 1) ||
        wd_grow(maker->words, as_many, maker->count + 1) ||
        wd_index_renew(&maker->by_number, capacity * 4))
        return -ENOMEM;
    maker->capacity = capacity;
    for (size_t i = 0; i < maker->count; i++)
        *page_slot(maker, maker->pages[i].number) = (uint32_t)i + 1;
    return 0;
}

static void maker_clear(struct slc_needs_maker *maker)
{
    maker->count = 0;
    wd_index_clear(&maker->by_number);
}

/* Index of a page; 0 or -ENOMEM. */
static int page_at(struct slc_needs_maker *maker, uint64_t number, size_t *index)
{
    uint32_t *slot = maker->capacity ? page_slot(maker, number) : NULL;

    if (!slot || !*slot) {
        if (maker->count == maker->capacity && maker_grow(maker))
            return -ENOMEM;
        slot = page_slot(maker, number);
        maker->pages[maker->count] = (struct slc_needs_page){.number = number};
        memset(maker->words[maker->count], 0, sizeof(*maker->words));
        *slot = (uint32_t)++maker->count;
    }
    *index = *slot - 1;
    return 0;
}

/* ---- what executions touch ---- */

/* The pages that were lately touched: most operands lie in a few. */
#define LATELY 16

struct lately {
    uint64_t number[LATELY]; /* + 1 */
    size_t index[LATELY];
};

static inline int add_word(struct slc_needs_maker *maker, struct lately *lately, uint64_t address,
                           uint64_t mask, bool is_written)
{
    uint64_t number = address >> SLC_PAGE_BITS;
    unsigned way = number % LATELY;

    if (lately->number[way] != number + 1) {
        if (page_at(maker, number, &lately->index[way]))
            return -ENOMEM;
        lately->number[way] = number + 1;
    }
    struct slc_needs_word *word = &maker->words[lately->index[way]][address % SLC_PAGE_BYTES / 64];
    if (is_written)
        word->written |= mask;
    else
        word->needed |= mask & ~word->written;
    return 0;
}

/* Adds a range; one that wraps around at the top of the address space is cut there. */
static int add_range(struct slc_needs_maker *maker, struct lately *lately, uint64_t address,
                     uint64_t size, bool is_written)
{
    int err = 0;

    if (size > UINT64_MAX - address)
        size = UINT64_MAX - address;
    if (size > RANGES_MAX)
        return 1;
    while (size && !err) {
        unsigned off = address % 64;
        uint64_t count = 64 - off < size ? 64 - off : size;
        err = add_word(maker, lately, address, UINT64_MAX >> (64 - count) << off, is_written);
        address += count;
        size -= count;
    }
    return err;
}

static int add_access(struct slc_needs_maker *maker, struct lately *lately,
                      const struct slc_node *node, const struct slc_access *access,
                      const uint64_t *slots)
{
    struct ins_range ranges[INS_RANGES_MAX];
    uint64_t address = slots[access->slot];
    int err = 0;

    if (!access->is_range && access->size_bytes && address % 64 + access->size_bytes <= 64)
        return add_word(maker, lately, address,
                        UINT64_MAX >> (64 - access->size_bytes) << (address % 64),
                        access->is_written);
    unsigned count = slc_operand_ranges(&node->wet->statements[access->statement], access->operand,
                                        slots, ranges);
    for (unsigned r = 0; r < count && !err; r++)
        err = add_range(maker, lately, ranges[r].address, ranges[r].size_bytes, access->is_written);
    return err;
}

/* ---- the result ---- */

static int compare_pages(const void *a, const void *b)
{
    uint64_t x = ((const struct slc_needs_page *)a)->number;
    uint64_t y = ((const struct slc_needs_page *)b)->number;
    return x < y ? -1 : x > y;
}

static bool is_empty(const struct slc_needs_word *word)
{
    return !word->needed && !word->written;
}

static struct slc_needs *finish(struct slc_needs_maker *maker)
{
    struct slc_needs *needs = calloc(1, sizeof(*needs));
    size_t words = 0;

    for (size_t i = 0; i < maker->count; i++) {
        maker->pages[i].first = i;
        maker->pages[i].groups = 0;
        for (unsigned g = 0; g < SLC_PAGE_BYTES / 64; g++)
            maker->pages[i].groups |= (uint64_t)!is_empty(&maker->words[i][g]) << g;
        words += (size_t)__builtin_popcountll(maker->pages[i].groups);
    }
    if (!needs)
        return NULL;
    needs->pages = malloc((maker->count + 1) * sizeof(*needs->pages));
    needs->words = malloc((words + 1) * sizeof(*needs->words));
    if (!needs->pages || !needs->words) {
        slc_needs_free(needs);
        return NULL;
    }
    needs->page_count = maker->count;
    if (maker->count) {
        qsort(maker->pages, maker->count, sizeof(*maker->pages), compare_pages);
        memcpy(needs->pages, maker->pages, maker->count * sizeof(*maker->pages));
    }
    for (size_t i = 0; i < maker->count; i++) {
        struct slc_needs_page *page = &needs->pages[i];
        const struct slc_needs_word *own = maker->words[page->first];
        page->first = needs->word_count;
        for (uint64_t left = page->groups; left; left &= left - 1)
            needs->words[needs->word_count++] = own[__builtin_ctzll(left)];
    }
    return needs;
}

int slc_needs_make(struct slc_needs_maker *maker, struct slc_code *code,
                   const struct wet_interval *interval, size_t first, size_t end,
                   struct slc_needs **out)
{
    struct lately lately = {.number = {0}};
    struct ins_regset uses = {0}, surely = {0}, defines = {0};
    int err = 0;

    assert(first < end && end <= interval->exec_count);
    maker_clear(maker);
    for (size_t i = first; i < end && !err && maker->count <= PAGES_MAX; i++) {
        struct slc_node *node = slc_code_node(code, interval->execs[i].node);
        const struct slc_node_needs *own = node ? needs_of(node) : NULL;
        if (!own)
            return -ENOMEM;
        for (unsigned w = 0; w < 4; w++) {
            uses.bits[w] |= own->uses.bits[w] & ~surely.bits[w];
            surely.bits[w] |= own->surely.bits[w];
            defines.bits[w] |= own->defines.bits[w];
        }
        for (uint32_t a = 0; a < own->count && !err; a++)
            err = add_access(maker, &lately, node, &own->accesses[a],
                             interval->slots + interval->execs[i].slot_off);
    }
    if (err < 0)
        return err;
    if (err || maker->count > PAGES_MAX)
        return 0;
    *out = finish(maker);
    if (!*out)
        return -ENOMEM;
    (*out)->uses = uses;
    (*out)->defines = defines;
    err = wd_checked(slc_needs_validate(*out));
    return err ? err : 1;
}

int slc_needs_validate(const struct slc_needs *needs)
{
    size_t words = 0;

    for (size_t i = 0; i < needs->page_count; i++) {
        const struct slc_needs_page *page = &needs->pages[i];
        if (i && page[-1].number >= page->number)
            return wd_fail_defect("page %zu of what executions need is not sorted", i);
        if (page->first != words || !page->groups)
            return wd_fail_defect("page %zu of what executions need has words from %zu on, and "
                                  "not %zu",
                                  i, page->first, words);
        words += (size_t)__builtin_popcountll(page->groups);
    }
    if (words != needs->word_count)
        return wd_fail_defect("what executions need has %zu words, and not %zu", needs->word_count,
                              words);
    for (size_t i = 0; i < words; i++)
        if (is_empty(&needs->words[i]))
            return wd_fail_defect("word %zu of what executions need has no bytes", i);
    return 0;
}
