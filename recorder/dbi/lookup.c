/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Indirect branches.
 *
 * Jumps and calls (after Bruening, Garnett, Amarasinghe, CGO 2003): the target is put into r11, and some
 * of its bits choose an entry of the instruction's own table of code addresses (sites.c). There a
 * *prefix* compares r11 with the address that it was made for, and goes on to the body or leaves for the
 * agent, which finds the target by the hash of fragments and enters it in the table.
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
 * No comparison may change a flag: whoever came to the wrong prefix still needs its own at the right
 * one. (`cmp` where the fragment itself does not mind was tried, and a carry was lost.)
 */
#include "recorder/dbi/translate_priv.h"

unsigned dbi_lookup_shift(void)
{
    return __builtin_cpu_supports("bmi2") ? 3 : 0;
}

/* ecx = the address's index into the table of returns; no flags */
static void index_emit(struct emit *e)
{
    if (dbi_lookup_shift()) {
        emit_bytes(e, "\xc4\xc3\x7b\xf0\xcb\x03", 6); /* rorx ecx, r11d, 3 */
        emit_bytes(e, "\x0f\xb7\xc9", 3);             /* movzx ecx, cx */
    } else {
        emit_bytes(e, "\x41\x0f\xb7\xcb", 4); /* movzx ecx, r11w */
    }
}

/* ecx = what agt_site_index() gives for r11, without flags */
static void site_index_emit(struct emit *e, const struct agt_site *site)
{
    if (dbi_lookup_shift()) {
        emit_bytes(e, "\xc4\xc3\x7b\xf0\xcb", 5); /* rorx ecx, r11d, n */
        emit_u8(e, site->rotate);
    } else {
        emit_bytes(e, "\x44\x89\xd9\x0f\x1f\x00", 6); /* mov ecx, r11d; nop */
    }
    if (site->multiple) {
        emit_bytes(e, "\x42\x8d\x0c", 3); /* lea ecx, [rcx + r11 * n] */
        emit_u8(e, (uint8_t)(__builtin_ctz(site->multiple) << 6 | 0x19));
    } else {
        emit_bytes(e, "\x0f\x1f\x40\x00", 4); /* nop */
    }
    emit_bytes(e, site->bits == 8 ? "\x0f\xb6\xc9" : "\x0f\xb7\xc9", 3); /* movzx ecx, cl or cx */
    emit_bytes(e, "\x65\xff\x24\xcd", 4); /* jmp gs:[rcx * 8 + disp32] */
    emit_u32(e, site->table_off);
}

static void site_emit(struct emit *e, const struct agt_site *site)
{
    if (site->bits) {
        site_index_emit(e, site);
        return;
    }
    emit_jmp_gs(e, site->table_off);
    for (unsigned i = 8; i < DBI_LOOKUP_BYTES; i++)
        emit_u8(e, 0xcc);
}

void dbi_site_patch(uint8_t *lookup, const struct agt_site *site)
{
    struct emit e = {.at = lookup, .limit = lookup + DBI_LOOKUP_BYTES};
    site_emit(&e, site);
}

void dbi_lookup_emit(struct work *w)
{
    if (!w->site || !w->site->table_off) { /* exact: what a table leads to would not stop in time */
        emit_branch(w->e, 0xe9, w->shared->missed);
        return;
    }
    w->out->lookup = w->e->at;
    site_emit(w->e, w->site);
}

/* Goes on behind only if r11 is `pc`; rcx and r11 have their values then. */
static void compare_emit(struct emit *e, uint64_t pc, uint64_t missed)
{
    emit_bytes(e, "\x48\xb9", 2); /* mov rcx, -pc */
    emit_u64(e, -pc);
    emit_bytes(e, "\x4a\x8d\x0c\x19", 4); /* lea rcx, [rcx + r11] */
    emit_bytes(e, "\xe3\x05", 2);         /* jrcxz over the jump */
    emit_branch(e, 0xe9, missed);
    emit_load_gs(e, INS_RCX, HOME(INS_RCX));
    emit_load_gs(e, R11, HOME(R11));
}

void dbi_emit_prefix(struct emit *e, const struct dbi_shared *shared, uint64_t pc, uint64_t body)
{
    compare_emit(e, pc, shared->missed);
    emit_branch(e, 0xe9, body);
}

/* ---- calls and returns ---- */

static void push_emit(struct work *w, uint64_t value)
{
    if ((int64_t)value == (int32_t)value) {
        emit_u8(w->e, 0x68);
        emit_u32(w->e, (uint32_t)value);
        return;
    }
    emit_bytes(w->e, "\xff\x35", 2); /* push [rip + value] */
    uint8_t *site = w->e->at;
    emit_u32(w->e, 0);
    if (!w->e->overflow)
        emit_patch(site, w->cold->at);
    emit_u64(w->cold, value);
}

static void target_go(struct work *w, uint64_t target)
{
    if (target)
        dbi_exit_add(w, 0xe9, target);
    else
        dbi_lookup_emit(w);
}

/* mov [rsp - 8], reg */
static void slot_store(struct emit *e, unsigned reg)
{
    emit_u8(e, reg & 8 ? 0x4c : 0x48);
    emit_u8(e, 0x89);
    emit_u8(e, (uint8_t)(0x44 | (reg & 7) << 3));
    emit_bytes(e, "\x24\xf8", 2);
}

static void pad_emit(struct work *w, uint64_t next, uint64_t target)
{
    w->out->pad = (struct dbi_pad){.next = next, .target = target, .call = emit_host(w->e)};
    w->out->has_pad = true;
    uint8_t *over = emit_branch(w->e, 0xe8, 0);
    w->out->pad.landing = emit_host(w->e);
    slot_store(w->e, R11);
    compare_emit(w->e, next, w->shared->missed_return);
    dbi_exit_add(w, 0xe9, next);
    w->out->falls = false; /* more follows */
    if (!w->e->overflow)
        emit_patch(over, w->e->at);
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
        emit_branch(w->e, 0xe9, w->pad->call);
    } else {
        pad_emit(w, next, target);
    }
}

void dbi_return_emit(struct work *w, unsigned at, uint16_t extra_bytes)
{
    struct emit *e = w->e;
    dbi_place_add(w, at);
    emit_bytes(e, "\x4c\x8b\x1c\x24", 4); /* mov r11, [rsp] */
    emit_store_imm_gs(e, AGT_CTX_BRANCH, w->id);
    if (w->exact || extra_bytes) {
        emit_lea(e, INS_RSP, INS_RSP, -1, 1, 8 + extra_bytes, false);
        dbi_lookup_emit(w);
        return;
    }
    index_emit(e);
    emit_bytes(e, "\x65\x48\x8b\x0c\xcd", 5); /* mov rcx, gs:[rcx * 8 + disp32] */
    emit_u32(e, AGT_RETURN_OFF);
    emit_bytes(e, "\x48\x89\x0c\x24\xc3", 5); /* mov [rsp], rcx; ret: the agent knows it */
}

/* ---- the hash of fragments ---- */

#define ENTRY(member) ((uint32_t)(AGT_LOOKUP_OFF + __builtin_offsetof(struct agt_lookup, member)))

#define JE 0x84

/* A forward branch comes here. */
static void branch_end(const struct emit *e, uint8_t *site)
{
    if (!e->overflow)
        emit_patch(site, e->at);
}

/* Some instruction on gs:[rdx + disp] */
static void op_entry(struct emit *e, const char *opcode, uint32_t disp)
{
    emit_bytes(e, opcode, 4);
    emit_u32(e, disp);
}

/* rdx = where the entry for r11 would be first; flags, rax and rdx are kept before */
static void hash_start(struct emit *e)
{
    emit_store_gs(e, HOME(INS_RAX), INS_RAX);
    emit_store_gs(e, HOME(INS_RDX), INS_RDX);
    emit_bytes(e, "\x9f\x0f\x90\xc0", 4); /* lahf; seto al */
    emit_bytes(e, "\x48\xb9", 2);         /* mov rcx, AGT_HASH */
    emit_u64(e, AGT_HASH);
    emit_bytes(e, "\x49\x0f\xaf\xcb", 4); /* imul rcx, r11 */
    emit_bytes(e, "\x48\xc1\xe9\x20", 4); /* shr rcx, 32 */
}

static void flags_end(struct emit *e)
{
    emit_bytes(e, "\x04\x7f\x9e", 3); /* add al, 0x7f; sahf */
    emit_load_gs(e, INS_RAX, HOME(INS_RAX));
    emit_load_gs(e, INS_RDX, HOME(INS_RDX));
}

/*
 * The entry is found: its landing goes into the table. Two addresses that share an entry of the
 * table take turns there, which costs some twenty instructions each time.
 */
static void found_emit(struct emit *e)
{
    emit_bytes(e, "\x44\x89\xda", 3); /* mov edx, r11d */
    emit_bytes(e, "\xc1\xea", 2);     /* shr edx, shift */
    emit_u8(e, (uint8_t)dbi_lookup_shift());
    emit_bytes(e, "\x0f\xb7\xd2", 3);         /* movzx edx, dx */
    emit_bytes(e, "\x65\x48\x89\x0c\xd5", 5); /* mov gs:[rdx * 8 + disp32], rcx */
    emit_u32(e, AGT_RETURN_OFF);
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
    emit_bytes(e, "\x65\x23", 2); /* and ecx, gs:[mask] */
    emit_absolute(e, INS_RCX, AGT_CTX_LOOKUP_MASK);
    emit_bytes(e, "\x89\xca\xc1\xe2\x05", 5);   /* mov edx, ecx; shl edx, 5 */
    op_entry(e, "\x65\x48\x83\xba", ENTRY(pc)); /* cmp pc, 0 */
    emit_u8(e, 0);
    uint8_t *absent = emit_branch(e, JE, 0);
    op_entry(e, "\x65\x4c\x3b\x9a", ENTRY(pc)); /* cmp r11, pc */
    uint8_t *found = emit_branch(e, JE, 0);
    emit_bytes(e, "\xff\xc1", 2); /* inc ecx */
    emit_branch(e, 0xe9, again);
    branch_end(e, found);
    op_entry(e, "\x65\x48\x8b\x8a", ENTRY(body)); /* mov rcx, body */
    emit_bytes(e, "\x48\x85\xc9", 3);             /* test rcx, rcx */
    uint8_t *freed = emit_branch(e, JE, 0);
    emit_store_gs(e, AGT_CTX_TMP, INS_RCX);
    op_entry(e, "\x65\x48\x8b\x8a", ENTRY(landing));
    emit_bytes(e, "\x48\x85\xc9", 3);
    uint8_t *bare = emit_branch(e, JE, 0);
    found_emit(e);
    branch_end(e, bare); /* what seldom happens need not be in the table */
    body_go(e);
    branch_end(e, absent);
    branch_end(e, freed);
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
