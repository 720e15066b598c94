/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Labels of registers are copied and written by rows (dep_place): piece by piece they are two to
 * three times as many loads and stores. A wide load never spans two rows: what two stores wrote a
 * little before could not be forwarded to it.
 */
#include "wet/depend/label_code.h"

#define ROWS (DEP_PLACES / DEP_ROW + 1)

static void rows_add(uint8_t rows[ROWS], unsigned location)
{
    unsigned place = dep_place(location);

    rows[place / DEP_ROW] |= (uint8_t)(1u << place % DEP_ROW);
}

/* Copies labels of a row to the words from `word` on, gives how many. */
static unsigned row_copy(struct emit *e, unsigned row, unsigned places, uint32_t word)
{
    uint32_t first = word;

    for (unsigned at = 0, count; places >> at; at += count) {
        unsigned next = places >> at;
        int32_t from = (int32_t)(4 * (DEP_ROW * row + at)), to = (int32_t)(4 * word);
        count = 1;
        if (!(next & 1))
            continue;
        if (at == 0 && (next & 7) == 7) {
            count = next == 15 ? 4 : 3;
            emit_load_xmm(e, 0, R15, from);
            emit_store_xmm(e, RBP, to, 0);
        } else {
            count = (next & 3) == 3 ? 2 : 1;
            emit_op_memory(e, count == 2, EMIT_MOV_FROM, RAX, R15, -1, 1, from);
            emit_op_memory(e, count == 2, EMIT_MOV_TO, RAX, RBP, -1, 1, to);
        }
        word += count;
    }
    return word - first;
}

/* Emits the stores of the number to places of a row. */
static void row_define(struct emit *e, unsigned row, unsigned places)
{
    /* nobody asks for a register's fourth */
    if (row < INS_GPR_COUNT && places == 7)
        places = 15;
    for (unsigned at = 0, count; places >> at; at += count) {
        unsigned next = places >> at;
        int32_t to = (int32_t)(4 * (DEP_ROW * row + at));
        count = 1;
        if (next == 15) {
            count = DEP_ROW;
            emit_store_xmm(e, R15, to, 7);
        } else if (next & 1) {
            count = (next & 3) == 3 ? 2 : 1;
            emit_op_memory(e, count == 2, EMIT_MOV_TO, R12, R15, -1, 1, to);
        }
    }
}

uint32_t dep_inputs_emit(struct emit *e, const struct dep_lists *lists)
{
    uint8_t rows[ROWS] = {0};
    uint32_t word = 1;

    for (unsigned i = 0; i < lists->input_count; i++)
        rows_add(rows, lists->inputs[i]);
    for (unsigned r = 0; r < ROWS; r++)
        word += row_copy(e, r, rows[r], word);
    return word - 1;
}

void dep_defs_emit(struct emit *e, const struct ins_regset *set)
{
    uint8_t rows[ROWS] = {0};

    for (unsigned l = ins_regset_next(set, 0); l < INS_LOC_COUNT; l = ins_regset_next(set, l + 1))
        rows_add(rows, l);
    for (unsigned r = 0; r < ROWS; r++)
        row_define(e, r, rows[r]);
}
