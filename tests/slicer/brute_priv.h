/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The graph of all dependences: made by brute.c, searched by brute_reach.c. */
#ifndef TESTS_SLICER_BRUTE_PRIV_H
#define TESTS_SLICER_BRUTE_PRIV_H

#include "recorder/insn/insn_pick.h"
#include "tests/slicer/brute.h"
#include "tests/slicer/vec.h"

/* A map from u64 to u32. */
struct map {
    uint64_t *keys;         /* + 1; 0: free. What was set to 0 keeps its place */
    uint32_t *values;       /* 0: absent */
    size_t capacity, count; /* a capacity is 0 or a power of two */
};

#define KERNEL_FLOW 7
#define CALL_USES   3 /* of a syscall instruction: what its result and what it wrote depend on */
#define SENT_USES   4 /* what it only passes on */
#define BUFFER_USES 5 /* where that lies */
#define SENT_FLOW   9 /* a byte that a call put into a file or a queue */
#define JOIN_FLOW   8 /* no instance: stands for the definitions in `joins` */

/* Register places: the bytes of general registers and of vectors, then what is not made of
 * bytes. */
#define REG_BYTES   64u /* of each register; general ones have 8 */
#define REG_OTHERS  (48u * REG_BYTES)
#define PLACE_COUNT (REG_OTHERS + INS_LOC_COUNT)

/* A place got a value. Memory places are addresses. */
struct def {
    uint64_t place;
    uint32_t time;
    uint32_t before; /* definition that may shine through, or 0 */
    uint32_t join;   /* JOIN_FLOW: first of its list in joins, which ends with 0 */
    uint32_t source; /* what the kernel passed on: definition of the byte before; 0: from outside */
    uint8_t flow;
    bool is_memory;
    bool is_may; /* what was there before may be there still */
};

/* What a flow read. */
struct use {
    uint64_t place;
    uint32_t def; /* 0: initial */
    uint8_t edge;
    bool is_memory;
};

struct edge {
    uint32_t user, definition;
    uint8_t kind;
};

struct instance {
    size_t uses[INS_FLOW_MAX + 3]; /* first use of each flow */
    uint32_t parent;               /* control */
};

struct frame {
    uint64_t slot;
    uint32_t creator;
    bool is_signal;      /* what a handler returns to; slot is the ucontext */
    struct map branches; /* pc to its last time in this frame */
    uint32_t *kept;      /* of a signal: definitions of the registers before it */
};

struct thread {
    uint32_t regs[PLACE_COUNT];
    VEC(struct frame) frames;
};

/* What the kernel holds of an object: definitions of its bytes. */
struct queue {
    VEC(uint32_t) defs;
    VEC(size_t) messages; /* where each begins */
    size_t taken, next;
};

/* Memory that shows a file. */
struct shown {
    uint64_t address, size;
    uint32_t object;
    uint64_t offset;
};

struct picture {
    VEC(struct use) uses;
};

struct brute {
    struct wetdbg *wet;
    uint32_t steps;
    bool no_exits;        /* as the option of slices */
    VEC(struct def) defs; /* from 1 */
    VEC(struct use) uses;
    struct instance *instances; /* by time */
    struct thread threads[FAKE_TASKS_MAX];
    struct thread *now;       /* of the instruction or happening that is looked at */
    struct map memory;        /* by address, or what memory_key() says */
    VEC(struct queue) queues; /* by object */
    VEC(struct shown) shown;
    VEC(uint32_t) joins;
    size_t *first_defs; /* by time: how many definitions there were before it */
    uint32_t *next;   /* by time: of the thread's next one; 0 if none, or a handler came between */
    struct map moved; /* pc: see moved_bytes(), + 1, and 256 for a sign */
    struct map saved; /* time of a push of a callee-saved register: index into saves */
    VEC(uint32_t) saves; /* eight definitions each */
    VEC(struct picture) pictures;
    bool has_fault; /* the last picture is of it, instances[steps + 1].parent what guards it */
    VEC(struct edge) edges;
};

struct span {
    uint64_t address, size;
    bool down;
};

/* Of both: what locations and operands are in places. */
bool brute_is_gpr(unsigned loc);
bool brute_is_vector(unsigned loc);
void brute_loc_places(unsigned loc, unsigned *from, unsigned *to);
uint32_t *brute_map_at(struct map *map, uint64_t key);
uint32_t brute_map_get(const struct map *map, uint64_t key);
struct span brute_operand_span(const struct wetdbg *wet, wetdbg_time t, unsigned m);
unsigned brute_gpr_place(unsigned gpr);
bool brute_pick_at(const struct wetdbg *wet, wetdbg_time t, struct ins_pick *pick);

#endif
