/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The frame that Linux puts on the stack before it calls a signal's handler, and takes registers
 * from when the handler returns (arch/x86/kernel/signal_64.c, struct rt_sigframe):
 *
 *     frame ->  return address      8     the restorer
 *               ucontext          304     what was interrupted
 *               siginfo           128
 *               ...                       up to a multiple of 64
 *               XSAVE image               vector state, and 4 bytes that end it
 */
#ifndef PREDICATE_SWITCH_FRAME_H
#define PREDICATE_SWITCH_FRAME_H

#include "common/buf.h"
#include "predicate_switch/kernel/vk.h"
#include "recorder/event/queue.h"

/* What a signal interrupts. */
struct psw_interrupted {
    struct evq_regs regs;
    const uint8_t *xsave; /* a standard image of this machine */
    /* of the instruction that raised it, else 0 */
    uint64_t err, trapno, address;
};

/* What is to be written at `address`, and the registers that the handler begins with: vector state
 * is as after a reset. */
struct psw_frame {
    uint64_t address;
    struct wd_buf bytes;
    struct evq_regs regs;
    struct wd_buf xsave;
};

/* 0, -ENOMEM, or -WETDBG_ERR_UNSUPPORTED (no XSAVE); psw_frame_fini() is due in any case. */
int psw_frame_make(const struct vk_signal *signal, const struct psw_interrupted *interrupted,
                   struct psw_frame *out);
void psw_frame_fini(struct psw_frame *frame);

/*
 * What a task goes on with that calls sigreturn: `regs` are those of the call, `out` gets registers
 * and vector state (address and bytes stay empty). The frame is the program's to alter: what this
 * processor would not take makes Linux end the program with SIGSEGV, and here it is -EFAULT, as
 * where the frame cannot be read.
 */
int psw_frame_take(const struct vk_memory *memory, const struct evq_regs *regs,
                   struct psw_frame *out);

#endif
