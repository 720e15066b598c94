/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wet/build/node_table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/hash.h"
#include "recorder/agent/agent.h"
#include <wetdbg/errors.h>

#define HASH_SLOTS (1u << 18)
#define NODES_MAX  AGT_COUNT_MAX
#define CODE_MAX   (DBI_INSN_MAX * 15u)

void wet_node_table_fini(struct wet_node_table *table)
{
    for (uint32_t i = 0; i < table->count; i++)
        free(table->nodes[i].code);
    free(table->nodes);
    free(table->by_hash);
    free(table->by_fragment);
    free(table->seen);
    *table = (struct wet_node_table){0};
}

void wet_node_table_detach(struct wet_node_table *table)
{
    free(table->by_fragment);
    free(table->seen);
    table->by_fragment = NULL;
    table->seen = NULL;
    table->fragment_room = 0;
}

/* ---- nodes by what they are ---- */

static uint32_t *slot_of(const struct wet_node_table *table, uint64_t pc)
{
    return &table->by_hash[wd_hash_u64(pc) >> 46];
}

static uint32_t find(const struct wet_node_table *table, uint64_t pc, const uint8_t *code,
                     unsigned code_bytes)
{
    uint32_t n = table->by_hash ? *slot_of(table, pc) : 0;
    for (; n; n = table->nodes[n - 1].next) {
        const struct wet_table_node *node = &table->nodes[n - 1];
        if (node->pc == pc && node->code_bytes == code_bytes &&
            !memcmp(node->code, code, code_bytes))
            break;
    }
    return n;
}

static void chain(struct wet_node_table *table, uint32_t number)
{
    uint32_t *slot = slot_of(table, table->nodes[number].pc);
    table->nodes[number].next = *slot;
    *slot = number + 1;
}

static int room_make(struct wet_node_table *table)
{
    if (table->count == NODES_MAX)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "the program has more than %u pieces of code",
                           NODES_MAX);
    if (!table->by_hash) {
        table->by_hash = calloc(HASH_SLOTS, sizeof(*table->by_hash));
        if (!table->by_hash)
            return -ENOMEM;
    }
    return wd_grow(table->nodes, table->capacity, table->count + 1);
}

static int add(struct wet_node_table *table, uint64_t pc, const uint8_t *code, unsigned code_bytes,
               unsigned statements)
{
    int err = room_make(table);
    uint8_t *copy = err ? NULL : malloc(code_bytes ? code_bytes : 1);
    if (!copy)
        return err ? err : -ENOMEM;
    memcpy(copy, code, code_bytes);
    table->nodes[table->count] = (struct wet_table_node){.pc = pc,
                                                         .code = copy,
                                                         .statements = (uint16_t)statements,
                                                         .code_bytes = (uint16_t)code_bytes};
    chain(table, table->count++);
    return 0;
}

/* ---- an interval ---- */

static int fragments_room(struct wet_node_table *table, uint32_t count)
{
    uint32_t room = table->fragment_room, as_much = table->fragment_room;
    if (wd_grow_zeroed(table->by_fragment, room, count) ||
        wd_grow_zeroed(table->seen, as_much, count))
        return -ENOMEM;
    table->fragment_room = room;
    return 0;
}

static int order(const void *a, const void *b)
{
    const struct wet_table_node *x = a, *y = b;
    if (x->pc != y->pc)
        return x->pc < y->pc ? -1 : 1;
    if (x->code_bytes != y->code_bytes)
        return x->code_bytes < y->code_bytes ? -1 : 1;
    return memcmp(x->code, y->code, x->code_bytes);
}

/* Puts the nodes from `first` on, which nothing refers to yet but the hash, in their order. */
static void number_new(struct wet_node_table *table, uint32_t first)
{
    assert(first <= table->count);
    for (uint32_t i = table->count; i-- > first;) /* latest first: each heads its chain */
        *slot_of(table, table->nodes[i].pc) = table->nodes[i].next;
    qsort(table->nodes + first, table->count - first, sizeof(*table->nodes), order);
    for (uint32_t i = first; i < table->count; i++)
        chain(table, i);
}

/* Meets the nodes that ran in this interval without having run before. */
static int nodes_meet(struct wet_node_table *table, const struct rep_engine *engine,
                      uint32_t fragment_count)
{
    uint32_t first = table->count;
    for (uint32_t id = 0; id < fragment_count; id++) {
        if (table->by_fragment[id] || rep_engine_executions(engine, id) == table->seen[id])
            continue;
        const struct dbi_fragment *fragment = rep_engine_fragment(engine, id);
        if (find(table, fragment->pc, fragment->code, fragment->code_bytes))
            continue;
        int err =
            add(table, fragment->pc, fragment->code, fragment->code_bytes, fragment->insn_count);
        if (err)
            return err;
    }
    if (table->count > first)
        number_new(table, first);
    return 0;
}

/* Adds up executions. The counters lie where the replayee can write: one that has changed since
 * nodes_meet() looked may be of code that is no node yet. */
static int executions_take(struct wet_node_table *table, const struct rep_engine *engine,
                           uint32_t fragment_count)
{
    for (uint32_t id = 0; id < fragment_count; id++) {
        uint64_t now = rep_engine_executions(engine, id);
        if (now == table->seen[id])
            continue;
        if (!table->by_fragment[id]) {
            const struct dbi_fragment *fragment = rep_engine_fragment(engine, id);
            table->by_fragment[id] =
                find(table, fragment->pc, fragment->code, fragment->code_bytes);
        }
        if (!table->by_fragment[id])
            return wetdbg_fail(-WETDBG_ERR_MACHINE,
                               "the replay process changed a counter while it stood");
        table->nodes[table->by_fragment[id] - 1].now += now - table->seen[id];
        table->seen[id] = now;
    }
    return 0;
}

static int counts_append(struct wet_node_table *table, struct wd_buf *counts)
{
    uint32_t last = 0;
    int err = 0;
    for (uint32_t n = 0; !err && n < table->count; n++) {
        struct wet_table_node *node = &table->nodes[n];
        if (!node->now)
            continue;
        err = wd_buf_append_varint(counts, n - last);
        if (!err)
            err = wd_buf_append_varint(counts, node->now);
        node->executions += node->now;
        node->now = 0;
        last = n;
    }
    return err;
}

int wet_node_table_count(struct wet_node_table *table, const struct rep_engine *engine,
                         struct wd_buf *counts)
{
    uint32_t fragment_count = rep_engine_fragment_count(engine);
    int err = fragments_room(table, fragment_count);
    if (!err)
        err = nodes_meet(table, engine, fragment_count);
    if (!err)
        err = executions_take(table, engine, fragment_count);
    return err ? err : counts_append(table, counts);
}

/* ---- an interval of another table ---- */

static int node_merge(struct wet_node_table *table, const struct wet_table_node *node)
{
    return find(table, node->pc, node->code, node->code_bytes)
               ? 0
               : add(table, node->pc, node->code, node->code_bytes, node->statements);
}

int wet_node_table_merge(struct wet_node_table *table, const struct wet_node_table *from,
                         uint32_t *map, const struct wd_buf *counts, struct wd_buf *out)
{
    uint32_t first = table->count;
    struct wd_view view = wd_view_of(counts->data, counts->size_bytes);
    int err = 0;
    for (uint64_t n = 0; !err && view.at < view.size_bytes;) {
        n += wd_view_varint(&view);
        wd_view_varint(&view);
        if (view.failed || n >= from->count)
            return wetdbg_fail_plain(-WETDBG_ERR_CORRUPT);
        err = map[n] ? 0 : node_merge(table, &from->nodes[n]);
    }
    if (err)
        return err;
    if (table->count > first)
        number_new(table, first);
    view = wd_view_of(counts->data, counts->size_bytes);
    for (uint64_t n = 0; view.at < view.size_bytes;) {
        n += wd_view_varint(&view);
        const struct wet_table_node *node = &from->nodes[n];
        if (!map[n])
            map[n] = find(table, node->pc, node->code, node->code_bytes);
        table->nodes[map[n] - 1].now += wd_view_varint(&view);
    }
    return counts_append(table, out);
}

/* ---- for a build that goes on later ---- */

int wet_node_table_save(const struct wet_node_table *table, uint32_t first, struct wd_buf *out)
{
    assert(first <= table->count);
    int err = wd_buf_append_varint(out, table->count - first);
    for (uint32_t n = first; !err && n < table->count; n++) {
        const struct wet_table_node *node = &table->nodes[n];
        err = wd_buf_append_varint(out, node->pc);
        if (!err)
            err = wd_buf_append_varint(out, node->statements);
        if (!err)
            err = wd_buf_append_varint(out, node->code_bytes);
        if (!err)
            err = wd_buf_append(out, node->code, node->code_bytes);
    }
    return err;
}

int wet_node_table_load(struct wet_node_table *table, struct wd_view *view)
{
    uint64_t count = wd_view_varint(view);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t pc = wd_view_varint(view), statements = wd_view_varint(view);
        uint64_t code_bytes = wd_view_varint(view);
        const uint8_t *code = code_bytes <= CODE_MAX ? wd_view_bytes(view, code_bytes) : NULL;
        if (view->failed || !code || statements > DBI_INSN_MAX)
            return wetdbg_fail_plain(-WETDBG_ERR_CORRUPT);
        int err = add(table, pc, code, (unsigned)code_bytes, (unsigned)statements);
        if (err)
            return err;
    }
    return view->failed ? -WETDBG_ERR_CORRUPT : 0;
}

int wet_node_table_add_counts(struct wet_node_table *table, const struct wd_buf *counts)
{
    struct wd_view view = wd_view_of(counts->data, counts->size_bytes);
    for (uint64_t n = 0; view.at < view.size_bytes;) {
        n += wd_view_varint(&view);
        uint64_t executions = wd_view_varint(&view);
        if (view.failed || n >= table->count)
            return wetdbg_fail_plain(-WETDBG_ERR_CORRUPT);
        table->nodes[n].executions += executions;
    }
    return 0;
}
