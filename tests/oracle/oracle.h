/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The oracle: re-enacts one process of an rr recording (rr record -n) natively, at its own
 * addresses, under ptrace, without any translation. It runs whole stretches at full speed and can
 * single-step a window of them, telling of each instruction its registers and memory operands.
 * It is slow and simple, and shares nothing with the replay engine but the trace reader.
 *
 * All threads of the process, and its children by vfork until they run a program, take turns in
 * one child of ours, in the order and at the places of the recording.
 *
 * What it does not do, it refuses by name when opened or when it gets there: forked processes that
 * did not exec, buffered system calls, other processors than the recorded one.
 *
 * Counting. An instruction is counted when it is started: a `rep` counts once, a system call
 * once, rdtsc once, and one that faults once for every attempt. The exec itself is instruction 0
 * of nothing: the first instruction after it has index 0.
 *
 * All functions on a struct orc belong to the thread that opened it (ptrace), which is bound to
 * the recorded processor number until orc_close(). They return 0 or a
 * negative code of <wetdbg/errors.h>; -WETDBG_ERR_DIVERGED says where and in which register.
 */
#ifndef TESTS_ORACLE_ORACLE_H
#define TESTS_ORACLE_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "recorder/rr_trace/rr_trace.h"

struct orc;

#define ORC_CODE_MAX     15
#define ORC_OPERANDS_MAX 20 /* a gather has up to 16 */

enum orc_outcome {
    ORC_COMPLETED,
    ORC_FAULTED,    /* raised a recorded signal instead (int3 and the like: raised it after) */
    ORC_LAST,       /* its task ended in it: exit, or the last recorded moment */
    ORC_INTERRUPTED /* a rep that a recorded event stopped between two turns */
};

/*
 * A memory operand. Order: the instruction's explicit operands, then the implicit ones (stack,
 * string and table operands), each as Zydis lists them. lea, nop and prefetches have none.
 * For a rep it is the whole range of all its turns, `address` being the lowest byte's.
 */
struct orc_operand {
    uint64_t address;
    uint64_t size_bytes;
    bool is_read;
    bool is_write;
    bool is_implicit;
    /* `size_bytes` bytes each, or NULL when they could not be read (not mapped), or more than
     * ORC_BYTES_MAX. */
    const uint8_t *before;
    const uint8_t *after;
};
#define ORC_BYTES_MAX (16u << 20)

/* One instruction. Borrowed: good until the callback returns. */
struct orc_insn {
    uint64_t index; /* of this instruction since the exec or, after orc_run_to_event, since then */
    uint64_t frame; /* the last recorded event before it */
    uint64_t pc;
    uint8_t code[ORC_CODE_MAX];
    unsigned code_bytes;  /* bytes of `code` that could be read */
    unsigned length;      /* of the instruction; 0: not decodable */
    struct rrt_regs regs; /* before it; orig_rax is meaningless */
    enum orc_outcome outcome;
    uint64_t turns; /* of a rep; else 1 */
    const struct orc_operand *operands;
    size_t operand_count;
};

/* Nonzero ends the stepping, after this instruction, with that result. */
typedef int (*orc_step_fn)(void *context, const struct orc_insn *insn);

/*
 * Opens process `pid` of `trace` (0: the one that died of a signal, else the one that ran exec
 * last) and stands right after its last successful execve. `trace` stays the caller's, but
 * belongs to the oracle, its cursor included, until orc_close().
 */
int orc_open(struct wetdbg_recording *trace, int pid, struct orc **out);
void orc_close(struct orc *orc); /* NULL is fine */

/*
 * Runs natively until frame `time` of the recording has been applied (for one of another process
 * or of none: all of ours before it), and starts counting from 0 there when it moved.
 * Standing after it already is no error. 0; -WETDBG_ERR_NOT_FOUND if the process ended before.
 */
int orc_run_to_event(struct orc *orc, uint64_t time);

/* Runs natively to the end of the process. */
int orc_run_to_end(struct orc *orc);

/*
 * Executes up to `count` instructions one by one, passing events on the way; `step` (which may be
 * NULL: several times faster) is called after each. *done is how many were executed: fewer than
 * `count` only at the end of the process or when `step` said stop.
 */
int orc_step(struct orc *orc, uint64_t count, orc_step_fn step, void *context, uint64_t *done);

/* True once the last frame of the process has been applied. */
bool orc_is_at_end(const struct orc *orc);

/* The last applied frame. */
uint64_t orc_event(const struct orc *orc);

/* Instructions stepped since the exec, or since the last native stretch. */
uint64_t orc_instruction_count(const struct orc *orc);

/* Called for each frame of the process as it is applied, with orc_instruction_count() at that
 * moment; a system call's instruction is counted before its ENTERING frame. NULL: no calls. */
typedef void (*orc_event_fn)(void *context, const struct rrt_frame *frame, uint64_t instructions);
void orc_set_event_fn(struct orc *orc, orc_event_fn event, void *context);

/* The registers now, of the task that goes on; orig_rax is meaningless. Frames that are due (a
 * signal's handler, ...) have not been applied until the next step or run. */
int orc_registers(struct orc *orc, struct rrt_regs *regs);

/* The vector state now: an XSAVE image in standard layout. *size_bytes: room in, size out. */
int orc_vector_state(struct orc *orc, uint8_t *image, size_t *size_bytes);

/* Reads memory whatever its protection; how many bytes could be read, from the start. */
size_t orc_read_memory(struct orc *orc, uint64_t address, void *bytes, size_t count);

/* Path of the process's maps file, which lists its mappings and one page of the oracle's own at
 * orc_own_page(). Good until orc_close(). */
const char *orc_maps_path(const struct orc *orc);
uint64_t orc_own_page(const struct orc *orc);

/* How often a signal or a switch to another task was placed inside running code by the first match
 * of all registers, without a memory digest in the recording: such a place may be wrong. */
unsigned orc_ambiguous_count(const struct orc *orc);

/* One line of text for an instruction with its operands. */
void orc_insn_print(const struct orc_insn *insn, FILE *out);

#endif
