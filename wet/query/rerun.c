/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Running an interval again: bring the space to the interval's start, have the replayee map it,
 * load the registers, give it the interval's entries.
 *
 * The replayee maps the space's memory file privately, so nothing is copied; what it writes stays
 * its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/page.h"
#include "recorder/feed/feed.h"
#include "wet/query/wet_priv.h"
#include "wet/trace/rules.h"
#include "wet/trace/stored_entry.h"
#include <wetdbg/errors.h>

#define LAST_MARGIN (1u << 20)

static int damaged(const struct wetdbg *wet, const char *what, uint64_t k)
{
    return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: damaged %s of interval %llu",
                       wet_store_path(wet->store), what, (unsigned long long)k);
}

/* Reads a section of an interval; each interval has all of them. */
static int section_read(const struct wetdbg *wet, uint32_t kind, uint64_t k, struct wd_buf *out)
{
    int err = wet_store_read(wet->store, kind, k, out);
    return err == -WETDBG_ERR_NOT_FOUND
               ? wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: section %u of interval %llu is missing",
                             wet_store_path(wet->store), kind, (unsigned long long)k)
               : err;
}

/* Whether the interval is the run's last, which ends with an event. */
static bool is_last(const struct wet_rerun *rerun)
{
    const struct wetdbg_info *info = &rerun->wet->info;
    return info->has_end && rerun->k + 1 == info->intervals;
}

/* ---- the space ---- */

static int step(struct wetdbg *wet, uint64_t k)
{
    struct wd_buf lines = {0};
    int err = section_read(wet, WET_SEC_LINES, k, &lines);
    if (!err)
        err = wet_changes_apply(&wet->space, lines.data, lines.size_bytes);
    wd_buf_fini(&lines);
    return err;
}

/* Applies the memory where a window begins. */
static int memory_apply(struct wetdbg *wet)
{
    struct wd_buf lines = {0};
    int err = 0;
    for (uint64_t n = 0; !err && wet_store_has(wet->store, WET_SEC_MEMORY, n); n++) {
        err = wet_store_read(wet->store, WET_SEC_MEMORY, n, &lines);
        if (!err)
            err = wet_changes_apply(&wet->space, lines.data, lines.size_bytes);
    }
    wd_buf_fini(&lines);
    return err;
}

static int space_fill(struct wetdbg *wet)
{
    int err = 0;
    for (size_t i = 0; !err && i < wet->space.object_count; i++)
        err = wet_space_fill_object(&wet->space, i);
    if (!err)
        err = memory_apply(wet);
    if (err) /* next time it begins with nothing */
        wet_space_punch(&wet->space, 0, wet->space.used_bytes);
    return err;
}

static int space_goto(struct wetdbg *wet, uint64_t k)
{
    int err = 0;
    if (!wet->space_ready) {
        err = space_fill(wet);
        wet->space_ready = !err;
    }
    /* changes that fail their checks have not been applied: the space is where it says it is */
    while (!err && wet->space_at < k) {
        err = step(wet, wet->space_at);
        wet->space_at += !err;
    }
    while (!err && wet->space_at > k) {
        err = step(wet, wet->space_at - 1);
        wet->space_at -= !err;
    }
    return err;
}

/* ---- entries ---- */

/* Whether entry and turns fit. Instructions belong to the task of the next entry that is run to;
 * *assigned of the run's are dealt with. */
static bool fits_turns(const struct wetdbg *wet, const struct evq_entry *entry, uint64_t time,
                       uint64_t *assigned)
{
    uint64_t from = *assigned + 1;
    if (!wet_entry_is_reached(entry) || time < from)
        return true;
    *assigned = time;
    return wet_turns_are_of(wet, entry->task, from, time);
}

/* Takes the entry at `at`, in vector state that this processor takes if it is to be run. */
static int entry_take(struct wetdbg *wet, struct wd_buf *entries, size_t at, bool is_to_run)
{
    int err =
        wet_entry_check(wet, entries->data + at, entries->size_bytes - at, wet->file_count, false);
    if (err || !is_to_run)
        return err;
    err = wet_entry_fit(wet, entries, at);
    return err ? err
               : wet_entry_check(wet, entries->data + at, entries->size_bytes - at, wet->file_count,
                                 true);
}

/* Instructions from time `from` on, after the interval's last entry that is run to, belong to the
 * task of such an entry of a later interval: to the one that runs where the next interval begins.
 * Only that task's registers tell a run of another one from the one that was, if at all. */
static int tail_check(struct wetdbg *wet, uint64_t k, uint64_t from)
{
    uint64_t next = wet->index[k].first_time + wet->index[k].instructions;
    struct wd_buf state = {0};
    if (from >= next || k + 1 >= wet->info.intervals)
        return 0;
    int err = section_read(wet, WET_SEC_STATE, k + 1, &state);
    const struct wet_state_record *head = (const void *)state.data;
    bool is_known = !err && state.size_bytes >= sizeof(*head);
    if (err == -WETDBG_ERR_CORRUPT)
        err = 0; /* that is told where that interval is wanted: this one has no part in it */
    if (is_known && !wet_turns_are_of(wet, head->running, from, next - 1))
        err = damaged(wet, "entries, or table of turns: they disagree,", k);
    wd_buf_fini(&state);
    return err;
}

int wet_entries_read(struct wetdbg *wet, uint64_t k, bool is_to_run, struct wd_buf *out)
{
    int err = section_read(wet, WET_SEC_ENTRIES, k, out);
    uint64_t earliest = wet->index[k].first_time - 1;
    uint64_t latest = earliest + wet->index[k].instructions, assigned = earliest;
    size_t at = 0;
    while (!err && at < out->size_bytes) {
        size_t left = out->size_bytes - at;
        if (left < sizeof(struct wet_entry_record) + sizeof(struct evq_entry))
            return damaged(wet, "entries", k);
        uint64_t time = ((const struct wet_entry_record *)(out->data + at))->time;
        if (time < earliest || time > latest)
            return damaged(wet, "entries", k);
        earliest = time;
        at += sizeof(struct wet_entry_record);
        err = entry_take(wet, out, at, is_to_run);
        const struct evq_entry *entry = (const struct evq_entry *)(out->data + at);
        if (!err && !wet_rule_entry(entry, time))
            return damaged(wet, "entries", k);
        if (!err && !fits_turns(wet, entry, time, &assigned))
            return damaged(wet, "entries, or table of turns: they disagree,", k);
        if (!err)
            at += entry->bytes;
    }
    return err ? err : tail_check(wet, k, assigned + 1);
}

static int entry_close(struct wet_rerun *rerun, size_t at, uint32_t op_count)
{
    const struct evq_entry *entry = wet_entry_close(&rerun->start, at, op_count);
    rerun->start_entries++;
    return wet_entry_check(rerun->wet, entry, entry->bytes, rerun->wet->file_count + 1, true);
}

static int views_append(struct wet_rerun *rerun, const struct agt_view *views, uint64_t count)
{
    struct wetdbg *wet = rerun->wet;
    for (uint64_t i = 0; i < count;) {
        size_t at;
        uint32_t ops = 0;
        int err = wet_entry_open(&rerun->start, 0, &at);
        for (; !err && i < count && ops < 4096; i++, ops++) {
            const struct agt_view *view = &views[i];
            if (!wet_rule_view(view, wet->space.objects, wet->space.object_count))
                return damaged(wet, "views", rerun->k);
            const struct wet_object *object = &wet->space.objects[view->file];
            struct evq_op map = {.op = EVQ_OP_MAP,
                                 .map.start = view->start,
                                 .map.size = view->end - view->start,
                                 .map.prot = view->prot,
                                 .map.file = wet->file_count,
                                 .map.file_off = object->mirror_off + view->file_off,
                                 .map.file_bytes = view->end - view->start,
                                 .map.name = view->name};
            err = wet_entry_add_op(&rerun->start, &map, NULL, 0);
        }
        if (!err)
            err = entry_close(rerun, at, ops);
        if (err)
            return err;
    }
    return 0;
}

static int task_append(struct wet_rerun *rerun, const struct wet_task_record *task,
                       const uint8_t *xsave, bool is_running)
{
    size_t at;
    struct wd_buf image = {0};
    struct evq_regs begins_with;
    memcpy(&begins_with, task->regs, sizeof(begins_with));
    if (is_running && rerun->has_flags)
        begins_with.r[EVQ_EFLAGS] = rerun->flags;
    struct evq_op regs = evq_op_new(EVQ_OP_REGS);
    int err = wet_xsave_take(rerun->wet, xsave, task->xsave_bytes, &image);
    struct evq_op xstate = evq_op_new(EVQ_OP_XSTATE);
    xstate.xstate.size = image.size_bytes;
    if (!err)
        err = wet_entry_open(&rerun->start, task->task, &at);
    if (!err)
        err = wet_entry_add_op(&rerun->start, &xstate, image.data, image.size_bytes);
    if (!err)
        err = wet_entry_add_op(&rerun->start, &regs, &begins_with, sizeof(begins_with));
    wd_buf_fini(&image);
    return err ? err : entry_close(rerun, at, 2);
}

static int task_new_append(struct wet_rerun *rerun, const struct wet_task_record *task)
{
    size_t at;
    struct evq_op op = evq_op_new(EVQ_OP_TASK_NEW);
    op.task_new.task = task->task;
    int err = wet_entry_open(&rerun->start, 0, &at);
    if (!err)
        err = wet_entry_add_op(&rerun->start, &op, task->regs, sizeof(task->regs));
    return err ? err : entry_close(rerun, at, 1);
}

/* Entries that make an empty replayee the program at the interval's start. */
static int start_make(struct wet_rerun *rerun)
{
    struct wd_buf state = {0};
    struct wetdbg *wet = rerun->wet;
    int err = section_read(wet, WET_SEC_STATE, rerun->k, &state);
    if (err || !state.size_bytes) { /* the first interval starts with nothing */
        wd_buf_fini(&state);
        return err;
    }
    struct wd_view view = wd_view_of(state.data, state.size_bytes);
    const struct wet_state_record *head = (const void *)wd_view_bytes(&view, sizeof(*head));
    uint64_t view_count = head ? head->view_count : 0;
    const struct agt_view *views =
        view_count < AGT_VIEWS_MAX ? (const void *)wd_view_bytes(&view, view_count * sizeof(*views))
                                   : NULL;
    if (!head || !views)
        err = damaged(wet, "state", rerun->k);
    if (!err)
        err = views_append(rerun, views, view_count);
    const struct wet_task_record *running = NULL;
    const uint8_t *running_xsave = NULL;
    for (uint32_t i = 0; !err && i < head->task_count; i++) {
        const struct wet_task_record *task = (const void *)wd_view_bytes(&view, sizeof(*task));
        const uint8_t *xsave = task ? wd_view_bytes(&view, task->xsave_bytes) : NULL;
        wd_view_bytes(&view, -view.at & 7);
        if (view.failed || task->task >= EVQ_TASKS_MAX || task->xsave_bytes > AGT_XSAVE_MAX) {
            err = damaged(wet, "state", rerun->k);
            break;
        }
        if (task->task)
            err = task_new_append(rerun, task);
        if (!err && task->task != head->running)
            err = task_append(rerun, task, xsave, false);
        if (task->task == head->running) {
            running = task;
            running_xsave = xsave;
        }
    }
    if (!err)
        err = running ? task_append(rerun, running, running_xsave, true)
                      : damaged(wet, "state", rerun->k);
    wd_buf_fini(&state);
    return err;
}

/* ---- the replayee ---- */

int wet_engine_new(struct wetdbg *wet, enum dbi_mode mode, struct rep_engine **out)
{
    int *fds = calloc(wet->file_count + 1, sizeof(*fds));
    bool is_interval = mode == DBI_COLLECT;
    int err = fds ? 0 : -ENOMEM;
    for (size_t i = 0; !err && i < wet->file_count; i++)
        err = wet_file_fd(wet, i, &fds[i]);
    if (!err) {
        fds[wet->file_count] = wet->space.fd;
        struct rep_engine_setup setup = {.mode = mode,
                                         .probes = !is_interval,
                                         .branches = !is_interval,
                                         .spans = wet->spans,
                                         .span_count = wet->span_count,
                                         .files = fds,
                                         .file_count = wet->file_count + is_interval,
                                         .cpuid = (const struct agt_cpuid *)wet->cpu_bytes.data,
                                         .cpuid_count =
                                             wet->cpu_bytes.size_bytes / sizeof(struct agt_cpuid),
                                         .cpuid_is_recorded = wet->cpuid_is_recorded,
                                         .x87 = wet->x87,
                                         .lacks = wet->lacks,
                                         .cpuid_is_here = wet->cpuid_is_here,
                                         .xcr0 = wet->xcr0,
                                         .processor = wet->processor,
                                         .values = is_interval && wet->collects_values,
                                         /* A run that goes on differently does what nobody has
                                          * recorded. */
                                         .is_trusted = is_interval && wet->is_trusted};
        err = rep_engine_new(&setup, out);
    }
    if (!err)
        rep_engine_watch(*out, &wet->interrupted);
    free(fds);
    return err;
}

static void engine_drop(struct wetdbg *wet)
{
    rep_engine_free(wet->engine);
    wet->engine = NULL;
    wet_fragments_free(wet->fragments);
    wet->fragments = NULL;
    wet->state_serial = 0;
}

/* Makes a place's time count from the interval's start, where the engine's clock is 0. */
static void place_shift(struct evq_entry *entry, uint64_t earlier)
{
    struct evq_place *place = (struct evq_place *)evq_entry_place(entry);
    if (place)
        place->time -= earlier;
}

/* ---- faults with a handler ---- */

/* A fault, and the call of its handler, have the time of the instruction before the one that
 * faulted. Not so int3, which has been executed: what comes of it is there when the run stops. */
bool wet_rerun_has_handler(const struct wet_rerun *rerun, wetdbg_time time)
{
    bool is_after_fault = false;
    for (size_t at = 0; at < rerun->entries.size_bytes;) {
        const struct wet_entry_record *record = (const void *)(rerun->entries.data + at);
        const struct evq_entry *entry = (const struct evq_entry *)(record + 1);
        if (record->time > time)
            return false;
        if (is_after_fault && entry->kind == EVQ_OPS)
            return true;
        is_after_fault = record->time == time && entry->kind == EVQ_FAULT &&
                         entry->flags & EVQ_FLAG_REGS && !entry->op_count &&
                         entry->number != SIGTRAP;
        at += sizeof(*record) + entry->bytes;
    }
    return false;
}

/*
 * A run that is to stop at a time stops before it executes what faults then. To stop where the
 * handler begins it is given the fault as an event of that time, which needs no execution.
 */
static int fault_append(const struct evq_entry *fault, uint64_t time, struct wd_buf *out)
{
    struct evq_place place = {.flags = EVQ_PLACE_TIME, .time = time};
    struct evq_op op = evq_op_new(EVQ_OP_PLACE);
    op.bytes = sizeof(op) + sizeof(place);
    struct evq_entry entry = *fault;
    entry.bytes = sizeof(entry) + sizeof(struct evq_regs) + op.bytes;
    entry.kind = EVQ_PLACE;
    entry.flags = EVQ_FLAG_REGS;
    entry.op_count = 1;
    int err = wd_buf_append(out, &entry, sizeof(entry));
    if (!err)
        err = wd_buf_append(out, fault + 1, sizeof(struct evq_regs));
    if (!err)
        err = wd_buf_append(out, &op, sizeof(op));
    return err ? err : wd_buf_append(out, &place, sizeof(place));
}

/* Whether the state that the run is to stop at is that of this entry, which must be the last. */
static bool is_last_signal(const struct wet_rerun *rerun, const struct evq_entry *entry,
                           uint64_t time)
{
    const struct wetdbg_info *info = &rerun->wet->info;
    return rerun->until_signal && time + 1 == info->signal_time && entry->number == info->signal &&
           (entry->kind == EVQ_FAULT || entry->kind == EVQ_PLACE);
}

/*
 * An entry of another task than the running one makes that one run up to it. What comes after the
 * interval's last entry belongs to the task of the next interval's first one. So there is one more,
 * a fault that never comes: with nothing in its queue the agent would ask for more at every branch
 * that it looks up.
 */
static int tail_append(const struct wet_rerun *rerun, uint64_t last_entry, struct wd_buf *out)
{
    const struct wet_index_record *index = &rerun->wet->index[rerun->k];
    uint64_t last = index->first_time + index->instructions - 1;
    const struct wetdbg_thread *thread = wetdbg_thread_at(rerun->wet, last);
    if (!thread || last_entry >= last || is_last(rerun))
        return 0;
    struct evq_entry entry = {.bytes = sizeof(entry), .kind = EVQ_FAULT, .task = thread->task};
    return wd_buf_append(out, &entry, sizeof(entry));
}

/* A page of the program at the interval's start: views map the space's memory file. */
static const uint8_t *start_page(void *arg, const struct agt_view *view, uint64_t address)
{
    const struct wetdbg *wet = arg;
    uint64_t off = view->file_off + (address - view->start);
    bool is_ours = view->file == wet->file_count && off >= view->file_off &&
                   off <= wet->space.used_bytes && wet->space.used_bytes - off >= WD_PAGE;
    return is_ours ? wet->space.bytes + off : NULL;
}

/* What the replayee has been given. */
enum rerun_given {
    GIVEN_NOTHING,
    GIVEN_START,       /* what makes the interval's start */
    GIVEN_START_TAKEN, /* nothing more, until it has taken that */
    GIVEN_ALL,
};

static int entries_append(struct wet_rerun *rerun, struct wd_buf *out)
{
    uint64_t before = rerun->wet->index[rerun->k].first_time - 1, last_time = 0;
    int err = 0;
    for (size_t at = 0; !err && at < rerun->entries.size_bytes;) {
        const struct wet_entry_record *record = (const void *)(rerun->entries.data + at);
        const struct evq_entry *entry = (const struct evq_entry *)(record + 1);
        if (rerun->handler && record->time + 1 == rerun->handler && entry->kind == EVQ_FAULT) {
            err = fault_append(entry, record->time - before, out);
        } else {
            err = wd_buf_append(out, entry, entry->bytes);
            if (!err)
                place_shift((struct evq_entry *)(out->data + out->size_bytes - entry->bytes),
                            before);
        }
        if (is_last_signal(rerun, entry, record->time))
            return err ? err : 1;
        at += sizeof(*record) + entry->bytes;
        last_time = record->time;
    }
    if (!err)
        err = tail_append(rerun, last_time, out);
    return err ? err : out->size_bytes > 0;
}

/* Prepares the engine: what will run is known, so nothing of it has to be asked for by the
 * replayee, one by one. */
static int engine_prepare(struct rep_engine *engine, struct wetdbg *wet, uint64_t k)
{
    struct wd_buf pcs = {0};
    int err = wet_node_addresses(wet, k, &pcs);
    if (!err)
        err = rep_engine_prepare(engine, start_page, wet, (const uint64_t *)pcs.data,
                                 pcs.size_bytes / sizeof(uint64_t));
    wd_buf_fini(&pcs);
    return err;
}

/* Gives the next entries. The start comes alone: then memory is that of the space. */
static int next_entries(void *arg, struct wd_buf *out)
{
    struct wet_rerun *rerun = arg;
    struct wetdbg *wet = rerun->wet;
    int err;
    switch (rerun->given++) {
    case GIVEN_NOTHING:
        if (rerun->start.size_bytes) {
            err = wd_buf_append(out, rerun->start.data, rerun->start.size_bytes);
            return err ? err : 1;
        }
        rerun->given = GIVEN_ALL;
        err = engine_prepare(wet->engine, wet, rerun->k);
        return err ? err : entries_append(rerun, out);
    case GIVEN_START:
        return 0;
    case GIVEN_START_TAKEN:
        err = engine_prepare(wet->engine, wet, rerun->k);
        return err ? err : entries_append(rerun, out);
    default:
        rerun->given = GIVEN_ALL;
        return 0;
    }
}

/* The stored entry that is to be taken next. */
static const struct evq_entry *entry_due(const struct wet_rerun *rerun)
{
    return (const struct evq_entry *)(rerun->entries.data + rerun->at +
                                      sizeof(struct wet_entry_record));
}

static int entry_taken(void *arg, const struct evq_entry *entry, uint64_t time, uint64_t ring_bytes)
{
    struct wet_rerun *rerun = arg;
    struct wetdbg *wet = rerun->wet;
    (void)entry;
    if (rerun->taken++ < rerun->start_entries || rerun->at == rerun->entries.size_bytes)
        return 0;
    const struct wet_entry_record *record = (const void *)(rerun->entries.data + rerun->at);
    const struct evq_entry *stored = entry_due(rerun);
    rerun->at += sizeof(*record) + stored->bytes;
    uint64_t now = wet->index[rerun->k].first_time - 1 + time;
    if (record->time != now)
        return wetdbg_fail(-WETDBG_ERR_DIVERGED,
                           "%s: interval %llu does not reproduce itself: event %llu at instruction "
                           "%llu, was %llu",
                           wet_store_path(wet->store), (unsigned long long)rerun->k,
                           (unsigned long long)stored->frame, (unsigned long long)now,
                           (unsigned long long)record->time);
    return rerun->taken_fn ? rerun->taken_fn(rerun->arg, stored, now, ring_bytes) : 0;
}

/* ---- running ---- */

/*
 * An interval is run in parts, so that its ring stays in the processor's cache, and so that one
 * part is unpacked while the next one runs.
 */
#define PART_INSTRUCTIONS (1024u << 10)

static int part_tell(void *arg)
{
    struct wet_rerun *rerun = arg;
    struct wet_part part = rerun->part;
    rerun->part.ring = NULL;
    return part.ring && rerun->part_fn ? rerun->part_fn(rerun->arg, &part) : 0;
}

static int parts_run(struct wet_rerun *rerun, uint64_t limit, bool exact)
{
    struct rep_engine *engine = rerun->wet->engine;
    struct rep_source source = {
        .next = next_entries, .taken = entry_taken, .meanwhile = part_tell, .arg = rerun};
    bool is_final = false;
    unsigned half = 0;
    int err = 0;
    rerun->part.ring = NULL;
    while (!err && !is_final) {
        uint64_t now = rep_engine_time(engine), left = limit > now ? limit - now : 0;
        enum rep_stop why;
        is_final = left <= 2 * PART_INSTRUCTIONS;
        rep_engine_ring_half(engine, half ^= 1);
        err = rep_engine_run(engine, &source, is_final ? left : PART_INSTRUCTIONS,
                             is_final && exact, &why);
        /* what is told of is no more than the file says that there was: beyond lies code that is no
         * node of it */
        if (!err && !exact && rep_engine_time(engine) > limit)
            return 0;
        size_t ring_bytes;
        rerun->part.ring = rep_engine_ring(engine, &ring_bytes);
        rerun->part.words = ring_bytes / 8;
        rerun->part.task = rep_engine_running(engine);
        is_final |= why == REP_STOP_END;
    }
    return err ? err : part_tell(rerun);
}

#define STOPPED_ELSEWHERE 1

/* One attempt to run `instructions`, or the whole interval. Where it need not be exact, the result
 * is perhaps STOPPED_ELSEWHERE. */
static int run(struct wet_rerun *rerun, uint64_t instructions, bool exact)
{
    struct wetdbg *wet = rerun->wet;
    bool last = is_last(rerun);
    uint64_t limit = last && !exact ? instructions + LAST_MARGIN : instructions;
    rerun->given = GIVEN_NOTHING;
    rerun->at = 0;
    rerun->taken = 0;
    if (rerun->restart_fn)
        rerun->restart_fn(rerun->arg);
    int err = rep_engine_reset(wet->engine);
    if (!err)
        err = parts_run(rerun, limit, exact);
    if (err || rep_engine_time(wet->engine) == instructions)
        return err;
    if (!exact && !last)
        return STOPPED_ELSEWHERE;
    return wetdbg_fail(-WETDBG_ERR_DIVERGED,
                       "%s: interval %llu does not reproduce itself: %llu instructions, were %llu",
                       wet_store_path(wet->store), (unsigned long long)rerun->k,
                       (unsigned long long)rep_engine_time(wet->engine),
                       (unsigned long long)instructions);
}

static int run_until_stop(struct wet_rerun *rerun, uint64_t instructions, bool exact)
{
    int err;
    do
        err = run(rerun, instructions, exact);
    while (err == -EAGAIN);
    return err;
}

static int check_end(const struct wet_rerun *rerun)
{
    if (rerun->at == rerun->entries.size_bytes)
        return 0;
    return wetdbg_fail(-WETDBG_ERR_DIVERGED,
                       "%s: interval %llu does not reproduce itself: it ended before event %llu",
                       wet_store_path(rerun->wet->store), (unsigned long long)rerun->k,
                       (unsigned long long)entry_due(rerun)->frame);
}

/*
 * Runs a whole interval. The run's last one ends by its last event; every other one where the
 * builder could stop. This run's fragments need not offer that: while the builder looked for the
 * place of an asynchronous event, its own were cut there.
 */
static int run_whole(struct wet_rerun *rerun)
{
    struct wetdbg *wet = rerun->wet;
    uint64_t instructions = wet->index[rerun->k].instructions;
    bool last = is_last(rerun);
    int err = run_until_stop(rerun, instructions, wet->info.places && !last);
    if (err == STOPPED_ELSEWHERE)
        err = run_until_stop(rerun, instructions, true);
    return err ? err : check_end(rerun);
}

static int prepare(struct wet_rerun *rerun)
{
    struct wetdbg *wet = rerun->wet;
    wet->state_serial = 0;
    int err = wet_entries_read(wet, rerun->k, true, &rerun->entries);
    if (!err)
        err = space_goto(wet, rerun->k);
    if (!err)
        err = start_make(rerun);
    if (!err && !wet->engine)
        err = wet_engine_new(wet, DBI_COLLECT, &wet->engine);
    return err;
}

/* Runs up to a time exactly. What a rep instruction did until it faulted halfway is the execution
 * before the fault: the run comes to that time only by the fault itself, and is at the handler
 * then. */
static int run_exactly(struct wet_rerun *rerun, uint64_t instructions)
{
    struct wetdbg *wet = rerun->wet;
    uint64_t has = wet->index[rerun->k].instructions;
    wetdbg_time time = wet->index[rerun->k].first_time - 1 + instructions;
    if (!rerun->until_signal && instructions < has && wet_rerun_has_handler(rerun, time)) {
        rerun->handler = time + 1;
        int err = run_until_stop(rerun, instructions, true);
        if (err != -WETDBG_ERR_DIVERGED)
            return err;
        engine_drop(wet);
        wet_rerun_fini(rerun);
        *rerun = (struct wet_rerun){
            .wet = wet, .k = rerun->k, .has_flags = rerun->has_flags, .flags = rerun->flags};
        err = prepare(rerun);
        if (err)
            return err;
    }
    return run_until_stop(rerun, instructions < has ? instructions : has, true);
}

int wet_rerun(struct wet_rerun *rerun, uint64_t instructions)
{
    struct wetdbg *wet = rerun->wet;
    int err = prepare(rerun);
    if (err)
        return err;
    if (instructions != UINT64_MAX)
        err = run_exactly(rerun, instructions);
    else
        err = run_whole(rerun);
    if (err)
        engine_drop(wet);
    return err;
}

static int go_on(struct wet_rerun *rerun, uint64_t more, bool exact)
{
    struct wetdbg *wet = rerun->wet;
    struct rep_source source = {.next = next_entries, .taken = entry_taken, .arg = rerun};
    enum rep_stop why;
    wet->state_serial = 0;
    int err = rep_engine_run(wet->engine, &source, more, exact, &why);
    if (err && err != -EAGAIN)
        engine_drop(wet);
    return err;
}

int wet_rerun_on(struct wet_rerun *rerun, uint64_t more)
{
    struct wetdbg *wet = rerun->wet;
    uint64_t goal = rep_engine_time(wet->engine) + more;
    int err = go_on(rerun, more, true);
    /* the events at the end of a run: a new run tells what is wrong */
    return !err && rep_engine_time(wet->engine) != goal ? -EAGAIN : err;
}

/* The last piece is as run() does it. */
static int run_piece(struct wet_rerun *rerun, uint64_t piece)
{
    struct wetdbg *wet = rerun->wet;
    bool last = is_last(rerun);
    uint64_t left = wet->index[rerun->k].instructions - rep_engine_time(wet->engine);
    if (left > piece)
        return go_on(rerun, piece, false);
    return last ? go_on(rerun, left + LAST_MARGIN, false) : go_on(rerun, left, true);
}

static int begin_again(struct wet_rerun *rerun)
{
    rerun->given = GIVEN_NOTHING;
    rerun->at = 0;
    rerun->taken = 0;
    if (rerun->restart_fn)
        rerun->restart_fn(rerun->arg);
    return rep_engine_reset(rerun->wet->engine);
}

int wet_rerun_pieces(struct wet_rerun *rerun, uint64_t piece, int (*fn)(void *arg))
{
    struct wetdbg *wet = rerun->wet;
    uint64_t all = wet->index[rerun->k].instructions, before;
    int err = prepare(rerun);
    if (err)
        return err;
    err = begin_again(rerun);
    while (!err && rep_engine_time(wet->engine) < all) {
        before = rep_engine_time(wet->engine);
        err = run_piece(rerun, piece);
        if (err == -EAGAIN)
            err = begin_again(rerun);
        else if (!err && rep_engine_time(wet->engine) == before)
            err = wetdbg_fail(-WETDBG_ERR_DIVERGED,
                              "%s: interval %llu does not reproduce itself: it ended too early",
                              wet_store_path(wet->store), (unsigned long long)rerun->k);
        else if (!err)
            err = fn(rerun->arg);
    }
    if (!err)
        err = check_end(rerun);
    if (err && wet->engine)
        engine_drop(wet);
    return err;
}

void wet_rerun_fini(struct wet_rerun *rerun)
{
    wd_buf_fini(&rerun->entries);
    wd_buf_fini(&rerun->start);
}
