/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tables whose copies share their rows until one of them changes: a kernel's whole state is some
 * twenty of them, so that a copy of it costs twenty counters. Rows may own things (texts, blocks),
 * which their kind keeps and drops. Counters are atomic: copies may live in several threads.
 */
#ifndef PREDICATE_SWITCH_KERNEL_VK_TABLE_H
#define PREDICATE_SWITCH_KERNEL_VK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vk_row_kind {
    uint32_t bytes;          /* of a row */
    void (*keep)(void *row); /* the row has been copied; NULL: owns nothing */
    void (*drop)(void *row);
};

struct vk_rows;

struct vk_table {
    struct vk_rows *rows; /* NULL: empty */
    const struct vk_row_kind *kind;
};

uint32_t vk_count(const struct vk_table *table);

/* Row `index`, below the count: valid until the table changes. */
const void *vk_row(const struct vk_table *table, uint32_t index);

/* The same to be changed; NULL if there is no memory. */
void *vk_edit(struct vk_table *table, uint32_t index);

/* Puts a row before row `at`, up to the count. The table then owns what the row owns; not so after
 * -ENOMEM. */
int vk_insert(struct vk_table *table, uint32_t at, const void *row);
int vk_append(struct vk_table *table, const void *row);

/* Takes `count` rows away, and drops them. 0 or -ENOMEM. */
int vk_remove(struct vk_table *table, uint32_t at, uint32_t count);

/* Rows of zeros up to `count`. */
int vk_extend(struct vk_table *table, uint32_t count);

/* `to` is another name of the same rows; it was empty. */
void vk_share(struct vk_table *to, const struct vk_table *from);
void vk_clear(struct vk_table *table);

/* ---- texts: counted, never changed ---- */

struct vk_text {
    uint32_t users;
    uint32_t bytes; /* without the zero */
    char text[];
};

struct vk_text *vk_text_new(const char *text, size_t bytes); /* NULL: no memory */
struct vk_text *vk_text_keep(struct vk_text *text);          /* NULL is fine */
void vk_text_drop(struct vk_text *text);

/* ---- contents: bytes by offset, of which some are known ---- */

#define VK_BLOCK       4096u
#define VK_CONTENT_MAX (UINT64_C(1) << 34) /* bytes; what lies beyond is -ENOMEM */

struct vk_block {
    uint32_t users;
    uint64_t known[VK_BLOCK / 64]; /* a bit for each byte */
    uint8_t bytes[VK_BLOCK];
};

extern const struct vk_row_kind vk_block_row; /* rows are struct vk_block *, NULL: nothing known */

/* Bytes [offset, offset + size) are these. 0 or -ENOMEM. */
int vk_content_put(struct vk_table *blocks, uint64_t offset, const void *bytes, uint64_t size);
/* Only those of them that are not known yet. */
int vk_content_add(struct vk_table *blocks, uint64_t offset, const void *bytes, uint64_t size);
/* Nothing from `offset` on is known any more. */
int vk_content_cut(struct vk_table *blocks, uint64_t offset);
/* How many bytes from `offset` on, at most `size`, are all known, or all unknown: *known says. */
uint64_t vk_content_run(const struct vk_table *blocks, uint64_t offset, uint64_t size, bool *known);
/* Copies bytes that are known. */
void vk_content_get(const struct vk_table *blocks, uint64_t offset, void *bytes, uint64_t size);

#endif
