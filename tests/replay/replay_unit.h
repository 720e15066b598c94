/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the suites of this folder share: recordings, and engines that replay them. */
#ifndef TESTS_REPLAY_REPLAY_UNIT_H
#define TESTS_REPLAY_REPLAY_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* clang-format off: cmocka.h wants the headers above first */
#include <cmocka.h>
/* clang-format on */

#include "recorder/feed/feed.h"
#include "recorder/replay/engine.h"

/* The suite's folder for recordings: made and removed by its group's set-up and teardown. */
extern char *unit_work;
int unit_work_new(void **state);
int unit_work_remove(void **state);

/* Records argv under `work` as `name`, whatever becomes of the program; its trace directory, to be
 * freed. Its standard streams are /dev/null. Fails the test if there is no recording. */
char *unit_record(const char *work, const char *name, const char *const argv[]);

/* When an entry was taken. */
struct unit_event {
    uint64_t frame;
    uint64_t time;
    uint64_t kind; /* no padding: arrays of these are compared as bytes */
};

/* A recording under replay. */
struct unit_replay {
    struct wetdbg_recording *trace;
    struct rep_feed *feed;
    struct rep_engine *engine;
    struct rep_source source; /* gives the feed's entries and notes them in `events` */
    struct wd_buf events;     /* struct unit_event */
    /* Called for each entry that is taken, if set. */
    void (*entry_fn)(void *arg, const struct evq_entry *entry);
    void *entry_arg;
};

/* 0 or what refused it (unit_close is due in either case). `process` may be NULL. */
int unit_open(struct unit_replay *replay, const char *dir, const char *process, enum dbi_mode mode);
void unit_close(struct unit_replay *replay);

/* unit_open() of a recording whose header is altered before anybody looks at it. */
int unit_open_altered(struct unit_replay *replay, const char *dir,
                      void (*alter)(struct rrt_header *header), enum dbi_mode mode);

/* Runs to the end of the recording. */
int unit_run_to_end(struct unit_replay *replay);

/* Fails the test with the last error's sentence. */
void unit_check(int err, const char *what);

#endif
