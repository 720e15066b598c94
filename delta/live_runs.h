/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs of the program that do not start it: a recorded run of the failing input goes on with other
 * bytes, in processes of ours, which cannot touch the machine. How that is done, who gives a struct
 * dlt_live_engine knows (library/dd_live.c); here are the processes: one that records and then
 * answers in slot 0, and one forked from it for each further slot. All of them end with this
 * process, however that ends.
 */
#ifndef DELTA_LIVE_RUNS_H
#define DELTA_LIVE_RUNS_H

#include <stdbool.h>

#include "delta/delta_report.h"
#include "delta/plan.h"

/* What a live run came to. */
struct dlt_live_answer {
    bool is_resolved; /* the report is what a real run's would be, as far as the engine knows */
    struct dlt_report report;
    char reason[256]; /* why it is not resolved */
};

struct dlt_live_engine {
    /* Records the program on the failing input, and makes all ready. *session lives until the
     * process ends. An error with a sentence. */
    int (*prepare)(const struct dlt_plan *plan, const struct wetdbg_dd_bytes *fail, void **session);
    /* In a process that was forked since: makes the session its own. Errors likewise. */
    int (*adopt)(void *session);
    /* 0, also for runs that are not resolved; after an error nothing is asked any more. */
    int (*run)(void *session, const struct wetdbg_dd_bytes *candidate,
               struct dlt_live_answer *answer);
};

struct dlt_live;

/* Begins to prepare, in another process; `plan` and `fail` are borrowed for the call. Errnos. */
int dlt_live_open(const struct dlt_live_engine *engine, const struct dlt_plan *plan,
                  const struct wetdbg_dd_bytes *fail, unsigned jobs, struct dlt_live **out);
void dlt_live_close(struct dlt_live *live); /* NULL is fine; its processes are gone then */

/* What to poll for something to take from a slot; -1: nothing will come. */
int dlt_live_fd(const struct dlt_live *live, unsigned slot);

/* Whether the slot is ready for a question; whether it has never been so, and may still become
 * so. */
bool dlt_live_is_free(const struct dlt_live *live, unsigned slot);
bool dlt_live_is_coming(const struct dlt_live *live, unsigned slot);

/* Whether no slot will ever answer (any more). */
bool dlt_live_is_over(const struct dlt_live *live);

/* Asks; the slot is free. -WETDBG_ERR_MACHINE without a message if its process has ended. */
int dlt_live_ask(struct dlt_live *live, unsigned slot, const struct wetdbg_dd_bytes *candidate);

/* Takes what has come: 1 if it is the answer to the slot's question; 0 if it is something else, or
 * nothing. A process that has ended answers as one whose run is not resolved. */
int dlt_live_take(struct dlt_live *live, unsigned slot, struct dlt_live_answer *answer);

/* The slot's question needs no answer; it is free when that has come and was taken. */
void dlt_live_cancel(struct dlt_live *live, unsigned slot);

/* Why there are no live runs, or "". */
const char *dlt_live_reason(const struct dlt_live *live);

#endif
