/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of finding dependences, for the files of wet/depend/ and their tests only. */
#ifndef WET_DEPEND_DEPEND_PRIV_H
#define WET_DEPEND_DEPEND_PRIV_H

#include <stdbool.h>

#include "common/buf.h"
#include "recorder/dbi/emit_vector.h"
#include "recorder/event/queue.h"
#include "recorder/replay/engine.h"
#include "wet/depend/depend.h"

/* ---- shadow.c: who defined each byte of memory ---- */

/*
 * A chunk of 4 GiB of addresses has *granules*: a label for every four bytes, at the same distance
 * from the chunk's start as the bytes themselves. DEP_MIXED stands for "not the same for all four";
 * then the labels are in the *sides*, one for each byte. Chunks are reserved when something in them
 * is first labelled. Of addresses the low 48 bits count.
 */
#define DEP_MIXED       UINT32_MAX
#define DEP_CHUNK_BYTES (UINT64_C(1) << 32)
#define DEP_CHUNKS      65536

struct dep_shadow {
    uint8_t *granules[DEP_CHUNKS]; /* NULL: nothing in the chunk has a label */
    uint32_t *sides[DEP_CHUNKS];
};

void dep_shadow_fini(struct dep_shadow *shadow);

/* The label of the byte at an address, and how many of `bytes` (not 0) bytes from there have the
 * same. Fewer may be told than there are, where single bytes are labelled. */
uint64_t dep_shadow_run(const struct dep_shadow *shadow, uint64_t address, uint64_t bytes,
                        uint32_t *label);

/* Labels a range. Label 0 gives memory back. 0 or -ENOMEM. */
int dep_shadow_fill(struct dep_shadow *shadow, uint64_t address, uint64_t bytes, uint32_t label);

/* Copies labels of [from, from + bytes) to [to, to + bytes) as well; the ranges do not overlap. 0
 * or -ENOMEM. */
int dep_shadow_copy(struct dep_shadow *shadow, uint64_t to, uint64_t from, uint64_t bytes);

/* Calls `fn` with all labels that there may be, in pieces, for it to read or change. */
void dep_shadow_each(struct dep_shadow *shadow,
                     void (*fn)(void *arg, uint32_t *labels, size_t count), void *arg);

/* ---- node.c: what an execution of a node uses and defines ---- */

enum dep_access {
    DEP_LOAD = 1,
    DEP_STORE = 2,
    DEP_HARD =
        4, /* several ranges, or of a size that only the slots tell: each of them has a word */
};

/* One access of a node: loads of an instruction come before its stores. */
struct dep_operand {
    const struct ins_info *info; /* DEP_HARD: of its instruction */
    int64_t more;  /* its address is that word (0: none) of the ring record, plus this ... */
    uint16_t word; /* ... ; DEP_HARD: the instruction's first one */
    uint16_t size_bytes;
    uint8_t access; /* enum dep_access */
    uint8_t operand;
};

/* As the translator cuts them: so many instructions at most, each of four operands that are read
 * and written. */
#define DEP_STATEMENTS_MAX 64
#define DEP_OPERANDS_MAX   (DEP_STATEMENTS_MAX * 2 * INS_MEM_MAX)

struct dep_node {
    struct wet_label_node is;
    struct ins_regset *input_sets;
    struct ins_regset uses, defines; /* whole sets that inputs and definitions are made from */
    struct ins_info *infos;          /* that hard operands point to */
    struct dep_operand *operands;
    uint32_t slot_count, word_count, operand_count, load_count;
};

/* What an execution of a node copies: the label of one location for each group that it uses, in
 * ascending order. */
struct dep_lists {
    _Static_assert(INS_LOC_COUNT <= UINT8_MAX, "locations fit into bytes");
    uint8_t inputs[INS_LOC_COUNT];
    uint32_t input_count;
};

/* Registers in groups that are always defined and used together: as fine as the code met so far
 * needs. */
struct dep_groups {
    struct ins_regset sets[INS_LOC_COUNT];
    uint8_t of[INS_LOC_COUNT]; /* the set that a location is in */
    unsigned count;
};

/*
 * Where a location's label is kept: a register's pieces in a row of four places, the flags in two,
 * the pieces of a vector in two, so that they are read and written at once. Of the places left over
 * some are written too, with whatever label their row gets.
 */
#define DEP_ROW           4
#define DEP_FLAG_PLACE    (DEP_ROW * INS_GPR_COUNT)
#define DEP_VECTOR_PLACE  (DEP_FLAG_PLACE + 2 * DEP_ROW)
#define DEP_VECTOR_PLACES (2 * DEP_ROW)
#define DEP_OTHER_PLACE                                                                            \
    (DEP_VECTOR_PLACE + (INS_LOC_K - INS_LOC_VEC) / INS_VEC_PIECES * DEP_VECTOR_PLACES)
/* A whole row can be read at the last one. */
#define DEP_PLACES (DEP_OTHER_PLACE + INS_LOC_COUNT - INS_LOC_K + DEP_ROW)

static inline unsigned dep_place(unsigned location)
{
    if (location < INS_LOC_CF)
        return location / INS_GPR_PIECES * DEP_ROW + location % INS_GPR_PIECES;
    if (location < INS_LOC_VEC)
        return DEP_FLAG_PLACE + location - INS_LOC_CF;
    if (location >= INS_LOC_K)
        return DEP_OTHER_PLACE + location - INS_LOC_K;
    location -= INS_LOC_VEC;
    return DEP_VECTOR_PLACE + location / INS_VEC_PIECES * DEP_VECTOR_PLACES +
           location % INS_VEC_PIECES;
}

void dep_groups_init(struct dep_groups *groups);

/* Splits groups that lie partly in the set. What those held is added to *changed. */
void dep_groups_refine(struct dep_groups *groups, const struct ins_regset *set,
                       struct ins_regset *changed);

/* Each location is in the one set that `of` says. 0, or what is wrong; for wd_checked() and
 * tests. */
int dep_groups_validate(const struct dep_groups *groups);

/* Makes a node of a fragment. 0 or -ENOMEM. */
int dep_node_make(const struct dbi_fragment *fragment, struct dep_node **out);
/* Makes a node's inputs anew, for these groups, and tells the lists. 0 or -ENOMEM. */
int dep_node_group(struct dep_node *node, const struct dep_groups *groups, struct dep_lists *lists);
void dep_node_free(struct dep_node *node);

/* ---- label_code.c: machine code that labels an execution ---- */

/* Why the code came back. */
enum dep_status {
    DEP_AT_END,    /* of its words, or beyond it if they are damaged */
    DEP_UNKNOWN,   /* the next word's node has no code, or there is no such node */
    DEP_NO_MEMORY, /* in the middle of an execution */
};

/* What the code works on. It knows the offsets. */
struct dep_machine {
    const uint64_t *words, *end;
    uint32_t *out;         /* with room for what executions in these words can have */
    uint64_t number_twice; /* the last number given, in both halves */
    uint32_t *last;        /* by place, of the task that runs */
    uint64_t counted;      /* of what ran since it was entered: dep_counted_loads() and kin */
    /* Labels an operand that the code does not; gives where labels go on, NULL: no memory. */
    uint32_t *(*slow)(struct dep_machine *machine, const struct dep_operand *operand,
                      const uint64_t *record, uint32_t *out, uint32_t number);
    struct dep_finder *finder;
    struct dep_shadow shadow;
    uint32_t codes[AGT_COUNT_MAX]; /* where each node's code is, by id; 0: it has none */
};

#define DEP_COUNTED_LOAD_BITS 24

static inline uint64_t dep_counted_loads(uint64_t counted)
{
    return counted & ((UINT64_C(1) << DEP_COUNTED_LOAD_BITS) - 1);
}

static inline uint64_t dep_counted_instructions(uint64_t counted)
{
    return counted >> DEP_COUNTED_LOAD_BITS;
}

/* One mapping to write code to, one to run it in. */
struct dep_code {
    uint8_t *writable, *runnable;
    size_t hot_bytes, cold_bytes; /* used of the first half, and of the second */
    enum dep_status (*enter)(struct dep_machine *machine);
};

#define DEP_CODE_BYTES (UINT64_C(256) << 20)

/* 0 or an error; `code` can be passed to dep_code_fini() either way. */
int dep_code_init(struct dep_code *code);
void dep_code_fini(struct dep_code *code);

/* Makes a node's code, and tells where it is. 0, or -ENOSPC: all code is to be forgotten first. */
int dep_code_make(struct dep_code *code, const struct dep_node *node, const struct dep_lists *lists,
                  uint32_t id, uint32_t *place);
void dep_code_forget(struct dep_code *code);

/* The code is entered for so many words of the ring at most: a number of loads has to fit into its
 * bits. */
#define DEP_ENTER_WORDS 2048
/* What an execution's labels take at most if each operand has one. */
#define DEP_EXECUTION_WORDS (1 + INS_LOC_COUNT + DEP_OPERANDS_MAX)
_Static_assert((uint64_t)DEP_ENTER_WORDS *DEP_OPERANDS_MAX < UINT64_C(1) << DEP_COUNTED_LOAD_BITS,
               "loads of one entry can be counted");

/* ---- pass.c: the pass over ring and events ---- */

struct dep_task {
    _Alignas(16) uint32_t last[DEP_PLACES]; /* label of each location's last definition */
};

struct dep_finder {
    struct dep_machine *machine;
    struct dep_code code;
    struct dep_groups groups;
    const struct dbi_fragment **fragments; /* by id; NULL: none */
    struct dep_node **nodes;               /* NULL until first met */
    const struct wet_label_node **label_nodes;
    size_t node_count, node_room;
    struct dep_task *tasks[EVQ_TASKS_MAX];
    uint32_t number, number_max; /* the last one given; the last one there is */
    uint64_t base;               /* what numbers lack, and */
    uint64_t *old;               /* what labels up to old_count stand for: wet_label_number() */
    uint32_t old_count;
    uint32_t *words; /* of the block */
    size_t word_room;
    uint32_t block_first; /* number before the block's first */
    uint64_t block_loads; /* operands read in it, and */
    uint64_t block_more;  /* how many words they took more than one each */
    const struct wet_depend_options *options;
    struct wet_depend_result *result;
};

/* `options` and `result` are set, all else is zero. 0 or an error; dep_finder_fini() is due either
 * way. */
int dep_finder_init(struct dep_finder *finder);
void dep_finder_fini(struct dep_finder *finder);

/* Notes the fragment with the next id; NULL: there is none. It is borrowed until dep_finder_fini().
 * 0 or an error. */
int dep_finder_add(struct dep_finder *finder, const struct dbi_fragment *fragment);
/* Notes the fragments that the engine has made since the last call. */
int dep_finder_learn(struct dep_finder *finder, const struct rep_engine *engine);

/* An entry that was taken when the ring held so many words; the entry follows. */
struct dep_mark {
    uint64_t ring_words;
};

/* Behind a stretch's words there must be memory for so many bytes more. */
#define DEP_SLACK_BYTES 65536

/* What one stretch of the run left: words of the ring, marks with their entries, who ran last. */
struct dep_stretch {
    const uint64_t *words;
    size_t word_count;
    struct wd_buf marks;
    uint32_t running;
};

int dep_finder_pass(struct dep_finder *finder, const struct dep_stretch *stretch);

/* Marks are whole, and in the order of the ring; who ran last is a task. 0, or what is wrong. */
int dep_stretch_validate(const struct dep_stretch *stretch);

/* ---- events.c: what an event defines ---- */

struct dep_task *dep_task_get(struct dep_finder *finder, uint32_t slot); /* NULL: no memory */
int dep_entry_pass(struct dep_finder *finder, const struct evq_entry *entry, uint32_t number);

/* ---- renumber.c: more executions than numbers ---- */

/* Makes numbers small again: labels that are still there become 1, 2, ... in order of time. The
 * block must be empty. 0, -ENOMEM or -WETDBG_ERR_UNSUPPORTED. */
int dep_renumber(struct dep_finder *finder);

#endif
