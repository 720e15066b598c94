/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signatures of system calls: what each argument is to a slice. Recordings tell what a call wrote,
 * but not what it read; and sometimes hold more than it wrote.
 *
 * What a call defines (its result and the bytes it wrote) depends on all that it uses, but for
 * what it only passes on (SENT), which goes out of the program.
 */
#ifndef SLICER_SYSCALLS_H
#define SLICER_SYSCALLS_H

#include "recorder/event/queue.h"

#define SLC_SYSCALL_ARGS 6

enum slc_arg_kind {
    SLC_ARG_NONE, /* not looked at by the kernel, or not there */
    SLC_ARG_VALUE,
    SLC_ARG_FD,      /* a descriptor: names where a value is, as an address does */
    SLC_ARG_ADDRESS, /* of memory whose contents do not matter */
    /* Addresses of memory: */
    SLC_ARG_PATH,     /* reads a string up to its zero */
    SLC_ARG_IN,       /* reads `bytes` */
    SLC_ARG_IN_SIZED, /* reads argument `by` times `bytes` */
    SLC_ARG_IN_OUT,   /* reads and writes `bytes` */
    SLC_ARG_IN_OUT_SIZED,
    SLC_ARG_OUT, /* writes */
    /* writes result times `bytes`, at most argument `by` times (NEXT: the next) */
    SLC_ARG_OUT_RESULT,
    SLC_ARG_SENT,        /* passes argument `by` bytes on */
    SLC_ARG_SENT_VECTOR, /* ... those that an array of `by` struct iovec lists */
    SLC_ARG_OUT_VECTOR,  /* reads such an array, and writes where it says */
    SLC_ARG_SENT_MESSAGE,
    SLC_ARG_OUT_MESSAGE, /* struct msghdr; `by` not 0: so many struct mmsghdr */
};

#define SLC_ARG_NEXT 0xff

struct slc_arg {
    uint8_t kind; /* enum slc_arg_kind */
    uint8_t by;   /* an argument, from 0 */
    uint16_t bytes;
};

struct slc_syscall {
    const char *name;
    struct slc_arg args[SLC_SYSCALL_ARGS];
};

/* The signature of a call; NULL if there is none: what it uses is then not known. Constant time. */
const struct slc_syscall *slc_syscall_find(int32_t number);

/* Register (enum evq_reg) and general register (enum ins_gpr) of each argument. */
extern const uint8_t slc_syscall_reg[SLC_SYSCALL_ARGS];
extern const uint8_t slc_syscall_gpr[SLC_SYSCALL_ARGS];

#endif
