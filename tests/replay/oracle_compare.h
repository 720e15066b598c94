/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine's account of a recording against the single-stepping oracle's. */
#ifndef TESTS_REPLAY_ORACLE_COMPARE_H
#define TESTS_REPLAY_ORACLE_COMPARE_H

#include "tests/replay/replay_unit.h"

struct compare_report {
    uint64_t instructions; /* of the whole run */
    uint64_t compared;     /* instructions whose address and operands were compared */
    uint64_t operands;
    uint64_t windows;
    uint64_t stops; /* exact stops at which registers and operand bytes were compared */
};

/*
 * Replays `dir` in all three modes, lets the oracle step windows of `window` instructions from
 * `windows` events spread over the run, and compares instruction addresses, addresses of memory
 * operands, instruction counts between events, and at `stops` times registers and the operands'
 * bytes. Fails the test at the first difference.
 */
void compare_with_oracle(const char *dir, const char *what, unsigned windows, uint64_t window,
                         unsigned stops, struct compare_report *report);

/* Prints one line for whoever reads the log. */
void compare_report_print(const char *what, const struct compare_report *report);

#endif
