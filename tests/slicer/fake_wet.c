/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/slicer/fake_wet.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/err.h"
#include "wet/model/model.h"

/* A growing array; the tests may die loudly. */
#define VEC(type)                                                                                  \
    struct {                                                                                       \
        type *at;                                                                                  \
        size_t count, capacity;                                                                    \
    }
#define PUSH(vec, ...)                                                                             \
    do {                                                                                           \
        if ((vec).count == (vec).capacity) {                                                       \
            (vec).capacity = (vec).capacity ? (vec).capacity * 2 : 1024;                           \
            (vec).at = realloc((vec).at, (vec).capacity * sizeof(*(vec).at));                      \
            if (!(vec).at)                                                                         \
                abort();                                                                           \
        }                                                                                          \
        (vec).at[(vec).count++] = __VA_ARGS__;                                                     \
    } while (0)

struct code {
    uint64_t pc;
    uint8_t bytes[16];
    struct ins_info info;
};

struct undo { /* memory before an instruction */
    wet_time time;
    uint64_t address;
    uint32_t size;
    size_t off; /* into undo_bytes */
};

struct region {
    uint64_t start, end;
    int prot;
    uint8_t *bytes; /* at the end */
    char name[256];
};

struct fake_event {
    wet_time time;
    size_t off; /* of its entry, in u64 of event_words */
};

struct wet {
    pid_t pid;
    int memory;
    struct wet_info info;
    struct mdl_model *model;
    VEC(struct code *) code; /* hash by pc */
    VEC(struct fake_step) steps;
    VEC(struct user_regs_struct) regs;
    VEC(uint64_t) slots;
    VEC(struct undo) undo;
    VEC(uint8_t) undo_bytes;
    VEC(struct fake_write) writes;
    VEC(struct wet_output) outputs;
    VEC(struct fake_event) fake_events;
    VEC(uint64_t) event_words;
    VEC(struct region) regions;
    VEC(struct wet_mapping) mappings;
    VEC(struct wet_node) nodes;
    VEC(struct wet_exec) execs;
    VEC(uint64_t) exec_slots;
    VEC(struct wet_event) events;
    VEC(struct wet_interval) intervals;
    uint32_t node_heads[1 << 16]; /* index + 1, by pc and count */
    VEC(size_t) first_execs, first_events, first_slots;
};

struct wet_state {
    struct wet *wet;
    wet_time time;
    struct evq_regs regs;
};

const struct fake_step *fake_step(const struct wet *wet, wet_time time)
{
    return &wet->steps.at[time - 1];
}

const uint64_t *fake_slots(const struct wet *wet)
{
    return wet->slots.at;
}

const struct fake_write *fake_writes(const struct wet *wet, size_t *count)
{
    *count = wet->writes.count;
    return wet->writes.at;
}

/* ---- running ---- */

static struct evq_regs queue_regs(const struct user_regs_struct *regs)
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

static struct code *code_at(struct wet *wet, uint64_t pc)
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

static void keep_undo(struct wet *wet, uint64_t address, uint64_t size)
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

/* Slots of an instruction that is about to run; those of a rep instruction are finished after. */
static void begin_step(struct wet *wet, const struct code *code, const struct user_regs_struct *r)
{
    struct fake_step step = {
        .info = &code->info, .pc = code->pc, .rsp = r->rsp, .slot_off = wet->slots.count};
    PUSH(wet->steps, step);
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
        keep_undo(wet, address, size);
    }
}

static void end_step(struct wet *wet, const struct user_regs_struct *before,
                     const struct user_regs_struct *after)
{
    const struct ins_info *info = wet->steps.at[wet->steps.count - 1].info;

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

static unsigned syscall_effects(const struct user_regs_struct *in, uint64_t result,
                                struct effect out[3])
{
    bool failed = result > -4096ULL;
    unsigned n = 0;

    switch (in->orig_rax) {
    case SYS_read:
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

static void push_words(struct wet *wet, const void *bytes, size_t size)
{
    for (size_t off = 0; off < size; off += 8) {
        uint64_t word = 0;
        memcpy(&word, (const char *)bytes + off, size - off < 8 ? size - off : 8);
        PUSH(wet->event_words, word);
    }
}

static void push_op(struct wet *wet, uint32_t op, uint64_t a, uint64_t b, const void *payload,
                    size_t size)
{
    struct evq_op header = {
        .bytes = (uint32_t)(sizeof(header) + (size + 7) / 8 * 8), .op = op, .a = a, .b = b};
    push_words(wet, &header, sizeof(header));
    push_words(wet, payload, size);
}

static size_t push_entry(struct wet *wet, uint16_t kind, int32_t number,
                         const struct user_regs_struct *regs)
{
    struct fake_event event = {wet->steps.count, wet->event_words.count};
    struct evq_entry entry = {.kind = kind, .number = number, .flags = EVQ_FLAG_REGS};
    struct evq_regs queue = queue_regs(regs);

    PUSH(wet->fake_events, event);
    push_words(wet, &entry, sizeof(entry));
    push_words(wet, &queue, sizeof(queue));
    return event.off;
}

static void close_entry(struct wet *wet, size_t off)
{
    ((struct evq_entry *)(wet->event_words.at + off))->bytes =
        (uint32_t)((wet->event_words.count - off) * 8);
}

static void keep_syscall(struct wet *wet, const struct user_regs_struct *before,
                         const struct user_regs_struct *after)
{
    struct user_regs_struct in = *before;
    struct effect effects[3];
    struct evq_regs queue = queue_regs(after);
    int32_t number = (int32_t)before->rax;

    in.orig_rax = before->rax;
    close_entry(wet, push_entry(wet, EVQ_SYSCALL_ENTER, number, &in));
    size_t off = push_entry(wet, EVQ_SYSCALL_EXIT, number, after);
    unsigned count = syscall_effects(&in, after->rax, effects);
    for (unsigned i = 0; i < count; i++) {
        uint8_t *bytes = calloc(1, effects[i].size);
        if (pread(wet->memory, bytes, effects[i].size, (off_t)effects[i].address) < 0)
            abort();
        push_op(wet, EVQ_OP_WRITE, effects[i].address, effects[i].size, bytes, effects[i].size);
        free(bytes);
        struct fake_write write = {wet->steps.count, effects[i].address, effects[i].real};
        PUSH(wet->writes, write);
    }
    if (number == SYS_mmap && after->rax < -4096ULL) {
        push_op(wet, EVQ_OP_MAP, after->rax, (before->rsi + 4095) & ~4095ULL, NULL, 0);
        struct fake_write write = {wet->steps.count, after->rax, (before->rsi + 4095) & ~4095ULL};
        PUSH(wet->writes, write);
    }
    push_op(wet, EVQ_OP_REGS, 0, 0, &queue, sizeof(queue));
    close_entry(wet, off);
}

static void keep_output(struct wet *wet, const struct user_regs_struct *r)
{
    uint64_t offset = 0;

    if (r->rax != SYS_write)
        return;
    for (size_t i = 0; i < wet->outputs.count; i++)
        if (wet->outputs.at[i].fd == (int)r->rdi)
            offset = wet->outputs.at[i].offset + wet->outputs.at[i].size;
    struct wet_output output = {(int)r->rdi, wet->steps.count, offset, r->rsi, r->rdx};
    PUSH(wet->outputs, output);
}

/* ---- the end of the run ---- */

static void take_picture(struct wet *wet)
{
    char path[64], line[512];

    snprintf(path, sizeof(path), "/proc/%d/maps", wet->pid);
    FILE *maps = fopen(path, "r");
    wet->regions.count = wet->mappings.count = 0;
    while (maps && fgets(line, sizeof(line), maps)) {
        struct region region = {0};
        char prot[8];
        unsigned long long start, end, off;
        if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %255s", &start, &end, prot, &off,
                   region.name) < 4)
            continue;
        region.start = start;
        region.end = end;
        region.prot = (prot[0] == 'r' ? PROT_READ : 0) | (prot[1] == 'w' ? PROT_WRITE : 0) |
                      (prot[2] == 'x' ? PROT_EXEC : 0);
        region.bytes = calloc(1, end - start);
        if (pread(wet->memory, region.bytes, end - start, (off_t)start) < 0)
            region.prot = 0;
        PUSH(wet->regions, region);
    }
    if (maps)
        fclose(maps);
    for (size_t i = 0; i < wet->regions.count; i++) {
        struct region *region = &wet->regions.at[i];
        struct wet_mapping mapping = {region->start, region->end, region->prot, region->name};
        PUSH(wet->mappings, mapping);
    }
}

static void add_module(struct wet *wet, const char *name)
{
    struct mdl_segment segments[16];
    struct mdl_module_input input = {.path = name,
                                     .file = MDL_IMAGE_NONE,
                                     .debug = MDL_IMAGE_NONE,
                                     .alt = MDL_IMAGE_NONE,
                                     .segments = segments};
    char path[64], line[512];

    snprintf(path, sizeof(path), "/proc/%d/maps", wet->pid);
    FILE *maps = fopen(path, "r");
    while (maps && fgets(line, sizeof(line), maps) && input.segment_count < 16) {
        unsigned long long start, end, off;
        char prot[8], file[256] = "";
        if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %255s", &start, &end, prot, &off, file) < 5 ||
            strcmp(file, name) != 0)
            continue;
        segments[input.segment_count++] =
            (struct mdl_segment){start, end - start, off,
                                 (uint32_t)(prot[2] == 'x' ? PROT_READ | PROT_EXEC : PROT_READ)};
    }
    if (maps)
        fclose(maps);
    input.file.fd = open(name, O_RDONLY | O_CLOEXEC);
    if (input.file.fd >= 0 && input.segment_count)
        mdl_add_module(wet->model, &input, NULL);
    if (input.file.fd >= 0)
        close(input.file.fd);
}

static void build_model(struct wet *wet)
{
    wet->model = mdl_new();
    for (size_t i = 0; i < wet->regions.count; i++) {
        bool seen = wet->regions.at[i].name[0] != '/';
        for (size_t k = 0; k < i; k++)
            seen |= strcmp(wet->regions.at[k].name, wet->regions.at[i].name) == 0;
        if (!seen)
            add_module(wet, wet->regions.at[i].name);
    }
}

/* ---- nodes and intervals ---- */

static bool ends_node(const struct ins_info *info)
{
    return info->klass != INS_PLAIN && info->klass < INS_CPUID;
}

static uint32_t slot_words(const struct ins_info *info)
{
    uint32_t words = info->mem_count;
    for (unsigned m = 0; m < info->mem_count; m++)
        if (info->mems[m].flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64))
            words += 16;
    return words + (info->mem_count && info->mems[0].flags & INS_MEM_REP ? 3 : 0);
}

static uint32_t find_node(struct wet *wet, size_t first, uint32_t count)
{
    uint32_t *heads = wet->node_heads;

    uint64_t pc = wet->steps.at[first].pc;
    uint32_t at = (uint32_t)((pc * 64 + count) * 0x9e3779b97f4a7c15u >> 48);
    for (; heads[at]; at = (at + 1) & 0xffff) {
        const struct wet_node *node = &wet->nodes.at[heads[at] - 1];
        if (node->pc == pc && node->statement_count == count)
            return node->id;
    }
    struct wet_statement *statements = calloc(count, sizeof(*statements));
    struct wet_node node = {.id = (uint32_t)wet->nodes.count,
                            .pc = pc,
                            .statement_count = count,
                            .statements = statements};
    for (uint32_t s = 0; s < count; s++) {
        const struct fake_step *step = &wet->steps.at[first + s];
        statements[s] = (struct wet_statement){.info = step->info,
                                               .pc = step->pc,
                                               .slot = (uint16_t)node.slot_count,
                                               .slot_count = slot_words(step->info)};
        node.slot_count += statements[s].slot_count;
    }
    PUSH(wet->nodes, node);
    heads[at] = (uint32_t)wet->nodes.count;
    return node.id;
}

static void close_interval(struct wet *wet, struct wet_interval *interval, size_t end)
{
    interval->instructions = end + 1 - interval->first_time;
    interval->exec_count = wet->execs.count - wet->first_execs.at[interval->index];
    interval->event_count = wet->events.count - wet->first_events.at[interval->index];
    PUSH(wet->intervals, *interval);
}

static void open_interval(struct wet *wet, struct wet_interval *interval, size_t at)
{
    *interval = (struct wet_interval){.index = wet->intervals.count, .first_time = at + 1};
    PUSH(wet->first_execs, wet->execs.count);
    PUSH(wet->first_events, wet->events.count);
    PUSH(wet->first_slots, wet->exec_slots.count);
}

static void build_intervals(struct wet *wet)
{
    struct wet_interval interval;
    size_t event = 0;

    open_interval(wet, &interval, 0);
    for (size_t i = 0; i < wet->steps.count;) {
        uint32_t count = 1;
        while (count < 64 && i + count < wet->steps.count &&
               !ends_node(wet->steps.at[i + count - 1].info))
            count++;
        if (i + 1 - interval.first_time >= FAKE_INTERVAL) {
            close_interval(wet, &interval, i);
            open_interval(wet, &interval, i);
        }
        struct wet_exec exec = {
            .node = find_node(wet, i, count),
            .time_off = (uint32_t)(i + 1 - interval.first_time),
            .slot_off = (uint32_t)(wet->exec_slots.count - wet->first_slots.at[interval.index])};
        const struct wet_node *node = &wet->nodes.at[exec.node];
        for (uint32_t k = 0; k < node->slot_count; k++)
            PUSH(wet->exec_slots, wet->slots.at[wet->steps.at[i].slot_off + k]);
        for (uint32_t s = 0; s < count; s++) {
            wet->steps.at[i + s].node = exec.node;
            wet->steps.at[i + s].statement = s;
        }
        PUSH(wet->execs, exec);
        i += count;
        for (; event < wet->fake_events.count && wet->fake_events.at[event].time <= i; event++) {
            struct wet_event seen = {
                .time = wet->fake_events.at[event].time,
                .exec = (uint32_t)(wet->execs.count - 1 - wet->first_execs.at[interval.index]),
                .entry = (const struct evq_entry *)(wet->event_words.at +
                                                    wet->fake_events.at[event].off)};
            PUSH(wet->events, seen);
        }
    }
    close_interval(wet, &interval, wet->steps.count);
    for (size_t k = 0; k < wet->intervals.count; k++) {
        wet->intervals.at[k].execs = wet->execs.at + wet->first_execs.at[k];
        wet->intervals.at[k].events = wet->events.at + wet->first_events.at[k];
        wet->intervals.at[k].slots = wet->exec_slots.at + wet->first_slots.at[k];
    }
}

/* ---- the run ---- */

static void child(char *const argv[], const char *input)
{
    int in = open(input ? input : "/dev/null", O_RDONLY), out = open("/dev/null", O_WRONLY);

    dup2(in, 0);
    dup2(out, 1);
    dup2(out, 2);
    personality(ADDR_NO_RANDOMIZE);
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    char *const env[] = {NULL};
    execve(argv[0], argv, env);
    _exit(127);
}

/* Steps one instruction, all turns of a rep instruction. The wait status. */
static int step(struct wet *wet, const struct code *code, struct user_regs_struct *after)
{
    int status, signal = 0;

    do {
        if (ptrace(PTRACE_SINGLESTEP, wet->pid, 0, signal) || waitpid(wet->pid, &status, 0) < 0)
            return -1;
        if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
            return status;
        ptrace(PTRACE_GETREGS, wet->pid, 0, after);
    } while (code->info.flags & INS_IS_REP && after->rip == code->pc);
    return status;
}

static void keep_signal(struct wet *wet, int signal)
{
    siginfo_t info = {0};

    ptrace(PTRACE_GETSIGINFO, wet->pid, 0, &info);
    wet->info.signal = signal;
    wet->info.signal_code = info.si_code;
    wet->info.signal_address = (uint64_t)(uintptr_t)info.si_addr;
    wet->info.wait_status = signal;
}

static bool is_exit(const struct code *code, const struct user_regs_struct *r)
{
    return code->info.klass == INS_SYSCALL && (r->rax == SYS_exit_group || r->rax == SYS_exit);
}

static int run(struct wet *wet, uint64_t max_steps)
{
    struct user_regs_struct before, after = {0};

    ptrace(PTRACE_GETREGS, wet->pid, 0, &before);
    while (wet->steps.count < max_steps) {
        struct code *code = code_at(wet, before.rip);
        if (!code || is_exit(code, &before)) {
            take_picture(wet);
            build_model(wet);
        }
        if (code) {
            begin_step(wet, code, &before);
            if (code->info.klass == INS_SYSCALL)
                keep_output(wet, &before);
        }
        if (code && is_exit(code, &before)) {
            before.orig_rax = before.rax;
            close_entry(wet, push_entry(wet, EVQ_SYSCALL_ENTER, (int32_t)before.rax, &before));
            wet->info.wait_status = (int)(before.rdi & 0xff) << 8;
            PUSH(wet->regs, before);
            return 0;
        }
        int status = step(wet, code ? code : &(struct code){0}, &after);
        if (WIFSTOPPED(status) && WSTOPSIG(status) != SIGTRAP) {
            bool completed = code && code->info.klass == INS_SYSCALL;
            if (!wet->regions.count) {
                take_picture(wet);
                build_model(wet);
            }
            keep_signal(wet, WSTOPSIG(status));
            ptrace(PTRACE_GETREGS, wet->pid, 0, &after);
            if (completed)
                keep_syscall(wet, &before, &after);
            else if (code) {
                wet->steps.count--;
                wet->regs.count--;
            }
            wet->info.signal_time = wet->steps.count + 1;
            PUSH(wet->regs, after);
            close_entry(wet, push_entry(wet, EVQ_FAULT, wet->info.signal, &after));
            return 0;
        }
        if (!WIFSTOPPED(status))
            return -1;
        end_step(wet, &before, &after);
        if (code->info.klass == INS_SYSCALL)
            keep_syscall(wet, &before, &after);
        before = after;
    }
    fprintf(stderr, "fake_wet: more than %llu instructions\n", (unsigned long long)max_steps);
    return -1;
}

int fake_wet_run(char *const argv[], const char *input, uint64_t max_steps, struct wet **out)
{
    struct wet *wet = calloc(1, sizeof(*wet));
    char path[64];
    int status;

    wet->pid = fork();
    if (wet->pid == 0)
        child(argv, input);
    waitpid(wet->pid, &status, 0);
    snprintf(path, sizeof(path), "/proc/%d/mem", wet->pid);
    wet->memory = open(path, O_RDONLY | O_CLOEXEC);
    int error = WIFSTOPPED(status) && wet->memory >= 0 ? run(wet, max_steps) : -1;
    kill(wet->pid, SIGKILL);
    waitpid(wet->pid, &status, 0);
    if (!error) {
        wet->info.program = argv[0];
        wet->info.instructions = wet->steps.count;
        build_intervals(wet);
        wet->info.intervals = wet->intervals.count;
    } else {
        fprintf(stderr, "fake_wet: cannot run %s\n", argv[0]);
        wet_close(wet);
        return -1;
    }
    *out = wet;
    return 0;
}

void wet_close(struct wet *wet)
{
    if (!wet)
        return;
    for (size_t i = 0; i < wet->code.count; i++)
        free(wet->code.at[i]);
    for (size_t i = 0; i < wet->nodes.count; i++)
        free((void *)(uintptr_t)wet->nodes.at[i].statements);
    for (size_t i = 0; i < wet->regions.count; i++)
        free(wet->regions.at[i].bytes);
    void *all[] = {
        wet->code.at,      wet->steps.at,       wet->regs.at,         wet->slots.at,
        wet->undo.at,      wet->undo_bytes.at,  wet->writes.at,       wet->outputs.at,
        wet->regions.at,   wet->fake_events.at, wet->event_words.at,  wet->mappings.at,
        wet->nodes.at,     wet->execs.at,       wet->exec_slots.at,   wet->events.at,
        wet->intervals.at, wet->first_execs.at, wet->first_events.at, wet->first_slots.at};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        free(all[i]);
    mdl_free(wet->model);
    if (wet->memory >= 0)
        close(wet->memory);
    free(wet);
}

/* ---- queries ---- */

const struct wet_info *wet_get_info(const struct wet *wet)
{
    return &wet->info;
}

struct mdl_model *wet_get_model(struct wet *wet)
{
    return wet->model;
}

const struct wet_node *wet_get_node(struct wet *wet, uint32_t id)
{
    return id < wet->nodes.count ? &wet->nodes.at[id] : NULL;
}

uint32_t wet_node_limit(const struct wet *wet)
{
    return (uint32_t)wet->nodes.count;
}

int wet_interval_get(struct wet *wet, uint64_t k, const struct wet_interval **out)
{
    *out = &wet->intervals.at[k];
    return 0;
}

void wet_interval_put(struct wet *wet, const struct wet_interval *interval)
{
    (void)wet;
    (void)interval;
}

uint64_t wet_interval_at(const struct wet *wet, wet_time t)
{
    uint64_t k = 0;
    while (k + 1 < wet->intervals.count && wet->intervals.at[k + 1].first_time <= t)
        k++;
    return k;
}

bool wet_interval_may_write(const struct wet *wet, uint64_t k, uint64_t address, uint64_t size)
{
    const struct wet_interval *interval = &wet->intervals.at[k];

    address &= ~UINT64_C(255);
    size = (size + 511) & ~UINT64_C(255);
    for (size_t i = 0; i < wet->undo.count; i++)
        if (wet->undo.at[i].time >= interval->first_time &&
            wet->undo.at[i].time < interval->first_time + interval->instructions &&
            wet->undo.at[i].address < address + size &&
            wet->undo.at[i].address + wet->undo.at[i].size > address)
            return true;
    for (size_t i = 0; i < wet->writes.count; i++)
        if (wet->writes.at[i].time >= interval->first_time &&
            wet->writes.at[i].time < interval->first_time + interval->instructions &&
            wet->writes.at[i].address < address + size &&
            wet->writes.at[i].address + wet->writes.at[i].size > address)
            return true;
    return false;
}

int wet_each_instance(struct wet *wet, const uint64_t *pcs, size_t pc_count, wet_time from,
                      wet_time to, wet_instance_fn fn, void *arg)
{
    int result = 0;

    for (wet_time t = from ? from : 1; t <= to && t <= wet->steps.count && !result; t++)
        for (size_t i = 0; i < pc_count; i++)
            if (pcs[i] == wet->steps.at[t - 1].pc) {
                result = fn(arg, t, pcs[i]);
                break;
            }
    return result;
}

static int count_one(void *arg, wet_time time, uint64_t pc)
{
    (void)time;
    (void)pc;
    ++*(uint64_t *)arg;
    return 0;
}

int wet_count_instances(struct wet *wet, const uint64_t *pcs, size_t pc_count, uint64_t *count)
{
    *count = 0;
    return wet_each_instance(wet, pcs, pc_count, 1, wet->steps.count, count_one, count);
}

struct nth {
    uint64_t left;
    wet_time time;
};

static int find_nth(void *arg, wet_time time, uint64_t pc)
{
    struct nth *nth = arg;
    (void)pc;
    nth->time = time;
    return --nth->left == 0;
}

int wet_find_instance(struct wet *wet, const uint64_t *pcs, size_t pc_count, int64_t k,
                      wet_time *time)
{
    uint64_t count;

    wet_count_instances(wet, pcs, pc_count, &count);
    int64_t rank = k < 0 ? (int64_t)count + k + 1 : k;
    if (rank < 1 || rank > (int64_t)count)
        return -WD_ERR_NOT_FOUND;
    struct nth nth = {(uint64_t)rank, 0};
    wet_each_instance(wet, pcs, pc_count, 1, wet->steps.count, find_nth, &nth);
    *time = nth.time;
    return 0;
}

int wet_state_open(struct wet *wet, wet_time t, struct wet_state **out)
{
    struct wet_state *state = malloc(sizeof(*state));

    *state = (struct wet_state){wet, t, queue_regs(&wet->regs.at[t - 1])};
    *out = state;
    return 0;
}

void wet_state_close(struct wet_state *state)
{
    free(state);
}

const struct evq_regs *wet_state_regs(const struct wet_state *state)
{
    return &state->regs;
}

uint32_t wet_state_task(const struct wet_state *state)
{
    (void)state;
    return 0;
}

static int read_byte(const struct wet_state *state, uint64_t address, uint8_t *byte)
{
    const struct wet *wet = state->wet;

    for (size_t i = 0; i < wet->regions.count; i++)
        if (address >= wet->regions.at[i].start && address < wet->regions.at[i].end &&
            wet->regions.at[i].prot) {
            *byte = wet->regions.at[i].bytes[address - wet->regions.at[i].start];
            for (size_t u = wet->undo.count; u-- > 0 && wet->undo.at[u].time >= state->time;)
                if (address - wet->undo.at[u].address < wet->undo.at[u].size)
                    *byte =
                        wet->undo_bytes.at[wet->undo.at[u].off + address - wet->undo.at[u].address];
            return 0;
        }
    return wd_fail(-EFAULT, "nothing is mapped at 0x%llx", (unsigned long long)address);
}

int wet_state_read(struct wet_state *state, uint64_t address, void *bytes, size_t size)
{
    int error = 0;
    for (size_t i = 0; i < size && !error; i++)
        error = read_byte(state, address + i, (uint8_t *)bytes + i);
    return error;
}

int wet_state_mappings(struct wet_state *state, const struct wet_mapping **list, size_t *count)
{
    *list = state->wet->mappings.at;
    *count = state->wet->mappings.count;
    return 0;
}

const struct wet_output *wet_outputs(const struct wet *wet, size_t *count)
{
    *count = wet->outputs.count;
    return wet->outputs.at;
}

int wet_each_event(struct wet *wet, int (*fn)(void *arg, const struct wet_event *event), void *arg)
{
    int result = 0;
    for (size_t i = 0; i < wet->events.count && !result; i++)
        result = fn(arg, &wet->events.at[i]);
    return result;
}

const uint8_t *wet_state_xstate(const struct wet_state *state, size_t *size_bytes)
{
    (void)state;
    *size_bytes = 0;
    return NULL;
}
