/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares what one instruction does on the processor with what ins_decode says it does. */
#ifndef TESTS_INSN_ORACLE_CHECK_H
#define TESTS_INSN_ORACLE_CHECK_H

#include <stdio.h>

#include "oracle_cpu.h"
#include "oracle_forms.h"

enum oracle_verdict {
    ORACLE_RIGHT,
    ORACLE_WRONG,
    /* not run, and why */
    ORACLE_CONTROL_FLOW,
    ORACLE_KERNEL,   /* syscall, traps, privileged and far instructions */
    ORACLE_INPUT,    /* other results each time: cpuid, rdtsc, rdrand, rdpid */
    ORACLE_WAITS,    /* monitorx, mwaitx, umwait, tpause */
    ORACLE_NO_CPU,   /* this processor does not have it */
    ORACLE_FAULTS,   /* no state was found in which it completes */
    ORACLE_NO_STATE, /* its memory operands could not be pointed at the test's memory */
    ORACLE_VERDICTS,
};

const char *oracle_verdict_name(enum oracle_verdict verdict);

/* What was seen of the forms checked, over a run of the test. */
struct oracle_tally {
    uint64_t runs, faults;
    uint64_t uses_declared; /* register locations declared as uses, over all forms */
    uint64_t uses_seen;     /* ... of which a change ever changed an output */
};

struct oracle_options {
    unsigned trials; /* random states per form */
    uint64_t seed;
    bool list_unseen; /* print declared uses that never mattered on stderr */
    /* Not NULL: damages what ins_decode said, to see whether the oracle notices. */
    void (*spoil)(struct ins_info *info);
};

/*
 * Tries random states and, for each, changes one input location after another. Says what is wrong,
 * in one line or more, on `why`. Repeatable by the seed.
 */
enum oracle_verdict oracle_check(const struct oracle_form *form,
                                 const struct oracle_options *options, struct oracle_tally *tally,
                                 FILE *why);

#endif
