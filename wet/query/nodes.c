/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes, and the rank index: how often each ran in each interval. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/bisect.h"
#include "common/hash.h"
#include "wet/query/wet_priv.h"
#include "wet/trace/rules.h"
#include <wetdbg/errors.h>

#define BY_PC_SLOTS (1u << 16)
/* Nodes that may be met later, in a file with places that were looked for. */
#define MET_MIN       64
#define MET_PER_PLACE 64
#define MET_MAX       (1u << 17)

static uint32_t slot_of(uint64_t pc)
{
    return (uint32_t)(wd_hash_u64(pc) >> 48);
}

static int damaged(const struct wetdbg *wet)
{
    return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: damaged table of nodes",
                       wet_store_path(wet->store));
}

static int nodes_parse(struct wetdbg *wet)
{
    struct wd_view view = wd_view_of(wet->nodes_bytes.data, wet->nodes_bytes.size_bytes);
    size_t capacity = 0;
    while (view.at < view.size_bytes) {
        const struct wet_node_record *record = (const void *)wd_view_bytes(&view, sizeof(*record));
        const uint8_t *code = record ? wd_view_bytes(&view, record->code_bytes) : NULL;
        wd_view_bytes(&view, -view.at & 7);
        if (view.failed || !wet_rule_node(record))
            return damaged(wet);
        if (wd_grow(wet->nodes, capacity, wet->node_count + 1))
            return -ENOMEM;
        struct wet_node_entry *node = &wet->nodes[wet->node_count++];
        memset(node, 0, sizeof(*node));
        node->is = (struct wet_node){.id = record->id,
                                     .statement_count = record->statements,
                                     .pc = record->pc,
                                     .code = code,
                                     .code_bytes = record->code_bytes,
                                     .executions = record->executions};
        if (record->id >= wet->node_limit)
            wet->node_limit = record->id + 1;
    }
    return 0;
}

/* Makes room for nodes. They stay where they are, and tables by id are made once: so there is room
 * from the start. */
static int nodes_reserve(struct wetdbg *wet)
{
    uint64_t more = wet->info.places ? MET_MIN + MET_PER_PLACE * wet->info.places : 0;
    more = more < MET_MAX ? more : MET_MAX;
    wet->node_room = wet->node_count + more;
    struct wet_node_entry *nodes = realloc(wet->nodes, (wet->node_room + 1) * sizeof(*nodes));
    if (!nodes)
        return -ENOMEM;
    wet->nodes = nodes;
    wet->next_node_id = wet->node_limit;
    wet->node_limit += (uint32_t)more;
    return 0;
}

static void node_enter(struct wetdbg *wet, size_t i)
{
    struct wet_node_entry *node = &wet->nodes[i];
    uint32_t *head = &wet->node_by_pc[slot_of(node->is.pc)];
    node->next_by_pc = *head;
    *head = (uint32_t)i + 1;
    __atomic_store_n(&wet->node_by_id[node->is.id], (uint32_t)i + 1, __ATOMIC_RELEASE);
}

int wet_nodes_open(struct wetdbg *wet)
{
    int err = wet_store_read(wet->store, WET_SEC_NODES, 0, &wet->nodes_bytes);
    if (!err)
        err = nodes_parse(wet);
    if (!err)
        err = nodes_reserve(wet);
    if (err)
        return err;
    wet->statements = wet_statements_new();
    wet->node_by_id = calloc(wet->node_limit + 1, sizeof(*wet->node_by_id));
    wet->node_by_pc = calloc(BY_PC_SLOTS, sizeof(*wet->node_by_pc));
    wet->counts = calloc(wet->info.intervals + 1, sizeof(*wet->counts));
    if (!wet->statements || !wet->node_by_id || !wet->node_by_pc || !wet->counts)
        return -ENOMEM;
    for (size_t i = 0; i < wet->node_count; i++) {
        if (wet->node_by_id[wet->nodes[i].is.id])
            return damaged(wet);
        node_enter(wet, i);
    }
    return 0;
}

void wet_nodes_close(struct wetdbg *wet)
{
    for (size_t i = 0; i < wet->node_count; i++) {
        if (wet->nodes[i].is_met)
            free((void *)wet->nodes[i].is.code);
    }
    wet_statements_free(wet->statements);
    free(wet->nodes);
    free(wet->node_by_id);
    free(wet->node_by_pc);
    free(wet->counts);
}

/* Describes a node's statements; by one thread at a time. What is here goes with the statements, so
 * these are set last. */
static bool statements_make(struct wetdbg *wet, struct wet_node_entry *node)
{
    uint32_t slots;
    const struct wet_statement *made = wet_statements_make(wet->statements, &node->is, &slots);
    if (!made)
        return false;
    node->is.slot_count = slots;
    __atomic_store_n(&node->is.statements, made, __ATOMIC_RELEASE);
    return true;
}

static bool has_statements(const struct wet_node_entry *node)
{
    return __atomic_load_n(&node->is.statements, __ATOMIC_ACQUIRE);
}

static bool statements_need(struct wetdbg *wet, struct wet_node_entry *node)
{
    pthread_mutex_lock(&wet->node_lock);
    bool is_there = has_statements(node) || statements_make(wet, node);
    pthread_mutex_unlock(&wet->node_lock);
    return is_there;
}

/* 1 + index in nodes; 0 if there is none. The thread that runs intervals may add some. */
static uint32_t index_of(const struct wetdbg *wet, uint32_t id)
{
    return id < wet->node_limit ? __atomic_load_n(&wet->node_by_id[id], __ATOMIC_ACQUIRE) : 0;
}

const struct wet_node *wet_get_node(struct wetdbg *wet, uint32_t id)
{
    uint32_t at = index_of(wet, id);
    if (!at)
        return NULL;
    struct wet_node_entry *node = &wet->nodes[at - 1];
    return has_statements(node) || statements_need(wet, node) ? &node->is : NULL;
}

uint32_t wet_node_limit(const struct wetdbg *wet)
{
    return wet->node_limit;
}

struct wet_node_entry *wet_node_find(struct wetdbg *wet, uint64_t pc, const uint8_t *code,
                                     uint32_t code_bytes)
{
    for (uint32_t at = wet->node_by_pc[slot_of(pc)]; at; at = wet->nodes[at - 1].next_by_pc) {
        struct wet_node_entry *node = &wet->nodes[at - 1];
        if (node->is.pc == pc && node->is.code_bytes == code_bytes &&
            !memcmp(node->is.code, code, code_bytes))
            return node;
    }
    return NULL;
}

/* Marks the bytes of [pc, pc + count) that nodes of the file have too. */
static bool is_known_code(const struct wetdbg *wet, uint64_t pc, const uint8_t *code,
                          uint32_t count)
{
    uint8_t known[1024] = {0};
    uint32_t found = 0;
    for (size_t i = 0; i < wet->node_count && count <= sizeof(known); i++) {
        const struct wet_node *node = &wet->nodes[i].is;
        uint64_t from = node->pc > pc ? node->pc : pc;
        uint64_t end = node->pc + node->code_bytes, to = end < pc + count ? end : pc + count;
        if (from >= to || memcmp(node->code + (from - node->pc), code + (from - pc), to - from))
            continue;
        for (uint64_t at = from - pc; at < to - pc; at++) {
            found += !known[at];
            known[at] = 1;
        }
    }
    return found == count;
}

struct wet_node_entry *wet_node_meet(struct wetdbg *wet, uint64_t pc, const uint8_t *code,
                                     uint32_t code_bytes, uint32_t statements, int *err)
{
    if (!wet->info.places || !is_known_code(wet, pc, code, code_bytes))
        return NULL;
    uint8_t *copy = wet->node_count < wet->node_room ? malloc(code_bytes + 1) : NULL;
    if (!copy) {
        *err = -ENOMEM;
        return NULL;
    }
    memcpy(copy, code, code_bytes);
    struct wet_node_entry *node = &wet->nodes[wet->node_count];
    *node = (struct wet_node_entry){.is = {.id = wet->next_node_id++,
                                           .statement_count = statements,
                                           .pc = pc,
                                           .code = copy,
                                           .code_bytes = code_bytes},
                                    .is_met = true};
    node_enter(wet, wet->node_count);
    __atomic_store_n(&wet->node_count, wet->node_count + 1, __ATOMIC_RELEASE);
    return node;
}

/* ---- counts ---- */

static void counts_drop(void *arg, struct wet_kept *kept)
{
    struct wet_counts *counts = (struct wet_counts *)kept;
    (void)arg;
    free(counts->nodes);
    free(counts->counts);
    *counts = (struct wet_counts){0};
}

static bool is_file_node(const struct wetdbg *wet, uint32_t id)
{
    uint32_t at = index_of(wet, id);
    return at && !wet->nodes[at - 1].is_met;
}

int wet_counts_load(struct wetdbg *wet, uint64_t k, const struct wet_counts **out)
{
    struct wet_counts *counts = &wet->counts[k];
    *out = counts;
    if (counts->loaded) {
        wet_keep_touch(&counts->kept);
        return 0;
    }
    struct wd_buf bytes = {0};
    size_t room = 0;
    int err = wet_store_read(wet->store, WET_SEC_COUNTS, k, &bytes);
    if (!err) {
        room = bytes.size_bytes / 2 + 1; /* two varints each */
        counts->nodes = malloc(room * sizeof(*counts->nodes));
        counts->counts = malloc(room * sizeof(*counts->counts));
        err = counts->nodes && counts->counts ? 0 : -ENOMEM;
    }
    struct wd_view view = wd_view_of(bytes.data, bytes.size_bytes);
    uint64_t id = 0;
    while (!err && view.at < view.size_bytes) {
        uint64_t step = wd_view_varint(&view), count = wd_view_varint(&view);
        bool is_ascending = counts->count ? step > 0 : true;
        if (!view.failed && is_ascending && step < wet->node_limit)
            id += step;
        else
            view.failed = 1;
        if (view.failed || id >= wet->node_limit || !is_file_node(wet, (uint32_t)id) ||
            count > UINT32_MAX) {
            err = wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: damaged counts of interval %llu",
                              wet_store_path(wet->store), (unsigned long long)k);
            break;
        }
        counts->nodes[counts->count] = (uint32_t)id;
        counts->counts[counts->count++] = (uint32_t)count;
    }
    wd_buf_fini(&bytes);
    if (err) {
        counts_drop(wet, &counts->kept);
    } else {
        counts->loaded = true;
        counts->kept.drop = counts_drop;
        wet_keep(&wet->keeper, &counts->kept, room * 8);
    }
    return err == -WETDBG_ERR_NOT_FOUND
               ? wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: interval %llu has no counts",
                             wet_store_path(wet->store), (unsigned long long)k)
               : err;
}

int wet_node_addresses(struct wetdbg *wet, uint64_t k, struct wd_buf *pcs)
{
    struct wd_buf bytes = {0};
    int err = wet_store_read(wet->store, WET_SEC_COUNTS, k, &bytes);
    struct wd_view view = wd_view_of(bytes.data, bytes.size_bytes);
    uint64_t id = 0;
    while (!err && view.at < view.size_bytes) {
        uint64_t step = wd_view_varint(&view);
        wd_view_varint(&view);
        uint32_t at =
            view.failed || step > wet->node_limit - id ? 0 : index_of(wet, (uint32_t)(id += step));
        if (!at)
            break;
        err = wd_buf_append_u64(pcs, wet->nodes[at - 1].is.pc);
    }
    wd_buf_fini(&bytes);
    return err == -ENOMEM ? err : 0;
}

uint32_t wet_node_executions_in(const struct wetdbg *wet, uint32_t node, uint64_t k)
{
    const struct wet_counts *counts;
    if (k >= wet->info.intervals || wet_counts_load((struct wetdbg *)wet, k, &counts))
        return 0;
    size_t at = wd_bisect(0, counts->count, i, counts->nodes[i] < node);
    return at < counts->count && counts->nodes[at] == node ? counts->counts[at] : 0;
}
