/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a scan keeps of code, apart from any execution: a summary for each node that decides in a
 * few instructions whether an execution can matter, and for each instruction address its source
 * line and its control class.
 *
 * A *control class* is a set of branches on which an instruction depends, as wetdbg_controllers()
 * or wetdbg_controllers_no_exits() gives it; instructions of one block share it. Class 0 is the
 * empty one.
 */
#ifndef SLICER_SCAN_CODE_SUMMARY_H
#define SLICER_SCAN_CODE_SUMMARY_H

#include "common/hash.h"
#include "recorder/insn/insn_ranges.h"
#include "slicer/scan/joined.h"
#include "slicer/scan/memo.h"
#include "slicer/scan/scan_ops.h"
#include "slicer/slicer.h"
#include "wet/model/make_model.h"

#define SLC_UNKNOWN UINT32_MAX

struct slc_glance;
struct slc_node_needs;

enum slc_node_flag {
    SLC_NODE_CALL = 1,     /* the last instruction calls */
    SLC_NODE_RET = 2,      /* ... returns */
    SLC_NODE_JUMP = 4,     /* ... jumps: might leave the function */
    SLC_NODE_INDIRECT = 8, /* ... through a register or memory */
    SLC_NODE_BRANCH = 16,  /* ... may be a controller */
};

struct slc_store {
    uint16_t statement;
    uint8_t operand;
    bool is_range; /* see slc_operand_range() */
    uint16_t slot;
    uint16_t size_bytes;
};

/* What each execution needs comes first: it lies in two lines of the cache; of executions that do
 * something, in three. */
struct slc_node {
    struct ins_regset defs; /* all that its instructions define */
    struct slc_memos memos; /* only if the scan keeps no users */
    uint32_t flags;
    uint32_t statement_count;
    uint32_t store_count;
    uint32_t exit_slot; /* of the return address that the last instruction writes or reads, or
                         * SLC_UNKNOWN */
    bool is_loader;     /* in the dynamic linker's module */
    bool is_resolver;   /* ... and in what might be its lazy-binding resolver */
    bool is_recorder;   /* rr's, which makes system calls here: slicer/scan/recorder.h */
    bool has_displaced; /* ... in a function that may have instructions of the program's */
    bool is_entry;      /* node's pc is its function's start */
    bool is_cold;       /* the function is a split-off part of another one */
    bool has_pops;      /* of saved registers */
    bool is_joined;     /* slicer/scan/joined.h */
    bool has_joins;     /* ... or it is the end of one that is */
    bool is_unwinder;   /* it is one of those that carry exceptions to their handlers */
    uint64_t function;  /* start of the function that holds node's pc; 0 if unknown */
    uint64_t last_pc, branch_bit; /* slc_pc_bit() of last_pc */
    struct slc_store *stores;
    struct slc_glance *glance; /* slicer/forward/glance.h; NULL: no forward pass met it */
    const struct wet_node *wet;
    uint32_t *pc_index;         /* of each statement: into code's pcs */
    struct slc_joining joining; /* as memos */
    struct slc_op_list compiled;
    struct slc_node_needs *needs; /* slicer/forward/needs.h; NULL: nobody asked */
    int8_t *pushed;               /* of each statement: see slc_pushed_register() */
    int8_t *popped;
};

/* Instances of one instruction address. */
struct slc_count {
    uint32_t pc_index; /* in code's pcs */
    uint32_t min_distance;
    uint64_t instances;
    wetdbg_time first_time, last_time;
};

struct slc_pc {
    uint64_t pc;
    uint32_t line;          /* in code's lines, or SLC_UNKNOWN */
    uint32_t klass;         /* control class, or SLC_UNKNOWN */
    struct slc_count tally; /* since the last slc_code_clear_tallies() */
};

struct slc_class {
    uint64_t bloom; /* of slc_pc_bit() of its branches */
    size_t count;
    uint64_t *branches; /* sorted */
    uint32_t next;      /* class with the same hash, or 0 */
    /* Where it was lately demanded; slicer/scan/frames.c. */
    const void *mark_frames;
    uint64_t mark_serial;
    size_t mark_at;
};

static inline uint64_t slc_pc_bit(uint64_t pc)
{
    return UINT64_C(1) << (wd_hash_u64(pc) >> 58);
}

/* Embedded by its holder: slices share that of their session. */
struct slc_code {
    struct wetdbg *wet;
    struct wetdbg_model *model;
    struct wetdbg_slice_session *session; /* NULL: of nobody but its holder */
    bool has_memos, follows_address;
    bool no_exits;    /* what guards a call that never returns does not control what follows */
    bool is_outdated; /* classes are wrong since another code of the session learnt something */
    struct slc_node **nodes; /* by id */
    uint32_t node_limit;
    struct slc_node **joined;
    uint32_t joined_count, joined_capacity;
    struct slc_pc *pcs;
    uint32_t *counted; /* pcs with a tally; room for all */
    uint32_t counted_count;
    struct slc_memo *used_memos; /* that were applied since the last slc_code_clear_tallies() */
    struct wetdbg_slice_line
        *lines; /* what is known of them without any slice; slicer/slice_lines.c */
    uint32_t line_count, line_capacity;
    struct wd_index by_line;
    uint64_t *stub_pages; /* slicer/scan/recorder.c */
    uint32_t stub_page_count, stub_page_capacity;
    bool *are_calls; /* by index in pcs, apart from what scans touch */
    uint32_t pc_count, pc_capacity;
    struct wd_index by_pc;
    struct slc_class *classes;
    uint32_t class_count, class_capacity;
    uint32_t class_heads[1024]; /* by the hash of the branches; 0 if none */
    uint64_t jump_cache[1024];  /* indirect jumps lately told to the model: from ^ to * constant */
    uint64_t *judged; /* functions (starts) of which a class was asked; see code_summary.c */
    uint32_t judged_count, judged_capacity;
};

/* Whether an address is in the dynamic linker. */
bool slc_code_is_loader(const struct slc_code *code, uint64_t pc);

/* Nodes are compiled (slicer/scan/scan_ops.h) as following address edges or not. `has_memos`: for
 * scans that keep no users. */
int slc_code_init(struct slc_code *code, struct wetdbg *wet, bool has_memos, bool follows_address);
void slc_code_fini(struct slc_code *code);

/* The summary of a node that ran; NULL if memory is short or the id is not one. */
struct slc_node *slc_code_make_node(struct slc_code *code, uint32_t id);

static inline struct slc_node *slc_code_node(struct slc_code *code, uint32_t id)
{
    if (id < code->node_limit && code->nodes[id])
        return code->nodes[id];
    return slc_code_make_node(code, id);
}

/* Index of an address in pcs; SLC_UNKNOWN if memory is short. */
uint32_t slc_code_pc(struct slc_code *code, uint64_t pc);
/* Counts instances of pcs[index], of which `first` and `last` are the times. */
static inline void slc_code_tally(struct slc_code *code, uint32_t index, uint64_t instances,
                                  wetdbg_time first, wetdbg_time last, uint32_t distance)
{
    struct slc_count *tally = &code->pcs[index].tally;

    if (tally->instances == 0) {
        *tally = (struct slc_count){index, distance, instances, first, last};
        code->counted[code->counted_count++] = index;
        return;
    }
    tally->instances += instances;
    tally->first_time = first < tally->first_time ? first : tally->first_time;
    tally->last_time = last > tally->last_time ? last : tally->last_time;
    tally->min_distance = distance < tally->min_distance ? distance : tally->min_distance;
}

/* What memos counted becomes tallies; then pcs[counted[0..counted_count)] have all of them. */
void slc_code_collect(struct slc_code *code);
/* ... which begin at nothing again. */
void slc_code_clear_tallies(struct slc_code *code);

/* Index of an address's source line in `lines`; SLC_UNKNOWN if memory is short.
 * slicer/slice_lines.c */
uint32_t slc_code_line(struct slc_code *code, uint32_t index);

/* The control class of pcs[index]; SLC_UNKNOWN if memory is short. Code that the model does not
 * know has the empty class. */
uint32_t slc_code_class(struct slc_code *code, uint32_t index);

static inline bool slc_class_has(const struct slc_class *klass, uint64_t pc)
{
    const uint64_t *at = klass->branches;

    for (size_t count = klass->count; count > 1; count -= count / 2)
        at += at[count / 2] <= pc ? count / 2 : 0;
    return klass->count && *at == pc;
}

/* Whether an indirect jump from one function to an address in another one, which may be the same,
 * is an edge in the graph of a function: not a tail call, longjmp or landing of an exception. */
bool slc_code_is_inner_jump(const struct wetdbg_function *from, const struct wetdbg_function *to,
                            uint64_t target);

/* Tells the model that an indirect jump went there. 1 if classes that were already given out are
 * no longer right. */
int slc_code_saw_jump(struct slc_code *code, const struct slc_node *from,
                      const struct slc_node *to);

/* Forgets classes, memos and what was counted; what is slow to find stays. */
void slc_code_forget(struct slc_code *code);

/* Whether going from one node to the next, by a jump, enters another function. */
bool slc_is_tail_jump(const struct slc_node *from, const struct slc_node *to);
/* Whether it lands where an exception is handled (or cleaned up after). */
bool slc_is_landing(const struct slc_node *from, const struct slc_node *to);
/* Whether it lands in the middle of another function by an indirect jump (longjmp and kin). Direct
 * jumps do so where pieces of hand-written code share their tails. */
bool slc_is_far_jump(const struct slc_node *from, const struct slc_node *to);

/* ---- operands ---- */

/* The bytes that a memory operand of an execution touched (for lanes: may have touched). `slots`
 * are the execution's. Not for vector indices. */
struct ins_range slc_operand_range(const struct wet_statement *statement, unsigned operand,
                                   const uint64_t *slots);

/* Which of an execution's slots has the address of the implicit stack operand of a statement: of a
 * push, pop, call or return. SLC_UNKNOWN if it has none. */
uint32_t slc_stack_slot(const struct wet_statement *statement);

/* All pieces of an operand, vector indices included: at most INS_RANGES_MAX ranges. */
unsigned slc_operand_ranges(const struct wet_statement *statement, unsigned operand,
                            const uint64_t *slots, struct ins_range ranges[INS_RANGES_MAX]);

/* Where byte `address` of what a rep movs wrote (operand `to`) came from before the instruction:
 * its ranges may overlap, and then it reads what it has just written. */
uint64_t slc_moved_from(const struct wet_statement *statement, unsigned to, const uint64_t *slots,
                        uint64_t address);

/* The callee-saved register that an instruction pushes or pops (leave pops rbp), or -1. */
int slc_pushed_register(const struct ins_info *info);
int slc_popped_register(const struct ins_info *info);

/*
 * The callee-saved register that a statement of an execution (with these slots) pops, and where
 * from; or -1. Also -1 if the latest store to that slot is in the same execution and no push of the
 * register, as in `push 1; pop rbx`: that pop is a load, and no pass need be made to find it out.
 */
int slc_restored_register(const struct slc_node *node, uint32_t statement, const uint64_t *slots,
                          uint64_t *slot);

#endif
