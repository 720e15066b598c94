/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/rr_trace/read_all.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/rr_trace/rr_trace_unit.h"
#include "tests/rr_trace/trace_build.h"
#include <wetdbg/errors.h>

int read_all_of(struct wetdbg_recording *trace, bool skip_data)
{
    struct rrt_frame frame;
    int r;
    rrt_set_skip_data(trace, skip_data);
    while ((r = rrt_next(trace, &frame)) > 0)
        continue;
    return r;
}

int read_all_in(const char *dir, bool skip_data)
{
    struct wetdbg_recording *trace;
    int r = wetdbg_recording_open(dir, &trace);
    if (r != 0)
        return r;
    r = read_all_of(trace, skip_data);
    wetdbg_recording_close(trace);
    return r;
}

bool is_reading_error(int code)
{
    return code == -WETDBG_ERR_CORRUPT || code == -WETDBG_ERR_VERSION ||
           code == -WETDBG_ERR_UNSUPPORTED;
}

static struct wd_buf load(const char *dir, const char *name)
{
    struct wd_buf bytes = {0};
    uint8_t chunk[4096];
    char path[PATH_MAX];
    size_t got;
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    while ((got = fread(chunk, 1, sizeof(chunk), file)) > 0)
        assert_int_equal(wd_buf_append(&bytes, chunk, got), 0);
    fclose(file);
    return bytes;
}

/* The recorder leaves its files read-only. */
static void store(const char *dir, const char *name, const void *bytes, size_t count)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    assert_int_equal(unlink(path), 0);
    build_write_file(dir, name, bytes, count);
}

size_t file_size(const char *dir, const char *name)
{
    struct wd_buf bytes = load(dir, name);
    size_t size = bytes.size_bytes;
    wd_buf_fini(&bytes);
    return size;
}

static size_t read_and_judge(const char *dir)
{
    int r = read_all_in(dir, false);
    assert_true(r == 0 || is_reading_error(r));
    return r != 0;
}

size_t cut_everywhere(const char *dir, const char *name, size_t step)
{
    struct wd_buf bytes = load(dir, name);
    size_t noticed = 0;
    for (size_t cut = 0; cut < bytes.size_bytes; cut += step) {
        store(dir, name, bytes.data, cut);
        noticed += read_and_judge(dir);
    }
    store(dir, name, bytes.data, bytes.size_bytes);
    wd_buf_fini(&bytes);
    return noticed;
}

size_t flip_everywhere(const char *dir, const char *name, size_t step_bits)
{
    struct wd_buf bytes = load(dir, name);
    size_t noticed = 0;
    for (size_t bit = 0; bit < 8 * bytes.size_bytes; bit += step_bits) {
        bytes.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        store(dir, name, bytes.data, bytes.size_bytes);
        noticed += read_and_judge(dir);
        bytes.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    store(dir, name, bytes.data, bytes.size_bytes);
    wd_buf_fini(&bytes);
    return noticed;
}
