/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What recorder/record and the preload in rr say to each other: environment variables down,
 * lines on a pipe up. The preload removes all of them before rr copies its environment for the
 * recorded program.
 */
#ifndef RECORDER_TICKS_PROTOCOL_H
#define RECORDER_TICKS_PROTOCOL_H

/* TCK_MODE_SOFTWARE or TCK_MODE_HARDWARE. Without it the preload does nothing at all.
 * Hardware: only the environment, the map lines, the report and what jobs.h says. */
#define TCK_ENV_MODE      "WETDBG_TICKS_MODE"
#define TCK_MODE_SOFTWARE "software"
#define TCK_MODE_HARDWARE "hardware"
/* The user's own LD_PRELOAD, which is put back; unset if the user had none. */
#define TCK_ENV_PRELOAD "WETDBG_TICKS_LD_PRELOAD"
/* Set if lots are drawn about where time slices end, too (rr's chaos mode). */
#define TCK_ENV_CHAOS "WETDBG_TICKS_CHAOS"
/* Decimal descriptor of the report pipe; may be absent. */
#define TCK_ENV_REPORT "WETDBG_TICKS_REPORT"
#define TCK_ENV_PREFIX "WETDBG_TICKS_"

/* Lines of the report: a word, what follows it, and a zero byte, since paths may have line ends. */
#define TCK_REPORT_DIR      "dir "      /* + path: rr created this trace directory */
#define TCK_REPORT_BEGAN    "began "    /* + nanoseconds since 1970 by the clock of file stamps */
#define TCK_REPORT_STARTED  "started "  /* + process: the program's first exec succeeded */
#define TCK_REPORT_STOPPED  "stopped "  /* + signal: the program was stopped by it */
#define TCK_REPORT_GOT      "got "      /* + signal: rr itself was sent one of those below */
#define TCK_REPORT_ABORTED  "aborted"   /* rr gave up by itself */
#define TCK_REPORT_NO_ROOM  "no-room "  /* + errno: the recording cannot be written; rr ends */
#define TCK_REPORT_IMITATED "imitated"  /* not even software events were to be had */
#define TCK_REPORT_NO_TICKS "no-ticks " /* + reason: neither events nor their imitation */

/* Signals that mean the program when they are sent to wetdbg: those that end, stop or continue a
 * job, and those that programs give a meaning of their own. */
#define TCK_PASSED_SIGNALS                                                                         \
    {                                                                                              \
        SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU,    \
            SIGWINCH                                                                               \
    }

#endif
