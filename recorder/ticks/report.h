/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lines that the preload sends to whoever started rr (protocol.h). */
#ifndef RECORDER_TICKS_REPORT_H
#define RECORDER_TICKS_REPORT_H

/* Takes the descriptor that the environment names; without one nothing is ever sent. */
void tck_report_take(void);

void tck_report(const char *word, const char *rest);

/* The same with a number; may be called from a signal handler. */
void tck_report_number(const char *word, int number);

#endif
