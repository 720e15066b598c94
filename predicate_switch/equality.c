/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two ways from a branch are equal if each of them runs through a few harmless instructions to one
 * place, and whatever these changed is overwritten from there on before anything reads it. Nothing
 * is known of other functions, so that all registers are read at the end of a way that leaves.
 */
#include "predicate_switch/candidates_priv.h"
#include "slicer/state_view.h"
#include <wetdbg/model.h>

#define SIDE_MAX  32 /* instructions from the branch to the join */
#define AHEAD_MAX 64 /* instructions from the join on, on each way; beyond them all is read */
#define DEPTH_MAX 6  /* branches on a way from the join on */

const char *wetdbg_equality_name(enum wetdbg_equality equality)
{
    static const char *const names[] = {"", "same place", "same state at the join"};

    return (size_t)equality < sizeof(names) / sizeof(names[0]) ? names[equality] : "";
}

static bool decode(struct wetdbg_model *model, uint64_t pc, struct ins_info *info)
{
    uint8_t code[SLC_INSN_BYTES];

    return slc_decode_unrun(model, pc, UINT64_MAX, code, info);
}

/* Whether an instruction computes from registers to general registers and flags only, whatever
 * their values are. */
static bool is_harmless(const struct ins_info *info)
{
    struct ins_regset defs = ins_all_defs(info);
    bool is_simple = info->klass == INS_PLAIN && info->mem_count == 0 && info->flow_count &&
                     !(info->flags & (INS_IS_APPROXIMATE | INS_IS_REP));

    for (unsigned i = 0; i < info->flow_count && is_simple; i++)
        is_simple = !(info->flows[i].kinds & INS_FLOW_STACK);
    return is_simple && ins_regset_next(&defs, INS_LOC_VEC) == INS_LOC_COUNT &&
           !ins_regset_has(&defs, INS_LOC_DF);
}

/* Division faults by its values; all else that is_harmless() lets through does not. */
static bool may_fault(const struct ins_info *info)
{
    const char *name = ins_mnemonic_name(info->mnemonic);

    return name[0] == 'd' || (name[0] == 'i' && name[1] == 'd') || name[0] == 'u';
}

/* The places that a way runs through, and what is changed before each. */
struct side {
    uint64_t pcs[SIDE_MAX + 1];
    struct ins_regset changed[SIDE_MAX + 1];
    unsigned count;
};

static void run_side(struct wetdbg_model *model, uint64_t pc, struct side *side)
{
    struct ins_regset changed = {{0}};
    struct ins_info info;

    for (side->count = 0; side->count <= SIDE_MAX;) {
        side->pcs[side->count] = pc;
        side->changed[side->count++] = changed;
        if (!decode(model, pc, &info))
            return;
        if (info.klass == INS_JMP) {
            pc = info.target;
            continue;
        }
        bool is_nop = info.klass == INS_PLAIN && !info.flow_count && !info.mem_count &&
                      !(info.flags & INS_IS_APPROXIMATE);
        if (!is_nop && (!is_harmless(&info) || may_fault(&info)))
            return;
        struct ins_regset defs = ins_all_defs(&info);
        ins_regset_join(&changed, &defs);
        pc += info.length;
    }
}

/* What an instruction reads: also the old value of what it perhaps defines, and what addresses and
 * the stack pointer's own arithmetic are made of. */
static struct ins_regset reads_of(const struct ins_info *info)
{
    struct ins_regset uses = ins_all_uses(info);

    for (unsigned i = 0; i < info->mem_count; i++) {
        struct ins_regset address = ins_addr_uses(info, i);
        ins_regset_join(&uses, &address);
        if (info->mems[i].base >= 0)
            ins_regset_add_gpr(&uses, (unsigned)info->mems[i].base, 0, 8);
    }
    for (unsigned i = 0; i < info->flow_count; i++) {
        ins_regset_join(&uses, &info->flows[i].may_defs);
        if (info->flows[i].kinds & INS_FLOW_STACK) {
            ins_regset_add_gpr(&uses, INS_RSP, 0, 8);
            ins_regset_add_gpr(&uses, INS_RBP, 0, 8);
        }
    }
    return uses;
}

static void remove_defs(const struct ins_info *info, struct ins_regset *left)
{
    for (unsigned i = 0; i < info->flow_count; i++)
        ins_regset_remove(left, &info->flows[i].defs);
}

/* Whether everything in `changed` is overwritten from pc on, on all ways, before it is read. */
static bool is_dead(struct wetdbg_model *model, uint64_t pc, struct ins_regset changed,
                    unsigned depth)
{
    struct ins_info info;

    for (unsigned i = 0; i < AHEAD_MAX; i++) {
        if (ins_regset_is_empty(&changed))
            return true;
        if (!decode(model, pc, &info) || (info.flags & INS_IS_APPROXIMATE))
            return false;
        struct ins_regset reads = reads_of(&info);
        if (ins_regset_intersects(&reads, &changed))
            return false;
        if (info.klass == INS_JMP) {
            pc = info.target;
        } else if (info.klass == INS_JCC) {
            if (depth == DEPTH_MAX || !is_dead(model, info.target, changed, depth + 1))
                return false;
            pc += info.length;
        } else if (info.klass == INS_PLAIN) {
            remove_defs(&info, &changed);
            pc += info.length;
        } else {
            return false;
        }
    }
    return false;
}

static bool joins(struct wetdbg_model *model, uint64_t one, uint64_t other)
{
    struct side a, b;

    run_side(model, one, &a);
    run_side(model, other, &b);
    for (unsigned i = 0; i < a.count; i++)
        for (unsigned j = 0; j < b.count; j++)
            if (a.pcs[i] == b.pcs[j]) {
                struct ins_regset changed = a.changed[i];
                ins_regset_join(&changed, &b.changed[j]);
                return is_dead(model, a.pcs[i], changed, 0);
            }
    return false;
}

enum wetdbg_equality wetdbg_candidate_equality(struct wetdbg_candidates *candidates,
                                               const struct wetdbg_candidate *candidate)
{
    enum wetdbg_predicate_kind kind = candidates->predicates.items[candidate->predicate].kind;

    if (candidate->went == candidate->to)
        return WETDBG_EQUALITY_PLACE;
    if (kind != WETDBG_PREDICATE_BRANCH && kind != WETDBG_PREDICATE_TABLE)
        return WETDBG_EQUALITY_NONE;
    return joins(wetdbg_get_model(candidates->wet), candidate->went, candidate->to)
               ? WETDBG_EQUALITY_JOIN
               : WETDBG_EQUALITY_NONE;
}
