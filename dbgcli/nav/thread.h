/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads as the user sees them: numbered from 1 in the order in which they began, mentioned only
 * where the run has more than one. And whether an answer depends on events whose place in the run
 * is uncertain.
 */
#ifndef DBGCLI_NAV_THREAD_H
#define DBGCLI_NAV_THREAD_H

#include "dbgcli/commands/session.h"

bool cli_has_threads(const struct cli_session *session);

/* "thread 2 (worker)"; a NULL thread is "no thread". */
void cli_thread_print(struct cli_out *out, const struct wetdbg_thread *thread);

/* Adds thread, tid and thread_name, if the run has several threads. */
void cli_thread_to_json(json_t *object, const struct cli_session *session,
                        const struct wetdbg_thread *thread);

/* The thread that a fatal signal struck in the run; NULL if none did. */
const struct wetdbg_thread *cli_thread_struck(struct wetdbg *wet);

/* The thread that executed instruction `time`, or tried to when the signal struck; or NULL. */
const struct wetdbg_thread *cli_thread_at(const struct cli_session *session, wetdbg_time time);

/* Prints " thread 2 (worker)" for that thread, if there are several. */
void cli_thread_print_at(const struct cli_session *session, wetdbg_time time);
void cli_thread_to_json_at(json_t *object, const struct cli_session *session, wetdbg_time time);

/* The thread numbered `text`. -WETDBG_ERR_USAGE, -WETDBG_ERR_NOT_FOUND. */
int cli_thread_find(const struct cli_session *session, const char *text,
                    const struct wetdbg_thread **thread);

/* How many events of uncertain place come before the state at `time`. */
size_t cli_uncertain_before(const struct cli_session *session, wetdbg_time time);

/* One line that says so, if there are some; and the JSON member "ambiguous_events", if the run has
 * any at all. */
void cli_uncertain_print(const struct cli_session *session, wetdbg_time time);
void cli_uncertain_to_json(json_t *object, const struct cli_session *session, wetdbg_time time);

#endif
