/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A run that never was: wet.h, model.h and slicer.h as far as the prompt's commands ask them, from
 * constants, so that what the commands print can be stated to the byte. The run:
 *
 *   1000 instructions; the one at time t is that of line 10 + (t - 1) % 8 in /src/main.c, function
 *   main, except the last ones, from time 993 on, in /src/lib/util.c, function helper, called
 *   from line 14 of main. It ends with SIGSEGV at time 1001, in helper. Memory is at 0x7000.
 */
#ifndef TESTS_CLI_FAKE_RUN_H
#define TESTS_CLI_FAKE_RUN_H

#include <stdbool.h>

/* What the next wetdbg_slice_backward() does. */
extern bool fake_slice_is_interrupted;
extern unsigned fake_path_turns; /* of a loop in the paths of slices */

/* Sets, from the next run on, 1 to 3 threads, of which the second one executes times 993 to 1000
 * and the third one nothing; and so many events of uncertain place, at times 500 and 993. */
void fake_set_threads(unsigned threads, unsigned ambiguous);

/* Whether the machine has k0 to k7 and the wide vector registers. */
extern bool fake_has_avx512;

/* How often a slice was computed. */
extern unsigned fake_slice_count;

#endif
