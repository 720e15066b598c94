/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs that no recording tells, and copies of the replayee that take one.
 *
 * A *branch* is a copy that stands where the replayee stands. It has memory and a context of its
 * own; code cache, queue, log and tasks are those of the replayee, which stands still meanwhile. So
 * what is translated for a branch is there for the next one, too, if the replayee has the same code
 * in that place: each page of code is asked of both processes, which also has the replayee guard
 * it. What was translated from bytes that differ is forgotten when the branch ends. (What a branch
 * forgets comes back by itself.)
 *
 * What it takes from the supervisor's side is a second set of the engine's books: those that belong
 * to the replayee are put aside, and taken out again at the end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/once.h"
#include "common/page.h"
#include "recorder/event/ops.h"
#include "recorder/feed/feed.h"
#include "recorder/replay/engine_priv.h"
#include <wetdbg/errors.h>

#define NEAR_BYTES 32 /* differences closer than that are one */

struct rep_branch {
    struct rep_engine trunk; /* the engine's books of the replayee */
    struct agt_task *tasks;  /* the replayee's, as they were: trunk.task_end */
    struct wd_buf differing; /* struct code_range: code that the replayee does not have so */
};

/* Bytes of one page. */
struct code_range {
    uint64_t start, end;
};

/* ---- what a live program has come to ---- */

/* The running task's registers as they are, but for what a recorder makes of them. */
static void regs_found(const struct rep_engine *engine, struct evq_regs *regs)
{
    const struct rep_turn *turn = &engine->host.turn;
    for (unsigned i = 0; i < 16; i++)
        regs->r[evq_reg_of_gpr[i]] = turn->gpr[i];
    regs->r[EVQ_RIP] = turn->rip;
    regs->r[EVQ_EFLAGS] = turn->rflags;
    regs->r[EVQ_FS_BASE] = turn->fs_base;
    regs->r[EVQ_GS_BASE] = turn->gs_base;
}

bool rep_engine_regs(const struct rep_engine *engine, uint32_t task, struct evq_regs *regs)
{
    const struct agt_task *tasks = (const struct agt_task *)(engine->host.shm + AGT_TASKS_OFF);
    if (task >= engine->task_end || !wd_once_u32(&tasks[task].live))
        return false;
    wd_once_copy(regs, &tasks[task].regs, sizeof(*regs)); /* of one that runs, the segments */
    if (task == engine->host.turn.task)
        regs_found(engine, regs);
    return true;
}

/* What EVQ_SYSCALL_ENTER says that the agent does. */
static void regs_enter_call(struct evq_regs *regs)
{
    regs->r[EVQ_ORIG_RAX] = regs->r[EVQ_RAX];
    regs->r[EVQ_RAX] = (uint64_t)-ENOSYS;
    regs->r[EVQ_RCX] = UINT64_MAX;
    regs->r[EVQ_R11] = regs->r[EVQ_EFLAGS] = 0x246;
}

static int met_now(const struct rep_engine *engine, struct rep_met *out)
{
    const struct rep_turn *turn = &engine->host.turn;
    struct rep_met met = {
        .kind = (enum evq_kind)turn->args[0], .task = turn->task, .time = rep_engine_time(engine)};
    if (!rep_engine_regs(engine, met.task, &met.regs))
        return rep_damaged("event");
    if (met.kind == EVQ_SYSCALL_ENTER)
        regs_enter_call(&met.regs);
    else if (met.kind == EVQ_TRAP)
        met.trap = (uint32_t)turn->args[1];
    else {
        met.signo = (int)turn->fault.signo;
        met.code = (int64_t)turn->fault.code;
        met.address = turn->fault.address;
        met.trapno = (uint32_t)turn->fault.trapno;
    }
    *out = met;
    return 0;
}

bool rep_engine_is_free(const struct rep_engine *engine, uint64_t start, uint64_t bytes)
{
    return rep_host_is_free(&engine->host, start, bytes);
}

/* Whether the op maps nothing where something of ours is, or will be from now on. */
static int room_check(struct rep_engine *engine, const struct evq_op *op)
{
    bool is_move = op->op == EVQ_OP_REMAP;
    uint64_t start = is_move ? op->remap.to : op->map.start;
    uint64_t bytes = is_move ? op->remap.to_size : op->map.size;
    if (op->op != EVQ_OP_MAP && !is_move)
        return 0;
    if (!rep_host_is_free(&engine->host, start, bytes))
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                           "memory at %#llx, where the process that replays has its own",
                           (unsigned long long)start);
    return rep_host_take(&engine->host, start, start + bytes);
}

/* What was appended comes of what the program says; nobody else looks at it again. */
static int appended_check(struct rep_engine *engine)
{
    const struct wd_buf *spare = &engine->spare;
    int err = spare->size_bytes ? 0
                                : wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                                              "the program came to an event that has no entry");
    for (size_t at = 0; !err && at < spare->size_bytes;) {
        const struct evq_entry *entry = (const struct evq_entry *)(spare->data + at);
        err = evq_entry_check(entry, spare->size_bytes - at);
        for (const struct evq_op *op = NULL; !err && (op = evq_op_next(entry, op));)
            err = room_check(engine, op);
        at += err ? 0 : entry->bytes;
    }
    return err;
}

void rep_engine_shorten(struct rep_engine *engine, uint64_t time)
{
    uint64_t now = rep_engine_time(engine), goal = time > now ? time : now;
    engine->run_goal = goal < engine->run_goal ? goal : engine->run_goal;
}

int rep_on_met(struct rep_engine *engine)
{
    uint64_t goal = engine->run_goal;
    const struct rep_source *source = engine->source;
    int err = rep_log_drain(engine);
    const struct rep_turn *turn = &engine->host.turn;
    uint64_t kind = turn->args[0];
    bool is_known = kind == EVQ_SYSCALL_ENTER || kind == EVQ_TRAP || kind == EVQ_FAULT;
    if (!err && (!source->met || !turn->is_live || !is_known))
        err = rep_damaged("event");
    if (err)
        return err;
    struct rep_met met;
    err = met_now(engine, &met);
    if (!err)
        err = source->met(source->arg, &met, &engine->spare);
    if (!err)
        err = appended_check(engine);
    if (!err && engine->run_goal != goal)
        err = rep_limit_plan(engine);
    return err ? err : rep_batch_give(engine);
}

/* ---- branches ---- */

/* Makes `host` be about the process that `from` is about. */
static void process_take(struct rep_host *host, const struct rep_host *from)
{
    host->pid = from->pid;
    host->pidfd = from->pidfd;
    host->ctx = from->ctx;
    host->turn = from->turn;
}

/* The branch's and the replayee's process change places. */
static void process_swap(struct rep_engine *engine)
{
    struct rep_host was = engine->host, *other = &engine->branch->trunk.host;
    process_take(&engine->host, other);
    process_take(other, &was);
}

/* A command to the replayee, while there is a branch, and then to that; else to the replayee. */
int rep_branch_command(struct rep_engine *engine, uint32_t command, uint64_t a, uint64_t b,
                       uint64_t c, uint64_t *reply)
{
    uint64_t replayees = 0;
    if (!engine->branch)
        return rep_command(engine, command, a, b, c, reply);
    process_swap(engine);
    int err = rep_command(engine, command, a, b, c, &replayees);
    process_swap(engine);
    if (!err)
        err = rep_command(engine, command, a, b, c, reply);
    if (!err && replayees != *reply)
        err = rep_damaged("answer");
    return err;
}

static int differing_add(struct rep_branch *branch, uint64_t start, uint64_t end)
{
    const struct code_range range = {start, end};
    return wd_buf_append(&branch->differing, &range, sizeof(range));
}

/* Where two contents of the page at `address` differ; what is between near differences counts. */
static int differing_find(struct rep_branch *branch, uint64_t address, const uint8_t *one,
                          const uint8_t *other)
{
    int err = 0;
    for (size_t at = 0, end; at < WD_PAGE && !err; at = end) {
        size_t same = 0;
        for (end = at + 1; one[at] != other[at] && end < WD_PAGE && same < NEAR_BYTES; end++)
            same = one[end] == other[end] ? same + 1 : 0;
        if (one[at] != other[at])
            err = differing_add(branch, address + at, address + end - same);
    }
    return err;
}

int rep_branch_fetch(struct rep_engine *engine, uint64_t address, uint8_t *page, unsigned *flags)
{
    struct rep_branch *branch = engine->branch;
    uint8_t replayees[WD_PAGE];
    unsigned flags_there = 0;
    process_swap(engine);
    int there = rep_page_ask(engine, address, replayees, &flags_there);
    process_swap(engine);
    int here = there < 0 ? there : rep_page_ask(engine, address, page, flags);
    if (here)
        return here;
    bool is_alike = !there && *flags == flags_there;
    if (is_alike && !memcmp(page, replayees, WD_PAGE))
        return 0;
    if (!is_alike || *flags & DBI_PAGE_UNWATCHED)
        return differing_add(branch, address, address + WD_PAGE);
    return differing_find(branch, address, page, replayees);
}

static void branch_free(struct rep_branch *branch)
{
    free(branch->tasks);
    wd_buf_fini(&branch->differing);
    free(branch);
}

static struct rep_branch *branch_new(uint32_t tasks)
{
    struct rep_branch *branch = calloc(1, sizeof(*branch));
    if (!branch)
        return NULL;
    branch->tasks = aligned_alloc(_Alignof(struct agt_task), tasks * sizeof(*branch->tasks));
    if (branch->tasks)
        return branch;
    free(branch);
    return NULL;
}

static struct agt_task *tasks_shared(const struct rep_engine *engine)
{
    return (struct agt_task *)(engine->host.shm + AGT_TASKS_OFF);
}

static void tasks_restore(struct rep_engine *engine)
{
    const struct agt_task *kept = engine->branch->tasks;
    uint32_t count = engine->branch->trunk.task_end;
    struct agt_task *shared = tasks_shared(engine);
    size_t used = offsetof(struct agt_task, xsave) + engine->host.xsave_bytes;
    for (uint32_t i = 0; i < engine->task_end; i++) {
        if (i < count && kept[i].live)
            memcpy(&shared[i], &kept[i], used);
        else
            shared[i].live = 0;
    }
}

int rep_engine_branch(struct rep_engine *engine)
{
    struct rep_host copy;
    if (engine->branch || engine->mode != DBI_PLAIN || engine->host.turn.stop_pc)
        return wetdbg_fail(-WETDBG_ERR_MACHINE, "the replay process cannot go another way now");
    struct rep_branch *branch = branch_new(engine->task_end);
    if (!branch)
        return -ENOMEM;
    int err = rep_log_drain(engine);
    if (!err)
        err = rep_jumps_take(engine);
    if (!err)
        rep_tasks_copy(&engine->host, branch->tasks, engine->task_end);
    if (!err)
        err = rep_host_branch_start(&engine->host, &copy, engine->flag);
    if (err) {
        branch_free(branch);
        return err;
    }
    branch->trunk = *engine;
    engine->branch = branch;
    engine->host = copy;
    engine->batch = engine->spare = (struct wd_buf){0};
    engine->batch_at = 0;
    engine->place_goal = engine->place_cap = REP_NEVER;
    engine->host.turn.queue_head_bytes = engine->host.turn.queue_tail_bytes = 0;
    return 0;
}

/* The books are the replayee's again; buffers and room are of both. */
static void books_restore(struct rep_engine *engine)
{
    struct rep_engine was = *engine;
    *engine = was.branch->trunk;
    engine->host = was.host;
    process_take(&engine->host, &was.branch->trunk.host);
    engine->flag = was.flag;
    engine->memory = was.memory;
    engine->log = was.log;
    engine->views = was.views;
    engine->tasks = was.tasks;
    engine->tasks_shown = was.tasks_shown;
    engine->expected = was.expected;
}

static int differing_forget(struct rep_engine *engine, const struct wd_buf *differing)
{
    const struct code_range *ranges = (const struct code_range *)differing->data;
    size_t count = differing->size_bytes / sizeof(*ranges);
    int err = 0;
    for (size_t i = 0; i < count && !err; i++)
        err = dbi_forget(engine->dbi, ranges[i].start, ranges[i].end);
    return err;
}

int rep_engine_branch_end(struct rep_engine *engine)
{
    struct rep_branch *branch = engine->branch;
    rep_host_probe_stop(&engine->host);
    tasks_restore(engine);
    wd_buf_fini(&engine->batch);
    wd_buf_fini(&engine->spare);
    books_restore(engine);
    const struct wd_buf *batch = &engine->batch;
    if (engine->batch_at < batch->size_bytes)
        memcpy(engine->host.shm + AGT_QUEUE_OFF + engine->batch_at, batch->data + engine->batch_at,
               batch->size_bytes - engine->batch_at);
    int err = differing_forget(engine, &branch->differing);
    branch_free(branch);
    return err;
}
