/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For loops that wait or count while something asynchronous is due. */
#ifndef TESTS_PROGRAMS_LINGER_H
#define TESTS_PROGRAMS_LINGER_H

/* Spends some ten thousand cycles that leave no trace in registers or memory: few turns until the
 * event, so that whoever looks for its place turn by turn is done soon. */
static inline void linger(void)
{
    __asm__ volatile(".rept 64\n\tfldpi\n\tfsin\n\tfstp %%st(0)\n\t.endr" : : : "st", "cc");
}

#endif
