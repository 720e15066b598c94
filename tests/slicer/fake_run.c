/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The run: one thread at a time is stepped, so that there is one order of all instructions. A
 * thread whose system call does not come back soon waits, and others go on.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/cpuid.h"
#include "recorder/event/ops.h"
#include "recorder/insn/insn_image.h"
#include "tests/slicer/fake_priv.h"
#include "tests/slicer/native_step.h"
#include <wetdbg/errors.h>

/* ---- running ---- */

struct evq_regs fake_queue_regs(const struct user_regs_struct *regs)
{
    struct evq_regs out;
    _Static_assert(sizeof(out) == sizeof(*regs), "same order");
    memcpy(&out, regs, sizeof(out));
    return out;
}

static uint64_t gpr(const struct user_regs_struct *r, int number)
{
    const uint64_t all[] = {r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi,
                            r->r8,  r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15};
    return all[number & 15];
}

static struct code *code_at(struct wetdbg *wet, uint64_t pc)
{
    if (!wet->code.at) {
        wet->code.capacity = wet->code.count = 1 << 18;
        wet->code.at = calloc(wet->code.capacity, sizeof(*wet->code.at));
    }
    size_t at = (pc * 0x9e3779b97f4a7c15u) >> 46;
    while (wet->code.at[at] && wet->code.at[at]->pc != pc)
        at = (at + 1) & (wet->code.capacity - 1);
    if (wet->code.at[at])
        return wet->code.at[at];
    struct code *code = calloc(1, sizeof(*code));
    code->pc = pc;
    ssize_t got = pread(wet->memory, code->bytes, 15, (off_t)pc);
    if (got <= 0 || ins_decode(code->bytes, (size_t)got, pc, &code->info)) {
        free(code);
        return NULL;
    }
    return wet->code.at[at] = code;
}

static uint64_t operand_address(const struct ins_mem *mem, const struct user_regs_struct *r)
{
    uint64_t at = (uint64_t)mem->disp;

    if (mem->base >= 0)
        at += gpr(r, mem->base);
    if (mem->flags & INS_MEM_INDEX_BYTE)
        at += gpr(r, mem->index) & 0xff;
    else if (mem->index >= 0 && !(mem->flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64)))
        at += gpr(r, mem->index) * mem->scale;
    if (mem->flags & INS_MEM_BIT_OFFSET) {
        int64_t bit = (int64_t)gpr(r, mem->bit_reg);
        bit = mem->size_bytes == 2 ? (int16_t)bit : mem->size_bytes == 4 ? (int32_t)bit : bit;
        at += (uint64_t)(bit >> __builtin_ctz(8u * mem->size_bytes)) * mem->size_bytes;
    }
    if (mem->flags & INS_MEM_ADDR32)
        at = (uint32_t)at;
    if (mem->flags & INS_MEM_FS)
        at += r->fs_base;
    if (mem->flags & INS_MEM_GS)
        at += r->gs_base;
    return mem->flags & INS_MEM_LINE ? at & ~UINT64_C(63) : at;
}

void fake_keep_undo(struct wetdbg *wet, uint64_t address, uint64_t size)
{
    if (size == 0)
        return;
    uint8_t *bytes = malloc(size);
    if (pread(wet->memory, bytes, size, (off_t)address) == (ssize_t)size) {
        struct undo undo = {wet->steps.count, address, (uint32_t)size, wet->undo_bytes.count};
        PUSH(wet->undo, undo);
        for (uint64_t i = 0; i < size; i++)
            PUSH(wet->undo_bytes, bytes[i]);
    }
    free(bytes);
}

/* Whether the condition with the low four bits of a jcc's opcode holds. */
static bool holds(unsigned condition, uint64_t flags)
{
    bool carry = flags & 1, parity = flags >> 2 & 1, zero = flags >> 6 & 1, sign = flags >> 7 & 1,
         overflow = flags >> 11 & 1;
    const bool is[] = {overflow,
                       carry,
                       zero,
                       carry || zero,
                       sign,
                       parity,
                       sign != overflow,
                       zero || sign != overflow};
    return is[condition / 2 % 8] != condition % 2;
}

/* Where a vector register's bytes from `first` on are in an XSAVE image. */
static size_t vector_at(unsigned vector, unsigned first)
{
    if (vector >= 16)
        return wd_cpuid_ask(0xd, 7).ebx + 64 * (vector - 16) + first;
    if (first >= 32)
        return wd_cpuid_ask(0xd, 6).ebx + 32 * vector + first - 32;
    return first >= 16 ? wd_cpuid_ask(0xd, 2).ebx + 16 * vector + first - 16
                       : 160 + 16 * vector + first;
}

/* By what an instruction that is about to run chooses bytes. */
static void push_selector(struct wetdbg *wet, const struct ins_info *info, pid_t pid,
                          uint64_t address)
{
    static uint8_t image[16384];
    const struct ins_choice *choice = &info->choice;
    struct iovec vector = {image, sizeof(image)};
    uint64_t words[9] = {0};

    memset(image, 0, sizeof(image));
    if (ptrace(PTRACE_GETREGSET, pid, (long)NT_X86_XSTATE, &vector))
        abort();
    for (unsigned at = 0; at < choice->bytes && choice->selector < INS_PLACE_MEMORY; at += 16)
        memcpy((uint8_t *)words + at, image + vector_at(choice->selector, at), 16);
    if (choice->selector == INS_PLACE_MEMORY &&
        pread(wet->memory, words, ins_selector_bytes(choice), (off_t)address) !=
            ins_selector_bytes(choice))
        abort();
    if (choice->mask != INS_PLACE_NONE)
        memcpy(&words[choice->slots - 1], image + wd_cpuid_ask(0xd, 5).ebx + 8 * choice->mask, 8);
    for (unsigned i = 0; i < choice->slots; i++)
        PUSH(wet->slots, words[i]);
}

/* The x87 status word, by which st(i) are registers. */
static uint64_t status_word(pid_t pid)
{
    struct user_fpregs_struct fpu;

    if (ptrace(PTRACE_GETFPREGS, pid, NULL, &fpu))
        abort();
    return fpu.swd;
}

/* Notes the status word, and which registers the instruction names by it. */
static void settle_step(struct wetdbg *wet, struct code *code, uint64_t status)
{
    struct ins_info **settled = &code->settled[status >> 11 & 7];

    PUSH(wet->slots, status);
    if (!*settled) {
        *settled = calloc(1, sizeof(**settled));
        ins_settle(&code->info, wet->slots.at + wet->steps.at[wet->steps.count - 1].slot_off,
                   *settled);
    }
    wet->steps.at[wet->steps.count - 1].info = *settled;
}

/* What xsave or its kin is asked for; the image's header comes when it has run. */
static void push_asked(struct wetdbg *wet, const struct user_regs_struct *r)
{
    PUSH(wet->slots, r->rax);
    PUSH(wet->slots, r->rdx);
    PUSH(wet->slots, 0);
    PUSH(wet->slots, 0);
}

static void finish_image(struct wetdbg *wet)
{
    uint64_t *header = &wet->slots.at[wet->slots.count - 2];
    uint64_t image = wet->slots.at[wet->slots.count - 1 - INS_IMAGE_SLOTS];

    if (pread(wet->memory, header, 16, (off_t)(image + INS_IMAGE_STATES_OFF)) != 16)
        abort();
}

/* Slots of an instruction that is about to run; those of a rep instruction are finished after. */
static void begin_step(struct wetdbg *wet, uint32_t slot, struct code *code,
                       const struct user_regs_struct *r)
{
    struct fake_step step = {.info = &code->info,
                             .described = &code->info,
                             .pc = code->pc,
                             .rsp = r->rsp,
                             .slot_off = wet->slots.count,
                             .task = slot};
    PUSH(wet->steps, step);
    PUSH(wet->executors, (uint32_t)wet->tasks[slot].thread);
    PUSH(wet->regs, *r);
    for (unsigned m = 0; m < code->info.mem_count; m++) {
        const struct ins_mem *mem = &code->info.mems[m];
        uint64_t address = operand_address(mem, r), size = mem->size_bytes;
        PUSH(wet->slots, address);
        for (unsigned i = 0; i < 16 && mem->flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64); i++)
            PUSH(wet->slots, 0);
        if (!(mem->flags & INS_MEM_WRITE))
            continue;
        if (mem->flags & INS_MEM_REP) {
            bool down = r->eflags >> 10 & 1;
            address -= down && r->rcx ? (r->rcx - 1) * size : 0;
            size *= r->rcx;
        }
        fake_keep_undo(wet, address, size);
    }
    if (code->info.flags & INS_IS_CMOV)
        PUSH(wet->slots, holds(code->info.condition, r->eflags));
    else if (code->info.choice.kind == INS_CHOICE_TOP)
        settle_step(wet, code, status_word(wet->tasks[slot].tid));
    else if (code->info.choice.kind == INS_CHOICE_BYTES)
        push_selector(wet, &code->info, wet->tasks[slot].tid,
                      code->info.mem_count ? wet->slots.at[step.slot_off] : 0);
    else if (code->info.choice.kind == INS_CHOICE_IMAGE)
        push_asked(wet, r);
}

static void end_step(struct wetdbg *wet, const struct user_regs_struct *before,
                     const struct user_regs_struct *after)
{
    const struct ins_info *info = wet->steps.at[wet->steps.count - 1].info;

    if (info->choice.kind == INS_CHOICE_IMAGE)
        finish_image(wet);
    if (info->mem_count == 0 || !(info->mems[0].flags & INS_MEM_REP))
        return;
    PUSH(wet->slots, before->rcx);
    PUSH(wet->slots, after->rcx);
    PUSH(wet->slots, gpr(after, info->mems[0].base));
}

/* ---- system calls ---- */

struct effect {
    uint64_t address, size; /* what a recording would hold */
    uint64_t real;          /* what was written */
};

#define EFFECTS_MAX 8

/* What lies at the pieces of a list, as far as the call came. */
static unsigned list_effects(const struct wetdbg *wet, uint64_t list, uint64_t count,
                             uint64_t result, struct effect *out)
{
    unsigned n = 0;

    for (uint64_t i = 0; i < count && n < EFFECTS_MAX; i++) {
        uint64_t piece[2];
        if (pread(wet->memory, piece, sizeof(piece), (off_t)(list + 16 * i)) != sizeof(piece))
            break;
        uint64_t size = piece[1] < result ? piece[1] : result;
        result -= size;
        out[n++] = (struct effect){piece[0], size, size};
    }
    return n;
}

/* The list of messages, and of those that came in the bytes. */
static unsigned message_effects(const struct wetdbg *wet, const struct user_regs_struct *in,
                                uint64_t result, struct effect *out)
{
    unsigned n = 1;

    out[0] = (struct effect){in->rsi, 64 * in->rdx, 64 * in->rdx};
    for (uint64_t i = 0; i < in->rdx && in->orig_rax == SYS_recvmmsg && n < EFFECTS_MAX; i++) {
        uint64_t message[8] = {0};
        if (i >= result ||
            pread(wet->memory, message, 64, (off_t)(in->rsi + 64 * i)) != sizeof(message))
            break;
        uint64_t length = result == INT64_MAX ? INT64_MAX : message[7] & 0xffffffff;
        uint64_t piece[2];
        if (pread(wet->memory, piece, sizeof(piece), (off_t)message[2]) == sizeof(piece)) {
            uint64_t size = piece[1] < length ? piece[1] : length;
            out[n++] = (struct effect){piece[0], size, size};
        }
    }
    return n;
}

static unsigned syscall_effects(const struct wetdbg *wet, const struct user_regs_struct *in,
                                uint64_t result, struct effect out[EFFECTS_MAX])
{
    bool failed = result > -4096ULL;
    unsigned n = 0;

    switch (in->orig_rax) {
    case SYS_readv:
    case SYS_preadv:
    case SYS_preadv2:
        n = list_effects(wet, in->rsi, in->rdx, result, out);
        break;
    case SYS_process_vm_readv:
        n = list_effects(wet, in->rsi, in->rdx, result, out);
        break;
    case SYS_process_vm_writev:
        n = list_effects(wet, in->r10, in->r8, result, out);
        break;
    case SYS_recvmsg: {
        uint64_t message[7] = {0};
        if (pread(wet->memory, message, sizeof(message), (off_t)in->rsi) == sizeof(message))
            n = list_effects(wet, message[2], message[3], result, out);
        break;
    }
    case SYS_sendmmsg:
    case SYS_recvmmsg:
        n = message_effects(wet, in, result, out);
        break;
    case SYS_adjtimex:
        out[n++] = (struct effect){in->rdi, 208, 208};
        break;
    case SYS_pipe:
    case SYS_pipe2:
        out[n++] = (struct effect){in->rdi, 8, 8};
        break;
    case SYS_socketpair:
        out[n++] = (struct effect){in->r10, 8, 8};
        break;
    case SYS_sendfile:
        if (in->rdx)
            out[n++] = (struct effect){in->rdx, 8, 8};
        break;
    case SYS_splice:
    case SYS_copy_file_range:
        if (in->rsi)
            out[n++] = (struct effect){in->rsi, 8, 8};
        if (in->r10)
            out[n++] = (struct effect){in->r10, 8, 8};
        break;
    case SYS_read:
    case SYS_recvfrom:
    case SYS_pread64:
        out[n++] = (struct effect){in->rsi, in->rdx, failed ? 0 : result};
        break;
    case SYS_readlink:
        out[n++] = (struct effect){in->rsi, in->rdx, failed ? 0 : result};
        break;
    case SYS_getrandom:
    case SYS_getcwd:
        out[n++] = (struct effect){in->rdi, in->rsi, failed ? 0 : result};
        break;
    case SYS_fstat:
    case SYS_stat:
        out[n++] = (struct effect){in->rsi, 144, 144};
        break;
    case SYS_newfstatat:
        out[n++] = (struct effect){in->rdx, 144, 144};
        break;
    case SYS_prlimit64:
        if (in->r10)
            out[n++] = (struct effect){in->r10, 16, 16};
        break;
    case SYS_ioctl:
        out[n++] = (struct effect){in->rdx, 36, 36};
        break;
    case SYS_rt_sigprocmask:
        if (in->rdx)
            out[n++] = (struct effect){in->rdx, 8, 8};
        break;
    case SYS_uname:
        out[n++] = (struct effect){in->rdi, 390, 390};
        break;
    case SYS_clock_gettime:
        out[n++] = (struct effect){in->rsi, 16, 16};
        break;
    default:
        break;
    }
    if (failed)
        for (unsigned i = 0; i < n; i++)
            out[i].real = 0;
    return failed ? 0 : n;
}

static void push_words(struct wetdbg *wet, const void *bytes, size_t size)
{
    for (size_t off = 0; off < size; off += 8) {
        uint64_t word = 0;
        memcpy(&word, (const char *)bytes + off, size - off < 8 ? size - off : 8);
        PUSH(wet->event_words, word);
    }
}

static void push_op(struct wetdbg *wet, uint32_t op, uint64_t a, uint64_t b, const void *payload,
                    size_t size)
{
    struct evq_op header = evq_op_range(op, a, b);
    header.bytes = (uint32_t)(sizeof(header) + (size + 7) / 8 * 8);
    push_words(wet, &header, sizeof(header));
    push_words(wet, payload, size);
}

static size_t push_entry(struct wetdbg *wet, uint32_t slot, uint16_t kind, int32_t number,
                         const struct user_regs_struct *regs)
{
    struct fake_event event = {wet->steps.count, slot, wet->event_words.count};
    struct evq_entry entry = {.kind = kind,
                              .number = number,
                              .task = slot,
                              .flags = EVQ_FLAG_REGS,
                              .frame = wet->fake_events.count};
    struct evq_regs queue = fake_queue_regs(regs);

    PUSH(wet->fake_events, event);
    push_words(wet, &entry, sizeof(entry));
    push_words(wet, &queue, sizeof(queue));
    return event.off;
}

static void close_entry(struct wetdbg *wet, size_t off)
{
    ((struct evq_entry *)(wet->event_words.at + off))->bytes =
        (uint32_t)((wet->event_words.count - off) * 8);
}

static void happen_write(struct wetdbg *wet, uint32_t slot, wetdbg_time call, uint64_t address,
                         uint64_t size)
{
    struct fake_happening write = {.kind = FAKE_WRITE,
                                   .time = wet->steps.count,
                                   .call = call,
                                   .task = slot,
                                   .address = address,
                                   .size = size};
    PUSH(wet->happenings, write);
}

void fake_push_memory(struct wetdbg *wet, uint64_t address, uint64_t size)
{
    uint8_t *bytes = calloc(1, size);

    if (pread(wet->memory, bytes, size, (off_t)address) < 0)
        abort();
    push_op(wet, EVQ_OP_WRITE, address, size, bytes, size);
    free(bytes);
}

/* ---- threads ---- */

static uint32_t task_add(struct wetdbg *wet, pid_t tid, const struct wetdbg_thread *parent)
{
    uint32_t slot = 0;

    while (wet->tasks[slot].is_live)
        if (++slot == FAKE_TASKS_MAX)
            abort();
    struct wetdbg_thread thread = {.index = (uint32_t)wet->threads.count,
                                   .tid = tid,
                                   .name = "fake",
                                   .task = slot,
                                   .parent = parent,
                                   .start = wet->steps.count + 1};
    wet->tasks[slot] =
        (struct fake_task){.tid = tid, .is_live = true, .thread = wet->threads.count};
    if (wet->threads.count == 0) { /* never moves: threads point to each other */
        wet->threads.capacity = 4096;
        wet->threads.at = calloc(wet->threads.capacity, sizeof(thread));
    }
    if (wet->threads.count == wet->threads.capacity)
        abort();
    PUSH(wet->threads, thread);
    return slot;
}

static uint64_t peek(const struct wetdbg *wet, uint64_t address)
{
    uint64_t value = 0;
    if (pread(wet->memory, &value, sizeof(value), (off_t)address) < 0)
        abort();
    return value;
}

struct clone {
    uint64_t flags, parent_tid, child_tid;
};

static struct clone clone_of(const struct wetdbg *wet, const struct user_regs_struct *call)
{
    if (call->rax == SYS_clone)
        return (struct clone){call->rdi, call->rdx, call->r10};
    return (struct clone){peek(wet, call->rdi), peek(wet, call->rdi + 24),
                          peek(wet, call->rdi + 16)};
}

/* The parent stands inside its call; what the call's entry says is added to it. */
static void keep_clone(struct wetdbg *wet, uint32_t slot, const struct user_regs_struct *call)
{
    unsigned long tid;
    int status;
    struct user_regs_struct regs;
    struct clone clone = clone_of(wet, call);
    const struct fake_task *parent = &wet->tasks[slot];

    ptrace(PTRACE_GETEVENTMSG, parent->tid, 0, &tid);
    if (waitpid((pid_t)tid, &status, __WALL) < 0)
        abort();
    ptrace(PTRACE_GETREGS, tid, 0, &regs);
    uint32_t other = task_add(wet, (pid_t)tid, &wet->threads.at[parent->thread]);
    wet->tasks[other].regs = regs;
    if (clone.flags & CLONE_CHILD_CLEARTID)
        wet->tasks[other].cleared_tid = clone.child_tid;
    const uint64_t words[] = {clone.flags & CLONE_PARENT_SETTID ? clone.parent_tid : 0,
                              clone.flags & CLONE_CHILD_SETTID ? clone.child_tid : 0};
    for (unsigned i = 0; i < 2; i++)
        if (words[i]) {
            fake_push_memory(wet, words[i], 4);
            happen_write(wet, slot, wet->steps.count, words[i], 4);
        }
    struct evq_regs queue = fake_queue_regs(&regs);
    push_op(wet, EVQ_OP_TASK_NEW, other, tid, &queue, sizeof(queue));
    struct fake_happening thread = {.kind = FAKE_THREAD,
                                    .time = wet->steps.count,
                                    .task = slot,
                                    .other = other,
                                    .clone_args = call->rax == SYS_clone3 ? call->rdi : 0,
                                    .stack_is_given = regs.rsp != call->rsp,
                                    .tls_is_given = regs.fs_base != call->fs_base};
    PUSH(wet->happenings, thread);
}

static void keep_thread_end(struct wetdbg *wet, uint32_t slot)
{
    struct fake_task *task = &wet->tasks[slot];
    struct user_regs_struct none = {0};

    size_t off = push_entry(wet, slot, EVQ_TASK_EXIT, 0, &none);
    if (task->cleared_tid) {
        fake_push_memory(wet, task->cleared_tid, 4);
        happen_write(wet, slot, wet->steps.count, task->cleared_tid, 4);
    }
    close_entry(wet, off);
    task->is_live = false;
    wet->threads.at[task->thread].end = wet->steps.count;
    wet->threads.at[task->thread].has_ended = true;
}

/* ---- system calls ---- */

static void keep_enter(struct wetdbg *wet, uint32_t slot, const struct user_regs_struct *before)
{
    struct user_regs_struct in = *before;

    in.orig_rax = before->rax;
    push_entry(wet, slot, EVQ_SYSCALL_ENTER, (int32_t)before->rax, &in);
}

/* The last entry is the enter. */
static void close_enter(struct wetdbg *wet)
{
    close_entry(wet, wet->fake_events.at[wet->fake_events.count - 1].off);
}

static void keep_handler(struct wetdbg *wet, const struct user_regs_struct *call)
{
    if (call->rax != SYS_rt_sigaction || !call->rsi || call->rdi > 64)
        return;
    uint64_t handler = peek(wet, call->rsi);
    wet->handled &= ~(UINT64_C(1) << call->rdi);
    if (handler > 1)
        wet->handled |= UINT64_C(1) << call->rdi;
}

static void keep_exit(struct wetdbg *wet, uint32_t slot, wetdbg_time call,
                      const struct user_regs_struct *before, const struct user_regs_struct *after)
{
    struct user_regs_struct in = *before;
    struct effect effects[EFFECTS_MAX];
    struct evq_regs queue = fake_queue_regs(after);
    int32_t number = (int32_t)before->rax;

    in.orig_rax = before->rax;
    size_t off = push_entry(wet, slot, EVQ_SYSCALL_EXIT, number, after);
    unsigned count = syscall_effects(wet, &in, after->rax, effects);
    for (unsigned i = 0; i < count; i++) {
        fake_push_memory(wet, effects[i].address, effects[i].size);
        happen_write(wet, slot, call, effects[i].address, effects[i].real);
    }
    fake_channels_show(wet, slot, after->rax);
    if (number == SYS_mmap && after->rax < -4096ULL) {
        uint64_t size = (before->rsi + 4095) & ~4095ULL;
        fake_channels_hide(wet, slot, call, after->rax, size);
        push_op(wet, EVQ_OP_MAP, after->rax, size, NULL, 0);
        happen_write(wet, slot, call, after->rax, size);
    }
    fake_channels_exit(wet, slot, call, before, after->rax);
    push_op(wet, EVQ_OP_REGS, 0, 0, &queue, sizeof(queue));
    close_entry(wet, off);
    if (after->rax == 0)
        keep_handler(wet, before);
    if (number == SYS_rt_sigreturn) {
        struct fake_happening end = {.kind = FAKE_HANDLER_END,
                                     .time = wet->steps.count,
                                     .task = slot,
                                     .address = before->rsp};
        PUSH(wet->happenings, end);
    }
}

static void keep_output(struct wetdbg *wet, const struct user_regs_struct *r)
{
    uint64_t offset = 0;

    if (r->rax != SYS_write)
        return;
    for (size_t i = 0; i < wet->outputs.count; i++)
        if (wet->outputs.at[i].fd == (int)r->rdi)
            offset = wet->outputs.at[i].offset + wet->outputs.at[i].size;
    struct wetdbg_output output = {(int)r->rdi, wet->steps.count, offset, r->rsi, r->rdx};
    PUSH(wet->outputs, output);
}

/* ---- signals ---- */

#define FPSTATE_OFF      224 /* of its address, in a ucontext */
#define FPSTATE_SIZE_OFF 468 /* of the size of all of it */
#define FRAME_GUESS      512 /* what a recording has above the frame, as rr only guesses its size */
#define FRAME_ROOM       16384 /* more than a frame takes */
#define ROOM_PIECE       512   /* the lowest ones may not be mapped */
#define PLACE_PAYLOAD    sizeof(struct evq_place)

/* Whether the thread has just come back from sending it to itself. */
static bool is_own_signal(const struct wetdbg *wet, uint32_t slot, int signal)
{
    const struct fake_step *last = &wet->steps.at[wet->steps.count - 1];
    const struct user_regs_struct *call = &wet->regs.at[wet->steps.count - 1];

    if (last->task != slot || last->info->klass != INS_SYSCALL)
        return false;
    return (call->rax == SYS_tgkill && call->rdx == (uint64_t)signal) ||
           (call->rax == SYS_kill && call->rsi == (uint64_t)signal);
}

/* Keeps what lies where a handler's frame may come: below the stack pointer, or at the end of the
 * stack that the thread set aside for handlers. */
static void keep_room_of_frame(struct wetdbg *wet, const struct fake_task *task)
{
    const uint64_t ends[] = {task->regs.rsp, task->handler_stack_end};

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        for (uint64_t off = ROOM_PIECE; ends[i] && off <= FRAME_ROOM; off += ROOM_PIECE)
            fake_keep_undo(wet, ends[i] - off, ROOM_PIECE);
}

/* A signal with a handler: the thread stands at the handler's first instruction. `fault` or not. */
static void keep_call_of_handler(struct wetdbg *wet, uint32_t slot, int signal, bool is_fault,
                                 const struct user_regs_struct *before,
                                 const struct user_regs_struct *at)
{
    struct evq_place place = {.flags = EVQ_PLACE_TIME, .time = wet->steps.count};
    size_t off = push_entry(wet, slot, is_fault ? EVQ_FAULT : EVQ_PLACE, signal, before);
    if (!is_fault)
        push_op(wet, EVQ_OP_PLACE, 0, 0, &place, PLACE_PAYLOAD);
    close_entry(wet, off);
    uint64_t fpstate = peek(wet, at->rsp + 8 + FPSTATE_OFF);
    uint64_t size = fpstate + (uint32_t)peek(wet, fpstate + FPSTATE_SIZE_OFF) - at->rsp;
    struct evq_regs queue = fake_queue_regs(at);
    off = push_entry(wet, slot, EVQ_OPS, signal, before);
    fake_push_memory(wet, at->rsp, size + FRAME_GUESS);
    push_op(wet, EVQ_OP_REGS, 0, 0, &queue, sizeof(queue));
    close_entry(wet, off);
    struct fake_happening handler = {.kind = FAKE_HANDLER,
                                     .time = wet->steps.count,
                                     .task = slot,
                                     .address = at->rsp,
                                     .size = size,
                                     .fault_pc = is_fault ? before->rip : 0,
                                     .is_own = !is_fault && is_own_signal(wet, slot, signal)};
    PUSH(wet->happenings, handler);
}

static void keep_fatal(struct wetdbg *wet, uint32_t slot, int signal)
{
    siginfo_t info = {0};

    ptrace(PTRACE_GETSIGINFO, wet->tasks[slot].tid, 0, &info);
    wet->info.signal = signal;
    wet->info.signal_code = info.si_code;
    wet->info.signal_address = (uint64_t)(uintptr_t)info.si_addr;
    wet->info.wait_status = signal;
}

/* ---- one instruction ---- */

enum outcome {
    GOES_ON,
    ENDS,
    FAILS = -1,
};

static int wait_for(const struct fake_task *task, int *status)
{
    return waitpid(task->tid, status, __WALL) < 0 ? -1 : 0;
}

/* A call that takes longer than that waits for another thread. 0 if it does, 1 if it came back. */
static int wait_soon(const struct fake_task *task, int *status)
{
    for (unsigned i = 0; i < 300; i++) {
        if (waitpid(task->tid, status, WNOHANG | __WALL) > 0)
            return 1;
        if (i > 50)
            nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
    return 0;
}

static void forget_step(struct wetdbg *wet)
{
    wet->slots.count = wet->steps.at[wet->steps.count - 1].slot_off;
    wet->steps.count--;
    wet->regs.count--;
    wet->executors.count--;
}

static int end_run(struct wetdbg *wet, uint32_t slot, const struct user_regs_struct *regs)
{
    fake_keep_end(wet);
    PUSH(wet->regs, *regs);
    wet->last_task = slot;
    return ENDS;
}

/* The thread has stopped for a signal; its last instruction, if there was one, is kept already. */
static int take_signal(struct wetdbg *wet, uint32_t slot, int signal, bool is_fault)
{
    struct fake_task *task = &wet->tasks[slot];
    struct user_regs_struct at;
    int status;

    ptrace(PTRACE_GETREGS, task->tid, 0, &task->regs);
    if (!(wet->handled >> signal & 1)) {
        keep_fatal(wet, slot, signal);
        wet->info.signal_time = wet->steps.count + 1;
        end_run(wet, slot, &task->regs);
        close_entry(wet, push_entry(wet, slot, EVQ_FAULT, signal, &task->regs));
        return ENDS;
    }
    keep_room_of_frame(wet, task);
    if (ptrace(PTRACE_SINGLESTEP, task->tid, 0, signal) || wait_for(task, &status) ||
        !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
        return FAILS;
    ptrace(PTRACE_GETREGS, task->tid, 0, &at);
    if (at.rdx != at.rsp + 8)
        return FAILS;
    keep_call_of_handler(wet, slot, signal, is_fault, &task->regs, &at);
    task->regs = at;
    return GOES_ON;
}

/* A system call has come back, or stopped for a signal on its way. */
static int finish_call(struct wetdbg *wet, uint32_t slot, int status)
{
    struct fake_task *task = &wet->tasks[slot];
    struct user_regs_struct after;

    task->is_blocked = false;
    if (!WIFSTOPPED(status)) {
        keep_thread_end(wet, slot);
        return GOES_ON;
    }
    ptrace(PTRACE_GETREGS, task->tid, 0, &after);
    keep_exit(wet, slot, task->call, &task->regs, &after);
    task->regs = after;
    if (WSTOPSIG(status) != SIGTRAP)
        return take_signal(wet, slot, WSTOPSIG(status), false);
    return GOES_ON;
}

/* Keeps what the kernel may be about to write. */
static void keep_buffers(struct wetdbg *wet, const struct user_regs_struct *call)
{
    struct user_regs_struct in = *call;
    struct effect effects[EFFECTS_MAX];

    in.orig_rax = call->rax;
    unsigned count = syscall_effects(wet, &in, INT64_MAX, effects);
    for (unsigned i = 0; i < count; i++)
        fake_keep_undo(wet, effects[i].address, effects[i].size);
    if (call->rax == SYS_munmap || (call->rax == SYS_mmap && call->r10 & MAP_FIXED))
        fake_keep_undo(wet, call->rdi, call->rsi);
}

static void note_handler_stack(struct wetdbg *wet, struct fake_task *task)
{
    const struct user_regs_struct *call = &task->regs;

    if (call->rax == SYS_sigaltstack && call->rdi)
        task->handler_stack_end = peek(wet, call->rdi + offsetof(stack_t, ss_sp)) +
                                  peek(wet, call->rdi + offsetof(stack_t, ss_size));
}

static int step_call(struct wetdbg *wet, uint32_t slot)
{
    struct fake_task *task = &wet->tasks[slot];
    int status;

    keep_output(wet, &task->regs);
    keep_buffers(wet, &task->regs);
    note_handler_stack(wet, task);
    task->call = wet->steps.count;
    fake_channels_enter(wet, slot);
    if (ptrace(PTRACE_SINGLESTEP, task->tid, 0, 0))
        return FAILS;
    int came = task->regs.rax == SYS_exit ? wait_for(task, &status) + 1 : wait_soon(task, &status);
    keep_enter(wet, slot, &task->regs);
    if (came && WIFSTOPPED(status) && status >> 16 == PTRACE_EVENT_CLONE) {
        keep_clone(wet, slot, &task->regs);
        if (ptrace(PTRACE_SINGLESTEP, task->tid, 0, 0) || wait_for(task, &status))
            return FAILS;
    }
    close_enter(wet);
    if (!came) {
        task->is_blocked = true;
        return GOES_ON;
    }
    return finish_call(wet, slot, status);
}

/* Steps one instruction, a rep instruction with all its turns. */
static int step_plain(struct wetdbg *wet, uint32_t slot, struct code *code)
{
    struct fake_task *task = &wet->tasks[slot];
    struct user_regs_struct after;
    int status;

    do {
        if (!native_step(task->tid, code->pc, code->info.klass == INS_CPUID, &status))
            return FAILS;
        if (WSTOPSIG(status) != SIGTRAP) {
            bool is_sent = WSTOPSIG(status) == wet->options.signal;
            forget_step(wet);
            return take_signal(wet, slot, WSTOPSIG(status), !is_sent);
        }
        ptrace(PTRACE_GETREGS, task->tid, 0, &after);
    } while (code->info.flags & INS_IS_REP && after.rip == code->pc);
    end_step(wet, &task->regs, &after);
    task->regs = after;
    return GOES_ON;
}

static unsigned live_count(const struct wetdbg *wet)
{
    unsigned count = 0;
    for (unsigned i = 0; i < FAKE_TASKS_MAX; i++)
        count += wet->tasks[i].is_live;
    return count;
}

static bool is_last_exit(const struct wetdbg *wet, const struct code *code,
                         const struct user_regs_struct *r)
{
    return code->info.klass == INS_SYSCALL &&
           (r->rax == SYS_exit_group || (r->rax == SYS_exit && live_count(wet) == 1));
}

static int step(struct wetdbg *wet, uint32_t slot)
{
    struct fake_task *task = &wet->tasks[slot];
    struct code *code = code_at(wet, task->regs.rip);
    int status;

    if (!code) { /* it cannot be executed either */
        if (ptrace(PTRACE_SINGLESTEP, task->tid, 0, 0) || wait_for(task, &status) ||
            !WIFSTOPPED(status) || WSTOPSIG(status) == SIGTRAP)
            return FAILS;
        return take_signal(wet, slot, WSTOPSIG(status), true);
    }
    begin_step(wet, slot, code, &task->regs);
    if (is_last_exit(wet, code, &task->regs)) {
        keep_enter(wet, slot, &task->regs);
        close_enter(wet);
        wet->info.wait_status = (int)(task->regs.rdi & 0xff) << 8;
        return end_run(wet, slot, &task->regs);
    }
    return code->info.klass == INS_SYSCALL ? step_call(wet, slot) : step_plain(wet, slot, code);
}

/* ---- the run ---- */

static uint64_t next_random(struct wetdbg *wet)
{
    wet->random ^= wet->random << 13;
    wet->random ^= wet->random >> 7;
    return wet->random ^= wet->random << 17;
}

/* Calls that have come back meanwhile; with `wait` until one has. */
static int collect(struct wetdbg *wet, bool wait)
{
    do {
        for (uint32_t slot = 0; slot < FAKE_TASKS_MAX; slot++) {
            struct fake_task *task = &wet->tasks[slot];
            int status;
            if (!task->is_live || !task->is_blocked ||
                waitpid(task->tid, &status, WNOHANG | __WALL) <= 0)
                continue;
            int outcome = finish_call(wet, slot, status);
            if (outcome != GOES_ON)
                return outcome;
            wait = false;
        }
        if (wait)
            nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    } while (wait);
    return GOES_ON;
}

/* Another one that can run, if there is one; FAKE_TASKS_MAX if none can. */
static uint32_t choose(struct wetdbg *wet, uint32_t slot)
{
    uint32_t skip = (uint32_t)(wet->options.turn_steps ? next_random(wet) % FAKE_TASKS_MAX : 0);

    for (uint32_t i = 1; i <= FAKE_TASKS_MAX; i++) {
        uint32_t other = (slot + skip + i) % FAKE_TASKS_MAX;
        if (wet->tasks[other].is_live && !wet->tasks[other].is_blocked)
            return other;
    }
    return FAKE_TASKS_MAX;
}

static unsigned up_to(struct wetdbg *wet, unsigned most)
{
    return most ? 1 + (unsigned)(next_random(wet) % most) : 0;
}

static int run(struct wetdbg *wet, uint64_t max_steps)
{
    unsigned turn = up_to(wet, wet->options.turn_steps);
    unsigned quiet = up_to(wet, wet->options.signal_steps);
    uint32_t slot = 0;
    int outcome = GOES_ON;

    while (outcome == GOES_ON && wet->steps.count < max_steps) {
        const struct fake_task *task = &wet->tasks[slot];
        if (wet->steps.count % 32 == 0 || task->is_blocked)
            outcome = collect(wet, false);
        bool is_over = wet->options.turn_steps && turn-- == 0;
        if (outcome == GOES_ON && (!task->is_live || task->is_blocked || is_over)) {
            turn = up_to(wet, wet->options.turn_steps);
            uint32_t other = choose(wet, slot);
            if (other == FAKE_TASKS_MAX)
                outcome = collect(wet, true);
            else
                slot = other;
            continue;
        }
        if (wet->options.signal && wet->handled >> wet->options.signal & 1 && quiet-- == 0) {
            quiet = up_to(wet, wet->options.signal_steps);
            syscall(SYS_tgkill, wet->pid, task->tid, wet->options.signal);
        }
        if (outcome == GOES_ON)
            outcome = step(wet, slot);
    }
    if (outcome == GOES_ON)
        fprintf(stderr, "fake_wet: more than %llu instructions\n", (unsigned long long)max_steps);
    return outcome == ENDS ? 0 : -1;
}

static void refuse_clone3(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        _exit(126);
}

static void child(char *const argv[], const char *input, bool no_clone3)
{
    int in = open(input ? input : "/dev/null", O_RDONLY), out = open("/dev/null", O_WRONLY);

    dup2(in, 0);
    dup2(out, 1);
    dup2(out, 2);
    personality(ADDR_NO_RANDOMIZE);
    if (no_clone3)
        refuse_clone3();
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    char *const env[] = {NULL};
    execve(argv[0], argv, env);
    _exit(127);
}

/* Notes whose turn it was, and who lived to the end. */
static void finish_threads(struct wetdbg *wet)
{
    for (size_t i = 0; i < wet->threads.count; i++)
        if (!wet->threads.at[i].has_ended)
            wet->threads.at[i].end = wet->steps.count;
    for (size_t i = 0; i < wet->steps.count; i++)
        wet->threads.at[wet->executors.at[i]].instructions++;
    wet->info.threads = wet->threads.count;
}

int fake_wet_run_with(char *const argv[], const char *input, uint64_t max_steps,
                      const struct fake_options *options, struct wetdbg **out)
{
    struct wetdbg *wet = calloc(1, sizeof(*wet));
    char path[64];
    int status;

    wet->options = *options;
    wet->random = options->seed ? options->seed : 1;
    wet->pid = fork();
    wet->info.pid = wet->pid;
    if (wet->pid == 0)
        child(argv, input, options->no_clone3);
    waitpid(wet->pid, &status, 0);
    ptrace(PTRACE_SETOPTIONS, wet->pid, 0, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
    snprintf(path, sizeof(path), "/proc/%d/mem", wet->pid);
    wet->memory = open(path, O_RDONLY | O_CLOEXEC);
    task_add(wet, wet->pid, NULL);
    ptrace(PTRACE_GETREGS, wet->pid, 0, &wet->tasks[0].regs);
    int err = WIFSTOPPED(status) && wet->memory >= 0 ? run(wet, max_steps) : -1;
    kill(wet->pid, SIGKILL);
    while (waitpid(-1, &status, __WALL) > 0)
        ;
    if (err) {
        fprintf(stderr, "fake_wet: cannot run %s\n", argv[0]);
        wetdbg_close(wet);
        return -1;
    }
    wet->info.program = argv[0];
    wet->info.first_time = 1;
    wet->info.last_time = wet->info.instructions = wet->steps.count;
    wet->info.has_end = true;
    finish_threads(wet);
    fake_build_intervals(wet);
    *out = wet;
    return 0;
}

int fake_wet_run(char *const argv[], const char *input, uint64_t max_steps, struct wetdbg **out)
{
    const struct fake_options none = {0};
    return fake_wet_run_with(argv, input, max_steps, &none, out);
}
