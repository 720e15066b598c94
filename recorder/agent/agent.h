/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the agent, the translator and the supervisor share: addresses and structures.
 *
 * The agent is a small freestanding program that lives in the replayee beside the recorded
 * program's memory. Its area is one range of AGT_AREA_BYTES, placed in a hole of the recording:
 *
 *   base - AGT_WALL_BYTES  the wall: see below                 private, if there is one
 *   base + AGT_SHM_OFF     everything below, shared with the supervisor through one memfd:
 *             AGT_CTX_OFF      struct agt_ctx, at which the gs base points
 *             AGT_STEPS_OFF    u64 constants for collecting: agt_step()
 *             AGT_JUMPS_OFF    log of indirect jumps and calls: struct agt_jump
 *             AGT_COUNT_OFF    one u64 per fragment: executions
 *             AGT_TASKS_OFF    struct agt_task, one per task
 *             AGT_LOOKUP_OFF   hash of fragments: struct agt_lookup
 *             AGT_QUEUE_OFF    entries of the event queue (recorder/event/queue.h)
 *             AGT_LOG_OFF      event log: struct agt_log_record
 *             AGT_RETURN_OFF   64 K code addresses, by 16 bits of a return's target
 *             AGT_XFER_OFF     bulk data: memory lines, code pages, memory reads
 *             AGT_RING_OFF     event ring (collecting mode)
 *             AGT_SITES_OFF    struct agt_site, one per fragment
 *             AGT_TABLES_OFF   code addresses, by target: the tables of indirect jumps and calls
 *        + AGT_HEAP_OFF    the table of mappings               private
 *        + AGT_GUARDS_OFF  the table of guarded code pages     private, mapped when needed
 *        + AGT_BLOB_OFF    the agent's code and data           private
 *        + AGT_STACK_OFF   its stack, then its signal stack    private
 *        + AGT_LINES_OFF   written-line table, one byte per 256 bytes of memory   private
 *
 * Translated code reaches everything through gs: with 32-bit displacements, so all of it lies
 * within 2 GB of the context; only the line table's index goes beyond.
 *
 * Turn taking: `mail.turn` says who works. The agent posts a request and gives the turn away; the
 * supervisor answers with commands until one is AGT_CMD_CONTINUE. What the agent writes is
 * untrusted input to the supervisor.
 */
#ifndef RECORDER_AGENT_AGENT_H
#define RECORDER_AGENT_AGENT_H

#define AGT_SHM_OFF 0x0

/* within the shared memory; the context is its first page */
#define AGT_CTX_OFF      0x0
#define AGT_STEPS_OFF    0x78000 /* agt_step(), by instructions and words */
#define AGT_JUMPS_OFF    0x80000
#define AGT_JUMPS_MAX    0x8000
#define AGT_COUNT_OFF    0x100000
#define AGT_COUNT_MAX    0x100000
#define AGT_TASKS_OFF    0x900000
#define AGT_LOOKUP_OFF   0x1000000
#define AGT_LOOKUP_MAX   0x200000
#define AGT_QUEUE_OFF    0x5000000
#define AGT_QUEUE_BYTES  0x2000000
#define AGT_LOG_OFF      0x7000000
#define AGT_LOG_BYTES    0xf80000
#define AGT_RETURN_OFF   0x7f80000
#define AGT_XFER_OFF     0x8000000
#define AGT_XFER_BYTES   0x2000000
#define AGT_RING_OFF     0xa000000
#define AGT_RING_BYTES   0x36000000
#define AGT_SITES_OFF    0x40000000
#define AGT_TABLES_OFF   0x40800000
#define AGT_TABLES_BYTES 0x4800000
#define AGT_SHM_BYTES    0x45000000

#define AGT_HEAP_OFF     0x48000000
#define AGT_HEAP_BYTES   0x4000000
#define AGT_GUARDS_OFF   0x4c000000
#define AGT_GUARDS_BYTES 0x200000

#define AGT_BLOB_OFF       0x4c400000
#define AGT_BLOB_BYTES     0x40000
#define AGT_BLOB_DATA_OFF  0x10000 /* code before, data from here; agent.ld says so too */
#define AGT_STACK_OFF      0x4c440000
#define AGT_STACK_BYTES    0x80000
#define AGT_SIGSTACK_OFF   0x4c4c0000
#define AGT_SIGSTACK_BYTES 0x40000

#define AGT_LINES_OFF   0x50000000
#define AGT_LINES_BYTES 0x100000000
#define AGT_AREA_BYTES  0x150000000

/*
 * The wall (recorder/dbi/wall.c): a table of zeros with a byte for each 64 KiB of the address
 * space, so that a page of it stands for a *granule*. Pages that stand for granules of ours cannot
 * be read, and translated code reads there before it uses an address of the program's. Whatever is
 * ours lies in granules where the program never has memory, AGT_WALL_SLACK from their ends at
 * least, and as far around them it has none either.
 */
#define AGT_WALL_SHIFT   16
#define AGT_WALL_BYTES   0x80000000 /* for addresses below 2^47; it ends where the context begins */
#define AGT_WALL_GRANULE 0x10000000
#define AGT_WALL_SLACK   0x4000000

#define AGT_PROBE_BYTES AGT_JUMPS_OFF /* the context */

#define AGT_LANES_OFF                                                                              \
    0x70000 /* in the context's room: a vector of indices, while the wall looks at them */

#define AGT_LINE_SHIFT 8
#define AGT_LINE_BYTES 256

/* offsets into struct agt_ctx that assembly and translated code use */
#define AGT_CTX_GPR        0x00 /* 16 u64 by number; homes of spilled registers */
#define AGT_CTX_RIP        0x80
#define AGT_CTX_RFLAGS     0x88
#define AGT_CTX_EXIT_KIND  0x90
#define AGT_CTX_EXIT_ARG   0x94
#define AGT_CTX_TARGET     0x98 /* code address to enter */
#define AGT_CTX_AGENT_SP   0xa0
#define AGT_CTX_AGENT_EXIT 0xa8
#define AGT_CTX_FS_BASE    0xb0
#define AGT_CTX_TMP        0xb8
#define AGT_CTX_R15        0xc0 /* the host's r15: a counter, or see agt_collect_left() */
#define AGT_CTX_RESUME     0xc8 /* where to go on after a range has been marked */

#define AGT_CTX_BRANCH 0xd0 /* id of the fragment that ended in the latest indirect branch */

#define AGT_CTX_TICKS 0xd8 /* conditional branches of the running task */

#define AGT_CTX_LOOKUP_MASK 0xe0 /* entries of the hash of fragments - 1 */

#define AGT_CTX_REP_COUNT 0xe8 /* rcx where the latest rep instruction began */

#define AGT_CTX_GS_BASE 0xf0 /* the program's, which no segment register holds */
#define AGT_CTX_X87_IP  0xf8 /* struct agt_x87 */
#define AGT_CTX_X87_DP  0x100

#define AGT_EXIT_FAULT_NUMBER 14

#ifndef __ASSEMBLER__

#include <stdint.h>

#include "recorder/agent/cpuid_answer.h"
#include "recorder/agent/processor.h"
#include "recorder/agent/wait.h"
#include "recorder/agent/x87.h"
#include "recorder/event/queue.h"

/* How translated code leaves for the agent. */
enum agt_exit {
    AGT_EXIT_DIRECT = 1, /* to rip, which had no fragment when the branch was translated */
    AGT_EXIT_INDIRECT,   /* exit_arg: AGT_TABLE_* */
    AGT_EXIT_TIME,       /* the limit would be passed by the fragment at rip */
    AGT_EXIT_SYSCALL,    /* rip is after the instruction */
    AGT_EXIT_RDTSC,
    AGT_EXIT_RDTSCP,
    AGT_EXIT_CPUID,
    AGT_EXIT_XGETBV,
    AGT_EXIT_RDPID, /* is at rip; exit_arg: AGT_RESULT_*; resume: it is illegal */
    AGT_EXIT_LSL,   /* likewise; tmp: the selector */
    /* mov to the segment register (enum evq_reg) is at rip; exit_arg, tmp likewise */
    AGT_EXIT_SEGMENT,
    AGT_EXIT_MARK, /* mark [rdi, ...) of a rep instruction as written, resume */
    /* rip is that of an instruction that cannot be replayed; exit_arg: the signal where it is
     * illegal; resume: it is */
    AGT_EXIT_UNSUPPORTED,
    AGT_EXIT_FAULT = AGT_EXIT_FAULT_NUMBER, /* from the signal handler */
    AGT_EXIT_STALE, /* the exit_arg bytes of code at rip are not what was translated */
    AGT_EXIT_XSAVE, /* an xsave or kin is next, that stores at tmp; resume */
    /* that was executed: exit_arg is its enum agt_xsave_kind, and AGT_XSAVED_NARROW; resume */
    AGT_EXIT_XSAVED,
    AGT_EXIT_MARK_LANES, /* mark what a scatter writes whose list starts at tmp; resume */
    AGT_EXIT_X87, /* x87 pointers were stored or loaded at tmp: exit_arg says how (x87.h); resume */
};

/* Which table an indirect branch looked in. */
#define AGT_TABLE_JUMP   0
#define AGT_TABLE_RETURN 1

/* AGT_REQ_STOP_FILTER, beside registers */
#define AGT_FILTER_TICKS  16
#define AGT_FILTER_MEMORY 17 /* the word at args[1], which has to be args[2] */

/* Reply to AGT_REQ_PLACE_REP: args[0] = how often the rep instruction is to run, 0 if that would
 * not lead there; args[1] = code for that instruction alone; args[2] = with 0, that the run stops
 * here first. */

/* Reply to AGT_REQ_FAULT_REP: args[0] = code for that instruction alone; args[1], args[2] = rsi and
 * rdi where it began. */

/* AGT_EXIT_RDPID, AGT_EXIT_LSL: which register gets the result; whether only its lowest 16 bits;
 * how long the instruction is */
#define AGT_RESULT_WORD      0x10u
#define AGT_RESULT_SEGMENT   0x1fu /* AGT_EXIT_SEGMENT: what of exit_arg is the register */
#define AGT_RESULT_LENGTH(n) ((uint32_t)(n) << 8)

#define AGT_XSAVED_NARROW 0x100 /* without REX.W */

/* AGT_EXIT_MARK: exit_arg = element size | AGT_MARK_ADDR32 */
#define AGT_MARK_ADDR32 0x100

/* AGT_EXIT_MARK_LANES: exit_arg = element size and these */
#define AGT_LANES_COUNT(n) ((n) << 8)
#define AGT_LANES_SCALE(n) ((uint32_t)(n) << 16)
#define AGT_LANES_WIDE     (1u << 24) /* indices of 64 bits */
#define AGT_LANES_ADDR32   (1u << 25)

struct agt_fault {
    uint64_t gpr[16];
    uint64_t rip, rflags;
    uint64_t signo, code, address, trapno;
};

/* What the agent asks for. */
enum agt_request {
    AGT_REQ_READY = 1,
    /* rip = args[0]. Reply: args[0] = code, 0 if it cannot be fetched; args[1] = its prefix;
     * args[2]: everything has changed; args[3]: it is cut code of so many instructions, and may be
     * kept for as long as cut_round stays */
    AGT_REQ_TRANSLATE,
    AGT_REQ_EVENTS, /* the queue is used up */
    AGT_REQ_LOG_FULL,
    AGT_REQ_TIME,      /* the limit is reached; state is in the context */
    AGT_REQ_END,       /* EVQ_END was taken */
    AGT_REQ_FAULT,     /* mail.fault; wants the guest's view of it */
    AGT_REQ_FAULT_REP, /* it struck a rep instruction after some elements; see below */
    /* that part has been counted, with no elements: its ring record is the last */
    AGT_REQ_FAULT_RECORD,
    AGT_REQ_CODE_CHANGED, /* [args0, args1) held code that was fetched */
    AGT_REQ_DIVERGED,     /* args[0] = enum agt_divergence; details in args */
    AGT_REQ_UNSUPPORTED,  /* args[0] = enum agt_unsupported, args[1] = rip */
    AGT_REQ_STOP, /* every arrival at args[0] is to come to the agent: EVQ_PLACE is searched */
    AGT_REQ_STOP_FILTER, /* args[0] tells most arrivals wrong: look at it before */
    AGT_REQ_PLACE, /* the registers of an EVQ_PLACE are here: does memory agree? reply in args[0] */
    AGT_REQ_PLACE_REP,   /* so are they if the rep instruction at rip runs in part; see below */
    AGT_REQ_PLACE_UNDO,  /* but memory does not agree: that part is no execution of its own */
    AGT_REQ_PLACE_TIME,  /* an EVQ_PLACE is to be taken at time args[0] */
    AGT_REQ_PLACE_TAKEN, /* that has happened */
    AGT_REQ_PROBE_END,   /* a probe has come to an event, or to the end of its time */
    AGT_REQ_JUMPS,       /* the log of jumps is full */
    AGT_REQ_SITE,        /* two targets of fragment args[0]'s jump share an entry of its table */
    AGT_REQ_REPLY,       /* a command is done; reply in args */
    AGT_REQ_LINES,       /* AGT_CMD_LINES: the transfer area holds args[0] bytes, more to come */
    /* the program, which runs live, has come to something: args[0] = kind of the entry that it
     * wants, args[1] = enum agt_exit; the queue then has it */
    AGT_REQ_MET,
};

enum agt_divergence {
    AGT_DIV_REGISTER = 1, /* args: which (enum evq_reg), recorded, replayed */
    AGT_DIV_EVENT,        /* args: kind expected (0: none), enum agt_exit seen, rip */
    AGT_DIV_SIGNAL,       /* args: expected signo, code, address */
    AGT_DIV_MEMORY,       /* args: op, address, size: an op touches what is not mapped */
    AGT_DIV_HOST,         /* args: op, -errno: the kernel refused a mapping; the machine's fault */
    AGT_DIV_INTERNAL,     /* args: host rip, address: the agent itself faulted */
    AGT_DIV_TICKS,        /* args: recorded, replayed */
    AGT_DIV_PLACE,        /* args: enum agt_exit seen (0: searched long enough), rip */
    AGT_DIV_BUFFER,       /* args: number of the call, of the next record, rip */
    AGT_DIV_TABLE,        /* the hash of fragments has no free place: the program wrote to it */
};

enum agt_unsupported {
    AGT_UNS_INSTRUCTION = 1,
    AGT_UNS_CPUID,   /* args[2], args[3]: leaf and subleaf */
    AGT_UNS_XGETBV,  /* args[2]: which register */
    AGT_UNS_DISCARD, /* args[2]: where; madvise in a buffered call */
};

enum agt_command {
    AGT_CMD_CONTINUE = 1,
    AGT_CMD_FETCH,    /* code page at args[0]: reply 0 and the page in the transfer area, or
                       1 not mapped, 2 not executable; as 0, but the program may write there:
                       3 which the agent will notice, 4 which nobody notices */
    AGT_CMD_READ,     /* [args0, +args1) into the transfer area; reply = bytes that could be read */
    AGT_CMD_MAP_CODE, /* code cache: address args[0], bytes args[1], offset args[2] */
    AGT_CMD_LINES,    /* send all lines written since the last time, then forget them */
    AGT_CMD_VIEWS,    /* struct agt_view array into the transfer area; reply = count */
    AGT_CMD_STATE,    /* the running task's registers and XSAVE image are put in its agt_task */
    AGT_CMD_RESET,    /* unmap all of the program's memory, forget tasks and lines */
    /* copies the process: reply = its id or a negative errno. args[0] = AGT_FORK_PROBE: the copy
     * looks for further places like the one just found, with AGT_REQ_PLACE, until
     * AGT_REQ_PROBE_END. AGT_FORK_BRANCH: it stands where the process stands; its reply is 0 */
    AGT_CMD_FORK,
    AGT_CMD_EXIT,
};

#define AGT_FORK_PROBE  0
#define AGT_FORK_BRANCH 1

struct agt_mail {
    uint32_t turn; /* futex: 0 agent, 1 supervisor */
    uint32_t request;
    uint64_t args[6];
    uint32_t command;
    uint32_t pad;
    uint64_t cargs[4];
    struct agt_fault fault;
    struct agt_wait wait; /* the agent's, for its turn */
};

struct agt_view {
    uint64_t start, end;
    uint32_t prot;                       /* the program's protection, PROT_* */
    uint32_t fetched;                    /* code was fetched from it */
    uint64_t file, file_off, file_bytes; /* as in EVQ_OP_MAP, of `start` */
    uint64_t name;
};

#define AGT_XSAVE_MAX 12288

struct agt_task {
    uint32_t live;
    uint32_t pad;
    uint64_t ticks; /* valid while the task does not run */
    uint64_t pad1[6];
    struct evq_regs regs; /* valid while the task does not run, or after AGT_CMD_STATE */
    uint64_t pad2[3];
    /* 64-byte aligned: a standard XSAVE image */
    uint8_t xsave[AGT_XSAVE_MAX] __attribute__((aligned(64)));
};

struct agt_log_record {
    uint32_t bytes; /* multiple of 8 */
    /* 1: entry taken, 2: captured bytes follow (address, count, tag first), 3: the registers at a
     * buffered call follow */
    uint32_t kind;
    uint64_t seq;   /* number of the entry, from 0 */
    uint64_t time;  /* instructions executed before it was taken */
    uint64_t ring;  /* collecting: ring offset at that moment */
    uint64_t ticks; /* of the entry's task, if they are counted */
};

/* One fragment by address; pc == 0 marks a free place (page 0 never holds code). The place of one
 * that was forgotten has some pc and no body. */
struct agt_lookup {
    uint64_t pc;
    uint64_t body;    /* code address for entries from the agent and linked branches */
    uint64_t prefix;  /* code address for look-ups: r11 holds the target. 0: none yet */
    uint64_t landing; /* code address for returns, likewise. 0: none */
};

/*
 * A fragment's place in the hash is at (pc * AGT_HASH >> 32) & ctx.lookup_mask, or the next free
 * one. The hash grows: a page of it that is touched first costs two processes more than all else
 * about a fragment.
 */
#define AGT_HASH       0x9e3779b97f4a7c15ull
#define AGT_LOOKUP_MIN 0x2000

/* An indirect jump or call that was not found in its table. */
struct agt_jump {
    uint64_t target;
    uint32_t fragment; /* that ended in it */
    uint32_t pad;
};

/*
 * Where the jump or call at a fragment's end looks for its target (recorder/dbi/sites.c): in a
 * table of 1 << bits code addresses, which lead to what compares the target, or are
 * ctx.jump_missed.
 */
struct agt_site {
    uint32_t table_off; /* in the shared memory; 0: no table */
    uint8_t bits;       /* 0, 8 or 16 */
    uint8_t rotate;
    uint8_t multiple; /* 0, 1, 2, 4 or 8 */
    uint8_t is_full;  /* targets that share an entry take turns */
};

static inline uint32_t agt_site_index(const struct agt_site *site, uint64_t target)
{
    uint32_t low = (uint32_t)target;
    uint32_t turned = low >> site->rotate | low << (-site->rotate & 31);
    return (turned + site->multiple * low) & ((1u << site->bits) - 1);
}

/*
 * A record of the event ring: this word, then those that the fragment's slots are made from (struct
 * dbi_slot). Bits 0..19: the fragment, as below AGT_COUNT_MAX; 20..24: how many words follow, or
 * AGT_RING_MANY; 25..31: its instructions. The upper half is the sign of the lower one.
 */
#define AGT_RING_FEW  16 /* words that are told; a vector of addresses takes more */
#define AGT_RING_MANY 31

static inline uint32_t agt_ring_word(uint32_t fragment, unsigned instructions, unsigned words)
{
    return fragment | (words > AGT_RING_FEW ? AGT_RING_MANY : words) << 20 | instructions << 25;
}

/* Where the step of a fragment of so many instructions (1 to 64) is, if its words are few. */
static inline uint32_t agt_step_off(unsigned instructions, unsigned words)
{
    return AGT_STEPS_OFF + 8 * ((instructions - 1) * (AGT_RING_FEW + 1) + words);
}

static inline uint32_t agt_ring_fragment(uint64_t word)
{
    return (uint32_t)word & (AGT_COUNT_MAX - 1);
}

static inline unsigned agt_ring_words(uint64_t word)
{
    return (unsigned)(word >> 20 & 31);
}

static inline unsigned agt_ring_instructions(uint64_t word)
{
    return (unsigned)(word >> 25 & 127);
}

/*
 * Collecting, r15 has two halves. The lower one is where the next record goes, an offset in the
 * shared memory: translated code writes to gs:[r15d + ...]. The upper one is how many instructions
 * are left before the limit. So one addition of agt_step() at a fragment's start counts, tells
 * whether time is up, and makes room.
 */
#define AGT_COLLECT_MAX 0xff0000 /* no limit is beyond: of a positive count the highest byte is 0 */

static inline int64_t agt_collect_left(uint64_t r15)
{
    return (int64_t)r15 >> 32;
}

static inline uint64_t agt_collect_r15(int64_t left, uint32_t ring_off)
{
    return (uint64_t)left << 32 | ring_off;
}

static inline uint64_t agt_step(unsigned instructions, unsigned words)
{
    return 8u * (1 + words) - ((uint64_t)instructions << 32);
}

/* What a replayee ends with that could not be confined, or not be set up. */
enum agt_status {
    AGT_STATUS_PARENT = 20, /* its supervisor was gone */
    AGT_STATUS_FILES,       /* its descriptors could not be put in place */
    AGT_STATUS_CLOSE,       /* the others could not be closed */
    AGT_STATUS_MAP,         /* the agent could not be mapped */
    AGT_STATUS_PROCESS,     /* group, death signal, personality, limits */
    AGT_STATUS_LISTENER,    /* it could not say whether there is one */
    AGT_STATUS_AREA,        /* the rest could not be unmapped, or gs not be set */
    AGT_STATUS_SIGNALS,
    AGT_STATUS_PRIVILEGES, /* no_new_privs */
    AGT_STATUS_SECCOMP,
    AGT_STATUS_PROBE, /* a copy's own memory could not be mapped */
};

#define AGT_BPF_MAX   256
#define AGT_CPUID_MAX 512

struct agt_ctx {
    uint64_t gpr[16];
    uint64_t rip;
    uint64_t rflags;
    uint32_t exit_kind, exit_arg;
    uint64_t target;
    uint64_t agent_sp;
    uint64_t agent_exit;
    uint64_t fs_base;
    uint64_t tmp;
    uint64_t r15;
    uint64_t resume;
    uint64_t branch;
    uint64_t ticks;
    uint64_t lookup_mask;
    uint64_t rep_count;
    uint64_t gs_base;
    struct agt_x87 x87; /* the running task's */
    /* the rest is for C */
    uint64_t base;          /* of the agent's area */
    uint64_t return_missed; /* code for a return whose address is in r11 */
    uint64_t jump_missed;   /* what a table has for targets that it does not have */
    uint32_t jump_count;    /* records in the log of jumps */
    uint32_t is_probe;
    uint32_t code_fd; /* the code caches' memfd */
    uint32_t shm_fd;
    uint32_t probe_fd;     /* what a probe has in place of the context */
    uint32_t lookup_shift; /* which 16 bits */
    uint32_t collecting;
    uint32_t careful; /* ask the supervisor for each fragment (exact stop) */
    uint32_t is_live; /* runs on without entries, until it comes to something */
    uint32_t pad_live;
    uint64_t limit;          /* instructions that may run from time_base on */
    uint64_t time_base;      /* instructions executed before the current limit began */
    uint64_t cut_round;      /* which cut code is still good; 0: none */
    uint64_t stop_pc;        /* where arrivals come to the agent; 0: nowhere */
    uint64_t stop_body;      /* the code there; 0: to be asked for */
    uint64_t place_seq;      /* 1 + number of the entry for whose time the supervisor was asked */
    uint64_t place_meetings; /* how often the registers of the place looked for were met */
    uint64_t place_misses;   /* how often a register told that it was elsewhere */
    uint64_t place_line;     /* the line of memory that differed last */
    uint64_t queue_head_bytes, queue_tail_bytes;
    uint64_t seq; /* entries taken */
    uint64_t log_bytes;
    uint32_t ring_start; /* of this run: offset in the shared memory */
    uint32_t task;
    uint32_t task_count;
    uint64_t xcr0;
    uint64_t xsave_bytes;
    uint32_t settled_bytes; /* of an XSAVE image: up to the end of what in_use.h knows */
    uint16_t avx512_off[3]; /* as agt_xs_layout_standard() takes them */
    uint16_t pad_avx512;
    uint32_t cpuid_count;
    uint32_t file_count;
    uint32_t bpf_count;
    uint32_t has_wall;
    uint32_t has_fsgsbase;      /* gs may hold the program's base when a fault comes */
    uint32_t x87_rules;         /* AGT_X87_* of the recording */
    uint32_t cpuid_is_recorded; /* no cpuid without an EVQ_TRAP of its own */
    uint32_t cpuid_is_here;     /* the recorded processor is this one */
    uint64_t huge_bytes;        /* of the program's memory that are to be in huge pages */
    struct agt_processor processor;
    struct agt_mail mail;
    struct agt_cpuid cpuid[AGT_CPUID_MAX];
    uint64_t bpf[AGT_BPF_MAX];
};

_Static_assert(sizeof(struct agt_ctx) <= AGT_LANES_OFF, "the context fits before the indices");
_Static_assert(sizeof(struct agt_jump) * AGT_JUMPS_MAX <= AGT_COUNT_OFF - AGT_JUMPS_OFF,
               "the log of jumps fits before the counters");
_Static_assert(sizeof(struct agt_site) * AGT_COUNT_MAX <= AGT_TABLES_OFF - AGT_SITES_OFF,
               "the sites fit before the tables");
_Static_assert(AGT_SHM_OFF + AGT_SHM_BYTES <= AGT_HEAP_OFF, "shared memory fits before the heap");
_Static_assert(AGT_SHM_OFF == 0, "the wall ends at the context, which is at the base");
_Static_assert(sizeof(struct agt_lookup) * AGT_LOOKUP_MAX <= AGT_QUEUE_OFF - AGT_LOOKUP_OFF,
               "the look-up table fits before the queue");
_Static_assert(sizeof(struct agt_task) * EVQ_TASKS_MAX <= AGT_LOOKUP_OFF - AGT_TASKS_OFF,
               "the tasks fit before the look-up table");

#define AGT_FILES_FD_BASE 64 /* file number n is descriptor AGT_FILES_FD_BASE + n */

#endif
#endif
