/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who wrote bytes of memory last, before a moment of the run. */
#ifndef SLICER_WRITERS_H
#define SLICER_WRITERS_H

#include "slicer/scan/code_summary.h"

/* Neighbouring bytes that one instruction or one call wrote. */
struct slc_writer {
    wetdbg_time time; /* of the instruction, or of the call; 0: nothing in the run wrote them */
    uint64_t pc;      /* 0: the kernel wrote them after the instruction at `time` */
    uint32_t task;
    uint64_t address, size_bytes;
};

/* Knows what nodes store. Embedded by its holder. */
struct slc_writer_finder {
    struct wetdbg *wet;
    struct slc_code code;
};
/* 0 or -ENOMEM; then to be ended, before the wet is closed. */
int slc_writer_finder_init(struct slc_writer_finder *finder, struct wetdbg *wet);
void slc_writer_finder_fini(struct slc_writer_finder *finder);

/*
 * Calls back for bytes [address, address + size_bytes), each in one call: with the last of what
 * wrote to it before the instruction at `time`. The kernel counts where it wrote bytes of its own,
 * but not where it mapped memory, cleared or moved it: then nothing wrote it. What perhaps wrote
 * (masked stores) counts. Intervals that wrote none of them are not run. A result that is not 0
 * ends it and is returned; errors are those of running an interval, and -ENOMEM.
 */
typedef int (*slc_writer_fn)(void *arg, const struct slc_writer *writer);
int slc_last_writers(struct slc_writer_finder *finder, wetdbg_time time, uint64_t address,
                     uint64_t size_bytes, slc_writer_fn fn, void *arg);

#endif
