/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The weights of the features that make a line's score: one row for each, without and with passing
 * runs. bench/faults/learn prints the rows; what each feature is says locate/score.c. A feature
 * without weight is there to be learned from.
 */
#ifndef LOCATE_WEIGHTS_H
#define LOCATE_WEIGHTS_H

struct loc_weight {
    const char *feature;
    double alone, against;
};

static const struct loc_weight loc_weights[] = {
    {"in_slice", 0.80, 1.00},     {"near", -0.12, 0.00},        {"place", 2.10, 1.50},
    {"data", -0.01, 0.00},        {"thin", 0.49, 0.00},         {"decision", 0.34, 0.00},
    {"only_calls", -1.05, -1.00}, {"branch", 0.29, 0.00},       {"call", -0.04, 0.00},
    {"return", -0.23, 0.00},      {"once", 0.27, 0.00},         {"late", 0.23, 0.00},
    {"unsure", -0.24, 0.00},      {"sure", -0.19, 0.00},        {"exact", 3.48, 2.00},
    {"prefix", 0.86, 0.00},       {"no_crash", 0.73, 0.00},     {"implied", -0.04, 0.00},
    {"repair_exact", 1.84, 1.00}, {"repair_share", 2.43, 1.50}, {"repair_most", 1.87, 1.00},
    {"mutant_exact", 6.00, 4.00}, {"mutant_share", 1.00, 1.00}, {"mutant_most", 1.00, 1.00},
    {"mutant_safe", 0.00, 4.00},  {"mutant_here", 0.50, 2.00},  {"piece_ochiai", 2.00, 0.00},
    {"piece_only", 1.00, 0.00},   {"piece_past", 0.00, 0.00},   {"ochiai", 0.00, 5.00},
    {"slice_ochiai", 0.00, 2.00}, {"new_values", 0.00, 2.00},   {"as_always", 0.00, 0.00},
    {"only_here", 0.00, 0.00},
};

/* How much of what the line beside it that runs speak against most has more than a line lifts that
 * line; the more is worth less by a factor of e for each LOC_BESIDE_DECAY lines between. Only lines
 * that are no more than LOC_BESIDE_LINES away are beside it. */
#define LOC_BESIDE       0.8
#define LOC_BESIDE_DECAY 16.0
#define LOC_BESIDE_LINES 12

/* What is left of the score of a test's own lines, where other lines ran, too. */
#define LOC_TEST 0.25

#endif
