/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A run drawn by lot, which stands in for wet, walks and events: each instruction has an address
 * and may write or read a byte; memory is LOT_BYTES bytes at LOT_MEMORY. How often an interval was
 * run again is counted.
 */
#ifndef TESTS_BREAKS_LOT_RUN_H
#define TESTS_BREAKS_LOT_RUN_H

#include <wetdbg/wet.h>

#define LOT_INSTRUCTIONS 600
#define LOT_INTERVAL     50
#define LOT_MEMORY       0x7000
#define LOT_BYTES        8
#define LOT_PCS          12

struct lot_instruction {
    uint64_t pc;
    int writes, reads; /* a byte of the memory, or -1 */
    uint8_t value;     /* that it writes */
    bool is_kernel;    /* it is a system call, and the kernel writes */
    unsigned thread;
};

struct lot_run {
    struct lot_instruction at[LOT_INSTRUCTIONS + 1]; /* from 1 */
    uint8_t memory[LOT_INSTRUCTIONS + 2][LOT_BYTES]; /* just before each instruction */
    unsigned intervals_run;
};

extern struct lot_run lot;

void lot_draw(unsigned seed);

/* The stand-in for a trace. */
struct wetdbg *lot_wet(void);

#endif
