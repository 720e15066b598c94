/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the translator needs to know of the instructions of one fragment. */
#ifndef RECORDER_DBI_DECODE_H
#define RECORDER_DBI_DECODE_H

#include <Zydis/Zydis.h>

#include "recorder/agent/xsave.h"
#include "recorder/dbi/dbi.h"

/* How a fragment ends. */
enum dbi_terminal {
    DBI_NEXT, /* goes on with the next instruction */
    DBI_JMP,
    DBI_JCC,
    DBI_LOOP, /* loop*, jrcxz: only a short form exists */
    DBI_CALL,
    DBI_JMP_INDIRECT,
    DBI_CALL_INDIRECT,
    DBI_RET,
    DBI_SYSCALL,
    DBI_RDTSC,
    DBI_RDTSCP,
    DBI_CPUID,
    DBI_XGETBV,
    DBI_RDPID,
    DBI_LSL,
    DBI_SEGMENT,     /* writes ds, es or ss */
    DBI_TRAP,        /* runs natively and faults: int3, ud2, privileged instructions */
    DBI_ILLEGAL,     /* no instruction: ud2 stands in */
    DBI_UNSUPPORTED, /* cannot be replayed */
};

/* All that Zydis says; seldom needed. */
struct dbi_whole {
    ZydisDecodedInstruction zydis;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

/* What instructions of one form (forms.h) have in common. */
struct dbi_traits {
    uint16_t gpr_used;    /* bit n: general register n is read or written, also implicitly */
    uint16_t gpr_written; /* perhaps */
    uint8_t length;
    uint8_t terminal;     /* enum dbi_terminal; DBI_NEXT for all but the last */
    uint8_t flags_read;   /* status flags, CPUFLAG-like private bits */
    uint8_t flags_killed; /* surely written */
    uint8_t opcode;       /* its last byte */
    uint8_t disp_off;     /* where the displacement of a rip-relative operand is */
    uint8_t xsave;        /* enum agt_xsave_kind: 0 for all but xsave and its kin */
    uint8_t x87;          /* enum dbi_x87_kind */
    bool is_wide;         /* xsave and its kin: with REX.W */
    bool is_rep;          /* a string instruction that repeats itself */
    bool writes_r15;
    bool writes_fs_base;
    bool moves_gs_base;   /* rdgsbase, wrgsbase */
    bool uses_gs;         /* an explicit memory operand goes through it */
    bool loads_gs;        /* one that has no other form: lods gs:[rsi] and kin, xlat */
    bool rip_relative;    /* or eip-relative */
    bool names_high_byte; /* ah, ch, dh, bh */
    bool has_memory;      /* operands */
    bool has_no_effect;   /* nop, prefetch */
    bool is_narrow;       /* addresses are cut to 32 bits */
};

struct dbi_insn {
    uint64_t pc;
    uint64_t target; /* of a direct branch */
    uint8_t bytes[15];
    uint8_t page_flags; /* of the pages it lies in: enum dbi_page_flags */
    struct dbi_traits is;
    bool has_whole;
    struct dbi_whole *whole; /* room for it: ask dbi_insn_whole() */
    struct ins_info
        info; /* as far as it was wanted (enum dbi_detail); else only mem_count, 0; whether
                              * it is a cmov, of what condition, and what it chooses by is
                              * always told */
};

struct dbi_code {
    struct dbi_insn insns[DBI_INSN_MAX];
    struct dbi_whole wholes[DBI_INSN_MAX];
    unsigned count;
    unsigned code_bytes;
    bool ended;     /* by the rule, not because no more was wanted or to be had */
    bool unwatched; /* some of it lies in a page that is */
};

#define DBI_FLAGS_ALL 0x3f

/* Gives each instruction its room; nothing is in it. */
void dbi_code_init(struct dbi_code *code);

/* What insn->info is wanted for. */
enum dbi_detail {
    DBI_DETAIL_NONE,   /* nothing, but what cannot be translated is still found */
    DBI_DETAIL_MEMORY, /* instructions with memory operands */
    DBI_DETAIL_ALL,
};

/*
 * Decodes insns[count] from `bytes` (of which `available` may be read) at `pc`. 0, or
 * -WETDBG_ERR_CORRUPT if more bytes would be needed than are available; bytes that are no
 * instruction give DBI_ILLEGAL.
 */
int dbi_insn_decode(struct dbi_insn *insn, uint64_t pc, const uint8_t *bytes, size_t available,
                    enum dbi_detail detail);

/* All that Zydis says of an instruction that was decoded (not DBI_ILLEGAL). Good until insn is
 * decoded anew. */
const struct dbi_whole *dbi_insn_whole(struct dbi_insn *insn);

/* Whether an instruction goes to its target, perhaps. */
static inline bool dbi_insn_is_direct(const struct dbi_insn *insn)
{
    return insn->is.terminal == DBI_JMP || insn->is.terminal == DBI_JCC ||
           insn->is.terminal == DBI_LOOP || insn->is.terminal == DBI_CALL;
}

/* How many bytes more than the address a return takes from the stack. */
static inline uint16_t dbi_insn_extra_bytes(const struct dbi_insn *insn)
{
    return insn->is.opcode == 0xc2 ? (uint16_t)(insn->bytes[insn->is.length - 2] |
                                                insn->bytes[insn->is.length - 1] << 8)
                                   : 0;
}

/* True if nothing in the fragment reads a status flag before all of them are written. */
bool dbi_code_flags_dead(const struct dbi_code *code);

/*
 * True if the fragment can close a cycle: it ends by going back, or anywhere. (A cycle without
 * such a fragment would have to go forward only, or to be made of returns that no call matches.)
 * Also for a fragment that was cut for length, so that straight code is stoppable, too.
 */
bool dbi_code_may_cycle(const struct dbi_code *code);

/* Index of the first instruction from `from` on that names general register `reg`; count if
 * none. */
unsigned dbi_code_next_use(const struct dbi_code *code, unsigned from, unsigned reg);

#endif
