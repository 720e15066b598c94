/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/record/surroundings.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "recorder/record/side_file.h"
#include "recorder/rr_trace/input_format.h"
#include <wetdbg/errors.h>

#define PIECE_BYTES   65536
#define COPY_BYTES    (1 << 20) /* of what a pipe holds */
#define IDLE_MS       500       /* for the next byte of a pipe */
#define DRAIN_SECONDS 2.0       /* for all of them */

/* ---- the beginning ---- */

static int64_t nanoseconds(struct timespec time)
{
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* What a descriptor is that the program begins with. */
static struct rrt_inherited stream_find(int fd)
{
    struct stat st;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fstat(fd, &st))
        return (struct rrt_inherited){.is_known = false};
    return (struct rrt_inherited){.is_known = true,
                                  .fields = {[RRT_INHERITED_FLAGS] = flags,
                                             [RRT_INHERITED_POSITION] = lseek(fd, 0, SEEK_CUR),
                                             [RRT_INHERITED_DEV] = (int64_t)st.st_dev,
                                             [RRT_INHERITED_INO] = (int64_t)st.st_ino,
                                             [RRT_INHERITED_MODE] = st.st_mode,
                                             [RRT_INHERITED_NLINK] = (int64_t)st.st_nlink,
                                             [RRT_INHERITED_UID] = st.st_uid,
                                             [RRT_INHERITED_GID] = st.st_gid,
                                             [RRT_INHERITED_RDEV] = (int64_t)st.st_rdev,
                                             [RRT_INHERITED_SIZE] = st.st_size,
                                             [RRT_INHERITED_BLKSIZE] = st.st_blksize,
                                             [RRT_INHERITED_BLOCKS] = st.st_blocks,
                                             [RRT_INHERITED_ATIME_NS] = nanoseconds(st.st_atim),
                                             [RRT_INHERITED_MTIME_NS] = nanoseconds(st.st_mtim),
                                             [RRT_INHERITED_CTIME_NS] = nanoseconds(st.st_ctim)}};
}

void rec_surroundings_begin(struct rec_surroundings *surroundings)
{
    struct timespec now = {0};
    *surroundings = (struct rec_surroundings){0};
    /* The clock that file systems stamp with: what changes from now on has no earlier time. */
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    surroundings->began.began_ns = nanoseconds(now);
    surroundings->began.cwd = getcwd(NULL, 0);
    for (int fd = 0; fd < RRT_INHERITED; fd++)
        surroundings->began.streams[fd] = stream_find(fd);
    const int64_t *input = surroundings->began.streams[STDIN_FILENO].fields;
    surroundings->input_is_file =
        S_ISREG((mode_t)input[RRT_INHERITED_MODE]) && input[RRT_INHERITED_POSITION] >= 0;
    surroundings->input_start =
        surroundings->input_is_file ? (uint64_t)input[RRT_INHERITED_POSITION] : 0;
}

/* Stamps may be finer than the clock that they are mostly taken from, but not later than this. */
void rec_surroundings_end(struct rec_surroundings *surroundings)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    surroundings->began.ended_ns = nanoseconds(now);
}

void rec_surroundings_fini(struct rec_surroundings *surroundings)
{
    free(surroundings->began.cwd);
}

static int write_beside(const char *trace_dir, const char *name, const struct wd_buf *bytes)
{
    int dir_fd = open(trace_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return wetdbg_fail_errno("%s", trace_dir);
    int err = rec_side_file_write(dir_fd, name, bytes->data, bytes->size_bytes);
    close(dir_fd);
    return err;
}

int rec_surroundings_write(const struct rec_surroundings *surroundings, const char *trace_dir)
{
    struct wd_buf text = {0};
    int err = rrt_surroundings_put(&text, &surroundings->began);
    if (!err)
        err = write_beside(trace_dir, RRT_SURROUNDINGS_NAME, &text);
    wd_buf_fini(&text);
    return err;
}

/* ---- what is left of standard input ---- */

struct rest {
    struct wd_buf bytes; /* behind the head */
    uint64_t room;       /* bytes that may still be kept */
    bool is_all, is_late;
};

/* Appends what a descriptor gives at once: how many bytes, 0 at its end, or -1. */
static ssize_t piece_take(struct rest *rest, int fd, off_t at)
{
    size_t most = rest->room < PIECE_BYTES ? (size_t)rest->room : PIECE_BYTES;
    if (wd_buf_reserve(&rest->bytes, most))
        return -1;
    uint8_t *to = rest->bytes.data + rest->bytes.size_bytes;
    ssize_t got = at < 0 ? read(fd, to, most) : pread(fd, to, most, at);
    if (got > 0) {
        rest->bytes.size_bytes += (size_t)got;
        rest->room -= (uint64_t)got;
    }
    return got;
}

static void file_take(struct rest *rest, off_t at, off_t size)
{
    ssize_t got = 1;
    while (rest->room && got > 0) {
        got = piece_take(rest, STDIN_FILENO, at);
        at += got > 0 ? got : 0;
    }
    rest->is_all = !got || (got > 0 && at >= size);
}

/* Whether some other process has this pipe open to be read: what is taken out would be missing
 * there. */
static bool process_reads(const char *pid, const struct stat *pipe)
{
    char path[300], name[600];
    struct stat link, st;
    bool reads = false;
    snprintf(path, sizeof(path), "/proc/%s/fd", pid);
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && !reads && (entry = readdir(dir));) {
        snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        reads = isdigit((unsigned char)entry->d_name[0]) && !lstat(name, &link) &&
                link.st_mode & S_IRUSR && !stat(name, &st) && st.st_ino == pipe->st_ino &&
                st.st_dev == pipe->st_dev;
    }
    if (dir)
        closedir(dir);
    return reads;
}

static bool is_shared(const struct stat *pipe)
{
    DIR *dir = opendir("/proc");
    bool found = !dir; /* who cannot tell leaves it alone */
    for (struct dirent *entry; dir && !found && (entry = readdir(dir));)
        found = isdigit((unsigned char)entry->d_name[0]) && atoi(entry->d_name) != getpid() &&
                process_reads(entry->d_name, pipe);
    if (dir)
        closedir(dir);
    return found;
}

/* A copy of what the pipe holds now, which stays there. */
static void pipe_copy(struct rest *rest)
{
    int copy[2], held = 0;
    struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
    if (pipe2(copy, O_CLOEXEC))
        return;
    fcntl(copy[1], F_SETPIPE_SZ, COPY_BYTES);
    size_t most = rest->room < COPY_BYTES ? (size_t)rest->room : COPY_BYTES;
    bool has_ended = poll(&ready, 1, 0) >= 0 && ready.revents & POLLHUP;
    ssize_t got = tee(STDIN_FILENO, copy[1], most, SPLICE_F_NONBLOCK);
    for (ssize_t left = got, part = 1; left > 0 && part > 0; left -= part)
        part = piece_take(rest, copy[0], -1);
    rest->is_all = has_ended && !ioctl(STDIN_FILENO, FIONREAD, &held) &&
                   (size_t)held == rest->bytes.size_bytes - sizeof(struct rrt_input_head);
    close(copy[0]);
    close(copy[1]);
}

static void pipe_drain(struct rest *rest)
{
    double end = wd_seconds() + DRAIN_SECONDS;
    struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
    ssize_t got = 1;
    while (rest->room && got > 0) {
        int found = poll(&ready, 1, IDLE_MS);
        rest->is_late = !found || wd_seconds() > end;
        if (found <= 0 || rest->is_late)
            return;
        got = piece_take(rest, STDIN_FILENO, -1);
    }
    rest->is_all =
        !got || (poll(&ready, 1, 0) > 0 && !(ready.revents & POLLIN) && ready.revents & POLLHUP);
}

/* False if it is nothing of which there is a rest. */
static bool rest_take(const struct rec_surroundings *surroundings, struct rest *rest, off_t at)
{
    struct stat st;
    bool is_shared_pipe;
    if (fstat(STDIN_FILENO, &st))
        return false;
    if (surroundings->input_is_file) {
        file_take(rest, at, st.st_size);
    } else if (S_ISFIFO(st.st_mode)) {
        is_shared_pipe = is_shared(&st);
        if (is_shared_pipe)
            pipe_copy(rest);
        else
            pipe_drain(rest);
    } else {
        rest->is_all = S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3); /* /dev/null */
        return rest->is_all;
    }
    return true;
}

static void cut_tell(const struct rest *rest, uint64_t most)
{
    if (rest->room && rest->is_late)
        fputs("wetdbg: whoever writes to standard input has not ended; what came later is not "
              "kept\n",
              stderr);
    else if (!rest->room)
        fprintf(stderr,
                "wetdbg: standard input held more than the %llu bytes that were kept of it "
                "(--keep-input=SIZE)\n",
                (unsigned long long)most);
}

int rec_input_write(const struct rec_surroundings *surroundings, const char *trace_dir,
                    uint64_t most, bool is_quiet)
{
    struct rest rest = {.room = most};
    off_t at = surroundings->input_is_file ? lseek(STDIN_FILENO, 0, SEEK_CUR) : 0;
    struct rrt_input_head head = {.version = RRT_INPUT_VERSION,
                                  .start = surroundings->input_start,
                                  .at = at > 0 ? (uint64_t)at : 0};
    memcpy(head.magic, RRT_INPUT_MAGIC, sizeof(head.magic));
    if (!most || at < 0)
        return 0;
    int err = wd_buf_append(&rest.bytes, &head, sizeof(head));
    if (!err && rest_take(surroundings, &rest, at)) {
        head.flags =
            (rest.is_all ? RRT_INPUT_ALL : 0) | (surroundings->input_is_file ? RRT_INPUT_FILE : 0);
        memcpy(rest.bytes.data, &head, sizeof(head));
        err = write_beside(trace_dir, RRT_INPUT_NAME, &rest.bytes);
        if (!rest.is_all && !is_quiet)
            cut_tell(&rest, most);
    }
    wd_buf_fini(&rest.bytes);
    return err;
}
