/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a process is that is about to die of a signal, as people would say it. */
#ifndef DELTA_CRASH_PLACE_H
#define DELTA_CRASH_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <wetdbg/model.h>

struct dlt_crash_place {
    char function[240]; /* "" if it cannot be told */
    char module[120];   /* the last part of its file's name */
};

/*
 * The innermost function of `tid`, a thread that stopped for us as its tracer, that is neither the
 * C library's nor made for aborting; the same for each run of the same program, wherever it was
 * loaded. Of a handler that raises the signal again it is the function that was interrupted; of a
 * stack that is full, a function of the recursion; of a call to nowhere, the caller. Where nothing
 * can be told, `function` is empty.
 */
void dlt_crash_place_find(pid_t tid, struct dlt_crash_place *place);

/* Whether the signal, if it ends a process, makes it dump core. */
bool dlt_dumps_core(int number);

/* A crash of a program that others let run, whose modules are in `model`. `read` is 0 if all
 * `count` bytes could be read. */
struct dlt_crash {
    struct wetdbg_model *model;
    struct wetdbg_frame_regs regs;
    int (*read)(void *arg, uint64_t address, void *bytes, size_t count);
    void *arg;
    bool is_fault; /* SIGSEGV of an access to `address` */
    uint64_t address;
};
void dlt_crash_place_tell(const struct dlt_crash *crash, struct dlt_crash_place *place);

#endif
