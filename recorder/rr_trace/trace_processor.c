/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 *     wetdbg.processor 1
 *     bound 3
 *     rdpid 4099
 *     lsl 4099
 *
 * Either of the last two lines is missing where the processor has no answer.
 */
#include "recorder/rr_trace/trace_processor.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/regular.h"

#define HEAD           RRT_PROCESSOR_NAME " 1\n"
#define FILE_MAX_BYTES 256

static int put_line(struct wd_buf *text, const char *what, uint64_t value)
{
    char line[64];
    int length = snprintf(line, sizeof(line), "%s %llu\n", what, (unsigned long long)value);
    return value == RRT_PROCESSOR_UNKNOWN ? 0 : wd_buf_append(text, line, (size_t)length);
}

int rrt_processor_put(struct wd_buf *text, int bound, const struct rrt_processor *processor)
{
    int err = wd_buf_append(text, HEAD, strlen(HEAD));
    if (!err)
        err = put_line(text, "bound", (uint64_t)bound);
    if (!err)
        err = put_line(text, "rdpid", processor->rdpid);
    if (!err)
        err = put_line(text, "lsl", processor->lsl);
    return err;
}

/* The number of the line "what number" at *at, which is moved behind it; unknown if that is another
 * line, or the number none of 32 bits. */
static uint64_t take_line(const char **at, const char *what)
{
    size_t length = strlen(what);
    char *end;
    if (strncmp(*at, what, length) != 0 || (*at)[length] != ' ' ||
        !isdigit((unsigned char)(*at)[length + 1]))
        return RRT_PROCESSOR_UNKNOWN;
    unsigned long long value = strtoull(*at + length + 1, &end, 10);
    if (*end != '\n' || value > UINT32_MAX)
        return RRT_PROCESSOR_UNKNOWN;
    *at = end + 1;
    return value;
}

static void text_read(const char *text, int bound, struct rrt_processor *out)
{
    struct rrt_processor found;
    const char *at = text + strlen(HEAD);
    if (strncmp(text, HEAD, strlen(HEAD)) != 0 || take_line(&at, "bound") != (uint64_t)bound)
        return;
    found.rdpid = take_line(&at, "rdpid");
    found.lsl = take_line(&at, "lsl");
    if (!*at)
        *out = found;
}

void rrt_processor_read(int dir_fd, int bound, struct rrt_processor *out)
{
    char text[FILE_MAX_BYTES] = "";
    struct stat st;
    int fd = -1;
    *out = (struct rrt_processor){RRT_PROCESSOR_UNKNOWN, RRT_PROCESSOR_UNKNOWN};
    if (dir_fd < 0 || bound < 0 ||
        wd_regular_try(dir_fd, RRT_PROCESSOR_NAME, WD_LINKS_REFUSE, &fd, &st))
        return;
    ssize_t got = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (got > 0 && strlen(text) == (size_t)got)
        text_read(text, bound, out);
}
