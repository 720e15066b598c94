/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The crash as a criterion: what was wrong when a signal ended the run.
 *
 * It is the address and not the data moved that a faulting access got wrong; of a division the
 * divisor; of a jump into nowhere what the jump read. Where an instruction was not to be reached
 * at all (ud2, abort) it is the condition that guards it. A stack overflow is the chain of calls.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "slicer/criteria/criterion.h"
#include "slicer/state_view.h"
#include <wetdbg/errors.h>

struct crash {
    struct wetdbg_criterion *criterion;
    const struct wetdbg_info *info;
    struct wetdbg_state *state; /* at info->signal_time */
    const struct evq_regs *regs;
    uint64_t pc;
    struct ins_info ins; /* at pc, if has_ins */
    bool has_ins;
};

static void describe(struct crash *crash, uint64_t pc, const char *what)
{
    char place[300];
    const char *name = sigabbrev_np(crash->info->signal);

    slc_describe_pc(crash->criterion->wet, pc, place, sizeof(place));
    snprintf(crash->criterion->description, sizeof(crash->criterion->description),
             "SIG%s at %s: %s", name ? name : "?", place, what);
}

/* Adds a seed for the faulting instruction itself. */
static struct slc_seed *add_fault(struct crash *crash)
{
    struct slc_seed *seed =
        slc_criterion_add(crash->criterion, crash->info->signal_time, crash->pc);

    if (seed) {
        seed->is_fault = true;
        seed->task = wetdbg_state_task(crash->state);
    }
    return seed;
}

static int guard_of_fault(struct crash *crash, const char *what)
{
    struct slc_seed *seed = add_fault(crash);

    if (!seed)
        return -ENOMEM;
    seed->force = SLC_FORCE_GUARD;
    describe(crash, crash->pc, what);
    return 0;
}

/* ---- memory accesses ---- */

static bool is_executable(struct crash *crash)
{
    const struct wetdbg_mapping *mappings;
    size_t count;

    if (wetdbg_state_mappings(crash->state, &mappings, &count))
        return crash->has_ins;
    for (size_t i = 0; i < count; i++)
        if (crash->pc >= mappings[i].start && crash->pc < mappings[i].end)
            return mappings[i].prot & PROT_EXEC;
    return false;
}

static int bad_jump(struct crash *crash)
{
    wetdbg_time time = crash->info->signal_time - 1;
    char what[100];
    uint64_t pc;
    uint32_t task;

    if (time == 0)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "the program's first instruction faulted");
    int err = slc_state_at(crash->criterion->wet, time, &pc, &task);
    if (err)
        return err;
    struct slc_seed *seed = slc_criterion_add(crash->criterion, time, pc);
    if (!seed)
        return -ENOMEM;
    seed->task = task;
    seed->uses = SLC_USES_BRANCH;
    snprintf(what, sizeof(what), "where it went, 0x%llx, is no code",
             (unsigned long long)crash->pc);
    describe(crash, pc, what);
    return 0;
}

static bool is_canonical(uint64_t address)
{
    return (uint64_t)((int64_t)(address << 16) >> 16) == address;
}

static bool may_have_faulted(const struct crash *crash, const struct ins_mem *mem)
{
    uint64_t address = slc_operand_address(crash->regs, mem), size = mem->size_bytes;

    if (mem->flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64))
        return true;
    if (mem->flags & INS_MEM_REP) /* stopped at the element that faulted */
        size *= 2;
    if (crash->info->signal_code == SI_KERNEL) /* a general protection has no address */
        return !is_canonical(address) || (size >= 16 && address % 16);
    return crash->info->signal_address - address < size;
}

#define STACK_REACH_BYTES (UINT64_C(64) << 10)

/* Whether the stack pointer itself led to the fault, or a frame pointer below all that is
 * mapped. */
static bool is_stack_overflow(const struct crash *crash, const struct ins_mem *mem)
{
    uint64_t rsp = crash->regs->r[EVQ_RSP], at = crash->info->signal_address;
    uint8_t byte;

    if (crash->info->signal_code == SI_KERNEL || wetdbg_state_read(crash->state, at, &byte, 1) == 0)
        return false;
    if (mem->flags & INS_MEM_STACK)
        return true;
    return mem->base == INS_RBP && at - rsp + STACK_REACH_BYTES < 2 * STACK_REACH_BYTES &&
           wetdbg_state_read(crash->state, rsp, &byte, 1) != 0;
}

static void name_registers(const struct crash *crash, const struct ins_regset *set, char *text,
                           size_t size)
{
    static const char *const names[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                        "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
    size_t used = 0;

    text[0] = 0;
    for (unsigned gpr = 0; gpr < INS_GPR_COUNT && used < size; gpr++)
        if (ins_regset_has(set, INS_LOC_GPR + INS_GPR_PIECES * gpr))
            used +=
                (size_t)snprintf(text + used, size - used, "%s%s = 0x%llx", used ? ", " : "",
                                 names[gpr], (unsigned long long)slc_gpr_value(crash->regs, gpr));
}

static void describe_access(struct crash *crash, const struct ins_regset *uses)
{
    char what[200], registers[120];

    name_registers(crash, uses, registers, sizeof(registers));
    if (crash->info->signal_code == SI_KERNEL)
        snprintf(what, sizeof(what), "the address that it used (%s)", registers);
    else
        snprintf(what, sizeof(what), "the address 0x%llx%s%s%s",
                 (unsigned long long)crash->info->signal_address, registers[0] ? " (" : "",
                 registers, registers[0] ? ")" : "");
    describe(crash, crash->pc, what);
}

static int bad_access(struct crash *crash)
{
    unsigned mask = 0;

    for (unsigned m = 0; m < crash->ins.mem_count; m++)
        if (may_have_faulted(crash, &crash->ins.mems[m]))
            mask |= 1u << m;
    if (mask == 0)
        mask = (1u << crash->ins.mem_count) - 1;
    struct slc_seed *seed = add_fault(crash);
    if (!seed)
        return -ENOMEM;
    struct ins_regset uses = {0};
    for (unsigned m = 0; m < crash->ins.mem_count; m++) {
        if (!(mask & 1u << m))
            continue;
        struct ins_regset address = ins_addr_uses(&crash->ins, m);
        ins_regset_join(&uses, &address);
        if (crash->ins.mems[m].flags & INS_MEM_REP)
            ins_regset_add_gpr(&seed->regs[WETDBG_EDGE_VALUE], INS_RCX, 0, 8);
        if (is_stack_overflow(crash, &crash->ins.mems[m])) {
            seed->force = SLC_FORCE_CHAIN;
            describe(crash, crash->pc, "the stack is full: the chain of calls");
            return 0;
        }
    }
    seed->regs[WETDBG_EDGE_ADDRESS] = uses;
    if (ins_regset_is_empty(&uses))
        seed->force = SLC_FORCE_GUARD;
    describe_access(crash, &uses);
    return 0;
}

/* ---- divisions ---- */

static bool divisor_is_zero(struct crash *crash, const struct ins_regset *divisor)
{
    uint8_t bytes[8] = {0}, any = 0;

    if (crash->ins.mem_count) {
        const struct ins_mem *mem = &crash->ins.mems[0];
        size_t size = mem->size_bytes < sizeof(bytes) ? mem->size_bytes : sizeof(bytes);
        if (wetdbg_state_read(crash->state, slc_operand_address(crash->regs, mem), bytes, size))
            return true;
        for (size_t i = 0; i < size; i++)
            any |= bytes[i];
        return any == 0;
    }
    for (unsigned gpr = 0; gpr < INS_GPR_COUNT; gpr++)
        for (unsigned p = 0; p < INS_GPR_PIECES; p++) {
            static const uint64_t pieces[] = {0xff, 0xff00, ~UINT64_C(0xffff)};
            uint64_t value = slc_gpr_value(crash->regs, gpr) & pieces[p];
            if (ins_regset_has(divisor, INS_LOC_GPR + INS_GPR_PIECES * gpr + p) && value &&
                (p < 2 || (uint32_t)value))
                return false;
        }
    return true;
}

static int bad_division(struct crash *crash)
{
    struct ins_regset all = {0}, dividend = {0};
    struct slc_seed *seed = add_fault(crash);
    int err = 0;

    if (!seed)
        return -ENOMEM;
    for (unsigned f = 0; f < crash->ins.flow_count; f++)
        ins_regset_join(&all, &crash->ins.flows[f].value_uses);
    ins_regset_add_gpr(&dividend, INS_RAX, 0, 8);
    ins_regset_add_gpr(&dividend, INS_RDX, 0, 8);
    struct ins_regset divisor = all;
    ins_regset_remove(&divisor, &dividend);
    bool is_whole = crash->ins.mem_count == 0 && ins_regset_is_empty(&divisor);
    bool is_zero = !is_whole && divisor_is_zero(crash, &divisor);
    seed->regs[WETDBG_EDGE_VALUE] = is_zero ? divisor : all;
    for (unsigned m = 0; m < crash->ins.mem_count && !err; m++) {
        seed->regs[WETDBG_EDGE_ADDRESS] = ins_addr_uses(&crash->ins, m);
        err = slc_seed_add_place(seed, slc_operand_address(crash->regs, &crash->ins.mems[m]),
                                 crash->ins.mems[m].size_bytes, WETDBG_EDGE_VALUE);
    }
    describe(crash, crash->pc, is_zero ? "the divisor, 0" : "the operands");
    return err;
}

/* ---- signals that the program sends to itself ---- */

#define FRAMES_MAX 64 /* from the signal to the program's own code */

static int is_kill(void *arg, const struct wet_event *event)
{
    const struct crash *crash = arg;
    int number = event->entry->number;

    return event->entry->kind == EVQ_SYSCALL_ENTER && event->time + 1 == crash->info->signal_time &&
           (number == SYS_tgkill || number == SYS_tkill || number == SYS_kill ||
            number == SYS_rt_sigqueueinfo || number == SYS_rt_tgsigqueueinfo);
}

/* Whether code is of the libraries that all programs share, which find out what they were made to
 * do. */
static bool is_library_code(struct wetdbg_model *model, uint64_t pc)
{
    static const char *const modules[] = {"libc.so", "libc-", "libpthread", "ld-linux",
                                          "libstdc++"};
    struct wetdbg_module module;

    if (wetdbg_module_at(model, pc, &module))
        return false;
    for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++)
        if (strncmp(module.name, modules[i], strlen(modules[i])) == 0)
            return true;
    return false;
}

/* Whether a function only brings about the end that whoever called it decided on. __chk_fail() is
 * none of them: memcpy() and kin jump there by the very branch that decides, which leaves no frame
 * of theirs. */
static bool is_messenger(struct wetdbg_model *model, uint64_t pc)
{
    static const char *const functions[] = {
        "abort",
        "raise",
        "gsignal",
        "kill",
        "pthread_kill",
        "__assert_fail",
        "__assert",
        "__libc_message",
        "__fortify_fail",
        "__stack_chk_fail",
        "__libc_fatal",
        "malloc_printerr",
        "__assert_perror_fail",
        "__assert_fail_base",
        "__pthread_kill_implementation",
        "__pthread_kill_internal",
    };
    struct wetdbg_function function;

    if (wetdbg_function_at(model, pc, &function))
        return false;
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (strcmp(function.name, functions[i]) == 0)
            return true;
    return false;
}

/* The most recent call before `before` whose return address is `target`, kept at `slot`. */
static int find_call(struct wetdbg *wet, wetdbg_time before, uint64_t target, uint64_t slot,
                     wetdbg_time *time, uint64_t *pc)
{
    for (uint64_t k = wetdbg_interval_at(wet, before) + 1; k-- > 0;) {
        const struct wet_interval *interval;
        int err = wet_interval_get(wet, k, &interval);
        if (err)
            return err;
        for (size_t e = interval->exec_count; e-- > 0;) {
            const struct wet_exec *exec = &interval->execs[e];
            const struct wet_node *node = wet_get_node(wet, exec->node);
            const struct wet_statement *last =
                node ? &node->statements[node->statement_count - 1] : NULL;
            if (!last ||
                (last->info->klass != INS_CALL && last->info->klass != INS_CALL_INDIRECT) ||
                last->pc + last->info->length != target || last->info->mem_count == 0)
                continue;
            unsigned operand = last->info->mem_count - 1u; /* the implicit one */
            *time = interval->first_time + exec->time_off + node->statement_count - 1;
            *pc = last->pc;
            if (*time < before && interval->slots[exec->slot_off + last->slot + operand] == slot) {
                wet_interval_put(wet, interval);
                return 0;
            }
        }
        wet_interval_put(wet, interval);
    }
    return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
}

static int add_guarded(struct crash *crash, wetdbg_time time, uint64_t pc)
{
    struct slc_seed *seed = slc_criterion_add(crash->criterion, time, pc);

    if (!seed)
        return -ENOMEM;
    seed->task = wetdbg_state_task(crash->state);
    seed->force = SLC_FORCE_GUARD;
    return 0;
}

static int add_call(struct crash *crash, const struct wetdbg_frame_regs *frame, uint64_t *pc)
{
    wetdbg_time time = 0;
    int err = find_call(crash->criterion->wet, crash->info->signal_time,
                        frame->value[WETDBG_REG_RIP], frame->value[WETDBG_REG_RSP] - 8, &time, pc);

    return err ? err : add_guarded(crash, time, *pc);
}

/* Whether a frame is the program's own, and has source. */
static bool is_own_frame(struct wetdbg_model *model, uint64_t pc)
{
    struct wetdbg_line line;

    return !is_library_code(model, pc) && wetdbg_line_at(model, pc, &line) == 0 && line.file &&
           line.line;
}

/*
 * Adds the calls by which the run got to its end, from the function that decided on it (free(),
 * which met a chunk that is none, or the program itself) to the program's own code: the decision is
 * in any of them. *pc is that of the last one; it is left alone if there is no own code.
 */
static int add_calls(struct crash *crash, uint64_t *pc)
{
    struct wetdbg_model *model = wetdbg_get_model(crash->criterion->wet);
    struct wetdbg_frame_regs frame = slc_frame_regs(crash->state);
    bool is_own = false;
    int err = 0;

    for (unsigned depth = 0; depth < FRAMES_MAX && !is_own; depth++) {
        uint64_t at = wetdbg_frame_lookup_pc(&frame);
        is_own = is_own_frame(model, at);
        if (!frame.is_innermost && !is_messenger(model, at))
            err = add_call(crash, &frame, pc);
        if (err && err != -WETDBG_ERR_NOT_FOUND)
            return err;
        if (!is_own && wetdbg_unwind(model, &frame, slc_read_memory, crash->state) != 1)
            break;
    }
    return 0;
}

static int own_signal(struct crash *crash)
{
    wetdbg_time time = crash->info->signal_time - 1;
    uint64_t pc = crash->pc;
    uint32_t task;
    int err = add_calls(crash, &pc);

    if (!err && crash->criterion->seed_count == 0)
        err = slc_state_at(crash->criterion->wet, time, &pc, &task);
    if (!err && crash->criterion->seed_count == 0)
        err = add_guarded(crash, time, pc);
    if (!err)
        describe(crash, pc, "the condition under which it got there");
    return err;
}

/* ---- all of it ---- */

static int not_a_crash(const struct wetdbg_info *info)
{
    if (info->signal == 0 && info->wait_status >= 0)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                           "the program did not crash, it exited with status %d; try exit or "
                           "output:OFFSET",
                           info->wait_status >> 8 & 0xff);
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                       "the recording does not end with a crash; try output:OFFSET or FILE:LINE");
}

static int dispatch(struct crash *crash)
{
    switch (crash->info->signal) {
    case SIGSEGV:
    case SIGBUS:
        if (crash->info->signal_code <= 0)
            break;
        if (!crash->has_ins || !is_executable(crash))
            return bad_jump(crash);
        if (crash->ins.mem_count == 0)
            return guard_of_fault(crash, "the condition that guards it");
        return bad_access(crash);
    case SIGFPE:
        if (crash->info->signal_code <= 0)
            break;
        return crash->has_ins ? bad_division(crash) : bad_jump(crash);
    case SIGTRAP:
    case SIGILL:
    case SIGSYS:
        if (crash->info->signal_code <= 0)
            break;
        return guard_of_fault(crash, "the condition that guards it");
    default:
        break;
    }
    int found = wet_each_entry(crash->criterion->wet, is_kill, crash);
    if (found < 0)
        return found;
    if (found)
        return own_signal(crash);
    return wetdbg_fail(
        -WETDBG_ERR_NOT_FOUND,
        "signal %d (%s) came from outside the program, which did nothing to get it; try "
        "output:OFFSET or FILE:LINE",
        crash->info->signal, strsignal(crash->info->signal));
}

int slc_parse_crash(struct wetdbg_criterion *criterion)
{
    struct crash crash = {.criterion = criterion, .info = wetdbg_get_info(criterion->wet)};
    uint8_t byte;

    if (crash.info->signal == 0 || crash.info->signal_time == 0)
        return not_a_crash(crash.info);
    int err = wetdbg_state_open(criterion->wet, crash.info->signal_time, &crash.state);
    if (err)
        return err;
    crash.regs = wet_state_regs(crash.state);
    crash.pc = crash.regs->r[EVQ_RIP];
    /* The state after an int3 is behind it. */
    if (crash.info->signal == SIGTRAP && crash.pc &&
        wetdbg_state_read(crash.state, crash.pc - 1, &byte, 1) == 0 && byte == 0xcc)
        crash.pc--;
    crash.has_ins = slc_decode_at(crash.state, crash.pc, &crash.ins) == 0;
    err = dispatch(&crash);
    wetdbg_state_close(crash.state);
    return err;
}
