/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the library's own parts know of a WET beyond <wetdbg/wet.h>: its nodes, and intervals run
 * again as arrays. The slicer scans these, and so do walks; whoever uses the library gets
 * iterators.
 */
#ifndef WET_INTERVALS_H
#define WET_INTERVALS_H

#include "recorder/event/queue.h"
#include "recorder/insn/insn.h"
#include <wetdbg/wet.h>

/* ---- nodes ---- */

struct wet_statement {
    const struct ins_info *info;
    uint64_t pc;
    uint16_t byte_off; /* into wet_node.code */
    uint16_t slot; /* index of the address of its first memory operand in an execution's slots */
    uint32_t slot_count;
};

struct wet_node {
    uint32_t id;
    uint32_t statement_count;
    uint64_t pc;
    const uint8_t *code;
    uint32_t code_bytes;
    uint32_t slot_count;
    const struct wet_statement *statements;
    uint64_t executions; /* in the whole run; 0 for a node that was added */
};

/* NULL if there is no such node (now: an interval that is run again may add some, in files with
 * places). Ids are below wet_node_limit(), which stays as it is; not all are in use. Stays
 * valid. */
const struct wet_node *wet_get_node(struct wetdbg *wet, uint32_t id);
uint32_t wet_node_limit(const struct wetdbg *wet);

/* ---- intervals ---- */

/*
 * One execution of a node. Instruction i of the node has time first_time + time_off + i.
 * Its slots (in wet_interval.slots, from slot_off) are one u64 per memory operand in the order of
 * struct ins_info, effective address before the instruction, segment base included; except
 *  - INS_MEM_REP statements have 3 more after their operands: rcx before, rcx after, and the
 *    first operand's address register after (which gives the direction);
 *  - a cmov has one more after its operand: 1 if it took it, 0 if it kept its destination;
 *  - what takes bytes by a mask or by indices (blends, masked moves, pshufb and other permutations)
 *    has by what it chose behind its operands, as struct ins_choice says;
 *  - an instruction that names st(i) has one more behind its operands: bits 11..13 are TOP;
 *  - INS_MEM_LANES with a VSIB index: 1 + 16 slots: base + disp, then the index vector and the
 *    mask as raw 64-byte images (8 slots each).
 */
struct wet_exec {
    uint32_t node;
    uint32_t time_off; /* from wet_interval.first_time */
    uint32_t slot_off; /* in u64 */
    uint32_t task;
};

/*
 * Something that happened outside the instructions. `time` is that of the instruction after
 * which it happened (a `syscall` instruction's own time for its effects); for a fault or signal
 * the time at which the interrupted state is seen, minus 1. `exec` is the index of the last node
 * execution before it.
 */
struct wet_event {
    wetdbg_time time;
    uint32_t exec;
    uint32_t task;
    const struct evq_entry *entry; /* kind, number, regs and ops; see recorder/event/queue.h */
};

struct wet_interval {
    uint64_t index;
    wetdbg_time first_time; /* of its first instruction */
    uint64_t instructions;
    const struct wet_exec *execs;
    size_t exec_count;
    const uint64_t *slots;
    const struct wet_event *events;
    size_t event_count;
};

/*
 * Everything about interval k (0..intervals-1), run again if it is not cached. Borrowed until
 * wet_interval_put(); several may be held. Costs the regeneration of one interval (some 10 ms)
 * when it is not cached. -WETDBG_ERR_DIVERGED if the file's contents do not reproduce themselves.
 */
int wet_interval_get(struct wetdbg *wet, uint64_t k, const struct wet_interval **out);
void wet_interval_put(struct wetdbg *wet, const struct wet_interval *interval);

/*
 * A hint: interval k will be asked for soon. It is run again beside the caller, by a thread of the
 * wet's own, and the wet_interval_get() that asks for it waits for what is left of that. One at a
 * time: does nothing if another is being run, k is kept already, or there is no such interval.
 * Never fails; why an interval cannot be run is said by the wet_interval_get() that wants it.
 * Queries that need the replayee meanwhile (wetdbg_state_open, another interval) wait for it to
 * end.
 *
 * wet_interval_get() of k + 2, k + 1, k (or upwards) is a walk: it does this for the next interval
 * without being asked.
 */
void wet_prefetch(struct wetdbg *wet, uint64_t k);

/* Number of executions of a node in interval k, without running it: the rank index. */
uint32_t wet_node_executions_in(const struct wetdbg *wet, uint32_t node, uint64_t k);

/* ---- registers and events ---- */

/* The registers of a state, as events have them. */
const struct evq_regs *wet_state_regs(const struct wetdbg_state *state);

/* All events of the run in order (time, entry), without running anything. `exec` is not set. */
int wet_each_entry(struct wetdbg *wet, int (*fn)(void *arg, const struct wet_event *event),
                   void *arg);

#endif
