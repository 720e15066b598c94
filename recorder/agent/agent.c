/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The agent: runs translated code, takes entries from the event queue, compares registers.
 *
 * It has no libc, no thread-local storage and no vector registers, and decides nothing: the
 * supervisor translates, the queue says what happens. What it checks on its own is that the
 * recorded registers are there whenever an entry is taken. (Order below: turn taking, registers,
 * entries, exits from translated code, start.)
 */
#include "recorder/agent/agent.h"

#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "common/page.h"
#include "recorder/agent/agent_priv.h"
#include "recorder/agent/settled.h"
#include "recorder/agent/sys.h"
#include "recorder/agent/xsave.h"
#include "recorder/event/buffered.h"
#include "recorder/event/ops.h"

#define CODE_ARCH_SET_FS  0x1002
#define CODE_ARCH_SET_GS  0x1001
#define CODE_CLONE_PARENT 0x8000

#define CUTS 1024

/* Hidden, so that their addresses are taken relative to rip and not through a table. */
#define HIDDEN __attribute__((visibility("hidden")))
HIDDEN extern int agt_run(void);
HIDDEN extern void agt_exit(void);
HIDDEN extern void agt_restorer(void);
HIDDEN extern void agt_fault_exit(void);

static struct agt the_agent;

/* gcc may call these for structure copies. */
void *memcpy(void *to, const void *from, size_t bytes);
void *memset(void *to, int byte, size_t bytes);

void *memcpy(void *to, const void *from, size_t bytes)
{
    sys_copy(to, from, bytes);
    return to;
}

void *memset(void *to, int byte, size_t bytes)
{
    sys_fill(to, byte, bytes);
    return to;
}

static void regs_store(struct agt_ctx *ctx, struct evq_regs *regs);
static uint64_t copy_start(struct agt *agt, uint64_t what);

static struct agt_task *tasks_of(const struct agt_ctx *ctx)
{
    return (struct agt_task *)((uint8_t *)ctx + AGT_TASKS_OFF);
}

static uint64_t executed(const struct agt_ctx *ctx)
{
    return ctx->limit + (ctx->collecting ? -(uint64_t)agt_collect_left(ctx->r15) : ctx->r15);
}

uint64_t agt_time(const struct agt *agt)
{
    return agt->ctx->time_base + executed(agt->ctx);
}

/* Ends the replayee before anything recorded has run: nothing may run without what confines it. */
__attribute__((noreturn)) static void fail(enum agt_status status)
{
    for (;;)
        sys_call3(SYS_exit_group, (long)status, 0, 0);
}

/* ---- the wall ---- */

/* Raises the wall where [start, +bytes) lies: its granules are ours. */
static bool wall_raise(const struct agt *agt, uint64_t start, uint64_t bytes)
{
    uint64_t table = (uint64_t)agt->ctx - AGT_WALL_BYTES;
    uint64_t first = start / AGT_WALL_GRANULE, last = (start + bytes - 1) / AGT_WALL_GRANULE;
    return sys_call3(SYS_mprotect, (long)(table + first * WD_PAGE),
                     (long)((last - first + 1) * WD_PAGE), PROT_NONE) == 0;
}

static bool wall_init(const struct agt *agt)
{
    uint64_t start = (uint64_t)agt->ctx - AGT_WALL_BYTES;
    if (!agt->ctx->has_wall)
        return true;
    return sys_call6(SYS_mmap, (long)start, AGT_WALL_BYTES, PROT_READ,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
                     0) == (long)start &&
           wall_raise(agt, start, AGT_WALL_BYTES + AGT_AREA_BYTES);
}

/* ---- vector state ---- */

static bool x87_is_lost(const struct agt_ctx *ctx)
{
    return ctx->x87_rules & AGT_X87_LOST;
}

static void xstate_store(const struct agt *agt, uint8_t *image)
{
    sys_xsave(image);
    agt_x87_keep(image, &agt->ctx->x87, x87_is_lost(agt->ctx));
}

static void xstate_use(const struct agt *agt, const uint8_t *image)
{
    sys_xrstor(image);
    agt_x87_find(image, &agt->ctx->x87);
}

/* Forgets the x87 pointers, as the recorder did where it stopped the program (x87.h). */
static void x87_forget(struct agt_ctx *ctx, const struct evq_entry *entry)
{
    static uint8_t image[AGT_XS_AVX_OFF] __attribute__((aligned(64)));
    bool was_stopped = entry->kind == EVQ_SYSCALL_ENTER || entry->kind == EVQ_TRAP ||
                       entry->kind == EVQ_FAULT || entry->kind == EVQ_PLACE;
    /* of a buffered call the recorder knew nothing */
    if (!was_stopped || entry->flags & EVQ_FLAG_BUFFERED || !ctx->x87_rules ||
        !(ctx->x87.ip | ctx->x87.dp))
        return;
    __asm__ volatile("xsave64 (%0)" : : "r"(image), "a"(AGT_XS_X87), "d"(0) : "memory");
    agt_x87_forget(image, &ctx->x87, ctx->x87_rules);
    __asm__ volatile("xrstor64 (%0)" : : "r"(image), "a"(AGT_XS_X87), "d"(0) : "memory");
}

/* ---- turn taking ---- */

static uint64_t serve(struct agt *agt)
{
    struct agt_mail *mail = &agt->ctx->mail;
    uint8_t *area = (uint8_t *)agt->ctx + AGT_XFER_OFF;
    struct agt_ctx *ctx = agt->ctx;
    uint64_t count;
    switch (mail->command) {
    case AGT_CMD_FETCH:
        return agt_memory_fetch(agt, mail->cargs[0]);
    case AGT_CMD_READ:
        count = mail->cargs[1] < AGT_XFER_BYTES ? mail->cargs[1] : AGT_XFER_BYTES;
        return agt_memory_read(agt, area, mail->cargs[0], count);
    case AGT_CMD_MAP_CODE:
        if (ctx->has_wall && !wall_raise(agt, mail->cargs[0], mail->cargs[1]))
            return 0;
        return (uint64_t)sys_call6(SYS_mmap, (long)mail->cargs[0], (long)mail->cargs[1],
                                   PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, ctx->code_fd,
                                   (long)mail->cargs[2]);
    case AGT_CMD_LINES:
        return agt_memory_lines(agt);
    case AGT_CMD_VIEWS:
        count = AGT_XFER_BYTES / sizeof(struct agt_view);
        count = agt->views.count < count ? agt->views.count : count;
        sys_copy(area, agt->views.list, count * sizeof(struct agt_view));
        return count;
    case AGT_CMD_STATE:
        regs_store(ctx, &tasks_of(ctx)[ctx->task].regs);
        xstate_store(agt, tasks_of(ctx)[ctx->task].xsave);
        return 0;
    case AGT_CMD_RESET:
        agt_memory_clear(agt);
        for (unsigned i = 1; i < EVQ_TASKS_MAX; i++)
            tasks_of(ctx)[i].live = 0;
        agt->is_reset = true;
        ctx->task = 0;
        ctx->stop_pc = ctx->stop_body = ctx->place_seq = ctx->ticks = 0;
        return 0;
    case AGT_CMD_FORK:
        return copy_start(agt, mail->cargs[0]);
    case AGT_CMD_EXIT:
        sys_call3(SYS_exit_group, 0, 0, 0);
    }
    return UINT64_MAX;
}

static void give_turn(struct agt_mail *mail)
{
    __atomic_store_n(&mail->turn, 1, __ATOMIC_RELEASE);
    sys_call3(SYS_futex, (long)&mail->turn, FUTEX_WAKE, 1);
    uint64_t start = __builtin_ia32_rdtsc();
    if (!agt_wait_awake(&mail->wait, &mail->turn, 0))
        while (__atomic_load_n(&mail->turn, __ATOMIC_ACQUIRE) != 0)
            sys_call6(SYS_futex, (long)&mail->turn, FUTEX_WAIT, 1, 0, 0, 0);
    agt_wait_count(&mail->wait, start);
}

/* Leaves whatever the agent was doing, on an empty stack, and begins with the next entry. */
__attribute__((noreturn)) static void restart(struct agt *agt)
{
    agt->is_reset = false;
    __asm__ volatile("mov %0, %%rsp; xor %%ebp, %%ebp; call agt_loop"
                     :
                     : "r"(agt->base + AGT_STACK_OFF + AGT_STACK_BYTES - 64)
                     : "memory");
    __builtin_unreachable();
}

void agt_ask(struct agt *agt, uint32_t request, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3)
{
    struct agt_mail *mail = &agt->ctx->mail;
    mail->request = request;
    mail->args[0] = a0;
    mail->args[1] = a1;
    mail->args[2] = a2;
    mail->args[3] = a3;
    give_turn(mail);
    while (mail->command != AGT_CMD_CONTINUE) {
        mail->args[0] = serve(agt);
        mail->request = AGT_REQ_REPLY;
        give_turn(mail);
    }
    /* New code may have been written meanwhile: returning through iret serializes. */
    __asm__ volatile("mov %%ss, %%eax; push %%rax; lea 8(%%rsp), %%rax; push %%rax; pushf;"
                     "mov %%cs, %%eax; push %%rax; lea 1f(%%rip), %%rax; push %%rax; iretq; 1:"
                     :
                     :
                     : "rax", "memory", "cc");
    if (agt->is_reset)
        restart(agt);
}

void agt_stop(struct agt *agt, uint32_t request, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3)
{
    for (;;)
        agt_ask(agt, request, a0, a1, a2, a3);
}

/* ---- registers ---- */

static void executed_set(struct agt_ctx *ctx, uint64_t count)
{
    if (ctx->collecting)
        ctx->r15 = agt_collect_r15((int64_t)(ctx->limit - count), (uint32_t)ctx->r15);
    else
        ctx->r15 = count - ctx->limit;
}

static void regs_load(struct agt_ctx *ctx, const struct evq_regs *regs)
{
    struct evq_regs *kept = &tasks_of(ctx)[ctx->task].regs;
    for (unsigned i = 0; i < 16; i++)
        ctx->gpr[i] = regs->r[evq_reg_of_gpr[i]];
    ctx->rip = regs->r[EVQ_RIP];
    ctx->rflags = (regs->r[EVQ_EFLAGS] & EVQ_EFLAGS_COMPARED) | 0x202;
    *kept = *regs;
    ctx->gs_base = regs->r[EVQ_GS_BASE];
    if (ctx->fs_base != regs->r[EVQ_FS_BASE]) {
        ctx->fs_base = regs->r[EVQ_FS_BASE];
        sys_call3(SYS_arch_prctl, CODE_ARCH_SET_FS, (long)ctx->fs_base, 0);
    }
}

/* The running task's registers as a recording would show them. */
static void regs_store(struct agt_ctx *ctx, struct evq_regs *regs)
{
    *regs = tasks_of(ctx)[ctx->task].regs; /* orig_rax and segments */
    for (unsigned i = 0; i < 16; i++)
        regs->r[evq_reg_of_gpr[i]] = ctx->gpr[i];
    regs->r[EVQ_RIP] = ctx->rip;
    regs->r[EVQ_EFLAGS] = ctx->rflags;
    regs->r[EVQ_FS_BASE] = ctx->fs_base;
    regs->r[EVQ_GS_BASE] = ctx->gs_base;
}

static void task_switch(struct agt *agt, uint32_t to)
{
    struct agt_ctx *ctx = agt->ctx;
    if (ctx->task == to)
        return;
    if (to >= EVQ_TASKS_MAX || !tasks_of(ctx)[to].live)
        agt_stop(agt, AGT_REQ_DIVERGED, AGT_DIV_EVENT, 0, 0, ctx->rip);
    struct agt_task *old = &tasks_of(ctx)[ctx->task];
    regs_store(ctx, &old->regs);
    xstate_store(agt, old->xsave);
    old->ticks = ctx->ticks;
    ctx->task = to;
    ctx->ticks = tasks_of(ctx)[to].ticks;
    struct evq_regs regs = tasks_of(ctx)[to].regs;
    regs_load(ctx, &regs);
    xstate_use(agt, tasks_of(ctx)[to].xsave);
}

static void task_new(struct agt *agt, const struct evq_op *op)
{
    struct agt_ctx *ctx = agt->ctx;
    if (op->task_new.task >= EVQ_TASKS_MAX)
        agt_stop(agt, AGT_REQ_DIVERGED, AGT_DIV_HOST, op->op, 11, op->task_new.task);
    struct agt_task *task = &tasks_of(ctx)[op->task_new.task];
    xstate_store(agt, task->xsave);
    task->regs = *evq_op_regs(op);
    task->live = 1;
    task->ticks = 0;
}

/* What an EVQ_TRAP's instruction writes; all of them write what the entry's mask leaves out. */
static uint32_t written_by(uint32_t exit_kind)
{
    switch (exit_kind) {
    case AGT_EXIT_RDTSCP:
        return EVQ_BIT(EVQ_RCX);
    case AGT_EXIT_CPUID:
        return EVQ_BIT(EVQ_RBX) | EVQ_BIT(EVQ_RCX);
    default:
        return 0;
    }
}

uint32_t agt_regs_differ(struct agt *agt, const struct evq_entry *entry)
{
    const struct agt_ctx *ctx = agt->ctx;
    const struct evq_regs *recorded = evq_entry_regs(entry);
    const struct evq_regs *kept = &tasks_of(ctx)[ctx->task].regs; /* orig_rax and segments */
    uint32_t differ = 0;
    if (!(entry->flags & EVQ_FLAG_REGS))
        return 0;
    for (unsigned i = 0; i < 16; i++)
        differ |= ctx->gpr[i] != recorded->r[evq_reg_of_gpr[i]] ? EVQ_BIT(evq_reg_of_gpr[i]) : 0;
    if (ctx->rip != recorded->r[EVQ_RIP])
        differ |= EVQ_BIT(EVQ_RIP);
    if ((ctx->rflags ^ recorded->r[EVQ_EFLAGS]) & EVQ_EFLAGS_COMPARED)
        differ |= EVQ_BIT(EVQ_EFLAGS);
    if (ctx->fs_base != recorded->r[EVQ_FS_BASE])
        differ |= EVQ_BIT(EVQ_FS_BASE);
    if (ctx->gs_base != recorded->r[EVQ_GS_BASE])
        differ |= EVQ_BIT(EVQ_GS_BASE);
    if (kept->r[EVQ_ORIG_RAX] != recorded->r[EVQ_ORIG_RAX])
        differ |= EVQ_BIT(EVQ_ORIG_RAX);
    if (entry->kind == EVQ_TRAP)
        differ &= ~written_by(ctx->exit_kind);
    return differ & entry->compare_mask;
}

static void regs_compare(struct agt *agt, const struct evq_entry *entry)
{
    const struct evq_regs *recorded = evq_entry_regs(entry);
    uint32_t differ = agt_regs_differ(agt, entry);
    if (!differ && entry->flags & EVQ_FLAG_TICKS && entry->ticks != agt->ctx->ticks)
        agt_stop(agt, AGT_REQ_DIVERGED, AGT_DIV_TICKS, entry->ticks, agt->ctx->ticks, 0);
    if (!differ)
        return;
    struct evq_regs here;
    regs_store(agt->ctx, &here);
    unsigned i = (unsigned)__builtin_ctz(differ);
    agt_stop(agt, AGT_REQ_DIVERGED, AGT_DIV_REGISTER, i, recorded->r[i], here.r[i]);
}

/* ---- entries ---- */

static struct agt_log_record *log_add(struct agt *agt, uint32_t kind, uint64_t payload_bytes)
{
    struct agt_ctx *ctx = agt->ctx;
    uint64_t bytes = (sizeof(struct agt_log_record) + payload_bytes + 7) & ~7ull;
    if (ctx->log_bytes + bytes > AGT_LOG_BYTES) {
        agt_ask(agt, AGT_REQ_LOG_FULL, 0, 0, 0, 0);
        ctx->log_bytes = 0;
    }
    struct agt_log_record *record =
        (struct agt_log_record *)((uint8_t *)ctx + AGT_LOG_OFF + ctx->log_bytes);
    ctx->log_bytes += bytes;
    *record =
        (struct agt_log_record){.bytes = (uint32_t)bytes,
                                .kind = kind,
                                .seq = ctx->seq,
                                .time = agt_time(agt),
                                .ticks = ctx->ticks,
                                .ring = ctx->collecting ? (uint32_t)ctx->r15 - ctx->ring_start : 0};
    return record;
}

static void capture(struct agt *agt, const struct evq_op *op)
{
    uint64_t bytes = op->capture.size < 65536 ? op->capture.size : 65536;
    struct agt_log_record *record = log_add(agt, 2, 24 + bytes);
    uint64_t *head = (uint64_t *)(record + 1);
    head[0] = op->capture.start;
    head[2] = op->capture.tag;
    head[1] = agt_memory_read(agt, head + 3, op->capture.start, bytes);
}

static void xstate_load(struct agt *agt, const struct evq_op *op)
{
    struct agt_task *task = &tasks_of(agt->ctx)[agt->ctx->task];
    uint64_t bytes = op->xstate.size < AGT_XSAVE_MAX ? op->xstate.size : AGT_XSAVE_MAX;
    sys_copy(task->xsave, evq_op_payload(op), bytes);
    xstate_use(agt, task->xsave);
}

static void ops_apply(struct agt *agt, const struct evq_entry *entry)
{
    for (const struct evq_op *op = NULL; (op = evq_op_next(entry, op));) {
        switch (op->op) {
        case EVQ_OP_REGS:
            regs_load(agt->ctx, evq_op_regs(op));
            break;
        case EVQ_OP_XSTATE:
            xstate_load(agt, op);
            break;
        case EVQ_OP_TASK_NEW:
            task_new(agt, op);
            break;
        case EVQ_OP_CAPTURE:
            capture(agt, op);
            break;
        case EVQ_OP_PLACE: /* done when the entry is taken */
            break;
        case EVQ_OP_DISCARD:
            if (op->range.size) /* else a hint by madvise, in a buffered call */
                agt_memory_op(agt, op);
            break;
        default:
            agt_memory_op(agt, op);
        }
    }
}

/* The entry at the head of the queue, or NULL when the supervisor knows of none. */
static const struct evq_entry *entry_next(struct agt *agt)
{
    struct agt_ctx *ctx = agt->ctx;
    if (ctx->queue_tail_bytes >= ctx->queue_head_bytes) {
        if (ctx->is_live)
            return NULL;
        agt_ask(agt, AGT_REQ_EVENTS, 0, 0, 0, 0);
        if (ctx->queue_tail_bytes >= ctx->queue_head_bytes)
            return NULL;
    }
    return (const struct evq_entry *)((uint8_t *)ctx + AGT_QUEUE_OFF + ctx->queue_tail_bytes);
}

static void entry_take(struct agt *agt, const struct evq_entry *entry)
{
    /* an entry and its captures stay together */
    if (agt->ctx->log_bytes > AGT_LOG_BYTES / 2) {
        agt_ask(agt, AGT_REQ_LOG_FULL, 0, 0, 0, 0);
        agt->ctx->log_bytes = 0;
    }
    regs_compare(agt, entry);
    x87_forget(agt->ctx, entry);
    log_add(agt, 1, 0);
    ops_apply(agt, entry);
    agt->ctx->queue_tail_bytes += entry->bytes;
    agt->ctx->seq++;
}

/* Makes the registers what rr makes them at the entry of a system call. */
static void call_enter(struct agt_ctx *ctx)
{
    struct evq_regs here, regs;
    regs_store(ctx, &here);
    evq_regs_enter(&regs, &here);
    regs_load(ctx, &regs);
}

/* ---- calls by rr's preload library (recorder/event/buffered.h) ---- */

/* The registers of the running task where its latest buffered call was made. */
static struct evq_regs the_buffered_call;

/* A discard of what only the recording's model of mappings knows, the feed would have refused. */
static void discard_check(struct agt *agt, const struct evq_op *op)
{
    uint64_t heap = op->map.name, end = op->range.start + op->range.size;
    for (size_t i = agt_views_find(&agt->views, op->range.start);
         i < agt->views.count && agt->views.list[i].start < end; i++) {
        const struct agt_view *view = &agt->views.list[i];
        if (view->file != EVQ_FILE_NONE || (view->name != EVQ_NAME_NONE && view->name != heap))
            agt_stop(agt, AGT_REQ_UNSUPPORTED, AGT_UNS_DISCARD, agt->ctx->rip, op->range.start, 0);
    }
}

static void buffered_exit_fill(struct agt *agt, const struct evq_entry *entry)
{
    if (entry->kind != EVQ_SYSCALL_EXIT || !evq_is_open(entry))
        return;
    evq_fill_exit((struct evq_entry *)entry, &the_buffered_call);
    for (const struct evq_op *op = NULL; (op = evq_op_next(entry, op));)
        if (op->op == EVQ_OP_DISCARD)
            discard_check(agt, op);
}

/* Whether the library makes a call for itself, of which there is no record: it counts on 0. */
static bool is_unrecorded(struct agt *agt)
{
    const struct agt_ctx *ctx = agt->ctx;
    const uint64_t enable = 0x2400, disable = 0x2401; /* perf events: ioctl */
    if (ctx->rip != evq_stub_rip(EVQ_STUB_PRIVILEGED_RECORDING))
        return false;
    const struct evq_entry *entry = entry_next(agt);
    bool is_armed =
        ctx->gpr[RAX] == SYS_ioctl && (ctx->gpr[RSI] == enable || ctx->gpr[RSI] == disable);
    if (!entry || entry->kind != EVQ_SYSCALL_ENTER || !(entry->flags & EVQ_FLAG_BUFFERED))
        return true;
    if (entry->number == EVQ_CALL_DISARMED)
        return !is_armed || ctx->gpr[RSI] != disable;
    return is_armed || (uint64_t)entry->number != ctx->gpr[RAX];
}

static void unrecorded_answer(struct agt_ctx *ctx)
{
    ctx->gpr[RAX] = 0;
    ctx->gpr[RCX] = ctx->rip;
    ctx->gpr[R11] = ctx->rflags;
}

/* How many bytes of records the library's buffer has: the entry's record is the next. */
static bool is_next_record(struct agt *agt, const struct evq_entry *entry)
{
    uint32_t bytes = 0;
    if (!entry->address)
        return true;
    return agt_memory_read(agt, &bytes, entry->address, sizeof(bytes)) == sizeof(bytes) &&
           bytes == (uint64_t)entry->code;
}

/* Behind the record of the entry that was filled in. */
static void buffered_tell(struct agt *agt)
{
    sys_copy(log_add(agt, 3, sizeof(the_buffered_call)) + 1, &the_buffered_call,
             sizeof(the_buffered_call));
}

static void buffered_enter(struct agt *agt, const struct evq_entry *entry)
{
    struct agt_ctx *ctx = agt->ctx;
    regs_store(ctx, &the_buffered_call);
    if (!evq_is_untraced(ctx->rip) || !is_next_record(agt, entry))
        agt_stop(agt, AGT_REQ_DIVERGED, AGT_DIV_BUFFER, ctx->gpr[RAX], (uint64_t)entry->number,
                 ctx->rip);
    bool is_open = evq_is_open(entry);
    if (is_open)
        evq_fill_enter((struct evq_entry *)entry, &the_buffered_call);
    call_enter(ctx);
    entry_take(agt, entry);
    if (is_open)
        buffered_tell(agt);
}

static void buffered_trap(struct agt *agt, const struct evq_entry *entry)
{
    regs_store(agt->ctx, &the_buffered_call);
    evq_fill_trap((struct evq_entry *)entry, &the_buffered_call);
    entry_take(agt, entry);
    buffered_tell(agt);
}

/* Applies everything that needs no running, and makes the next runner's registers current. */
static void entries_settle(struct agt *agt)
{
    for (;;) {
        const struct evq_entry *entry = entry_next(agt);
        if (!entry)
            return;
        task_switch(agt, entry->task);
        buffered_exit_fill(agt, entry);
        switch (entry->kind) {
        case EVQ_OPS:
        case EVQ_SYSCALL_EXIT:
        case EVQ_TASK_EXIT:
            entry_take(agt, entry);
            break;
        case EVQ_PLACE:
            if (!agt_is_at_place(agt, entry))
                return;
            entry_take(agt, entry);
            break;
        case EVQ_END:
            entry_take(agt, entry);
            agt_ask(agt, AGT_REQ_END, 0, 0, 0, 0); /* goes on only with other memory */
            break;
        default:
            return;
        }
    }
}

/* The next entry, which must be of `kind`; `seen` is how translated code came here. Live, it is
 * made now. */
static const struct evq_entry *entry_expect(struct agt *agt, uint32_t kind, uint32_t seen)
{
    const struct evq_entry *entry = entry_next(agt);
    if (!entry && agt->ctx->is_live) {
        agt_ask(agt, AGT_REQ_MET, kind, seen, 0, 0);
        entry = entry_next(agt);
    }
    if (entry && entry->kind == EVQ_PLACE)
        agt_stop(agt, AGT_REQ_DIVERGED, AGT_DIV_PLACE, seen, agt->ctx->rip, 0);
    if (!entry || entry->kind != kind)
        agt_stop(agt, AGT_REQ_DIVERGED, AGT_DIV_EVENT, entry ? entry->kind : 0, seen,
                 agt->ctx->rip);
    return entry;
}

/* ---- exits from translated code ---- */

static void on_syscall(struct agt *agt)
{
    if (is_unrecorded(agt)) {
        unrecorded_answer(agt->ctx);
        return;
    }
    const struct evq_entry *entry = entry_expect(agt, EVQ_SYSCALL_ENTER, AGT_EXIT_SYSCALL);
    if (entry->flags & EVQ_FLAG_BUFFERED) {
        buffered_enter(agt, entry);
        return;
    }
    call_enter(agt->ctx);
    entry_take(agt, entry);
}

/* rdtsc and, where the recording has it as event, cpuid. */
static void on_trap(struct agt *agt, uint32_t seen)
{
    const struct evq_entry *entry = entry_expect(agt, EVQ_TRAP, seen);
    if (evq_is_open(entry))
        buffered_trap(agt, entry);
    else
        entry_take(agt, entry);
}

/* Older files do not say whether cpuid is recorded. */
static bool has_trap_here(struct agt *agt)
{
    const struct evq_entry *entry = entry_next(agt);
    return entry && entry->kind == EVQ_TRAP && evq_entry_regs(entry)->r[EVQ_RIP] == agt->ctx->rip;
}

static void on_cpuid(struct agt *agt)
{
    struct agt_ctx *ctx = agt->ctx;
    if (ctx->cpuid_is_recorded || has_trap_here(agt)) {
        on_trap(agt, AGT_EXIT_CPUID);
        return;
    }
    uint32_t leaf = (uint32_t)ctx->gpr[RAX], subleaf = (uint32_t)ctx->gpr[RCX];
    struct agt_cpuid answer;
    if (!agt_cpuid_find(ctx->cpuid, ctx->cpuid_count, leaf, subleaf, &answer)) {
        if (!ctx->cpuid_is_here)
            agt_stop(agt, AGT_REQ_UNSUPPORTED, AGT_UNS_CPUID, ctx->rip, leaf, subleaf);
        agt_cpuid_ask(ctx->cpuid, ctx->cpuid_count, leaf, subleaf, &answer);
    }
    ctx->gpr[RAX] = answer.eax;
    ctx->gpr[RBX] = answer.ebx;
    ctx->gpr[RCX] = answer.ecx;
    ctx->gpr[RDX] = answer.edx;
}

/* Register 0 only: which components are in use, 1, is not the program's doing alone (xsave.h). */
static void on_xgetbv(struct agt *agt)
{
    struct agt_ctx *ctx = agt->ctx;
    if ((uint32_t)ctx->gpr[RCX] != 0)
        agt_stop(agt, AGT_REQ_UNSUPPORTED, AGT_UNS_XGETBV, ctx->rip, (uint32_t)ctx->gpr[RCX], 0);
    ctx->gpr[RAX] = (uint32_t)ctx->xcr0;
    ctx->gpr[RDX] = ctx->xcr0 >> 32;
}

static void on_mark(struct agt *agt)
{
    struct agt_ctx *ctx = agt->ctx;
    uint64_t size = ctx->exit_arg & 0xff;
    bool narrow = ctx->exit_arg & AGT_MARK_ADDR32;
    uint64_t count = narrow ? (uint32_t)ctx->gpr[RCX] : ctx->gpr[RCX];
    uint64_t at = narrow ? (uint32_t)ctx->gpr[RDI] : ctx->gpr[RDI];
    uint64_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        bytes = INT64_MAX;
    if (ctx->rflags & 0x400) /* DF: downwards */
        agt_memory_mark_down(agt, at + size, bytes);
    else
        agt_memory_mark(agt, at, bytes);
}

static void on_mark_lanes(struct agt *agt)
{
    const struct agt_ctx *ctx = agt->ctx;
    const uint64_t *indices = (const uint64_t *)((const uint8_t *)ctx + AGT_LANES_OFF);
    uint64_t mask = indices[8];
    uint32_t arg = ctx->exit_arg, count = arg >> 8 & 0xff, scale = arg >> 16 & 0xff;
    for (uint32_t i = 0; i < count && i < 16; i++) {
        if (!(mask >> i & 1))
            continue;
        int64_t index = arg & AGT_LANES_WIDE ? (int64_t)indices[i & 7]
                                             : (int32_t)(indices[i / 2] >> 32 * (i % 2));
        uint64_t at = ctx->tmp + (uint64_t)index * scale;
        agt_memory_mark(agt, arg & AGT_LANES_ADDR32 ? (uint32_t)at : at, arg & 0xff);
    }
}

/* What was where an xsave stores, as far as that can be read; 0 bytes: not even the header, so it
 * will fault. */
static struct {
    uint64_t bytes;
    uint8_t before[AGT_XS_SETTLED_BYTES];
} the_xsave;

static void on_xsave(struct agt *agt)
{
    uint64_t at = agt->ctx->tmp, bytes = agt->ctx->settled_bytes;
    while (bytes >= AGT_XS_AVX_OFF && !agt_memory_readable(agt, at, bytes))
        bytes -= 64;
    the_xsave.bytes = bytes >= AGT_XS_AVX_OFF ? bytes : 0;
    sys_copy(the_xsave.before, (const void *)at, the_xsave.bytes);
}

static void settled_note(const struct agt_ctx *ctx, const struct agt_xs_layout *layout,
                         enum agt_xsave_kind kind)
{
    static struct agt_settled area;
    uint64_t asked = agt_xs_within(layout, ctx->gpr[RAX], the_xsave.bytes);
    area.unused = asked & ~(uint64_t)((const uint8_t *)ctx->tmp)[AGT_XS_HEADER_OFF];
    area.address = ctx->tmp;
    area.bytes = the_xsave.bytes;
    area.is_compact = kind == AGT_XSAVE_COMPACT;
    sys_copy(&area.layout, layout, sizeof(area.layout));
    sys_copy(area.before, the_xsave.before, the_xsave.bytes);
    if (kind != AGT_XSAVE_WHOLE)
        agt_settled_note(&area);
}

static void on_xsaved(struct agt *agt)
{
    struct agt_ctx *ctx = agt->ctx;
    enum agt_xsave_kind kind = ctx->exit_arg & 0xff;
    uint8_t *image = (uint8_t *)ctx->tmp;
    struct agt_xs_layout layout;
    if (!the_xsave.bytes)
        return;
    bool has_x87 = kind == AGT_XSAVE_WHOLE || image[AGT_XS_HEADER_OFF] & AGT_XS_X87;
    if (has_x87 && ctx->gpr[RAX] & AGT_XS_X87)
        agt_x87_give(image, ctx->exit_arg & AGT_XSAVED_NARROW ? AGT_X87_IMAGE32 : AGT_X87_IMAGE64,
                     &ctx->x87, x87_is_lost(ctx));
    if (kind == AGT_XSAVE_COMPACT)
        agt_xs_layout_compact(&layout, image[AGT_XS_COMPACT_OFF]);
    else
        agt_xs_layout_standard(&layout, ctx->avx512_off);
    agt_xsave_settle(image, &layout, the_xsave.before, the_xsave.bytes, ctx->gpr[RAX], kind);
    settled_note(ctx, &layout, kind);
}

static void on_x87(struct agt *agt)
{
    struct agt_ctx *ctx = agt->ctx;
    uint8_t *at = (uint8_t *)ctx->tmp;
    enum agt_x87_form form = ctx->exit_arg & 0xff;
    if (ctx->exit_arg & AGT_X87_LOADS)
        agt_x87_take(at, form, &ctx->x87);
    else if (!(ctx->exit_arg & AGT_X87_XRSTOR))
        agt_x87_give(at, form, &ctx->x87, x87_is_lost(ctx));
    else if (ctx->gpr[RAX] & AGT_XS_X87) {
        if (at[AGT_XS_HEADER_OFF] & AGT_XS_X87)
            agt_x87_take(at, form, &ctx->x87);
        else
            ctx->x87 = (struct agt_x87){0};
    }
    if (ctx->exit_arg & AGT_X87_CLEARS)
        ctx->x87 = (struct agt_x87){0};
}

/* Whether an instruction that is refused or answered here was illegal where it was recorded: that
 * fault is then the next event, and translated code goes on to an instruction that faults so. */
static bool is_illegal_here(struct agt *agt, int kind)
{
    const struct evq_entry *entry = entry_next(agt);
    uint32_t signo = kind == AGT_EXIT_UNSUPPORTED ? agt->ctx->exit_arg : SIGILL;
    return entry && entry->kind == EVQ_FAULT && (uint32_t)entry->number == signo &&
           entry->flags & EVQ_FLAG_REGS && evq_entry_regs(entry)->r[EVQ_RIP] == agt->ctx->rip;
}

static bool may_be_illegal(int kind)
{
    return kind == AGT_EXIT_UNSUPPORTED || kind == AGT_EXIT_RDPID;
}

int agt_code_run(struct agt *agt)
{
    for (;;) {
        int kind = agt_run();
        if (kind == AGT_EXIT_MARK)
            on_mark(agt);
        else if (kind == AGT_EXIT_MARK_LANES)
            on_mark_lanes(agt);
        else if (kind == AGT_EXIT_XSAVE)
            on_xsave(agt);
        else if (kind == AGT_EXIT_XSAVED)
            on_xsaved(agt);
        else if (kind == AGT_EXIT_X87)
            on_x87(agt);
        else if (!may_be_illegal(kind) || !is_illegal_here(agt, kind))
            return kind;
        agt->ctx->target = agt->ctx->resume;
    }
}

static uint64_t hash(uint64_t pc)
{
    return (pc * AGT_HASH) >> 32;
}

/* The fragment at an address, or NULL. The supervisor uses at most half of the places. */
static const struct agt_lookup *lookup(struct agt *agt, uint64_t pc)
{
    const struct agt_lookup *table =
        (const struct agt_lookup *)((const uint8_t *)agt->ctx + AGT_LOOKUP_OFF);
    uint64_t first = hash(pc), mask = agt->ctx->lookup_mask;
    for (uint64_t i = 0; i <= mask; i++) {
        const struct agt_lookup *at = &table[(first + i) & mask];
        if (!at->pc) /* first: a program may jump to address 0 */
            return NULL;
        if (at->pc == pc && at->body)
            return at;
    }
    agt_stop(agt, AGT_REQ_DIVERGED, AGT_DIV_TABLE, 0, 0, 0);
}

static void fault_take(struct agt *agt)
{
    struct agt_ctx *ctx = agt->ctx;
    const struct agt_fault *fault = &ctx->mail.fault;
    const struct evq_entry *entry = entry_expect(agt, EVQ_FAULT, AGT_EXIT_FAULT);
    bool same = (uint64_t)entry->number == fault->signo &&
                (!(entry->flags & EVQ_FLAG_SIGINFO) ||
                 ((uint64_t)entry->code == fault->code && entry->address == fault->address));
    if (!same)
        agt_stop(agt, AGT_REQ_DIVERGED, AGT_DIV_SIGNAL, fault->signo, fault->code, fault->address);
    entry_take(agt, entry);
}

enum found {
    FOUND_CODE,  /* target is set */
    FOUND_FAULT, /* fetching an instruction there faults */
    FOUND_AGAIN, /* the supervisor has changed everything */
};

/* Notes where a return led, for the next return to the same target. */
static void return_fill(struct agt_ctx *ctx, uint64_t code)
{
    uint64_t *table = (uint64_t *)((uint8_t *)ctx + AGT_RETURN_OFF);
    if (code)
        table[ctx->rip >> ctx->lookup_shift & 0xffff] = code;
}

/* Logs where an indirect jump went. Every pair of jump and target comes here at least once: tables
 * have only those that did. */
static void jump_note(struct agt *agt)
{
    struct agt_ctx *ctx = agt->ctx;
    if (ctx->is_probe) /* what it does need not happen */
        return;
    if (ctx->jump_count >= AGT_JUMPS_MAX) {
        agt_ask(agt, AGT_REQ_JUMPS, 0, 0, 0, 0);
        ctx->jump_count = 0;
    }
    struct agt_jump *log = (struct agt_jump *)((uint8_t *)ctx + AGT_JUMPS_OFF);
    log[ctx->jump_count++] =
        (struct agt_jump){.target = ctx->rip, .fragment = (uint32_t)ctx->branch};
}

static void site_fill(struct agt *agt, uint64_t prefix)
{
    struct agt_ctx *ctx = agt->ctx;
    const struct agt_site *site =
        (const struct agt_site *)((uint8_t *)ctx + AGT_SITES_OFF) + (uint32_t)ctx->branch;
    if (!prefix || !site->table_off)
        return;
    uint64_t *table = (uint64_t *)((uint8_t *)ctx + site->table_off);
    uint64_t there = table[agt_site_index(site, ctx->rip)];
    if (there != ctx->jump_missed && there != prefix && !site->is_full && !ctx->is_probe) {
        agt_ask(agt, AGT_REQ_SITE, ctx->branch, 0, 0, 0);
        table = (uint64_t *)((uint8_t *)ctx + site->table_off);
    }
    table[agt_site_index(site, ctx->rip)] = prefix;
}

/* ---- code before an exact stop ---- */

/* Cut code that the supervisor gave before: it always comes back here, so it may be run as long as
 * it does not go beyond the stop. */
static struct cut {
    uint64_t pc, body, round;
    uint64_t count; /* instructions */
} the_cuts[CUTS];

static struct cut *cut_of(uint64_t pc)
{
    return &the_cuts[hash(pc) % CUTS];
}

/* The code of the fragment at rip, or 0. */
static uint64_t cut_find(const struct agt_ctx *ctx)
{
    const struct cut *cut = cut_of(ctx->rip);
    bool is_good = cut->pc == ctx->rip && cut->round == ctx->cut_round && ctx->cut_round;
    if (!is_good || ctx->is_probe || ctx->stop_pc)
        return 0;
    uint64_t done = executed(ctx);
    return done <= ctx->limit && cut->count <= ctx->limit - done ? cut->body : 0;
}

static void cut_keep(const struct agt_ctx *ctx, uint64_t body, uint64_t count)
{
    struct cut *cut = cut_of(ctx->rip);
    cut->pc = ctx->rip;
    cut->body = body;
    cut->round = ctx->cut_round;
    cut->count = count;
}

/* `kind`: how translated code came here, 0 if it did not. */
static enum found code_find(struct agt *agt, int kind)
{
    struct agt_ctx *ctx = agt->ctx;
    bool is_return = kind == AGT_EXIT_INDIRECT && ctx->exit_arg == AGT_TABLE_RETURN;
    bool is_jump = kind == AGT_EXIT_INDIRECT && !is_return;
    bool at_stop = ctx->rip == ctx->stop_pc && ctx->stop_pc && !ctx->careful;
    const struct agt_lookup *at = ctx->careful || at_stop ? NULL : lookup(agt, ctx->rip);
    uint64_t prefix = at ? at->prefix : 0, cut = ctx->careful ? cut_find(ctx) : 0;
    if (is_jump)
        jump_note(agt);
    if (cut) {
        ctx->target = cut;
    } else if (at && (prefix || !is_jump)) {
        ctx->target = at->body;
        if (is_return)
            return_fill(ctx, at->landing);
    } else if (at_stop && ctx->stop_body) {
        ctx->target = ctx->stop_body;
    } else {
        agt_ask(agt, AGT_REQ_TRANSLATE, ctx->rip, 0, 0, 0);
        const struct agt_mail *mail = &ctx->mail;
        ctx->target = mail->args[0];
        prefix = mail->args[1];
        if (mail->args[2])
            return FOUND_AGAIN;
        if (!ctx->target)
            return FOUND_FAULT;
        if (at_stop)
            ctx->stop_body = ctx->target;
        if (mail->args[3])
            cut_keep(ctx, ctx->target, mail->args[3]);
    }
    if (is_jump && !at_stop)
        site_fill(agt, prefix);
    return FOUND_CODE;
}

/*
 * A fault leaves a rep instruction where it has come to: what it did until then is an execution of
 * its own. It is counted by running it with no elements left, since what it moved must not be moved
 * again.
 */
static void rep_part_count(struct agt *agt)
{
    struct agt_ctx *ctx = agt->ctx;
    const struct agt_mail *mail = &ctx->mail;
    struct agt_fault fault = mail->fault; /* the code may be fetched */
    uint64_t rip = ctx->rip, rflags = ctx->rflags;
    uint64_t rcx = ctx->gpr[RCX], rsi = ctx->gpr[RSI], rdi = ctx->gpr[RDI];
    agt_ask(agt, AGT_REQ_FAULT_REP, 0, 0, 0, 0);
    ctx->target = mail->args[0];
    ctx->gpr[RCX] = 0;
    ctx->gpr[RSI] = mail->args[1];
    ctx->gpr[RDI] = mail->args[2];
    uint64_t count = ctx->rep_count;
    int kind = agt_code_run(agt);
    if (kind != AGT_EXIT_DIRECT)
        agt_stop(agt, AGT_REQ_DIVERGED, AGT_DIV_EVENT, 0, (uint64_t)kind, rip);
    ctx->rep_count = count;
    ctx->rip = rip;
    ctx->rflags = rflags;
    ctx->gpr[RCX] = rcx;
    ctx->gpr[RSI] = rsi;
    ctx->gpr[RDI] = rdi;
    if (ctx->collecting)
        agt_ask(agt, AGT_REQ_FAULT_RECORD, 0, 0, 0, 0);
    ctx->mail.fault = fault;
}

/* The registers at a fault are partly in homes; the supervisor knows which, and where it was. */
static void on_fault(struct agt *agt)
{
    struct agt_ctx *ctx = agt->ctx;
    struct agt_mail *mail = &ctx->mail;
    agt_ask(agt, AGT_REQ_FAULT, 0, 0, 0, 0);
    agt->has_stray_marks = true; /* a store is marked before it is tried */
    uint64_t spilled = mail->args[1], unexecuted = mail->args[2], ring_more = mail->args[3];
    for (unsigned i = 0; i < 15; i++) {
        if (!(spilled >> i & 1))
            ctx->gpr[i] = mail->fault.gpr[i];
    }
    if (mail->fault.address == mail->fault.rip)
        mail->fault.address = mail->args[0];
    ctx->rip = mail->args[0];
    ctx->rflags = mail->fault.rflags;
    ctx->r15 = mail->fault.gpr[15] + ring_more;
    executed_set(ctx, executed(ctx) - unexecuted);
    bool flags_inexact = mail->args[4];
    if (mail->args[5])
        rep_part_count(agt);
    const struct evq_entry *entry = entry_expect(agt, EVQ_FAULT, AGT_EXIT_FAULT);
    /* The translator may have used flags that nothing reads before they are written. */
    if (flags_inexact && entry->flags & EVQ_FLAG_REGS)
        ctx->rflags = evq_entry_regs(entry)->r[EVQ_EFLAGS] & ~0x10000ull;
    fault_take(agt);
}

static void on_exit(struct agt *agt, int kind)
{
    struct agt_ctx *ctx = agt->ctx;
    switch (kind) {
    case AGT_EXIT_TIME:
        agt_ask(agt, AGT_REQ_TIME, 0, 0, 0, 0);
        break;
    case AGT_EXIT_SYSCALL:
        on_syscall(agt);
        break;
    case AGT_EXIT_RDTSC:
    case AGT_EXIT_RDTSCP:
        on_trap(agt, (uint32_t)kind);
        break;
    case AGT_EXIT_CPUID:
        on_cpuid(agt);
        break;
    case AGT_EXIT_XGETBV:
        on_xgetbv(agt);
        break;
    case AGT_EXIT_RDPID:
        agt_on_rdpid(agt);
        break;
    case AGT_EXIT_LSL:
        agt_on_lsl(agt);
        break;
    case AGT_EXIT_SEGMENT:
        agt_on_segment(agt);
        break;
    case AGT_EXIT_UNSUPPORTED:
        agt_stop(agt, AGT_REQ_UNSUPPORTED, AGT_UNS_INSTRUCTION, ctx->rip, 0, 0);
    case AGT_EXIT_FAULT:
        on_fault(agt);
        break;
    case AGT_EXIT_STALE:
        agt_ask(agt, AGT_REQ_CODE_CHANGED, ctx->rip, ctx->rip + ctx->exit_arg, 0, 0);
        break;
    }
}

/* ---- copies ---- */

/* Goes on from a place just found, in a copy of the replayee, to see whether there are more. */
__attribute__((noreturn)) static void probe_run(struct agt *agt)
{
    const struct evq_entry *entry = entry_next(agt);
    uint64_t pc = evq_entry_regs(entry)->r[EVQ_RIP];
    agt_ask(agt, AGT_REQ_READY, 0, 0, 0, 0);
    for (;;) {
        int kind = code_find(agt, 0) == FOUND_CODE ? agt_code_run(agt) : AGT_EXIT_FAULT;
        if (kind != AGT_EXIT_DIRECT && kind != AGT_EXIT_INDIRECT)
            break;
        if (agt->ctx->rip == pc && !agt_regs_differ(agt, entry))
            agt_rest_agrees(agt, entry);
    }
    agt_stop(agt, AGT_REQ_PROBE_END, 0, 0, 0, 0);
}

static void probe_map(const struct agt *agt, uint64_t off, uint64_t bytes, long flags, uint32_t fd,
                      uint64_t file_off)
{
    long at = (long)agt->ctx + (long)off;
    if (sys_call6(SYS_mmap, at, (long)bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd,
                  (long)file_off) != at)
        fail(AGT_STATUS_PROBE);
}

/* A branch has nothing of its own but the context: the process that it was copied from stands still
 * meanwhile. */
static uint64_t copy_start(struct agt *agt, uint64_t what)
{
    if (what == AGT_FORK_BRANCH)
        agt_memory_gather(agt);
    long pid = sys_call6(SYS_clone, CODE_CLONE_PARENT | SIGCHLD, 0, 0, 0, 0, 0);
    if (pid) {
        /* its next turn comes when the copy is gone: who waits awake takes the copy's processor */
        if (agt->ctx->mail.wait.patient == AGT_WAIT_PATIENTLY)
            agt->ctx->mail.wait.patient = AGT_WAIT_BRIEFLY;
        return (uint64_t)pid;
    }
    /* also how the supervisor gets to know this copy (probe.c) */
    if (sys_call6(SYS_prctl, 1 /* PR_SET_PDEATHSIG */, SIGKILL, 0, 0, 0, 0))
        fail(AGT_STATUS_PROBE);
    probe_map(agt, 0, AGT_PROBE_BYTES, MAP_SHARED, agt->ctx->probe_fd, 0);
    if (what == AGT_FORK_BRANCH)
        return 0;
    probe_map(agt, AGT_COUNT_OFF, AGT_LOOKUP_OFF - AGT_COUNT_OFF, MAP_PRIVATE, agt->ctx->shm_fd,
              AGT_COUNT_OFF);
    probe_map(agt, AGT_LOG_OFF, AGT_LOG_BYTES, MAP_PRIVATE, agt->ctx->shm_fd, AGT_LOG_OFF);
    probe_map(agt, AGT_TABLES_OFF, AGT_TABLES_BYTES, MAP_PRIVATE, agt->ctx->shm_fd, AGT_TABLES_OFF);
    probe_run(agt);
}

/* ---- start ---- */

static void run(struct agt *agt)
{
    int kind = 0;
    for (;;) {
        entries_settle(agt);
        enum found found = code_find(agt, kind);
        kind = 0;
        if (found == FOUND_FAULT)
            fault_take(agt);
        if (found != FOUND_CODE)
            continue;
        kind = agt_code_run(agt);
        if (kind != AGT_EXIT_DIRECT && kind != AGT_EXIT_INDIRECT)
            on_exit(agt, kind);
    }
}

static bool is_protected_write(const long long *gregs)
{
    const long long page_fault = 14, protected_write = 3;
    return gregs[REG_TRAPNO] == page_fault && (gregs[REG_ERR] & protected_write) == protected_write;
}

static bool is_guarded_store(const struct agt *agt, const siginfo_t *info, const long long *gregs)
{
    return info->si_signo == SIGSEGV && is_protected_write(gregs) &&
           (uint64_t)gregs[REG_RIP] - agt->base >= AGT_AREA_BYTES;
}

/*
 * Translated returns put a code address in place of the program's for a moment (dbi/lookup.c).
 * Where the stack cannot be written, that is a fault which the program does not have: the return is
 * taken the long way. No instruction of the program's is copied that begins with c3.
 */
static bool is_return_store(const struct agt *agt, const long long *gregs)
{
    static const uint8_t code[] = {0x48, 0x89, 0x0c, 0x24, 0xc3}; /* mov [rsp], rcx; ret */
    const uint8_t *at = (const uint8_t *)gregs[REG_RIP];
    if ((uint64_t)at - agt->base < AGT_AREA_BYTES || !is_protected_write(gregs))
        return false;
    for (unsigned i = 0; i < sizeof(code); i++) {
        if (at[i] != code[i])
            return false;
    }
    return true;
}

/* Where gs points to when translated code faults: to the context, unless it had been lent to the
 * program. */
static uint64_t gs_take(const struct agt *agt)
{
    uint64_t found = (uint64_t)agt->ctx;
    if (!agt->ctx->has_fsgsbase)
        return found;
    __asm__ volatile("rdgsbase %0" : "=r"(found));
    __asm__ volatile("wrgsbase %0" : : "r"(agt->ctx));
    return found;
}

static void gs_give(const struct agt *agt, uint64_t base)
{
    if (agt->ctx->has_fsgsbase)
        __asm__ volatile("wrgsbase %0" : : "r"(base));
}

/* The kernel's layout of what a handler gets (uc_mcontext.gregs order). */
static void on_signal(int signo, siginfo_t *info, void *context)
{
    struct agt *agt = &the_agent;
    long long *gregs = ((ucontext_t *)context)->uc_mcontext.gregs;
    static const uint8_t greg_of_gpr[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                            REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                            REG_R12, REG_R13, REG_R14, REG_R15};
    struct agt_fault *fault = &agt->ctx->mail.fault;
    uint64_t rip = (uint64_t)gregs[REG_RIP], gs_base = gs_take(agt);
    if (is_guarded_store(agt, info, gregs)) {
        agt->ctx->r15 = (uint64_t)gregs[REG_R15]; /* with it comes time */
        if (agt_memory_unguard(agt, (uint64_t)info->si_addr)) {
            gs_give(agt, gs_base);
            return; /* to the same instruction */
        }
    }
    if (is_return_store(agt, gregs)) {
        gregs[REG_RSP] += 8;
        gregs[REG_RIP] = (long long)agt->ctx->return_missed;
        return;
    }
    for (unsigned i = 0; i < 16; i++)
        fault->gpr[i] = (uint64_t)gregs[greg_of_gpr[i]];
    fault->rip = rip;
    fault->rflags = (uint64_t)gregs[REG_EFL];
    fault->signo = (uint64_t)signo;
    fault->code = (uint64_t)(int64_t)info->si_code;
    fault->address = (uint64_t)info->si_addr;
    fault->trapno = (uint64_t)gregs[REG_TRAPNO];
    if (rip - agt->base < AGT_AREA_BYTES)
        agt_stop(agt, AGT_REQ_DIVERGED, AGT_DIV_INTERNAL, rip - agt->base, fault->address,
                 (uint64_t)signo);
    gregs[REG_RIP] = (long long)agt_fault_exit;
    gregs[REG_RSP] = (long long)agt->ctx->agent_sp;
}

struct kernel_sigaction {
    void (*handler)(int, siginfo_t *, void *);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

/* The address of a function, found at run time: a compiler that knows it as a constant may put it
 * into a table, and nothing relocates the image. */
static void *address_of(const void *function)
{
    __asm__("" : "+r"(function));
    return (void *)function;
}

static void signals_init(struct agt *agt)
{
    static const uint8_t signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    stack_t stack = {.ss_sp = (void *)(agt->base + AGT_SIGSTACK_OFF),
                     .ss_size = AGT_SIGSTACK_BYTES};
    uint64_t none = 0;
    long failed = sys_call3(SYS_sigaltstack, (long)&stack, 0, 0);
    struct kernel_sigaction action = {.handler = address_of(on_signal),
                                      .flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER |
                                               0x04000000 /* SA_RESTORER */,
                                      .restorer = address_of(agt_restorer)};
    for (unsigned i = 0; i < sizeof(signals); i++)
        failed |= sys_call6(SYS_rt_sigaction, signals[i], (long)&action, 0, 8, 0, 0);
    failed |= sys_call6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&none, 0, 8, 0, 0);
    if (failed)
        fail(AGT_STATUS_SIGNALS);
}

static void room_map(uint64_t at, uint64_t bytes)
{
    if (sys_call6(SYS_mmap, (long)at, (long)bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != (long)at)
        fail(AGT_STATUS_AREA);
}

static void area_init(struct agt *agt)
{
    uint64_t base = agt->base, end = base + AGT_AREA_BYTES;
    if (sys_call3(SYS_munmap, 0, (long)base, 0) ||
        sys_call3(SYS_munmap, (long)end, (long)(0x7ffffffff000ull - end), 0) ||
        sys_call3(SYS_arch_prctl, CODE_ARCH_SET_GS, (long)agt->ctx, 0))
        fail(AGT_STATUS_AREA);
    room_map(base + AGT_HEAP_OFF, AGT_HEAP_BYTES);
    room_map(base + AGT_LINES_OFF, AGT_LINES_BYTES);
}

static void seccomp_init(struct agt_ctx *ctx)
{
    struct {
        uint16_t count;
        uint64_t *filter;
    } program = {(uint16_t)ctx->bpf_count, ctx->bpf};
    if (sys_call6(SYS_prctl, 38 /* PR_SET_NO_NEW_PRIVS */, 1, 0, 0, 0, 0))
        fail(AGT_STATUS_PRIVILEGES);
    if (sys_call6(SYS_seccomp, 1 /* SET_MODE_FILTER */, 0, (long)&program, 0, 0, 0))
        fail(AGT_STATUS_SECCOMP);
}

/* The supervisor's child jumps here with everything of its parent still mapped; the blob, the
 * stacks and the shared memory are in place. */
__attribute__((noreturn)) void agt_main(uint64_t base);
/* restart() calls it by its name. */
__attribute__((noreturn, used)) HIDDEN void agt_loop(void);

void agt_loop(void)
{
    run(&the_agent);
    __builtin_unreachable();
}

void agt_main(uint64_t base)
{
    struct agt *agt = &the_agent;
    agt->base = base;
    agt->ctx = (struct agt_ctx *)(base + AGT_SHM_OFF);
    agt->lines = (uint8_t *)(base + AGT_LINES_OFF);
    agt->views.list = (struct agt_view *)(base + AGT_HEAP_OFF);
    area_init(agt);
    if (!wall_init(agt))
        fail(AGT_STATUS_AREA);
    agt->ctx->agent_exit = (uint64_t)agt_exit;
    tasks_of(agt->ctx)[0].live = 1;
    agt->ctx->fs_base = UINT64_MAX;
    signals_init(agt);
    seccomp_init(agt->ctx);
    agt_ask(agt, AGT_REQ_READY, 0, 0, 0, 0);
    agt_loop();
}
