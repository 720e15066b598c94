/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entries of the event queue as the events that the library's users see. */
#ifndef WET_QUERY_PUBLIC_EVENTS_H
#define WET_QUERY_PUBLIC_EVENTS_H

#include "wet/intervals.h"

/* An event as the library's users see it. Its registers are the entry's, and live as long. */
struct wetdbg_event wet_event_of(const struct wet_event *event);

/* An entry's registers as users see them: those of entries have the order of the system's. NULL
 * gives NULL. */
const struct user_regs_struct *wet_registers_of(const struct evq_regs *regs);

#endif
