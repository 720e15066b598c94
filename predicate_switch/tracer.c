/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An engine that collects runs the entries in parts. What it has put into the ring for a part
 * becomes the steps of one thread, and only these are kept, until the next part is needed.
 */
#include "predicate_switch/tracer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/once.h"
#include "recorder/event/ops.h"
#include "recorder/insn/insn_ranges.h"
#include "recorder/replay/start.h"
#include "wet/trace/handler.h"
#include "wet/trace/stored_entry.h"
#include "wet/walk/transfer.h"
#include "wet/whole.h"
#include <wetdbg/errors.h>

#define PART_INSTRUCTIONS (UINT64_C(256) << 10)
#define BATCH_BYTES       ((size_t)1 << 20) /* of entries that are given at once */
#define ATTEMPTS          8                 /* to stop exactly */

/* A fragment of the engine's, by its id. */
struct code {
    bool is_known;
    struct psw_way_node is;
    uint64_t pc;
    uint32_t count;    /* instructions */
    uint32_t slot;     /* of a call or return: which slot is its place on the stack */
    uint32_t *offsets; /* of its instructions, from pc */
};

/* An execution by the thread. */
struct step {
    uint64_t time, slot;
    uint32_t code;
    int32_t change; /* handlers of signals that began right before it, less those that ended */
};

/* An entry that was taken in the part. */
struct event {
    uint64_t ring_bytes;
    uint32_t task;
    bool is_reached; /* a task ran up to it */
    bool is_birth;   /* another thread has the slot from then on */
    int change;
};

struct psw_tracer {
    struct wetdbg *wet;
    struct rep_engine *engine;
    struct rep_span *spans; /* of the engine */
    size_t span_count;
    struct code *codes;
    uint32_t code_count;
    /* The run. */
    const struct wd_buf *entries;
    size_t given; /* bytes of them */
    bool has_end;
    /* The way. */
    uint32_t task;
    bool is_over; /* the thread has ended */
    int change;   /* since its last step */
    uint64_t from, part_time;
    struct event *events;
    size_t event_count, event_capacity;
    struct step *steps;
    size_t step_count, step_capacity;
    size_t at;          /* in steps; step_count: at the end */
    uint32_t statement; /* in its code */
};

/* ---- the engine ---- */

static void codes_forget(struct psw_tracer *tracer)
{
    for (uint32_t i = 0; i < tracer->code_count; i++)
        free(tracer->codes[i].offsets);
    free(tracer->codes);
    tracer->codes = NULL;
    tracer->code_count = 0;
}

/* Whether all that a run uses lies where the engine leaves room. */
static bool has_room(const struct psw_tracer *tracer, struct rep_feed *feed)
{
    size_t count;
    const struct rep_range *ranges = rep_feed_ranges(feed, &count);

    for (size_t i = 0; i < count; i++) {
        bool is_inside = false;
        for (size_t n = 0; n < tracer->span_count && !is_inside; n++)
            is_inside =
                ranges[i].start >= tracer->spans[n].start && ranges[i].end <= tracer->spans[n].end;
        if (!is_inside)
            return false;
    }
    return true;
}

static int engine_make(struct psw_tracer *tracer, struct rep_feed *feed)
{
    struct rep_start start;
    int err = rep_start_init(&start, feed, DBI_COLLECT);

    codes_forget(tracer);
    rep_engine_free(tracer->engine);
    tracer->engine = NULL;
    free(tracer->spans);
    tracer->spans = NULL;
    if (!err)
        err = rep_engine_new(&start.setup, &tracer->engine);
    if (!err) {
        rep_engine_watch(tracer->engine, wet_whole_interrupted(tracer->wet));
        tracer->spans = start.spans;
        tracer->span_count = start.setup.span_count;
        start.spans = NULL;
    }
    rep_start_fini(&start);
    return err;
}

int psw_tracer_take(struct psw_tracer *tracer, const struct wd_buf *entries)
{
    const struct wet_whole_run run = {.entries = entries};
    struct wet_branch *branch;
    int err = wet_branch_open(tracer->wet, &run, &branch);

    if (err)
        return err;
    if (!tracer->engine || !has_room(tracer, wet_branch_feed(branch)))
        err = engine_make(tracer, wet_branch_feed(branch));
    wet_branch_close(branch);
    tracer->entries = entries;
    return err;
}

/* ---- entries ---- */

static int next_entries(void *arg, struct wd_buf *out)
{
    struct psw_tracer *tracer = arg;
    const struct wd_buf *entries = tracer->entries;
    size_t from = tracer->given;

    while (tracer->given < entries->size_bytes && tracer->given - from < BATCH_BYTES)
        tracer->given += ((const struct evq_entry *)(entries->data + tracer->given))->bytes;
    if (tracer->given == from)
        return 0;
    int err = wd_buf_append(out, entries->data + from, tracer->given - from);
    return err ? err : 1;
}

static bool is_birth(const struct psw_tracer *tracer, const struct evq_entry *entry)
{
    for (const struct evq_op *op = NULL; (op = evq_op_next(entry, op));)
        if (op->op == EVQ_OP_TASK_NEW && op->task_new.task == tracer->task)
            return true;
    return false;
}

static int entry_taken(void *arg, const struct evq_entry *entry, uint64_t time, uint64_t ring_bytes)
{
    struct psw_tracer *tracer = arg;

    if (wd_grow(tracer->events, tracer->event_capacity, tracer->event_count + 1))
        return -ENOMEM;
    tracer->events[tracer->event_count++] =
        (struct event){.ring_bytes = ring_bytes,
                       .task = entry->task,
                       .is_reached = wet_entry_is_reached(entry),
                       .is_birth = time >= tracer->from && is_birth(tracer, entry),
                       .change = entry->task == tracer->task ? wet_handler_change(entry) : 0};
    return 0;
}

static int begin_again(struct psw_tracer *tracer)
{
    tracer->given = 0;
    tracer->has_end = false;
    return rep_engine_reset(tracer->engine);
}

static int run(struct psw_tracer *tracer, uint64_t limit, bool exact)
{
    struct rep_source source = {.next = next_entries, .taken = entry_taken, .arg = tracer};
    enum rep_stop why;

    tracer->event_count = 0;
    tracer->part_time = rep_engine_time(tracer->engine) + 1;
    int err = rep_engine_run(tracer->engine, &source, limit, exact, &why);
    tracer->has_end |= !err && why == REP_STOP_END;
    return err;
}

/* ---- fragments ---- */

static int code_learn(struct code *code, const struct dbi_fragment *fragment)
{
    struct ins_info info = {.klass = INS_PLAIN};
    uint32_t off = 0, slot = 0;

    code->offsets = calloc(fragment->insn_count + 1u, sizeof(*code->offsets));
    if (!code->offsets)
        return -ENOMEM;
    for (uint32_t i = 0; i < fragment->insn_count; i++) {
        int err =
            ins_decode(fragment->code + off, fragment->code_bytes - off, fragment->pc + off, &info);
        if (err)
            return err;
        code->offsets[i] = off;
        off += info.length;
        slot += i + 1u < fragment->insn_count ? ins_slot_count(&info) : 0;
    }
    /* explicit operands come before the stack's */
    code->slot = slot + (info.mem_count ? info.mem_count - 1u : 0);
    code->pc = fragment->pc;
    code->count = fragment->insn_count;
    code->is = (struct psw_way_node){wet_transfer_of(info.klass), fragment->pc + off};
    code->is_known = true;
    return 0;
}

static int code_find(struct psw_tracer *tracer, uint32_t id, const struct dbi_fragment *fragment,
                     struct code **out)
{
    uint32_t known = tracer->code_count;

    if (id >= known) {
        uint32_t count = id + 1 > 2 * known ? id + 1 : 2 * known;
        struct code *codes = realloc(tracer->codes, count * sizeof(*codes));
        if (!codes)
            return -ENOMEM;
        memset(codes + known, 0, (count - known) * sizeof(*codes));
        tracer->codes = codes;
        tracer->code_count = count;
    }
    *out = &tracer->codes[id];
    return (*out)->is_known ? 0 : code_learn(*out, fragment);
}

/* ---- the ring ---- */

static int damaged(void)
{
    return wetdbg_fail(-WETDBG_ERR_MACHINE, "the replay process sent a damaged ring");
}

static bool has_stack_slot(const struct code *code)
{
    return code->is.transfer == WETDBG_TRANSFER_CALL || code->is.transfer == WETDBG_TRANSFER_RETURN;
}

/* Adds an execution, of which `record` is the first word. */
static int add_step(struct psw_tracer *tracer, const struct dbi_fragment *fragment,
                    const uint64_t *record)
{
    struct code *code;
    int err = code_find(tracer, fragment->id, fragment, &code);

    if (err || tracer->part_time + code->count <= tracer->from)
        return err;
    if (wd_grow(tracer->steps, tracer->step_capacity, tracer->step_count + 1))
        return -ENOMEM;
    bool has_slot = has_stack_slot(code) && code->slot < fragment->slot_count;
    tracer->steps[tracer->step_count++] =
        (struct step){.time = tracer->part_time,
                      .slot = has_slot ? dbi_slot_value(fragment, code->slot, record) : 0,
                      .code = fragment->id,
                      .change = tracer->change};
    tracer->change = 0;
    return 0;
}

/* Reads the records up to `end`, which are executions of a task. What is in the ring is the
 * replayee's word. */
static int read_records(struct psw_tracer *tracer, const uint64_t *ring, size_t words, size_t *at,
                        size_t end, uint32_t task)
{
    int err = 0;

    while (*at < end && !err) {
        uint32_t word = wd_once_u32(&ring[*at]), id = agt_ring_fragment(word);
        const struct dbi_fragment *fragment = rep_engine_fragment(tracer->engine, id);
        if (!fragment || fragment->word_count >= words - *at ||
            word != agt_ring_word(id, fragment->insn_count, fragment->word_count))
            return damaged();
        if (task == tracer->task && !tracer->is_over)
            err = add_step(tracer, fragment, ring + *at);
        tracer->part_time += fragment->insn_count;
        *at += 1 + (size_t)fragment->word_count;
    }
    return err;
}

/* Executions before an event that is run to belong to that event's task, those after the last one
 * to the task that the part ends in. */
static uint32_t task_before(const struct psw_tracer *tracer, size_t i)
{
    while (i < tracer->event_count && !tracer->events[i].is_reached)
        i++;
    return i < tracer->event_count ? tracer->events[i].task : rep_engine_running(tracer->engine);
}

/* Turns what the last part put into the ring into steps. */
static int read_part(struct psw_tracer *tracer)
{
    size_t bytes, at = 0;
    const uint64_t *ring = rep_engine_ring(tracer->engine, &bytes);
    int err = 0;

    tracer->step_count = tracer->at = 0;
    tracer->statement = 0;
    for (size_t i = 0; i < tracer->event_count && !err; i++) {
        const struct event *event = &tracer->events[i];
        size_t end = event->ring_bytes < bytes ? event->ring_bytes / 8 : bytes / 8;
        err = read_records(tracer, ring, bytes / 8, &at, end, task_before(tracer, i));
        tracer->change += event->change;
        tracer->is_over |= event->is_birth;
    }
    return err ? err
               : read_records(tracer, ring, bytes / 8, &at, bytes / 8,
                              task_before(tracer, tracer->event_count));
}

/* ---- the way ---- */

/* Runs part after part until the thread has steps in one, or all has been run. */
static int find_steps(struct psw_tracer *tracer)
{
    int err = 0;

    tracer->step_count = tracer->at = 0;
    while (!err && !tracer->step_count && !tracer->has_end && !tracer->is_over) {
        err = run(tracer, PART_INSTRUCTIONS, false);
        if (!err && rep_engine_time(tracer->engine) >= tracer->from)
            err = read_part(tracer);
    }
    return err;
}

int psw_way_begin(struct psw_tracer *tracer, uint64_t time, uint32_t task)
{
    tracer->task = task;
    tracer->from = time;
    tracer->is_over = false;
    tracer->change = 0;
    int err = begin_again(tracer);
    if (!err)
        err = find_steps(tracer);
    if (!err && tracer->step_count && tracer->steps[0].time < time)
        tracer->statement = (uint32_t)(time - tracer->steps[0].time);
    return err;
}

static const struct code *code_here(const struct psw_tracer *tracer)
{
    return &tracer->codes[tracer->steps[tracer->at].code];
}

bool psw_way_is_end(const struct psw_tracer *tracer)
{
    return tracer->at == tracer->step_count;
}

uint64_t psw_way_time(const struct psw_tracer *tracer)
{
    return tracer->steps[tracer->at].time + tracer->statement;
}

uint64_t psw_way_pc(const struct psw_tracer *tracer)
{
    const struct code *code = code_here(tracer);

    return code->pc + code->offsets[tracer->statement];
}

const struct psw_way_node *psw_way_here(const struct psw_tracer *tracer)
{
    return &code_here(tracer)->is;
}

uint32_t psw_way_left(const struct psw_tracer *tracer)
{
    return code_here(tracer)->count - tracer->statement - 1;
}

uint64_t psw_way_slot(const struct psw_tracer *tracer)
{
    return tracer->steps[tracer->at].slot;
}

int psw_way_next_node(struct psw_tracer *tracer, int *change)
{
    *change = 0;
    if (psw_way_is_end(tracer))
        return 0;
    tracer->statement = 0;
    int err = ++tracer->at < tracer->step_count ? 0 : find_steps(tracer);
    if (err || psw_way_is_end(tracer))
        return err;
    *change = tracer->steps[tracer->at].change;
    return 1;
}

int psw_way_next(struct psw_tracer *tracer)
{
    int change;

    if (psw_way_is_end(tracer) || !psw_way_left(tracer))
        return psw_way_next_node(tracer, &change);
    tracer->statement++;
    return 1;
}

void psw_way_to_last(struct psw_tracer *tracer)
{
    tracer->statement = code_here(tracer)->count - 1;
}

/* ---- a state ---- */

/* Runs up to `done` instructions exactly: -EAGAIN if it ran past that. */
static int run_to(struct psw_tracer *tracer, uint64_t done)
{
    int err = 0;

    while (!err && !tracer->has_end) {
        uint64_t left = done - rep_engine_time(tracer->engine);
        if (left <= 2 * PART_INSTRUCTIONS)
            return run(tracer, left, true);
        err = run(tracer, PART_INSTRUCTIONS, false);
    }
    return err;
}

int psw_tracer_go_to(struct psw_tracer *tracer, uint64_t time, struct psw_machine *machine)
{
    const struct agt_task *tasks;
    uint32_t running;
    int err = -EAGAIN;

    tracer->step_count = tracer->at = 0;
    tracer->from = UINT64_MAX;
    if (!tracer->has_end && rep_engine_time(tracer->engine) < time)
        err = run_to(tracer, time - 1);
    for (unsigned i = 0; i < ATTEMPTS && err == -EAGAIN; i++) {
        err = begin_again(tracer);
        if (!err)
            err = run_to(tracer, time - 1);
    }
    if (err == -EAGAIN || (!err && rep_engine_time(tracer->engine) != time - 1))
        return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
    if (!err)
        err = rep_engine_tasks(tracer->engine, &tasks, &running);
    if (err)
        return err;
    machine->regs = tasks[running].regs;
    machine->xsave = tasks[running].xsave;
    machine->xsave_bytes = sizeof(tasks[running].xsave);
    return 0;
}

int psw_tracer_read(struct psw_tracer *tracer, uint64_t address, void *bytes, size_t count,
                    size_t *done)
{
    return rep_engine_read(tracer->engine, address, bytes, count, done);
}

/* ---- life ---- */

int psw_tracer_new(struct wetdbg *wet, struct psw_tracer **out)
{
    struct psw_tracer *tracer = calloc(1, sizeof(*tracer));

    if (!tracer)
        return -ENOMEM;
    tracer->wet = wet;
    *out = tracer;
    return 0;
}

void psw_tracer_free(struct psw_tracer *tracer)
{
    if (!tracer)
        return;
    rep_engine_free(tracer->engine);
    codes_forget(tracer);
    free(tracer->spans);
    free(tracer->events);
    free(tracer->steps);
    free(tracer);
}
