/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wet/trace/rules.h"

#include "common/bisect.h"
#include "common/page.h"
#include "recorder/agent/agent.h"
#include "recorder/dbi/dbi.h"
#include "wet/trace/stored_entry.h"

bool wet_rule_span(const struct rep_span *span, uint64_t previous_end)
{
    return span->start >= previous_end && span->start < span->end && span->end <= WET_ADDRESS_END &&
           wd_page_is_start(span->start | span->end);
}

bool wet_rule_in_spans(const struct rep_span *spans, size_t count, uint64_t start, uint64_t bytes)
{
    size_t at = wd_bisect(0, count, i, spans[i].end <= start);
    return at < count && spans[at].start <= start && start < spans[at].end &&
           bytes <= spans[at].end - start;
}

bool wet_rule_node(const struct wet_node_record *node)
{
    return node->id < AGT_COUNT_MAX && node->statements && node->statements <= DBI_INSN_MAX &&
           node->statements <= node->code_bytes && node->code_bytes <= UINT64_MAX - node->pc;
}

bool wet_rule_object(const struct wet_object *object, uint64_t file_count)
{
    bool is_mapping = wd_page_is_start(object->start) && object->start < WET_ADDRESS_END &&
                      object->bytes <= WET_ADDRESS_END - object->start && object->prot <= 7;
    bool is_source = object->file == EVQ_FILE_NONE ||
                     (object->file < file_count && wd_page_is_start(object->file_off) &&
                      object->file_off <= INT64_MAX - object->bytes);
    return is_mapping && is_source;
}

bool wet_rule_interval(const struct wet_index_record *interval, uint64_t first_time)
{
    return interval->first_time == first_time && interval->instructions <= WET_INTERVAL_MAX;
}

bool wet_rule_thread(const struct wet_thread_record *thread, uint64_t i, uint64_t last_time)
{
    return thread->tid >= 0 && thread->slot < EVQ_TASKS_MAX &&
           (thread->parent == WET_THREAD_NONE || thread->parent < i) && thread->start >= 1 &&
           thread->end <= last_time && thread->start <= thread->end + 1 &&
           !thread->name[sizeof(thread->name) - 1];
}

bool wet_rule_view(const struct agt_view *view, const struct wet_object *objects, size_t count)
{
    return view->start < view->end && view->file < count &&
           view->file_off <= objects[view->file].bytes &&
           view->end - view->start <= objects[view->file].bytes - view->file_off;
}

bool wet_rule_entry(const struct evq_entry *entry, uint64_t time)
{
    const struct evq_place *place = evq_entry_place(entry);
    const uint64_t known = EVQ_PLACE_TIME | EVQ_PLACE_HERE | WET_PLACE_FOUND;
    if (entry->flags & EVQ_FLAG_TICKS)
        return false;
    if (!place)
        return true;
    return place->flags & EVQ_PLACE_TIME && place->time == time && !(place->flags & ~known);
}

bool wet_rule_jump(const struct wet_jump_record *before, const struct wet_jump_record *jump)
{
    return before->jump < jump->jump ||
           (before->jump == jump->jump && before->target < jump->target);
}
