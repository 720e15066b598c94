/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Only LINES are stored in parts (and MEMORY, which is laid out alike): places, masks, and words,
 * whose width is found by trying. What a sorting program writes shrinks by a third when it is taken
 * apart into planes; what a database does grows by a quarter, since there whole strings come again.
 *
 * Tried and dropped: differences instead of XOR (a tenth better for sorting, worse elsewhere);
 * deltas from word to word (worse, but for loops over counters); planes of 2 bytes.
 */
#include "wet/store/codec.h"

#include <assert.h>
#include <emmintrin.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "wet/store/store.h"
#include <wetdbg/errors.h>

#define TRIAL_BYTES (128u << 10) /* of a longer part so much from its middle is tried */
#define TRIAL_LEVEL 1
#define SMALL_BYTES (16u << 10) /* heads of several frames may cost more than they gain */
#define LONG_LEVEL  10          /* from here on time is no matter */

struct part {
    const uint8_t *bytes;
    size_t size_bytes;
    uint8_t width;
};

/* ---- planes ---- */

static void planes_split(const uint8_t *from, size_t count, unsigned width, uint8_t *to)
{
    for (unsigned plane = 0; plane < width; plane++, to += count) {
        for (size_t i = 0; i < count; i++)
            to[i] = from[i * width + plane];
    }
}

static void planes_join_rest(const uint8_t *from, size_t count, size_t first, unsigned width,
                             uint8_t *to)
{
    for (size_t i = first; i < count; i++) {
        for (unsigned plane = 0; plane < width; plane++)
            to[i * width + plane] = from[plane * count + i];
    }
}

/* Joins 16 bytes of each of four planes. Each step interleaves: 0 with 1 and 2 with 3 gives pairs,
 * these give fours. */
static void planes_join_16(const uint8_t *from, size_t count, __m128i four[4])
{
    __m128i plane[4], pair[4];
    for (unsigned p = 0; p < 4; p++)
        plane[p] = _mm_loadu_si128((const __m128i *)(from + p * count));
    pair[0] = _mm_unpacklo_epi8(plane[0], plane[1]);
    pair[1] = _mm_unpackhi_epi8(plane[0], plane[1]);
    pair[2] = _mm_unpacklo_epi8(plane[2], plane[3]);
    pair[3] = _mm_unpackhi_epi8(plane[2], plane[3]);
    for (unsigned half = 0; half < 2; half++) {
        four[2 * half] = _mm_unpacklo_epi16(pair[half], pair[2 + half]);
        four[2 * half + 1] = _mm_unpackhi_epi16(pair[half], pair[2 + half]);
    }
}

static size_t planes_join_4(const uint8_t *from, size_t count, uint8_t *to)
{
    size_t i = 0;
    for (; i + 16 <= count; i += 16, to += 64) {
        __m128i four[4];
        planes_join_16(from + i, count, four);
        for (unsigned q = 0; q < 4; q++)
            _mm_storeu_si128((__m128i *)(to + 16 * q), four[q]);
    }
    return i;
}

/* planes_join_16() with one step more. */
static size_t planes_join_8(const uint8_t *from, size_t count, uint8_t *to)
{
    size_t i = 0;
    for (; i + 16 <= count; i += 16, to += 128) {
        __m128i four[2][4];
        for (unsigned half = 0; half < 2; half++)
            planes_join_16(from + half * 4 * count + i, count, four[half]);
        for (unsigned q = 0; q < 4; q++) {
            __m128i *at = (__m128i *)(to + 32 * q);
            _mm_storeu_si128(at, _mm_unpacklo_epi32(four[0][q], four[1][q]));
            _mm_storeu_si128(at + 1, _mm_unpackhi_epi32(four[0][q], four[1][q]));
        }
    }
    return i;
}

static void planes_join(const uint8_t *from, size_t count, unsigned width, uint8_t *to)
{
    assert(width == 4 || width == 8);
    size_t done = width == 4 ? planes_join_4(from, count, to) : planes_join_8(from, count, to);
    planes_join_rest(from, count, done, width, to);
}

/* ---- encoding ---- */

static int frame_append(ZSTD_CCtx *zstd, const void *bytes, size_t size_bytes, int level,
                        struct wd_buf *out)
{
    assert(out->size_bytes <= out->capacity_bytes);
    int err = wd_buf_reserve(out, ZSTD_compressBound(size_bytes));
    if (err)
        return err;
    size_t stored =
        ZSTD_compressCCtx(zstd, out->data + out->size_bytes, out->capacity_bytes - out->size_bytes,
                          bytes, size_bytes, level);
    if (ZSTD_isError(stored))
        return wetdbg_fail(-WETDBG_ERR_MACHINE, "compressing: %s", ZSTD_getErrorName(stored));
    out->size_bytes += stored;
    return 0;
}

static int part_append(ZSTD_CCtx *zstd, const struct part *part, int level, struct wd_buf *out)
{
    assert(part->width && part->size_bytes % part->width == 0);
    size_t count = part->size_bytes / part->width;
    if (part->width == 1)
        return frame_append(zstd, part->bytes, part->size_bytes, level, out);
    uint8_t *planes = malloc(part->size_bytes + 1);
    if (!planes)
        return -ENOMEM;
    planes_split(part->bytes, count, part->width, planes);
    int err = 0;
    for (unsigned plane = 0; !err && plane < part->width; plane++)
        err = frame_append(zstd, planes + plane * count, count, level, out);
    free(planes);
    return err;
}

/* Sets the width that makes the part, or a piece of it, smallest. */
static int width_find(ZSTD_CCtx *zstd, struct part *part, int level)
{
    static const uint8_t widths[] = {1, 4, 8};
    struct wd_buf scratch = {0};
    struct part piece = *part;
    size_t best = SIZE_MAX;
    int err = 0;
    if (piece.size_bytes > TRIAL_BYTES && level < LONG_LEVEL) {
        piece.bytes += (piece.size_bytes - TRIAL_BYTES) / 2 & ~(size_t)7;
        piece.size_bytes = TRIAL_BYTES;
    }
    for (size_t i = 0; !err && i < sizeof(widths); i++) {
        scratch.size_bytes = 0;
        piece.width = widths[i];
        err = part_append(zstd, &piece, TRIAL_LEVEL, &scratch);
        if (!err && scratch.size_bytes < best) {
            best = scratch.size_bytes;
            part->width = piece.width;
        }
    }
    wd_buf_fini(&scratch);
    return err;
}

/* Strings are found better at higher levels, single bytes are not. */
static int level_of(uint32_t kind, unsigned width, int level)
{
    bool is_string = kind == WET_SEC_ENTRIES || (kind == WET_SEC_LINES && width == 1);
    return is_string && level > 1 && level < LONG_LEVEL ? level + 3 : level;
}

/* Finds the parts of LINES (docs/format.md); false if it is something else. */
static bool lines_parts(const uint8_t *bytes, size_t size_bytes, struct part parts[3])
{
    struct wd_view view = wd_view_of(bytes, size_bytes);
    uint64_t count = wd_view_u64(&view), place_bytes = wd_view_u64(&view);
    if (count > size_bytes || !wd_view_bytes(&view, place_bytes))
        return false;
    parts[0] = (struct part){bytes, view.at, 1};
    parts[1] = (struct part){wd_view_bytes(&view, 4 * count), 4 * count, 1};
    parts[2] = (struct part){bytes + view.at, size_bytes - view.at, 1};
    return !view.failed && parts[2].size_bytes % WET_WIDTH_MAX == 0;
}

static int encode_lines(ZSTD_CCtx *zstd, struct part parts[3], int level, struct wd_buf *out)
{
    int err = width_find(zstd, &parts[2], level);
    const uint8_t head[] = {3, parts[0].width, parts[1].width, parts[2].width};
    if (!err)
        err = wd_buf_append(out, head, sizeof(head));
    for (unsigned i = 0; !err && i < 3; i++)
        err = part_append(zstd, &parts[i], level_of(WET_SEC_LINES, parts[i].width, level), out);
    return err;
}

int wet_encode(ZSTD_CCtx *zstd, uint32_t kind, const void *bytes, size_t size_bytes, int level,
               struct wd_buf *out, enum wet_form *form)
{
    struct part parts[3];
    bool is_lines = kind == WET_SEC_LINES || kind == WET_SEC_MEMORY;
    bool has_parts = is_lines && lines_parts(bytes, size_bytes, parts);
    struct wd_buf whole = {0};
    int err = 0;
    out->size_bytes = 0;
    *form = has_parts ? WET_FORM_PARTS : WET_FORM_WHOLE;
    if (!has_parts)
        return frame_append(zstd, bytes, size_bytes, level_of(kind, 1, level), out);
    err = encode_lines(zstd, parts, level, out);
    if (!err && size_bytes <= SMALL_BYTES) {
        err = frame_append(zstd, bytes, size_bytes, level_of(kind, 1, level), &whole);
        if (!err && whole.size_bytes <= out->size_bytes) {
            out->size_bytes = 0;
            *form = WET_FORM_WHOLE;
            err = wd_buf_append(out, whole.data, whole.size_bytes);
        }
        wd_buf_fini(&whole);
    }
    return err;
}

/* ---- decoding ---- */

/* The next frame; NULL if it is damaged or does not state its size. */
static const uint8_t *frame_next(struct wd_view *stored, size_t *frame_bytes, uint64_t *raw_bytes)
{
    const uint8_t *frame = stored->data + stored->at;
    size_t left = stored->size_bytes - stored->at;
    *frame_bytes = ZSTD_findFrameCompressedSize(frame, left);
    if (ZSTD_isError(*frame_bytes))
        return NULL;
    unsigned long long raw = ZSTD_getFrameContentSize(frame, left);
    *raw_bytes = raw;
    if (raw == ZSTD_CONTENTSIZE_ERROR || raw == ZSTD_CONTENTSIZE_UNKNOWN)
        return NULL;
    return wd_view_bytes(stored, *frame_bytes);
}

static int frame_decode(ZSTD_DCtx *zstd, struct wd_view *stored, uint8_t *to, size_t room,
                        size_t *size_bytes)
{
    size_t frame_bytes;
    uint64_t raw_bytes;
    const uint8_t *frame = frame_next(stored, &frame_bytes, &raw_bytes);
    if (!frame || raw_bytes > room ||
        ZSTD_decompressDCtx(zstd, to, raw_bytes, frame, frame_bytes) != raw_bytes)
        return wetdbg_fail_plain(-WETDBG_ERR_CORRUPT);
    *size_bytes = raw_bytes;
    return 0;
}

static int planes_decode(ZSTD_DCtx *zstd, struct wd_view *stored, unsigned width, uint8_t *to,
                         size_t room, size_t *size_bytes)
{
    struct wd_view ahead = *stored;
    size_t frame_bytes;
    uint64_t count, plane_bytes;
    if (!frame_next(&ahead, &frame_bytes, &count) || count > room / width)
        return wetdbg_fail_plain(-WETDBG_ERR_CORRUPT);
    uint8_t *planes = malloc(count * width + 1);
    int err = planes ? 0 : -ENOMEM;
    for (unsigned plane = 0; !err && plane < width; plane++) {
        err = frame_decode(zstd, stored, planes + plane * count, count, &plane_bytes);
        if (!err && plane_bytes != count)
            err = -WETDBG_ERR_CORRUPT;
    }
    if (!err)
        planes_join(planes, count, width, to);
    free(planes);
    *size_bytes = count * width;
    return err;
}

static int parts_decode(ZSTD_DCtx *zstd, struct wd_view *stored, uint8_t *to, size_t raw_bytes)
{
    const uint8_t *count = wd_view_bytes(stored, 1);
    const uint8_t *widths = count && *count <= WET_PARTS_MAX ? wd_view_bytes(stored, *count) : NULL;
    size_t done = 0, now = 0;
    if (!widths)
        return wetdbg_fail_plain(-WETDBG_ERR_CORRUPT);
    for (unsigned i = 0; i < *count; i++, done += now) {
        int err = -WETDBG_ERR_CORRUPT;
        if (widths[i] == 1)
            err = frame_decode(zstd, stored, to + done, raw_bytes - done, &now);
        else if (widths[i] == 4 || widths[i] == 8)
            err = planes_decode(zstd, stored, widths[i], to + done, raw_bytes - done, &now);
        if (err)
            return err;
    }
    return done == raw_bytes ? 0 : -WETDBG_ERR_CORRUPT;
}

int wet_decode(uint32_t form, const uint8_t *stored, size_t stored_bytes, uint8_t *to,
               size_t raw_bytes)
{
    struct wd_view view = wd_view_of(stored, stored_bytes);
    ZSTD_DCtx *zstd = ZSTD_createDCtx();
    size_t done = 0;
    int err = -WETDBG_ERR_CORRUPT;
    if (!zstd)
        return -ENOMEM;
    if (form == WET_FORM_WHOLE) {
        err = frame_decode(zstd, &view, to, raw_bytes, &done);
        if (!err && done != raw_bytes)
            err = -WETDBG_ERR_CORRUPT;
    } else if (form == WET_FORM_PARTS) {
        err = parts_decode(zstd, &view, to, raw_bytes);
    }
    ZSTD_freeDCtx(zstd);
    return !err && view.at != view.size_bytes ? -WETDBG_ERR_CORRUPT : err;
}
