/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/record/failure.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include "recorder/record/trace_place.h"
#include <wetdbg/errors.h>

/* What stood in the way of a write to `path`. */
static void say_limit(char *text, size_t bytes, int err, const char *path)
{
    struct statvfs room = {0};
    struct rlimit limit = {0};

    if (err == EFBIG && getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        snprintf(text, bytes, "files may not be larger than %llu kB here (ulimit -f)",
                 (unsigned long long)limit.rlim_cur / 1024);
    else if (err == ENOSPC && statvfs(path, &room) == 0)
        snprintf(text, bytes, "the disk is full (%llu of %llu kB are free)",
                 (unsigned long long)room.f_bavail * room.f_frsize / 1024,
                 (unsigned long long)room.f_blocks * room.f_frsize / 1024);
    else
        snprintf(text, bytes, "%s", strerror(err));
}

/* rr calls the directory of a recording that it gave up on a finished one. */
static void mark_unfinished(const char *trace_dir)
{
    char from[PATH_MAX], to[PATH_MAX];

    if (snprintf(from, sizeof(from), "%s/version", trace_dir) < (int)sizeof(from) &&
        snprintf(to, sizeof(to), "%s/incomplete", trace_dir) < (int)sizeof(to))
        (void)rename(from, to);
}

int rec_failure_no_start(const struct rec_report *report, const char *program,
                         const char *trace_dir)
{
    char limit[128];

    if (report->write_error)
        say_limit(limit, sizeof(limit), report->write_error, trace_dir ? trace_dir : "/");
    if (trace_dir)
        rec_place_discard(trace_dir);
    if (report->write_error)
        return wetdbg_fail(-WETDBG_ERR_MACHINE, "%s was not started: in %s %s", program,
                           trace_dir ? trace_dir : "rr's place", limit);
    if (report->no_ticks)
        return wetdbg_fail(-WETDBG_ERR_MACHINE,
                           "no counter can be had here, nor one be imitated: %s", report->no_ticks);
    return wetdbg_fail(-WETDBG_ERR_MACHINE, "rr could not start %s; what it said is above",
                       program);
}

int rec_failure_no_end(const struct rec_report *report, int status, const char *trace_dir)
{
    char limit[128];

    mark_unfinished(trace_dir);
    if (report->write_error) {
        say_limit(limit, sizeof(limit), report->write_error, trace_dir);
        return wetdbg_fail(-WETDBG_ERR_MACHINE,
                           "the recording was given up, and the program with it: in %s %s; "
                           "the %llu kB that were written may be removed; they replay as far as "
                           "they go, if the program's start is among them",
                           trace_dir, limit, (unsigned long long)rec_place_bytes(trace_dir) / 1024);
    }
    if (WIFSIGNALED(status) && !report->is_aborted)
        return wetdbg_fail(-WETDBG_ERR_MACHINE,
                           "rr was ended by signal %d (%s) before the recording was complete; "
                           "what there is of it is in %s, and replays as far as it goes",
                           WTERMSIG(status), strsignal(WTERMSIG(status)), trace_dir);
    return wetdbg_fail(-WETDBG_ERR_MACHINE,
                       "rr gave up before the recording was complete (what it said is above); "
                       "what there is of it is in %s, and replays as far as it goes",
                       trace_dir);
}
