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
    WETDBG_MUTATION_VALUE,      /* what is loaded, moved or stored is `is` more: 1 or -1 */
    WETDBG_MUTATION_SWAPPED,    /* of a call arguments `was` and `is`, from 1, are exchanged */
    WETDBG_MUTATION_ZERO,       /* before it `place` is set to 0 */
    WETDBG_MUTATION_COUNT,      /* before it `place` is counted up or down, by `is`: 1 or -1 */
};

/* "comparison", "always", "never", "constant", "operator", "extension", "variable", "member",
 * "left-out", "value", "swapped", "zero", "count"; static. */
const char *wetdbg_mutation_name(enum wetdbg_mutation mutation);

/* What a variable's location counts from. */
enum wetdbg_base {
    WETDBG_BASE_NONE,  /* it is an address */
    WETDBG_BASE_STACK, /* the stack pointer at the instruction */
    WETDBG_BASE_FRAME, /* rbp */
};

/* A variable, or a member of what it points to. */
struct wetdbg_mutant_place {
    enum wetdbg_base base;
    int64_t location;
    bool is_member;
    int64_t offset; /* of the member */
};

#define WETDBG_MUTANT_BYTES_MAX 8
#define WETDBG_MUTANT_CODE_MAX  15
#define WETDBG_MUTANT_CAVE_MAX  96

struct wetdbg_mutant {
    enum wetdbg_mutation mutation;
    uint64_t pc;
    wetdbg_time time; /* of its first execution, from which on it is another one */
    uint8_t code[WETDBG_MUTANT_CODE_MAX]; /* the instruction as it is, `length` bytes */
    uint8_t length;
    /* What of these bytes are others. */
    uint8_t offset, size;
    uint8_t bytes[WETDBG_MUTANT_BYTES_MAX];
    /* What takes more room than the instruction has is `cave_size` bytes at `cave`, where the
     * program has nothing, and `bytes` are a jump there, of which the last ones may lie in
     * instructions behind this one. 0: it takes no more. */
    uint64_t cave;
    uint8_t cave_size;
    uint8_t cave_bytes[WETDBG_MUTANT_CAVE_MAX];
    int64_t was, is;
    struct wetdbg_mutant_place place; /* of WETDBG_MUTATION_ZERO and _COUNT */
    uint32_t rank;                    /* as the caller gave it */
    enum wetdbg_verdict verdict;
    enum wetdbg_trial_effect effect;
    /* Of runs that passed: in how many it was made, and how many of them ended otherwise then. */
    uint32_t held, broken;
};

struct wetdbg_mutant_options {
    /* How soon an own instruction's mutants are tried: 0 first; UINT32_MAX: none of them is. Asked
     * once for each that ran. Instructions of one line have one rank, which no other line has. */
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

/*
 * Makes the mutants that make the failing run right, four of each rank, in runs of the same program
 * that passed: what mends a program leaves alone what was right (validation by a test suite: C. Le
 * Goues, T. Nguyen, S. Forrest, W. Weimer, GenProg, TSE 38(1), 2012, section 3.4). Sets `held` and
 * `broken` of them. Runs that do not execute the instruction, or are unresolved, say nothing. Of
 * the options budget_seconds and interrupted count. 0, -ENOMEM; errors of wetdbg_switcher_open()
 * and wetdbg_switcher_run().
 */
int wetdbg_mutants_hold_against(struct wetdbg *wet, struct wetdbg_mutant_result *result,
                                struct wetdbg *const *passing, size_t passing_count,
                                const struct wetdbg_mutant_options *options);

WETDBG_END

#endif
