/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Turns an rr recording into event-queue entries (recorder/event/queue.h) for one process.
 *
 * rep_feed_open() reads the whole recording once without its data: it picks the process, follows
 * its forks back to an exec, refuses what replay cannot do, opens the mapped files and collects
 * every address the process ever uses. rep_feed_next() then gives the entries in order.
 *
 * An entry's `task` is a slot: it is free again after the task's EVQ_TASK_EXIT, so that a program
 * which runs thousands of children by vfork stays below EVQ_TASKS_MAX.
 */
#ifndef RECORDER_FEED_FEED_H
#define RECORDER_FEED_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/buf.h"
#include "recorder/event/queue.h"
#include "recorder/feed/feed_select.h"
#include "recorder/rr_trace/rr_trace.h"
#include "recorder/rr_trace/trace_processor.h"
#include "recorder/rr_trace/trace_surroundings.h"

struct rep_feed;

/*
 * Scans the recording and prepares the entries of one process. `trace` is used, and moved, until
 * rep_feed_close(); it stays the caller's. Where replay starts: at the exec of the chosen program,
 * or, if the process forked without one, at the last one of its nearest ancestor. A child by vfork
 * without exec is replayed as a task of its parent, whose pid and end rep_info has.
 *
 * 0; -WETDBG_ERR_NOT_FOUND if there is no such process, or nothing in it that could be replayed;
 * -WETDBG_ERR_UNSUPPORTED with a sentence that names the frame and the reason (threads, syscall
 * buffering, 32-bit code, shared memory, CPU features that are missing here, ...); or an error of
 * the reader.
 */
int rep_feed_open(struct wetdbg_recording *trace, const struct rep_selection *which,
                  struct rep_feed **out);
void rep_feed_close(struct rep_feed *feed); /* NULL is fine */

/* The recording is known to be the user's own: engines made from the feed need no wall
 * (engine.h). */
void rep_feed_trust(struct rep_feed *feed);
bool rep_feed_is_trusted(const struct rep_feed *feed);

/*
 * Appends the entries of the next frame that has any: at least one. 1; 0 at the end, when EVQ_END
 * has been delivered; negative on error, and then only rewind and close are of use. Entries are
 * whole, 8-byte aligned to each other, and each passes evq_entry_check(). One frame's entries may
 * be many megabytes (a large read).
 */
int rep_feed_next(struct rep_feed *feed, struct wd_buf *out);

/* Starts again: the next entry is the first. Same results as rep_feed_next(). */
int rep_feed_rewind(struct rep_feed *feed);

/* ---------------------------------------------------------------- tables
 * Complete when rep_feed_open() returns; borrowed until rep_feed_close(). */

/* What EVQ_OP_MAP's file number `d` means. */
struct rep_file {
    int fd;              /* O_RDONLY | O_CLOEXEC, the feed's: do not close */
    const char *name;    /* as the recorded system knew it */
    const char *backing; /* relative to the trace directory, or absolute */
    uint64_t size_bytes; /* of the backing file */
    enum rrt_proof proof;
};
const struct rep_file *rep_feed_files(const struct rep_feed *feed, size_t *count);

/* What EVQ_OP_MAP's name number `g` means: a path, "[stack]", "[heap]" and the like. */
const char *const *rep_feed_names(const struct rep_feed *feed, size_t *count);

struct rep_range {
    uint64_t start, end;
};

/*
 * All addresses that a mapping of the process ever has, with room for stacks and the heap to
 * grow, what rr puts into each process, and the pages of recorded faults. Sorted and disjoint,
 * page-aligned. Whoever lives in the same address space has to stay outside.
 */
const struct rep_range *rep_feed_ranges(const struct rep_feed *feed, size_t *count);

struct rep_info {
    int pid;
    const char *exe;         /* file of the exec at which replay starts */
    const char *const *argv; /* argc strings, then NULL */
    size_t argc;
    uint64_t start_frame; /* of that exec */
    uint64_t end_frame;   /* the last frame that belongs to the replay */
    uint64_t frame_count; /* frames that give entries or belong to the process */
    bool has_ticks;       /* entries carry hardware ticks (EVQ_FLAG_TICKS) */
    bool is_buffered;     /* rr's preload library made system calls (docs/architecture/feed.md) */
    unsigned fork_count;  /* forks followed from that exec on */
    bool has_wait_status; /* 0: the recording ends before the process */
    int wait_status;      /* as from waitpid(2) */
    int fatal_signal;     /* 0: none */
    uint64_t fatal_frame; /* at which it arrived */
    uint8_t fatal_siginfo[RRT_SIGINFO_BYTES]; /* siginfo_t; zeros without fatal_signal */
};
const struct rep_info *rep_feed_info(const struct rep_feed *feed);

/*
 * When the recording was begun and, of the program with which it began, where: of others no working
 * directory is known. Borrowed.
 */
const struct rrt_surroundings *rep_feed_surroundings(const struct rep_feed *feed);

/* What standard input still held at the end (recorder/rr_trace/input_format.h), if it can have been
 * read by this program alone: a descriptor of the file, which stays the feed's; or -1. */
int rep_feed_input(const struct rep_feed *feed);

/* The recorded processor: how CPUID and XGETBV have to be answered. */
struct rep_cpu {
    const struct rrt_cpuid *cpuid; /* of the trace: borrowed until wetdbg_recording_close() */
    size_t cpuid_count;
    uint64_t xcr0;
    struct rrt_processor processor;
    uint32_t x87;           /* AGT_X87_*: recorder/agent/x87.h */
    char lacks[512];        /* names of features that this processor lacks; "": none */
    bool cpuid_is_here;     /* this is the recorded processor */
    bool cpuid_is_recorded; /* each CPUID is an EVQ_TRAP entry; else answer from the table */
};
const struct rep_cpu *rep_feed_cpu(const struct rep_feed *feed);

/* EVQ_OP_CAPTURE's `c`: what the captured bytes are. */
enum rep_capture {
    REP_CAPTURE_IOVEC = 1,   /* struct iovec[]: writev, pwritev, pwritev2, vmsplice */
    REP_CAPTURE_MSGHDR = 2,  /* struct msghdr (56 bytes): sendmsg */
    REP_CAPTURE_MMSGHDR = 3, /* struct mmsghdr[] (64 bytes each): sendmmsg */
    REP_CAPTURE_COMM = 4,    /* the task's new name, prctl(PR_SET_NAME): ends with the first zero
                              * byte or after 15 bytes; 16 bytes, fewer if memory ends before */
};

/* ---------------------------------------------------------------- runs that nobody recorded */

/* A run by its entries. */
struct rep_run {
    struct rep_info info;
    const struct rep_file *files; /* `fd` and `name` */
    size_t file_count;
    const char *const *names;
    size_t name_count;
    const struct rep_range *ranges;
    size_t range_count;
    struct rep_cpu cpu;
    struct rrt_surroundings surroundings;
    const struct wd_buf *entries; /* whole and checked, the last is EVQ_END */
    bool is_trusted;
};

/* A feed of such a run, which is borrowed, with all that it names, until rep_feed_close(). */
int rep_feed_of_run(const struct rep_run *run, struct rep_feed **out);

/* ---------------------------------------------------------------- entries, whoever made them */

/*
 * 0 if `bytes` begins with one well-formed entry within `size_bytes`: sizes, counts, kinds, task
 * slots, address ranges and page alignment are in bounds. -WETDBG_ERR_CORRUPT otherwise, with a
 * sentence. What an agent does with a checked entry can still fail (memory that is not mapped); it
 * cannot read past the entry. File and name numbers are the caller's to bound.
 */
int evq_entry_check(const void *bytes, size_t size_bytes);

/* Writes a checked entry to `out`: one line for it and one for each op. */
int rep_entry_print(const struct evq_entry *entry, FILE *out);

const char *rep_entry_kind_name(unsigned kind); /* "SYSCALL_ENTER", ...; "?" */
const char *rep_opcode_name(unsigned op);       /* "MAP", ...; "?" */

#endif
