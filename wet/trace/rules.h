/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What single records of a .wet file must be like (docs/format.md). Whoever opens a file and
 * whoever verifies one ask here; what concerns several sections is in wet/verify.
 */
#ifndef WET_TRACE_RULES_H
#define WET_TRACE_RULES_H

#include <stdbool.h>

#include "recorder/event/queue.h"
#include "recorder/replay/engine.h"
#include "wet/trace/records.h"
#include "wet/trace/space.h"

#define WET_ADDRESS_END 0x7ffffffff000ull

/* Whether a span is sane; `previous_end` is that of the span before, 0 for the first. */
bool wet_rule_span(const struct rep_span *span, uint64_t previous_end);

/* Whether [start, +bytes) lies in one of the spans, which are sane. */
bool wet_rule_in_spans(const struct rep_span *spans, size_t count, uint64_t start, uint64_t bytes);

bool wet_rule_node(const struct wet_node_record *node);
bool wet_rule_object(const struct wet_object *object, uint64_t file_count);
bool wet_rule_interval(const struct wet_index_record *interval, uint64_t first_time);

/* Whether thread number i is sane, of a file whose last instruction is `last_time`. */
bool wet_rule_thread(const struct wet_thread_record *thread, uint64_t i, uint64_t last_time);

/* Whether a view shows part of an object. */
bool wet_rule_view(const struct agt_view *view, const struct wet_object *objects, size_t count);

/* Whether an entry that passes evq_entry_check() is as wet_entry_for_store() makes them. */
bool wet_rule_entry(const struct evq_entry *entry, uint64_t time);

/* Whether a jump's pair may follow another one. */
bool wet_rule_jump(const struct wet_jump_record *before, const struct wet_jump_record *jump);

#endif
