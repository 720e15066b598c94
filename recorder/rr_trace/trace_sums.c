/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 *     wetdbg.sums 2 <64 hex digits of the digest> <size> <name, with %xx for what is no visible
 *     ASCII, and for '%'> ...
 *
 * Version 1 had no first line and "<16 hex digits of XXH64> <name>".
 */
#include "recorder/rr_trace/trace_sums.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "common/array.h"
#include "common/regular.h"
#include "recorder/rr_trace/input_format.h"
#include "recorder/rr_trace/trace_processor.h"
#include "recorder/rr_trace/trace_surroundings.h"
#include <wetdbg/errors.h>

#define HEAD           RRT_SUMS_NAME " 2\n"
#define LIST_MAX_BYTES ((size_t)16 << 20)
#define PIECE_BYTES    ((size_t)256 << 10)

const char *const rrt_sums_streams[] = {"version",
                                        "events",
                                        "tasks",
                                        "mmaps",
                                        "data",
                                        "wetdbg.digests",
                                        "wetdbg.lines",
                                        "wetdbg.ticks",
                                        RRT_PROCESSOR_NAME,
                                        RRT_SURROUNDINGS_NAME,
                                        RRT_INPUT_NAME};
const size_t rrt_sums_stream_count = sizeof(rrt_sums_streams) / sizeof(*rrt_sums_streams);
const size_t rrt_sums_streams_always = 5;

/* ---- names ---- */

static bool is_plain(unsigned char byte)
{
    return byte > ' ' && byte < 0x7f && byte != '%';
}

static int put_name(struct wd_buf *text, const char *name)
{
    int err = 0;
    for (const char *at = name; !err && *at; at++) {
        char escaped[4];
        snprintf(escaped, sizeof(escaped), "%%%02x", (unsigned)(unsigned char)*at);
        err = is_plain((unsigned char)*at) ? wd_buf_append(text, at, 1)
                                           : wd_buf_append(text, escaped, 3);
    }
    return err;
}

/* Undoes the escapes of a name in place; false if they are none. */
static bool unescape(char *name)
{
    char *to = name;
    for (const char *at = name; *at; to++) {
        unsigned byte;
        if (*at != '%') {
            if (!is_plain((unsigned char)*at))
                return false;
            *to = *at++;
        } else if (strspn(at + 1, "0123456789abcdef") >= 2 && sscanf(at + 1, "%2x", &byte) == 1 &&
                   byte) {
            *to = (char)byte;
            at += 3;
        } else {
            return false;
        }
    }
    *to = 0;
    return to != name;
}

/* ---- reading a list ---- */

static int fail_damaged(const struct rrt_sums *sums)
{
    return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s/" RRT_SUMS_NAME ": damaged", sums->dir);
}

static bool parse_row(struct rrt_sum *row, int version, const char *line, char *name)
{
    int used = 0;
    unsigned long long number = 0;
    if (version == 1) {
        if (strspn(line, "0123456789abcdef") != 16 ||
            sscanf(line, "%16llx %n", &number, &used) != 1 || used != 17)
            return false;
        row->xxh64 = number;
    } else {
        if (wd_digest_parse(line, &row->digest) || line[2 * WD_DIGEST_BYTES] != ' ' ||
            strspn(line + 2 * WD_DIGEST_BYTES + 1, "0123456789") > 19 ||
            sscanf(line + 2 * WD_DIGEST_BYTES + 1, "%llu %n", &number, &used) != 1 || used < 2)
            return false;
        used += 2 * WD_DIGEST_BYTES + 1;
        row->size_bytes = number;
    }
    strcpy(name, line + used);
    return unescape(name);
}

static int add_row(struct rrt_sums *sums, char *line)
{
    struct rrt_sum row = {0};
    char *name = malloc(strlen(line) + 1);
    if (!name)
        return -ENOMEM;
    if (!parse_row(&row, sums->version, line, name)) {
        free(name);
        return fail_damaged(sums);
    }
    if (wd_grow_one(sums->rows, sums->count)) {
        free(name);
        return -ENOMEM;
    }
    row.name = name;
    sums->rows[sums->count++] = row;
    return 0;
}

/* `text` ends with a NUL after `size` bytes. */
static int parse(struct rrt_sums *sums, char *text, size_t size)
{
    size_t head = strlen(HEAD);
    char *at = text;
    int err = strlen(text) == size ? 0 : fail_damaged(sums);
    sums->version = size >= head && memcmp(text, HEAD, head) == 0 ? 2 : 1;
    if (sums->version == 2)
        at += head;
    while (!err && *at) {
        char *end = strchr(at, '\n');
        if (!end)
            return fail_damaged(sums);
        *end = 0;
        err = add_row(sums, at);
        at = end + 1;
    }
    for (size_t i = 0; !err && i < rrt_sums_streams_always; i++) {
        if (!rrt_sums_find(sums, rrt_sums_streams[i]))
            err = fail_damaged(sums);
    }
    return err;
}

static int read_text(int fd, const struct rrt_sums *sums, size_t size, char **text)
{
    *text = malloc(size + 1);
    if (!*text)
        return -ENOMEM;
    ssize_t got = pread(fd, *text, size, 0);
    if (got < 0)
        return wetdbg_fail_errno("%s/" RRT_SUMS_NAME, sums->dir);
    if ((size_t)got != size)
        return fail_damaged(sums);
    (*text)[size] = 0;
    return 0;
}

static int read_list(struct rrt_sums *sums, int fd, const struct stat *st)
{
    char *text = NULL;
    int err = st->st_size <= (off_t)LIST_MAX_BYTES ? 0 : fail_damaged(sums);
    if (!err)
        err = read_text(fd, sums, (size_t)st->st_size, &text);
    if (!err)
        err = parse(sums, text, (size_t)st->st_size);
    free(text);
    return err;
}

int rrt_sums_open(int dir_fd, const char *dir, struct rrt_sums **out)
{
    struct stat st;
    int fd = -1;
    *out = NULL;
    int err = wd_regular_open(dir_fd, RRT_SUMS_NAME, WD_LINKS_REFUSE, &fd, &st);
    if (err == -ENOENT)
        return 0;
    if (err)
        return err;
    struct rrt_sums *sums = calloc(1, sizeof(*sums));
    if (sums)
        sums->dir = strdup(dir);
    err = sums && sums->dir ? read_list(sums, fd, &st) : -ENOMEM;
    close(fd);
    if (err)
        rrt_sums_free(sums);
    else
        *out = sums;
    return err;
}

void rrt_sums_free(struct rrt_sums *sums)
{
    if (!sums)
        return;
    for (size_t i = 0; i < sums->count; i++)
        free(sums->rows[i].name);
    free(sums->rows);
    free(sums->dir);
    free(sums);
}

const struct rrt_sum *rrt_sums_find(const struct rrt_sums *sums, const char *name)
{
    for (size_t i = 0; i < sums->count; i++) {
        if (strcmp(sums->rows[i].name, name) == 0)
            return &sums->rows[i];
    }
    return NULL;
}

/* ---- checking ---- */

static int xxh64_of(int fd, uint64_t *sum)
{
    XXH64_state_t *state = XXH64_createState();
    char *piece = malloc(PIECE_BYTES);
    int err = state && piece ? 0 : -ENOMEM;
    ssize_t got;
    if (!err)
        XXH64_reset(state, 0);
    for (off_t off = 0; !err; off += got) {
        got = pread(fd, piece, PIECE_BYTES, off);
        if (got < 0)
            err = -errno;
        if (got <= 0)
            break;
        XXH64_update(state, piece, (size_t)got);
    }
    if (!err)
        *sum = XXH64_digest(state);
    free(piece);
    XXH64_freeState(state);
    return err;
}

int rrt_sum_check(const struct rrt_sums *sums, const struct rrt_sum *row, int fd)
{
    struct wd_digest now;
    struct stat st;
    uint64_t sum = 0;
    bool same = false;
    int err = fstat(fd, &st) ? -errno : 0;
    if (!err && sums->version == 1) {
        err = xxh64_of(fd, &sum);
        same = sum == row->xxh64;
    } else if (!err && (uint64_t)st.st_size == row->size_bytes) {
        err = wd_digest_file(fd, row->size_bytes, &now);
        same = !err && wd_digest_equal(&now, &row->digest);
    }
    const char *slash = row->name[0] == '/' ? "" : "/", *dir = *slash ? sums->dir : "";
    if (err)
        return wetdbg_fail(err, "%s%s%s: %s", dir, slash, row->name, strerror(-err));
    return same ? 0
                : wetdbg_fail(-WETDBG_ERR_CORRUPT,
                              "%s%s%s is not as it was recorded: its checksum differs", dir, slash,
                              row->name);
}

static int check_stream(const struct rrt_sums *sums, int dir_fd, const char *name)
{
    const struct rrt_sum *row = rrt_sums_find(sums, name);
    int fd = -1;
    if (!row && (sums->version == 1 || faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW)))
        return 0;
    if (!row)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s/%s was added after the recording was made",
                           sums->dir, name);
    int err = wd_regular_open(dir_fd, name, WD_LINKS_REFUSE, &fd, NULL);
    if (err == -ENOENT)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT,
                           "%s/%s is missing: it was there when the recording ended", sums->dir,
                           name);
    if (!err)
        err = rrt_sum_check(sums, row, fd);
    if (fd >= 0)
        close(fd);
    return err;
}

int rrt_sums_check_streams(const struct rrt_sums *sums, int dir_fd, const char *except)
{
    int err = 0;
    for (size_t i = 0; !err && i < rrt_sums_stream_count; i++)
        if (!except || strcmp(except, rrt_sums_streams[i]) != 0)
            err = check_stream(sums, dir_fd, rrt_sums_streams[i]);
    return err;
}

/* ---- writing ---- */

int rrt_sums_put_head(struct wd_buf *text)
{
    return wd_buf_append(text, HEAD, strlen(HEAD));
}

int rrt_sums_put(struct wd_buf *text, const char *name, int fd)
{
    char start[WD_DIGEST_TEXT_BYTES + 32];
    struct wd_digest digest;
    struct stat st;
    int err = fstat(fd, &st) ? -errno : wd_digest_file(fd, (uint64_t)st.st_size, &digest);
    if (err)
        return wetdbg_fail(err, "%s: %s", name, strerror(-err));
    wd_digest_format(&digest, start);
    snprintf(start + 2 * WD_DIGEST_BYTES, sizeof(start) - 2 * WD_DIGEST_BYTES, " %llu ",
             (unsigned long long)st.st_size);
    err = wd_buf_append(text, start, strlen(start));
    if (!err)
        err = put_name(text, name);
    return err ? err : wd_buf_append(text, "\n", 1);
}
