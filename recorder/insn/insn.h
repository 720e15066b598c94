/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What one x86-64 instruction defines and uses.
 *
 * ins_decode() turns code bytes into a struct ins_info: a class (how control leaves it), the
 * memory operands, and up to INS_FLOW_MAX *flows*. A flow says "these places get a new value that
 * is a function of those places and of nothing else"; an instruction that computes two unrelated
 * things (xchg, push, a string move) has a flow for each, so that a slicer follows one without
 * dragging in the other. Register places are numbered *locations*; memory places are bits that
 * name memory operands. Everything is static: no register values are needed.
 *
 * The rules a slicer relies on:
 *  - The new contents of each place in a flow's `defs`, `mem_defs`, `may_defs` or `mem_may_defs`
 *    depend on that flow's value_uses, cond_uses and mem_uses (and, for a memory use, on
 *    ins_addr_uses() of the operand, which is the address edge), and on nothing else. Where a
 *    defined memory operand lies depends on its ins_addr_uses(), too.
 *  - `defs` and `mem_defs` are overwritten whenever the instruction completes: no earlier
 *    definition survives (if the old value matters it is among the uses). Search ends there.
 *  - `may_defs` and `mem_may_defs` may keep their old value, wholly or in part. The slicer takes
 *    the flow's uses AND goes on searching for earlier definitions of the place. They are:
 *    the destination of bsf/bsr (zero source); flags of shifts and rotates by cl (count 0);
 *    memory, al/ax/eax/rax and flags that a rep string instruction defines (count 0); both
 *    destinations of cmpxchg*; masked and compressed stores; destinations of merge-masked scalars
 *    (but of moves) and FP16; gathers' destinations; status word and pointers of the x87, of
 *    which an instruction writes a part; st(i) (but see ins_settle()); the sticky exception flags
 *    of MXCSR; what fxsave and xsave store and xrstor loads; results of lar and lsl, and of
 *    rdssp, sldt, str and smsw (nops, or emulated by the kernel).
 *  - Flags that the manual calls undefined count as defined.
 *  - Writing a 32-bit register defines all of the 64-bit one. Legacy SSE leaves bytes 16..63 of a
 *    vector register, VEX and EVEX encodings zero what lies above their length.
 *  - Zeroing and ones idioms (xor r,r; sub r,r; pxor x,x; pcmpeq x,x; and r,0; or r,-1; ...) use
 *    nothing; sbb r,r uses CF only, as a condition.
 *  - The stack pointer's and frame pointer's own arithmetic (push, pop, call, ret, enter, leave,
 *    add/sub/and rsp,imm, lea rsp,[..], mov rbp,rsp, mov rsp,rbp) is a flow of its own, marked
 *    INS_FLOW_STACK, with empty use sets. rsp as base of an address gives no address use.
 *  - A cmov is two flows: one INS_FLOW_TAKEN (source to destination), one INS_FLOW_NOT_TAKEN (the
 *    destination's own old value). Exactly one applies, by ins_condition_holds(info->condition,
 *    ...), or by the slots of an execution (ins_skipped_flow()).
 *  - What takes bytes by a mask or by a vector of indices (blends, masked moves, compress and
 *    expand, pshufb and other permutations: INS_CHOICE_BYTES) is one flow that uses all that it
 *    may take. ins_pick_get() says by the slots of an execution which bytes it took, by what, and
 *    which it wrote. So it is with what computes under an AVX-512 mask: elements are computed, or
 *    kept or zero. A second flow then has the flags of MXCSR.
 *  - TOP and the tags of x87 registers (which are empty) are bookkeeping like the stack pointer:
 *    they are no uses of what computes, and where that is all that changes, of a register that is
 *    popped or of all those that MMX uses at once, the flow is marked INS_FLOW_STACK.
 *  - What control flow depends on is a flow without definitions, marked INS_FLOW_BRANCH.
 *  - Places are the pieces below, and a flow is as precise as its sets; only copies
 *    (INS_FLOW_COPIES) say for each byte where it comes from.
 */
#ifndef RECORDER_INSN_INSN_H
#define RECORDER_INSN_INSN_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- register locations ---- */

/* General registers are numbered as instructions encode them. */
enum ins_gpr {
    INS_RAX,
    INS_RCX,
    INS_RDX,
    INS_RBX,
    INS_RSP,
    INS_RBP,
    INS_RSI,
    INS_RDI,
    INS_R8, /* ..r15 = 15 */
    INS_GPR_COUNT = 16,
};

/*
 * Locations, in groups:
 *   INS_LOC_GPR + 3 * gpr + piece      piece 0: byte 0, 1: byte 1 (ah), 2: bytes 2..7
 *   INS_LOC_VEC + 5 * vector + piece   pieces: bytes 0..3, 4..7, 8..15, 16..31, 32..63
 *   INS_LOC_K + k                      a whole mask register
 *   INS_LOC_ST + r                     x87 register r and its tag: mm(r); st(i) if TOP + i is r
 * The pointers that fxsave stores are one location; the x87's status word (with TOP and C0..C3) and
 * its control word have one each. MXCSR is split into its sticky exception flags (bits 0..5) and
 * the rest, so that arithmetic does not depend on earlier arithmetic. RIP is no location.
 */
enum ins_loc {
    INS_LOC_GPR = 0,
    INS_LOC_CF = 48,
    INS_LOC_PF,
    INS_LOC_AF,
    INS_LOC_ZF,
    INS_LOC_SF,
    INS_LOC_OF,
    INS_LOC_DF,
    INS_LOC_VEC = 55,
    INS_LOC_K = 215,
    INS_LOC_ST = 223,
    INS_LOC_X87 = 231,
    INS_LOC_X87_STATUS,
    INS_LOC_X87_CONTROL,
    INS_LOC_MXCSR_STATUS,
    INS_LOC_MXCSR_CONTROL,
    INS_LOC_FS_BASE,
    INS_LOC_GS_BASE,
    INS_LOC_PKRU,
    INS_LOC_COUNT,
};

#define INS_GPR_PIECES 3
#define INS_VEC_PIECES 5

/* A set of locations; all zero is empty. */
struct ins_regset {
    uint64_t bits[4];
};

static inline void ins_regset_add(struct ins_regset *set, unsigned loc)
{
    assert(loc < INS_LOC_COUNT);
    set->bits[loc / 64] |= UINT64_C(1) << (loc % 64);
}

static inline bool ins_regset_has(const struct ins_regset *set, unsigned loc)
{
    assert(loc < INS_LOC_COUNT);
    return set->bits[loc / 64] >> (loc % 64) & 1;
}

static inline bool ins_regset_is_empty(const struct ins_regset *set)
{
    return (set->bits[0] | set->bits[1] | set->bits[2] | set->bits[3]) == 0;
}

static inline bool ins_regset_intersects(const struct ins_regset *a, const struct ins_regset *b)
{
    return ((a->bits[0] & b->bits[0]) | (a->bits[1] & b->bits[1]) | (a->bits[2] & b->bits[2]) |
            (a->bits[3] & b->bits[3])) != 0;
}

/* a |= b; a &= ~b. */
static inline void ins_regset_join(struct ins_regset *a, const struct ins_regset *b)
{
    for (unsigned i = 0; i < 4; i++)
        a->bits[i] |= b->bits[i];
}

static inline void ins_regset_remove(struct ins_regset *a, const struct ins_regset *b)
{
    for (unsigned i = 0; i < 4; i++)
        a->bits[i] &= ~b->bits[i];
}

/* The first location >= `from` in the set, or INS_LOC_COUNT:
 * for (l = ins_regset_next(s, 0); l < INS_LOC_COUNT; l = ins_regset_next(s, l + 1)) */
unsigned ins_regset_next(const struct ins_regset *set, unsigned from);

/* Add the pieces that `count` bytes from byte `first` of a register touch. */
void ins_regset_add_gpr(struct ins_regset *set, unsigned gpr, unsigned first, unsigned count);
void ins_regset_add_vector(struct ins_regset *set, unsigned vector, unsigned first, unsigned count);

/* "rax.b0", "rax.b1", "rax.b2-7", "CF", "zmm3.b16-31", "k1", "mxcsr.status"...; static strings,
 * NULL when loc >= INS_LOC_COUNT. */
const char *ins_location_name(unsigned loc);

/* The set that a person's register name stands for ("al", "ah", "eax", "r8d", "xmm3", "ymm3",
 * "k1", "cf", "rflags", "mxcsr", "fs_base", case ignored). A 32-bit name reads as its whole
 * 64-bit register. 0, or -ENOENT for an unknown name; keeps `set` then. */
int ins_regset_parse(const char *name, struct ins_regset *set);

/* ---- memory operands ---- */

enum ins_mem_flag {
    INS_MEM_READ = 1 << 0,
    INS_MEM_WRITE = 1 << 1,
    INS_MEM_IMPLICIT = 1 << 2, /* not written in the text: stack slots, string operands, ... */
    INS_MEM_STACK = 1 << 3,    /* the address is rsp plus a constant (base rsp or implicit) */
    INS_MEM_REP = 1 << 4,      /* a range: size_bytes is one element, see below */
    INS_MEM_LANES = 1 << 5,    /* see below */
    INS_MEM_FS = 1 << 6,       /* the FS base is added */
    INS_MEM_GS = 1 << 7,
    INS_MEM_ADDR32 = 1 << 8,      /* base + index * scale + disp is cut to 32 bits first */
    INS_MEM_VSIB32 = 1 << 9,      /* `index` is a vector register of signed 32-bit elements */
    INS_MEM_VSIB64 = 1 << 10,     /* ... of 64-bit elements */
    INS_MEM_BIT_OFFSET = 1 << 11, /* bt and kin with a register bit offset, see below */
    INS_MEM_INDEX_BYTE = 1 << 12, /* xlat: the index is the zero-extended low byte */
    INS_MEM_SIZE_BOUND = 1 << 13, /* xsave, xrstor: an upper bound; see insn_image.h */
    INS_MEM_LINE = 1 << 14,       /* the address is rounded down to its 64-byte line (clzero) */
    INS_MEM_K = 1 << 15, /* with INS_MEM_VSIB*: the mask is a mask register, not a vector */
};

/*
 * address = base + index * scale + disp [+ FS or GS base]
 *
 * It is always in terms of the registers *before* the instruction: a push writes
 * [rsp - 8], `pop [rsp]` (whose address uses the incremented rsp) is [rsp + 8].
 * Absent registers are -1. A RIP-relative operand has neither and its absolute address in disp.
 *
 * INS_MEM_REP: rcx (ecx if INS_MEM_ADDR32) elements, at most that many for repe/repne cmps and
 *   scas, upwards if DF = 0, else downwards; count 0 touches nothing.
 * INS_MEM_LANES: only some bytes are touched, chosen by a mask or by vector indices. Without
 *   VSIB, size_bytes from the address on is a conservative range. With VSIB the operand is a list
 *   of `lanes` addresses base + element * scale + disp, and size_bytes is the size of one element;
 *   those are touched whose bit in the mask is set: bit `lane` of a mask register (INS_MEM_K), the
 *   highest bit of the vector's element of size_bytes.
 * INS_MEM_BIT_OFFSET: add ((signed) bit_reg >> log2(8 * size_bytes)) * size_bytes, where bit_reg
 *   is read at the operand's size.
 */
struct ins_mem {
    int64_t disp;
    uint16_t size_bytes;
    uint16_t flags; /* enum ins_mem_flag */
    int8_t base;    /* enum ins_gpr, or -1 */
    int8_t index;   /* enum ins_gpr, or -1; with INS_MEM_VSIB* a vector register */
    int8_t bit_reg; /* enum ins_gpr with INS_MEM_BIT_OFFSET, or -1 */
    uint8_t scale;  /* 1, 2, 4, 8; 0 without index */
    uint32_t lanes; /* with INS_MEM_VSIB*: how many; else 0 */
    int32_t mask; /* with INS_MEM_VSIB*: number of the register that chooses among them; else -1 */
};

/* ---- flows ---- */

enum ins_flow_kind {
    /* Byte i of the destination is byte i of the source, constant zeros beyond the source, where
     * bytes count from the lowest one in either's set. One source and one destination, each a
     * memory operand or one register. With INS_MEM_REP the ranges correspond byte by byte
     * (movs), or each element is the source (stos). */
    INS_FLOW_COPY = 1 << 0,
    /* Stack and frame pointer bookkeeping: use sets are empty by rule. */
    INS_FLOW_STACK = 1 << 1,
    /* The alternatives of a cmov. */
    INS_FLOW_TAKEN = 1 << 2,
    INS_FLOW_NOT_TAKEN = 1 << 3,
    /* Defines nothing; what the next instruction's address depends on. */
    INS_FLOW_BRANCH = 1 << 4,
    /* The result is rsp plus a constant (mov r,rsp; lea r,[rsp+c]). rsp is listed as use. */
    INS_FLOW_STACK_ADDRESS = 1 << 5,
    /* Like INS_FLOW_COPY, but what lies above the source's bytes are copies of its highest bit
     * (movsx, cdqe and kin). */
    INS_FLOW_SIGN_COPY = 1 << 6,
    /* Like INS_FLOW_COPY, but the source's bytes come in the opposite order (bswap, movbe). A flow
     * is one kind of copy at most. */
    INS_FLOW_REVERSED_COPY = 1 << 7,
};

#define INS_FLOW_COPIES (INS_FLOW_COPY | INS_FLOW_SIGN_COPY | INS_FLOW_REVERSED_COPY)

/* mem_*: bit i is info->mems[i]. */
struct ins_flow {
    struct ins_regset defs;
    struct ins_regset may_defs;
    struct ins_regset value_uses;
    struct ins_regset cond_uses;
    uint8_t mem_defs;
    uint8_t mem_may_defs;
    uint8_t mem_uses;
    uint8_t kinds; /* enum ins_flow_kind */
    /* Of a copy: bytes of the source, which pieces do not tell (eax from rax). 0 if it is no copy
     * or has no source that is a memory operand, a general or a vector register. */
    uint8_t copy_bytes;
    /* Bit r: of general register r in value_uses only bytes 0..3 are used. */
    uint16_t halves;
    /* Bit i: st(i), before the instruction. The sets have all eight registers in place of these
     * (definitions as perhaps), until ins_settle() says which they are. */
    uint8_t st_uses, st_defs, st_may_defs;
};

/* ---- instructions ---- */

enum ins_class {
    INS_PLAIN, /* goes on with the next instruction (or faults) */
    INS_JCC,   /* jcc, loop*, jrcxz: to `target` or on */
    INS_JMP,   /* to `target` */
    INS_JMP_INDIRECT,
    INS_CALL, /* to `target` */
    INS_CALL_INDIRECT,
    INS_RET,
    INS_SYSCALL, /* what the kernel does to memory is not described here */
    INS_TRAP,    /* int3, int1, ud*, hlt and other privileged ones: no flows, no operands */
    INS_FAR,     /* far transfers, int n, sysenter, iret, TSX; no flows */
    /* The results of these are inputs from outside the program. */
    INS_CPUID,
    INS_RDTSC,  /* rdtsc, rdtscp */
    INS_RDRAND, /* rdrand, rdseed */
    INS_XGETBV,
    INS_RDPID, /* rdpid, lsl */
};

/* What `condition` holds: the low four bits of a jcc opcode, or one of the rest. */
enum ins_condition {
    INS_COND_O,
    INS_COND_NO,
    INS_COND_B,
    INS_COND_NB,
    INS_COND_Z,
    INS_COND_NZ,
    INS_COND_BE,
    INS_COND_NBE,
    INS_COND_S,
    INS_COND_NS,
    INS_COND_P,
    INS_COND_NP,
    INS_COND_L,
    INS_COND_NL,
    INS_COND_LE,
    INS_COND_NLE,
    INS_COND_RCXZ, /* rcx == 0 */
    INS_COND_ECXZ,
    INS_COND_LOOP, /* --rcx != 0 */
    INS_COND_LOOPE,
    INS_COND_LOOPNE,
    INS_COND_LOOP32, /* --ecx != 0 */
    INS_COND_LOOPE32,
    INS_COND_LOOPNE32,
    INS_COND_NONE = 0xff,
};

enum ins_info_flag {
    INS_IS_CMOV = 1 << 0,
    INS_IS_REP = 1 << 1,      /* a rep string instruction: executes 0..rcx times */
    INS_IS_REP_TEST = 1 << 2, /* ... that also ends by ZF (repe/repne cmps, scas) */
    INS_IS_LOCKED = 1 << 3,
    INS_IS_ZEROING = 1 << 4, /* a zeroing or ones idiom: its result uses nothing */
    /* Sets were taken from the decoder's tables without a rule of ours, or some effect (privileged
     * state, tiles) has no location. Never set for instructions that user code normally holds. */
    INS_IS_APPROXIMATE = 1 << 5,
};

/* ---- what only an execution tells ---- */

enum ins_choice_kind {
    INS_CHOICE_NONE,
    INS_CHOICE_CONDITION, /* a cmov: one slot, whether it took its operand */
    INS_CHOICE_BYTES,     /* where each byte of a vector, or of a store, comes from */
    INS_CHOICE_TOP,       /* which registers st(i) are: one slot, the status word before, of which
                           * bits 11..13 are TOP and no others mean anything */
    INS_CHOICE_IMAGE,     /* what xsave and its kin touch of the image: enum ins_image_slot */
};

/* How the selector of INS_CHOICE_BYTES is read, element by element. */
enum ins_pick_shape {
    INS_PICK_SAME,   /* each element from the same place; it says nothing, or (has_signs) whether */
    INS_PICK_LANE16, /* pshufb: a byte of the same 16, or zero */
    INS_PICK_LANE4,  /* vpermilps: one of four elements */
    INS_PICK_LANE2,  /* vpermilpd: one of two, by bit 1 */
    INS_PICK_ONE,    /* any element of from[0] */
    INS_PICK_TWO,    /* ... or of from[1], by the next higher bit */
    /* Without a selector: */
    INS_PICK_LOW,    /* vmovss and kin: the mask is about the lowest; the others from from[1] */
    INS_PICK_GATHER, /* vpcompress: the elements of the mask's bits that are set, one by one */
    INS_PICK_SPREAD, /* vpexpand: elements in a row go where the mask's bits are set */
};

/* Places of bytes: below 32 a vector register, INS_PLACE_MEMORY + m a memory operand. */
#define INS_PLACE_MEMORY   0x40
#define INS_PLACE_COMPUTED 0xfc /* it was computed from ins_computed_uses() */
#define INS_PLACE_ZERO     0xfd
#define INS_PLACE_KEPT     0xfe /* it stays as it is, and nothing was defined */
#define INS_PLACE_NONE     0xff

/*
 * Slots of an execution behind those of its memory operands, and what they mean. Those of
 * INS_CHOICE_BYTES are the selector, which is a vector register or a memory operand (16, 32 or 64
 * bytes), then a mask register. insn_pick.h reads them.
 */
struct ins_choice {
    uint8_t kind;     /* enum ins_choice_kind; what follows is about INS_CHOICE_BYTES */
    uint8_t slots;    /* of any kind: how many */
    uint8_t selector; /* place, or INS_PLACE_NONE */
    uint8_t mask;     /* register, or INS_PLACE_NONE; its bits choose among the elements, too */
    uint8_t shape;    /* enum ins_pick_shape */
    uint8_t element_bytes;
    uint8_t bytes;   /* of the destination operand */
    uint8_t to;      /* place */
    uint8_t from[2]; /* places; the second one of INS_PICK_TWO, _LOW, else INS_PLACE_NONE */
    uint8_t other;   /* place of elements that are not chosen, or INS_PLACE_ZERO, _KEPT */
    bool has_signs;  /* an element is chosen if the highest bit of the selector's is set */
    bool is_spread;  /* a memory operand has one element, which is taken for all; of a selector
                      * its slot has that in its lowest bytes */
    bool is_legacy;  /* of a vector what lies above `bytes` is kept and not cleared */
    bool uses_old; /* what is computed (from[0] is INS_PLACE_COMPUTED) uses the destination, too */
    /* Of any instruction: what it adds to TOP, or that only running it tells. */
    int8_t top_step;
    bool loses_top;
};

/* Bytes that the selector has: as many as the destination, or one element of it. */
static inline unsigned ins_selector_bytes(const struct ins_choice *choice)
{
    if (choice->selector == INS_PLACE_NONE)
        return 0;
    return choice->is_spread && choice->selector == INS_PLACE_MEMORY ? choice->element_bytes
                                                                     : choice->bytes;
}

#define INS_MEM_MAX  4
#define INS_FLOW_MAX 4

/*
 * Plain data: copy it, cache it, compare it. Of `flows` only the first flow_count entries mean
 * anything, the others are zero; it comes last so that a cache may keep the first
 * ins_info_bytes() bytes only.
 *
 * Memory operands are in a fixed order, by which a tracer records one address each:
 *   1. explicit operands, in the order of the Intel syntax (the order that ins_text prints);
 *   2. the implicit stack slot of push, pop, call, ret, enter, leave, pushf, popf
 *      (enter with a nesting level: all slots it writes, as one operand);
 *   3. for string instructions only: the [rdi] operand, then the [rsi] operand;
 *   4. any other implicit operand (xlat, maskmov*, movdir64b, clzero, nested enter's [rbp]).
 * lea, nop, prefetch and cache-line instructions have none.
 */
struct ins_info {
    uint64_t target; /* of INS_JCC, INS_JMP, INS_CALL; else 0 */
    uint16_t mnemonic;
    uint8_t length;
    uint8_t klass;     /* enum ins_class */
    uint8_t condition; /* enum ins_condition: of jcc, cmov, setcc; else INS_COND_NONE */
    uint8_t flags;     /* enum ins_info_flag */
    uint8_t mem_count;
    uint8_t flow_count;
    struct ins_choice choice;
    struct ins_mem mems[INS_MEM_MAX];
    struct ins_flow flows[INS_FLOW_MAX];
};

static inline size_t ins_info_bytes(const struct ins_info *info)
{
    return offsetof(struct ins_info, flows) + info->flow_count * sizeof(struct ins_flow);
}

/*
 * Decodes the instruction at `code`, of which `len` bytes may be read, as if at address `pc`.
 * `code` is untrusted. Returns 0, or -WETDBG_ERR_CORRUPT when the bytes are no instruction or are
 * cut short by `len`; *out is written only on success. Thread-safe; needs no set-up.
 */
int ins_decode(const uint8_t *code, size_t len, uint64_t pc, struct ins_info *out);

/* Intel syntax, absolute branch targets, into buf[size] (always terminated, cut if too long).
 * 0, or -WETDBG_ERR_CORRUPT as above, with "(bad)" in buf. */
int ins_text(const uint8_t *code, size_t len, uint64_t pc, char *buf, size_t size);

/*
 * For an instruction that moves a value (its flow is an INS_FLOW_COPY, or it extends a sign: movsx,
 * cdqe and kin): how many bytes its source has. What the destination has above them is zeros, or
 * copies of the sign bit if *is_sign_extended. 0 if it has no source or is no instruction.
 */
unsigned ins_moved_bytes(const uint8_t *code, size_t len, bool *is_sign_extended);

/* "mov"; static string, "?" for a number that is none. */
const char *ins_mnemonic_name(unsigned mnemonic);

/* What the address of info->mems[i] depends on: base, index, bit offset register, vector indices,
 * FS or GS base, DF of a rep range. rsp gives nothing; rbp is listed, and the slicer judges at
 * run time whether it is a frame pointer. Empty for i >= mem_count. */
struct ins_regset ins_addr_uses(const struct ins_info *info, unsigned i);

/*
 * How many bytes from its start an XSAVE image can take, in which only the components in
 * `components` (XCR0 & edx:eax) are present. `mnemonic` tells the compacted layout of xsavec from
 * the standard one. Component offsets are those of the running processor.
 */
#define INS_XSAVE_BYTES_MAX 11008
unsigned ins_xsave_bytes(unsigned mnemonic, uint64_t components);

/*
 * The description of an execution of an instruction with INS_CHOICE_TOP, whose slots are these: its
 * flows name the registers that st(i) were. Written to *out, whose address is returned; the address
 * of `info` for all other instructions.
 */
const struct ins_info *ins_settle(const struct ins_info *info, const uint64_t *slots,
                                  struct ins_info *out);

/* Unions over all flows: everything defined for sure or perhaps; every value and condition use. */
struct ins_regset ins_all_defs(const struct ins_info *info);
struct ins_regset ins_all_uses(const struct ins_info *info);

/* What the elements are computed of that are INS_PLACE_COMPUTED: registers; and the memory that
 * flow 0 uses. */
struct ins_regset ins_computed_uses(const struct ins_info *info);

/* Whether what comes from a place comes from memory. */
static inline bool ins_place_is_memory(const struct ins_info *info, unsigned place)
{
    if (place == INS_PLACE_COMPUTED)
        return info->flows[0].mem_uses != 0;
    return place >= INS_PLACE_MEMORY && place < INS_PLACE_COMPUTED;
}

/* Whether a condition holds for these register values (from before the instruction); `condition`
 * other than INS_COND_NONE. `rflags` as pushf stores it. */
bool ins_condition_holds(unsigned condition, uint64_t rflags, uint64_t rcx);

#endif
