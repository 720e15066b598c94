/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Instructions compiled for a scan that keeps no users: what decides whether an instance is in the
 * slice, and what it wants then, as a few words each. Bits of word i are locations 64 i..64 i + 63;
 * general registers, flags and xmm0 are all in word 0, so that most instructions are *narrow*.
 */
#ifndef SLICER_OPS_H
#define SLICER_OPS_H

#include "slicer/slicer.h"

enum slc_copy {
    SLC_COPY_NOT,
    SLC_COPY_REG_REG,
    SLC_COPY_MEM_REG, /* a load */
    SLC_COPY_REG_MEM, /* a store */
    SLC_COPY_MEM_MEM,
};

/* A flow. */
struct slc_way {
    struct {
        uint64_t value_hits; /* wanted as a value: the flow is */
        uint64_t address_hits;
        uint64_t uses;
        uint64_t address_uses;
    } word[4];
    uint8_t copy;      /* enum slc_copy */
    uint8_t loads;     /* memory operands that it uses whole */
    uint8_t operand;   /* of a copy from memory */
    uint8_t to, from;  /* of a copy: first location of the register */
    bool has_store;    /* it writes the instruction's store */
    bool is_branch;    /* followed where a control dependence led here */
    uint8_t pieces[5]; /* REG_REG: of each piece of `to`, the pieces of `from` */
    uint64_t bytes[5]; /* MEM_REG: of each piece of `to`, the operand's bytes; REG_MEM: of each
                        * piece of `from`, the store's bytes; MEM_MEM: [0], the source's bytes */
};

enum slc_op_flag {
    SLC_OP_HARD = 1, /* not compiled: for slc_follow() */
    SLC_OP_STORE = 2,
    SLC_OP_NARROW = 4,
    SLC_OP_BRANCH = 8, /* a way is a branch */
};

/* A statement of a node. */
struct slc_op {
    struct {
        uint64_t touches; /* what its ways may define */
        uint64_t defines; /* for sure */
    } word[4];
    const struct slc_way *ways;
    uint8_t way_count;
    uint8_t flags;         /* enum slc_op_flag */
    int8_t pushed, popped; /* see slc_pushed_register() */
    uint16_t slot;         /* of its first memory operand */
    uint16_t store_slot;
    uint8_t store_bytes;   /* up to 64 */
    uint8_t pop_operand;   /* of `popped` */
    uint8_t load_bytes[4]; /* of each operand, up to 64 */
    uint32_t klass;        /* control class, or SLC_UNKNOWN */
    uint32_t pc_index;     /* in code's pcs */
};

struct slc_op_list {
    struct slc_op *ops;
    struct slc_way *ways;
};

/* Compiles a node's statements; to be freed with slc_op_list_free(). 0 or -ENOMEM. */
int slc_op_list_make(struct slc_op_list *list, const struct wet_node *node, bool follows_address);
void slc_op_list_free(struct slc_op_list *list);

/* Bytes [from, to) of a copy's register source, counted from where the copy starts, as pieces that
 * the copy uses; and what is_byte_copy says (slicer/follow.c). */
void slc_copied_pieces(const struct ins_flow *flow, uint64_t from, uint64_t to,
                       struct ins_regset *pieces);
bool slc_is_byte_copy(const struct ins_flow *flow);

/* Bytes [*from, *to) of its register that a location is; false if it is no piece of one. */
bool slc_piece_bytes(unsigned loc, unsigned *unit, unsigned *from, unsigned *to);
/* The register that a copy's set names, and the byte where it starts in it. */
bool slc_set_start(const struct ins_regset *set, unsigned *unit, unsigned *start);

#endif
