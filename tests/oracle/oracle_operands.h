/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decodes one instruction and finds its memory operands from the registers before it. */
#ifndef TESTS_ORACLE_ORACLE_OPERANDS_H
#define TESTS_ORACLE_ORACLE_OPERANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/oracle/oracle.h"

/* A memory operand whose bytes are not known yet. */
struct orc_place {
    uint64_t address;
    uint64_t size_bytes;
    bool is_read;
    bool is_write;
    bool is_implicit;
    bool is_string; /* of a string instruction: a rep walks on from `address` */
};

struct orc_decoded {
    unsigned length; /* 0: not decodable */
    bool is_rep;
    struct orc_place places[ORC_OPERANDS_MAX];
    size_t place_count;
};

/* Reads the vector state for a gather: an XSAVE image in standard layout. */
typedef int (*orc_vector_fn)(void *context, uint8_t *image, size_t *size_bytes);

/* Never fails: what cannot be decoded has length 0 and no places. */
void orc_decode(const uint8_t *code, size_t code_bytes, const struct rrt_regs *regs,
                orc_vector_fn vector, void *context, struct orc_decoded *out);

/* Cheap tests on raw bytes, for stepping without decoding. */
bool orc_code_is_rep(const uint8_t *code, size_t code_bytes);
bool orc_code_is_pushf(const uint8_t *code, size_t code_bytes);

#endif
