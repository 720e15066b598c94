/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Structures that others trust, damaged on purpose: their validators say what is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* cmocka.h needs the standard headers above it. */
#include <cmocka.h>

#include "recorder/dbi/dbi_validate.h"
#include "recorder/feed/feed_space.h"
#include <wetdbg/errors.h>

/* What is wrong is found, and said with these words. */
static void assert_fault(int err, const char *words)
{
    assert_int_equal(err, -WETDBG_ERR_MACHINE);
    if (!strstr(wetdbg_error(err), words))
        fail_msg("\"%s\" does not say \"%s\"", wetdbg_error(err), words);
}

/* ---- the code cache ---- */

#define CODE 0x7000000000ull /* address of the program */

/* A call, an indirect jump where it returns to, a loop, and a jump to where no code is. */
static const uint8_t program[] = {
    0xe8, 0x02, 0x00, 0x00, 0x00, /*  0: call 7 */
    0xff, 0xe0,                   /*  5: jmp rax */
    0x48, 0xff, 0xc0,             /*  7: inc rax */
    0x75, 0xfb,                   /* 10: jne 7 */
    0xe9, 0x00, 0x00, 0x01, 0x00, /* 12: jmp 0x10011 */
};

struct cache {
    struct dbi *dbi;
    uint8_t *shm;
    uint8_t *rooms[DBI_REGIONS_MAX];
};

static int fetch(void *arg, uint64_t address, uint8_t *page, unsigned *flags)
{
    (void)arg;
    *flags = 0;
    if (address != CODE)
        return 1;
    memset(page, 0xcc, WD_PAGE);
    memcpy(page, program, sizeof(program));
    return 0;
}

static uint8_t *memory(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(at, MAP_FAILED);
    return at;
}

static int place(void *arg, unsigned index, uint64_t near, uint64_t *address, uint8_t **writable)
{
    struct cache *cache = arg;
    cache->rooms[index] = memory(DBI_REGION_BYTES);
    *address = (near & ~(DBI_REGION_ALIGN - 1)) + (1ull << 30);
    *writable = cache->rooms[index];
    return 0;
}

static void translate(struct cache *cache, uint64_t pc)
{
    const struct dbi_fragment *fragment;
    struct dbi_fetch_fault fault;
    assert_int_equal(dbi_translate(cache->dbi, pc, &fragment, &fault), 0);
}

/* Full, cut and forgotten fragments, pads, exits that wait, sites with targets. */
static void cache_make(struct cache *cache)
{
    const struct dbi_fragment *fragment;
    struct dbi_fetch_fault fault;
    *cache = (struct cache){.shm = memory(AGT_SHM_BYTES)};
    struct dbi_config config = {
        .mode = DBI_COUNT, .shm = cache->shm, .fetch = fetch, .place = place, .arg = cache};
    assert_int_equal(dbi_new(&config, &cache->dbi), 0);
    translate(cache, CODE);
    translate(cache, CODE + 7);
    assert_int_equal(dbi_forget(cache->dbi, CODE, CODE + 1), 0);
    translate(cache, CODE + 5);
    assert_int_equal(dbi_translate(cache->dbi, CODE + 5, &fragment, &fault), 0);
    assert_int_equal(dbi_jump_note(cache->dbi, fragment->id, CODE + 7), 0);
    assert_int_equal(dbi_translate_exact(cache->dbi, CODE + 7, 1, &fragment, &fault), 0);
    assert_int_equal(dbi_stop_at(cache->dbi, CODE + 12), 0);
    translate(cache, CODE + 7);
}

static void cache_free(struct cache *cache)
{
    dbi_free(cache->dbi);
    for (unsigned i = 0; i < DBI_REGIONS_MAX; i++)
        if (cache->rooms[i])
            munmap(cache->rooms[i], DBI_REGION_BYTES);
    munmap(cache->shm, AGT_SHM_BYTES);
}

static struct fragment *full_at(struct dbi *dbi, uint64_t pc)
{
    struct fragment *fragment = dbi_fragment_find(dbi, pc);
    assert_non_null(fragment);
    return fragment;
}

static struct fragment *gone_any(struct dbi *dbi)
{
    for (uint32_t id = 0; id < dbi->fragment_count; id++)
        if (dbi->fragments[id]->gone)
            return dbi->fragments[id];
    fail_msg("no fragment is forgotten");
    return NULL;
}

static struct waiting *waiting_any(struct dbi *dbi)
{
    for (uint32_t slot = 0; slot < BY_PC_SLOTS; slot++)
        if (dbi->exits.waiting_by_pc[slot])
            return &dbi->exits.waiting[dbi->exits.waiting_by_pc[slot] - 1];
    fail_msg("no exit waits");
    return NULL;
}

static struct agt_lookup *entry_any(struct dbi *dbi)
{
    struct agt_lookup *table = (struct agt_lookup *)(dbi->config.shm + AGT_LOOKUP_OFF);
    for (uint32_t i = 0; i < dbi->hash.size; i++)
        if (table[i].body)
            return &table[i];
    fail_msg("the hash is empty");
    return NULL;
}

static void damage_hot(struct dbi *dbi)
{
    dbi->regions[0].hot_bytes = REGION_HOT_BYTES + 1;
}

static void damage_cold(struct dbi *dbi)
{
    dbi->regions[0].cold_bytes = 0;
}

static void damage_stubless(struct dbi *dbi)
{
    dbi->regions[0].stubless = 0;
}

static void damage_order(struct dbi *dbi)
{
    uint32_t *ids = dbi->regions[0].ids, first = ids[0];
    ids[0] = ids[1];
    ids[1] = first;
}

static void damage_extent(struct dbi *dbi)
{
    full_at(dbi, CODE + 7)->is.host_end += DBI_REGION_BYTES;
}

static void damage_number(struct dbi *dbi)
{
    full_at(dbi, CODE + 7)->is.id++;
}

static void damage_chain(struct dbi *dbi)
{
    dbi->tables.by_pc[slot_of(CODE + 7)] = 0;
}

static void damage_link(struct dbi *dbi)
{
    dbi->tables.links[full_at(dbi, CODE + 7)->is.id].pc++;
}

static void damage_circle(struct dbi *dbi)
{
    uint32_t id = full_at(dbi, CODE + 7)->is.id;
    dbi->tables.links[id].next = id + 1;
}

static void damage_kind(struct dbi *dbi)
{
    full_at(dbi, CODE + 7)->is.cut = true;
}

static void damage_gone(struct dbi *dbi)
{
    dbi->tables.gone_count++;
}

static void damage_page_chain(struct dbi *dbi)
{
    uint32_t *head = &dbi->tables.by_page[slot_of(CODE)];
    dbi->tables.by_page[slot_of(CODE) ^ 1] = *head;
    *head = 0;
}

static void damage_wait(struct dbi *dbi)
{
    struct waiting *waiting = waiting_any(dbi);
    uint32_t *head = &dbi->exits.waiting_by_pc[slot_of(waiting->target)], index = *head;
    *head = 0;
    waiting->target = CODE + 7;
    waiting->next = 0;
    dbi->exits.waiting_by_pc[slot_of(CODE + 7)] = index;
}

static void damage_exit(struct dbi *dbi)
{
    waiting_any(dbi)->site.rel32 += DBI_REGION_BYTES;
}

static void damage_pad(struct dbi *dbi)
{
    dbi->pads.pads[0].is.landing = CODE;
}

static void damage_user(struct dbi *dbi)
{
    for (uint32_t i = 0; i < dbi->sites.site_count; i++)
        if (dbi->sites.sites[i].users)
            dbi->fragments[dbi->sites.sites[i].users - 1]->site = 0;
}

static void damage_targets(struct dbi *dbi)
{
    dbi->sites.sites[0].pair_count++;
}

static void damage_table(struct dbi *dbi)
{
    dbi->sites.sites[0].is.table_off = (uint32_t)(AGT_TABLES_OFF + AGT_TABLES_BYTES);
}

static void damage_page(struct dbi *dbi)
{
    for (size_t i = 0; i < dbi->pages.slot_count; i++)
        if (dbi->pages.slots[i])
            dbi->pages.slots[i]->address += WD_PAGE * dbi->pages.slot_count / 2 + WD_PAGE;
}

static void damage_recent(struct dbi *dbi)
{
    static const struct page elsewhere;
    dbi->pages.recent = &elsewhere;
}

static void damage_hash_body(struct dbi *dbi)
{
    entry_any(dbi)->body++;
}

static void damage_hash_landing(struct dbi *dbi)
{
    entry_any(dbi)->landing = CODE;
}

static void damage_hash_count(struct dbi *dbi)
{
    dbi->hash.live++;
}

static void damage_body(struct dbi *dbi)
{
    gone_any(dbi)->body[0] = 0x90;
}

static void damage_stub(struct dbi *dbi)
{
    memset(waiting_any(dbi)->site.rel32, 0x7f, 4);
}

static void damage_record(struct dbi *dbi)
{
    struct agt_site *records = (struct agt_site *)(dbi->config.shm + AGT_SITES_OFF);
    for (uint32_t i = 0; i < dbi->sites.site_count; i++)
        if (dbi->sites.sites[i].users)
            records[dbi->sites.sites[i].users - 1].bits++;
}

static const struct damage {
    void (*make)(struct dbi *dbi);
    const char *words;
    bool is_shared;
} damages[] = {
    {damage_hot, "has no first part", false},
    {damage_cold, "has no second part", false},
    {damage_stubless, "too little room for stubs", false},
    {damage_order, "is not in order", false},
    {damage_extent, "is not in its region", false},
    {damage_number, "has another number", false},
    {damage_chain, "nobody finds the code", false},
    {damage_link, "in another's chain", false},
    {damage_circle, "has no end", false},
    {damage_kind, "in a chain for others", false},
    {damage_gone, "are forgotten", false},
    {damage_page_chain, "in another page's chain", false},
    {damage_wait, "which is there", false},
    {damage_exit, "is in no region", false},
    {damage_pad, "is no code", false},
    {damage_user, "uses another's site", false},
    {damage_targets, "lacks targets", false},
    {damage_table, "is not among the tables", false},
    {damage_page, "nobody finds the page", false},
    {damage_recent, "asked for last", false},
    {damage_hash_body, "another body", true},
    {damage_hash_landing, "land on no code", true},
    {damage_hash_count, "the hash has not", true},
    {damage_body, "leads nowhere", true},
    {damage_stub, "has no stub", true},
    {damage_record, "knows another table", true},
};

static void a_damaged_code_cache_is_found_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        struct cache cache;
        cache_make(&cache);
        assert_int_equal(dbi_validate(cache.dbi), 0);
        assert_int_equal(dbi_validate_shared(cache.dbi), 0);
        damages[i].make(cache.dbi);
        if (damages[i].is_shared)
            assert_int_equal(dbi_validate(cache.dbi), 0);
        assert_fault(damages[i].is_shared ? dbi_validate_shared(cache.dbi)
                                          : dbi_validate(cache.dbi),
                     damages[i].words);
        cache_free(&cache);
    }
}

static void an_emptied_code_cache_is_in_order(void **state)
{
    struct cache cache;
    (void)state;
    cache_make(&cache);
    dbi_flush(cache.dbi);
    assert_int_equal(dbi_validate(cache.dbi), 0);
    assert_int_equal(dbi_validate_shared(cache.dbi), 0);
    translate(&cache, CODE);
    assert_int_equal(dbi_validate(cache.dbi), 0);
    assert_int_equal(dbi_validate_shared(cache.dbi), 0);
    cache_free(&cache);
}

/* ---- the feed's mappings ---- */

static void damaged_mappings_are_found_out(void **state)
{
    struct feed_vma list[] = {{.start = 0x1000, .end = 0x3000}, {.start = 0x3000, .end = 0x4000}};
    struct feed_vmas vmas = {.list = list, .count = 2, .capacity = 2};
    (void)state;
    assert_int_equal(feed_vmas_validate(&vmas), 0);
    vmas.capacity = 1;
    assert_fault(feed_vmas_validate(&vmas), "have room");
    vmas.capacity = 2;
    list[0].end = 0x3800;
    assert_fault(feed_vmas_validate(&vmas), "half a page");
    list[0].end = 0x4000;
    assert_fault(feed_vmas_validate(&vmas), "before the end of another");
    list[0].end = 0x1000;
    assert_fault(feed_vmas_validate(&vmas), "is empty");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_damaged_code_cache_is_found_out),
        cmocka_unit_test(an_emptied_code_cache_is_in_order),
        cmocka_unit_test(damaged_mappings_are_found_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
