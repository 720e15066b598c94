/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The virtual kernel against a recording: each call of FILE.wet is asked of the model before its
 * recorded answer is told.
 *
 *     recorded_calls FILE.wet [BEFORE]
 *
 * prints a line for each call that the model answers otherwise ("different") or not ("unknown"),
 * then the totals. BEFORE is when the recording began, in seconds since 1970: what has not changed
 * on the disk since then is looked up there. 1: something could not be told.
 *
 * The program then brings new kernels to ten times of the run, as a switched run would, lets each
 * go live, and makes the recorded calls from there on: their answers are to be those of the
 * recording, as long as one thread runs.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "common/array.h"
#include "predicate_switch/kernel/vk.h"
#include "recorder/event/ops.h"
#include "wet/intervals.h"
#include <wetdbg/errors.h>

#define PIECES_MAX 4096

struct entry {
    uint64_t time;
    const struct evq_entry *is;
};

struct passing {
    struct wetdbg *wet;
    struct entry *entries;
    size_t count, capacity;
    struct wetdbg_state *state;
    uint64_t at; /* time of the state */
    struct vk_history *history;
    struct vk_memory memory;
    bool is_in_call[EVQ_TASKS_MAX];
    struct evq_entry arrived[EVQ_TASKS_MAX];
    struct vk_piece pieces[PIECES_MAX];
    size_t piece_count, early;
    uint32_t task;
};

static int entry_keep(void *arg, const struct wet_event *event)
{
    struct passing *p = arg;
    struct evq_entry *copy = malloc(event->entry->bytes);
    if (!copy || wd_grow(p->entries, p->capacity, p->count + 1))
        return -ENOMEM;
    memcpy(copy, event->entry, event->entry->bytes);
    p->entries[p->count++] = (struct entry){event->time, copy};
    return 0;
}

/* Memory just before instruction `time`. */
static int state_at(struct passing *p, uint64_t time)
{
    uint64_t last = wetdbg_get_info(p->wet)->last_time + 1;
    time = time < last ? time : last;
    if (p->state && p->at == time)
        return 0;
    p->at = time;
    int err = p->state ? wetdbg_state_advance(p->state, time) : -WETDBG_ERR_NOT_FOUND;
    if (err == -WETDBG_ERR_NOT_FOUND) {
        wetdbg_state_close(p->state);
        p->state = NULL;
        err = wetdbg_state_open(p->wet, time, &p->state);
    }
    return err;
}

static int memory_read(void *arg, uint64_t address, void *bytes, size_t size)
{
    struct passing *p = arg;
    return wetdbg_state_read(p->state, address, bytes, size);
}

static int start(struct passing *p, int64_t before)
{
    const struct wetdbg_info *info = wetdbg_get_info(p->wet);
    const struct wetdbg_mapping *maps;
    size_t count;
    int err = state_at(p, 1);
    if (!err)
        err = wetdbg_state_mappings(p->state, &maps, &count);
    struct vk_mapping *mappings = err ? NULL : calloc(count + 1, sizeof(*mappings));
    for (size_t i = 0; mappings && i < count; i++)
        mappings[i] = (struct vk_mapping){maps[i].start, maps[i].end, maps[i].prot, maps[i].name};
    struct vk_start start = {.pid = info->pid,
                             .task = p->task,
                             .exe = info->program,
                             .mappings = mappings,
                             .mapping_count = count,
                             .cwd = getenv("RECORDED_IN"),
                             .disk_before_ns = before * 1000000000};
    err = mappings ? vk_history_new(&start, &p->history) : err ? err : -ENOMEM;
    free(mappings);
    if (!err)
        vk_history_stack(p->history, wet_state_regs(p->state)->r[EVQ_RSP], &p->memory);
    return err;
}

/* ---- one entry ---- */

static void pieces_note(struct passing *p, const struct evq_entry *entry)
{
    for (const struct evq_op *op = NULL; (op = evq_op_next(entry, op));)
        if (op->op == EVQ_OP_WRITE && p->piece_count < PIECES_MAX)
            p->pieces[p->piece_count++] =
                (struct vk_piece){op->range.start, op->range.size, evq_op_payload(op)};
}

static int space_tell(struct passing *p, const struct entry *e)
{
    int err = 0;
    for (const struct evq_op *op = NULL; !err && (op = evq_op_next(e->is, op));) {
        int prot = op->op == EVQ_OP_MAP       ? (int)op->map.prot
                   : op->op == EVQ_OP_PROTECT ? (int)op->protect.prot
                                              : -1;
        if (op->op == EVQ_OP_MAP || op->op == EVQ_OP_UNMAP || op->op == EVQ_OP_PROTECT)
            err = vk_history_space(p->history, e->time, e->is->task, op->range.start,
                                   op->range.size, prot, "");
    }
    return err;
}

static int begin(struct passing *p, const struct entry *e)
{
    const struct evq_regs *r = evq_entry_regs(e->is);
    struct vk_call call = {.when = e->time,
                           .task = e->is->task,
                           .number = e->is->number,
                           .args = {r->r[EVQ_RDI], r->r[EVQ_RSI], r->r[EVQ_RDX], r->r[EVQ_R10],
                                    r->r[EVQ_R8], r->r[EVQ_R9]},
                           .stack = r->r[EVQ_RSP]};
    int err = state_at(p, e->time);
    if (!err)
        err = vk_history_begin(p->history, &call, &p->memory);
    p->is_in_call[e->is->task] = true;
    p->piece_count = 0;
    pieces_note(p, e->is);
    for (const struct evq_op *op = NULL; !err && (op = evq_op_next(e->is, op));)
        if (op->op == EVQ_OP_TASK_NEW)
            err = vk_history_task_new(p->history, e->time, e->is->task, (uint32_t)op->task_new.task,
                                      (int)op->task_new.tid);
    return err ? err : space_tell(p, e);
}

static int end(struct passing *p, const struct entry *e)
{
    const struct evq_regs *loads = evq_entry_loads(e->is);
    int err = state_at(p, e->time + 1);
    pieces_note(p, e->is);
    if (!err && p->is_in_call[e->is->task])
        err =
            vk_history_end(p->history, e->is->task, e->time, loads ? (int64_t)loads->r[EVQ_RAX] : 0,
                           p->pieces, p->piece_count, &p->memory);
    p->is_in_call[e->is->task] = false;
    p->piece_count = 0;
    for (; !err && p->early; p->early--) /* memory that it mapped, too large for one entry */
        err = space_tell(p, e - p->early);
    p->early = 0;
    return err ? err : space_tell(p, e);
}

static int signal_tell(struct passing *p, const struct entry *e)
{
    struct evq_entry *arrived = &p->arrived[e->is->task];
    const struct evq_regs *loads = evq_entry_loads(e->is), *was = evq_entry_regs(e->is);
    uint8_t info[128];
    bool calls = loads && was && loads->r[EVQ_RIP] != was->r[EVQ_RIP] &&
                 loads->r[EVQ_RDI] == (uint64_t)arrived->number;
    int err = state_at(p, e->time + 1);
    bool has_info = !err && calls && !memory_read(p, loads->r[EVQ_RSI], info, sizeof(info));
    if (!err)
        err = vk_history_signal(p->history, e->time, e->is->task, arrived->number,
                                has_info ? info : NULL, arrived->kind == EVQ_FAULT, calls);
    arrived->kind = 0;
    return err;
}

static int entry_tell(struct passing *p, const struct entry *e)
{
    const struct evq_entry *entry = e->is;
    int err = 0;
    if (entry->task != p->task && entry->kind != EVQ_END && !p->is_in_call[p->task])
        err = vk_history_switch(p->history, e->time, entry->task);
    p->task = entry->task;
    if (err)
        return err;
    switch (entry->kind) {
    case EVQ_SYSCALL_ENTER:
        return begin(p, e);
    case EVQ_SYSCALL_EXIT:
        return end(p, e);
    case EVQ_FAULT:
    case EVQ_PLACE:
        if (entry->number)
            p->arrived[entry->task] = *entry;
        return 0;
    case EVQ_OPS:
        if (p->arrived[entry->task].kind && entry->number == p->arrived[entry->task].number)
            return signal_tell(p, e);
        pieces_note(p, entry);
        if (p->is_in_call[entry->task])
            return p->early++, 0;
        return space_tell(p, e);
    case EVQ_TASK_EXIT:
        return vk_history_task_end(p->history, e->time, entry->task);
    default:
        return 0;
    }
}

/* ---- what differs ---- */

static void say(void *arg, const struct vk_difference *d)
{
    enum vk_modelled how;
    const char *name = vk_call_name(d->number, &how, NULL);
    (void)arg;
    printf("%s\t%" PRIu64 "\t%s\t%" PRId64 "\t%s\n", d->is_unknown ? "unknown" : "different",
           d->when, name ? name : "?", d->recorded, d->text);
}

/* ---- from some time on, live ---- */

static bool has_threads(const struct passing *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->entries[i].is->task != p->entries[0].is->task)
            return true;
    return false;
}

struct live {
    struct passing *p;
    struct vk_kernel *kernel;
    uint64_t from, calls, equal;
    char text[256];
};

static bool is_async(const struct evq_entry *entry)
{
    return entry->kind == EVQ_FAULT || entry->kind == EVQ_PLACE;
}

/* The recorded answer to the call that entries[i] begins; NULL: none. */
static const struct entry *answer_of(const struct passing *p, size_t i)
{
    for (size_t k = i + 1; k < p->count; k++)
        if (p->entries[k].is->task == p->entries[i].is->task &&
            (p->entries[k].is->kind == EVQ_SYSCALL_EXIT || is_async(p->entries[k].is)))
            return p->entries[k].is->kind == EVQ_SYSCALL_EXIT ? &p->entries[k] : NULL;
    return NULL;
}

static void compare_writes(struct live *live, const struct vk_outcome *out)
{
    for (size_t i = 0; i < out->op_count && !*live->text; i++) {
        const struct vk_op *op = &out->ops[i];
        uint8_t *found = op->kind == VK_OP_WRITE ? malloc(op->size) : NULL;
        if (found && !memory_read(live->p, op->start, found, op->size))
            for (uint64_t at = 0; at < op->size && !*live->text; at++)
                if (found[at] != op->bytes[at])
                    snprintf(live->text, sizeof(live->text),
                             "byte %" PRIu64 " at %#" PRIx64 " is %#x, recorded %#x", at, op->start,
                             op->bytes[at], found[at]);
        free(found);
    }
}

static int live_call(struct live *live, size_t i)
{
    struct passing *p = live->p;
    const struct entry *e = &p->entries[i], *answer = answer_of(p, i);
    const struct evq_regs *r = evq_entry_regs(e->is);
    const struct evq_regs *loads = answer ? evq_entry_loads(answer->is) : NULL;
    struct vk_call call = {.when = e->time,
                           .task = e->is->task,
                           .number = e->is->number,
                           .args = {r->r[EVQ_RDI], r->r[EVQ_RSI], r->r[EVQ_RDX], r->r[EVQ_R10],
                                    r->r[EVQ_R8], r->r[EVQ_R9]},
                           .stack = r->r[EVQ_RSP]};
    struct vk_outcome out;
    int err = state_at(p, e->time);
    if (!err)
        err = vk_call(live->kernel, &call, &p->memory, &out);
    if (err)
        return err;
    live->calls++;
    if (!answer || call.number == SYS_rt_sigreturn)
        return out.then == VK_THEN_RUN ? 0 : 1;
    if (out.then == VK_THEN_UNRESOLVED)
        snprintf(live->text, sizeof(live->text), "unresolved: %s", out.reason);
    else if (out.then != VK_THEN_RUN || !out.returns || out.result != (int64_t)loads->r[EVQ_RAX])
        snprintf(live->text, sizeof(live->text), "then %d, result %" PRId64 ", recorded %" PRId64,
                 out.then, out.result, (int64_t)loads->r[EVQ_RAX]);
    else if (!(err = state_at(p, answer->time + 1)))
        compare_writes(live, &out);
    live->equal += !*live->text;
    return err;
}

/* From time `from` on, until a call differs, a signal comes, or the run ends. */
static int live_from(struct passing *p, uint64_t from)
{
    enum vk_modelled how;
    struct live live = {.p = p, .from = from};
    struct vk_outcome out;
    int err = vk_kernel_new(p->history, &live.kernel);
    if (!err)
        err = vk_kernel_advance(live.kernel, from);
    if (!err)
        err = vk_kernel_live(live.kernel, from, p->entries[0].is->task, &out);
    wetdbg_state_close(p->state);
    p->state = NULL;
    size_t i = 0;
    while (i < p->count && p->entries[i].time < from)
        i++;
    for (; !err && i < p->count && !*live.text && !is_async(p->entries[i].is); i++) {
        if (p->entries[i].is->kind == EVQ_SYSCALL_ENTER)
            err = live_call(&live, i);
        if (err || *live.text)
            break;
    }
    printf("live\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s%s%s\n", from, live.calls,
           live.equal, i < p->count ? p->entries[i].time : 0,
           *live.text ? vk_call_name(p->entries[i].is->number, &how, NULL) : "",
           *live.text ? ": " : "", live.text);
    vk_kernel_free(live.kernel);
    return err < 0 ? err : 0;
}

static int pass(struct passing *p, int64_t before)
{
    int err = wet_each_entry(p->wet, entry_keep, p);
    size_t i = 0;
    while (!err && i < p->count && p->entries[i].time == 0 &&
           p->entries[i].is->kind != EVQ_SYSCALL_ENTER)
        i++;
    p->task = i < p->count ? p->entries[i].is->task : 0;
    if (!err)
        err = start(p, before);
    for (; !err && i < p->count; i++)
        err = entry_tell(p, &p->entries[i]);
    if (!err)
        err = vk_history_finish(p->history, wetdbg_get_info(p->wet)->last_time);
    if (err)
        return err;
    struct vk_score score = vk_history_score(p->history);
    vk_history_differences(p->history, say, NULL);
    printf("calls\t%" PRIu64 "\tequal\t%" PRIu64 "\tunknown\t%" PRIu64 "\tdifferent\t%" PRIu64 "\n",
           score.calls, score.equal, score.unknown, score.different);
    uint64_t last = wetdbg_get_info(p->wet)->last_time;
    for (uint64_t k = 0; k < 10 && !err && !has_threads(p); k++)
        err = live_from(p, 1 + last / 10 * k);
    return err;
}

int main(int argc, char **argv)
{
    struct passing *p = calloc(1, sizeof(*p));
    if (argc < 2 || !p)
        return 2;
    p->memory = (struct vk_memory){memory_read, p};
    int err = wetdbg_open(argv[1], &p->wet);
    if (!err)
        err = pass(p, argc > 2 ? strtoll(argv[2], NULL, 10) : 0);
    if (err)
        fprintf(stderr, "%s\n", wetdbg_error(err));
    vk_history_free(p->history);
    wetdbg_state_close(p->state);
    wetdbg_close(p->wet);
    for (size_t i = 0; i < p->count; i++)
        free((void *)p->entries[i].is);
    free(p->entries);
    free(p);
    return err ? 1 : 0;
}
