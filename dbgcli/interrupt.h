/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ctrl-C ends the query that runs, not the session. One per process: signals are. */
#ifndef DBGCLI_INTERRUPT_H
#define DBGCLI_INTERRUPT_H

#include <signal.h>
#include <stdbool.h>

/* Catches SIGINT from now on; `tell` (async-signal-safe, may be NULL) is called with `context`
 * for each. Without SA_RESTART: a read of a line is interrupted too. */
void cli_interrupt_catch(void (*tell)(void *context), void *context);

/* The same, and SIGTERM and SIGHUP (unless that is ignored) are taken for an interruption too: for
 * what has to clean up before the process ends. */
void cli_interrupt_catch_all(void);

/*
 * Between these two SIGTERM and SIGHUP (unless that is ignored) interrupt like the SIGINT that is
 * caught already: for a part of a session that has to clean up. The second one returns such a
 * signal that came, or 0; it is for the caller to end the process by it.
 */
void cli_interrupt_hold_ends(void);
int cli_interrupt_let_ends(void);

/* The signal that interrupted last, or 0. */
int cli_interrupt_signal(void);

/* These signals end the process again. */
void cli_interrupt_release(void);

bool cli_interrupt_is_pending(void);

/* wetdbg_interrupt() for those who poll a flag: non-zero once Ctrl-C came. */
const volatile sig_atomic_t *cli_interrupt_flag(void);

void cli_interrupt_clear(void);

#endif
