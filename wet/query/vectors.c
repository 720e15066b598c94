/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Vector state as this processor has it. A file's images are as the processor had them that built
 * it; where that is the recorded one, the recording's CPUID says what is where, and images fit here
 * as those of a recording do.
 */
#include <stdio.h>
#include <string.h>

#include "recorder/feed/feed.h"
#include "recorder/feed/feed_xsave.h"
#include "wet/query/wet_priv.h"
#include "wet/trace/stored_entry.h"
#include <wetdbg/errors.h>

int wet_xsave_check(const struct wetdbg *wet, const uint8_t *image, uint64_t bytes)
{
    struct feed_xsave_layout here;
    uint64_t header[FEED_XSAVE_HEADER_BYTES / 8];
    uint32_t mxcsr;
    int err = feed_xsave_layout_here(&here);
    if (err)
        return err;
    bool is_sane = bytes == here.size_bytes;
    if (is_sane) {
        memcpy(header, image + FEED_XSAVE_LEGACY_BYTES, sizeof(header));
        memcpy(&mxcsr, image + 24, sizeof(mxcsr));
        is_sane = !(header[0] & ~here.xcr0) && !(mxcsr & ~here.mxcsr_mask);
        for (size_t i = 1; i < sizeof(header) / 8; i++)
            is_sane &= !header[i];
    }
    return is_sane ? 0
                   : wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: damaged vector state",
                                 wet_store_path(wet->store));
}

static void layout_of_file(const struct wetdbg *wet, struct feed_xsave_layout *layout)
{
    struct rrt_header header = {.cpuid = (const struct rrt_cpuid *)wet->cpu_bytes.data,
                                .cpuid_count = wet->cpu_bytes.size_bytes / sizeof(struct rrt_cpuid),
                                .xcr0 = wet->xcr0};
    feed_xsave_layout_of_trace(&header, layout);
}

static int convert(const struct wetdbg *wet, const struct feed_xsave_layout *from,
                   const struct feed_xsave_layout *here, const uint8_t *image, uint64_t bytes,
                   struct wd_buf *out)
{
    char why[300];
    int err = feed_xsave_convert(from, here, image, bytes, out);
    if (!err || err == -ENOMEM)
        return err;
    snprintf(why, sizeof(why), "%s", wetdbg_error(err));
    return wetdbg_fail(err, "%s: %s", wet_store_path(wet->store), why);
}

int wet_xsave_take(const struct wetdbg *wet, const uint8_t *image, uint64_t bytes,
                   struct wd_buf *out)
{
    struct feed_xsave_layout here, from;
    int err = feed_xsave_layout_here(&here);
    if (err)
        return err;
    layout_of_file(wet, &from);
    out->size_bytes = 0;
    if (bytes == here.size_bytes)
        err = wd_buf_append(out, image, bytes);
    else if (bytes == from.size_bytes)
        err = convert(wet, &from, &here, image, bytes, out);
    else
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                           "%s cannot be run here: it was made on a processor with %llu bytes of "
                           "vector state, and this one has %u: open it on one like that, or replay "
                           "the recording here (wetdbg replay) and open what that makes",
                           wet_store_path(wet->store), (unsigned long long)bytes, here.size_bytes);
    return err ? err : wet_xsave_check(wet, out->data, out->size_bytes);
}

/* ---- in entries ---- */

/* Puts `bytes` in place of the `count` bytes at `at`. */
static int splice(struct wd_buf *buf, size_t at, size_t count, const struct wd_buf *bytes)
{
    size_t rest = buf->size_bytes - at - count;
    if (bytes->size_bytes > count) {
        int err = wd_buf_append_zeros(buf, bytes->size_bytes - count);
        if (err)
            return err;
    }
    memmove(buf->data + at + bytes->size_bytes, buf->data + at + count, rest);
    memcpy(buf->data + at, bytes->data, bytes->size_bytes);
    buf->size_bytes = at + bytes->size_bytes + rest;
    return 0;
}

/* Fits the op at `op_at` of the entry at `entry_at`. */
static int op_fit(const struct wetdbg *wet, struct wd_buf *entries, size_t entry_at, size_t op_at)
{
    struct wd_buf image = {0};
    struct evq_op op;
    memcpy(&op, entries->data + op_at, sizeof(op));
    size_t payload = op.bytes - sizeof(op);
    int err = wet_xsave_take(wet, entries->data + op_at + sizeof(op), op.xstate.size, &image);
    if (!err && image.size_bytes != op.xstate.size) {
        op.xstate.size = image.size_bytes;
        err = wd_buf_append_zeros(&image, -image.size_bytes & 7);
        if (!err)
            err = splice(entries, op_at + sizeof(op), payload, &image);
        if (!err) {
            op.bytes = (uint32_t)(sizeof(op) + image.size_bytes);
            memcpy(entries->data + op_at, &op, sizeof(op));
            struct evq_entry *entry = (struct evq_entry *)(entries->data + entry_at);
            entry->bytes = (uint32_t)(entry->bytes + image.size_bytes - payload);
        }
    }
    wd_buf_fini(&image);
    return err;
}

int wet_entry_fit(const struct wetdbg *wet, struct wd_buf *entries, size_t at)
{
    size_t op_at = 0;
    int err = 0;
    for (;;) {
        const struct evq_entry *entry = (const struct evq_entry *)(entries->data + at);
        const struct evq_op *op =
            evq_op_next(entry, op_at ? (const struct evq_op *)(entries->data + op_at) : NULL);
        if (!op || err)
            return err;
        op_at = (size_t)((const uint8_t *)op - entries->data);
        if (op->op == EVQ_OP_XSTATE)
            err = op_fit(wet, entries, at, op_at);
    }
}
