/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Mutants: the failing run once more, with one instruction of the program another one in all of its
 * executions. A mutant whose run is right shows what the program should have said, or where: of a
 * fault that is a small mistake (another comparison, constant, operator or variable, a statement
 * too much) one mutant is the mended program.
 *
 * M. Papadakis, Y. Le Traon, Metallaxis-FL: mutation-based fault localization, Software Testing,
 * Verification and Reliability 25, 2015, section 3; S. Moon, Y. Kim, M. Kim, S. Yoo, Ask the
 * Mutants, ICST 2014, section III. There the source is changed and compiled for each mutant; here
 * it is the machine code of a run that goes on live (<wetdbg/switch.h>) from the first execution of
 * the instruction on. The operators are those that A. J. Offutt et al. found sufficient (An
 * Experimental Determination of Sufficient Mutant Operators, TOSEM 5(2), 1996: relational,
 * arithmetic and logical operators, constants), with variables, members and left out statements.
 *
 * Functions return 0 or a negative code (<wetdbg/errors.h>).
 */
#ifndef WETDBG_MUTATE_H
#define WETDBG_MUTATE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wetdbg/api.h>
#include <wetdbg/switch.h>
#include <wetdbg/switch_search.h>
#include <wetdbg/wet.h>

WETDBG_BEGIN

enum wetdbg_mutation {
    WETDBG_MUTATION_COMPARISON, /* a condition is another one: codes `was` and `is`, as encoded */
    WETDBG_MUTATION_ALWAYS,     /* a condition always holds */
    WETDBG_MUTATION_NEVER,      /* it never does */
    WETDBG_MUTATION_CONSTANT,   /* a constant is another one: `was`, `is` */
    WETDBG_MUTATION_OPERATOR,   /* it computes something else of the same operands */
    WETDBG_MUTATION_EXTENSION,  /* a value is extended with sign in place of zeros, or without */
    WETDBG_MUTATION_VARIABLE,   /* another variable of its function: displacements `was`, `is` */
    WETDBG_MUTATION_MEMBER,     /* what lies beside it in memory: displacements `was`, `is` */
    WETDBG_MUTATION_LEFT_OUT,   /* a store or a call is left out */
};

/* "comparison", "always", "never", "constant", "operator", "extension", "variable", "member",
 * "left-out"; static. */
const char *wetdbg_mutation_name(enum wetdbg_mutation mutation);

#define WETDBG_MUTANT_BYTES_MAX 8
#define WETDBG_MUTANT_CODE_MAX  15

struct wetdbg_mutant {
    enum wetdbg_mutation mutation;
    uint64_t pc;
    wetdbg_time time; /* of its first execution, from which on it is another one */
    uint8_t code[WETDBG_MUTANT_CODE_MAX]; /* the instruction as it is, `length` bytes */
    uint8_t length;
    /* What of these bytes are others. */
    uint8_t offset, size;
    uint8_t bytes[WETDBG_MUTANT_BYTES_MAX];
    int64_t was, is;
    uint32_t rank; /* as the caller gave it */
    enum wetdbg_verdict verdict;
};

struct wetdbg_mutant_options {
    /* How soon an own instruction's mutants are tried: 0 first; UINT32_MAX: none of them is. Asked
     * once for each that ran. */
    uint32_t (*rank)(void *arg, uint64_t pc);
    void *rank_arg;
    wetdbg_time until; /* instructions that ran first then or later are left alone; 0: none are */
    /* Ends: runs, and seconds; 0: none. What is running then is waited for. */
    uint64_t budget_trials;
    double budget_seconds;
    const volatile sig_atomic_t *interrupted; /* may be NULL; what was found is the answer then */
    void (*progress)(void *arg, uint64_t tried, uint64_t listed); /* may be NULL */
    void *arg;
};

struct wetdbg_mutant_result {
    struct wetdbg_mutant *items; /* all that were tried: by verdict, the best first, then by rank */
    size_t count;
    size_t repairing; /* those before are no-crash or better */
    uint64_t listed;  /* all that there were to try */
    uint64_t unresolved;
    bool is_interrupted;
    double seconds;
};
void wetdbg_mutant_result_fini(struct wetdbg_mutant_result *result);

/*
 * Tries mutants of what the program's own code (<wetdbg/caller.h>) executed, in rounds: of each
 * instruction its likely mutants come before any others, by rank. `trials` judge the runs. 0, also
 * if nothing repairs, and wetdbg_mutant_result_fini() is due. -ENOMEM; errors of running an
 * interval, and of the trials' runs.
 */
int wetdbg_mutants_find(struct wetdbg_trials *trials, const struct wetdbg_mutant_options *options,
                        struct wetdbg_mutant_result *result);

WETDBG_END

#endif
