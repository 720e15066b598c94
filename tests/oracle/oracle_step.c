/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Single steps. The processor traps after each turn of a `rep`, so turns are joined until rip
 * moves on; the trap flag shows in what pushf pushes and is taken out again. (mov ss and pop ss
 * delay the trap by one instruction; no user program has a use for them.)
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "tests/oracle/oracle_operands.h"
#include "tests/oracle/oracle_priv.h"
#include <wetdbg/errors.h>

#define TRAP_FLAG      UINT64_C(0x100)
#define DIRECTION_FLAG UINT64_C(0x400)
#define NOWHERE        SIZE_MAX

#define REP_TURNS_STEPPED 1000 /* what is longer runs at full speed */

/* One instruction under way. */
struct attempt {
    struct orc_insn insn;
    struct orc_decoded decoded;
    struct orc_operand operands[ORC_OPERANDS_MAX];
    size_t before[ORC_OPERANDS_MAX]; /* offsets in `bytes`, or NOWHERE */
    size_t after[ORC_OPERANDS_MAX];
    struct wd_buf bytes;
};

/* ---------------------------------------------------------------- memory operands */

/* Appends the bytes of a range to `bytes`; NOWHERE if they cannot be had. */
static int keep_range(struct orc *orc, struct wd_buf *bytes, uint64_t address, uint64_t size,
                      size_t *at)
{
    *at = NOWHERE;
    if (size > ORC_BYTES_MAX)
        return 0;
    if (wd_buf_reserve(bytes, size + 1) != 0)
        return -ENOMEM;
    if (orc_child_read(&orc->child, address, bytes->data + bytes->size_bytes, size) != size)
        return 0;
    *at = bytes->size_bytes;
    bytes->size_bytes += size;
    return 0;
}

static unsigned address_bits(const struct attempt *a)
{
    for (unsigned i = 0; i < a->insn.code_bytes && i < 14; i++)
        if (a->insn.code[i] == 0x67)
            return 32;
        else if (a->insn.code[i] >= 0x67)
            break;
    return 64;
}

static uint64_t count_register(const struct attempt *a, uint64_t rcx)
{
    return a->decoded.is_rep && address_bits(a) == 32 ? rcx & 0xffffffff : rcx;
}

/* Makes operand `i` the range that `turns` turns go over. */
static void set_range(struct attempt *a, size_t i, uint64_t turns)
{
    const struct orc_place *place = &a->decoded.places[i];
    struct orc_operand *operand = &a->operands[i];

    operand->address = place->address;
    operand->size_bytes = place->size_bytes;
    if (!a->decoded.is_rep || !place->is_string)
        return;
    operand->size_bytes = turns * place->size_bytes;
    if ((a->insn.regs.eflags & DIRECTION_FLAG) && turns > 0)
        operand->address -= (turns - 1) * place->size_bytes;
}

/* Reads what the operands hold. A rep's written range is known beforehand, by rcx; what scas and
 * cmps only read is looked at afterwards, when the number of turns is known. */
static int keep_before(struct orc *orc, struct attempt *a)
{
    bool writes = false;
    int err = 0;

    for (size_t i = 0; i < a->decoded.place_count; i++)
        writes = writes || a->decoded.places[i].is_write;
    for (size_t i = 0; err == 0 && i < a->decoded.place_count; i++) {
        const struct orc_place *place = &a->decoded.places[i];
        a->operands[i] = (struct orc_operand){.is_read = place->is_read,
                                              .is_write = place->is_write,
                                              .is_implicit = place->is_implicit};
        a->before[i] = NOWHERE;
        set_range(a, i, count_register(a, a->insn.regs.rcx));
        if (!a->decoded.is_rep || writes)
            err = keep_range(orc, &a->bytes, a->operands[i].address, a->operands[i].size_bytes,
                             &a->before[i]);
    }
    return err;
}

/* Shrinks, after `turns` turns, the kept range of a rep that ended early. */
static int keep_after(struct orc *orc, struct attempt *a)
{
    int err = 0;

    for (size_t i = 0; err == 0 && i < a->decoded.place_count; i++) {
        uint64_t whole_address = a->operands[i].address;
        set_range(a, i, a->insn.turns);
        if (a->before[i] != NOWHERE)
            a->before[i] += a->operands[i].address - whole_address;
        err = keep_range(orc, &a->bytes, a->operands[i].address, a->operands[i].size_bytes,
                         &a->after[i]);
        if (a->before[i] == NOWHERE && a->decoded.is_rep && !a->operands[i].is_write)
            a->before[i] = a->after[i];
    }
    for (size_t i = 0; i < a->decoded.place_count; i++) {
        a->operands[i].before = a->before[i] == NOWHERE ? NULL : a->bytes.data + a->before[i];
        a->operands[i].after = a->after[i] == NOWHERE ? NULL : a->bytes.data + a->after[i];
    }
    a->insn.operands = a->operands;
    a->insn.operand_count = a->decoded.place_count;
    return err;
}

/* ---------------------------------------------------------------- one step of the processor */

/* pushf has pushed our trap flag; `before` are the registers before it. */
static int hide_trap_flag(struct orc *orc, const struct rrt_regs *before, uint64_t rsp)
{
    uint16_t low;

    if (before->eflags & TRAP_FLAG)
        return 0;
    if (orc_child_read(&orc->child, rsp, &low, sizeof(low)) != sizeof(low))
        return wetdbg_fail(-EFAULT, "cannot read the pushed flags at %#" PRIx64, rsp);
    low &= (uint16_t)~TRAP_FLAG;
    return orc_child_write(&orc->child, rsp, &low, sizeof(low));
}

static bool is_pushf(struct orc *orc, const struct rrt_regs *before, uint64_t rsp)
{
    uint8_t code[4];

    if (before->rsp - rsp != 8 && before->rsp - rsp != 2)
        return false;
    return orc_code_is_pushf(code, orc_child_read(&orc->child, before->rip, code, sizeof(code)));
}

static bool is_rep(struct orc *orc, uint64_t pc)
{
    uint8_t code[ORC_CODE_MAX];

    return orc_code_is_rep(code, orc_child_read(&orc->child, pc, code, sizeof(code)));
}

/* The turns of a long rep at full speed; *is_done says that this was possible, and what became of
 * it is in `stop`, as from a step. */
static int run_rep(struct orc *orc, const struct rrt_regs *before, struct orc_stop *stop,
                   struct user_regs_struct *now, bool *is_done)
{
    unsigned length = before->rcx > REP_TURNS_STEPPED ? orc_rep_length(orc, before->rip) : 0;
    int err;

    *is_done = false;
    if (length == 0 || orc_child_set_break(&orc->child, before->rip + length) != 0)
        return 0;
    err = orc_child_get_regs(&orc->child, now);
    if (err == 0 && orc_next_is_asynchronous(orc)) {
        err = orc_run_into_rep(orc, now);
        *is_done = now->rip != before->rip || now->rcx != before->rcx;
        *stop = (struct orc_stop){.kind = ORC_STOP_STEP};
    }
    if (err == 0 && !*is_done) {
        *is_done = true;
        err = orc_child_resume(&orc->child, false, stop);
        if (err == 0 && stop->kind == ORC_STOP_BREAK)
            stop->kind = ORC_STOP_STEP;
        if (err == 0)
            err = orc_child_get_regs(&orc->child, now);
    }
    orc_child_set_break(&orc->child, 0);
    return err;
}

/* Executes the instruction at before->rip. `now`: the registers after it, when it completed or a
 * signal stopped it between turns. */
static int execute(struct orc *orc, const struct rrt_regs *before, struct orc_stop *stop,
                   struct user_regs_struct *now, enum orc_outcome *outcome)
{
    bool is_done;
    int err = run_rep(orc, before, stop, now, &is_done);

    for (;; is_done = false) {
        if (err == 0 && !is_done)
            err = orc_resume(orc, true, stop);
        if (err == 0 && !is_done)
            err = orc_child_get_regs(&orc->child, now);
        if (err != 0 || stop->kind != ORC_STOP_STEP)
            return err;
        *outcome = ORC_COMPLETED;
        if (now->rip != before->rip || !is_rep(orc, before->rip))
            break;
        if (orc_next_is_asynchronous(orc)) {
            bool is_due;
            err = orc_is_due(orc, now, &is_due);
            if (err != 0)
                return err;
            if (is_due) {
                *outcome = ORC_INTERRUPTED;
                return 0;
            }
        }
    }
    return is_pushf(orc, before, now->rsp) ? hide_trap_flag(orc, before, now->rsp) : 0;
}

/* Applies the event that ended an instruction and says what became of the instruction. */
static int end_by_event(struct orc *orc, const struct orc_stop *stop, enum orc_outcome *outcome)
{
    bool is_trap = orc->has_next && orc->next.event == RRT_EVENT_INSTRUCTION_TRAP;
    int err = orc_take_stop(orc, stop);

    if (err != 0)
        return err;
    if (stop->kind == ORC_STOP_SIGNAL && !is_trap)
        *outcome = ORC_FAULTED;
    else if (!orc->has_next || orc->next.event == RRT_EVENT_EXIT)
        *outcome = ORC_LAST;
    else
        *outcome = ORC_COMPLETED;
    return 0;
}

/* ---------------------------------------------------------------- one instruction */

static int vector_state(void *context, uint8_t *image, size_t *size_bytes)
{
    return orc_vector_state(context, image, size_bytes);
}

static void prepare(struct orc *orc, struct attempt *a, const struct rrt_regs *regs)
{
    a->insn = (struct orc_insn){
        .index = orc->instructions,
        .frame = orc->event,
        .pc = regs->rip,
        .regs = *regs,
        .turns = 1,
    };
    a->bytes.size_bytes = 0;
    a->insn.code_bytes =
        (unsigned)orc_child_read(&orc->child, regs->rip, a->insn.code, ORC_CODE_MAX);
    orc_decode(a->insn.code, a->insn.code_bytes, regs, vector_state, orc, &a->decoded);
    a->insn.length = a->decoded.length;
}

/* Steps one instruction, fully watched. */
static int step_watched(struct orc *orc, struct attempt *a, const struct rrt_regs *regs)
{
    struct user_regs_struct now;
    struct orc_stop stop;
    int err;

    prepare(orc, a, regs);
    err = keep_before(orc, a);
    if (err == 0)
        err = execute(orc, regs, &stop, &now, &a->insn.outcome);
    if (err != 0)
        return err;
    if (a->decoded.is_rep)
        a->insn.turns = count_register(a, regs->rcx - now.rcx);
    orc->instructions++;
    if (stop.kind != ORC_STOP_STEP) {
        /* operands first: the event may change what they hold */
        err = keep_after(orc, a);
        return err == 0 ? end_by_event(orc, &stop, &a->insn.outcome) : err;
    }
    return keep_after(orc, a);
}

static int step_blind(struct orc *orc, const struct rrt_regs *regs)
{
    struct user_regs_struct now;
    struct orc_stop stop;
    enum orc_outcome outcome;
    int err = execute(orc, regs, &stop, &now, &outcome);

    if (err != 0)
        return err;
    orc->instructions++;
    return stop.kind == ORC_STOP_STEP ? 0 : end_by_event(orc, &stop, &outcome);
}

int orc_step(struct orc *orc, uint64_t count, orc_step_fn step, void *context, uint64_t *done)
{
    struct attempt *attempt = calloc(1, sizeof(*attempt));
    int err = attempt ? 0 : -ENOMEM;

    *done = 0;
    while (err == 0 && *done < count) {
        struct rrt_regs regs;
        err = orc_settle(orc);
        if (err != 0 || !orc->has_next)
            break;
        err = orc_registers(orc, &regs);
        if (err == 0)
            err = step ? step_watched(orc, attempt, &regs) : step_blind(orc, &regs);
        if (err != 0)
            break;
        ++*done;
        if (step)
            err = step(context, &attempt->insn);
    }
    if (attempt)
        wd_buf_fini(&attempt->bytes);
    free(attempt);
    return err;
}

/* ---------------------------------------------------------------- text */

static void print_bytes(const uint8_t *bytes, uint64_t count, FILE *out)
{
    if (!bytes) {
        fputs("?", out);
        return;
    }
    for (uint64_t i = 0; i < count && i < 32; i++)
        fprintf(out, "%02x", bytes[i]);
    if (count > 32)
        fputs("..", out);
}

void orc_insn_print(const struct orc_insn *insn, FILE *out)
{
    static const char *const outcomes[] = {"", " FAULTED", " LAST", " INTERRUPTED"};
    const struct rrt_regs *r = &insn->regs;

    fprintf(out, "%" PRIu64 " @%" PRIu64 " %#" PRIx64 " ", insn->index, insn->frame, insn->pc);
    print_bytes(insn->code, insn->length ? insn->length : insn->code_bytes, out);
    if (insn->turns != 1)
        fprintf(out, " x%" PRIu64, insn->turns);
    fputs(outcomes[insn->outcome], out);
    for (size_t i = 0; i < insn->operand_count; i++) {
        const struct orc_operand *o = &insn->operands[i];
        fprintf(out, " [%s%s %#" PRIx64 "+%" PRIu64 " ", o->is_read ? "r" : "",
                o->is_write ? "w" : "", o->address, o->size_bytes);
        print_bytes(o->before, o->size_bytes, out);
        fputs(o->is_write ? ">" : "", out);
        if (o->is_write)
            print_bytes(o->after, o->size_bytes, out);
        fputs("]", out);
    }
    fprintf(out,
            " rax=%" PRIx64 " rcx=%" PRIx64 " rdx=%" PRIx64 " rbx=%" PRIx64 " rsp=%" PRIx64
            " rbp=%" PRIx64 " rsi=%" PRIx64 " rdi=%" PRIx64,
            r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi);
    fprintf(out,
            " r8=%" PRIx64 " r9=%" PRIx64 " r10=%" PRIx64 " r11=%" PRIx64 " r12=%" PRIx64
            " r13=%" PRIx64 " r14=%" PRIx64 " r15=%" PRIx64 " fl=%" PRIx64 " fs=%" PRIx64 "\n",
            r->r8, r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15, r->eflags, r->fs_base);
}
