/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a program could say beside what it says: a value that is one more or less, a comparison
 * with zero that was made of a sign, arguments in another order, a statement before another one.
 * Each such change is code of its own, executed before an instruction or behind it (caves.h).
 */
#ifndef PREDICATE_SWITCH_INSERTIONS_H
#define PREDICATE_SWITCH_INSERTIONS_H

#include "predicate_switch/mutations.h"

#define PSW_BEFORE_MAX 48
#define PSW_AFTER_MAX  8

struct psw_insertion {
    enum wetdbg_mutation kind;
    uint8_t round; /* as of mutations */
    uint8_t before_size, after_size;
    uint8_t before[PSW_BEFORE_MAX], after[PSW_AFTER_MAX];
    int64_t was, is;
    struct wetdbg_mutant_place place; /* of a statement */
};

/* Of an instruction: PSW_OF_VALUE_MAX at most. Their number. */
#define PSW_OF_VALUE_MAX 3
unsigned psw_insertions_of_value(const uint8_t *code, size_t length,
                                 struct psw_insertion list[PSW_OF_VALUE_MAX]);

/* ---- statements ---- */

/* What statements of a function count with: a variable, or a member of what one points to. */
struct psw_place {
    struct psw_variable variable; /* the pointer, of a member */
    bool is_member;
    uint8_t bytes;  /* of the variable or member: 1, 2, 4, 8 */
    int32_t offset; /* of the member */
};

#define PSW_PLACES_MAX 12 /* of a function */

/* Looks at the instructions of one function, in the order of their addresses. */
struct psw_places {
    struct psw_place items[PSW_PLACES_MAX];
    unsigned count;
    uint64_t next;                    /* behind the instruction that was looked at last */
    struct psw_variable pointers[16]; /* what registers were loaded from */
    uint16_t are_pointers;            /* which of them are so */
};

void psw_places_look(struct psw_places *places, const uint8_t *code, size_t length, uint64_t pc);

/* The statements that set a place to 0, or count it up or down: PSW_OF_PLACE_MAX. `cave` is where
 * their code will begin. */
#define PSW_OF_PLACE_MAX 3
unsigned psw_insertions_of_place(const struct psw_place *place, uint64_t cave,
                                 struct psw_insertion list[PSW_OF_PLACE_MAX]);

#endif
