/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 *     wetdbg.surroundings 1
 *     began 1763921234123456789
 *     cwd /home/user
 *
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
#define CWD            "\ncwd "
#define FILE_MAX_BYTES (PATH_MAX + 128)

int rrt_surroundings_put(struct wd_buf *text, const struct rrt_surroundings *surroundings)
{
    char head[96];
    const char *cwd = surroundings->cwd ? surroundings->cwd : "";
    int length = snprintf(head, sizeof(head), HEAD "%lld" CWD, (long long)surroundings->began_ns);
    int err = wd_buf_append(text, head, (size_t)length);
    if (!err)
        err = wd_buf_append(text, cwd, strlen(cwd));
    return err ? err : wd_buf_append(text, "\n", 1);
}

/* `text` is one string, which ends with the file. */
static void text_read(char *text, size_t length, struct rrt_surroundings *out)
{
    char *end, *at = text + strlen(HEAD);
    if (strncmp(text, HEAD, strlen(HEAD)) || !isdigit((unsigned char)*at))
        return;
    long long began = strtoll(at, &end, 10);
    if (strncmp(end, CWD, strlen(CWD)) || text[length - 1] != '\n')
        return;
    text[length - 1] = 0;
    char *cwd = end + strlen(CWD);
    out->began_ns = began;
    out->cwd = *cwd == '/' ? strdup(cwd) : NULL;
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
