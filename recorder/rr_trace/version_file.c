/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The `version` file: a number, a newline, then one packed message with the header. The
 * recorder writes it as `incomplete`, under a lock, and renames it when it is done; so what we
 * say about a directory without it depends on `incomplete` and its lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/regular.h"
#include "recorder/rr_trace/capnp.h"
#include "recorder/rr_trace/trace_decode.h"
#include "recorder/rr_trace/trace_internal.h"
#include <wetdbg/errors.h>

#define VERSION_FILE_MAX_BYTES ((size_t)1 << 20)
#define TRACE_VERSION          85

static int say_incomplete(int dir_fd, const char *dir)
{
    struct stat st;
    int fd;
    if (wd_regular_try(dir_fd, "incomplete", WD_LINKS_REFUSE, &fd, &st))
        return wetdbg_fail(-WETDBG_ERR_CORRUPT,
                           "%s: no recording of rr (there is no file `version`)", dir);
    bool is_locked = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
    if (is_locked)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "%s: still being recorded", dir);
    return wetdbg_fail(-WETDBG_ERR_CORRUPT,
                       "%s: the recording was never finished (`incomplete` instead of `version`): "
                       "the recorder was killed or failed; record again",
                       dir);
}

/* Reads the file to its end into `bytes`, up to the limit. */
static int read_whole(int fd, const char *dir, struct wd_buf *bytes)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return wetdbg_fail_errno("%s/version", dir);
    if (st.st_size > (off_t)VERSION_FILE_MAX_BYTES)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s/version: too large", dir);
    int r = wd_buf_reserve(bytes, (size_t)st.st_size);
    while (r == 0 && bytes->size_bytes < (size_t)st.st_size) {
        size_t want = (size_t)st.st_size - bytes->size_bytes;
        ssize_t got = read(fd, bytes->data + bytes->size_bytes, want);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return wetdbg_fail_errno("%s/version", dir);
        if (got == 0)
            break;
        bytes->size_bytes += (size_t)got;
    }
    return r;
}

static int load_file(int dir_fd, const char *dir, struct wd_buf *bytes)
{
    struct stat st;
    int fd, r = wd_regular_try(dir_fd, "version", WD_LINKS_REFUSE, &fd, &st);
    if (r == -ENOENT)
        return say_incomplete(dir_fd, dir);
    if (r == -WETDBG_ERR_CORRUPT)
        return wetdbg_fail(r, "%s/version: %s, not a regular file", dir,
                           wd_regular_kind(st.st_mode));
    if (r != 0)
        return wetdbg_fail(r, "%s/version: %s", dir, strerror(-r));
    r = read_whole(fd, dir, bytes);
    close(fd);
    return r;
}

/* Checks the first line; *used is its length with the newline. */
static int check_version(const struct rrt_bytes *bytes, const char *dir, size_t *used)
{
    unsigned version = 0;
    size_t at = 0;
    while (at < bytes->size_bytes && at < 6 && bytes->data[at] >= '0' && bytes->data[at] <= '9')
        version = version * 10 + (bytes->data[at++] - '0');
    if (at == 0 || at == bytes->size_bytes || bytes->data[at] != '\n')
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s/version: offset 0: no version number", dir);
    if (version != TRACE_VERSION)
        return wetdbg_fail(-WETDBG_ERR_VERSION,
                           "%s/version: format %u; only format %d (rr 5.6 and later) is supported",
                           dir, version, TRACE_VERSION);
    *used = at + 1;
    return 0;
}

int rrt_decode_version_file(const char *dir, const struct rrt_bytes *contents,
                            struct rrt_arena *arena, struct rrt_header *header)
{
    struct rrt_stream stream;
    struct rrt_message message = {0};
    char path[4096];
    size_t used = 0;
    int r = check_version(contents, dir, &used);
    if (r != 0)
        return r;
    snprintf(path, sizeof(path), "%s/version (after its first line)", dir);
    r = rrt_stream_open_memory(&stream, path, contents->data + used, contents->size_bytes - used);
    if (r != 0)
        return r;
    r = rrt_message_read(&message, &stream);
    if (r == 0)
        r = rrt_stream_fail(&stream, -WETDBG_ERR_CORRUPT, "the header is missing");
    else if (r > 0)
        r = rrt_decode_header(&message, arena, header);
    rrt_message_fini(&message);
    rrt_stream_close(&stream);
    return r;
}

int rrt_read_header(int dir_fd, const char *dir, struct rrt_arena *arena, struct rrt_header *header)
{
    struct wd_buf bytes = {0};
    int r = load_file(dir_fd, dir, &bytes);
    if (r == 0) {
        struct rrt_bytes contents = {bytes.data, bytes.size_bytes};
        r = rrt_decode_version_file(dir, &contents, arena, header);
    }
    wd_buf_fini(&bytes);
    return r;
}
