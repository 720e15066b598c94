/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "predicate_switch/answer.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "predicate_switch/entries.h"
#include "predicate_switch/frame.h"
#include "recorder/feed/feed.h"
#include <wetdbg/errors.h>

#define SYSCALL_BYTES 2
#define COMM_BYTES    16
#define CAREFUL       512 /* instructions before a time at which to stop */

/* A fault and its handler's frame take as long as so many instructions. */
#define FAULT_INSTRUCTIONS 20000
#define FAULTS_LEAST       64

/* ---- memory ---- */

static int memory_read(void *arg, uint64_t address, void *bytes, size_t size)
{
    size_t done = 0;
    int err = rep_engine_read(arg, address, bytes, size, &done);
    return err ? err : done == size ? 0 : -EFAULT;
}

struct vk_memory psw_memory(struct rep_engine *engine)
{
    return (struct vk_memory){.read = memory_read, .arg = engine};
}

/* ---- where tasks stand ---- */

static int unresolved(struct psw_live *live, const char *reason)
{
    live->then = VK_THEN_UNRESOLVED;
    snprintf(live->reason, sizeof(live->reason), "%s", reason);
    return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "%s", live->reason);
}

/* A task's registers as they are now, but for a call that it is in. */
static int regs_get(struct psw_live *live, uint32_t task, struct evq_regs *regs)
{
    return rep_engine_regs(live->engine, task, regs)
               ? 0
               : unresolved(live, "a thread that is not there");
}

/* All of a task, but for a call that it is in. */
static int task_get(struct psw_live *live, uint32_t task, const struct agt_task **out)
{
    const struct agt_task *tasks;
    uint32_t running;
    if (task >= EVQ_TASKS_MAX)
        return unresolved(live, "a thread that is not there");
    int err = rep_engine_tasks(live->engine, &tasks, &running);
    if (!err && !tasks[task].live)
        err = unresolved(live, "a thread that is not there");
    *out = &tasks[task];
    return err;
}

/* ---- ops ---- */

/* Ops of memory, and of tasks that begin: all that needs no registers of the running task. */
static int op_append(struct psw_entry *entry, const struct vk_op *op)
{
    struct evq_op made = evq_op_range(EVQ_OP_ZERO, op->start, op->size);
    switch (op->kind) {
    case VK_OP_WRITE:
        return psw_entry_write(entry, op->start, op->bytes, op->size);
    case VK_OP_MAP:
        made.op = EVQ_OP_MAP;
        made.map.prot = (uint64_t)op->prot;
        made.map.file = EVQ_FILE_NONE;
        made.map.name = EVQ_NAME_NONE;
        break;
    case VK_OP_UNMAP:
        made.op = EVQ_OP_UNMAP;
        break;
    case VK_OP_PROTECT:
        made.op = EVQ_OP_PROTECT;
        made.protect.prot = (uint64_t)op->prot;
        break;
    case VK_OP_REMAP:
        made.op = EVQ_OP_REMAP;
        made.remap.to = op->to;
        made.remap.to_size = op->to_size;
        made.remap.stays = op->stays;
        break;
    default: /* VK_OP_DISCARD */
        break;
    }
    int err = psw_entry_op(entry, &made, NULL, 0);
    bool has_bytes = op->kind == VK_OP_MAP || op->kind == VK_OP_DISCARD;
    return err || !has_bytes ? err : psw_entry_write(entry, op->start, op->bytes, op->byte_count);
}

/* A new task begins where its parent's call does. */
static struct evq_regs task_new_regs(const struct psw_live *live, const struct vk_op *op)
{
    struct evq_regs regs = live->tasks[op->from].regs;
    regs.r[EVQ_RAX] = 0;
    if (op->stack)
        regs.r[EVQ_RSP] = op->stack;
    if (op->has_tls)
        regs.r[EVQ_FS_BASE] = op->tls;
    return regs;
}

static int task_new_append(struct psw_live *live, struct psw_entry *entry, const struct vk_op *op)
{
    struct evq_op made = evq_op_new(EVQ_OP_TASK_NEW);
    if (op->task >= VK_TASKS_MAX || op->from >= VK_TASKS_MAX)
        return unresolved(live, "a thread that is not there");
    struct evq_regs regs = task_new_regs(live, op);
    made.task_new.task = op->task;
    made.task_new.tid = (uint64_t)op->tid;
    return psw_entry_op(entry, &made, &regs, sizeof(regs));
}

/* The base of a segment changes, of a task that is in a call, or comes back from one: it is loaded
 * then. */
static int base_change(struct psw_live *live, const struct vk_op *op)
{
    if (op->task >= VK_TASKS_MAX)
        return unresolved(live, "a thread that is not there");
    live->tasks[op->task].regs.r[op->kind == VK_OP_FS_BASE ? EVQ_FS_BASE : EVQ_GS_BASE] = op->start;
    return 0;
}

static int ops_append(struct psw_live *live, struct psw_entry *entry,
                      const struct vk_outcome *outcome)
{
    int err = 0;
    for (size_t i = 0; !err && i < outcome->op_count; i++) {
        const struct vk_op *op = &outcome->ops[i];
        if (op->kind == VK_OP_TASK_NEW)
            err = task_new_append(live, entry, op);
        else if (op->kind == VK_OP_FS_BASE || op->kind == VK_OP_GS_BASE)
            err = base_change(live, op);
        else if (op->kind != VK_OP_TASK_END)
            err = op_append(entry, op);
    }
    return err;
}

/* Tasks that end do so first: what goes on then is another one. */
static int ends_append(struct psw_live *live, const struct vk_outcome *outcome, struct wd_buf *out)
{
    int err = 0;
    for (size_t i = 0; !err && i < outcome->op_count; i++) {
        const struct vk_op *op = &outcome->ops[i];
        if (op->kind != VK_OP_TASK_END)
            continue;
        if (op->task >= VK_TASKS_MAX)
            return unresolved(live, "a thread that is not there");
        live->tasks[op->task].is_in_call = false;
        err = psw_task_exit(out, op->task, ++live->frame);
    }
    return err;
}

/* The op by which the task that runs now begins; NULL: it was there. */
static const struct vk_op *begin_of_task(const struct vk_outcome *outcome)
{
    for (size_t i = 0; i < outcome->op_count; i++) {
        const struct vk_op *op = &outcome->ops[i];
        if (op->kind == VK_OP_TASK_NEW && op->task == outcome->task && op->from < VK_TASKS_MAX)
            return op;
    }
    return NULL;
}

/* ---- what comes of an outcome ---- */

/* With what a task goes on. */
struct going_on {
    struct evq_regs regs;
    struct wd_buf xsave; /* vector state; empty: as it is */
    bool loads;          /* it comes back from a call */
};

static int registers_find(struct psw_live *live, const struct vk_outcome *outcome,
                          struct going_on *on)
{
    struct psw_waiting *waiting = &live->tasks[outcome->task];
    const struct vk_memory memory = psw_memory(live->engine);
    const struct vk_op *begin = begin_of_task(outcome);
    if (begin) {
        on->regs = task_new_regs(live, begin);
        return 0;
    }
    if (!waiting->is_in_call)
        return regs_get(live, outcome->task, &on->regs);
    on->loads = outcome->returns || outcome->restarts || outcome->sigreturn;
    on->regs = waiting->regs;
    if (!on->loads)
        return outcome->signal ? unresolved(live, "a handler that begins inside a call") : 0;
    waiting->is_in_call = false;
    if (outcome->sigreturn) {
        struct psw_frame frame;
        int err = psw_frame_take(&memory, &waiting->regs, &frame);
        on->regs = frame.regs;
        on->xsave = frame.xsave;
        return err == -EFAULT ? unresolved(live, "rt_sigreturn: a frame that is none") : err;
    }
    on->regs.r[EVQ_RAX] = (uint64_t)outcome->result;
    if (outcome->restarts)
        on->regs.r[EVQ_RIP] -= SYSCALL_BYTES;
    return 0;
}

static int xstate_append(struct psw_entry *entry, const struct wd_buf *image)
{
    struct evq_op op = evq_op_new(EVQ_OP_XSTATE);
    op.xstate.size = image->size_bytes;
    return psw_entry_op(entry, &op, image->data, image->size_bytes);
}

/* What a recording captures at the end of a call: where the bytes lay that it put out, and the
 * thread's new name. */
static int capture_append(struct psw_live *live, struct psw_entry *entry,
                          const struct vk_outcome *outcome)
{
    const struct evq_regs *regs = &live->tasks[outcome->task].regs;
    int64_t number = (int64_t)regs->r[EVQ_ORIG_RAX];
    bool is_vector = number == SYS_writev || number == SYS_pwritev || number == SYS_pwritev2;
    bool is_name = number == SYS_prctl && (int)regs->r[EVQ_RDI] == PR_SET_NAME;
    uint64_t count = regs->r[EVQ_RDX] < IOV_MAX ? regs->r[EVQ_RDX] : IOV_MAX;
    uint64_t size = is_vector ? count * sizeof(struct iovec) : is_name ? COMM_BYTES : 0;
    uint8_t bytes[IOV_MAX * sizeof(struct iovec)];
    struct evq_op op = evq_op_range(EVQ_OP_CAPTURE, regs->r[EVQ_RSI], size);
    op.capture.tag = is_vector ? REP_CAPTURE_IOVEC : REP_CAPTURE_COMM;
    if (!size || outcome->result < 0 || memory_read(live->engine, op.range.start, bytes, size))
        return 0;
    return psw_entry_op(entry, &op, NULL, 0);
}

/* The task that goes on begins only now: its maker's entry has the ops. */
static int begin_append(struct psw_live *live, const struct vk_outcome *outcome, uint32_t maker,
                        struct wd_buf *out)
{
    struct evq_entry head = {.kind = EVQ_OPS, .task = maker, .frame = ++live->frame};
    struct psw_entry entry;
    int err = psw_entry_begin(&entry, out, &head, NULL, 0);
    if (!err)
        err = ops_append(live, &entry, outcome);
    if (err)
        return err;
    psw_entry_end(&entry);
    head = (struct evq_entry){.kind = EVQ_OPS, .task = outcome->task, .frame = ++live->frame};
    err = psw_entry_begin(&entry, out, &head, NULL, 0);
    if (!err)
        psw_entry_end(&entry);
    return err;
}

/* The entry in which the ops happen: the end of the call that outcome->task comes back from, or one
 * of its own. */
static int answer_append(struct psw_live *live, const struct vk_outcome *outcome,
                         struct going_on *on, struct wd_buf *out)
{
    int number = (int)live->tasks[outcome->task].regs.r[EVQ_ORIG_RAX];
    struct evq_entry head = {.kind = on->loads ? EVQ_SYSCALL_EXIT : EVQ_OPS,
                             .task = outcome->task,
                             .frame = ++live->frame,
                             .number = on->loads ? number : 0};
    const struct vk_op *begin = begin_of_task(outcome);
    struct psw_entry entry;
    if (begin)
        return begin_append(live, outcome, begin->from, out);
    if (!on->loads && !outcome->op_count && outcome->task == rep_engine_running(live->engine))
        return 0;
    int err = psw_entry_begin(&entry, out, &head, NULL, 0);
    if (!err)
        err = ops_append(live, &entry, outcome);
    if (!err && on->loads && live->kept && !outcome->sigreturn)
        err = capture_append(live, &entry, outcome);
    if (!err && on->loads && outcome->sigreturn)
        err = xstate_append(&entry, &on->xsave);
    if (!err && on->loads) {
        on->regs.r[EVQ_FS_BASE] = live->tasks[outcome->task].regs.r[EVQ_FS_BASE];
        on->regs.r[EVQ_GS_BASE] = live->tasks[outcome->task].regs.r[EVQ_GS_BASE];
        err = psw_entry_load(&entry, &on->regs);
    }
    if (!err)
        psw_entry_end(&entry);
    return err;
}

/* The processor's own words on a fault. */
static void fault_describe(const struct rep_met *met, struct psw_interrupted *interrupted)
{
    interrupted->trapno = met->trapno;
    if (met->trapno != 14)
        return;
    interrupted->address = met->address;
    interrupted->err = 4 | (met->code == SEGV_ACCERR);
}

/* Enters a handler, at whose first instruction the task then is. */
static int handler_append(struct psw_live *live, const struct vk_outcome *outcome,
                          const struct rep_met *met, struct going_on *on, struct wd_buf *out)
{
    const struct agt_task *task = NULL;
    struct psw_interrupted interrupted = {.regs = on->regs};
    struct psw_entry entry;
    struct psw_frame frame;
    int err = task_get(live, outcome->task, &task);
    if (err)
        return err;
    interrupted.xsave = on->xsave.size_bytes ? on->xsave.data : task->xsave;
    if (outcome->signal->is_fault && met)
        fault_describe(met, &interrupted);
    struct evq_entry head = {.kind = EVQ_OPS,
                             .task = outcome->task,
                             .frame = ++live->frame,
                             .number = outcome->signal->number};
    err = psw_frame_make(outcome->signal, &interrupted, &frame);
    if (!err)
        err = psw_entry_begin(&entry, out, &head, NULL, 0);
    if (!err)
        err = psw_entry_write(&entry, frame.address, frame.bytes.data, frame.bytes.size_bytes);
    if (!err)
        err = xstate_append(&entry, &frame.xsave);
    if (!err)
        err = psw_entry_load(&entry, &frame.regs);
    if (!err)
        psw_entry_end(&entry);
    on->regs = frame.regs;
    wd_buf_fini(&on->xsave);
    on->xsave = frame.xsave;
    wd_buf_fini(&frame.bytes);
    return err;
}

/* 0 if the run goes on, or comes to its end. */
static int then_check(struct psw_live *live, const struct vk_outcome *outcome)
{
    live->until = outcome->until;
    if (outcome->task >= VK_TASKS_MAX)
        return unresolved(live, "a thread that is not there");
    if (outcome->then == VK_THEN_RUN || outcome->then == VK_THEN_END)
        return 0;
    int err = unresolved(live, outcome->reason ? outcome->reason : "");
    live->then = outcome->then;
    return err;
}

/* Once a handler has its frame, more signals may wait. */
static int signals_append(struct psw_live *live, struct vk_outcome *outcome,
                          const struct rep_met *met, struct going_on *on, struct wd_buf *out)
{
    const struct vk_memory memory = psw_memory(live->engine);
    int err = 0;
    on->loads = false;
    while (!err && outcome->then == VK_THEN_RUN && outcome->signal) {
        err = handler_append(live, outcome, met, on, out);
        if (!err)
            err = vk_entered(live->kernel, rep_engine_time(live->engine), &memory, outcome);
        if (!err)
            err = then_check(live, outcome);
        if (!err)
            err = answer_append(live, outcome, on, out);
    }
    return err;
}

/* Where a signal struck: behind a handler that has returned, what that had interrupted. */
static void strike(struct psw_live *live, const struct rep_met *met)
{
    const struct vk_memory memory = psw_memory(live->engine);
    struct psw_frame frame = {0};
    bool is_return =
        met->kind == EVQ_SYSCALL_ENTER && met->regs.r[EVQ_ORIG_RAX] == SYS_rt_sigreturn;
    live->struck = *met;
    live->is_struck = !is_return || psw_frame_take(&memory, &met->regs, &frame) == 0;
    if (is_return && live->is_struck)
        live->struck.regs = frame.regs;
    wd_buf_fini(&frame.xsave);
}

static int end_append(struct psw_live *live, const struct vk_outcome *outcome,
                      const struct rep_met *met, struct wd_buf *out)
{
    live->then = outcome->then;
    live->status = outcome->status;
    if (met && WIFSIGNALED(outcome->status))
        strike(live, met);
    return psw_run_end(out, outcome->task, ++live->frame);
}

static int outcome_append(struct psw_live *live, const struct vk_outcome *first,
                          const struct rep_met *met, struct wd_buf *out)
{
    struct vk_outcome outcome = *first;
    struct going_on on = {0};
    int err = then_check(live, &outcome);
    if (!err)
        err = ends_append(live, &outcome, out);
    if (!err && outcome.then == VK_THEN_RUN)
        err = registers_find(live, &outcome, &on);
    if (!err && outcome.then == VK_THEN_RUN)
        err = answer_append(live, &outcome, &on, out);
    if (!err)
        err = signals_append(live, &outcome, met, &on, out);
    if (!err && outcome.then == VK_THEN_END)
        err = end_append(live, &outcome, met, out);
    wd_buf_fini(&on.xsave);
    return err;
}

/* ---- what the program comes to ---- */

static int call_answer(struct psw_live *live, const struct rep_met *met, struct wd_buf *out)
{
    const struct evq_regs *regs = &met->regs;
    const struct vk_memory memory = psw_memory(live->engine);
    struct vk_call call = {.when = met->time,
                           .task = met->task,
                           .number = (int32_t)regs->r[EVQ_ORIG_RAX],
                           .args = {regs->r[EVQ_RDI], regs->r[EVQ_RSI], regs->r[EVQ_RDX],
                                    regs->r[EVQ_R10], regs->r[EVQ_R8], regs->r[EVQ_R9]},
                           .stack = regs->r[EVQ_RSP]};
    struct vk_outcome outcome;
    live->tasks[met->task] = (struct psw_waiting){.is_in_call = true, .regs = *regs};
    int err = psw_call_enter(out, met->task, ++live->frame, regs);
    if (!err)
        err = vk_call(live->kernel, &call, &memory, &outcome);
    return err ? err : outcome_append(live, &outcome, met, out);
}

static int fault_answer(struct psw_live *live, const struct rep_met *met, struct wd_buf *out)
{
    const struct vk_memory memory = psw_memory(live->engine);
    struct vk_outcome outcome;
    int err = psw_fault(out, ++live->frame, met);
    if (!err)
        err = vk_fault(live->kernel, met->time, met->task, met->signo, (int)met->code, met->address,
                       &memory, &outcome);
    if (!err && outcome.signal && !live->faults--) /* others make the stack larger */
        return unresolved(live, "limit of faults");
    return err ? err : outcome_append(live, &outcome, met, out);
}

/* cpuid was an event where it was recorded: its answers are known. */
static int cpuid_answer(struct psw_live *live, const struct rep_met *met, struct evq_regs *regs)
{
    struct agt_cpuid answer;
    uint32_t leaf = (uint32_t)met->regs.r[EVQ_RAX], subleaf = (uint32_t)met->regs.r[EVQ_RCX];
    if (wet_whole_cpuid(live->wet, leaf, subleaf, &answer))
        return unresolved(live, "cpuid: the recording has no answer");
    regs->r[EVQ_RAX] = answer.eax;
    regs->r[EVQ_RBX] = answer.ebx;
    regs->r[EVQ_RCX] = answer.ecx;
    regs->r[EVQ_RDX] = answer.edx;
    return 0;
}

static int trap_answer(struct psw_live *live, const struct rep_met *met, struct wd_buf *out)
{
    struct evq_regs regs = met->regs;
    if (met->trap == AGT_EXIT_CPUID) {
        int err = cpuid_answer(live, met, &regs);
        return err ? err : psw_trap(out, met->task, ++live->frame, &met->regs, &regs);
    }
    uint64_t counter = vk_counter(live->kernel, met->time);
    regs.r[EVQ_RAX] = (uint32_t)counter;
    regs.r[EVQ_RDX] = counter >> 32;
    if (met->trap == AGT_EXIT_RDTSCP && !live->rdtscp_leaves_rcx)
        regs.r[EVQ_RCX] = wet_whole_processor(live->wet);
    return psw_trap(out, met->task, ++live->frame, &met->regs, &regs);
}

static int live_met(void *arg, const struct rep_met *met, struct wd_buf *out)
{
    struct psw_live *live = arg;
    if (psw_detours_met(&live->detours, met))
        return psw_detours_answer(&live->detours, met, &live->frame, out);
    int err = met->kind == EVQ_SYSCALL_ENTER ? call_answer(live, met, out)
              : met->kind == EVQ_TRAP        ? trap_answer(live, met, out)
                                             : fault_answer(live, met, out);
    rep_engine_shorten(live->engine, live->until); /* a timer may have been set */
    return err;
}

/* ---- what comes by itself ---- */

/* A tick: the event is one of the running task, where it stands. */
static int tick(struct psw_live *live)
{
    const struct vk_memory memory = psw_memory(live->engine);
    uint32_t running = rep_engine_running(live->engine);
    struct vk_outcome outcome;
    struct psw_entry entry;
    struct evq_regs regs;
    uint64_t now = rep_engine_time(live->engine);
    int err = regs_get(live, running, &regs);
    if (!err)
        err = vk_tick(live->kernel, now, &memory, &outcome);
    if (!err)
        err = psw_place_begin(&entry, &live->first, running, ++live->frame,
                              outcome.signal ? outcome.signal->number : 0, now, &regs);
    if (err)
        return err;
    psw_entry_end(&entry);
    return outcome_append(live, &outcome, NULL, &live->first);
}

static int live_next(void *arg, struct wd_buf *out)
{
    struct psw_live *live = arg;
    struct wd_buf *first = &live->first;
    if (!first->size_bytes)
        return 0;
    int err = wd_buf_append(out, first->data, first->size_bytes);
    first->size_bytes = 0;
    return err ? err : 1;
}

static int live_taken(void *arg, const struct evq_entry *entry, uint64_t time, uint64_t ring_bytes)
{
    struct psw_live *live = arg;
    (void)ring_bytes;
    int err = live->kept ? wd_buf_append_u64(live->kept, time) : 0;
    return err || !live->kept ? err : wd_buf_append(live->kept, entry, entry->bytes);
}

struct rep_source psw_live_source(struct psw_live *live)
{
    return (struct rep_source){
        .next = live_next, .taken = live_taken, .met = live_met, .arg = live};
}

/* The registers of the calls that tasks are in where the run goes on. */
static void waiting_find(struct psw_live *live, const bool is_in_call[VK_TASKS_MAX])
{
    for (uint32_t i = 0; i < EVQ_TASKS_MAX; i++)
        live->tasks[i].is_in_call =
            rep_engine_regs(live->engine, i, &live->tasks[i].regs) && is_in_call[i];
}

int psw_live_begin(struct psw_live *live, const bool is_in_call[VK_TASKS_MAX])
{
    struct vk_outcome outcome;
    live->tasks = calloc(VK_TASKS_MAX, sizeof(*live->tasks));
    if (!live->tasks)
        return -ENOMEM;
    waiting_find(live, is_in_call);
    int err = vk_kernel_live(live->kernel, rep_engine_time(live->engine) + 1,
                             rep_engine_running(live->engine), &outcome);
    return err ? err : outcome_append(live, &outcome, NULL, &live->first);
}

void psw_live_fini(struct psw_live *live)
{
    wd_buf_fini(&live->first);
    free(live->tasks);
}

/* Runs on to a time, or a little beyond. A run that may stop where it likes stops before a fragment
 * that would go too far, so the last instructions are an exact stop, which is careful from its
 * beginning and cannot run past. */
static int run_to(struct psw_live *live, const struct rep_source *source, uint64_t time,
                  enum rep_stop *why)
{
    uint64_t now = rep_engine_time(live->engine);
    return time > now ? rep_engine_run(live->engine, source, time - now, time - now <= CAREFUL, why)
                      : 0;
}

int psw_live_run(struct psw_live *live, uint64_t limit)
{
    struct rep_source source = psw_live_source(live);
    uint64_t end = rep_engine_time(live->engine) + limit;
    live->faults = FAULTS_LEAST + limit / FAULT_INSTRUCTIONS;
    enum rep_stop why = REP_STOP_TIME;
    int err = 0;
    while (!err && why == REP_STOP_TIME && rep_engine_time(live->engine) < end) {
        err = run_to(live, &source, live->until < end ? live->until : end, &why);
        if (!err && why == REP_STOP_TIME) /* an instruction that is there for once only */
            err = run_to(live, &source, live->detours.busy, &why);
        if (!err && why == REP_STOP_TIME && rep_engine_time(live->engine) >= live->until)
            err = tick(live);
    }
    return live->then == VK_THEN_RUN || live->then == VK_THEN_END ? err : 0;
}
