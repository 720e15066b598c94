/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 *     wetdbg.surroundings 1
 *     began 1763921234123456789
 *     ended 1763921239123456789
 *     fd 1 32769 -1 12 3 8592 1 0 5 34816 0 1024 0 1763921230123456789 ...
 *     cwd /home/user
 *
 * `ended` is missing in older files. A line for each descriptor from 0 to 2 that is known, with
 * enum rrt_inherited_field's numbers.
 * The directory is the last line, so that its name may have any bytes.
 */
#include "recorder/rr_trace/trace_surroundings.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/regular.h"

#define HEAD           RRT_SURROUNDINGS_NAME " 1\nbegan "
#define ENDED          "\nended "
#define FD             "\nfd "
#define CWD            "\ncwd "
#define STREAM_BYTES   (21 * RRT_INHERITED_FIELDS + 16)
#define FILE_MAX_BYTES (PATH_MAX + 128 + RRT_INHERITED * STREAM_BYTES)

static int stream_put(struct wd_buf *text, int fd, const struct rrt_inherited *stream)
{
    char line[STREAM_BYTES];
    int length = snprintf(line, sizeof(line), FD "%d", fd);
    for (int i = 0; i < RRT_INHERITED_FIELDS; i++)
        length += snprintf(line + length, sizeof(line) - (size_t)length, " %lld",
                           (long long)stream->fields[i]);
    return wd_buf_append(text, line, (size_t)length);
}

int rrt_surroundings_put(struct wd_buf *text, const struct rrt_surroundings *surroundings)
{
    char head[96];
    const char *cwd = surroundings->cwd ? surroundings->cwd : "";
    int length = snprintf(head, sizeof(head), HEAD "%lld", (long long)surroundings->began_ns);
    if (surroundings->ended_ns > 0)
        length += snprintf(head + length, sizeof(head) - (size_t)length, ENDED "%lld",
                           (long long)surroundings->ended_ns);
    int err = wd_buf_append(text, head, (size_t)length);
    for (int fd = 0; fd < RRT_INHERITED && !err; fd++)
        if (surroundings->streams[fd].is_known)
            err = stream_put(text, fd, &surroundings->streams[fd]);
    if (!err)
        err = wd_buf_append(text, CWD, strlen(CWD));
    if (!err)
        err = wd_buf_append(text, cwd, strlen(cwd));
    return err ? err : wd_buf_append(text, "\n", 1);
}

/* Reads a line behind its FD: where it ends, or NULL. */
static char *stream_read(char *at, struct rrt_surroundings *out)
{
    char *end;
    unsigned fd = (unsigned)(*at - '0');
    if (fd >= RRT_INHERITED || out->streams[fd].is_known)
        return NULL;
    at++;
    for (int i = 0; i < RRT_INHERITED_FIELDS; i++, at = end) {
        if (at[0] != ' ' || (at[1] != '-' && !isdigit((unsigned char)at[1])))
            return NULL;
        out->streams[fd].fields[i] = strtoll(at, &end, 10);
    }
    out->streams[fd].is_known = true;
    return at;
}

/* `text` is one string, which ends with the file. */
static void text_read(char *text, size_t length, struct rrt_surroundings *out)
{
    struct rrt_surroundings found = {0};
    char *at = text + strlen(HEAD);
    if (strncmp(text, HEAD, strlen(HEAD)) || !isdigit((unsigned char)*at))
        return;
    found.began_ns = strtoll(at, &at, 10);
    if (strncmp(at, ENDED, strlen(ENDED)) == 0 && isdigit((unsigned char)at[strlen(ENDED)]))
        found.ended_ns = strtoll(at + strlen(ENDED), &at, 10);
    while (at && strncmp(at, FD, strlen(FD)) == 0)
        at = stream_read(at + strlen(FD), &found);
    if (!at || strncmp(at, CWD, strlen(CWD)) || text[length - 1] != '\n')
        return;
    text[length - 1] = 0;
    char *cwd = at + strlen(CWD);
    found.cwd = *cwd == '/' ? strdup(cwd) : NULL;
    *out = found;
}

void rrt_surroundings_read(int dir_fd, struct rrt_surroundings *out)
{
    char text[FILE_MAX_BYTES + 1] = "";
    struct stat st;
    int fd = -1;
    *out = (struct rrt_surroundings){0};
    if (dir_fd < 0 || wd_regular_try(dir_fd, RRT_SURROUNDINGS_NAME, WD_LINKS_REFUSE, &fd, &st))
        return;
    ssize_t got = read(fd, text, FILE_MAX_BYTES);
    close(fd);
    if (got > 0 && strlen(text) == (size_t)got)
        text_read(text, (size_t)got, out);
}
