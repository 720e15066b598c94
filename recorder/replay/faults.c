/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Faults: where the program is when its translation faults, and what it has executed by then. */
#include <assert.h>
#include <string.h>

#include "recorder/dbi/x87_kinds.h"
#include "recorder/event/ops.h"
#include "recorder/replay/engine_priv.h"
#include <wetdbg/errors.h>

#define TRAP_DEBUG      1 /* the processor's numbers */
#define TRAP_BREAKPOINT 3
#define TRAP_PROTECTION 13
#define TRAP_PAGE       14
#define FLAG_TF         0x100u

void rep_answer_fetch_fault(struct rep_turn *turn, const struct dbi_fetch_fault *fault)
{
    turn->fault.signo = SIGSEGV;
    turn->fault.code = fault->reason == 1 ? SEGV_MAPERR : SEGV_ACCERR;
    turn->fault.address = fault->address;
    turn->fault.trapno = TRAP_PAGE;
    turn->args[0] = 0;
}

/* Whether an address is canonical: the kernel reports a jump to another one differently. */
bool rep_is_canonical(uint64_t address)
{
    return address < 0x800000000000ull || address >= 0xffff800000000000ull;
}

/* The ring record at offset `at` of the shared memory becomes that of the instructions that were
 * executed. */
static int ring_cut(struct rep_engine *engine, const struct dbi_fragment *head, uint64_t at)
{
    if (at < AGT_RING_OFF ||
        at - AGT_RING_OFF > AGT_RING_BYTES - 8 - 8 * (uint64_t)head->word_count)
        return rep_damaged("ring");
    int64_t word = (int32_t)agt_ring_word(head->id, head->insn_count, head->word_count);
    memcpy(engine->host.shm + at, &word, sizeof(word));
    return 0;
}

/* Only the first `count` instructions of an execution that was counted were executed. Collecting,
 * `r15` is behind its record; *more: what comes to r15 as another takes its place, but for the
 * instructions. */
static int execution_cut(struct rep_engine *engine, const struct dbi_fragment *fragment,
                         unsigned count, uint64_t r15, uint64_t *more)
{
    uint64_t *counters = (uint64_t *)(engine->host.shm + AGT_COUNT_OFF);
    const struct dbi_fragment *head = NULL;
    assert(count <= fragment->insn_count);
    int err = count ? dbi_fragment_head(engine->dbi, fragment, count, &head) : 0;
    *more = 0;
    if (!err && engine->mode == DBI_COLLECT) {
        uint64_t bytes = 8 + 8 * (uint64_t)fragment->word_count;
        *more = (head ? 8 + 8 * (uint64_t)head->word_count : 0) - bytes;
        if (head)
            err = ring_cut(engine, head, (uint32_t)r15 - bytes);
    }
    if (!err && engine->mode == DBI_COUNT) {
        counters[fragment->id]--;
        if (head)
            counters[head->id]++;
    }
    return err;
}

/* How many bytes more than the address a `ret` pops: c2 iw. */
static uint64_t ret_extra(const struct dbi_fragment *fragment, const struct ins_info *info)
{
    const uint8_t *end = fragment->code + fragment->code_bytes;
    return info->length >= 3 && end[-3] == 0xc2 ? (uint64_t)(end[-2] | end[-1] << 8) : 0;
}

/* The last instruction of a fragment; its address is *pc. */
static int last_instruction(const struct dbi_fragment *fragment, struct ins_info *info,
                            uint64_t *pc)
{
    unsigned off = 0, length = 0;
    for (unsigned i = 0; i < fragment->insn_count; i++) {
        off += length;
        int err =
            ins_decode(fragment->code + off, fragment->code_bytes - off, fragment->pc + off, info);
        if (err)
            return err;
        length = info->length;
    }
    *pc = fragment->pc + off;
    return 0;
}

/*
 * Takes a branch back that went to an address that is not canonical: some processors fault there,
 * others in the branch, which then has not been executed. The recorded fault tells which, and if it
 * is the branch, that is taken back. (What a call has pushed stays: it lies below the stack
 * pointer.)
 */
static int branch_undo(struct rep_engine *engine)
{
    struct rep_turn *turn = &engine->host.turn;
    struct ins_info info;
    uint64_t pc, more;
    int err = rep_log_drain(engine);
    const struct evq_entry *entry = rep_current_entry(engine);
    const struct dbi_fragment *fragment = dbi_fragment_get(engine->dbi, (uint32_t)turn->branch);
    if (err || !entry || entry->kind != EVQ_FAULT || !(entry->flags & EVQ_FLAG_REGS) || !fragment ||
        last_instruction(fragment, &info, &pc) || evq_entry_regs(entry)->r[EVQ_RIP] != pc)
        return err;
    err = execution_cut(engine, fragment, fragment->insn_count - 1u, turn->r15, &more);
    if (err)
        return err;
    if (engine->mode == DBI_COLLECT)
        turn->r15 += more + ((uint64_t)1 << 32);
    else
        turn->r15--;
    turn->rip = pc;
    if (info.klass == INS_CALL_INDIRECT)
        turn->gpr[INS_RSP] += 8;
    else if (info.klass == INS_RET)
        turn->gpr[INS_RSP] -= 8 + ret_extra(fragment, &info);
    return 0;
}

int rep_answer_wild_branch(struct rep_engine *engine)
{
    struct rep_turn *turn = &engine->host.turn;
    memset(turn->args, 0, sizeof(turn->args));
    turn->fault.signo = SIGSEGV;
    turn->fault.code = 0x80; /* SI_KERNEL */
    turn->fault.address = 0;
    turn->fault.trapno = TRAP_PROTECTION;
    return branch_undo(engine);
}

/* ---- rep instructions ---- */

/* The repeated operand of an instruction, or NULL. */
static const struct ins_mem *rep_operand(const struct ins_info *info)
{
    for (unsigned m = 0; m < info->mem_count; m++) {
        if (info->mems[m].flags & INS_MEM_REP)
            return &info->mems[m];
    }
    return NULL;
}

/* How many elements a rep instruction has done that has come to `rcx`. */
static uint64_t rep_done(const struct rep_engine *engine, const struct ins_info *info, uint64_t rcx)
{
    const struct ins_mem *mem = rep_operand(info);
    uint64_t began = engine->host.turn.rep_count;
    if (mem && mem->flags & INS_MEM_ADDR32) {
        began = (uint32_t)began;
        rcx = (uint32_t)rcx;
    }
    return mem && rcx < began ? began - rcx : 0;
}

/* rep_done() of the instruction that faulted. */
static uint64_t fault_done(const struct rep_engine *engine, const struct dbi_fault *fault)
{
    const struct dbi_fragment *fragment = fault->fragment;
    uint64_t off = fault->pc - fragment->pc;
    struct ins_info info;
    if (off >= fragment->code_bytes ||
        ins_decode(fragment->code + off, fragment->code_bytes - off, fault->pc, &info))
        return 0;
    return rep_done(engine, &info, engine->host.turn.fault.gpr[INS_RCX]);
}

/* Where a string register was that has moved over `count` elements. */
static uint64_t before_moving(const struct rep_turn *turn, const struct ins_mem *mem,
                              uint64_t count)
{
    uint64_t bytes = count * mem->size_bytes, now = turn->gpr[mem->base];
    uint64_t before = turn->rflags & 0x400 ? now + bytes : now - bytes;
    return mem->flags & INS_MEM_ADDR32 ? (uint32_t)before : before;
}

/* The instruction at rip alone, and what it is. */
static int rep_alone(struct rep_engine *engine, const struct dbi_fragment **fragment,
                     struct ins_info *info)
{
    struct dbi_fetch_fault fault;
    uint64_t rip = engine->host.turn.rip;
    int result = dbi_translate_exact(engine->dbi, rip, 1, fragment, &fault);
    if (result < 0)
        return result;
    if (result > 0 || ins_decode((*fragment)->code, (*fragment)->code_bytes, rip, info) ||
        !rep_operand(info))
        return wetdbg_fail(-WETDBG_ERR_MACHINE,
                           "the replay process stands at no string instruction");
    return 0;
}

int rep_on_fault_rep(struct rep_engine *engine)
{
    struct rep_turn *turn = &engine->host.turn;
    const struct dbi_fragment *fragment;
    struct ins_info info;
    int err = rep_alone(engine, &fragment, &info);
    if (err)
        return err;
    uint64_t count = rep_done(engine, &info, turn->gpr[INS_RCX]);
    uint64_t began[] = {[INS_RSI] = turn->gpr[INS_RSI], [INS_RDI] = turn->gpr[INS_RDI]};
    for (unsigned m = 0; m < info.mem_count; m++) {
        const struct ins_mem *mem = &info.mems[m];
        if (mem->flags & INS_MEM_REP && (mem->base == INS_RSI || mem->base == INS_RDI))
            began[mem->base] = before_moving(turn, mem, count);
    }
    turn->args[0] = fragment->host_body;
    turn->args[1] = began[INS_RSI];
    turn->args[2] = began[INS_RDI];
    return 0;
}

static uint64_t segment_base(const struct rep_engine *engine, const struct ins_mem *mem)
{
    if (mem->flags & INS_MEM_FS)
        return engine->host.turn.fs_base;
    return mem->flags & INS_MEM_GS ? engine->host.turn.gs_base : 0;
}

/* The record says: no elements, registers as they began. Of its three last slots the first is how
 * many there were to do, the second what was left, the third where the first operand's register
 * came to. */
int rep_on_fault_record(struct rep_engine *engine)
{
    const struct rep_turn *turn = &engine->host.turn;
    const struct dbi_fragment *fragment;
    struct ins_info info;
    int err = rep_alone(engine, &fragment, &info);
    if (err)
        return err;
    unsigned count = dbi_slot_get(fragment, info.mem_count).word, words = fragment->word_count;
    uint64_t bytes = 8 + 8 * (uint64_t)words, end = (uint32_t)turn->r15;
    if (end < AGT_RING_OFF + bytes || end > AGT_RING_OFF + AGT_RING_BYTES || end % 8 || !count ||
        count + 2 > words)
        return rep_damaged("ring");
    uint64_t *word = (uint64_t *)(engine->host.shm + end - bytes);
    word[count] = rep_done(engine, &info, turn->gpr[INS_RCX]);
    word[count + 2] = turn->gpr[info.mems[0].base] + segment_base(engine, &info.mems[0]);
    unsigned at = count + 3;
    for (unsigned m = 0; m < info.mem_count; m++)
        at += dbi_value_words(&info.mems[m]);
    uint16_t registers = dbi_value_registers(&info);
    for (unsigned reg = 0; reg < 16 && at <= words; reg++) {
        if (registers >> reg & 1)
            word[at++] = turn->gpr[reg];
    }
    return 0;
}

/*
 * A scatter that faults has perhaps stored some lanes, and goes on with the others if a handler
 * mends the cause. Replay does the same, but whoever asks what was stored would find no execution
 * that stored the first ones.
 */
static int scatter_refuse(const struct rep_engine *engine, const struct dbi_fault *fault)
{
    const struct dbi_fragment *fragment = fault->fragment;
    uint64_t off = fault->pc - fragment->pc;
    struct ins_info info;
    if (engine->mode == DBI_PLAIN || off >= fragment->code_bytes ||
        ins_decode(fragment->code + off, fragment->code_bytes - off, fault->pc, &info) ||
        !info.mem_count || !(info.mems[0].flags & INS_MEM_WRITE) || !info.mems[0].lanes)
        return 0;
    return wetdbg_fail(
        -WETDBG_ERR_UNSUPPORTED,
        "the scatter at %#llx faulted, perhaps halfway: that can be replayed, but not traced",
        (unsigned long long)fault->pc);
}

/* Translated code has instructions of ours between the program's, and more of them than it has: the
 * trap flag would be about those. int1 is the same trap, without the flag. */
bool rep_is_own_step(const struct rep_turn *turn)
{
    return turn->fault.trapno == TRAP_DEBUG && turn->fault.rflags & FLAG_TF;
}

int rep_refuse_own_step(const struct rep_engine *engine)
{
    return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                       "the program has set the trap flag (TF) after instruction %llu, and that it "
                       "steps through itself is not modelled",
                       (unsigned long long)rep_engine_time(engine));
}

/* Code that is cut for an exact stop leaves flags alone, but what ran before may not have. */
static bool are_flags_lost(const struct rep_engine *engine, const struct dbi_fault *fault)
{
    return fault->flags_inexact ||
           (engine->flags_lost && !dbi_flags_written(fault->fragment, fault->insn));
}

int rep_on_fault(struct rep_engine *engine)
{
    struct rep_turn *turn = &engine->host.turn;
    struct dbi_fault fault;
    uint64_t ring_more, granule = rep_wall_granule(&engine->host, &turn->fault);
    bool after = turn->fault.trapno == TRAP_BREAKPOINT || turn->fault.trapno == TRAP_DEBUG;
    if (rep_is_own_step(turn))
        return rep_refuse_own_step(engine);
    if (dbi_fault_find(engine->dbi, turn->fault.rip, after, &fault))
        return wetdbg_fail(-WETDBG_ERR_MACHINE,
                           "translated code faulted at %#llx (signal %llu, address %#llx) where no "
                           "instruction of the program is; %s",
                           (unsigned long long)turn->fault.rip,
                           (unsigned long long)turn->fault.signo,
                           (unsigned long long)turn->fault.address, rep_blame(engine));
    bool is_wall = granule != REP_WALL_NONE;
    int err = is_wall ? rep_wall_fault(engine, &fault, granule) : scatter_refuse(engine, &fault);
    if (!err)
        err = execution_cut(engine, fault.fragment, fault.insn, turn->fault.gpr[15], &ring_more);
    if (err)
        return err;
    uint64_t last;
    if (dbi_x87_last(fault.fragment->pc, fault.fragment->code, fault.fragment->code_bytes,
                     fault.insn, &last))
        engine->host.ctx->x87.ip = last;
    turn->args[0] = fault.pc;
    turn->args[1] = fault.spilled;
    turn->args[2] = fault.fragment->insn_count - fault.insn;
    turn->args[3] = ring_more;
    turn->args[4] = are_flags_lost(engine, &fault);
    turn->args[5] = is_wall ? 0 : fault_done(engine, &fault);
    return 0;
}
