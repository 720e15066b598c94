/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a glance at an execution needs to tell that nothing of the source meets it: the registers that
 * its node touches at all, its memory operands, its control classes.
 */
#ifndef SLICER_FORWARD_GLANCE_H
#define SLICER_FORWARD_GLANCE_H

#include "slicer/scan/code_summary.h"

struct slc_touched {
    uint16_t slot;
    uint8_t bytes; /* up to 64 */
};

struct slc_glance {
    struct ins_regset touches; /* registers that are read or defined */
    bool is_plain;             /* all instructions are compiled */
    uint16_t operand_count, class_count;
    uint32_t *classes; /* distinct ones of its instructions; NULL until they are asked for */
    struct slc_touched operands[];
};

/* To be freed by slc_glance_free(); NULL if memory is short. For a node that is compiled. */
struct slc_glance *slc_glance_make(const struct slc_node *node);
void slc_glance_free(struct slc_glance *glance);

/* Finds the classes. 0 or -ENOMEM. */
int slc_glance_classes(struct slc_glance *glance, struct slc_code *code, struct slc_node *node);

#endif
