/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One fragment on its way to host code.
 *
 *   translate.c  start, bookkeeping, instructions
 *   lanes.c      gathers and scatters
 *   operand.c    bit numbers, segments: what no lea computes
 *   branch.c     how a fragment ends; leaving for the agent
 *   lookup.c     indirect branches: tables, prefixes, what regions share
 *   wall.c       keeps the program from what is ours
 */
#ifndef RECORDER_DBI_TRANSLATE_PRIV_H
#define RECORDER_DBI_TRANSLATE_PRIV_H

#include "recorder/agent/agent.h"
#include "recorder/dbi/emit.h"
#include "recorder/dbi/translate.h"

#define HOME(reg) ((uint32_t)(AGT_CTX_GPR + 8 * (reg)))
#define R11       11
#define R15       15

struct work {
    struct emit *e;
    struct emit *cold;
    struct dbi_code *code;
    struct dbi_output *out;
    uint8_t *start;
    enum dbi_mode mode;
    uint32_t id;
    uint16_t spilled; /* in their homes */
    uint16_t busy;    /* of those: in use right now */
    int r15;          /* register that holds the program's r15, or -1 */
    unsigned slot;    /* next one of the execution's */
    unsigned word;    /* next one of the ring record, from 0 behind its first */
    bool exact, ticks, values, x87_is_lost;
    const struct dbi_shared *shared;
    const struct dbi_pad *pad;     /* to be used; NULL: none yet */
    const struct agt_site *site;   /* of an indirect jump or call; NULL: not by a table */
    bool flags_free;               /* no flag is live at the start of the fragment */
    uint8_t covered[DBI_INSN_MAX]; /* bit m: operand m's lines are already marked */
    unsigned differ_count;         /* of out->differs */
    const struct dbi_wall *wall;   /* NULL: there is none */
    uint16_t seen;                 /* registers that are near an address that was looked at: */
    int64_t distance[16];          /* so far from it */
};

/* ---- translate.c ---- */

/* The next byte belongs to instruction `insn`, if it faults. */
void dbi_place_add(struct work *w, unsigned insn);

/* Gives those of `which` that are spilled their values back. */
void dbi_regs_restore(struct work *w, uint16_t which);

/* A register that holds the program's r15. */
unsigned dbi_r15_get(struct work *w, unsigned at);

/* Leaves for the agent, which comes back to what follows. */
void dbi_agent_call(struct work *w, enum agt_exit kind, uint32_t arg);

/* A register that instruction `at` does not name and that is not in `avoid`, saved in its home. */
unsigned dbi_reg_borrow(struct work *w, unsigned at, uint16_t avoid);
void dbi_reg_return(struct work *w, unsigned reg);

/* lea to, [operand + more], segment base and bit offset included, without flags. */
void dbi_address_get(struct work *w, unsigned at, const struct ins_mem *mem, unsigned to,
                     int64_t more);

/* What stands in for registers where an instruction is encoded anew; -1: they keep their names. */
struct dbi_renaming {
    int r15;
    int rip;
    int flat; /* has the whole address of its memory operand, but for vector indices and bit numbers */
};
int dbi_reencode(struct work *w, unsigned at, struct dbi_renaming names);

/* Where a word of the record (from 0, behind the first one) is from r15d, which is behind the record. */
static inline int32_t dbi_word_off(const struct work *w, unsigned word)
{
    return 8 * ((int32_t)word - (int32_t)w->out->word_count);
}

/* mov gs:[r15d + ...], reg */
void dbi_ring_store(struct work *w, unsigned word, unsigned reg);

/* [disp] += n without flags, at instruction `at` */
void dbi_gs_add(struct work *w, unsigned at, uint32_t disp, int32_t n);

/* The address that a rip-relative (or, cut to 32 bits, eip-relative) operand means. */
uint64_t dbi_rip_address(const struct dbi_insn *insn);

/* The register that holds the program's `reg` (or -1, for none) now. */
int dbi_mem_register(struct work *w, unsigned at, int reg);

/* ---- lanes.c ---- */

/* Puts the indices at AGT_LANES_OFF in the context. False: the processor lacks the instruction. */
bool dbi_lanes_store(struct work *w, const struct ins_mem *mem);

/* Index and mask go to the ring, 8 words each, behind the word of the address. */
void dbi_lanes_collect(struct work *w, unsigned at, const struct ins_mem *mem);

/* The agent marks what the mask of a scatter chooses. */
void dbi_lanes_mark(struct work *w, unsigned at, const struct ins_mem *mem);

/* ---- operand.c ---- */

/* Adds what an operand's bit register says. */
void dbi_bit_offset_add(struct work *w, unsigned at, const struct ins_mem *mem, unsigned to);

/* reg, which is not rax, goes down to the start of its line of 64 bytes. */
void dbi_line_start(struct work *w, unsigned reg);

/* Adds the base of the operand's segment, which is fs or gs. */
void dbi_segment_add(struct work *w, unsigned at, const struct ins_mem *mem, unsigned to);

/* An instruction with a memory operand through gs. 0, or -WETDBG_ERR_UNSUPPORTED. */
int dbi_gs_insn_emit(struct work *w, unsigned at);

/* An instruction that reads memory through gs, which gets the program's base for so long (loads_gs). */
void dbi_gs_load_emit(struct work *w, unsigned at);

/* rdgsbase, wrgsbase */
void dbi_gs_base_emit(struct work *w, unsigned at);

/* gs:[disp] = the address of the first memory operand of instruction `at` */
void dbi_address_keep(struct work *w, unsigned at, uint32_t disp);

/* ---- x87_emit.c ---- */

/* What is due before instruction `at` and behind it, if it is one of the x87 unit's. */
void dbi_x87_before(struct work *w, unsigned at);
void dbi_x87_after(struct work *w, unsigned at);

/* ---- processor_emit.c ---- */

/* rdpid, lsl, writes of ds, es and ss: the last instruction */
void dbi_processor_emit(struct work *w, unsigned at);

/* ---- branch.c ---- */

/* The last instruction. */
void dbi_terminal_emit(struct work *w);

/* ctx.rip = rip */
void dbi_rip_store(struct emit *e, uint64_t rip);

/* Leaves for the agent at `rip`. */
void dbi_leave_emit(struct emit *e, uint64_t rip, enum agt_exit kind);

/* The same for time, shorter. */
void dbi_leave_time_emit(struct work *w, uint64_t rip);

/* Leaves only if the filter holds. */
void dbi_filter_emit(struct work *w, const struct dbi_filter *filter);

/* A branch (enum emit_branch) to another fragment; who emits this one leads it there. */
void dbi_exit_add(struct work *w, unsigned opcode, uint64_t target);

/* ---- wall.c ---- */

/* Looks, before instruction `at`, at the addresses that it will use. */
void dbi_wall_look(struct work *w, unsigned at);

/* What is still known of registers behind it. */
void dbi_wall_pass(struct work *w, unsigned at);

/* ---- lookup.c ---- */

/* Pushes the return address and goes to `target` (0: to that in r11), at instruction `at`. */
void dbi_call_emit(struct work *w, unsigned at, uint64_t next, uint64_t target);

/* Returns; r11 and rcx are in their homes. */
void dbi_return_emit(struct work *w, unsigned at, uint16_t extra_bytes);

/* Goes on at the jump's target in r11; r11 and rcx are in their homes. */
void dbi_lookup_emit(struct work *w);

#endif
