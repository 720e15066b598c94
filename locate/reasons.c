/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What speaks for a suspect, the strongest first, then what speaks against it: whoever reads the
 * list looks at each of them. */
#include "locate/locate_priv.h"

#define DECISIONS_NAMED 20 /* of those nearest to what is wrong */
#define STEPS_NAMED     6

const char *wetdbg_reason_name(enum wetdbg_reason_kind kind)
{
    static const char *const names[] = {
        [WETDBG_REASON_CRITERION] = "criterion", [WETDBG_REASON_SWITCH] = "switch",
        [WETDBG_REASON_MUTANT] = "mutant",       [WETDBG_REASON_REPAIR] = "repair",
        [WETDBG_REASON_IMPLICIT] = "implicit",   [WETDBG_REASON_ONLY_HERE] = "only-here",
        [WETDBG_REASON_RARELY] = "rarely",       [WETDBG_REASON_VALUES] = "values",
        [WETDBG_REASON_PIECE] = "piece",         [WETDBG_REASON_DECISION] = "decision",
        [WETDBG_REASON_DISTANCE] = "distance",   [WETDBG_REASON_UNSURE] = "unsure",
        [WETDBG_REASON_OUTSIDE] = "outside",     [WETDBG_REASON_BESIDE] = "beside",
        [WETDBG_REASON_TEST] = "test",           [WETDBG_REASON_STEP] = "step",
        [WETDBG_REASON_LONG_AGO] = "long-ago",
    };

    return names[kind];
}

static void add(struct wetdbg_suspect *suspect, enum wetdbg_reason_kind kind, uint64_t count,
                uint64_t total)
{
    if (suspect->reason_count < WETDBG_REASONS_MAX)
        suspect->reasons[suspect->reason_count++] =
            (struct wetdbg_reason){.kind = kind, .count = count, .total = total};
}

static void add_passing(const struct wetdbg_locate *locate, struct wetdbg_suspect *suspect)
{
    const struct wetdbg_evidence *evidence = &suspect->evidence;

    if (!locate->passing)
        return;
    if (!evidence->executed)
        add(suspect, WETDBG_REASON_ONLY_HERE, 0, locate->passing);
    else if (evidence->executed < locate->passing)
        add(suspect, WETDBG_REASON_RARELY, evidence->executed, locate->passing);
    if (evidence->executed && evidence->new_values)
        add(suspect, WETDBG_REASON_VALUES, evidence->new_values, evidence->values);
}

/* Where it ran in most of what is right, that says nothing. */
static void add_pieces(const struct wetdbg_locate *locate, struct wetdbg_suspect *suspect)
{
    const struct wetdbg_evidence *evidence = &suspect->evidence;

    if (!locate->pieces || !evidence->piece_bits || 3 * evidence->pieces > locate->pieces)
        return;
    if (locate->pieces_kind == WETDBG_PIECES_OUTPUT && evidence->in_failing_piece)
        add(suspect, WETDBG_REASON_PIECE, evidence->pieces, locate->pieces);
    if (locate->pieces_kind == WETDBG_PIECES_STEPS && evidence->pieces_ago <= STEPS_NAMED)
        add(suspect, WETDBG_REASON_STEP, evidence->pieces + evidence->in_failing_piece,
            locate->pieces + 1);
}

static void add_slice(struct wetdbg_suspect *suspect)
{
    const struct wetdbg_evidence *evidence = &suspect->evidence;

    if (!evidence->in_slice) {
        bool is_beyond = evidence->in_data || evidence->in_thin;
        add(suspect, is_beyond ? WETDBG_REASON_LONG_AGO : WETDBG_REASON_OUTSIDE, 0, 0);
        return;
    }
    if (evidence->decision && evidence->decision <= DECISIONS_NAMED)
        add(suspect, WETDBG_REASON_DECISION, evidence->decision, 0);
    if (evidence->distance)
        add(suspect, WETDBG_REASON_DISTANCE, evidence->distance, 0);
}

/* Where nearly nothing is sure, that a line is not says nothing. */
static bool tells_apart(const struct wetdbg_locate *locate)
{
    return locate->is_pruned && locate->sure * 5 >= locate->judged;
}

void loc_reasons(const struct wetdbg_locate *locate, struct wetdbg_suspect *suspect)
{
    const struct wetdbg_evidence *evidence = &suspect->evidence;

    suspect->reason_count = 0;
    if (evidence->mutated_well)
        add(suspect, WETDBG_REASON_MUTANT,
            evidence->mutated_exactly ? evidence->mutated_exactly : evidence->mutated_well,
            evidence->mutated);
    if (evidence->is_switched)
        add(suspect, WETDBG_REASON_SWITCH, evidence->change.instance, evidence->trial);
    if (evidence->repaired)
        add(suspect, WETDBG_REASON_REPAIR,
            evidence->repaired_exactly ? evidence->repaired_exactly : evidence->repaired,
            evidence->replaced);
    if (evidence->implied)
        add(suspect, WETDBG_REASON_IMPLICIT, evidence->implied, 0);
    if (evidence->in_slice && !evidence->distance)
        add(suspect, WETDBG_REASON_CRITERION, 0, 0);
    if (suspect->beside)
        add(suspect, WETDBG_REASON_BESIDE, suspect->beside, 0);
    add_passing(locate, suspect);
    add_pieces(locate, suspect);
    if (locate->slice_lines)
        add_slice(suspect);
    if (tells_apart(locate) && evidence->is_judged && evidence->confidence < 1) {
        add(suspect, WETDBG_REASON_UNSURE, 0, 0);
        suspect->reasons[suspect->reason_count - 1].share = evidence->confidence;
    }
    if (locate->is_tested && evidence->in_test)
        add(suspect, WETDBG_REASON_TEST, 0, 0);
}
