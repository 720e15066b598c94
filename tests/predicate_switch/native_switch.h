/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An oracle for switched runs that shares nothing with replay: the real program runs under ptrace
 * on the real kernel, breakpoints count executions, and at the chosen one the instruction pointer
 * (or, for cmov and setcc, the flags for one step) is set. It has limits and a directory of its
 * own, but no sandbox: for programs of our own only.
 */
#ifndef TESTS_SWITCH_NATIVE_SWITCH_H
#define TESTS_SWITCH_NATIVE_SWITCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wetdbg/candidates.h>

struct native_program {
    const char *path;        /* of the executable */
    const char *const *argv; /* ends with NULL */
    const char *input;       /* a file as standard input, or NULL */
    double seconds;          /* limit of a run */
    uint64_t memory_bytes;
    uint64_t output_bytes;
};

/* Addresses are relative to the executable: those of its symbol table. */
struct native_switch {
    uint64_t pc;
    uint64_t to; /* of cmov, setcc: 1 or 0 */
    uint64_t instance;
    enum wetdbg_extent extent;
};

struct native_run {
    int status;        /* as wait(2) has it */
    const char *limit; /* that ended it, or NULL: "time", "output", "processes" */
    unsigned reached;  /* of the switches, how many took place */
    uint8_t *output;   /* all of its standard output, to be freed */
    size_t output_size;
};

/* 0, or -1 with a message on stderr. */
int native_switch_run(const struct native_program *program, const struct native_switch *switches,
                      unsigned count, struct native_run *run);

#endif
