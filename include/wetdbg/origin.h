/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where one value came from: the chain of copies that brought it here, back to the instruction
 * that computed it, the system call that brought it in, or the start of the run.
 *
 * A value is up to 64 bytes in memory or in one register, or one flag; of a mask register its 8.
 * Each byte is followed for itself, whatever moved it: mov, push and pop, vector loads and stores,
 * rep movs, extensions, and files and pipes that the run itself wrote and read again. So bytes that
 * were brought here together share hops, and bytes that were put together on the way part; a hop
 * says which bytes it is about. Exactly one definition of a byte is followed: of a cmov the operand
 * that it chose; what only perhaps writes (masked stores, xsave, cmpxchg) counts where it changed
 * the byte.
 */
#ifndef WETDBG_ORIGIN_H
#define WETDBG_ORIGIN_H

#include <wetdbg/api.h>
#include <wetdbg/slice.h>

WETDBG_BEGIN

#define WETDBG_VALUE_BYTES_MAX 64

enum wetdbg_spot_kind {
    WETDBG_SPOT_NONE,
    WETDBG_SPOT_MEMORY,
    WETDBG_SPOT_GPR,    /* general register: rax 0, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8... */
    WETDBG_SPOT_VECTOR, /* number of the vector register */
    /* a location of <wetdbg/slice.h>: a flag and the like, as a whole; of a mask register `byte` */
    WETDBG_SPOT_LOCATION,
};

/* Where a byte is. */
struct wetdbg_spot {
    enum wetdbg_spot_kind kind;
    uint32_t task;    /* slot of the thread, for registers */
    uint16_t number;  /* of the register or location */
    uint16_t byte;    /* in the register */
    uint64_t address; /* of memory */
};

enum wetdbg_hop_kind {
    WETDBG_HOP_COPY,        /* the instruction moved the bytes, from `from` to `to` */
    WETDBG_HOP_ZERO_EXTEND, /* ... and zeros above them, which are followed no further */
    WETDBG_HOP_SIGN_EXTEND, /* ... and copies of their sign, which are followed with it */
    WETDBG_HOP_REMAP,       /* mremap moved the memory */
    WETDBG_HOP_SIGNAL,      /* a signal's frame kept the register meanwhile */
    /* a call delivered what the run itself had put into a file, pipe or pair of sockets; with
     * `from` what a shared mapping held there */
    WETDBG_HOP_READ_BACK,
    WETDBG_HOP_WRITTEN, /* a call put it there, from `from` */
    WETDBG_HOP_PASSED,  /* a call put it there, out of another one */
    /* Ends of the chain: */
    WETDBG_HOP_COMPUTED, /* the instruction computed the bytes */
    WETDBG_HOP_CONSTANT, /* the instruction made them from nothing that it used */
    WETDBG_HOP_SYSCALL,  /* a system call wrote or returned them */
    /* the kernel gave them unasked: a signal's information, a thread's start */
    WETDBG_HOP_DELIVERED,
    WETDBG_HOP_INITIAL, /* they were there when the run began, or nothing in it wrote them */
};

struct wetdbg_hop {
    enum wetdbg_hop_kind kind;
    wetdbg_time time;            /* of the instruction (the call's for SYSCALL); 0: none */
    uint64_t pc;                 /* of it; 0: none */
    uint64_t bytes;              /* bit i: byte i of the value */
    struct wetdbg_spot to, from; /* of the lowest of them, after the hop and before it */
    bool is_saving;              /* half of a push and pop of a register that calls preserve */
    char text[96];               /* the instruction; "" if none */
    /* Of a system call: */
    int32_t number; /* -1: not known */
    unsigned arg_count;
    uint64_t args[6];
    int64_t result;
    uint64_t offset; /* of the lowest byte in what the call wrote there; 0 for its result */
    uint64_t extent; /* how much it wrote there; 0 for its result */
    bool is_mapping; /* the bytes are a mapping's, at `offset` in its file */
    /* The file that it read or mapped: a path as the program gave it, "standard input"...; NULL if
     * there is none. And where in it the lowest byte was; UINT64_MAX if that is not known. */
    const char *file;
    uint64_t file_offset;
    /* Of a READ_BACK: the call that put the lowest byte there, and where that found it. */
    wetdbg_time writer;      /* 0: none did */
    uint64_t writer_address; /* 0: in another file, pipe or socket */
};

struct wetdbg_origin {
    size_t size; /* bytes of the value */
    uint8_t value[WETDBG_VALUE_BYTES_MAX];
    uint64_t known;           /* bit i: value[i] is known */
    struct wetdbg_spot place; /* of byte 0, where the value was asked for */
    size_t hop_count;
    struct wetdbg_hop *hops; /* latest first; of equal time in no order */
    uint64_t intervals_scanned, intervals_skipped;
};

/*
 * The origin of a criterion's value: its places must be one register, flag or range of memory of at
 * most 64 bytes; of a crash the register that held the bad address. Looks only at intervals that
 * may have written what is followed, or in which a register is. `options` gives progress and its
 * argument, and no_bypass: without it most saved registers are no hops at all, and the rest is
 * marked. NULL is fine. -WETDBG_ERR_USAGE if the criterion has no or several values;
 * -WETDBG_ERR_INTERRUPTED; -ENOMEM; errors of the wet. *out is for wetdbg_origin_free(), before the
 * wet is closed.
 */
int wetdbg_origin(struct wetdbg *wet, const struct wetdbg_criterion *criterion,
                  const struct wetdbg_slice_options *options, struct wetdbg_origin **out);
void wetdbg_origin_free(struct wetdbg_origin *origin);

/* "rax", "xmm3.b8" (its byte 8), "ZF": of a place that is not in memory; cut to fit. */
void wetdbg_spot_name(const struct wetdbg_spot *spot, char *text, size_t size);

/* "copied", "zero-extended", "computed", ... */
const char *wetdbg_hop_name(enum wetdbg_hop_kind kind);
static inline bool wetdbg_hop_is_end(enum wetdbg_hop_kind kind)
{
    return kind >= WETDBG_HOP_COMPUTED;
}

WETDBG_END

#endif
