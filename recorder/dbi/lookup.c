/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Indirect branches.
 *
 * Jumps and calls (after Bruening, Garnett, Amarasinghe, CGO 2003): the target is put into r11, and
 * some of its bits choose an entry of the instruction's own table of code addresses (sites.c).
 * There a *prefix* compares r11 with the address that it was made for, and goes on to the body or
 * leaves for the agent, which finds the target by the hash of fragments and enters it in the table.
 *
 * Returns: a processor predicts them by the calls that it has seen, and misses badly if they
 * become jumps. So a call stays a call, and a return a return:
 *
 *     call  over                    pushes the address of the landing
 *   landing:
 *     mov   [rsp - 8], r11          where the program's return address was, it is again
 *     (compare r11 with it)
 *     jmp   fragment at the return address
 *   over:
 *     lea   rsp, [rsp + 8]          in place of the landing's,
 *     push  return address          the program's
 *     jmp   fragment that is called
 *
 * and a return takes the program's address from the stack to r11, puts the landing from a table of
 * its own in its place, and returns to that. So the stack differs from the program's for a few
 * instructions, none of which can be interrupted by anything that looks at it.
 *
 * Fragments that end in the same call share these lines, a *pad*: else the one through which the
 * table leads would often be another than the one that was called through. Whoever comes to
 * another's pad has tried to write to the slot first, so a stack overflow is always its own.
 *
 * r11 and rcx because few functions expect or leave anything in them: their values take a turn
 * through memory that nobody waits for.
 *
 * No comparison may change a flag: whoever came to the wrong prefix still needs its own at the
 * right one. (`cmp` where the fragment itself does not mind was tried, and a carry was lost.)
 */
#include "recorder/dbi/lookup.h"

#include <assert.h>

#include "recorder/dbi/leave.h"
#include "recorder/dbi/scratch.h"

unsigned dbi_lookup_shift(void)
{
    return __builtin_cpu_supports("bmi2") ? 3 : 0;
}

/* Emits ecx = the address's index into the table of returns; no flag changes. */
static void index_emit(struct emit *e)
{
    if (dbi_lookup_shift()) {
        emit_rorx(e, false, INS_RCX, R11, 3);
        emit_op(e, false, EMIT_MOVZX16, INS_RCX, INS_RCX);
    } else {
        emit_op(e, false, EMIT_MOVZX16, INS_RCX, R11);
    }
}

/* Emits ecx = what agt_site_index() gives for r11; no flag changes. */
static void site_index_emit(struct emit *e, const struct agt_site *site)
{
    if (dbi_lookup_shift()) {
        emit_rorx(e, false, INS_RCX, R11, site->rotate);
    } else {
        emit_op(e, false, EMIT_MOV_TO, R11, INS_RCX);
        emit_nop(e, 3);
    }
    if (site->multiple)
        emit_op_sum(e, false, EMIT_LEA, INS_RCX, INS_RCX, R11, site->multiple);
    else
        emit_nop(e, 4);
    emit_op(e, false, site->bits == 8 ? EMIT_MOVZX8 : EMIT_MOVZX16, INS_RCX, INS_RCX);
    emit_jmp_gs_table(e, INS_RCX, site->table_off);
}

static void site_emit(struct emit *e, const struct agt_site *site)
{
    assert(site->bits == 0 || site->bits == 8 || site->bits == 16);
    if (site->bits) {
        site_index_emit(e, site);
        return;
    }
    emit_jmp_gs(e, site->table_off);
    for (unsigned i = 8; i < DBI_LOOKUP_BYTES; i++)
        emit_int3(e);
}

void dbi_site_patch(uint8_t *lookup, const struct agt_site *site)
{
    struct emit e = {.at = lookup, .limit = lookup + DBI_LOOKUP_BYTES};
    site_emit(&e, site);
}

void dbi_lookup_emit(struct work *w)
{
    if (!w->site || !w->site->table_off) { /* exact: what a table leads to would not stop in time */
        emit_branch(w->e, EMIT_JMP, w->shared->missed);
        return;
    }
    w->out->lookup = w->e->at;
    site_emit(w->e, w->site);
}

/* Goes on behind only if r11 is `pc`; rcx and r11 have their values then. */
static void compare_emit(struct emit *e, uint64_t pc, uint64_t missed)
{
    emit_mov_imm64(e, INS_RCX, -pc);
    emit_op_sum(e, true, EMIT_LEA, INS_RCX, INS_RCX, R11, 1);
    emit_short(e, EMIT_SHORT_JRCXZ, EMIT_JMP_BYTES); /* over the jump */
    emit_branch(e, EMIT_JMP, missed);
    emit_load_gs(e, INS_RCX, HOME(INS_RCX));
    emit_load_gs(e, R11, HOME(R11));
}

void dbi_emit_prefix(struct emit *e, const struct dbi_shared *shared, uint64_t pc, uint64_t body)
{
    compare_emit(e, pc, shared->missed);
    emit_branch(e, EMIT_JMP, body);
}

/* ---- calls and returns ---- */

static void push_emit(struct work *w, uint64_t value)
{
    if ((int64_t)value == (int32_t)value) {
        emit_push_imm(w->e, (uint32_t)value);
        return;
    }
    uint8_t *site = emit_push_rip(w->e);
    if (!w->e->overflow)
        emit_patch(site, w->cold->at);
    emit_u64(w->cold, value);
}

static void target_go(struct work *w, uint64_t target)
{
    if (target)
        dbi_exit_add(w, EMIT_JMP, target);
    else
        dbi_lookup_emit(w);
}

/* Emits mov [rsp - 8], reg. */
static void slot_store(struct emit *e, unsigned reg)
{
    emit_store(e, INS_RSP, -8, reg);
}

static void pad_emit(struct work *w, uint64_t next, uint64_t target)
{
    w->out->pad = (struct dbi_pad){.next = next, .target = target, .call = emit_host(w->e)};
    w->out->has_pad = true;
    uint8_t *over = emit_branch(w->e, EMIT_CALL, 0);
    w->out->pad.landing = emit_host(w->e);
    slot_store(w->e, R11);
    compare_emit(w->e, next, w->shared->missed_return);
    dbi_exit_add(w, EMIT_JMP, next);
    w->out->falls = false; /* more follows */
    emit_land(w->e, over);
    emit_lea(w->e, INS_RSP, INS_RSP, -1, 1, 8, false);
    push_emit(w, next);
    target_go(w, target);
}

void dbi_call_emit(struct work *w, unsigned at, uint64_t next, uint64_t target)
{
    dbi_place_add(w, at);
    if (w->exact) {
        push_emit(w, next);
        target_go(w, target);
        return;
    }
    if (w->pad) {
        slot_store(w->e, INS_RSP);
        emit_branch(w->e, EMIT_JMP, w->pad->call);
    } else {
        pad_emit(w, next, target);
    }
}

void dbi_return_emit(struct work *w, unsigned at, uint16_t extra_bytes)
{
    struct emit *e = w->e;
    dbi_place_add(w, at);
    emit_op_at(e, true, EMIT_MOV_FROM, R11, INS_RSP);
    emit_store_imm_gs(e, AGT_CTX_BRANCH, w->id);
    if (w->exact || extra_bytes) {
        emit_lea(e, INS_RSP, INS_RSP, -1, 1, 8 + extra_bytes, false);
        dbi_lookup_emit(w);
        return;
    }
    index_emit(e);
    emit_op_gs_memory(e, true, EMIT_MOV_FROM, INS_RCX, -1, INS_RCX, 8, AGT_RETURN_OFF);
    emit_op_at(e, true, EMIT_MOV_TO, INS_RCX, INS_RSP);
    emit_ret(e); /* the agent knows these two */
}

/* ---- the hash of fragments ---- */

#define ENTRY(member) ((uint32_t)(AGT_LOOKUP_OFF + __builtin_offsetof(struct agt_lookup, member)))

/* Emits op reg, gs:[rdx + disp]. */
static void op_entry(struct emit *e, enum emit_op op, unsigned reg, uint32_t disp)
{
    emit_op_gs_memory(e, true, op, reg, INS_RDX, -1, 1, disp);
}

/* Emits rdx = where the entry for r11 would be first; flags, rax and rdx are kept before */
static void hash_start(struct emit *e)
{
    emit_store_gs(e, HOME(INS_RAX), INS_RAX);
    emit_store_gs(e, HOME(INS_RDX), INS_RDX);
    emit_flags_to_ax(e);
    emit_mov_imm64(e, INS_RCX, AGT_HASH);
    emit_op(e, true, EMIT_IMUL, INS_RCX, R11);
    emit_shift(e, true, EMIT_SHR, INS_RCX, 32);
}

static void flags_end(struct emit *e)
{
    emit_flags_from_ax(e);
    emit_load_gs(e, INS_RAX, HOME(INS_RAX));
    emit_load_gs(e, INS_RDX, HOME(INS_RDX));
}

/*
 * Emits what happens when the entry is found: its landing goes into the table. Two addresses that
 * share an entry of the table take turns there, which costs some twenty instructions each time.
 */
static void found_emit(struct emit *e)
{
    emit_op(e, false, EMIT_MOV_TO, R11, INS_RDX);
    emit_shift(e, false, EMIT_SHR, INS_RDX, (uint8_t)dbi_lookup_shift());
    emit_op(e, false, EMIT_MOVZX16, INS_RDX, INS_RDX);
    emit_op_gs_memory(e, true, EMIT_MOV_TO, INS_RCX, -1, INS_RDX, 8, AGT_RETURN_OFF);
}

static void body_go(struct emit *e)
{
    flags_end(e);
    emit_load_gs(e, INS_RCX, HOME(INS_RCX));
    emit_load_gs(e, R11, HOME(R11));
    emit_jmp_gs(e, AGT_CTX_TMP);
}

static void missed_emit(struct emit *e)
{
    hash_start(e);
    uint64_t again = emit_host(e);
    emit_op_gs(e, false, EMIT_AND_FROM, INS_RCX, AGT_CTX_LOOKUP_MASK);
    emit_op(e, false, EMIT_MOV_TO, INS_RCX, INS_RDX);
    emit_shift(e, false, EMIT_SHL, INS_RDX, 5);
    emit_cmp_gs_imm8(e, INS_RDX, ENTRY(pc), 0);
    uint8_t *absent = emit_branch(e, EMIT_IF_ZERO, 0);
    op_entry(e, EMIT_CMP_FROM, R11, ENTRY(pc));
    uint8_t *found = emit_branch(e, EMIT_IF_ZERO, 0);
    emit_inc32(e, INS_RCX);
    emit_branch(e, EMIT_JMP, again);
    emit_land(e, found);
    op_entry(e, EMIT_MOV_FROM, INS_RCX, ENTRY(body));
    emit_op(e, true, EMIT_TEST, INS_RCX, INS_RCX);
    uint8_t *freed = emit_branch(e, EMIT_IF_ZERO, 0);
    emit_store_gs(e, AGT_CTX_TMP, INS_RCX);
    op_entry(e, EMIT_MOV_FROM, INS_RCX, ENTRY(landing));
    emit_op(e, true, EMIT_TEST, INS_RCX, INS_RCX);
    uint8_t *bare = emit_branch(e, EMIT_IF_ZERO, 0);
    found_emit(e);
    emit_land(e, bare); /* what seldom happens need not be in the table */
    body_go(e);
    emit_land(e, absent);
    emit_land(e, freed);
    flags_end(e);
}

static void agent_emit(struct emit *e, uint32_t table)
{
    emit_store_gs(e, AGT_CTX_RIP, R11);
    emit_load_gs(e, INS_RCX, HOME(INS_RCX));
    emit_load_gs(e, R11, HOME(R11));
    emit_store_imm_gs(e, AGT_CTX_EXIT_ARG, table);
    emit_store_imm_gs(e, AGT_CTX_EXIT_KIND, AGT_EXIT_INDIRECT);
    emit_jmp_gs(e, AGT_CTX_AGENT_EXIT);
}

_Static_assert(sizeof(struct agt_lookup) == 32, "the hash is indexed by shl 5");

void dbi_emit_shared(struct emit *e, struct dbi_shared *out)
{
    out->leave = emit_host(e);
    emit_store_imm_gs(e, AGT_CTX_EXIT_KIND, AGT_EXIT_DIRECT);
    emit_jmp_gs(e, AGT_CTX_AGENT_EXIT);
    out->time = emit_host(e);
    emit_store_imm_gs(e, AGT_CTX_EXIT_KIND, AGT_EXIT_TIME);
    emit_jmp_gs(e, AGT_CTX_AGENT_EXIT);
    out->missed = emit_host(e);
    agent_emit(e, AGT_TABLE_JUMP);
    out->returned = emit_host(e);
    slot_store(e, R11);
    out->missed_return = emit_host(e);
    missed_emit(e);
    agent_emit(e, AGT_TABLE_RETURN);
}
