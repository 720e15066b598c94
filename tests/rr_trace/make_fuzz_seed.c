/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes inputs for fuzz_rr_trace.
 *
 *     make_fuzz_seed sample memory|files          a built recording of most kinds of record
 *     make_fuzz_seed TRACE_DIR memory|files       a real one
 *
 * writes the input to standard output.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/rr_trace/block_stream.h"
#include "tests/rr_trace/fuzz_input.h"
#include "tests/rr_trace/trace_build.h"

static void fail(const char *what)
{
    fprintf(stderr, "make_fuzz_seed: %s\n", what);
    exit(EXIT_FAILURE);
}

static struct wd_buf read_file(const char *dir, const char *name)
{
    struct wd_buf bytes = {0};
    uint8_t chunk[4096];
    char path[PATH_MAX];
    size_t got;
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *file = fopen(path, "rb");
    if (!file)
        fail(path);
    while ((got = fread(chunk, 1, sizeof(chunk), file)) > 0)
        if (wd_buf_append(&bytes, chunk, got) != 0)
            fail("out of memory");
    fclose(file);
    return bytes;
}

/* The file's blocks, put together. */
static struct wd_buf read_blocks(const char *dir, const char *name)
{
    struct wd_buf bytes = {0};
    struct rrt_stream stream;
    uint8_t byte;
    int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (rrt_stream_open(&stream, dir_fd, dir, name) != 0)
        fail(name);
    close(dir_fd);
    while (rrt_stream_at_end(&stream) == 0)
        if (rrt_stream_read_byte(&stream, &byte) != 0 || wd_buf_append(&bytes, &byte, 1) != 0)
            fail(name);
    rrt_stream_close(&stream);
    return bytes;
}

int main(int argc, char **argv)
{
    struct wd_buf parts[FUZZ_PARTS];
    if (argc != 3)
        fail("usage: make_fuzz_seed sample|TRACE_DIR memory|files");
    char *sample_dir = NULL;
    const char *dir = argv[1];
    bool in_memory = strcmp(argv[2], "memory") == 0;
    if (strcmp(dir, "sample") == 0) {
        struct build_trace trace = {0};
        build_sample(&trace);
        dir = sample_dir = build_temp_dir();
        build_write(&trace, dir, 200);
        build_trace_fini(&trace);
    }
    for (int i = 0; i < FUZZ_PARTS; i++)
        parts[i] = in_memory && i != FUZZ_VERSION ? read_blocks(dir, fuzz_part_names[i])
                                                  : read_file(dir, fuzz_part_names[i]);
    putchar(in_memory ? 0 : 1);
    for (int i = 0; i < FUZZ_PARTS; i++) {
        uint32_t size = (uint32_t)parts[i].size_bytes;
        fwrite(&size, sizeof(size), 1, stdout);
    }
    for (int i = 0; i < FUZZ_PARTS; i++)
        if (parts[i].size_bytes > 0 && !(in_memory && i == FUZZ_DATA))
            fwrite(parts[i].data, 1, parts[i].size_bytes, stdout);
    for (int i = 0; i < FUZZ_PARTS; i++)
        wd_buf_fini(&parts[i]);
    if (sample_dir)
        build_remove_dir(sample_dir);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
