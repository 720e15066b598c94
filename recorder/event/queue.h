/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The event queue: what a replayee must be told, in the order in which it needs it.
 *
 * Whoever has recorded events (recorder/feed from an rr trace, wet/ from a .wet file) turns
 * them into *entries*; the agent inside the replayee takes them one by one and makes no system
 * call, reads no file and decides nothing that an entry does not say. The same bytes are kept in
 * a .wet file, so that an interval can be run again without the recording.
 *
 *   entry:  | struct evq_entry | op | op | ... |          all 8-byte aligned, little-endian
 *   op:     | struct evq_op    | payload, padded to 8 |
 *
 * An entry first says how far to run (its kind), then which registers must be found there
 * (compare_mask over `regs`), then what to do (the ops, in order). Kinds marked *immediate* do not
 * run: the agent applies them as soon as the entry before them is done. An entry of another task
 * than the running one switches register contexts first.
 *
 * This header is shared with the freestanding agent: types only. recorder/event/ops.h reads them.
 */
#ifndef RECORDER_EVENT_QUEUE_H
#define RECORDER_EVENT_QUEUE_H

#include <stdint.h>

/* Positions in a register file: the order of struct user_regs_struct and of rr's frames. */
enum evq_reg {
    EVQ_R15,
    EVQ_R14,
    EVQ_R13,
    EVQ_R12,
    EVQ_RBP,
    EVQ_RBX,
    EVQ_R11,
    EVQ_R10,
    EVQ_R9,
    EVQ_R8,
    EVQ_RAX,
    EVQ_RCX,
    EVQ_RDX,
    EVQ_RSI,
    EVQ_RDI,
    EVQ_ORIG_RAX,
    EVQ_RIP,
    EVQ_CS,
    EVQ_EFLAGS,
    EVQ_RSP,
    EVQ_SS,
    EVQ_FS_BASE,
    EVQ_GS_BASE,
    EVQ_DS,
    EVQ_ES,
    EVQ_FS,
    EVQ_GS,
    EVQ_REG_COUNT
};

struct evq_regs {
    uint64_t r[EVQ_REG_COUNT];
};

/* Position of general register n, as instructions number them. */
static const uint8_t evq_reg_of_gpr[16] = {
    EVQ_RAX, EVQ_RCX, EVQ_RDX, EVQ_RBX, EVQ_RSP, EVQ_RBP, EVQ_RSI, EVQ_RDI,
    EVQ_R8,  EVQ_R9,  EVQ_R10, EVQ_R11, EVQ_R12, EVQ_R13, EVQ_R14, EVQ_R15,
};

#define EVQ_BIT(reg) (1u << (reg))
/* 15 general registers but not rsp, then rip, rsp, fs and gs base: what is always compared. */
#define EVQ_MASK_GENERAL                                                                           \
    (0x7fffu | EVQ_BIT(EVQ_RIP) | EVQ_BIT(EVQ_RSP) | EVQ_BIT(EVQ_FS_BASE) | EVQ_BIT(EVQ_GS_BASE))
/* EVQ_EFLAGS in a compare_mask means these bits: CF PF AF ZF SF DF OF. */
#define EVQ_EFLAGS_COMPARED 0xcd5u

enum evq_kind {
    /* Immediate: apply the ops. (A new address space, frames without registers, growth of a stack,
     * signal handler entered, data too large for one entry.) What comes of a signal has the
     * registers of its arrival, to be compared; the others have none. */
    EVQ_OPS = 1,
    /* Run to a `syscall` instruction. There the agent makes the state what rr makes it (rcx = -1,
     * r11 = eflags = 0x246, orig_rax = rax, rax = -38, rip after the instruction), compares, and
     * applies the ops. `number` is the call. */
    EVQ_SYSCALL_ENTER,
    /* Immediate, compares nothing: the exit of that call. Ends with EVQ_OP_REGS. `number` is the
     * call (the original one for restart_syscall). */
    EVQ_SYSCALL_EXIT,
    /* Run to an rdtsc, rdtscp (or cpuid, when the recording has them as events) that ends at
     * regs.rip; compare_mask leaves out rax and rdx, which all of them write. An event does not say
     * which it is: the agent leaves out what else the one that it came to writes (rdtscp rcx, cpuid
     * rbx and rcx). Ops load the registers. */
    EVQ_TRAP,
    /* Run until an instruction raises signal `number` (deterministic); compare (regs.rip is that
     * of the faulting instruction, for int3 the one after); `code` and `address` are si_code and
     * si_addr and must match when EVQ_FLAG_SIGINFO is set. */
    EVQ_FAULT,
    /* Run, perhaps not at all, to the place of an asynchronous event: signal `number`, or 0 for a
     * switch to another task. The first op is EVQ_OP_PLACE, which says what must agree there
     * besides the registers. */
    EVQ_PLACE,
    /* Immediate: the task is gone. The next entry belongs to another task, or is EVQ_END. */
    EVQ_TASK_EXIT,
    /* The recording of this process ends here. Nothing runs after it. */
    EVQ_END,
    /* Filler up to the end of a queue area; only the queue's owner writes it. */
    EVQ_PAD,
};

enum {
    EVQ_FLAG_REGS = 1,    /* `regs` follows the entry header (27 u64) before the ops */
    EVQ_FLAG_SIGINFO = 2, /* EVQ_FAULT: code and address are to be compared */
    EVQ_FLAG_FATAL = 4,   /* EVQ_OPS after a signal: its default action ends the process */
    EVQ_FLAG_TICKS = 8,   /* `ticks` is to be compared too */
    /* A call that rr's preload library made by itself, and of which the recording has its record
     * in the library's buffer: recorder/event/buffered.h. */
    EVQ_FLAG_BUFFERED = 16,
};

/* Numbers of what is no system call of the program's but is taken like one: rr's own calls
 * (EVQ_CALL_OF_RR and up), and what rr did where the program entered one. */
enum {
    EVQ_CALL_OF_RR = 1000,    /* the first of them */
    EVQ_CALL_PATCHED = 1100,  /* rr put other code in the syscall instruction's place */
    EVQ_CALL_DISARMED = 1101, /* the library's ioctl behind a call that blocked: rr looked at the
                               * buffer there */
};

struct evq_entry {
    uint32_t bytes; /* whole entry with regs and ops; a multiple of 8 */
    uint16_t kind;  /* enum evq_kind */
    uint16_t flags;
    uint32_t task; /* index from 0 in order of appearance; below EVQ_TASKS_MAX */
    uint32_t op_count;
    uint64_t frame; /* the recording's event number, for messages */
    uint32_t compare_mask;
    int32_t number;   /* system call or signal */
    int64_t code;     /* si_code */
    uint64_t address; /* si_addr */
    uint64_t ticks;   /* conditional branches (jcc) that the task has retired since it began, or
                       * since the process's first exec; with EVQ_FLAG_TICKS */
};

#define EVQ_TASKS_MAX 512
#define EVQ_ENTRY_MAX (4u << 20) /* bytes; larger data goes into several EVQ_OPS entries */

enum evq_opcode {
    /* Loads the register file: payload struct evq_regs. */
    EVQ_OP_REGS = 1,
    /* Loads vector state: payload a standard-format XSAVE image in THIS machine's layout, of
     * `xstate.size` bytes (the feeder has converted it from the recorder's layout). */
    EVQ_OP_XSTATE,
    /* Writes the payload's first `range.size` bytes to `range`, whatever the protection there. */
    EVQ_OP_WRITE,
    EVQ_OP_ZERO, /* zeroes `range` (holes) */
    /* Maps memory privately, replacing what was there: see `map`. */
    EVQ_OP_MAP,
    EVQ_OP_UNMAP,   /* `range` */
    EVQ_OP_PROTECT, /* see `protect` */
    EVQ_OP_REMAP,   /* moves or resizes a mapping: see `remap` */
    EVQ_OP_DISCARD, /* madvise that loses contents: `range` reads as its mapping's source again */
    EVQ_OP_CLEAR_SPACE, /* unmaps everything of the program's (exec) */
    /* A task begins with a copy of the running task's vector state and 0 ticks; payload struct
     * evq_regs are its general registers: see `task_new`. It becomes the running task when an entry
     * says. */
    EVQ_OP_TASK_NEW,
    /* Copies memory (at most 64 KiB) to the event log: iovecs and the like, which say where a call
     * found its bytes. See `capture`. */
    EVQ_OP_CAPTURE,
    /* First op of EVQ_PLACE: payload struct evq_place. */
    EVQ_OP_PLACE,
};

enum evq_place_flags {
    /* The task stands there already: its last frame was the exit of a system call or another event
     * with these registers. Nothing runs; a difference is a divergence. */
    EVQ_PLACE_HERE = 1,
    EVQ_PLACE_STACK = 2, /* the stack's digest is known */
    EVQ_PLACE_DATA = 4,  /* the data's digest is known */
    EVQ_PLACE_HEAP = 64, /* the heap's digest is known */
    /* The line hashes of these ranges follow: a wrong place is told by one of them. */
    EVQ_PLACE_LINES = 128,
    EVQ_PLACE_TIME = 8, /* `time` is known: found by an earlier replay; nothing is searched */
    /* The next two are found when the place is, and kept with `time`. */
    EVQ_PLACE_AMBIGUOUS = 16, /* another place before the task's next event would have fitted too */
    /* Inside a rep instruction, at which the registers point: it had been executed in part. That
     * part counts as one execution (one instruction of time), the rest as another. */
    EVQ_PLACE_MID_REP = 32,
};

/* Where an asynchronous event struck, beyond registers. Digests are XXH3_64bits (seed 0) of memory
 * as the recorder saw it (recorder/ticks/digest_format.h). */
struct evq_place {
    uint64_t flags; /* enum evq_place_flags */
    uint64_t stack_start, stack_bytes, stack_digest;
    uint64_t data_start, data_bytes, data_digest;
    uint64_t heap_start, heap_bytes, heap_digest;
    uint64_t limit; /* instructions after which looking for it is given up; 0: never */
    uint64_t time;  /* instructions executed before the event, in the whole run */
    uint64_t targets;
    /* with EVQ_PLACE_LINES: u64 hashes, as many as tck_line_count() says; then `targets` pairs of
     * u64 address, u64 hash of the TCK_STACK_LINE bytes there */
};

#define EVQ_FILE_NONE UINT64_MAX
#define EVQ_NAME_NONE UINT64_MAX

/*
 * Which of the operands an op has, enum evq_opcode says; those that it has not are 0. Sizes are in
 * bytes. Ops are made by evq_op_new() and evq_op_range() (recorder/event/ops.h).
 */
struct evq_op {
    uint32_t bytes; /* header and padded payload */
    uint32_t op;    /* enum evq_opcode */
    union {
        /* [start, start + size): the first operands of all that is done to a range of memory */
        struct {
            uint64_t start, size;
        } range;
        struct {
            uint64_t start, size;
            uint64_t prot;       /* PROT_* */
            uint64_t file;       /* its number, or EVQ_FILE_NONE for zeros */
            uint64_t file_off;   /* of `start` in the file */
            uint64_t file_bytes; /* that come from the file (rounded up to a page by mapping, zero
                                  * beyond); the rest is zero */
            uint64_t name;       /* index into the feeder's names, or EVQ_NAME_NONE */
        } map;
        struct {
            uint64_t start, size;
            uint64_t prot; /* from now on */
        } protect;
        struct {
            uint64_t start, size;
            uint64_t to, to_size;
            uint64_t stays; /* not 0: the old range stays, zeroed */
        } remap;
        struct {
            uint64_t start, size;
            uint64_t tag; /* for the reader */
        } capture;
        struct {
            uint64_t task; /* as in struct evq_entry */
            uint64_t tid;  /* the recording's thread */
        } task_new;
        struct {
            uint64_t size;
        } xstate;
    };
};

_Static_assert(sizeof(struct evq_entry) == 56, "kept in .wet files");
_Static_assert(sizeof(struct evq_op) == 64, "kept in .wet files");
_Static_assert(sizeof(((struct evq_op *)0)->map) == 56,
               "the operands that evq_op_new() clears are all");
_Static_assert(sizeof(struct evq_place) == 104, "kept in .wet files");

#endif
