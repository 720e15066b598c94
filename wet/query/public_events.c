/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entries as the events that the library's users see. */
#include "wet/query/public_events.h"

#include <stddef.h>
#include <sys/user.h>

#include "recorder/event/ops.h"
#include "wet/trace/handler.h"

/* Registers of an entry are passed on as they are. */
_Static_assert(sizeof(struct evq_regs) == sizeof(struct user_regs_struct), "the same registers");
_Static_assert(offsetof(struct user_regs_struct, rip) == EVQ_RIP * sizeof(uint64_t),
               "in the same order");
_Static_assert(offsetof(struct user_regs_struct, gs) == EVQ_GS * sizeof(uint64_t),
               "in the same order");

const struct user_regs_struct *wet_registers_of(const struct evq_regs *regs)
{
    return (const struct user_regs_struct *)regs;
}

static enum wetdbg_event_kind kind_of(const struct evq_entry *entry)
{
    switch (entry->kind) {
    case EVQ_SYSCALL_ENTER:
        return WETDBG_EVENT_CALL;
    case EVQ_SYSCALL_EXIT:
        return WETDBG_EVENT_CALL_END;
    case EVQ_TRAP:
        return WETDBG_EVENT_TRAP;
    case EVQ_FAULT:
        return WETDBG_EVENT_FAULT;
    case EVQ_PLACE:
        return entry->number ? WETDBG_EVENT_SIGNAL : WETDBG_EVENT_SWITCH;
    case EVQ_TASK_EXIT:
        return WETDBG_EVENT_THREAD_END;
    default:
        return WETDBG_EVENT_OTHER;
    }
}

struct wetdbg_event wet_event_of(const struct wet_event *event)
{
    const struct evq_entry *entry = event->entry;
    bool is_handler = wet_handler_change(entry) > 0;
    return (struct wetdbg_event){
        .time = event->time,
        .task = event->task,
        .kind = kind_of(entry),
        .number = entry->number,
        .code = entry->code,
        .address = entry->address,
        .frame = entry->frame,
        .registers = wet_registers_of(evq_entry_loads(entry)),
        .calls_handler = is_handler,
        .handler_return = is_handler ? wet_handler_return(entry) : 0,
    };
}

struct each {
    wetdbg_event_fn fn;
    void *arg;
};

static int pass(void *arg, const struct wet_event *event)
{
    struct each *each = arg;
    const struct wetdbg_event is = wet_event_of(event);
    return each->fn(each->arg, &is);
}

int wetdbg_each_event(struct wetdbg *wet, wetdbg_event_fn fn, void *arg)
{
    struct each each = {fn, arg};
    return wet_each_entry(wet, pass, &each);
}

const struct user_regs_struct *wetdbg_state_registers(const struct wetdbg_state *state)
{
    return wet_registers_of(wet_state_regs(state));
}
