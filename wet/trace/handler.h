/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signal handlers that begin and end, as entries tell. */
#ifndef WET_TRACE_HANDLER_H
#define WET_TRACE_HANDLER_H

#include "recorder/event/queue.h"

/* 1 if the entry calls a signal handler, -1 if it begins the system call that ends one, else 0. */
int wet_handler_change(const struct evq_entry *entry);

/* Where the handler that an entry calls will return to: what the entry writes at its new stack
 * pointer. */
uint64_t wet_handler_return(const struct evq_entry *entry);

#endif
