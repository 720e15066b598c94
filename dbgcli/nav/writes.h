/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who wrote to some bytes of memory: instructions and the kernel, interval by interval. */
#ifndef DBGCLI_NAV_WRITES_H
#define DBGCLI_NAV_WRITES_H

#include <stdbool.h>
#include <stddef.h>

#include "wet/intervals.h"

struct cli_range {
    uint64_t start, end;
};

struct cli_write {
    wetdbg_time time; /* of the instruction; for the kernel, of the one that it came after */
    uint64_t pc;      /* 0: the kernel */
    int64_t syscall;  /* number of the call that the kernel did it for; -1: none */
    uint32_t task;
    bool is_return;  /* no write: a return that popped its address from there */
    bool is_maybe;   /* some of these bytes, perhaps none (masked and variable sizes; the kernel) */
    bool is_handler; /* the kernel called a signal handler and left rsp at the range's start */
};

/* Grows as needed; all zero to begin with. */
struct cli_write_list {
    struct cli_write *items;
    size_t count, capacity;
};
void cli_write_list_fini(struct cli_write_list *list);

/* Knows of each node what it stores. */
struct cli_write_finder;
struct cli_write_finder *cli_write_finder_new(struct wetdbg *wet);
void cli_write_finder_free(struct cli_write_finder *finder);

/*
 * Adds the writes that touch `range` in interval k with times in [from, to], in order of time, one for
 * each time at most; also the returns that read it if `with_returns`. Runs the interval. Errors of
 * wet_interval_get().
 */
int cli_writes_find(struct cli_write_finder *finder, uint64_t k, const struct cli_range *range,
                    wetdbg_time from, wetdbg_time to, bool with_returns,
                    struct cli_write_list *list);

#endif
