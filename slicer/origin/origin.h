/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where one value came from: the chain of copies that brought it here, back to the instruction
 * that computed it, the system call that brought it in, or the start of the run.
 *
 * A value is up to 64 bytes in memory or in one register, or one flag; of a mask register its 8. Each byte is followed for
 * itself, whatever moved it: mov, push and pop, vector loads and stores, rep movs, extensions. So
 * bytes that were brought here together share hops, and bytes that were put together on the way
 * part; a hop says which bytes it is about. Exactly one definition of a byte is followed: of a
 * cmov the operand that it chose; what only perhaps writes (masked stores, xsave, cmpxchg) counts
 * where it changed the byte.
 */
#ifndef SLICER_ORIGIN_ORIGIN_H
#define SLICER_ORIGIN_ORIGIN_H

#include "slicer/slicer.h"

#define SLC_VALUE_BYTES_MAX 64

enum slc_spot_kind {
    SLC_SPOT_NONE,
    SLC_SPOT_MEMORY,
    SLC_SPOT_GPR,      /* enum ins_gpr */
    SLC_SPOT_VECTOR,   /* number of the vector register */
    SLC_SPOT_LOCATION, /* enum ins_loc: a flag and the like, as a whole; of a mask register `byte` */
};

/* Where a byte is. */
struct slc_spot {
    enum slc_spot_kind kind;
    uint32_t task;    /* slot of the thread, for registers */
    uint16_t number;  /* of the register or location */
    uint16_t byte;    /* in the register */
    uint64_t address; /* of memory */
};

enum slc_hop_kind {
    SLC_HOP_COPY,        /* the instruction moved the bytes, from `from` to `to` */
    SLC_HOP_ZERO_EXTEND, /* ... and zeros above them, which are followed no further */
    SLC_HOP_SIGN_EXTEND, /* ... and copies of their sign, which are followed with it */
    SLC_HOP_REMAP,       /* mremap moved the memory */
    SLC_HOP_SIGNAL,      /* a signal's frame kept the register meanwhile */
    /* Ends of the chain: */
    SLC_HOP_COMPUTED,  /* the instruction computed the bytes */
    SLC_HOP_CONSTANT,  /* the instruction made them from nothing that it used */
    SLC_HOP_SYSCALL,   /* a system call wrote or returned them */
    SLC_HOP_DELIVERED, /* the kernel gave them unasked: a signal's information, a thread's start */
    SLC_HOP_INITIAL,   /* they were there when the run began, or nothing in it wrote them */
};

struct slc_hop {
    enum slc_hop_kind kind;
    wet_time time;            /* of the instruction (the call's for SYSCALL); 0: none */
    uint64_t pc;              /* of it; 0: none */
    uint64_t bytes;           /* bit i: byte i of the value */
    struct slc_spot to, from; /* of the lowest of them, after the hop and before it */
    bool is_saving;           /* half of a push and pop of a register that calls preserve */
    bool is_paired;           /* private, and so is the instruction until it is text: */
    uint8_t code_bytes;
    const uint8_t *code;
    char text[96]; /* the instruction; "" if none */
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
    /* If the run wrote that byte of the file itself: the call that did, and where it found the byte. */
    wet_time writer; /* 0: it did not, or that is not known */
    uint64_t writer_address;
};

struct slc_origin {
    size_t size; /* bytes of the value */
    uint8_t value[SLC_VALUE_BYTES_MAX];
    uint64_t known;        /* bit i: value[i] is known */
    struct slc_spot place; /* of byte 0, where the value was asked for */
    size_t hop_count;
    struct slc_hop *hops; /* latest first; of equal time in no order */
    uint64_t intervals_scanned, intervals_skipped;
    struct slc_files *files; /* private: keeps the files' names */
};

/*
 * The origin of a criterion's value: its places must be one register, flag or range of memory of at
 * most 64 bytes; of a crash the register that held the bad
 * address. Looks only at intervals that may have written what is followed, or in which a register
 * is. `options` gives progress and its argument, and no_bypass: without it most saved registers are no
 * hops at all, and the rest is marked. NULL is fine.
 * -WD_ERR_USAGE if the criterion has no or several values; -WD_ERR_INTERRUPTED; -ENOMEM; errors of
 * the wet. *out is for slc_origin_free(), before the wet is closed.
 */
int slc_origin(struct wet *wet, const struct slc_criterion *criterion,
               const struct slc_options *options, struct slc_origin **out);
void slc_origin_free(struct slc_origin *origin);

/* "rax", "xmm3.b8" (its byte 8), "ZF": of a place that is not in memory; cut to fit. */
void slc_spot_name(const struct slc_spot *spot, char *text, size_t size);

/* "copied", "zero-extended", "computed", ... */
const char *slc_hop_name(enum slc_hop_kind kind);
static inline bool slc_hop_is_end(enum slc_hop_kind kind)
{
    return kind >= SLC_HOP_COMPUTED;
}

#endif
