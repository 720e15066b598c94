/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The `version` file: a number, a newline, then one packed message with the header. The
 * recorder calls it `incomplete` at first, keeps it locked, and has only the number in it; the
 * header is written, and the file renamed, when it is done.
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

#define UNFINISHED_NAME "incomplete"

/* rr keeps the file locked for as long as it records. */
static int check_lock(int fd, const char *dir)
{
    bool is_locked = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (is_locked)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "%s: still being recorded", dir);
    flock(fd, LOCK_UN);
    return 0;
}

/* Reads the file to its end into `bytes`, up to the limit. */
static int read_whole(int fd, const char *path, struct wd_buf *bytes)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return wetdbg_fail_errno("%s", path);
    if (st.st_size > (off_t)VERSION_FILE_MAX_BYTES)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: too large", path);
    int r = wd_buf_reserve(bytes, (size_t)st.st_size);
    while (r == 0 && bytes->size_bytes < (size_t)st.st_size) {
        size_t want = (size_t)st.st_size - bytes->size_bytes;
        ssize_t got = read(fd, bytes->data + bytes->size_bytes, want);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return wetdbg_fail_errno("%s", path);
        if (got == 0)
            break;
        bytes->size_bytes += (size_t)got;
    }
    return r;
}

/* Opens `version`, or what rr calls the file until a recording has ended. */
static int open_file(int dir_fd, const char *dir, int *fd, bool *is_unfinished)
{
    static const char *const names[] = {"version", UNFINISHED_NAME};
    struct stat st;
    int r = -ENOENT;
    size_t i;
    for (i = 0; r == -ENOENT && i < 2; i++)
        r = wd_regular_try(dir_fd, names[i], WD_LINKS_REFUSE, fd, &st);
    const char *name = names[i - 1];
    *is_unfinished = i == 2;
    if (r == -ENOENT)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT,
                           "%s: no recording of rr (there is no file `version`)", dir);
    if (r == -WETDBG_ERR_CORRUPT)
        return wetdbg_fail(r, "%s/%s: %s, not a regular file", dir, name,
                           wd_regular_kind(st.st_mode));
    if (r != 0)
        return wetdbg_fail(r, "%s/%s: %s", dir, name, strerror(-r));
    r = *is_unfinished ? check_lock(*fd, dir) : 0;
    if (r != 0)
        close(*fd);
    return r;
}

static int load_file(int dir_fd, const char *dir, struct wd_buf *bytes, bool *is_unfinished)
{
    char path[4096];
    int fd, r = open_file(dir_fd, dir, &fd, is_unfinished);
    if (r != 0)
        return r;
    snprintf(path, sizeof(path), "%s/%s", dir, *is_unfinished ? UNFINISHED_NAME : "version");
    r = read_whole(fd, path, bytes);
    close(fd);
    return r;
}

/* Checks the first line; *used is its length with the newline. */
static int check_version(const struct rrt_bytes *bytes, const char *path, size_t *used)
{
    unsigned version = 0;
    size_t at = 0;
    while (at < bytes->size_bytes && at < 6 && bytes->data[at] >= '0' && bytes->data[at] <= '9')
        version = version * 10 + (bytes->data[at++] - '0');
    if (at == 0 || at == bytes->size_bytes || bytes->data[at] != '\n')
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: offset 0: no version number", path);
    if (version != TRACE_VERSION)
        return wetdbg_fail(-WETDBG_ERR_VERSION,
                           "%s: format %u; only format %d (rr 5.6 and later) is supported", path,
                           version, TRACE_VERSION);
    *used = at + 1;
    return 0;
}

/* The message behind the first line. */
static int decode_message(const char *path, const struct rrt_bytes *bytes, struct rrt_arena *arena,
                          struct rrt_header *header)
{
    struct rrt_stream stream;
    struct rrt_message message = {0};
    int r = rrt_stream_open_memory(&stream, path, bytes->data, bytes->size_bytes);
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

int rrt_decode_version_file(const char *dir, const struct rrt_bytes *contents, bool is_unfinished,
                            struct rrt_arena *arena, struct rrt_header *header)
{
    char path[4096];
    size_t used = 0;
    snprintf(path, sizeof(path), "%s/%s", dir, is_unfinished ? UNFINISHED_NAME : "version");
    int r = check_version(contents, path, &used);
    if (r != 0)
        return r;
    struct rrt_bytes rest = {contents->data + used, contents->size_bytes - used};
    if (is_unfinished && rest.size_bytes == 0)
        return rrt_header_assume(arena, header);
    snprintf(path + strlen(path), sizeof(path) - strlen(path), " (after its first line)");
    r = decode_message(path, &rest, arena, header);
    if (is_unfinished)
        header->ended_normally = false;
    return r;
}

int rrt_read_header(int dir_fd, const char *dir, struct rrt_arena *arena, struct rrt_header *header)
{
    struct wd_buf bytes = {0};
    bool is_unfinished = false;
    int r = load_file(dir_fd, dir, &bytes, &is_unfinished);
    if (r == 0) {
        struct rrt_bytes contents = {bytes.data, bytes.size_bytes};
        r = rrt_decode_version_file(dir, &contents, is_unfinished, arena, header);
    }
    wd_buf_fini(&bytes);
    return r;
}
