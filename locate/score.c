/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Features of a line's evidence, each 0 to 1, and their weighted sum. */
#include <math.h>
#include <stddef.h>

#include "locate/locate_priv.h"
#include "locate/weights.h"

#define FEATURES (sizeof(loc_weights) / sizeof(*loc_weights))
_Static_assert(FEATURES <= WETDBG_FEATURES_MAX, "room for all features");

const char *wetdbg_feature_name(unsigned feature)
{
    return feature < FEATURES ? loc_weights[feature].feature : NULL;
}

/* 1 for the first of a list, 0 for what is at its end or beyond, by the logarithm. */
static double early(uint64_t place, uint64_t count)
{
    if (!place || place > count)
        return 0;
    return 1 - log2((double)place) / log2((double)count + 1);
}

/* 1 / sqrt(1 + passing runs): Ochiai's measure, where one run failed. */
static double ochiai(uint32_t passing)
{
    return 1 / sqrt(1.0 + passing);
}

static double how_late(const struct wetdbg_locate *locate, const struct wetdbg_evidence *evidence)
{
    wetdbg_time end = wetdbg_get_info(locate->wet)->last_time;
    wetdbg_time ago = evidence->last && evidence->last < end ? end - evidence->last : 0;

    if (!evidence->in_slice)
        return 0;
    return 1 - log2(1.0 + (double)ago) / log2(2.0 + (double)end);
}

/* In the order of the table. */
static void slice_features(const struct wetdbg_locate *locate,
                           const struct wetdbg_evidence *evidence, double *out)
{
    *out++ = evidence->in_slice;
    *out++ = evidence->in_slice ? 1 / (1 + log2(1.0 + evidence->distance)) : 0;
    *out++ = early(evidence->place, locate->slice_lines);
    *out++ = evidence->in_data;
    *out++ = evidence->in_thin;
    *out++ = early(evidence->decision, locate->decisions);
    *out++ = evidence->only_calls;
    *out++ = (evidence->doing & WETDBG_DOING_BRANCH) != 0;
    *out++ = (evidence->doing & WETDBG_DOING_CALL) != 0;
    *out++ = (evidence->doing & WETDBG_DOING_RETURN) != 0;
    *out++ = evidence->executions == 1;
    *out++ = how_late(locate, evidence);
}

static double verdict_is(const struct wetdbg_evidence *evidence, enum wetdbg_verdict verdict)
{
    if (!evidence->is_switched || evidence->verdict != verdict)
        return 0;
    return 1 / (1 + log2((double)(evidence->trial ? evidence->trial : 1)) / 8);
}

static void run_features(const struct wetdbg_locate *locate, const struct wetdbg_evidence *evidence,
                         double *out)
{
    bool is_judged = locate->is_pruned && evidence->is_judged;

    *out++ = is_judged ? 1 - evidence->confidence : 0;
    *out++ = is_judged && evidence->confidence >= 1;
    *out++ = verdict_is(evidence, WETDBG_VERDICT_EXACT);
    *out++ = verdict_is(evidence, WETDBG_VERDICT_PREFIX);
    *out++ = verdict_is(evidence, WETDBG_VERDICT_NO_CRASH);
    *out++ = evidence->implied ? evidence->is_strong ? 1 : 0.5 : 0;
}

/* Of few that were tried one that repairs says less than its share. */
#define SHARE_DAMPED 3

static void repair_features(const struct wetdbg_locate *locate,
                            const struct wetdbg_evidence *evidence, double *out)
{
    double repaired = (double)evidence->repaired;

    *out++ = evidence->repaired_exactly > 0;
    *out++ = repaired / ((double)evidence->replaced + SHARE_DAMPED);
    *out++ = locate->most_repaired ? repaired / (double)locate->most_repaired : 0;
}

/* Of a line that says much there are many mutants, of which one may be right. A third of them tell
 * that what is wrong depends on the line as well as all do. */
#define MUTANTS_DAMPED 20
#define TELLING        3

static void mutant_features(const struct wetdbg_locate *locate,
                            const struct wetdbg_evidence *evidence, double *out)
{
    double well = (double)evidence->mutated_well, count = (double)evidence->mutated;

    *out++ = evidence->mutated_exactly > 0;
    *out++ = well / (count + MUTANTS_DAMPED);
    *out++ = locate->most_mutated ? well / (double)locate->most_mutated : 0;
    *out++ = evidence->mutated_safely > 0;
    *out++ = fmin(1, TELLING * (double)evidence->mutated_here / (count + SHARE_DAMPED));
}

/* Steps of a test after which what one did counts half. */
#define STEPS_HALF 6.0

/* How much a line's last piece counts as the one in which what is wrong was made. */
static double lateness(const struct wetdbg_locate *locate, const struct wetdbg_evidence *evidence)
{
    if (evidence->in_failing_piece)
        return 1;
    return locate->pieces_kind == WETDBG_PIECES_STEPS && evidence->pieces
               ? exp2(-(double)evidence->pieces_ago / STEPS_HALF)
               : 0;
}

/* Of what made something that is wrong nothing is known that it made anything right. */
static void piece_features(const struct wetdbg_locate *locate,
                           const struct wetdbg_evidence *evidence, double *out)
{
    bool is_known = locate->pieces > 0;
    double late = is_known ? lateness(locate, evidence) : 0;
    uint32_t others = evidence->pieces - (evidence->in_failing_piece || !evidence->pieces ? 0 : 1);

    *out++ = late * ochiai(others);
    *out++ = others ? 0 : late;
    *out++ = is_known && !evidence->in_failing_piece;
}

static void passing_features(const struct wetdbg_locate *locate,
                             const struct wetdbg_evidence *evidence, double *out)
{
    bool is_usual = evidence->in_slice && evidence->executed == locate->passing;
    double share = evidence->values ? (double)evidence->new_values / evidence->values : 0;

    if (!locate->passing) {
        out[0] = out[1] = out[2] = out[3] = out[4] = 0;
        return;
    }
    *out++ = ochiai(evidence->executed);
    *out++ = evidence->in_slice ? ochiai(evidence->sliced) : 0;
    *out++ = share;
    *out++ = is_usual && evidence->values && !evidence->new_values;
    *out++ = !evidence->executed;
}

#define SLICE_FEATURES      12
#define CONFIDENCE_FEATURES 2 /* the first of the run's */
#define RUN_FEATURES        6
#define REPAIR_FEATURES     3
#define MUTANT_FEATURES     5
#define PIECE_FEATURES      3

void wetdbg_locate_features(const struct wetdbg_locate *locate,
                            const struct wetdbg_suspect *suspect, double *features)
{
    slice_features(locate, &suspect->evidence, features);
    features += SLICE_FEATURES;
    run_features(locate, &suspect->evidence, features);
    features += RUN_FEATURES;
    repair_features(locate, &suspect->evidence, features);
    features += REPAIR_FEATURES;
    mutant_features(locate, &suspect->evidence, features);
    features += MUTANT_FEATURES;
    piece_features(locate, &suspect->evidence, features);
    passing_features(locate, &suspect->evidence, features + PIECE_FEATURES);
}

struct loc_score loc_score(const struct wetdbg_locate *locate, const struct wetdbg_suspect *suspect)
{
    struct loc_score score = {0};
    double features[FEATURES];

    wetdbg_locate_features(locate, suspect, features);
    for (size_t i = 0; i < FEATURES; i++) {
        double weight = locate->passing ? loc_weights[i].against : loc_weights[i].alone;
        score.all += features[i] * weight;
        if (i >= SLICE_FEATURES + CONFIDENCE_FEATURES)
            score.runs += features[i] * weight;
    }
    return score;
}
