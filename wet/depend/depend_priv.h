/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of finding dependences, for the files of wet/depend/ only. */
#ifndef WET_DEPEND_DEPEND_PRIV_H
#define WET_DEPEND_DEPEND_PRIV_H

#include <stdbool.h>

#include "common/buf.h"
#include "recorder/event/queue.h"
#include "recorder/replay/engine.h"
#include "wet/depend/depend.h"

/* ---- shadow.c: who defined each byte of memory ---- */

/* Addresses that the program uses, and a label for each byte: reserved whole, there once written. */
struct dep_span {
    uint64_t start, bytes;
    uint32_t *labels;
};

struct dep_shadow {
    struct dep_span *spans; /* sorted, disjoint; one more, empty, at the end */
    size_t count;
};

int dep_shadow_init(struct dep_shadow *shadow, const struct rep_range *ranges, size_t count);
void dep_shadow_fini(struct dep_shadow *shadow);

/* The span that holds all of [address, address + bytes); the empty one if none does. */
struct dep_span *dep_shadow_find(const struct dep_shadow *shadow, uint64_t address, uint64_t bytes);

/* The label of one byte; 0 outside of all spans. */
uint32_t dep_shadow_get(const struct dep_shadow *shadow, uint64_t address);

/* Labels a range; what lies outside of all spans is passed over. Label 0 gives memory back. */
void dep_shadow_fill(const struct dep_shadow *shadow, uint64_t address, uint64_t bytes,
                     uint32_t label);

/* Labels of [from, from + bytes) go to [to, to + bytes) as well; the ranges do not overlap. */
void dep_shadow_copy(const struct dep_shadow *shadow, uint64_t to, uint64_t from, uint64_t bytes);

/* ---- node.c: what an execution of a node uses and defines ---- */

enum dep_access {
    DEP_LOAD = 1,
    DEP_STORE = 2,
    DEP_HARD = 4, /* several ranges, or of a size that only the slots tell */
};

/* One access of a node: loads of an instruction come before its stores. */
struct dep_operand {
    struct dep_span *near; /* that held it last */
    uint16_t slot;         /* of its address; DEP_HARD: the instruction's first one */
    uint8_t access;        /* enum dep_access */
    uint8_t size_bytes;
    uint8_t statement, operand;
};

/* Lists of groups are copied by so many at a time: they are as long as that, at least, in memory. */
#define DEP_LIST_STEP 8

/* What an execution needs of its node, in one piece: operands, inputs and definitions follow. */
struct dep_plan {
    struct dep_node *node;
    const uint8_t *inputs, *defs; /* register groups, then DEP_NO_GROUP up to a whole step */
    uint16_t input_count, def_count, operand_count, loads;
    uint16_t statement_count;
    bool has_hard;
    uint32_t labels_max; /* without DEP_HARD ones */
    struct dep_operand operands[];
};

struct dep_node {
    struct wet_label_node is;
    struct ins_info *infos;
    struct ins_regset *input_sets;
    struct ins_regset uses, defines; /* whole sets that the plan's lists are made from */
    struct dep_operand *operands;
    struct dep_plan *plan;
    uint32_t slot_count, operand_count;
};

/* What the pass looks up by fragment id: enough to step over a record of the ring. */
struct dep_brief {
    struct dep_plan *plan; /* NULL: no such fragment */
    uint32_t slot_count;
};

#define DEP_NO_GROUP 255

/* Registers in groups that are always defined and used together: as fine as the code met so far needs. */
struct dep_groups {
    uint8_t of[INS_LOC_COUNT];
    struct ins_regset sets[INS_LOC_COUNT];
    unsigned count;
};

void dep_groups_init(struct dep_groups *groups);

/* Splits groups that lie partly in the set. `split` is told of each new one. True if any was. */
bool dep_groups_refine(struct dep_groups *groups, const struct ins_regset *set,
                       void (*split)(void *arg, unsigned old, unsigned made), void *arg);

/* Reads a fragment. `nowhere` is the shadow's empty span. 0 or -ENOMEM. */
int dep_node_make(const struct dbi_fragment *fragment, struct dep_span *nowhere,
                  struct dep_node **out);
/* Makes the plan anew, for these groups. 0 or -ENOMEM. */
int dep_node_group(struct dep_node *node, const struct dep_groups *groups);
void dep_node_free(struct dep_node *node);

/* ---- pass.c: the pass over ring and events ---- */

struct dep_task {
    uint32_t last[DEP_NO_GROUP + 1]; /* by group: label of its last definition */
};

struct dep_finder {
    struct dep_shadow shadow;
    struct dep_groups groups;
    struct dep_brief *briefs; /* by fragment id */
    size_t node_count, node_room;
    struct dep_task *tasks[EVQ_TASKS_MAX];
    uint64_t number; /* the last one given */
    struct wd_buf labels, numbers, block_nodes;
    const struct wet_depend_options *options;
    struct wet_depend_result *result;
};

int dep_finder_init(struct dep_finder *finder, const struct rep_range *ranges, size_t range_count);
void dep_finder_fini(struct dep_finder *finder);

/* Reads the fragments that the engine has made since the last call. */
int dep_finder_learn(struct dep_finder *finder, const struct rep_engine *engine);

/* An entry that was taken when the ring held so many words; the entry follows. */
struct dep_mark {
    uint64_t ring_words;
};

/* What one stretch of the run left: words of the ring, marks with their entries, who ran last. */
struct dep_stretch {
    const uint64_t *words;
    size_t word_count;
    struct wd_buf marks;
    uint32_t running;
};

int dep_finder_pass(struct dep_finder *finder, const struct dep_stretch *stretch);

#endif
