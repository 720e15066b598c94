/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the ticks preload leaves in a trace directory, for those who read recordings.
 *
 * wetdbg.ticks     "software\n1\n": the tick values of this recording mean nothing; the second
 *                  line is TCK_FORMAT_VERSION. Recordings made with a PMU have no such file.
 * wetdbg.digests   one tck_file_header, then tck_stop records back to back, in the order in
 *                  which rr saw the stops (the order of its frames). Native little-endian,
 *                  no padding between records:
 *
 *     +--------------------+----------------+----------------+---
 *     | header, 16 bytes   | stop, 272 bytes| stop, 272 bytes| ...
 *     +--------------------+----------------+----------------+---
 *
 * Each record is one write(2); a recording that was killed may end in a partial one, which is to
 * be ignored. More than TCK_STOPS_BYTES_MAX bytes are not written.
 *
 * Which stops. Every stop at which rr looked at its tick counter and which was *not* at a system
 * call: those where the place in the program is not given by the program itself. That is each
 * signal (also rr's own SIGSTKFLT, which ends time slices) and each PTRACE_INTERRUPT. Left out
 * are system calls, ptrace events and SIGSEGV with si_code SI_KERNEL, by which rr sees rdtsc and
 * cpuid: a replayer meets those by itself.
 *
 * Which record belongs to a frame. Frames of kind SCHED and SIGNAL carry the registers of one of
 * the stops of their task; stops may precede it that left no frame (rr carried on with the same
 * task, or put the signal off). So: for the next such frame of a task, take the first record of
 * that task after the one used last whose general registers, rip and rsp are equal and whose
 * `signo` fits: the frame's signal, or TCK_STOP_SLICE for SCHED. If several SLICE records with
 * equal registers follow each other, the one with TCK_STOP_EXPIRED is meant. A frame may have no
 * record (a signal that rr delivered later than it came; the end of a recording that was cut
 * short by SIGTERM): then only its registers are known.
 *
 * The digests are XXH3_64bits (seed 0) of the bytes [stack_start, +stack_bytes) and of
 * [data_start, +data_bytes), as they were at the stop. Both ranges are what could be read: stack
 * aims at [rsp - 128, rsp + 4096); data at the main program's first writable PT_LOAD that
 * remains when PT_GNU_RELRO is cut off its front (.data and .bss), at most TCK_DATA_BYTES_MAX.
 * A range of 0 bytes says nothing. A place is the right one if registers and both digests agree;
 * there are two because stack slots that no longer hold anything may have been filled by code
 * that stores processor state (a lazy resolver's XSAVE), which data never is.
 */
#ifndef RECORDER_TICKS_DIGEST_FORMAT_H
#define RECORDER_TICKS_DIGEST_FORMAT_H

#include <stdint.h>

#define TCK_MARK_NAME       "wetdbg.ticks"
#define TCK_MARK_SOFTWARE   "software\n" /* followed by the version in decimal and a newline */
#define TCK_DIGESTS_NAME    "wetdbg.digests"
#define TCK_FORMAT_VERSION  1
#define TCK_MAGIC           "WDSTOPS\n"
#define TCK_RED_ZONE_BYTES  128
#define TCK_STACK_BYTES_MAX (TCK_RED_ZONE_BYTES + 4096)
#define TCK_DATA_BYTES_MAX  (256 * 1024)
#define TCK_STOPS_BYTES_MAX (4096LL * 1024 * 1024)
#define TCK_REGS_COUNT      27

struct tck_file_header {
    char magic[8]; /* TCK_MAGIC, no terminating zero */
    uint32_t version;
    uint32_t record_bytes; /* sizeof(struct tck_stop); readers of version 1 refuse another */
};

enum tck_stop_flags {
    TCK_STOP_SLICE = 1,   /* the time slice timer or PTRACE_INTERRUPT; else a signal */
    TCK_STOP_EXPIRED = 2, /* rr was told here that the time slice is over */
};

struct tck_stop {
    uint32_t tid;
    uint32_t flags;  /* enum tck_stop_flags */
    int32_t signo;   /* of the signal; 0 for PTRACE_INTERRUPT */
    int32_t si_code; /* of the signal; 0 for PTRACE_INTERRUPT; SIGSTKFLT: POLL_IN or -9999 */
    uint64_t stack_start;
    uint64_t data_start;
    uint32_t stack_bytes;
    uint32_t data_bytes;
    uint64_t stack_digest;
    uint64_t data_digest;
    /* struct user_regs_struct of <sys/user.h> as PTRACE_GETREGS gave it: r15 r14 r13 r12 rbp rbx
     * r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base ds es fs gs.
     * The layout of rr's register files; rr itself may have changed a frame's afterwards
     * (rcx, r11, eflags canonical after a system call). */
    uint64_t regs[TCK_REGS_COUNT];
};

_Static_assert(sizeof(struct tck_file_header) == 16, "the header is 16 bytes on disk");
_Static_assert(sizeof(struct tck_stop) == 272, "a stop is 272 bytes on disk");

#endif
