/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The weights of the features that make a line's score: one row for each, without and with passing
 * runs. What each feature is says locate/score.c.
 */
#ifndef LOCATE_WEIGHTS_H
#define LOCATE_WEIGHTS_H

struct loc_weight {
    const char *feature;
    double alone, against;
};

static const struct loc_weight loc_weights[] = {
    {"in_slice", 1, 1},     {"near", 4, 1},         {"place", 2, 1},        {"data", 0.3, 0.2},
    {"thin", 0.3, 0.2},     {"decision", 1, 0.5},   {"only_calls", -2, -1}, {"branch", 0.5, 0.3},
    {"call", 0, 0},         {"return", -0.3, -0.3}, {"once", 0, 0},         {"late", 0.5, 0.3},
    {"unsure", 0.3, 0.2},   {"sure", -2, -1},       {"exact", 3, 2},        {"prefix", 1, 0.7},
    {"no_crash", 0.7, 0.5}, {"implied", 1, 1},      {"ochiai", 0, 3},       {"slice_ochiai", 0, 1},
    {"new_values", 0, 1},   {"as_always", 0, -1},   {"only_here", 0, 1},
};

#endif
