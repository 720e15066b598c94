/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The x87 unit remembers its last instruction: address (FIP), opcode (FOP), and the address of its
 * last memory operand (FDP). Of translated code the address is one in the code cache, so the
 * program's is kept apart, and what an instruction stores of these pointers is made what the
 * program's code would have left.
 *
 * There are two kinds of processors. Some (Intel's) keep the pointers like any other register. The
 * others (AMD's) *lose* them: xsave and its kin store zeros unless an exception is pending, so
 * every switch of tasks forgets them, and only fnstenv and fnsave show them until the next one. And
 * rr *clears* FIP and FDP wherever it stops a program, where it found that processors differ, and
 * says so.
 */
#ifndef RECORDER_AGENT_X87_H
#define RECORDER_AGENT_X87_H

#include <stdbool.h>
#include <stdint.h>

/* What is done to the pointers when recording: bits. */
#define AGT_X87_LOST    1u
#define AGT_X87_CLEARED 2u

/* Known to translated code by AGT_CTX_X87_IP and AGT_CTX_X87_DP. */
struct agt_x87 {
    uint64_t ip; /* bits 0..47 FIP, 48..58 FOP; AGT_X87_FLAT */
    uint64_t dp; /* on processors that lose them only; the others' own is right */
};

#define AGT_X87_FLAT (1ull << 63) /* loaded without a selector: FCS is 0 */

/* What an instruction stores or loads. */
enum agt_x87_form {
    AGT_X87_ENV32 = 1, /* fnstenv, fnsave: 28 bytes and more */
    AGT_X87_ENV16,     /* the same with an operand size prefix: 14 bytes */
    AGT_X87_IMAGE32,   /* fxsave, xsave: pointers of 32 bits, with selectors */
    AGT_X87_IMAGE64,   /* fxsave64, xsave64 */
};

/* AGT_EXIT_X87: exit_arg is an enum agt_x87_form, and perhaps one of these. */
#define AGT_X87_LOADS  0x100 /* it was loaded from there */
#define AGT_X87_XRSTOR 0x200 /* so it was, as far as edx:eax and the image's header say */
#define AGT_X87_CLEARS 0x400 /* it was stored, and the unit is as after fninit */

/* Makes the pointers that were stored at `at` the program's. */
void agt_x87_give(uint8_t *at, enum agt_x87_form form, const struct agt_x87 *x87, bool is_lost);

/* Takes over the pointers that were loaded from `at`. */
void agt_x87_take(const uint8_t *at, enum agt_x87_form form, struct agt_x87 *x87);

/* Forgets the pointers as the recorder did where it stopped the program, whose image of the x87
 * component this is. */
void agt_x87_forget(uint8_t *image, struct agt_x87 *x87, uint32_t rules);

/* agt_x87_give() and agt_x87_take() for an image of ours, from which the pointers have to come back
 * whatever the processor is. */
void agt_x87_keep(uint8_t *image, const struct agt_x87 *x87, bool is_lost);
void agt_x87_find(const uint8_t *image, struct agt_x87 *x87);

#endif
