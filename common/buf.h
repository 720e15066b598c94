/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A growable byte buffer, and the variable-length integers that go into one. */
#ifndef COMMON_BUF_H
#define COMMON_BUF_H

#include <stddef.h>
#include <stdint.h>

/* Embedded by its holder; all zero is an empty buffer. */
struct wd_buf {
    uint8_t *data;
    size_t size_bytes;
    size_t capacity_bytes;
};

void wd_buf_fini(struct wd_buf *buf);

/* Makes room for `more_bytes` beyond the size without changing it. 0 or -ENOMEM. */
int wd_buf_reserve(struct wd_buf *buf, size_t more_bytes);

/* Appends; 0 or -ENOMEM, and then nothing was appended. */
int wd_buf_append(struct wd_buf *buf, const void *bytes, size_t count);
int wd_buf_append_zeros(struct wd_buf *buf, size_t count);
int wd_buf_append_u32(struct wd_buf *buf, uint32_t value); /* little-endian */
int wd_buf_append_u64(struct wd_buf *buf, uint64_t value);
int wd_buf_append_varint(struct wd_buf *buf, uint64_t value); /* LEB128, at most 10 bytes */
int wd_buf_append_svarint(struct wd_buf *buf, int64_t value); /* zigzag, then LEB128 */

/* A bounds-checked reader over bytes that somebody else owns. After the first failure every
 * later read fails too and gives 0, so a caller may check `failed` once at the end. */
struct wd_view {
    const uint8_t *data;
    size_t size_bytes;
    size_t at;
    int failed;
};

struct wd_view wd_view_of(const void *data, size_t size_bytes);
const uint8_t *wd_view_bytes(struct wd_view *view, size_t count); /* NULL when failed */
uint32_t wd_view_u32(struct wd_view *view);
uint64_t wd_view_u64(struct wd_view *view);
uint64_t wd_view_varint(struct wd_view *view); /* overlong or > 64 bits fails */
int64_t wd_view_svarint(struct wd_view *view);

#endif
