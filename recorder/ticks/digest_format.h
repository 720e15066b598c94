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
 *     | header, 16 bytes   | stop, 312 bytes| stop, 312 bytes| ...
 *     +--------------------+----------------+----------------+---
 *
 * wetdbg.lines     per record of wetdbg.digests the hashes of its memory, line by line: u64 each,
 *                  first of the stack (lines of TCK_STACK_LINE bytes from stack_start on, the last
 *                  one perhaps shorter), then of the data, then of the heap (lines of TCK_LINE
 *                  bytes), then tck_stop.target_count times u64 address, u64 hash of the
 *                  TCK_STACK_LINE bytes there: what registers and stack point to, and what that
 *                  points to in turn (objects of interpreters, arenas of threads).
 *                  tck_stop.lines_at is their offset in the file; tck_line_hash() makes
 *                  them. With them a replayer can tell a wrong place by one line.
 *
 * Each record is one write(2) to each file, the lines first; a recording that was killed may end in
 * a partial one, which is to be ignored. More than TCK_STOPS_BYTES_MAX bytes are not written to
 * either.
 *
 * Which stops. Every stop at which rr looked at its tick counter and which was *not* at a system
 * call: those where the place in the program is not given by the program itself. That is each
 * signal (also rr's own SIGSTKFLT, which ends time slices) and each PTRACE_INTERRUPT. Left out
 * are system calls, ptrace events and SIGSEGV with si_code SI_KERNEL, by which rr sees rdtsc and
 * cpuid: a replayer meets those by itself.
 *
 * Which record belongs to a frame. Frames of kind SCHED and SIGNAL carry the registers of one of
 * the stops of their task; stops may precede it that left no frame (rr carried on with the same
 * task, or put the signal off). rr stamps a frame right after its stop, with the same clock. So:
 * for the next such frame of a task, take the last record of that task, after the one used
 * before, whose `seconds` are not later than the frame's, whose general registers, rip and rsp are
 * equal and whose `signo` fits: the frame's signal, or TCK_STOP_SLICE for SCHED. A signal right
 * after a GROW_MAP frame may have come with the fault that made the stack grow: then that
 * SIGSEGV's record is its own. A frame may have no record (a signal that rr delivered later than it
 * came; the end of a recording that was cut short by SIGTERM): then only its registers are known.
 *
 * The digests are XXH3_64bits (seed 0) of the bytes [stack_start, +stack_bytes), of
 * [data_start, +data_bytes) and of [heap_start, +heap_bytes), as they were at the stop. The ranges
 * are what could be read: stack aims at [rsp - 128, rsp + 4096); data at the main program's first
 * writable PT_LOAD that remains when PT_GNU_RELRO is cut off its front (.data and .bss), at most
 * TCK_DATA_BYTES_MAX; heap at the first TCK_HEAP_BYTES_MAX bytes of what brk(2) gave.
 * A range of 0 bytes says nothing. A place is the right one if registers and all digests agree;
 * they are apart because stack slots that no longer hold anything may have been filled by code
 * that stores processor state (a lazy resolver's XSAVE), which the others never are.
 */
#ifndef RECORDER_TICKS_DIGEST_FORMAT_H
#define RECORDER_TICKS_DIGEST_FORMAT_H

#include <stdint.h>

#define TCK_MARK_NAME       "wetdbg.ticks"
#define TCK_MARK_SOFTWARE   "software\n" /* followed by the version in decimal and a newline */
#define TCK_DIGESTS_NAME    "wetdbg.digests"
#define TCK_LINES_NAME      "wetdbg.lines"
#define TCK_FORMAT_VERSION  5
#define TCK_MAGIC           "WDSTOPS\n"
#define TCK_RED_ZONE_BYTES  128
#define TCK_STACK_BYTES_MAX (TCK_RED_ZONE_BYTES + 4096)
#define TCK_DATA_BYTES_MAX  (256 * 1024)
#define TCK_HEAP_BYTES_MAX  (512 * 1024)
#define TCK_STACK_LINE      64
#define TCK_LINE            512
#define TCK_TARGETS_MAX     768
#define TCK_STOPS_BYTES_MAX (4096LL * 1024 * 1024)
#define TCK_REGS_COUNT      27

struct tck_file_header {
    char magic[8]; /* TCK_MAGIC, no terminating zero */
    uint32_t version;
    uint32_t record_bytes; /* sizeof(struct tck_stop); readers refuse another */
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
    uint64_t heap_start;
    uint32_t stack_bytes;
    uint32_t data_bytes;
    uint32_t heap_bytes;
    uint32_t target_count;
    uint64_t stack_digest;
    uint64_t data_digest;
    uint64_t heap_digest;
    uint64_t lines_at; /* in wetdbg.lines */
    double seconds;    /* CLOCK_MONOTONIC, as in rr's frames */
    /* struct user_regs_struct of <sys/user.h> as PTRACE_GETREGS gave it: r15 r14 r13 r12 rbp rbx
     * r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base ds es fs gs.
     * The layout of rr's register files; rr itself may have changed a frame's afterwards
     * (rcx, r11, eflags canonical after a system call). */
    uint64_t regs[TCK_REGS_COUNT];
};

_Static_assert(sizeof(struct tck_file_header) == 16, "the header is 16 bytes on disk");
_Static_assert(sizeof(struct tck_stop) == 312, "a stop is 312 bytes on disk");

#define TCK_LINES_MAX                                                                              \
    ((TCK_STACK_BYTES_MAX + TCK_STACK_LINE - 1) / TCK_STACK_LINE +                                 \
     (TCK_DATA_BYTES_MAX + TCK_HEAP_BYTES_MAX) / TCK_LINE)
#define TCK_WORDS_MAX (TCK_LINES_MAX + 2 * TCK_TARGETS_MAX) /* of a record in wetdbg.lines */

/* How many lines a record has. */
static inline uint32_t tck_line_count(uint64_t stack_bytes, uint64_t data_bytes,
                                      uint64_t heap_bytes)
{
    return (uint32_t)((stack_bytes + TCK_STACK_LINE - 1) / TCK_STACK_LINE +
                      (data_bytes + TCK_LINE - 1) / TCK_LINE +
                      (heap_bytes + TCK_LINE - 1) / TCK_LINE);
}

/*
 * The hash of one line is a sum of terms, one per word of 8 bytes (the last one filled up with
 * zeros), each a bijection of its word. So if just one word of a line differs from what it was at
 * the stop, the hash tells what it was (tck_line_solve).
 */
#define TCK_LINE_FACTOR  0xff51afd7ed558ccdull
#define TCK_LINE_INVERSE 0x4f74430c22a54005ull /* TCK_LINE_FACTOR * this = 1 */

static inline uint64_t tck_line_term(uint64_t word, uint32_t index)
{
    uint64_t mixed = (word ^ (0x9e3779b97f4a7c15ull * (index + 1))) * TCK_LINE_FACTOR;
    return mixed ^ mixed >> 32;
}

static inline uint64_t tck_line_word(const void *line, uint32_t bytes, uint32_t index)
{
    uint64_t word = 0;
    uint32_t i;

    if (index < bytes / 8)
        return ((const uint64_t *)line)[index];
    for (i = 0; i < bytes % 8; i++)
        word |= (uint64_t)((const uint8_t *)line)[index * 8 + i] << 8 * i;
    return word;
}

static inline uint64_t tck_line_hash(const void *line, uint32_t bytes)
{
    uint64_t hash = 0;
    uint32_t i;

    for (i = 0; i < (bytes + 7) / 8; i++)
        hash += tck_line_term(tck_line_word(line, bytes, i), i);
    return hash;
}

/* The word that would have to be at `index` for the line to have the hash `wanted`; it has
 * `hash`. */
static inline uint64_t tck_line_solve(uint64_t wanted, uint64_t hash, uint64_t word, uint32_t index)
{
    uint64_t mixed = wanted - (hash - tck_line_term(word, index));

    mixed = (mixed ^ mixed >> 32) * TCK_LINE_INVERSE;
    return mixed ^ (0x9e3779b97f4a7c15ull * (index + 1));
}

#endif
