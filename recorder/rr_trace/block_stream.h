/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One stream of a recording: a file of Brotli-compressed blocks, read as the one string of
 * bytes that the blocks give when put together. Nothing is decompressed before it is needed,
 * and bytes that are skipped mostly not at all.
 */
#ifndef RECORDER_RR_TRACE_BLOCK_STREAM_H
#define RECORDER_RR_TRACE_BLOCK_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Neither side of a block may be larger; the recorder's own limit is 1 MiB. */
#define RRT_BLOCK_MAX_BYTES (64u << 20)

/* Embedded by its holder. All zero, it can be closed. */
struct rrt_stream {
    char *path; /* for messages */
    int fd;     /* -1: the bytes are in memory, as one block */
    bool is_open;
    uint64_t file_bytes;
    uint64_t next_block_off;  /* in the file */
    uint64_t block_off;       /* of the current block's header in the file */
    uint32_t block_in_bytes;  /* compressed size */
    uint32_t block_out_bytes; /* what the header says */
    uint64_t stream_off;      /* where the current block begins in the string */
    bool is_trimmed;          /* rrt_stream_trim() */
    bool was_cut;             /* and it had something to trim */
    uint64_t stream_bytes;    /* then: in all */
    bool is_decoded;
    const uint8_t *block;
    uint32_t at; /* in the current block */
    uint8_t *in;
    size_t in_capacity;
    uint8_t *out;
    size_t out_capacity;
};

/* Opens the stream `name` below `dir_fd`; `dir` serves messages. An errno if it cannot be
 * opened, -WETDBG_ERR_CORRUPT if it is missing or not a regular file. */
int rrt_stream_open(struct rrt_stream *stream, int dir_fd, const char *dir, const char *name);

/* A stream of uncompressed bytes that stay the caller's and must outlive it. 0 or -ENOMEM. */
int rrt_stream_open_memory(struct rrt_stream *stream, const char *path, const void *bytes,
                           size_t count);
void rrt_stream_close(struct rrt_stream *stream);

/*
 * Lets the stream, which is at its start, end behind its last whole block, as one has to be read
 * whose writer was killed, or whose last bytes never reached the disk. -WETDBG_ERR_CORRUPT if what
 * is no whole block cannot have been the last one.
 */
int rrt_stream_trim(struct rrt_stream *stream);

/* After rrt_stream_trim(): how many bytes are to come. */
uint64_t rrt_stream_left(const struct rrt_stream *stream);

void rrt_stream_rewind(struct rrt_stream *stream);

/* 1 when no byte is left, 0 when at least one is, or an error. */
int rrt_stream_at_end(struct rrt_stream *stream);

/* Reads exactly `count` bytes; -WETDBG_ERR_CORRUPT if the stream ends before. */
int rrt_stream_read(struct rrt_stream *stream, void *to, size_t count);
int rrt_stream_skip(struct rrt_stream *stream, uint64_t count);

/* Like read, without a copy: *bytes is borrowed until the next call on this stream. When the
 * bytes do not lie in one block *bytes is NULL and nothing is consumed. */
int rrt_stream_borrow(struct rrt_stream *stream, size_t count, const uint8_t **bytes);

/* The position in the string of bytes. */
uint64_t rrt_stream_tell(const struct rrt_stream *stream);

/* Says "<path>: block at offset N, byte M: <what>", returns `code`. */
int rrt_stream_fail(const struct rrt_stream *stream, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

int rrt_stream_read_byte_slowly(struct rrt_stream *stream, uint8_t *byte);

/* Inline: the packed decoder asks for every byte of the recording. */
static inline int rrt_stream_read_byte(struct rrt_stream *stream, uint8_t *byte)
{
    if (stream->is_decoded && stream->at < stream->block_out_bytes) {
        *byte = stream->block[stream->at++];
        return 0;
    }
    return rrt_stream_read_byte_slowly(stream, byte);
}

#endif
