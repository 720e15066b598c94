/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A failing run held against passing ones: what of its slice they did, too, and measures of
 * suspicion by name.
 *
 * Sources of the measures: J. Jones, M. J. Harrold, Empirical evaluation of the Tarantula automatic
 * fault-localization technique, ASE 2005; R. Abreu, P. Zoeteweij, A. van Gemund, On the accuracy of
 * spectrum-based fault localization, TAIC PART 2007, section 2 (Ochiai, Jaccard); W. E. Wong, V.
 * Debroy, R. Gao, Y. Li, The DStar method for effective software fault localization, IEEE Trans.
 * Reliability 63(1), 2014 (with * = 2); L. Naish, H. J. Lee, K. Ramamohanarao, A model for
 * spectra-based software diagnosis, TOSEM 20(3), 2011 (Op2). They were made for many runs of either
 * kind; with one failing run and few passing ones many lines get the same score.
 *
 * Errors are 0, negative errno or -WETDBG_ERR_* with a sentence.
 */
#ifndef WETDBG_SPECTRUM_H
#define WETDBG_SPECTRUM_H

#include <stddef.h>
#include <stdint.h>

#include <wetdbg/api.h>
#include <wetdbg/slice.h>

WETDBG_BEGIN

enum wetdbg_measure {
    WETDBG_MEASURE_OCHIAI,    /* ef / sqrt(F (ef + ep)) */
    WETDBG_MEASURE_TARANTULA, /* (ef / F) / (ef / F + ep / P) */
    WETDBG_MEASURE_DSTAR,     /* ef^2 / (ep + nf); F^2 + 1 where that is divided by 0 */
    WETDBG_MEASURE_JACCARD,   /* ef / (F + ep) */
    WETDBG_MEASURE_OP2,       /* ef - ep / (P + 1) */
};

/* How many failing and passing runs did something (ef, ep), and did not (nf, np); F = ef + nf, P =
 * ep + np. */
struct wetdbg_spectrum {
    uint64_t fail_with, fail_without, pass_with, pass_without;
};

/* "ochiai", "tarantula", "dstar", "jaccard", "op2"; static. NULL for a number that is none. */
const char *wetdbg_measure_name(enum wetdbg_measure measure);

/* The measure of a name; -WETDBG_ERR_USAGE, with the list, if there is none. */
int wetdbg_measure_parse(const char *name, enum wetdbg_measure *measure);

/* The higher, the more suspicious. 0 for what no failing run did (op2: at most 0). */
double wetdbg_measure_score(enum wetdbg_measure measure, const struct wetdbg_spectrum *spectrum);

/* ---- a slice against passing runs ---- */

struct wetdbg_passing {
    struct wetdbg *wet;
    /* Of the same wet, of what corresponds to the failing run's criterion; NULL: there is none. */
    const struct wetdbg_slice *slice;
};

/* What passing runs did of one line of a failing run's slice. */
struct wetdbg_against {
    uint32_t executed; /* how many of them executed one of its instructions that are in the slice */
    uint32_t sliced;   /* how many have the line in their slice */
    /*
     * Values that these instructions made in the failing run's slice (results in general registers
     * and in memory, the first 4,096 different ones of each instruction), and how many of them no
     * passing run made there. What looks like an address (2^32 to 2^47) is no value: they differ
     * from run to run.
     */
    uint32_t values, new_values;
};

/* -WETDBG_ERR_USAGE, with a sentence, unless both are runs of the same program; `name` is what the
 * other is called. */
int wetdbg_check_same_program(struct wetdbg *wet, struct wetdbg *other, const char *name);

/*
 * The same instruction in a run of the same program, whose modules may lie elsewhere.
 * -WETDBG_ERR_NOT_FOUND, without a sentence, if the other run has no such module.
 */
int wetdbg_pc_in_other(struct wetdbg *wet, uint64_t pc, struct wetdbg *other, uint64_t *other_pc);

/*
 * For each of wetdbg_slice_lines(): what the passing runs did of it. For the
 * values intervals of these runs are run again: those in which an instruction ran of which the
 * failing run has values that no passing run has made so far. `is_unwanted` (may be NULL) is asked
 * before each. *lines is to be
 * freed. -WETDBG_ERR_USAGE for runs of other programs, and if no line of the slice is of the
 * program's own code; -WETDBG_ERR_INTERRUPTED, -ENOMEM; errors of running an interval.
 */
int wetdbg_slice_hold_against(const struct wetdbg_slice *slice,
                              const struct wetdbg_passing *passing, size_t count,
                              bool (*is_unwanted)(void *arg), void *arg,
                              struct wetdbg_against **lines);

WETDBG_END

#endif
