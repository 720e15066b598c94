/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Backward slices by the book: forward over the whole run with a last writer for each place and an
 * explicit stack of frames, then a graph of definitions, then searches in it. Slow and large;
 * shares no code with slicer/ and states the rules of slicer/slicer.h a second time.
 */
#ifndef TESTS_SLICER_BRUTE_H
#define TESTS_SLICER_BRUTE_H

#include "slicer/slicer.h"
#include "tests/slicer/fake_wet.h"

/* Places just before an instance; nothing: all that it uses. */
struct brute_criterion {
    wetdbg_time time;
    struct ins_regset regs;
    uint64_t address, size;
    /* The instruction at this address, by which the run ended: `regs`, which it used for an
     * address, and `time` is the one after the last instruction's. 0: `time` is an instance's. Of
     * a brute's criteria the last one alone may be that. */
    uint64_t fault_pc;
    size_t picture; /* brute's */
};

struct brute;

/* Follows the run once; criteria must be known before. */
struct brute *brute_new(struct wetdbg *wet, struct brute_criterion *criteria, size_t count,
                        bool bypass);
/* The same with options.no_exits. */
struct brute *brute_new_no_exits(struct wetdbg *wet, struct brute_criterion *criteria, size_t count,
                                 bool bypass);
void brute_free(struct brute *brute);

/* Distance of each time (index 1..instructions), UINT32_MAX if it is not in the slice. For the
 * caller to free. */
uint32_t *brute_slice(struct brute *brute, const struct brute_criterion *criterion,
                      enum wetdbg_slice_kinds kinds);

/* The same for what depends on a source: all that an instance defines, or what places hold just
 * before it. Behind the last instruction's distance is that of the fault, if there is one. */
uint32_t *brute_forward(struct brute *brute, const struct brute_criterion *source,
                        enum wetdbg_slice_kinds kinds);

/* Whether that slice (the last one made) has an edge from a user to a definition. */
bool brute_has_edge(const struct brute *brute, wetdbg_time user, wetdbg_time definition,
                    enum wetdbg_edge edge);

#endif
