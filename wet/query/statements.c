/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Instructions are described once, if nothing in the description depends on where they are:
 * programs repeat themselves, a description has hundreds of bytes, and fresh memory costs more than
 * anything else here.
 *
 * No instruction is the beginning of another one. So one that is known is found by its bytes,
 * without decoding, if the lengths are tried that instructions with these first two bytes have had.
 */
#include "wet/query/statements.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "recorder/insn/insn_ranges.h"

#define CHUNK_BYTES  (256u << 10)
#define TABLE_MIN    (1u << 12)
#define LENGTH_MAX   15
#define LENGTH_SLOTS (1u << 16)

struct chunk {
    struct chunk *next;
    size_t used;
    uint8_t bytes[CHUNK_BYTES];
};

/* Bytes of an instruction, zeros, and its length. */
struct key {
    uint64_t low, high;
};

/* What a node needs of a description, so that it need not be looked at. */
struct known {
    struct key key;
    const struct ins_info *info; /* NULL: free */
    uint32_t length, slot_count;
};

struct wet_statements {
    struct chunk *chunks;
    struct known *table; /* open hash, at most half of it used */
    size_t size, count;
    uint16_t lengths[LENGTH_SLOTS]; /* bit n: n bytes, by the first two */
};

struct wet_statements *wet_statements_new(void)
{
    struct wet_statements *all = calloc(1, sizeof(*all));
    if (!all)
        return NULL;
    all->size = TABLE_MIN;
    all->table = calloc(all->size, sizeof(*all->table));
    if (!all->table) {
        free(all);
        return NULL;
    }
    return all;
}

void wet_statements_free(struct wet_statements *all)
{
    while (all && all->chunks) {
        struct chunk *next = all->chunks->next;
        free(all->chunks);
        all->chunks = next;
    }
    if (all)
        free(all->table);
    free(all);
}

/* `bytes` is far below CHUNK_BYTES. */
static void *room_get(struct wet_statements *all, size_t bytes)
{
    struct chunk *chunk = all->chunks;
    bytes = (bytes + 7) & ~(size_t)7;
    if (!chunk || CHUNK_BYTES - chunk->used < bytes) {
        chunk = malloc(sizeof(*chunk));
        if (!chunk)
            return NULL;
        chunk->next = all->chunks;
        chunk->used = 0;
        all->chunks = chunk;
    }
    chunk->used += bytes;
    return chunk->bytes + chunk->used - bytes;
}

/* ---- known instructions ---- */

static struct key key_of(const uint8_t *code, unsigned length)
{
    assert(length && length <= LENGTH_MAX);
    uint8_t bytes[LENGTH_MAX + 1] = {0};
    struct key key;
    memcpy(bytes, code, length);
    bytes[LENGTH_MAX] = (uint8_t)length;
    memcpy(&key, bytes, sizeof(key));
    return key;
}

/* The place where the key is, or would be. */
static struct known *known_at(const struct wet_statements *all, const struct key *key)
{
    assert(all->count < all->size);
    uint64_t mixed = wd_hash_u64(key->low ^ key->high * 0xc2b2ae3d27d4eb4full);
    const struct known *table = all->table;
    size_t at = wd_hash_find(mixed ^ mixed >> 32, all->size, i,
                             !table[i].info ||
                                 (table[i].key.low == key->low && table[i].key.high == key->high));
    return &all->table[at];
}

static uint16_t *lengths_of(struct wet_statements *all, const uint8_t *code, size_t available)
{
    return &all->lengths[code[0] | (available > 1 ? code[1] : 0) << 8];
}

static const struct known *known_find(struct wet_statements *all, const uint8_t *code,
                                      size_t available)
{
    for (unsigned lengths = *lengths_of(all, code, available); lengths; lengths &= lengths - 1) {
        unsigned length = (unsigned)__builtin_ctz(lengths);
        if (length > available)
            break;
        struct key key = key_of(code, length);
        const struct known *known = known_at(all, &key);
        if (known->info)
            return known;
    }
    return NULL;
}

/* Lets the table grow. Without memory there is no more room, and nothing more becomes known. */
static bool table_grow(struct wet_statements *all)
{
    struct known *old = all->table;
    size_t size = all->size;
    if (all->count < size / 2)
        return true;
    struct known *table = calloc(size * 2, sizeof(*table));
    if (!table)
        return false;
    all->table = table;
    all->size = size * 2;
    for (size_t i = 0; i < size; i++)
        if (old[i].info)
            *known_at(all, &old[i].key) = old[i];
    free(old);
    return true;
}

static void known_enter(struct wet_statements *all, const uint8_t *code, size_t available,
                        const struct known *made)
{
    if (!table_grow(all))
        return;
    struct known *known = known_at(all, &made->key);
    all->count += !known->info;
    *known = *made;
    *lengths_of(all, code, available) |= (uint16_t)(1u << made->length);
}

/* ---- descriptions ---- */

/* Whether the description depends on where the instruction is: branches, and what is addressed
 * relative to rip. */
static bool is_of_its_place(const struct ins_info *info)
{
    bool names_address =
        info->klass == INS_JCC || info->klass == INS_JMP || info->klass == INS_CALL;
    for (unsigned m = 0; m < info->mem_count; m++)
        names_address |= info->mems[m].base < 0 && info->mems[m].index < 0;
    return names_address || info->target;
}

/* Bytes that are no instruction (the program jumped there) are one statement that traps. */
static const struct ins_info illegal = {.length = 1, .klass = INS_TRAP, .condition = INS_COND_NONE};

/* *out is all zero without memory. */
static void describe(struct wet_statements *all, const uint8_t *code, size_t available, uint64_t pc,
                     struct known *out)
{
    struct ins_info info;
    const struct known *known = available ? known_find(all, code, available) : NULL;
    *out = (struct known){.info = &illegal, .length = illegal.length};
    if (known)
        *out = *known;
    if (known || !available || ins_decode(code, available, pc, &info))
        return;
    struct ins_info *kept = room_get(all, ins_info_bytes(&info));
    *out = (struct known){0};
    if (!kept)
        return;
    memcpy(kept, &info, ins_info_bytes(&info));
    *out = (struct known){.key = key_of(code, info.length),
                          .info = kept,
                          .length = info.length,
                          .slot_count = ins_slot_count(kept)};
    if (!is_of_its_place(&info))
        known_enter(all, code, available, out);
}

const struct wet_statement *wet_statements_make(struct wet_statements *all,
                                                const struct wet_node *node, uint32_t *slot_count)
{
    struct wet_statement *statements = room_get(all, node->statement_count * sizeof(*statements));
    uint32_t off = 0, slot = 0;
    for (uint32_t i = 0; statements && i < node->statement_count; i++) {
        size_t left = off < node->code_bytes ? node->code_bytes - off : 0;
        struct known is;
        describe(all, node->code + off, left, node->pc + off, &is);
        if (!is.info)
            return NULL;
        statements[i] = (struct wet_statement){.info = is.info,
                                               .pc = node->pc + off,
                                               .byte_off = (uint16_t)off,
                                               .slot = (uint16_t)slot,
                                               .slot_count = is.slot_count};
        off += is.length;
        slot += is.slot_count;
    }
    *slot_count = slot;
    return statements;
}
