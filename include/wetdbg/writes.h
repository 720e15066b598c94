/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who wrote to some bytes of memory, or read them: instructions and the kernel, interval by
 * interval. */
#ifndef WETDBG_WRITES_H
#define WETDBG_WRITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wetdbg/api.h>
#include <wetdbg/model.h>
#include <wetdbg/wet.h>

WETDBG_BEGIN

struct wetdbg_write {
    wetdbg_time time; /* of the instruction; for the kernel, of the one that it came after */
    uint64_t pc;      /* 0: the kernel */
    int64_t syscall;  /* number of the call that the kernel did it for; -1: none */
    uint32_t task;
    bool is_return; /* no write: a return that popped its address from there */
    bool is_maybe; /* some of these bytes, perhaps none (scatters and variable sizes; the kernel) */
    bool is_handler; /* the kernel called a signal handler and left rsp at the range's start */
};

/* Knows of each node what it stores. */
struct wetdbg_write_finder;

/* 0 or -ENOMEM. *out is for wetdbg_write_finder_close(), before the wet is closed. */
int wetdbg_write_finder_open(struct wetdbg *wet, struct wetdbg_write_finder **out);
/* One for reads: wetdbg_writes_each() then calls back for the instructions that read, in the same
 * way. What the kernel reads is not known; and that an interval reads nothing there is known only
 * when it has been run. */
int wetdbg_read_finder_open(struct wetdbg *wet, struct wetdbg_write_finder **out);
void wetdbg_write_finder_close(struct wetdbg_write_finder *finder); /* NULL is fine */

/*
 * Calls back for the writes that touch `range` in interval k with times in [from, to], in order of
 * time, once for each time at most; also for the returns that read it if `with_returns`. Runs the
 * interval; that none of it was written there can often be told without
 * (wetdbg_interval_may_write). A result that is not 0 ends it and is returned; errors are those of
 * running an interval.
 */
typedef int (*wetdbg_write_fn)(void *arg, const struct wetdbg_write *write);
int wetdbg_writes_each(struct wetdbg_write_finder *finder, uint64_t k,
                       const struct wetdbg_range *range, wetdbg_time from, wetdbg_time to,
                       bool with_returns, wetdbg_write_fn fn, void *arg);

/* Whether a return instruction in [start, end) ran in interval k. Runs nothing. */
bool wetdbg_may_return_in(struct wetdbg *wet, uint64_t start, uint64_t end, uint64_t k);

WETDBG_END

#endif
