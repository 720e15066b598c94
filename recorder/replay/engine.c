/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The supervisor: answers the agent's requests.
 *
 * The agent's turn ends with a request; on_request() answers it, with commands in between if it
 * needs something (code pages, memory), until the run is over. Entries are given in batches; the
 * batch is kept here too, because what lies in shared memory may have been changed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/bisect.h"
#include "common/once.h"
#include "common/page.h"
#include "recorder/event/buffered.h"
#include "recorder/event/ops.h"
#include "recorder/feed/feed.h"
#include "recorder/replay/engine_priv.h"
#include <wetdbg/errors.h>

#define BATCH_BYTES      (1u << 20)
#define EXACT_MARGIN     128
#define EXACT_MARGIN_MAX (1ull << 40)
#define LOOKS_MAX        64 /* in a run, for code that came with later mappings */
#define RUN_MAX          ((uint64_t)INT64_MAX / 2) /* counters go from a negative number upwards */

/* ---- commands ---- */

int rep_command(struct rep_engine *engine, uint32_t command, uint64_t a, uint64_t b, uint64_t c,
                uint64_t *reply)
{
    struct rep_turn *turn = &engine->host.turn;
    turn->command = command;
    turn->cargs[0] = a;
    turn->cargs[1] = b;
    turn->cargs[2] = c;
    int err = rep_host_exchange(&engine->host, engine->flag, false);
    if (err)
        return err;
    *reply = turn->args[0];
    if (turn->request == AGT_REQ_REPLY ||
        (turn->request == AGT_REQ_LINES && command == AGT_CMD_LINES))
        return 0;
    if (turn->request == AGT_REQ_DIVERGED)
        return rep_on_diverged(engine);
    return rep_damaged("answer");
}

int rep_damaged(const char *what)
{
    return wetdbg_fail(-WETDBG_ERR_MACHINE, "the replay process sent a damaged %s", what);
}

static struct agt_view *view_find(const struct rep_pages *pages, uint64_t address)
{
    size_t at = wd_bisect(0, pages->view_count, i, pages->views[i].end <= address);
    return at < pages->view_count && pages->views[at].start <= address ? &pages->views[at] : NULL;
}

/*
 * A page as rep_engine_prepare()'s caller knows it: 0 or a reason, as fetch_page(); negative if it
 * has to be asked for. That is so where the agent has to guard it, and once in each view, for the
 * agent to know that there is code.
 */
static int page_known(struct rep_pages *pages, uint64_t address, uint8_t *page, unsigned *flags)
{
    struct agt_view *view = view_find(pages, address);
    if (!view)
        return 1;
    if (!(view->prot & PROT_EXEC))
        return 2;
    const uint8_t *bytes =
        view->prot & PROT_WRITE || !view->fetched ? NULL : pages->page(pages->arg, view, address);
    view->fetched = 1;
    if (!bytes)
        return -1;
    *flags = 0;
    memcpy(page, bytes, WD_PAGE);
    return 0;
}

int rep_page_ask(struct rep_engine *engine, uint64_t address, uint8_t *page, unsigned *flags)
{
    uint64_t reply;
    int err = rep_command(engine, AGT_CMD_FETCH, address, 0, 0, &reply);
    if (err)
        return err;
    if (reply == 1 || reply == 2)
        return (int)reply;
    *flags = reply == 3   ? DBI_PAGE_WRITABLE
             : reply == 4 ? DBI_PAGE_WRITABLE | DBI_PAGE_UNWATCHED
                          : 0;
    wd_once_copy(page, engine->host.shm + AGT_XFER_OFF, WD_PAGE);
    return 0;
}

static int fetch_page(void *arg, uint64_t address, uint8_t *page, unsigned *flags)
{
    struct rep_engine *engine = arg;
    if (engine->is_probing)
        return -ECANCELED;
    if (engine->branch)
        return rep_branch_fetch(engine, address, page, flags);
    int known = engine->pages.page ? page_known(&engine->pages, address, page, flags) : -1;
    return known >= 0 ? known : rep_page_ask(engine, address, page, flags);
}

/* Maps a region of the code cache where this process writes it, aligned as it is in the replayee;
 * NULL with errno. */
static uint8_t *region_map(const struct rep_host *host, off_t off)
{
    size_t slack = DBI_REGION_ALIGN;
    uint8_t *room =
        mmap(NULL, DBI_REGION_BYTES + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return NULL;
    size_t before = -(uintptr_t)room & (slack - 1);
    uint8_t *at = mmap(room + before, DBI_REGION_BYTES, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_NORESERVE | MAP_FIXED, host->code_fd, off);
    if (at == MAP_FAILED) {
        munmap(room, DBI_REGION_BYTES + slack);
        return NULL;
    }
    if (before)
        munmap(room, before);
    munmap(at + DBI_REGION_BYTES, slack - before);
    return at;
}

static int place_region(void *arg, unsigned index, uint64_t near, uint64_t *address,
                        uint8_t **writable)
{
    struct rep_engine *engine = arg;
    struct rep_host *host = &engine->host;
    uint64_t reply;
    if (engine->is_probing)
        return -ECANCELED;
    off_t off = (off_t)(index * DBI_REGION_BYTES);
    *address = rep_host_place_region(host, near);
    if (!*address)
        return wetdbg_fail(-WETDBG_ERR_MACHINE, "no room for translated code in the address space");
    *writable = region_map(host, off);
    if (!*writable)
        return wetdbg_fail_errno("memory for translated code");
    host->regions[index] = *writable;
    host->region_at[index] = *address;
    int err = rep_branch_command(engine, AGT_CMD_MAP_CODE, *address, DBI_REGION_BYTES,
                                 (uint64_t)off, &reply);
    if (!err && reply != *address)
        err = wetdbg_fail(-WETDBG_ERR_MACHINE, "the replay process may not map translated code");
    return err;
}

static bool is_programs(void *arg, uint64_t address)
{
    const struct rep_engine *engine = arg;
    return rep_host_is_programs(&engine->host, address);
}

/* ---- life ---- */

int rep_engine_new(const struct rep_engine_setup *setup, struct rep_engine **out)
{
    struct rep_engine *engine = calloc(1, sizeof(*engine));
    if (!engine)
        return -ENOMEM;
    engine->mode = setup->mode;
    engine->ticks = setup->ticks;
    if (setup->lacks)
        snprintf(engine->lacks, sizeof(engine->lacks), "%s", setup->lacks);
    engine->exact_margin = EXACT_MARGIN;
    engine->place_goal = engine->place_cap = REP_NEVER;
    engine->task_end = 1;
    int err = rep_host_start(&engine->host, setup);
    if (!err) {
        struct dbi_config config = {.mode = setup->mode,
                                    .ticks = setup->ticks,
                                    .x87_is_lost = setup->x87 & AGT_X87_LOST,
                                    .values = setup->values,
                                    .shm = engine->host.shm,
                                    .fetch = fetch_page,
                                    .place = place_region,
                                    .is_programs = !setup->is_trusted ? is_programs : NULL,
                                    .arg = engine};
        err = dbi_new(&config, &engine->dbi);
        if (err)
            rep_host_stop(&engine->host);
    }
    if (err) {
        free(engine);
        return err;
    }
    *out = engine;
    return 0;
}

void rep_engine_free(struct rep_engine *engine)
{
    if (!engine)
        return;
    if (engine->branch)
        rep_engine_branch_end(engine);
    rep_host_stop(&engine->host);
    dbi_free(engine->dbi);
    wd_buf_fini(&engine->batch);
    wd_buf_fini(&engine->spare);
    wd_buf_fini(&engine->memory);
    wd_buf_fini(&engine->expected);
    wd_buf_fini(&engine->log);
    wd_buf_fini(&engine->views);
    free(engine->tasks);
    free(engine);
}

void rep_engine_watch(struct rep_engine *engine, const volatile sig_atomic_t *flag)
{
    engine->flag = flag;
}

/* ---- time ---- */

static uint64_t executed(const struct rep_engine *engine)
{
    const struct rep_turn *turn = &engine->host.turn;
    return turn->limit +
           (engine->mode == DBI_COLLECT ? -(uint64_t)agt_collect_left(turn->r15) : turn->r15);
}

uint64_t rep_engine_time(const struct rep_engine *engine)
{
    return engine->time_base + (engine->started ? executed(engine) : 0);
}

uint64_t rep_engine_entries(const struct rep_engine *engine)
{
    return engine->seq;
}

static void limit_set(struct rep_engine *engine, uint64_t limit)
{
    struct rep_turn *turn = &engine->host.turn;
    engine->time_base = rep_engine_time(engine);
    engine->started = true;
    turn->time_base = engine->time_base;
    turn->limit = limit;
    if (engine->mode == DBI_COLLECT)
        turn->r15 = agt_collect_r15((int64_t)limit, (uint32_t)turn->r15);
    else
        turn->r15 = -limit;
}

static int begin_again(struct rep_engine *engine)
{
    if (engine->exact_margin > EXACT_MARGIN_MAX)
        return wetdbg_fail(-WETDBG_ERR_MACHINE, "the replay process runs past every stop");
    engine->exact_margin *= 64;
    return -EAGAIN;
}

/* Whether the replayee ran past an exact goal, fast and without an opportunity to stop: what it
 * meets then need be nothing that was recorded. */
static bool has_run_past(const struct rep_engine *engine)
{
    return !engine->exact && rep_engine_time(engine) > engine->goal;
}

/*
 * How far the replayee may run now. Exact goals are approached fast up to a margin, and then
 * instruction by instruction; -EAGAIN if one has been missed: a loop that keeps flags alive all the
 * time (long additions) offers no place to stop and may run past the margin. Then the caller begins
 * again, with a wider one. So it does where anything else than a stop shows that it was missed.
 */
int rep_limit_plan(struct rep_engine *engine)
{
    uint64_t now = rep_engine_time(engine);
    uint64_t soft = engine->run_exact ? REP_NEVER : engine->run_goal;
    uint64_t hard = engine->run_exact ? engine->run_goal : REP_NEVER;
    soft = engine->place_cap < soft ? engine->place_cap : soft;
    hard = engine->place_goal < hard ? engine->place_goal : hard;
    if (now > hard)
        return begin_again(engine);
    /* a stop that may come late may come after the place, so it is made in time */
    if (hard == engine->place_goal && soft == engine->run_goal && soft < hard &&
        hard - soft <= engine->exact_margin)
        hard = soft = soft > now ? soft : now;
    /* what stops for time stops before the fragment that would go too far */
    engine->exact = hard <= soft && hard - now <= engine->exact_margin + DBI_INSN_MAX;
    engine->flags_lost &= engine->exact;
    engine->goal = hard;
    engine->host.turn.careful = engine->exact || engine->unverified;
    engine->ends_at_goal = !engine->exact && (soft < hard || hard == REP_NEVER);
    if (!engine->exact && !engine->ends_at_goal)
        soft = hard - engine->exact_margin;
    uint64_t limit = engine->exact ? hard - now : soft > now ? soft - now : 0;
    uint64_t most = engine->mode == DBI_COLLECT ? AGT_COLLECT_MAX : RUN_MAX;
    engine->ends_at_goal &= limit <= most;
    limit_set(engine, limit < most ? limit : most);
    return 0;
}

/* ---- the log ---- */

const struct evq_entry *rep_current_entry(const struct rep_engine *engine)
{
    if (engine->batch_at >= engine->batch.size_bytes)
        return NULL;
    return (const struct evq_entry *)(engine->batch.data + engine->batch_at);
}

/* The registers of a buffered call: its entry, which had none, gets them. */
static int buffered_take(struct rep_engine *engine, struct evq_entry *entry,
                         const struct agt_log_record *record)
{
    if (!entry || record->seq != engine->seq + 1 ||
        record->bytes != sizeof(*record) + sizeof(engine->buffered_call) ||
        entry->kind == EVQ_SYSCALL_EXIT || !evq_is_open(entry))
        return rep_damaged("log");
    memcpy(&engine->buffered_call, record + 1, sizeof(engine->buffered_call));
    if (entry->kind == EVQ_TRAP)
        evq_fill_trap(entry, &engine->buffered_call);
    else
        evq_fill_enter(entry, &engine->buffered_call);
    return 0;
}

static int log_record(struct rep_engine *engine, const struct agt_log_record *record)
{
    size_t bytes = record->bytes;
    const struct rep_source *source = engine->source;
    struct evq_entry *entry = (struct evq_entry *)rep_current_entry(engine);
    if (record->kind == 2) {
        const uint64_t *head = (const uint64_t *)(record + 1);
        if (bytes < sizeof(*record) + 24 || head[1] > bytes - sizeof(*record) - 24)
            return rep_damaged("log");
        return source->captured ? source->captured(source->arg, head[2], head[0], head + 3, head[1])
                                : 0;
    }
    if (record->kind == 3)
        return buffered_take(engine, entry, record);
    if (!entry || record->seq != engine->seq)
        return rep_damaged("log");
    if (entry->kind == EVQ_SYSCALL_EXIT && evq_is_open(entry))
        evq_fill_exit(entry, &engine->buffered_call);
    if (engine->ticks)
        entry->ticks = record->ticks;
    engine->seq++;
    engine->taken_frame = entry->frame;
    engine->batch_at += entry->bytes;
    return source->taken ? source->taken(source->arg, entry, record->time, record->ring) : 0;
}

/* The record at `at` of the log's copy, or NULL if there is no whole one. */
static const struct agt_log_record *log_at(const struct wd_buf *log, size_t at)
{
    const struct agt_log_record *record = (const struct agt_log_record *)(log->data + at);
    size_t left = log->size_bytes - at;
    return left >= sizeof(*record) && record->bytes >= sizeof(*record) && record->bytes % 8 == 0 &&
                   record->bytes <= left
               ? record
               : NULL;
}

/* Takes the log into memory of our own; the replayee's is empty then. */
static int log_take(struct rep_engine *engine)
{
    struct rep_turn *turn = &engine->host.turn;
    uint64_t bytes = turn->log_bytes;
    engine->log.size_bytes = 0;
    if (bytes > AGT_LOG_BYTES)
        return rep_damaged("log");
    int err = wd_buf_reserve(&engine->log, bytes);
    if (err || !bytes)
        return err;
    wd_once_copy(engine->log.data, engine->host.shm + AGT_LOG_OFF, bytes);
    engine->log.size_bytes = bytes;
    turn->log_bytes = 0;
    return 0;
}

/* The taken record of an entry is written before its captures, so captures are held back until
 * they have gone out: records are scanned for them first. */
int rep_log_drain(struct rep_engine *engine)
{
    const struct wd_buf *log = &engine->log;
    int err = log_take(engine);
    for (size_t at = 0; !err && at < log->size_bytes;) {
        const struct agt_log_record *record = log_at(log, at), *next;
        if (!record)
            return rep_damaged("log");
        /* one taken record and the captures that follow it */
        for (at += record->bytes; !err && at < log->size_bytes; at += next->bytes) {
            next = log_at(log, at);
            if (!next)
                return rep_damaged("log");
            if (next->kind == 1)
                break;
            err = log_record(engine, next);
        }
        if (!err)
            err = log_record(engine, record);
    }
    return err;
}

/* ---- entries ---- */

/* So that nobody has to look at tasks that there cannot be: each is on pages of its own. */
static void task_end_note(struct rep_engine *engine, const struct evq_entry *entry)
{
    uint64_t last = entry->task;
    for (const struct evq_op *op = NULL; (op = evq_op_next(entry, op));)
        last = op->op == EVQ_OP_TASK_NEW && op->task_new.task > last ? op->task_new.task : last;
    if (last >= engine->task_end)
        engine->task_end = last < EVQ_TASKS_MAX ? (uint32_t)last + 1 : EVQ_TASKS_MAX;
}

int rep_batch_give(struct rep_engine *engine)
{
    struct rep_turn *turn = &engine->host.turn;
    size_t used = 0;
    turn->queue_head_bytes = turn->queue_tail_bytes = 0;
    engine->batch.size_bytes = engine->batch_at = 0;
    while (used < engine->spare.size_bytes) {
        const struct evq_entry *entry = (const struct evq_entry *)(engine->spare.data + used);
        if (used + entry->bytes > AGT_QUEUE_BYTES)
            break;
        task_end_note(engine, entry);
        used += entry->bytes;
    }
    int err = wd_buf_append(&engine->batch, engine->spare.data, used);
    if (err || !used)
        return err;
    memmove(engine->spare.data, engine->spare.data + used, engine->spare.size_bytes - used);
    engine->spare.size_bytes -= used;
    memcpy(engine->host.shm + AGT_QUEUE_OFF, engine->batch.data, used);
    turn->queue_head_bytes = used;
    turn->is_live &= !engine->spare.size_bytes;
    return 0;
}

/* Gives the agent one more batch: as many entries as BATCH_BYTES, at least one if there is one. */
static int batch_refill(struct rep_engine *engine)
{
    int err = rep_log_drain(engine), more = 1;
    if (err)
        return err;
    while (more && engine->spare.size_bytes < BATCH_BYTES) {
        more = engine->source->next(engine->source->arg, &engine->spare);
        if (more < 0)
            return more;
    }
    engine->host.turn.is_live = engine->source->met && !more;
    return rep_batch_give(engine);
}

/* ---- requests ---- */

static void code_flush(struct rep_engine *engine)
{
    engine->host.turn.stop_body = 0;
    dbi_flush(engine->dbi);
}

static int code_forget(struct rep_engine *engine, uint64_t start, uint64_t end)
{
    engine->host.turn.stop_body = 0;
    return dbi_forget(engine->dbi, start, end);
}

/* Translations outlive a reset if the code that they were made from is there again. */
static int verify_translations(struct rep_engine *engine)
{
    engine->unverified = false;
    engine->host.turn.careful = engine->exact;
    int changed = dbi_verify(engine->dbi);
    if (changed > 0)
        code_flush(engine);
    return changed < 0 ? changed : 0;
}

/* Code that cannot be translated is an error only if it is reached. */
static int translate_ahead(struct rep_engine *engine)
{
    const uint64_t *pcs = (const uint64_t *)engine->expected.data;
    size_t count = engine->expected.size_bytes / sizeof(*pcs);
    int err = 0;
    for (size_t i = 0; !err && i < count; i++) {
        if (!dbi_is_missing(engine->dbi, pcs[i]))
            continue;
        const struct agt_view *view = view_find(&engine->pages, pcs[i]);
        const struct dbi_fragment *fragment;
        struct dbi_fetch_fault fault;
        if (!view || !(view->prot & PROT_EXEC) || view->prot & PROT_WRITE)
            continue;
        err = dbi_translate(engine->dbi, pcs[i], &fragment, &fault);
        err = err > 0 || err == -WETDBG_ERR_UNSUPPORTED ? 0 : err;
    }
    return err;
}

/* Verifies if it has to be done, and translates what is expected in the views as they are now. */
static int work_ahead(struct rep_engine *engine, rep_page_fn page, void *arg)
{
    const struct agt_view *views;
    size_t count;
    int err = rep_engine_views(engine, &views, &count);
    if (err)
        return err;
    struct agt_view *copy = malloc((count + 1) * sizeof(*copy));
    if (!copy)
        return -ENOMEM;
    if (count) /* else there is no array */
        memcpy(copy, views, count * sizeof(*copy));
    engine->pages =
        (struct rep_pages){.page = page, .arg = arg, .views = copy, .view_count = count};
    err = engine->unverified ? verify_translations(engine) : 0;
    if (!err)
        err = translate_ahead(engine);
    engine->pages = (struct rep_pages){0};
    free(copy);
    return err;
}

int rep_engine_prepare(struct rep_engine *engine, rep_page_fn page, void *arg, const uint64_t *pcs,
                       size_t pc_count)
{
    engine->expected.size_bytes = 0;
    engine->looks_left = LOOKS_MAX;
    int err = wd_buf_append(&engine->expected, pcs, pc_count * sizeof(*pcs));
    if (!err)
        err = dbi_expect(engine->dbi, pc_count ? pcs : NULL, pc_count);
    return err ? err : work_ahead(engine, page, arg);
}

/* Where expected code is reached that was not there before, more of it will have come. Its pages
 * are as they are now, so they are asked for. */
static int look_again(struct rep_engine *engine, uint64_t pc)
{
    if (!engine->looks_left || !dbi_is_missing(engine->dbi, pc))
        return 0;
    engine->looks_left--;
    return work_ahead(engine, NULL, NULL);
}

/* Whether the agent may run code that an exact stop asked for again without asking. Intervals
 * consist of the same executions whatever was asked before, so where they are collected nothing
 * stays that a stop has cut shorter. */
static bool may_stay(const struct rep_engine *engine, const struct dbi_fragment *fragment)
{
    return engine->exact &&
           (engine->mode == DBI_PLAIN || (engine->mode == DBI_COLLECT && fragment->ends_by_rule));
}

int rep_on_translate(struct rep_engine *engine, bool *done)
{
    struct rep_turn *turn = &engine->host.turn;
    const struct dbi_fragment *fragment = NULL;
    struct dbi_fetch_fault fault;
    uint64_t pc = turn->args[0];
    if (!rep_is_canonical(pc)) /* before an exact stop: the branch may not have been executed */
        return rep_answer_wild_branch(engine);
    int result = engine->unverified ? verify_translations(engine) : 0;
    if (result)
        return result;
    if (engine->exact) {
        uint64_t now = rep_engine_time(engine);
        if (now >= engine->goal && (engine->goal != engine->place_goal || engine->part_waits)) {
            engine->asked_translation = true;
            *done = true;
            return 0;
        }
        uint64_t left = engine->goal - now;
        result = dbi_translate_exact(engine->dbi, pc,
                                     left < DBI_INSN_MAX ? (unsigned)left : DBI_INSN_MAX, &fragment,
                                     &fault);
    } else {
        result = look_again(engine, pc);
        if (!result)
            result = dbi_translate(engine->dbi, pc, &fragment, &fault);
    }
    if (result < 0)
        return result;
    memset(turn->args, 0, sizeof(turn->args));
    if (result > 0) {
        rep_answer_fetch_fault(turn, &fault);
        return 0;
    }
    turn->args[0] = fragment->host_inner;
    turn->args[1] = fragment->host_prefix;
    turn->args[3] = may_stay(engine, fragment) ? fragment->insn_count : 0;
    return 0;
}

/* What the replayee says of addresses and fragments is its own affair; it only has to be
 * bounded. */
int rep_jumps_take(struct rep_engine *engine)
{
    struct rep_turn *turn = &engine->host.turn;
    const struct agt_jump *log = (const struct agt_jump *)(engine->host.shm + AGT_JUMPS_OFF);
    uint32_t count = turn->jump_count;
    int err = 0;
    if (count > AGT_JUMPS_MAX)
        return rep_damaged("log of jumps");
    turn->jump_count = 0;
    for (uint32_t i = 0; i < count && !err; i++) {
        struct agt_jump jump;
        wd_once_copy(&jump, &log[i], sizeof(jump));
        if (rep_is_canonical(jump.target)) /* else it is the jump that faulted */
            err = dbi_jump_note(engine->dbi, jump.fragment, jump.target);
    }
    return err;
}

static int on_site(struct rep_engine *engine)
{
    uint64_t fragment = engine->host.turn.args[0];
    int err = rep_jumps_take(engine);
    if (!err && fragment <= UINT32_MAX)
        dbi_site_grow(engine->dbi, (uint32_t)fragment);
    return err;
}

static int on_request(struct rep_engine *engine, enum rep_stop *why, bool *done)
{
    struct rep_turn *turn = &engine->host.turn;
    int err;
    if (has_run_past(engine))
        return begin_again(engine);
    switch (turn->request) {
    case AGT_REQ_TRANSLATE:
        return rep_on_translate(engine, done);
    case AGT_REQ_EVENTS:
        return batch_refill(engine);
    case AGT_REQ_LOG_FULL:
        return rep_log_drain(engine);
    case AGT_REQ_TIME:
        return rep_on_time(engine, done);
    case AGT_REQ_MET:
        return rep_on_met(engine);
    case AGT_REQ_END:
        *why = REP_STOP_END;
        *done = true;
        return 0;
    case AGT_REQ_STOP:
        return rep_on_stop(engine);
    case AGT_REQ_STOP_FILTER:
        return rep_on_stop_filter(engine);
    case AGT_REQ_PLACE:
        return rep_on_place(engine);
    case AGT_REQ_PLACE_REP:
        return rep_on_place_rep(engine);
    case AGT_REQ_PLACE_UNDO:
        return rep_on_place_undo(engine);
    case AGT_REQ_PLACE_TIME:
        return rep_on_place_time(engine);
    case AGT_REQ_PLACE_TAKEN:
        engine->place_goal = REP_NEVER;
        return rep_limit_plan(engine);
    case AGT_REQ_FAULT:
        return rep_on_fault(engine);
    case AGT_REQ_FAULT_REP:
        return rep_on_fault_rep(engine);
    case AGT_REQ_FAULT_RECORD:
        return rep_on_fault_record(engine);
    case AGT_REQ_CODE_CHANGED:
        return code_forget(engine, turn->args[0], turn->args[1]);
    case AGT_REQ_JUMPS:
        return rep_jumps_take(engine);
    case AGT_REQ_SITE:
        return on_site(engine);
    case AGT_REQ_DIVERGED:
        err = rep_log_drain(engine);
        return err ? err : rep_on_diverged(engine);
    case AGT_REQ_UNSUPPORTED:
        err = rep_log_drain(engine);
        return err ? err : rep_on_unsupported(engine);
    default:
        return wetdbg_fail(-WETDBG_ERR_MACHINE, "the replay process sent an unknown request");
    }
}

/* Where in the shared memory the next run writes its records, or the last one wrote them. */
static uint32_t ring_start(const struct rep_engine *engine)
{
    return (uint32_t)(AGT_RING_OFF + engine->ring_off);
}

static void ring_begin(struct rep_turn *turn, uint32_t start)
{
    turn->ring_start = start;
    turn->r15 = agt_collect_r15(agt_collect_left(turn->r15), start);
}

int rep_engine_run(struct rep_engine *engine, const struct rep_source *source, uint64_t limit,
                   bool exact, enum rep_stop *why)
{
    struct rep_turn *turn = &engine->host.turn;
    bool done = false;
    *why = REP_STOP_TIME;
    engine->source = source;
    turn->is_live &= source->met != NULL;
    if (engine->mode == DBI_COLLECT)
        ring_begin(&engine->host.turn, ring_start(engine));
    bool is_sent = false;
    uint64_t now = rep_engine_time(engine);
    engine->run_goal = limit < RUN_MAX ? now + limit : REP_NEVER - 1;
    engine->run_exact = exact;
    engine->part_waits = false;
    int err = rep_limit_plan(engine);
    if (!err && source->met && !rep_current_entry(engine))
        err = batch_refill(engine);
    if (engine->asked_translation) {
        engine->asked_translation = false;
        turn->args[0] = turn->args[1] = 0;
        turn->args[2] = 1;
    }
    while (!err && !done) {
        turn->command = AGT_CMD_CONTINUE;
        turn->cut_round = engine->unverified ? 0 : dbi_cut_round(engine->dbi);
        rep_host_send(&engine->host);
        int other = !is_sent && source->meanwhile ? source->meanwhile(source->arg) : 0;
        is_sent = true;
        err = rep_host_wait(&engine->host, engine->flag, true);
        err = err ? err : other;
        if (!err)
            err = on_request(engine, why, &done);
    }
    return err ? err : rep_log_drain(engine);
}

int rep_engine_reset(struct rep_engine *engine)
{
    struct rep_turn *turn = &engine->host.turn;
    uint64_t reply;
    if (engine->mode == DBI_COUNT)
        memset(engine->host.shm + AGT_COUNT_OFF, 0, 8ull * dbi_fragment_count(engine->dbi));
    int err = rep_command(engine, AGT_CMD_RESET, 0, 0, 0, &reply);
    turn->queue_head_bytes = turn->queue_tail_bytes = 0;
    turn->seq = engine->seq = 0;
    turn->log_bytes = turn->stop_pc = 0;
    engine->batch.size_bytes = engine->batch_at = engine->spare.size_bytes = 0;
    engine->time_base = 0;
    engine->started = false;
    engine->unverified = true;
    engine->flags_lost = true; /* the next state may be one that the clock had stopped at */
    engine->place_goal = engine->place_cap = REP_NEVER;
    engine->part = 0;
    engine->task_end = 1;
    engine->expected.size_bytes = engine->looks_left = 0;
    dbi_expect(engine->dbi, NULL, 0);
    if (!err)
        err = dbi_stop_at(engine->dbi, 0);
    return err;
}

/* ---- while it stands still ---- */

void rep_tasks_copy(const struct rep_host *host, struct agt_task *to, uint32_t count)
{
    const struct agt_task *from = (const struct agt_task *)(host->shm + AGT_TASKS_OFF);
    size_t used = offsetof(struct agt_task, xsave) + host->xsave_bytes;
    for (uint32_t i = 0; i < count; i++, to++) {
        to->live = wd_once_u32(&from[i].live) != 0;
        if (!to->live)
            continue;
        wd_once_copy(to, &from[i], used);
        memset((uint8_t *)to + used, 0, sizeof(*to) - used);
        to->live = 1;
    }
}

static struct agt_task *tasks_new(void)
{
    struct agt_task *tasks =
        aligned_alloc(_Alignof(struct agt_task), EVQ_TASKS_MAX * sizeof(*tasks));
    for (uint32_t i = 0; tasks && i < EVQ_TASKS_MAX; i++)
        tasks[i].live = 0;
    return tasks;
}

int rep_engine_tasks(struct rep_engine *engine, const struct agt_task **tasks, uint32_t *running)
{
    uint64_t reply;
    int err = rep_command(engine, AGT_CMD_STATE, 0, 0, 0, &reply);
    if (err)
        return err;
    if (!engine->tasks)
        engine->tasks = tasks_new();
    if (!engine->tasks)
        return -ENOMEM;
    rep_tasks_copy(&engine->host, engine->tasks, engine->task_end);
    for (uint32_t i = engine->task_end; i < engine->tasks_shown; i++)
        engine->tasks[i].live = 0;
    engine->tasks_shown = engine->task_end;
    *tasks = engine->tasks;
    *running = rep_engine_running(engine);
    return 0;
}

int rep_engine_pending(const struct rep_engine *engine, struct wd_buf *out)
{
    const struct wd_buf *batch = &engine->batch, *spare = &engine->spare;
    size_t left = batch->size_bytes - engine->batch_at;
    int err = left ? wd_buf_append(out, batch->data + engine->batch_at, left) : 0;
    return err || !spare->size_bytes ? err : wd_buf_append(out, spare->data, spare->size_bytes);
}

pid_t rep_engine_pid(const struct rep_engine *engine)
{
    return engine->host.pid;
}

uint32_t rep_engine_running(const struct rep_engine *engine)
{
    uint32_t task = engine->host.turn.task;
    return task < EVQ_TASKS_MAX ? task : 0;
}

uint64_t rep_engine_ticks(const struct rep_engine *engine, uint32_t task)
{
    const struct rep_turn *turn = &engine->host.turn;
    const struct agt_task *tasks = (const struct agt_task *)(engine->host.shm + AGT_TASKS_OFF);
    if (task >= EVQ_TASKS_MAX)
        return 0;
    return task == turn->task ? turn->ticks : wd_once_u64(&tasks[task].ticks);
}

size_t rep_engine_code(struct rep_engine *engine, uint64_t pc, uint8_t *bytes, size_t count)
{
    return dbi_code_seen(engine->dbi, pc, bytes, count);
}

int rep_engine_read(struct rep_engine *engine, uint64_t address, void *bytes, size_t count,
                    size_t *done)
{
    *done = 0;
    while (*done < count) {
        size_t piece = count - *done < AGT_XFER_BYTES ? count - *done : AGT_XFER_BYTES;
        uint64_t reply;
        int err = rep_command(engine, AGT_CMD_READ, address + *done, piece, 0, &reply);
        if (err)
            return err;
        if (reply > piece)
            return rep_damaged("answer");
        wd_once_copy((uint8_t *)bytes + *done, engine->host.shm + AGT_XFER_OFF, reply);
        *done += reply;
        if (reply < piece)
            break;
    }
    return 0;
}

int rep_engine_views(struct rep_engine *engine, const struct agt_view **views, size_t *count)
{
    uint64_t reply;
    int err = rep_command(engine, AGT_CMD_VIEWS, 0, 0, 0, &reply);
    if (err)
        return err;
    if (reply > AGT_XFER_BYTES / sizeof(**views))
        return rep_damaged("answer");
    engine->views.size_bytes = 0;
    err = wd_buf_append_zeros(&engine->views, reply * sizeof(**views));
    if (err)
        return err;
    wd_once_copy(engine->views.data, engine->host.shm + AGT_XFER_OFF, engine->views.size_bytes);
    *views = (const struct agt_view *)engine->views.data;
    *count = reply;
    return 0;
}

static int lines_take(struct rep_engine *engine, uint64_t bytes, rep_line_fn fn, void *arg)
{
    const uint8_t *area = engine->host.shm + AGT_XFER_OFF;
    struct {
        uint64_t address;
        uint8_t bytes[AGT_LINE_BYTES];
    } line;
    if (bytes > AGT_XFER_BYTES || bytes % sizeof(line))
        return rep_damaged("list of memory lines");
    for (uint64_t at = 0; at < bytes; at += sizeof(line)) {
        wd_once_copy(&line, area + at, sizeof(line));
        int err = fn(arg, line.address, line.bytes);
        if (err)
            return err;
    }
    return 0;
}

int rep_engine_lines(struct rep_engine *engine, rep_line_fn fn, void *arg)
{
    struct rep_turn *turn = &engine->host.turn;
    uint64_t reply;
    int err = rep_command(engine, AGT_CMD_LINES, 0, 0, 0, &reply);
    while (!err && turn->request == AGT_REQ_LINES) {
        err = lines_take(engine, turn->args[0], fn, arg);
        turn->command = AGT_CMD_CONTINUE;
        if (!err)
            err = rep_host_exchange(&engine->host, engine->flag, true);
    }
    if (!err && turn->request != AGT_REQ_REPLY)
        err = rep_damaged("answer");
    return err ? err : lines_take(engine, turn->args[0], fn, arg);
}

void rep_engine_ring_half(struct rep_engine *engine, unsigned half)
{
    engine->ring_off = (half & 1) * (AGT_RING_BYTES / 2);
}

/* Nothing that the replayee can write says where the ring is; but what is in it may change while it
 * is read. */
const uint64_t *rep_engine_ring(const struct rep_engine *engine, size_t *bytes)
{
    uint32_t used = (uint32_t)engine->host.turn.r15 - ring_start(engine);
    *bytes = used <= AGT_RING_BYTES - engine->ring_off ? used & ~7u : 0;
    return (const uint64_t *)(engine->host.shm + AGT_RING_OFF + engine->ring_off);
}

int rep_engine_jumps(struct rep_engine *engine, rep_jump_fn fn, void *arg)
{
    struct dbi_jump *jumps = NULL;
    size_t count = 0;
    int err = rep_jumps_take(engine);
    if (!err)
        err = dbi_jumps_get(engine->dbi, &jumps, &count);
    for (size_t i = 0; i < count && !err; i++)
        err = fn(arg, jumps[i].pc, jumps[i].target);
    free(jumps);
    return err;
}

const struct dbi_fragment *rep_engine_fragment(const struct rep_engine *engine, uint32_t id)
{
    return dbi_fragment_get(engine->dbi, id);
}

uint32_t rep_engine_fragment_count(const struct rep_engine *engine)
{
    return dbi_fragment_count(engine->dbi);
}

uint64_t rep_engine_executions(const struct rep_engine *engine, uint32_t id)
{
    return wd_once_u64(engine->host.shm + AGT_COUNT_OFF + 8ull * id);
}
