/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/buf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void wd_buf_fini(struct wd_buf *buf)
{
    free(buf->data);
    *buf = (struct wd_buf){0};
}

int wd_buf_reserve(struct wd_buf *buf, size_t more_bytes)
{
    if (more_bytes <= buf->capacity_bytes - buf->size_bytes)
        return 0;
    size_t need;
    if (__builtin_add_overflow(buf->size_bytes, more_bytes, &need))
        return -ENOMEM;
    size_t capacity = buf->capacity_bytes ? buf->capacity_bytes : 256;
    while (capacity < need) {
        if (__builtin_mul_overflow(capacity, (size_t)2, &capacity))
            return -ENOMEM;
    }
    uint8_t *data = realloc(buf->data, capacity);
    if (!data)
        return -ENOMEM;
    buf->data = data;
    buf->capacity_bytes = capacity;
    return 0;
}

int wd_buf_append(struct wd_buf *buf, const void *bytes, size_t count)
{
    int err = wd_buf_reserve(buf, count);
    if (err)
        return err;
    if (count)
        memcpy(buf->data + buf->size_bytes, bytes, count);
    buf->size_bytes += count;
    return 0;
}

int wd_buf_append_zeros(struct wd_buf *buf, size_t count)
{
    int err = wd_buf_reserve(buf, count);
    if (err)
        return err;
    if (count)
        memset(buf->data + buf->size_bytes, 0, count);
    buf->size_bytes += count;
    return 0;
}

int wd_buf_append_u32(struct wd_buf *buf, uint32_t value)
{
    return wd_buf_append(buf, &value, sizeof(value));
}

int wd_buf_append_u64(struct wd_buf *buf, uint64_t value)
{
    return wd_buf_append(buf, &value, sizeof(value));
}

int wd_buf_append_varint(struct wd_buf *buf, uint64_t value)
{
    uint8_t bytes[10];
    size_t count = 0;
    do {
        uint8_t low = value & 0x7f;
        value >>= 7;
        bytes[count++] = low | (value ? 0x80 : 0);
    } while (value);
    return wd_buf_append(buf, bytes, count);
}

int wd_buf_append_svarint(struct wd_buf *buf, int64_t value)
{
    return wd_buf_append_varint(buf, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

struct wd_view wd_view_of(const void *data, size_t size_bytes)
{
    return (struct wd_view){.data = data, .size_bytes = size_bytes};
}

const uint8_t *wd_view_bytes(struct wd_view *view, size_t count)
{
    if (view->failed || count > view->size_bytes - view->at) {
        view->failed = 1;
        return NULL;
    }
    const uint8_t *bytes = view->data + view->at;
    view->at += count;
    return bytes;
}

uint32_t wd_view_u32(struct wd_view *view)
{
    uint32_t value = 0;
    const uint8_t *bytes = wd_view_bytes(view, sizeof(value));
    if (bytes)
        memcpy(&value, bytes, sizeof(value));
    return value;
}

uint64_t wd_view_u64(struct wd_view *view)
{
    uint64_t value = 0;
    const uint8_t *bytes = wd_view_bytes(view, sizeof(value));
    if (bytes)
        memcpy(&value, bytes, sizeof(value));
    return value;
}

uint64_t wd_view_varint(struct wd_view *view)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const uint8_t *byte = wd_view_bytes(view, 1);
        if (!byte)
            return 0;
        if ((shift == 63 && *byte > 1) || (shift && !*byte))
            break;
        value |= (uint64_t)(*byte & 0x7f) << shift;
        if (!(*byte & 0x80))
            return value;
    }
    view->failed = 1;
    return 0;
}

int64_t wd_view_svarint(struct wd_view *view)
{
    uint64_t value = wd_view_varint(view);
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}
