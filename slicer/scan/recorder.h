/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rr's preload library, where it makes system calls in the program's place (buffered system calls,
 * docs/architecture/feed.md 4.1).
 *
 * What it does between the program's jump and the system call stands for the kernel's entry, and
 * what comes behind for its exit. It takes arguments and results from one place to another, and
 * keeps books of its own, on which nothing of the program depends: where in its buffer the next
 * record goes, what it did before. So a slice follows what it copies, as if that had not moved, and
 * nothing else; no instance of it is in a slice.
 */
#ifndef SLICER_SCAN_RECORDER_H
#define SLICER_SCAN_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/event/queue.h"
#include "recorder/insn/insn.h"

struct slc_code;

/* rr's own call by which the library says that it is about to be left: after it the registers are
 * those of the call that it had made, whose number is orig_rax. */
#define SLC_RECORDER_IS_LEFT (EVQ_CALL_OF_RR + 2)

/* Finds rr's code that is in no file: stubs that it wrote near what they stand for. To be called
 * once. 0 or -ENOMEM. */
int slc_recorder_find(struct slc_code *code);

/* Whether the code at an address is that library's, or such a stub, in a run with buffered system
 * calls; never in others. */
bool slc_recorder_has(const struct slc_code *code, uint64_t pc);

/* Whether a function of the library's has instructions of the program's: those that followed the
 * system call, in whose place the jump into the library lies too. */
bool slc_recorder_has_displaced(const char *function);

/* Whether an instruction of such a function is one of those. Its pushes and pops may be taken for
 * the library's: they copy, whoever's they are. */
bool slc_recorder_is_displaced(const struct ins_info *info);

#endif
