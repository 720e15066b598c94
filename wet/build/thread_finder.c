/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Slots of tasks are used again, so a thread is a slot and an interval of time. Instructions belong
 * to the task of the next entry that is run to: entries of other tasks come in between only where
 * nothing runs.
 */
#include "wet/build/thread_finder.h"

#include <string.h>
#include <sys/syscall.h>

#include "wet/trace/stored_entry.h"

void wet_thread_finder_init(struct wet_thread_finder *finder, const struct rep_info *info)
{
    const char *slash = strrchr(info->exe, '/');
    *finder = (struct wet_thread_finder){.pid = info->pid, .forks_left = info->fork_count};
    strncpy(finder->first_name, slash ? slash + 1 : info->exe, WET_THREAD_NAME_BYTES - 1);
}

void wet_thread_finder_fini(struct wet_thread_finder *finder)
{
    wd_buf_fini(&finder->threads);
    wd_buf_fini(&finder->turns);
    wd_buf_fini(&finder->ambiguous);
}

static struct wet_thread_record *thread_at(struct wet_thread_finder *finder, uint32_t index)
{
    return (struct wet_thread_record *)finder->threads.data + index;
}

/* `parent` is 1 + its number, 0 if there is none. */
static int thread_add(struct wet_thread_finder *finder, uint32_t slot, uint64_t tid,
                      uint32_t parent, uint64_t time)
{
    struct wet_thread_record record = {.tid = (int32_t)tid,
                                       .slot = slot,
                                       .parent = parent ? parent - 1 : WET_THREAD_NONE,
                                       .start = time + 1};
    memcpy(record.name, parent ? thread_at(finder, parent - 1)->name : finder->first_name,
           sizeof(record.name));
    finder->by_slot[slot] = (uint32_t)(finder->threads.size_bytes / sizeof(record)) + 1;
    finder->in_clone[slot] = false;
    return wd_buf_append(&finder->threads, &record, sizeof(record));
}

static int turn_until(struct wet_thread_finder *finder, uint32_t slot, uint64_t time)
{
    const struct wet_turn_record *turns = (const void *)finder->turns.data;
    size_t count = finder->turns.size_bytes / sizeof(*turns);
    struct wet_turn_record turn = {.first_time = finder->assigned + 1,
                                   .thread = finder->by_slot[slot] - 1};
    if (time <= finder->assigned)
        return 0;
    finder->assigned = time;
    if (count && turns[count - 1].thread == turn.thread)
        return 0;
    return wd_buf_append(&finder->turns, &turn, sizeof(turn));
}

static int place_note(struct wet_thread_finder *finder, const struct evq_entry *entry,
                      uint64_t time)
{
    const struct evq_place *place = evq_entry_place(entry);
    if (!place || place->flags & EVQ_PLACE_HERE)
        return 0;
    finder->places++;
    if (!(place->flags & EVQ_PLACE_AMBIGUOUS))
        return 0;
    struct wet_ambiguous_record record = {.time = time,
                                          .frame = entry->frame,
                                          .thread = finder->by_slot[entry->task] - 1,
                                          .signal = entry->number};
    return wd_buf_append(&finder->ambiguous, &record, sizeof(record));
}

static bool is_clone(int32_t number)
{
    return number == SYS_fork || number == SYS_vfork || number == SYS_clone || number == SYS_clone3;
}

/* A fork that is followed: the thread goes on as the child's only one. */
static void fork_note(struct wet_thread_finder *finder, const struct evq_entry *entry)
{
    const struct evq_regs *regs = evq_entry_loads(entry);
    if (entry->kind == EVQ_SYSCALL_ENTER)
        finder->in_clone[entry->task] = is_clone(entry->number);
    if (!regs || !finder->in_clone[entry->task])
        return;
    finder->in_clone[entry->task] = false;
    if (regs->r[EVQ_RAX] || !finder->forks_left)
        return;
    finder->forks_left--;
    thread_at(finder, finder->by_slot[entry->task] - 1)->tid = finder->forks_left ? 0 : finder->pid;
}

int wet_thread_finder_entry(struct wet_thread_finder *finder, const struct evq_entry *entry,
                            uint64_t time)
{
    int err = 0;
    if (entry->kind == EVQ_END) /* nobody's, and maybe after everybody's end */
        return 0;
    if (!finder->by_slot[entry->task])
        err = thread_add(finder, entry->task, finder->forks_left ? 0 : (uint64_t)finder->pid, 0,
                         time);
    if (!err && wet_entry_is_reached(entry))
        err = turn_until(finder, entry->task, time);
    if (!err)
        err = place_note(finder, entry, time);
    uint32_t thread = finder->by_slot[entry->task];
    for (const struct evq_op *op = NULL; !err && (op = evq_op_next(entry, op));) {
        if (op->op == EVQ_OP_TASK_NEW)
            err = thread_add(finder, (uint32_t)op->task_new.task, op->task_new.tid, thread, time);
    }
    if (err)
        return err;
    fork_note(finder, entry);
    if (finder->has_comm)
        memcpy(thread_at(finder, thread - 1)->name, finder->comm, sizeof(finder->comm));
    finder->has_comm = false;
    if (entry->kind == EVQ_TASK_EXIT) {
        thread_at(finder, thread - 1)->end = time;
        thread_at(finder, thread - 1)->flags |= WET_THREAD_ENDED;
        finder->by_slot[entry->task] = 0;
    }
    return 0;
}

void wet_thread_finder_captured(struct wet_thread_finder *finder, uint64_t tag, const void *bytes,
                                size_t count)
{
    if (tag != REP_CAPTURE_COMM)
        return;
    memset(finder->comm, 0, sizeof(finder->comm));
    memcpy(finder->comm, bytes, count < sizeof(finder->comm) ? count : sizeof(finder->comm) - 1);
    size_t length = strnlen(finder->comm, sizeof(finder->comm) - 1);
    memset(finder->comm + length, 0, sizeof(finder->comm) - length);
    finder->has_comm = true;
}

int wet_thread_finder_end(struct wet_thread_finder *finder, uint64_t instructions, uint32_t slot)
{
    int err = 0;
    if (!finder->by_slot[slot] && finder->assigned < instructions)
        err = thread_add(finder, slot, 0, 0, finder->assigned);
    if (!err && finder->by_slot[slot])
        err = turn_until(finder, slot, instructions);
    for (uint32_t i = 0; !err && i < EVQ_TASKS_MAX; i++) {
        if (finder->by_slot[i])
            thread_at(finder, finder->by_slot[i] - 1)->end = instructions;
    }
    return err;
}
