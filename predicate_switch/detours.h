/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Detours: instructions at which a live run goes another way whenever it comes to them, told by how
 * often they have been executed. For changes behind the first one, whose times nobody knows.
 *
 * Each has a breakpoint, an int3 in the copy's memory, so the run faults there. A jump is decided
 * then, and goes on where it leads; any other instruction is put back for one execution. The
 * program would see the breakpoint where it reads its own code. The int3 counts as an executed
 * instruction; so one that was put back takes two.
 */
#ifndef PREDICATE_SWITCH_DETOURS_H
#define PREDICATE_SWITCH_DETOURS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "recorder/insn/insn.h"
#include "recorder/replay/engine.h"

#define PSW_DETOURS_MAX 2

struct psw_detour {
    uint64_t pc, to;      /* as struct wetdbg_candidate has them */
    uint64_t first, last; /* of its executions in the whole run, from 1, those that go there */
    uint64_t before;      /* how many there were before the live run */
    uint64_t most;        /* there may be: a fault at each is slow */
};

/* Embedded by its holder; all zero has none. */
struct psw_detours {
    const struct psw_detour *items;
    unsigned count;
    struct psw_point {
        uint64_t pc, executions, most;
        uint8_t byte; /* that the int3 stands for */
        struct ins_info info;
    } points[PSW_DETOURS_MAX];
    unsigned point_count;
    uint64_t busy; /* an instruction that was put back is executed until this time */
};

/* Sets the breakpoints: appends an entry of now that does so. `items`, PSW_DETOURS_MAX at most, are
 * borrowed. 0; -WETDBG_ERR_UNSUPPORTED, in a sentence, if there is no instruction; -ENOMEM. */
int psw_detours_begin(struct psw_detours *detours, const struct psw_detour *items, unsigned count,
                      struct rep_engine *engine, uint64_t *frame, struct wd_buf *out);

/* Whether what the run has come to is one of the breakpoints. */
bool psw_detours_met(const struct psw_detours *detours, const struct rep_met *met);

/* Appends what happens there. 0 or -ENOMEM; -WETDBG_ERR_UNSUPPORTED, in a sentence, if that was
 * once too often. */
int psw_detours_answer(struct psw_detours *detours, const struct rep_met *met, uint64_t *frame,
                       struct wd_buf *out);

/* Makes flags and rcx such that a condition holds, or does not, with as few changes as possible.
 * False if there is no such condition. */
bool psw_condition_make(unsigned condition, bool holds, uint64_t *flags, uint64_t *rcx);

#endif
