/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/record/rr_report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/ticks/protocol.h"
#include <wetdbg/errors.h>

/* Moves a descriptor out of the place of a standard one that is closed: the program must find that
 * closed. */
static int move_up(int *fd)
{
    int moved = fcntl(*fd, F_DUPFD_CLOEXEC, 3);

    if (moved < 0)
        return wetdbg_fail_errno("pipe");
    close(*fd);
    *fd = moved;
    return 0;
}

int rec_report_open(struct rec_report *report, int *write_fd)
{
    int ends[2], err;

    *report = (struct rec_report){.fd = -1};
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return wetdbg_fail_errno("pipe");
    err = move_up(&ends[0]);
    if (!err)
        err = move_up(&ends[1]);
    report->fd = ends[0];
    *write_fd = ends[1];
    return err;
}

/* What follows `word` on the line; NULL if the line is another one. */
static const char *after(const char *line, const char *word)
{
    size_t length = strlen(word);

    return strncmp(line, word, length) == 0 ? line + length : NULL;
}

static void keep(char **kept, const char *text)
{
    if (!*kept)
        *kept = strdup(text);
}

static void take_line(struct rec_report *report, const char *line)
{
    const char *rest;
    int signo;

    if ((rest = after(line, TCK_REPORT_DIR)) != NULL)
        keep(&report->dir, rest);
    else if ((rest = after(line, TCK_REPORT_NO_TICKS)) != NULL)
        keep(&report->no_ticks, rest);
    else if ((rest = after(line, TCK_REPORT_BEGAN)) != NULL)
        report->began_ns = strtoll(rest, NULL, 10);
    else if ((rest = after(line, TCK_REPORT_STARTED)) != NULL)
        report->program = (pid_t)atoi(rest);
    else if ((rest = after(line, TCK_REPORT_STOPPED)) != NULL)
        report->stop_signal = atoi(rest);
    else if ((rest = after(line, TCK_REPORT_NO_ROOM)) != NULL)
        report->write_error = atoi(rest);
    else if (after(line, TCK_REPORT_ABORTED))
        report->is_aborted = true;
    else if ((rest = after(line, TCK_REPORT_GOT)) != NULL) {
        signo = atoi(rest);
        if (signo > 0 && signo <= 64)
            report->rr_signals |= UINT64_C(1) << (signo - 1);
    }
}

static void take_lines(struct rec_report *report)
{
    char *line = report->text, *end;

    while ((end = memchr(line, 0, report->length)) != NULL) {
        take_line(report, line);
        report->length -= (size_t)(end + 1 - line);
        line = end + 1;
    }
    memmove(report->text, line, report->length);
}

void rec_report_read(struct rec_report *report)
{
    ssize_t got = 0;

    while (report->fd >= 0) {
        size_t room = sizeof(report->text) - report->length;

        got = room ? read(report->fd, report->text + report->length, room) : 0;
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (got <= 0) { /* rr is gone, or what it says is no line */
            close(report->fd);
            report->fd = -1;
            return;
        }
        report->length += (size_t)got;
        take_lines(report);
    }
}

void rec_report_fini(struct rec_report *report)
{
    if (report->fd >= 0)
        close(report->fd);
    report->fd = -1;
    free(report->dir);
    free(report->no_ticks);
    report->dir = report->no_ticks = NULL;
}
