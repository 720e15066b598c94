/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/nav/thread.h"

#include <inttypes.h>

#include "dbgcli/nav/place.h"
#include <wetdbg/errors.h>

bool cli_has_threads(const struct cli_session *session)
{
    return session->info->threads > 1;
}

void cli_thread_print(struct cli_out *out, const struct wetdbg_thread *thread)
{
    if (!thread) {
        fputs("no thread", out->stream);
        return;
    }
    fprintf(out->stream, "thread %" PRIu32 " (", thread->index + 1);
    cli_out_text(out, thread->name);
    putc(')', out->stream);
}

void cli_thread_to_json(json_t *object, const struct cli_session *session,
                        const struct wetdbg_thread *thread)
{
    if (!cli_has_threads(session))
        return;
    cli_json_set(object, "thread",
                 thread ? cli_json_count((uint64_t)thread->index + 1) : json_null());
    cli_json_set(object, "tid", thread && thread->tid ? json_integer(thread->tid) : json_null());
    cli_json_set(object, "thread_name", cli_json_text(thread ? thread->name : NULL));
}

static int note_signal(void *context, const struct wetdbg_event *event)
{
    struct wetdbg_event *last = context;
    if (event->kind == WETDBG_EVENT_FAULT || event->kind == WETDBG_EVENT_SIGNAL ||
        event->kind == WETDBG_EVENT_SWITCH)
        *last = *event;
    return 0;
}

const struct wetdbg_thread *cli_thread_struck(struct wetdbg *wet)
{
    const struct wetdbg_info *info = wetdbg_get_info(wet);
    struct wetdbg_event last = {0};
    if (!info->signal || info->threads < 2 || wetdbg_each_event(wet, note_signal, &last) < 0 ||
        last.time + 1 != info->signal_time)
        return NULL;
    return wetdbg_thread_of(wet, last.task, last.time);
}

const struct wetdbg_thread *cli_thread_at(const struct cli_session *session, wetdbg_time time)
{
    const struct wetdbg_thread *thread = wetdbg_thread_at(session->wet, time);
    return !thread && time == session->info->signal_time ? session->struck : thread;
}

void cli_thread_print_at(const struct cli_session *session, wetdbg_time time)
{
    if (!cli_has_threads(session))
        return;
    putc(' ', session->out->stream);
    cli_thread_print(session->out, cli_thread_at(session, time));
}

void cli_thread_to_json_at(json_t *object, const struct cli_session *session, wetdbg_time time)
{
    cli_thread_to_json(object, session, cli_thread_at(session, time));
}

int cli_thread_find(const struct cli_session *session, const char *text,
                    const struct wetdbg_thread **thread)
{
    uint64_t number;
    size_t count;
    const struct wetdbg_thread *threads = wetdbg_threads(session->wet, &count);
    if (!cli_number_parse(text, &number))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "thread: '%s' is no number", text);
    if (number < 1 || number > count)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                           "there is no thread %" PRIu64 ": there are 1 to %zu", number, count);
    *thread = &threads[number - 1];
    return 0;
}

/* How many events are uncertain before a time. They are in order of time. One after instruction t
 * is part of the state at t + 1. */
size_t cli_uncertain_before(const struct cli_session *session, wetdbg_time time)
{
    size_t low = 0, high;
    const struct wetdbg_ambiguous *events = wetdbg_ambiguous_events(session->wet, &high);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (events[middle].time < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void cli_uncertain_print(const struct cli_session *session, wetdbg_time time)
{
    size_t count = cli_uncertain_before(session, time);
    if (count)
        fprintf(session->out->stream,
                "(uncertain: %zu event%s before this may have come at another moment; see 'info "
                "ambiguous')\n",
                count, count == 1 ? "" : "s");
}

void cli_uncertain_to_json(json_t *object, const struct cli_session *session, wetdbg_time time)
{
    if (session->info->ambiguous)
        cli_json_set(object, "ambiguous_events",
                     cli_json_count(cli_uncertain_before(session, time)));
}
