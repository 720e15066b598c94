/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a scan of some executions did to the wanted memory, to be done again. */
#ifndef SLICER_SCAN_CHANGE_H
#define SLICER_SCAN_CHANGE_H

#include "slicer/scan/footprint.h"

/* What is wanted of a word of a footprint. Without padding. */
struct slc_word {
    uint64_t bytes;
    uint32_t page; /* in the footprint's pages */
    uint16_t group;
    uint16_t slots; /* saved registers that wait there: 8 bits */
};

/* In the footprint's order; none of which nothing is wanted. */
struct slc_word_list {
    struct slc_word *words;
    size_t count, capacity;
};

/* Lists what is wanted of the footprint. 0 or -ENOMEM. */
int slc_words_list(const struct slc_memory *memory, const struct slc_footprint *footprint,
                   struct slc_word_list *list);

/* Bytes of a page outside the footprint that became wanted. */
struct slc_addition {
    uint64_t number;
    uint64_t groups;
    size_t first; /* its words are in `added` from here on */
};

/* Embedded by its holder, zeroed at first. */
struct slc_change {
    struct slc_word_list before, after; /* in the footprint */
    struct slc_addition *additions;
    size_t addition_count;
    uint64_t *added;
    size_t added_count;
};

/* Before the scan: hides what it neither takes away nor has to find. */
void slc_change_begin(struct slc_memory *memory, const struct slc_footprint *footprint);
/* After it, before slc_memory_unhide(); `before` is what was wanted of the footprint at first. 0 or
 * -ENOMEM: to be finished in both cases. */
int slc_change_make(struct slc_change *change, const struct slc_memory *memory,
                    const struct slc_footprint *footprint, const struct slc_word_list *before);
void slc_change_fini(struct slc_change *change);
uint64_t slc_change_bytes(const struct slc_change *change);

/* Whether the change is what would happen to a scan that wants these words of the footprint. */
bool slc_change_fits(const struct slc_change *change, const struct slc_word_list *words);

/* Makes the change to wanted memory, which slc_change_fits() has found to fit. 0 or -ENOMEM. */
int slc_change_apply(const struct slc_change *change, const struct slc_footprint *footprint,
                     struct slc_memory *memory);

/* Words are sorted, of the footprint, and something of each is wanted, before within its masks;
 * additions have their words one behind the other. 0, or what is wrong. */
int slc_change_validate(const struct slc_change *change, const struct slc_footprint *footprint);

#endif
