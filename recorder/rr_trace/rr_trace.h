/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads the recordings that rr leaves: a directory with five streams. Everything in it is
 * untrusted; every length, count, offset and pointer is checked before it is used, and damage
 * ends in one sentence (<wetdbg/errors.h>) that names the file and the offset.
 *
 * A trace is read forwards: rrt_next() gives the frames one by one, each joined with its memory
 * mappings, task events and memory contents. Terms: a *task* is one thread; a *process* is a
 * group of tasks that exit together; a *frame* is one recorded event; a frame's *time* is its
 * position in the recording, counted from 1.
 */
#ifndef RECORDER_RR_TRACE_RR_TRACE_H
#define RECORDER_RR_TRACE_RR_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <wetdbg/recording.h>

/* A byte string of the trace: no NUL is promised, and it may hold any byte. Never NULL when
 * size_bytes is above 0. */
struct rrt_bytes {
    const uint8_t *data;
    size_t size_bytes;
};

/* ---------------------------------------------------------------- the header */

enum rrt_ticks_semantics {
    RRT_TICKS_RETIRED_CONDITIONAL_BRANCHES = 0,
    RRT_TICKS_TAKEN_BRANCHES = 1,
};

enum rrt_quirk {
    RRT_QUIRK_UNKNOWN = 0,
    RRT_QUIRK_YES = 1,
    RRT_QUIRK_NO = 2,
};

/* One answer of CPUID on the recording CPU. */
struct rrt_cpuid {
    uint32_t eax_in;
    uint32_t ecx_in; /* RRT_CPUID_NO_SUBLEAF: the leaf has no subleaves */
    uint32_t eax, ebx, ecx, edx;
};
#define RRT_CPUID_NO_SUBLEAF 0xffffffffu

struct rrt_header {
    uint8_t uuid[16];
    int bind_to_cpu; /* the CPU that the tasks were bound to; -1: none */
    enum rrt_ticks_semantics ticks_semantics;
    bool ended_normally;     /* false: unfinished, see wetdbg_recording_unfinished() */
    bool is_assumed;         /* rr did not get to writing it: it is this processor's */
    bool has_cpuid_faulting; /* every CPUID is an INSTRUCTION_TRAP frame; else none is */
    bool clears_fip_fdp;     /* x87 FIP and FDP were zeroed at each event */
    bool pkey_alloc_has_extra_regs;
    bool uses_globals_in_replay;
    bool buffered_syscall_forced_tick;
    bool preload_thread_locals_recorded;
    uint64_t xcr0; /* already derived from CPUID leaf 0xd when the trace leaves it open */
    int rrcall_base;
    enum rrt_quirk xsave_fip_fdp_quirk;
    enum rrt_quirk fdp_exception_only_quirk;
    enum rrt_quirk chaos_mode;
    unsigned max_virtual_address_bits; /* 47, 57, or 0: not recorded */
    uint64_t exclusion_start, exclusion_end;
    int forward_compatibility;
    unsigned syscallbuf_fds_disabled_size;
    unsigned syscallbuf_header_size_bytes;
    const struct rrt_cpuid *cpuid; /* in the order recorded */
    size_t cpuid_count;
};

/* ---------------------------------------------------------------- the frame */

enum rrt_event {
    RRT_EVENT_INSTRUCTION_TRAP = 0,
    RRT_EVENT_PATCH_SYSCALL = 1,
    RRT_EVENT_SYSCALLBUF_ABORT_COMMIT = 2,
    RRT_EVENT_SYSCALLBUF_RESET = 3,
    RRT_EVENT_SCHED = 4,
    RRT_EVENT_GROW_MAP = 5,
    RRT_EVENT_SIGNAL = 6,
    RRT_EVENT_SIGNAL_DELIVERY = 7,
    RRT_EVENT_SIGNAL_HANDLER = 8,
    RRT_EVENT_EXIT = 9,
    RRT_EVENT_SYSCALLBUF_FLUSH = 10,
    RRT_EVENT_SYSCALL = 11,
    RRT_EVENT_PATCH_AFTER_SYSCALL = 12,
    RRT_EVENT_PATCH_VSYSCALL = 13,
    RRT_EVENT_PATCH_TRAPPING_INSTRUCTION = 14,
};
#define RRT_EVENT_COUNT 15

enum rrt_arch {
    RRT_ARCH_X86 = 0,
    RRT_ARCH_X86_64 = 1,
};

/* As in struct user_regs_struct: same names, same order, 216 bytes. */
struct rrt_regs {
    uint64_t r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8;
    uint64_t rax, rcx, rdx, rsi, rdi, orig_rax, rip, cs, eflags, rsp, ss;
    uint64_t fs_base, gs_base, ds, es, fs, gs;
};

enum rrt_syscall_state {
    RRT_SYSCALL_ENTERING_PTRACE = 0,
    RRT_SYSCALL_ENTERING = 1,
    RRT_SYSCALL_EXITING = 2,
};

enum rrt_syscall_extra {
    RRT_EXTRA_NONE = 0,
    RRT_EXTRA_WRITE_OFFSET = 1,
    RRT_EXTRA_EXEC_FDS_TO_CLOSE = 2,
    RRT_EXTRA_OPENED_FDS = 3,
    RRT_EXTRA_SOCKET_ADDRS = 4,
    RRT_EXTRA_MADVISE_RANGES = 5,
};

struct rrt_range {
    uint64_t start, end; /* start <= end */
};

struct rrt_opened_fd {
    int fd;
    uint64_t device, inode;
    struct rrt_bytes path;
};

struct rrt_syscall {
    enum rrt_syscall_state state;
    int number;
    enum rrt_arch arch; /* of the call: int 0x80 in 64-bit code says X86 */
    bool failed_during_preparation;
    enum rrt_syscall_extra extra; /* tells which of the following are set; the others are 0 */
    int64_t write_offset;
    const int32_t *exec_fds_to_close;
    size_t exec_fd_count;
    const struct rrt_opened_fd *opened_fds;
    size_t opened_fd_count;
    struct rrt_bytes socket_local, socket_remote; /* struct sockaddr_storage, or empty */
    const struct rrt_range *madvise_ranges;
    size_t madvise_range_count;
};

enum rrt_disposition {
    RRT_DISPOSITION_FATAL = 0,
    RRT_DISPOSITION_USER_HANDLER = 1,
    RRT_DISPOSITION_IGNORED = 2,
};

#define RRT_SIGINFO_BYTES 128
struct rrt_signal {
    const uint8_t *siginfo; /* RRT_SIGINFO_BYTES of siginfo_t, unaligned */
    int number;             /* si_signo, 1..64 */
    bool deterministic;
    enum rrt_disposition disposition;
};

enum rrt_mmap_source {
    RRT_SOURCE_ZERO = 0,
    RRT_SOURCE_TRACE = 1, /* the frame's next write to `start` holds the contents */
    RRT_SOURCE_FILE = 2,  /* rrt_backing_open() */
};

/* A new or changed mapping; start and end are page-aligned, start <= end. */
struct rrt_mmap {
    uint64_t time;
    uint64_t start, end;
    int prot;
    int flags; /* of mmap(2), without MAP_FIXED */
    uint64_t file_offset_bytes;
    uint64_t device, inode;
    uint32_t stat_mode, stat_uid, stat_gid;
    int64_t stat_size_bytes;
    int64_t stat_mtime_seconds; /* 0: not known */
    enum rrt_mmap_source source;
    bool skip_monitoring_mapped_fd;
    const char *name;    /* of the mapped file, [heap] and the like; NUL-terminated, may be "" */
    const char *backing; /* SOURCE_FILE: file name, relative to the trace or absolute; else "" */
};

enum rrt_task_kind {
    RRT_TASK_CLONE = 0,
    RRT_TASK_EXEC = 1,
    RRT_TASK_EXIT = 2,
    RRT_TASK_DETACH = 3,
};

/*
 * A frame's task events come in the order recorded. When a task other than its process's first
 * runs a program, the kernel gives it the first one's number, and the frame in which the exec
 * ends holds: CLONE of that number (which ended before) with the old one as its parent, EXIT of
 * the old number, EXEC of the *old* number. The frame itself has the new number.
 */
struct rrt_task_event {
    uint64_t time;
    int tid;
    enum rrt_task_kind kind;
    /* CLONE */
    int parent_tid;
    int clone_flags; /* of clone(2); vfork: VM, VFORK and SIGCHLD */
    int own_ns_tid;
    /* EXEC; strings are NUL-terminated, cut at an inner NUL */
    const char *exec_file;
    const char *const *argv; /* argc strings, then NULL */
    size_t argc;
    uint64_t exe_base, interp_base; /* 0: not recorded */
    const char *interp;
    /* EXIT */
    int wait_status;
};

struct rrt_hole {
    uint64_t offset_bytes, size_bytes; /* ascending, disjoint, inside the write */
};

/* Memory that has to be written: [addr, addr + size_bytes) is `bytes` with the holes (zero
 * bytes that are not in `bytes`) put in. The range does not wrap around. */
struct rrt_write {
    int tid; /* whose address space; mostly, not always, the frame's */
    uint64_t addr;
    uint64_t size_bytes; /* with holes; 0 occurs */
    const struct rrt_hole *holes;
    size_t hole_count;
    const uint8_t *bytes;  /* NULL under rrt_set_skip_data, and when stored_bytes is 0 */
    uint64_t stored_bytes; /* size_bytes minus all holes */
    uint64_t data_offset;  /* of the first stored byte in the data stream, uncompressed */
    bool size_is_conservative;
};

/* A successful mprotect of buffered system calls. */
struct rrt_protect {
    uint64_t start, size_bytes; /* size 0: it failed, and changed nothing */
    int prot;
};

struct rrt_frame {
    uint64_t time; /* from 1, no gaps */
    int tid;
    enum rrt_event event;
    enum rrt_arch arch; /* of the task */
    int64_t ticks;      /* mean nothing in a recording with software ticks */
    double monotonic_seconds;

    bool has_regs; /* false in the frames of 32-bit tasks: their registers are not kept */
    struct rrt_regs regs;
    const uint8_t *extra_regs; /* an XSAVE image in the recording CPU's standard layout */
    size_t extra_regs_bytes;   /* 0: none; else at least 512 */

    struct rrt_syscall syscall; /* EVENT_SYSCALL only, else all 0 */
    struct rrt_signal signal;   /* EVENT_SIGNAL* only, else all 0 */
    uint64_t in_syscallbuf_hook;
    const struct rrt_protect *protects; /* EVENT_SYSCALLBUF_FLUSH only */
    size_t protect_count;

    const struct rrt_mmap *mmaps; /* in the order to apply them */
    size_t mmap_count;
    const struct rrt_task_event *tasks;
    size_t task_count;
    const struct rrt_write *writes;
    size_t write_count;
};

/* ---------------------------------------------------------------- open, read */

/* Borrowed until wetdbg_recording_close(). */
const struct rrt_header *rrt_trace_header(const struct wetdbg_recording *trace);
const char *rrt_trace_dir(const struct wetdbg_recording *trace);
int rrt_trace_dir_fd(const struct wetdbg_recording *trace); /* stays the trace's: do not close */

/*
 * Reads the next frame into *frame. 1: a frame; 0: the end of the recording, where all streams end
 * together (or, if it did not end, the first of them); or an error: -WETDBG_ERR_CORRUPT,
 * -WETDBG_ERR_VERSION, -WETDBG_ERR_UNSUPPORTED (a frame
 * with more memory than we load), -ENOMEM, -EIO. After an error only rrt_rewind() and
 * wetdbg_recording_close() are of use. What the frame points to is borrowed until the next
 * rrt_next(), rrt_rewind() or wetdbg_recording_close().
 */
int rrt_next(struct wetdbg_recording *trace, struct rrt_frame *frame);

/* Starts again at the first frame. Keeps the skip-data setting. */
int rrt_rewind(struct wetdbg_recording *trace);

/* Whether the last answer was an error whose sentence names the recording: of reading, or of a
 * backing file. */
bool rrt_has_named_itself(const struct wetdbg_recording *trace);

/* With `skip` memory contents are not read (rrt_write.bytes is NULL): a quick scan of all else.
 * May be changed between any two frames. */
void rrt_set_skip_data(struct wetdbg_recording *trace, bool skip);

/* ---------------------------------------------------------------- whole-trace questions
 * These read the recording through a second cursor: the caller's place stays where it is. */

/*
 * 0 if our replay can use the recording at all; else -WETDBG_ERR_UNSUPPORTED and a sentence with
 * the reason and the way out (32-bit tasks, detached tasks), or any error of rrt_next().
 */
int rrt_check_supported(struct wetdbg_recording *trace);

/* What tells that a backing file has the contents that were mapped. */
enum rrt_proof {
    RRT_PROOF_DIGEST = 0,    /* `wetdbg record` noted a digest of the contents, and it is theirs */
    RRT_PROOF_SIZE_TIME = 1, /* no digest was noted; size and time of modification agree */
    RRT_PROOF_SIZE = 2,      /* the recording's own copy, without a digest; the size agrees */
};

struct rrt_backing {
    int fd; /* O_RDONLY, O_CLOEXEC; the caller's */
    uint64_t size_bytes;
    enum rrt_proof proof;
};

/*
 * Opens the file that holds the contents of a RRT_SOURCE_FILE mapping, and reads all of it if there
 * is a digest to hold it against. Nothing but a regular file is ever opened. -WETDBG_ERR_CORRUPT
 * for a name that leaves the trace directory, for what is no regular file, for contents that
 * differ, and for a file that the list of digests should name and does not; -WETDBG_ERR_UNSUPPORTED
 * if the file is not what was recorded any more, or if nothing tells that a private file which is
 * named by its path is what was recorded; -EINVAL for a mapping without a file; -ENOENT and the
 * like if it is gone.
 */
int rrt_backing_open(struct wetdbg_recording *trace, const struct rrt_mmap *map,
                     struct rrt_backing *backing);

/* Visits all mappings of the recording, in order; what `map` points to lasts for the call. Ends
 * with the first answer that is not 0, and returns it. Rewinds the trace before and after. */
typedef int (*rrt_mmap_fn)(void *arg, const struct rrt_mmap *map);
int rrt_each_mmap(struct wetdbg_recording *trace, rrt_mmap_fn visit, void *arg);

/* 1: `rr pack` has rewritten the recording's list of mappings, and taken all files into it; 0: it
 * has not; or an error of reading. */
int rrt_is_packed(struct wetdbg_recording *trace);

/* 0 if all streams and side files are as they were recorded (but for the mappings of a packed
 * recording), or if nothing tells (the recording was made by rr alone); -WETDBG_ERR_CORRUPT naming
 * the file that differs. Reads all of them. */
int rrt_check_sums(struct wetdbg_recording *trace);

/* Names as in the dump: "SYSCALL", "SIGNAL", ...; "?" for a number without name. */
const char *rrt_event_name(enum rrt_event event);

#endif
