/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The virtual kernel: a deterministic model of Linux for one process. It answers the system calls
 * of a recorded run that goes on differently from some time on.
 *
 *   recording ──vk_history_...()──▶ struct vk_history    what calls did
 *                                        │ vk_kernel_new(), vk_kernel_advance() to the time T
 *                                        ▼
 *                                   struct vk_kernel     the state at T; vk_kernel_live()
 *                                        │ vk_kernel_clone(): one for each switched run
 *                                        ▼
 *                vk_call(), vk_tick(), vk_fault() ... ──▶ struct vk_outcome
 *
 * Nothing that the model does touches the machine, but that it reads regular files, directories and
 * links of the disk which have not changed since before the recording (struct vk_start). It makes
 * no system call for the program; files are written in memory only.
 *
 * Where the model cannot know what Linux would have done, the run is *unresolved*, with a reason in
 * words that begins with the call's name. What is modelled: docs/architecture/switching.md.
 *
 * Time is the number of instructions that the whole process has executed. A call's time is that of
 * its `syscall` instruction, counted from 1; "the state at T" is the one just before instruction T,
 * so that all events with times below T have happened. Times never go back.
 *
 * What comes from outside (clocks, random bytes, rdtsc, the terminal) is first what the recording
 * had next of the same kind, and goes on from there (clocks: a nanosecond per instruction) or from
 * a seed. So a run that nothing changes ends as recorded; the same change gives the same run, to
 * the byte.
 *
 * A history that is finished is never changed in a way that can be seen: kernels of one history may
 * be used by several threads, each kernel by one at a time. Everything that is told may be
 * hostile: it is checked, and a run that it makes no sense of ends as unresolved.
 */
#ifndef PREDICATE_SWITCH_KERNEL_VK_H
#define PREDICATE_SWITCH_KERNEL_VK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define VK_ARGS      6
#define VK_NEVER     UINT64_MAX
#define VK_TASKS_MAX 512
#define VK_FD_MAX    65536

/* The program's memory as it is now. `read` is 0, or negative if not all of it is mapped. */
struct vk_memory {
    int (*read)(void *arg, uint64_t address, void *bytes, size_t size);
    void *arg;
};

/* A system call as the program makes it. */
struct vk_call {
    uint64_t when;          /* the time of its `syscall` instruction */
    uint32_t task;          /* slot as in struct evq_entry, below VK_TASKS_MAX */
    int32_t number;         /* x86-64 */
    uint64_t args[VK_ARGS]; /* rdi, rsi, rdx, r10, r8, r9 */
    uint64_t stack;         /* rsp */
};

/* ---- what a recording tells ---- */

struct vk_mapping {
    uint64_t start, end;
    int prot;
    const char *name; /* path, "[stack]", "[heap]", "[vdso]"..., "" */
};

struct vk_limits {         /* 0: a default (in brackets) */
    uint64_t memory_bytes; /* that may be accessed, more than when the run went live [1 GiB] */
    uint64_t output_bytes; /* written to what is no regular file, since then [64 MiB] */
    uint64_t file_bytes;   /* that all files grow by, since then [256 MiB] */
    uint64_t descriptors;  /* [RLIMIT_NOFILE as recorded, 1024 if not known] */
    uint64_t instructions; /* after T; [none] */
};

struct vk_stream { /* a descriptor that the program began with */
    bool is_known;
    uint32_t flags; /* as fcntl() gives them */
    uint64_t start; /* of a regular file: where it stands */
    struct stat st;
};

#define VK_STREAMS 3

struct vk_start {
    int pid, parent;
    uint32_t task;                     /* slot of the first thread */
    const char *exe, *cwd;             /* absolute; NULL: not known */
    const struct vk_mapping *mappings; /* just before the first instruction */
    size_t mapping_count;
    /*
     * Nanoseconds since 1970: what has not changed on the disk since before then (by st_ctime) is
     * what the recorded program would have found. 0: the disk is not looked at; a recording of
     * another machine.
     */
    int64_t disk_before_ns;
    int64_t disk_until_ns; /* since when nothing has changed that still is as the run left it */
    bool input_is_file;    /* standard input is a regular file, */
    uint64_t input_start;  /* which stands here */
    bool input_is_null;    /* or it is /dev/null */
    bool output_is_file;   /* descriptors 1 and 2 are empty regular files */
    struct vk_stream streams[VK_STREAMS]; /* standard input, output and error */
    uint64_t seed;                        /* for random bytes that the recording does not have */
    struct vk_limits limits;
};

struct vk_history;

/* *out is for vk_history_free(), after its kernels. Copies what it needs. -ENOMEM. */
int vk_history_new(const struct vk_start *start, struct vk_history **out);
void vk_history_free(struct vk_history *history);

/* What the kernel left at rsp for the first instruction (argc, argv, environment, auxiliary
 * vector): who the process is. Told before any event; what is not there is not learned. */
void vk_history_stack(struct vk_history *history, uint64_t stack, const struct vk_memory *memory);

/* What a recorded call wrote into memory. */
struct vk_piece {
    uint64_t address, size;
    const uint8_t *bytes;
};

/*
 * The calls of the recording in the order in which they began and ended: every `begin` has one
 * `end` of its task, later calls of other tasks may come between; a call that never comes back
 * (exit) has none. `memory` is the program's: just before the call, and just after it, when what
 * it wrote is there. Nothing of the arguments is kept.
 *
 * An `end` without a known begin, and events whose times go back, are -WETDBG_ERR_CORRUPT with a
 * sentence. -ENOMEM.
 */
int vk_history_begin(struct vk_history *history, const struct vk_call *call,
                     const struct vk_memory *memory);
int vk_history_end(struct vk_history *history, uint32_t task, uint64_t when, int64_t result,
                   const struct vk_piece *writes, size_t write_count,
                   const struct vk_memory *memory);

/* Whether what the recording writes to a descriptor now goes out of the process, as what kernels
 * tell of their output: not into a pipe of its own, a counter or /dev/null. */
bool vk_history_puts_out(const struct vk_history *history, int fd);

/* A task that a recorded clone made: told before the end of that call. */
int vk_history_task_new(struct vk_history *history, uint64_t when, uint32_t parent, uint32_t task,
                        int tid);
int vk_history_task_end(struct vk_history *history, uint64_t when, uint32_t task);

/* Another task goes on at this time, without a call of the one that ran. */
int vk_history_switch(struct vk_history *history, uint64_t when, uint32_t task);

/* A signal arrives at a task. `info` is a siginfo_t, or NULL. `is_fault`: an instruction raised
 * it. */
int vk_history_signal(struct vk_history *history, uint64_t when, uint32_t task, int number,
                      const uint8_t info[128], bool is_fault, bool calls_handler);

/*
 * Memory that the recording says is mapped from now on (prot -1: not any more): a stack that grew,
 * the recorder's own areas. What a call mapped may be told again, after its end: the model's list
 * of mappings is then the recorded one, whatever it made of the call.
 */
int vk_history_space(struct vk_history *history, uint64_t when, uint32_t task, uint64_t start,
                     uint64_t size, int prot, const char *name);

/* rdtsc and rdtscp: the counter that the program was given. */
int vk_history_counter(struct vk_history *history, uint64_t when, uint64_t value);

/* What standard input still held when the run ended: behind all that was read of it, or, of a file,
 * from position `at` on. `is_all`: then comes its end. To be told last. -WETDBG_ERR_UNSUPPORTED
 * without a message if how much was read is not known. */
int vk_history_input(struct vk_history *history, uint64_t at, const void *bytes, size_t size,
                     bool is_all);

/* The run's last time. Nothing more is told. */
int vk_history_finish(struct vk_history *history, uint64_t when);

/*
 * The model against the recording, call by call, without cost: each recorded call is asked of the
 * model before its answer is told. `model` is the model's result; `text` says what differs, or why
 * the model does not know. The first 4096 are kept; calls back with each, in order of time.
 */
struct vk_difference {
    uint64_t when;
    int32_t number;
    bool is_unknown; /* the model knows that it does not know: what is from outside */
    int64_t recorded, model;
    const char *text;
};
void vk_history_differences(const struct vk_history *history,
                            void (*fn)(void *arg, const struct vk_difference *difference),
                            void *arg);
/* How many calls were compared and found equal, and how many of those that differ are unknown. */
struct vk_score {
    uint64_t calls, equal, unknown, different;
};
struct vk_score vk_history_score(const struct vk_history *history);

/* ---- kernels ---- */

struct vk_kernel;

/* The state before the first event. *out is for vk_kernel_free(). -ENOMEM. */
int vk_kernel_new(struct vk_history *history, struct vk_kernel **out);
void vk_kernel_free(struct vk_kernel *kernel);

/* Passes all recorded events with times below `when`, which is not before the last one. -ENOMEM. */
int vk_kernel_advance(struct vk_kernel *kernel, uint64_t when);

/* A copy with a life of its own; contents are shared until one of them changes. Some 20 pointers:
 * below a microsecond. -ENOMEM. */
int vk_kernel_clone(const struct vk_kernel *kernel, struct vk_kernel **out);

/* What the program puts out while it runs live. Not 0: the run ends as VK_THEN_STOPPED. */
struct vk_output {
    uint64_t when;
    uint32_t task;
    int fd;
    bool is_file;     /* a regular file: then path and offset are true */
    const char *path; /* absolute; NULL: none */
    uint64_t offset;  /* of a file: where in it; else: bytes put out there since it went live */
    const uint8_t *bytes;
    uint64_t size;
};
typedef int (*vk_output_fn)(void *arg, const struct vk_output *output);
void vk_kernel_on_output(struct vk_kernel *kernel, vk_output_fn fn, void *arg);

/* As much memory again as may be accessed when the run goes live, and `bytes` more, is the limit
 * from then on, if struct vk_limits allows that much; 0: what that allows is. */
void vk_kernel_limit_memory(struct vk_kernel *kernel, uint64_t bytes);

/* ---- live ---- */

enum vk_op_kind { /* the operands of each op: recorder/event's ops have the same meaning */
                  VK_OP_WRITE, /* `bytes` to [start, start + size), whatever the protection */
                  VK_OP_MAP, /* private memory with `prot`: first `byte_count` bytes, then zeros */
                  VK_OP_UNMAP,
                  VK_OP_PROTECT, /* `prot` from now on */
                  VK_OP_REMAP,   /* [start, start + size) becomes [to, to + to_size) */
                  VK_OP_DISCARD, /* reads as `byte_count` bytes, then zeros, from now on */
                  VK_OP_FS_BASE, /* of `task`: `start` */
                  VK_OP_GS_BASE,
                  VK_OP_TASK_NEW, /* see below */
                  VK_OP_TASK_END, /* `task` is gone */
};

struct vk_op {
    enum vk_op_kind kind;
    uint32_t task;
    uint64_t start, size;
    uint64_t to, to_size;
    bool stays; /* REMAP: the old range stays, zeroed */
    int prot;
    const uint8_t *bytes; /* lives as long as the outcome */
    uint64_t byte_count;
    const char *name; /* MAP: path or ""; as long as the outcome */
    /* TASK_NEW: `task` begins with a copy of the registers of `from`, rax 0, rsp `stack` (0: the
     * same), fs base `tls` if has_tls, rip behind the `syscall`. It runs when an outcome says. */
    uint32_t from;
    int tid;
    uint64_t stack, tls;
    bool has_tls;
};

/* A handler that is to be entered. The engine puts the frame on the stack, and then calls
 * vk_entered(), as more signals may be waiting. */
struct vk_signal {
    int number;
    uint8_t info[128];                 /* siginfo_t */
    uint64_t handler, restorer, flags; /* of its action; SA_SIGINFO, SA_RESTORER ... */
    uint64_t old_mask;                 /* uc_sigmask */
    uint64_t alt_stack, alt_size;      /* uc_stack */
    int alt_flags;
    /* On the alternate stack, the frame goes below this address, unless rsp is on it already
     * (alt_stack < rsp <= alt_stack + alt_size). 0: not on the alternate one. Otherwise it goes
     * below the 128 bytes under rsp. */
    uint64_t frame_top;
    bool is_fault; /* of the instruction at rip: uc_mcontext's err, trapno, cr2 are its own */
};

enum vk_then {
    VK_THEN_RUN,        /* `task` runs on */
    VK_THEN_END,        /* the process has ended: `status` */
    VK_THEN_HANGS,      /* all its threads wait, for nothing that could ever come; `reason` */
    VK_THEN_UNRESOLVED, /* `reason` */
    VK_THEN_STOPPED,    /* by the callback for output */
};

/*
 * What comes of a call, a fault, a tick. Apply `ops` in their order, whatever `then` says. Then:
 *
 *  - returns: `task` comes back from the call that it made, now or long ago, with rax = result.
 *  - restarts: a handler interrupts that call, which is made again afterwards: rax = result (the
 *    call's number), rip back to the `syscall` instruction, in the frame. (returns is false.)
 *  - sigreturn: the registers of `task` are those of the frame at its rsp, vector state too.
 *  - retries: the instruction that faulted runs again: its stack has grown.
 *  - none of them: `task` goes on where it was left.
 *  - signal not NULL: that handler is entered then.
 *
 * Borrowed pointers live until the kernel's next call, or its end.
 */
struct vk_outcome {
    enum vk_then then;
    uint32_t task;
    bool returns, restarts, sigreturn, retries;
    int64_t result;
    const struct vk_signal *signal;
    const struct vk_op *ops;
    size_t op_count;
    uint64_t until;     /* vk_tick() is to be called at this time, unless something else is */
    int status;         /* as waitpid() gives it */
    const char *reason; /* one sentence, without full stop: "fork: processes are not modelled" */
};

/* From now on nothing is told any more. `when`: the time T it was advanced to; `task` runs. Calls
 * that other tasks are in go on waiting. The outcome is as of vk_tick(). -ENOMEM. */
int vk_kernel_live(struct vk_kernel *kernel, uint64_t when, uint32_t task,
                   struct vk_outcome *outcome);

/* All are 0; -ENOMEM; -EINVAL if the kernel is not live, or has ended. */
int vk_call(struct vk_kernel *kernel, const struct vk_call *call, const struct vk_memory *memory,
            struct vk_outcome *outcome);

/* The time that an outcome's `until` said has come. */
int vk_tick(struct vk_kernel *kernel, uint64_t when, const struct vk_memory *memory,
            struct vk_outcome *outcome);

/* An instruction of `task` raised a signal: SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP. `address` is
 * si_addr. `when` is the time of the last instruction that was executed. */
int vk_fault(struct vk_kernel *kernel, uint64_t when, uint32_t task, int number, int code,
             uint64_t address, const struct vk_memory *memory, struct vk_outcome *outcome);

/* The handler of the last outcome's signal has its frame. What comes next is mostly to run it. */
int vk_entered(struct vk_kernel *kernel, uint64_t when, const struct vk_memory *memory,
               struct vk_outcome *outcome);

/* rdtsc. Never fails. */
uint64_t vk_counter(struct vk_kernel *kernel, uint64_t when);

/* ---- what a run left ---- */

/* Every regular file that the run changed, made or took away, in a fixed order: for oracles that
 * look at output files. `path` has room for PATH_MAX bytes. -ENOENT behind the last. Reading is
 * -ENODATA if some bytes are not known. */
struct vk_file {
    const char *path;
    bool is_gone;
    uint32_t mode;
    uint64_t size;
};
size_t vk_kernel_file_count(const struct vk_kernel *kernel);
int vk_kernel_file(const struct vk_kernel *kernel, size_t index, struct vk_file *file, char *path,
                   size_t room);
int vk_kernel_file_read(struct vk_kernel *kernel, size_t index, uint64_t offset, void *bytes,
                        size_t size);

/* Every name that the run made or took away, and its path: `mode` and `size` are those of what it
 * leads to. Reading is as vk_kernel_file_read(), of a regular file. -ENOENT behind the last. */
int vk_kernel_name(const struct vk_kernel *kernel, size_t index, struct vk_file *file, char *path,
                   size_t room);
int vk_kernel_name_read(struct vk_kernel *kernel, size_t index, uint64_t offset, void *bytes,
                        size_t size);

/* ---- another input ----
 * An input is standard input, if that is a regular file (path NULL), or the file with an absolute
 * path that leads over no links. */

/* When a recorded call first asked for what depends on the input's bytes or their number: so far
 * any others would have made no difference. VK_NEVER: none did, as far as the model could see. */
uint64_t vk_history_asked(struct vk_history *history, const char *path);

/* Has the input other bytes, in a kernel that stands at that time, or before, and is not live. What
 * the recording says of the input is asked no more; nor is what it read of /proc/self, or of a
 * device that names a descriptor. The input, and the outputs that are files, are files of this user
 * with mode 0600, if nobody asked. 0; -ENOMEM; -ENOTSUP if the input is no plain file. */
int vk_kernel_input(struct vk_kernel *kernel, const char *path, const void *bytes, size_t size);

/* The file that descriptor 1 or 2 began with, as a run leaves it: its size; -ENOTSUP if it is not
 * known to be one. Reading is as vk_kernel_file_read(). */
int64_t vk_kernel_output_size(struct vk_kernel *kernel, int fd);
int vk_kernel_output_read(struct vk_kernel *kernel, int fd, uint64_t offset, void *bytes,
                          size_t size);

/* ---- the table ---- */

enum vk_modelled {
    VK_MODELLED_NOT,           /* ends as unresolved: why */
    VK_MODELLED,               /* answered by the model alone */
    VK_MODELLED_NEXT,          /* nondeterministic: what the recording had next, then made up */
    VK_MODELLED_ONLY_RECORDED, /* from outside: what the recording had next, else unresolved */
};

/* A row for each call of Linux that the model knows by name; *why is NULL for modelled ones. NULL
 * for others: unresolved. */
const char *vk_call_name(int32_t number, enum vk_modelled *how, const char **why);

#endif
