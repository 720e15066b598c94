/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What correct outputs say about the values of places, seen backward. A *pin* on a byte says one of
 *   exact   only the value that it had leaves those outputs as they were, whatever the program
 *           computes
 *   equal   the same, but not by a chain of instructions of which each value gives another result
 *   tests   the value is used by instructions whose results are pinned: a *test* tells whether
 *           another value would have done
 * A byte without a pin may have any value.
 */
#ifndef SLICER_CONFIDENCE_PINS_H
#define SLICER_CONFIDENCE_PINS_H

#include "recorder/insn/insn_eval.h"
#include "slicer/slicer.h"

/* A pin, by number; from SLC_PIN_TESTS on a list of tests, owned by whoever has the number. */
typedef uint32_t slc_pin;
#define SLC_PIN_NONE  0u
#define SLC_PIN_EQUAL 1u
#define SLC_PIN_EXACT 2u
#define SLC_PIN_TESTS 3u

#define SLC_TESTS_MAX 48 /* of one byte: further ones say nothing */

struct slc_alt;

/* Addresses that are not allowed, sorted. */
struct slc_addresses {
    uint32_t users;
    uint32_t count;
    uint64_t addresses[];
};

/* A condition on flags, and how it turned out. */
struct slc_outcome {
    uint8_t condition; /* enum ins_condition */
    bool holds;
};

#define SLC_OUTCOMES_MAX 4

/* What is pinned of an instruction's results. */
struct slc_check {
    uint64_t values[INS_EVAL_RESULTS];      /* as they were */
    uint64_t masks[INS_EVAL_RESULTS];       /* bits that must be the same */
    struct slc_alt *alts[INS_EVAL_RESULTS]; /* NULL: all */
    uint64_t alt_masks[INS_EVAL_RESULTS];
    uint8_t alt_shifts[INS_EVAL_RESULTS]; /* where the result is in the values of its `alts` */
    uint8_t outcome_count;
    struct slc_outcome outcomes[SLC_OUTCOMES_MAX];
};

/* How another value of an operand shows. Those that are alike are one, but for addresses: links
 * tell by the pointer whether they have the same. */
struct slc_test {
    uint32_t users;              /* links, and whoever makes it */
    uint64_t hash;               /* of what was given: the same in each run */
    struct slc_test *next;       /* with the same place in the table */
    const struct ins_eval *eval; /* NULL: it is an address */
    uint8_t varied;              /* bits of the inputs that are this operand */
    bool tells_value;            /* nothing but the first result is checked */
    uint64_t value;              /* as it was */
    uint64_t inputs[INS_EVAL_INPUTS];
    uint64_t flags;
    struct slc_check check;
    /* Of an address: */
    uint64_t address;
    unsigned scale;
    struct slc_addresses *forbidden;
};

struct slc_pins;

int slc_pins_new(struct slc_pins **out); /* 0 or -ENOMEM */
void slc_pins_free(struct slc_pins *pins);

/* ---- pins ---- */

/* Gives a pin up. */
void slc_pin_drop(struct slc_pins *pins, slc_pin pin);
/* Both, of which each is given up, as one. */
slc_pin slc_pin_join(struct slc_pins *pins, slc_pin a, slc_pin b);
/* A test of a value of which the byte is number `byte`; SLC_PIN_NONE if memory is short, which only
 * loses evidence. */
slc_pin slc_pin_test(struct slc_pins *pins, struct slc_test *test, unsigned byte);

/* A test, to be given to slc_pin_test() for each byte and then to slc_test_release(): the one that
 * is like this, or a new one, which shares check.alts and forbidden. NULL if memory is short. */
struct slc_test *slc_test_get(struct slc_pins *pins, const struct slc_test *like);
void slc_test_release(struct slc_pins *pins, struct slc_test *test);
void slc_alt_release(struct slc_pins *pins, struct slc_alt *alt);
void slc_addresses_release(struct slc_addresses *addresses);

/* ---- what is pinned at an instruction ---- */

/* The pins of the bytes of a value, lowest first. */
struct slc_pinned {
    slc_pin bytes[8];
    uint8_t count;
};

/* What they say, ready for many values. */
struct slc_judge {
    uint64_t value;      /* as it was */
    uint64_t equal;      /* bits that must be the same */
    unsigned test_count; /* of these all must allow it */
    struct slc_judged {
        const struct slc_test *test;
        uint8_t
            from[8];   /* of the test's operand each byte is this one of the value, + 1; 0: none */
        uint64_t mask; /* what of the operand is of the value, if it lies there in one piece */
        int shift;     /* to the left, in bits */
        bool is_apart;
        /* Another test of the same computation, of which the value is another operand, too: its
         * number + 1; 0: none. What one of them rules out may do if both operands have it. */
        uint8_t twin;
    } tests[SLC_TESTS_MAX]; /* of one that is kept only test_count are there */
};

/* Which values of a range are allowed, shared by tests. Those outside of it, and those in places
 * from `judged` on, are judged when somebody asks; or allowed, where the way to right output is
 * long. */
struct slc_alt {
    uint32_t users;
    uint32_t judged;
    uint32_t depth;    /* of alternatives that its tests have */
    bool allows_all;   /* of what was judged nothing is forbidden */
    double confidence; /* that it comes to */
    uint64_t hash;     /* of range and judge: the same in each run */
    uint64_t serial;   /* of those that were kept: others that were made anew are not this one */
    const struct slc_range *range;
    struct slc_judge *judge; /* with a share in its tests; NULL: the way is long */
    uint64_t forbidden[];    /* bits */
};

/* Ready for slc_alt_keep(), and for the values of a range to be marked in; NULL if memory is
 * short. */
struct slc_alt *slc_alt_new(const struct slc_range *range);

/* Has it judge other values as `judge` does, and remembers it for slc_alt_find(). If memory is
 * short it allows them. */
void slc_alt_keep(struct slc_pins *pins, struct slc_alt *alt, const struct slc_judge *judge);

/* One that was kept with the same range and such a judge, lately: it would be made as it was then.
 * For slc_alt_release(); NULL if there is none. */
struct slc_alt *slc_alt_find(struct slc_pins *pins, const struct slc_range *range,
                             const struct slc_judge *judge);

void slc_judge_make(const struct slc_pins *pins, const struct slc_pinned *pinned, uint64_t value,
                    struct slc_judge *judge);

/* Whether another value would have left the outputs as they were, or that cannot be told. */
bool slc_judge_allows(const struct slc_judge *judge, uint64_t other);

/* The same, and takes the tests that were made off *pool. */
bool slc_judge_allows_of(const struct slc_judge *judge, uint64_t other, unsigned *pool);

/* Whether results pass. */
bool slc_check_passes(const struct slc_check *check, const struct ins_eval_result *result);

/* ---- where they are ---- */

/* Numbers of places in registers. */
enum {
    SLC_SPOT_GPR = 0,                    /* 8 of each */
    SLC_SPOT_VECTOR = 8 * INS_GPR_COUNT, /* 64 of each */
    SLC_SPOT_COUNT = SLC_SPOT_VECTOR + 32 * 64,
};

/* Pins a byte of memory, besides what is there; takes it out. */
int slc_pins_add(struct slc_pins *pins, uint64_t address, slc_pin pin);
slc_pin slc_pins_take(struct slc_pins *pins, uint64_t address);
/* Whether something in a range is pinned: exactly, where it is small. */
bool slc_pins_touch(const struct slc_pins *pins, uint64_t address, uint64_t size);
/* Drops all in a range. */
void slc_pins_drop_range(struct slc_pins *pins, uint64_t address, uint64_t size);

#endif
