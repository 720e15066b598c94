/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A stream's file is blocks back to back, each {u32 compressed, u32 uncompressed, Brotli
 * bytes}. The current block's header is known from the moment the position enters it; its
 * bytes are decompressed only when one of them is asked for.
 *
 * Read with pread rather than mapped: a file that shrinks under us is an error, not a SIGBUS.
 */
#include "recorder/rr_trace/block_stream.h"

#include <brotli/decode.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/regular.h"
#include <wetdbg/errors.h>

#define BLOCK_HEADER_BYTES 8

int rrt_stream_fail(const struct rrt_stream *stream, int code, const char *format, ...)
{
    char what[512];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    if (stream->fd < 0)
        return wetdbg_fail(code, "%s: byte %lu: %s", stream->path, (unsigned long)stream->at, what);
    return wetdbg_fail(code, "%s: block at offset %lu, byte %lu: %s", stream->path,
                       (unsigned long)stream->block_off, (unsigned long)stream->at, what);
}

static int join_path(const char *dir, const char *name, char **path)
{
    return asprintf(path, "%s/%s", dir, name) < 0 ? -ENOMEM : 0;
}

static int open_regular(struct rrt_stream *stream, int dir_fd, const char *name)
{
    struct stat st;
    int r = wd_regular_try(dir_fd, name, WD_LINKS_REFUSE, &stream->fd, &st);
    if (r == -ENOENT)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: this stream of the recording is missing",
                           stream->path);
    if (r == -WETDBG_ERR_CORRUPT)
        return wetdbg_fail(r, "%s: %s instead of a stream", stream->path,
                           wd_regular_kind(st.st_mode));
    if (r != 0)
        return wetdbg_fail(r, "%s: %s", stream->path, strerror(-r));
    stream->is_open = true;
    stream->file_bytes = (uint64_t)st.st_size;
    return 0;
}

int rrt_stream_open(struct rrt_stream *stream, int dir_fd, const char *dir, const char *name)
{
    memset(stream, 0, sizeof(*stream));
    int r = join_path(dir, name, &stream->path);
    if (r == 0)
        r = open_regular(stream, dir_fd, name);
    if (r != 0)
        rrt_stream_close(stream);
    return r;
}

int rrt_stream_open_memory(struct rrt_stream *stream, const char *path, const void *bytes,
                           size_t count)
{
    memset(stream, 0, sizeof(*stream));
    if (count > UINT32_MAX)
        return -ENOMEM;
    stream->path = strdup(path);
    if (!stream->path)
        return -ENOMEM;
    stream->fd = -1;
    stream->block = bytes;
    stream->block_out_bytes = (uint32_t)count;
    stream->is_decoded = true;
    return 0;
}

void rrt_stream_close(struct rrt_stream *stream)
{
    if (stream->is_open)
        close(stream->fd);
    free(stream->path);
    free(stream->in);
    free(stream->out);
    memset(stream, 0, sizeof(*stream));
}

void rrt_stream_rewind(struct rrt_stream *stream)
{
    stream->at = 0;
    if (stream->fd < 0)
        return;
    stream->next_block_off = 0;
    stream->block_off = 0;
    stream->block_in_bytes = 0;
    stream->block_out_bytes = 0;
    stream->stream_off = 0;
    stream->is_decoded = false;
}

uint64_t rrt_stream_tell(const struct rrt_stream *stream)
{
    return stream->stream_off + stream->at;
}

static int read_file(struct rrt_stream *stream, uint64_t off, void *to, size_t count)
{
    uint8_t *bytes = to;
    while (count > 0) {
        ssize_t got = pread(stream->fd, bytes, count, (off_t)off);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return wetdbg_fail_errno("%s: offset %lu", stream->path, (unsigned long)off);
        if (got == 0)
            return wetdbg_fail(-WETDBG_ERR_CORRUPT,
                               "%s: offset %lu: the file was cut while being read", stream->path,
                               (unsigned long)off);
        bytes += got;
        off += (uint64_t)got;
        count -= (size_t)got;
    }
    return 0;
}

static uint32_t load_u32(const uint8_t *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof(value));
    return value;
}

/* Moves on to the next block: its header is checked, its bytes are not read yet. */
static int enter_next_block(struct rrt_stream *stream)
{
    uint8_t header[BLOCK_HEADER_BYTES];
    uint64_t off = stream->next_block_off;
    uint64_t left = stream->file_bytes - off;
    if (left < BLOCK_HEADER_BYTES)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT,
                           "%s: offset %lu: the file ends inside a block header", stream->path,
                           (unsigned long)off);
    int r = read_file(stream, off, header, sizeof(header));
    if (r != 0)
        return r;
    uint32_t in_bytes = load_u32(header);
    uint32_t out_bytes = load_u32(header + 4);
    if (in_bytes > left - BLOCK_HEADER_BYTES)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT,
                           "%s: block at offset %lu needs %u bytes, the file has only %lu more",
                           stream->path, (unsigned long)off, in_bytes,
                           (unsigned long)(left - BLOCK_HEADER_BYTES));
    if (in_bytes > RRT_BLOCK_MAX_BYTES || out_bytes > RRT_BLOCK_MAX_BYTES)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT,
                           "%s: block at offset %lu claims %u bytes in %u: too large", stream->path,
                           (unsigned long)off, out_bytes, in_bytes);
    if (in_bytes == 0 || out_bytes == 0)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: block at offset %lu is empty", stream->path,
                           (unsigned long)off);
    stream->stream_off += stream->block_out_bytes;
    stream->block_off = off;
    stream->block_in_bytes = in_bytes;
    stream->block_out_bytes = out_bytes;
    stream->next_block_off = off + BLOCK_HEADER_BYTES + in_bytes;
    stream->is_decoded = false;
    stream->at = 0;
    return 0;
}

static int make_room(uint8_t **bytes, size_t *capacity, size_t wanted)
{
    if (*bytes && *capacity >= wanted)
        return 0;
    uint8_t *grown = malloc(wanted ? wanted : 1);
    if (!grown)
        return -ENOMEM;
    free(*bytes);
    *bytes = grown;
    *capacity = wanted;
    return 0;
}

static int decode_block(struct rrt_stream *stream)
{
    if (stream->is_decoded)
        return 0;
    int r = make_room(&stream->in, &stream->in_capacity, stream->block_in_bytes);
    if (r == 0)
        r = make_room(&stream->out, &stream->out_capacity, stream->block_out_bytes);
    if (r == 0)
        r = read_file(stream, stream->block_off + BLOCK_HEADER_BYTES, stream->in,
                      stream->block_in_bytes);
    if (r != 0)
        return r;
    size_t decoded = stream->block_out_bytes;
    if (BrotliDecoderDecompress(stream->block_in_bytes, stream->in, &decoded, stream->out) !=
        BROTLI_DECODER_RESULT_SUCCESS)
        return rrt_stream_fail(stream, -WETDBG_ERR_CORRUPT, "its compressed bytes are damaged");
    if (decoded != stream->block_out_bytes)
        return rrt_stream_fail(stream, -WETDBG_ERR_CORRUPT,
                               "decompresses to %zu bytes instead of the stated %u", decoded,
                               stream->block_out_bytes);
    stream->block = stream->out;
    stream->is_decoded = true;
    return 0;
}

/* ---- streams that were cut */

/* Whether zeros are all that follows: room that was given to the file and never written. */
static int is_zero_from(struct rrt_stream *stream, uint64_t off, bool *is_zero)
{
    uint8_t piece[4096];
    *is_zero = true;
    while (*is_zero && off < stream->file_bytes) {
        uint64_t left = stream->file_bytes - off;
        size_t count = left < sizeof(piece) ? (size_t)left : sizeof(piece);
        int r = read_file(stream, off, piece, count);
        if (r != 0)
            return r;
        for (size_t i = 0; i < count; i++)
            *is_zero &= piece[i] == 0;
        off += count;
    }
    return 0;
}

/* Goes on to the next block, if that is whole; *is_cut if the file ends within it. */
static int enter_whole_block(struct rrt_stream *stream, bool *is_cut)
{
    uint8_t header[BLOCK_HEADER_BYTES];
    uint64_t off = stream->next_block_off, left = stream->file_bytes - off;
    *is_cut = left < BLOCK_HEADER_BYTES;
    int r = *is_cut ? 0 : read_file(stream, off, header, sizeof(header));
    if (r != 0 || *is_cut)
        return r;
    uint32_t in_bytes = load_u32(header), out_bytes = load_u32(header + 4);
    *is_cut = in_bytes > left - BLOCK_HEADER_BYTES && in_bytes <= RRT_BLOCK_MAX_BYTES &&
              out_bytes <= RRT_BLOCK_MAX_BYTES;
    if (!*is_cut && in_bytes == 0)
        r = is_zero_from(stream, off, is_cut);
    return r != 0 || *is_cut ? r : enter_next_block(stream);
}

int rrt_stream_trim(struct rrt_stream *stream)
{
    bool is_cut = false;
    int r = 0;
    stream->is_trimmed = true;
    if (stream->fd < 0) {
        stream->stream_bytes = stream->block_out_bytes;
        return 0;
    }
    while (!is_cut && stream->next_block_off < stream->file_bytes) {
        r = enter_whole_block(stream, &is_cut);
        if (r != 0)
            return r;
    }
    stream->was_cut = is_cut;
    stream->file_bytes = stream->next_block_off;
    stream->stream_bytes = stream->stream_off + stream->block_out_bytes;
    r = stream->block_out_bytes > 0 ? decode_block(stream) : 0;
    if (r == -WETDBG_ERR_CORRUPT) { /* it has its length, but not all of its bytes */
        stream->file_bytes = stream->block_off;
        stream->stream_bytes = stream->stream_off;
        stream->was_cut = true;
        r = 0;
    }
    rrt_stream_rewind(stream);
    return r;
}

uint64_t rrt_stream_left(const struct rrt_stream *stream)
{
    return stream->stream_bytes - rrt_stream_tell(stream);
}

int rrt_stream_at_end(struct rrt_stream *stream)
{
    while (stream->at >= stream->block_out_bytes) {
        if (stream->fd < 0 || stream->next_block_off == stream->file_bytes)
            return 1;
        int r = enter_next_block(stream);
        if (r != 0)
            return r;
    }
    return 0;
}

/* Makes at least one byte available in the current block. */
static int need_more(struct rrt_stream *stream)
{
    int r = rrt_stream_at_end(stream);
    if (r > 0)
        return rrt_stream_fail(stream, -WETDBG_ERR_CORRUPT, "the stream ends too early");
    return r;
}

int rrt_stream_read_byte_slowly(struct rrt_stream *stream, uint8_t *byte)
{
    return rrt_stream_read(stream, byte, 1);
}

int rrt_stream_read(struct rrt_stream *stream, void *to, size_t count)
{
    uint8_t *bytes = to;
    while (count > 0) {
        int r = need_more(stream);
        if (r == 0)
            r = decode_block(stream);
        if (r != 0)
            return r;
        size_t chunk = stream->block_out_bytes - stream->at;
        if (chunk > count)
            chunk = count;
        memcpy(bytes, stream->block + stream->at, chunk);
        bytes += chunk;
        stream->at += (uint32_t)chunk;
        count -= chunk;
    }
    return 0;
}

int rrt_stream_skip(struct rrt_stream *stream, uint64_t count)
{
    while (count > 0) {
        int r = need_more(stream);
        if (r != 0)
            return r;
        uint64_t chunk = stream->block_out_bytes - stream->at;
        if (chunk > count)
            chunk = count;
        stream->at += (uint32_t)chunk;
        count -= chunk;
    }
    return 0;
}

int rrt_stream_borrow(struct rrt_stream *stream, size_t count, const uint8_t **bytes)
{
    *bytes = NULL;
    if (count == 0)
        return 0;
    int r = need_more(stream);
    if (r == 0)
        r = decode_block(stream);
    if (r != 0 || count > stream->block_out_bytes - stream->at)
        return r;
    *bytes = stream->block + stream->at;
    stream->at += (uint32_t)count;
    return 0;
}
