/* SPDX-License-Identifier: GPL-3.0-or-later */
/* reblock DIRECTORY BYTES: puts the streams of a recording into blocks of that size, so that a
 * small recording can be cut as a large one would be. The files are new: links to others stay. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "recorder/rr_trace/block_stream.h"
#include "tests/rr_trace/trace_build.h"

/* Reads what is left of a stream, up to `most` bytes. */
static size_t take(struct rrt_stream *stream, uint8_t *bytes, size_t most)
{
    size_t count = 0;
    while (count < most && rrt_stream_at_end(stream) == 0)
        if (rrt_stream_read_byte(stream, &bytes[count++]) != 0)
            abort();
    return count;
}

static void reblock(const char *dir, int dir_fd, const char *name, size_t block_bytes)
{
    struct rrt_stream stream;
    struct wd_buf blocks = {0};
    uint8_t *bytes = malloc(block_bytes);
    size_t count;
    if (!bytes || rrt_stream_open(&stream, dir_fd, dir, name) != 0)
        abort();
    while ((count = take(&stream, bytes, block_bytes)) > 0)
        build_block(&blocks, bytes, count);
    rrt_stream_close(&stream);
    if (unlinkat(dir_fd, name, 0) != 0)
        abort();
    build_write_file(dir, name, blocks.data, blocks.size_bytes);
    wd_buf_fini(&blocks);
    free(bytes);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"events", "data", "mmaps", "tasks"};
    if (argc != 3 || atol(argv[2]) <= 0)
        return 2;
    int dir_fd = open(argv[1], O_RDONLY | O_DIRECTORY);
    if (dir_fd < 0)
        return 1;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        reblock(argv[1], dir_fd, names[i], (size_t)atol(argv[2]));
    close(dir_fd);
    return 0;
}
