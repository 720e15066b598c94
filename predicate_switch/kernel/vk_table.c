/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "predicate_switch/kernel/vk_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct vk_rows {
    uint32_t users, count, capacity;
    uint32_t unused;
    _Alignas(16) uint8_t bytes[];
};

static void users_add(uint32_t *users)
{
    __atomic_fetch_add(users, 1, __ATOMIC_RELAXED);
}

/* Whether that was the last one. */
static bool users_end(uint32_t *users)
{
    return __atomic_sub_fetch(users, 1, __ATOMIC_ACQ_REL) == 0;
}

static bool is_shared(const uint32_t *users)
{
    return __atomic_load_n(users, __ATOMIC_ACQUIRE) > 1;
}

uint32_t vk_count(const struct vk_table *table)
{
    return table->rows ? table->rows->count : 0;
}

static uint8_t *row_at(const struct vk_table *table, uint32_t index)
{
    return table->rows->bytes + (size_t)index * table->kind->bytes;
}

const void *vk_row(const struct vk_table *table, uint32_t index)
{
    return row_at(table, index);
}

static void rows_drop(struct vk_table *table)
{
    struct vk_rows *rows = table->rows;
    if (!rows || !users_end(&rows->users))
        return;
    for (uint32_t i = 0; table->kind->drop && i < rows->count; i++)
        table->kind->drop(row_at(table, i));
    free(rows);
}

void vk_clear(struct vk_table *table)
{
    rows_drop(table);
    table->rows = NULL;
}

void vk_share(struct vk_table *to, const struct vk_table *from)
{
    *to = *from;
    if (to->rows)
        users_add(&to->rows->users);
}

static struct vk_rows *rows_new(const struct vk_table *table, uint32_t capacity)
{
    struct vk_rows *rows = malloc(sizeof(*rows) + (size_t)capacity * table->kind->bytes);
    if (rows)
        *rows = (struct vk_rows){.users = 1, .capacity = capacity};
    return rows;
}

/* Makes the rows this table's own, with room for `capacity` of them. */
static int rows_own(struct vk_table *table, uint32_t capacity)
{
    struct vk_rows *rows = table->rows;
    if (rows && rows->capacity >= capacity && !is_shared(&rows->users))
        return 0;
    if (rows && capacity > rows->capacity && capacity < 2 * rows->capacity)
        capacity = 2 * rows->capacity;
    if (rows && capacity < rows->count)
        capacity = rows->count;
    struct vk_rows *own = rows_new(table, capacity < 8 ? 8 : capacity);
    if (!own)
        return -ENOMEM;
    if (rows) {
        own->count = rows->count;
        memcpy(own->bytes, rows->bytes, (size_t)rows->count * table->kind->bytes);
        for (uint32_t i = 0; table->kind->keep && i < own->count; i++)
            table->kind->keep(own->bytes + (size_t)i * table->kind->bytes);
        rows_drop(table);
    }
    table->rows = own;
    return 0;
}

void *vk_edit(struct vk_table *table, uint32_t index)
{
    return rows_own(table, table->rows->count) ? NULL : row_at(table, index);
}

int vk_insert(struct vk_table *table, uint32_t at, const void *row)
{
    uint32_t count = vk_count(table), bytes = table->kind->bytes;
    if (count >= UINT32_MAX / 4 || rows_own(table, count + 1))
        return -ENOMEM;
    memmove(row_at(table, at) + bytes, row_at(table, at), (size_t)(count - at) * bytes);
    memcpy(row_at(table, at), row, bytes);
    table->rows->count++;
    return 0;
}

int vk_append(struct vk_table *table, const void *row)
{
    return vk_insert(table, vk_count(table), row);
}

int vk_remove(struct vk_table *table, uint32_t at, uint32_t count)
{
    if (!count)
        return 0;
    if (rows_own(table, vk_count(table)))
        return -ENOMEM;
    for (uint32_t i = 0; table->kind->drop && i < count; i++)
        table->kind->drop(row_at(table, at + i));
    memmove(row_at(table, at), row_at(table, at + count),
            (size_t)(table->rows->count - at - count) * table->kind->bytes);
    table->rows->count -= count;
    return 0;
}

int vk_extend(struct vk_table *table, uint32_t count)
{
    uint32_t had = vk_count(table);
    if (count <= had)
        return 0;
    if (count >= UINT32_MAX / 4 || rows_own(table, count))
        return -ENOMEM;
    memset(row_at(table, had), 0, (size_t)(count - had) * table->kind->bytes);
    table->rows->count = count;
    return 0;
}

/* ---- texts ---- */

struct vk_text *vk_text_new(const char *text, size_t bytes)
{
    struct vk_text *made = bytes < UINT32_MAX ? malloc(sizeof(*made) + bytes + 1) : NULL;
    if (!made)
        return NULL;
    made->users = 1;
    made->bytes = (uint32_t)bytes;
    memcpy(made->text, text, bytes);
    made->text[bytes] = 0;
    return made;
}

struct vk_text *vk_text_keep(struct vk_text *text)
{
    if (text)
        users_add(&text->users);
    return text;
}

void vk_text_drop(struct vk_text *text)
{
    if (text && users_end(&text->users))
        free(text);
}

/* ---- contents ---- */

static void block_keep(void *row)
{
    struct vk_block *block = *(struct vk_block **)row;
    if (block)
        users_add(&block->users);
}

static void block_drop(void *row)
{
    struct vk_block *block = *(struct vk_block **)row;
    if (block && users_end(&block->users))
        free(block);
}

const struct vk_row_kind vk_block_row = {sizeof(struct vk_block *), block_keep, block_drop};

/* Block `index`, this table's own; NULL if there is no memory. */
static struct vk_block *block_own(struct vk_table *blocks, uint64_t index)
{
    if (index >= VK_CONTENT_MAX / VK_BLOCK || vk_extend(blocks, (uint32_t)index + 1))
        return NULL;
    struct vk_block **place = vk_edit(blocks, (uint32_t)index), *block;
    if (!place)
        return NULL;
    if (*place && !is_shared(&(*place)->users))
        return *place;
    block = malloc(sizeof(*block));
    if (!block)
        return NULL;
    if (*place)
        *block = **place;
    else
        memset(block, 0, sizeof(*block));
    block->users = 1;
    block_drop(place);
    *place = block;
    return block;
}

static bool is_known(const struct vk_block *block, uint32_t at)
{
    return block && block->known[at / 64] >> at % 64 & 1;
}

static void block_put(struct vk_block *block, uint32_t at, const uint8_t *bytes, uint32_t count)
{
    memcpy(block->bytes + at, bytes, count);
    for (uint32_t end = at + count; at < end; at++) {
        if (at % 64 == 0 && end - at >= 64) {
            block->known[at / 64] = UINT64_MAX;
            at += 63;
        } else {
            block->known[at / 64] |= UINT64_C(1) << at % 64;
        }
    }
}

static uint32_t in_block(uint64_t offset, uint64_t size)
{
    uint32_t left = VK_BLOCK - (uint32_t)(offset % VK_BLOCK);
    return size < left ? (uint32_t)size : left;
}

int vk_content_put(struct vk_table *blocks, uint64_t offset, const void *bytes, uint64_t size)
{
    const uint8_t *from = bytes;
    while (size) {
        uint32_t part = in_block(offset, size);
        struct vk_block *block = block_own(blocks, offset / VK_BLOCK);
        if (!block)
            return -ENOMEM;
        block_put(block, (uint32_t)(offset % VK_BLOCK), from, part);
        offset += part, from += part, size -= part;
    }
    return 0;
}

int vk_content_add(struct vk_table *blocks, uint64_t offset, const void *bytes, uint64_t size)
{
    const uint8_t *from = bytes;
    while (size) {
        bool known;
        uint64_t part = vk_content_run(blocks, offset, size, &known);
        int err = known ? 0 : vk_content_put(blocks, offset, from, part);
        if (err)
            return err;
        offset += part, from += part, size -= part;
    }
    return 0;
}

int vk_content_cut(struct vk_table *blocks, uint64_t offset)
{
    uint64_t whole = (offset + VK_BLOCK - 1) / VK_BLOCK;
    uint32_t count = vk_count(blocks);
    if (whole < count && vk_remove(blocks, (uint32_t)whole, count - (uint32_t)whole))
        return -ENOMEM;
    if (offset % VK_BLOCK == 0 || offset / VK_BLOCK >= vk_count(blocks) ||
        !*(struct vk_block *const *)vk_row(blocks, (uint32_t)(offset / VK_BLOCK)))
        return 0;
    struct vk_block *block = block_own(blocks, offset / VK_BLOCK);
    if (!block)
        return -ENOMEM;
    for (uint32_t at = offset % VK_BLOCK; at < VK_BLOCK; at++)
        block->known[at / 64] &= ~(UINT64_C(1) << at % 64);
    return 0;
}

static const struct vk_block *block_at(const struct vk_table *blocks, uint64_t index)
{
    return index < vk_count(blocks) ? *(struct vk_block *const *)vk_row(blocks, (uint32_t)index)
                                    : NULL;
}

/* How many bytes from `at` on are known as the first is. */
static uint32_t block_run(const struct vk_block *block, uint32_t at, uint32_t count)
{
    bool known = is_known(block, at);
    uint64_t same = known ? UINT64_MAX : 0;
    uint32_t end = at + count, from = at;
    if (!block)
        return count;
    while (at < end) {
        if (at % 64 == 0 && end - at >= 64 && block->known[at / 64] == same)
            at += 64;
        else if (is_known(block, at) == known)
            at++;
        else
            break;
    }
    return at - from;
}

uint64_t vk_content_run(const struct vk_table *blocks, uint64_t offset, uint64_t size, bool *known)
{
    uint64_t done = 0;
    *known = size && is_known(block_at(blocks, offset / VK_BLOCK), (uint32_t)(offset % VK_BLOCK));
    while (done < size) {
        uint64_t at = offset + done;
        const struct vk_block *block = block_at(blocks, at / VK_BLOCK);
        uint32_t part = in_block(at, size - done), inside = (uint32_t)(at % VK_BLOCK);
        if (is_known(block, inside) != *known)
            break;
        if (!block && at / VK_BLOCK >= vk_count(blocks))
            return size;
        uint32_t run = block_run(block, inside, part);
        done += run;
        if (run < part)
            break;
    }
    return done;
}

void vk_content_get(const struct vk_table *blocks, uint64_t offset, void *bytes, uint64_t size)
{
    uint8_t *to = bytes;
    while (size) {
        uint32_t part = in_block(offset, size);
        memcpy(to, block_at(blocks, offset / VK_BLOCK)->bytes + offset % VK_BLOCK, part);
        offset += part, to += part, size -= part;
    }
}
