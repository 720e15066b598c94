/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What of the marks a forward pass over some executions depends on, and which places it gives new
 * marks: registers and bytes of memory that are read before they are surely written there, and
 * those that are written. Marks of all others neither matter nor change.
 */
#ifndef SLICER_FORWARD_NEEDS_H
#define SLICER_FORWARD_NEEDS_H

#include "common/hash.h"
#include "slicer/scan/code_summary.h"
#include "slicer/scan/want.h"

/* A memory operand that an instruction reads or writes. */
struct slc_access {
    uint16_t statement;
    uint8_t operand;
    bool is_range;                     /* see slc_operand_ranges() */
    bool is_read, is_written, is_sure; /* sure: all of its bytes are written */
    uint16_t slot;
    uint16_t size_bytes;
};

/* What one node needs of registers, and its accesses. Kept with it; NULL until it is asked for. */
struct slc_node_needs {
    struct ins_regset uses; /* registers that it reads, or perhaps writes, before it surely does */
    struct ins_regset surely;  /* ... that it writes */
    struct ins_regset defines; /* ... or perhaps does */
    uint32_t count;
    struct slc_access accesses[]; /* reads of an instruction before its writes */
};

struct slc_needs_page {
    uint64_t number;
    uint64_t groups; /* bit g: some of bytes 64 g..64 g + 63 */
    size_t first;    /* their words are from here on */
};

struct slc_needs_word {
    uint64_t needed, written;
};

struct slc_needs {
    struct ins_regset uses, defines;
    size_t page_count, word_count;
    struct slc_needs_page *pages; /* by number */
    struct slc_needs_word *words; /* of 64 bytes, none of them empty */
};

/* What makes them, with memory that is used again. Embedded by its holder, zeroed at first. */
struct slc_needs_maker {
    struct slc_needs_page *pages;
    struct slc_needs_word (*words)[SLC_PAGE_BYTES / 64]; /* of each page */
    size_t count, capacity;
    struct wd_index by_number; /* of pages */
};
void slc_needs_maker_fini(struct slc_needs_maker *maker);

/* What executions [first, end) of an interval need: 1 and *out for slc_needs_free(); 0 if it is too
 * large to be kept, or -ENOMEM. */
int slc_needs_make(struct slc_needs_maker *maker, struct slc_code *code,
                   const struct wet_interval *interval, size_t first, size_t end,
                   struct slc_needs **out);
void slc_needs_free(struct slc_needs *needs);
uint64_t slc_needs_bytes(const struct slc_needs *needs);

/* The 8-byte slots of a word that a mask has whole: 8 bits. */
unsigned slc_mask_whole_slots(uint64_t mask);

/* Pages are sorted, and each one's words follow those of the one before, none of them empty. 0, or
 * what is wrong. */
int slc_needs_validate(const struct slc_needs *needs);

#endif
