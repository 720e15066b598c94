/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Value replacement: instances of a failing run whose value, had it been another one, would have
 * made the run a passing one. Where switches (<wetdbg/switch_search.h>) ask about decisions, this
 * asks about what statements compute, which may be wrong without any decision being so.
 *
 * D. Jeffrey, N. Gupta, R. Gupta, Fault Localization Using Value Replacement, ISSTA 2008, sections
 * 2 and 3. There the values that a statement uses are replaced by those that it used in other runs;
 * here the value that an instruction makes is, by *natural* ones, which it made at other instances,
 * of this run or of passing ones, and by a few near ones: one more, one less, 0 and 1. So less has
 * to be known: one failing run will do.
 *
 * Functions return 0 or a negative code (<wetdbg/errors.h>).
 */
#ifndef WETDBG_REPLACE_H
#define WETDBG_REPLACE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wetdbg/api.h>
#include <wetdbg/slice.h>
#include <wetdbg/switch.h>
#include <wetdbg/switch_search.h>
#include <wetdbg/wet.h>

WETDBG_BEGIN

/* One replaced value: what the instruction at `time` made is another one from the next one on. */
struct wetdbg_replacement {
    wetdbg_time time;
    uint64_t pc;
    size_t line;      /* in wetdbg_slice_lines() of the slice */
    int reg;          /* a general register, as struct wetdbg_effect has them; -1: memory */
    uint64_t address; /* of memory */
    unsigned size;    /* bytes, 1 to 8 */
    uint64_t was, is;
    uint32_t distance; /* of the instance, from what is wrong */
    enum wetdbg_verdict verdict;
};

/* What came of one line's replacements. */
struct wetdbg_replacement_counts {
    uint64_t tried;
    uint64_t verdicts[WETDBG_VERDICTS]; /* how many of these had each */
};

struct wetdbg_replacement_options {
    wetdbg_time until; /* instances of this time and later are left alone; 0: none are */
    /* Of each instruction so many of its instances in the slice, the nearest first; 0: 8. */
    unsigned instances;
    /* Passing runs of the same program: the values that they made count as natural, too. */
    struct wetdbg *const *passing;
    size_t passing_count;
    /* Ends: runs, and seconds; 0: none. What is running then is waited for. */
    uint64_t budget_trials;
    double budget_seconds;
    const volatile sig_atomic_t *interrupted; /* may be NULL; what was found is the answer then */
    void (*progress)(void *arg, uint64_t tried, uint64_t listed); /* may be NULL */
    void *arg;
};

struct wetdbg_replacement_result {
    /* Those that repair (no-crash or better), by verdict, then the nearest first. */
    struct wetdbg_replacement *items;
    size_t count;
    struct wetdbg_replacement_counts *lines; /* one for each of wetdbg_slice_lines() */
    uint64_t tried, listed;                  /* runs made; and all that there were to make */
    uint64_t unresolved;
    bool is_interrupted;
    double seconds;
};
void wetdbg_replacement_result_fini(struct wetdbg_replacement_result *result);

/*
 * Tries replacements of what the program's own code (<wetdbg/caller.h>) made in a backward slice of
 * what is wrong: results in general registers but the stack pointer, and of up to 8 bytes in
 * memory. A slice without record_parents has no distances, and the latest instances come first.
 * In rounds: of each instruction the nearest instance with its first value comes before any second
 * one. Natural values are those of the 16 last intervals with instances. `trials` are of the
 * slice's wet, and judge the runs. 0, also if nothing repairs, and wetdbg_replacement_result_fini()
 * is due. -ENOMEM; errors of running an interval, and of the trials' runs.
 */
int wetdbg_replacements_find(struct wetdbg_trials *trials, const struct wetdbg_slice *slice,
                             const struct wetdbg_replacement_options *options,
                             struct wetdbg_replacement_result *result);

WETDBG_END

#endif
