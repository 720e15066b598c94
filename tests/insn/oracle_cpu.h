/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The real processor as a function from a complete register state and memory to another. */
#ifndef TESTS_INSN_ORACLE_CPU_H
#define TESTS_INSN_ORACLE_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/insn/insn.h"

#define ORACLE_XSAVE_BYTES 2752 /* legacy area, header, AVX at 576, AVX-512's where CPUID says */

/* Field order is known to oracle_enter.S. */
struct oracle_regs {
    uint64_t gpr[16];
    uint64_t rflags, fs_base, gs_base;
};

struct oracle_state {
    _Alignas(64) uint8_t vectors[ORACLE_XSAVE_BYTES]; /* standard XSAVE image */
    struct oracle_regs regs;
};

/* Memory that instructions may touch: low enough for 32-bit displacements and addresses. Pages
 * around it are not mapped. `oracle_pristine` is what every run starts from; who changes it says so
 * by oracle_pristine_is_new(), as only then all of it is copied. */
#define ORACLE_MEMORY       ((uint8_t *)0x20000000)
#define ORACLE_MEMORY_BYTES 0x20000u
#define ORACLE_PAGE_BYTES   0x1000u
extern uint8_t oracle_pristine[ORACLE_MEMORY_BYTES];
void oracle_pristine_is_new(void);

/* Pages that the last run left other than pristine. oracle_run() makes them pristine before the
 * instruction runs, and finds them after it. */
extern bool oracle_page_changed[ORACLE_MEMORY_BYTES / ORACLE_PAGE_BYTES];
void oracle_memory_reset(void);
void oracle_memory_compare(void);

#define ORACLE_CODE ((uint8_t *)0x1fff0000)

/* Maps memory and code and installs fault handlers on a stack of their own. False when the machine
 * cannot do this (no FSGSBASE, no AVX). Call in a child process: the handlers stay. */
bool oracle_open(void);

/* The components that runs load and store: bits of XCR0, AVX-512's if it has them. Known to
 * oracle_enter.S. */
extern uint32_t oracle_components;

/* After oracle_open(): whether runs start with AVX-512's registers and look at them. */
bool oracle_has_avx512(void);

/* The instructions under test use AVX-512 state, and XSAVE images have its three components at
 * these offsets: mask registers, bytes 32 on of the first 16 vectors, and the other 16. */
#define ORACLE_AVX512 0xe0u
void oracle_use_avx512(unsigned masks, unsigned upper_halves, unsigned upper_registers);

/* Where the bytes of a vector register from byte `first` on (to the end of its piece) are in an
 * image, and where a mask register; 0: not there. */
unsigned oracle_vector_offset(unsigned vector, unsigned first);
unsigned oracle_mask_offset(unsigned k);

void oracle_set_code(const uint8_t *code, unsigned length);

/*
 * Runs the instruction once on `in`, with memory as in oracle_pristine. Returns 0 with *out filled
 * and the instruction's memory in ORACLE_MEMORY, or the signal's number when it faulted.
 */
int oracle_run(const struct oracle_state *in, struct oracle_state *out);

/* ---- locations of a state ---- */

#define ORACLE_VALUE_MAX 128

/* Whether this machine and this test can read and change the location. */
bool oracle_has_location(unsigned loc);
/* The location's value as bytes; returns how many. */
unsigned oracle_get(const struct oracle_state *state, unsigned loc, uint8_t *value);
/* How much of a register is the same in both: if `loc` is the first piece of a register that is
 * wholly the same in both: how many pieces it has; else 0. */
unsigned oracle_same_pieces(const struct oracle_state *a, const struct oracle_state *b,
                            unsigned loc);
/* The x87 status word, of which bits 11..13 are TOP. */
uint16_t oracle_x87_status(const struct oracle_state *state);
/* Changes the location, and nothing else, by `random`. */
void oracle_perturb(struct oracle_state *state, unsigned loc, uint64_t random);

#endif
