/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Dynamic slices: which executed instructions made a value what it is.
 *
 * A *criterion* names something wrong that happened: the crash, a byte of the output, the exit
 * status, a variable at an instance of a source line. A *slice* is the set of instances (a time
 * and the instruction that ran then) on which the criterion depends, through these edges:
 *   value      the instance computed what was read: a register piece, a flag, a byte of memory
 *   address    it computed a base or index register of a memory operand that was read or written
 *   condition  it computed flags or a mask that chose (cmov, setcc, adc, jcc, masked moves)
 *   control    it is the branch (or the call that made the stack frame) that let the user run
 *   implicit   the user would have had another value, had that branch gone another way: nothing in
 *              the run tells so, only whoever asks for the slice (options.implicit)
 * The *distance* of an instance is the number of edges of a shortest path from the criterion.
 *
 * The edges, exactly:
 *  - Everything is by instance and *flow*, what an instruction computes from what: only flows that
 *    define something wanted are followed. Copies (bswap among them) are followed byte by byte,
 *    also through registers of which only some bytes are wanted; rep movs through its own overlap.
 *    What computes uses its operands' pieces, and of a 32-bit register (or an address that lea cuts
 *    to 32 bits) the lower four bytes.
 *  - The address edge goes from an instance to the base and index registers of each memory operand
 *    that the followed flow reads or writes.
 *  - Stack bookkeeping (push, call, mov rbp,rsp...) is never part of a slice by
 *    what it does to rsp and rbp. `mov r,rsp` and `lea r,[rsp+c]` are, where their result is used
 *    as a value, but not where it only serves as an address.
 *  - `push r` ... `pop r` (or leave) of a callee-saved register through a slot that nothing wrote
 *    in between is bypassed: r after the pop is r before the push. (options.no_bypass shows them.)
 *  - Of a gather that a fault interrupted, and that went on after a handler, lanes which were not
 *    left to be loaded then are taken to have been loaded before, chosen by its mask or not.
 *  - A cmov takes its flags and the operand that it chose. So does, byte for byte, what a mask or
 *    indices in a register or in memory choose for: blends, masked moves, vpcompressd, vpexpandd,
 *    pshufb, vpermilps, vpermd and their kin. A byte depends by value on the byte that it was taken
 *    from, and as a condition on the byte of mask or indices that said so, of a mask register (k1)
 *    on all of it. A store's bytes that its mask left out are not written. What computes under an
 *    AVX-512 mask uses its operands for those elements that it computed, and for the others the old
 *    ones, or nothing where they become zero; scalars and half precision use all in any case.
 *  - The registers of the x87 (and of MMX) are followed each for itself, whole: which one st(i) was
 *    is known of each instance. TOP, and which registers are empty, is bookkeeping like the stack
 *    pointer's. Arithmetic perhaps defines the status word, with all its flags.
 *  - The control parent of an instance is the most recent earlier instance, in the same stack
 *    frame, of a branch on which its instruction is statically control dependent (see
 *    wetdbg_controllers(): a branch that guards a call of exit, abort, longjmp or another function
 *    that never returns controls what comes after it, unless options.no_exits); if there is none
 *    since the frame began, it is the call (or tail jump) that made the frame. What made the first
 *    frame of the run is outside; a thread's first frame was made by the system call that created
 *    the thread. A signal handler's frame, and that of the code it returns to, was made by the call
 *    with which the thread sent itself the signal, or depends on what the instruction depends on
 *    that faulted; what made it is outside for other signals: they may strike anywhere, so that the
 *    code they struck did not let the handler run.
 *  - A system call defines its result, what the kernel wrote (for read and kin only as many bytes
 *    as it returned) and, if it is arch_prctl(ARCH_SET_FS), the thread pointer. These depend on
 *    what the call used by its signature: its number, arguments and what it read, such as paths and
 *    structures, by value; descriptors and pointers by address. What it only passed on (the bytes
 *    of a write, what a sendmsg's message leads to) is used where the call itself is the criterion,
 *    and byte for byte where another call brought it back: what a call delivered of what the run
 *    itself had put into the file, pipe or pair of sockets depends, by value, on the call that put
 *    it there, which uses the delivered bytes of its buffer by value and the buffer's address; or,
 *    if a shared mapping had it, on the memory there. What a call writes to a file that a shared
 *    mapping shows is in that memory by its doing, and depends on its buffer. Where the call that
 *    delivered is the criterion, it uses all that it so delivered. A call between two descriptors
 *    (splice, sendfile) is such a call, too, and has its bytes from another; process_vm_readv and
 *    process_vm_writev on the process itself have theirs from its memory. What came from outside is
 *    told by its value, which was in no buffer; a pipe that a child process shares is all outside
 *    from the child's birth on, and so is what goes through descriptors that came in a message. How
 *    many bytes a call returned does not depend on who put them there. What a call wrote while
 *    another thread ran, or when a thread ended (the word that a join waits for), is the call's
 *    (the last instruction's) too.
 *  - Memory is one for all threads: who reads a byte depends on whoever wrote it last. Registers
 *    are each thread's own; a new one's are copies of its parent's at the call that made it, where
 *    rax is that call's and the stack and thread pointers are its arguments.
 *  - A signal handler's arguments, stack pointer and empty vector state are given, all else is as
 *    the signal found it. Its frame in memory holds copies of the general registers, whether the
 *    handler reads them or its return restores them: unless the handler changed them there, both
 *    lead to the register before the signal. Flags and vector state after the handler are what they
 *    were before it; their bytes in the frame, and a signal's information, are given.
 *
 * Errors are 0, negative errno or -WETDBG_ERR_* with a sentence (<wetdbg/errors.h>):
 * -WETDBG_ERR_USAGE for a text that is no criterion, -WETDBG_ERR_NOT_FOUND if the run has no such
 * thing (the sentence says what there is instead), -WETDBG_ERR_INTERRUPTED, -ENOMEM, or what the
 * wet's queries return.
 */
#ifndef WETDBG_SLICE_H
#define WETDBG_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wetdbg/api.h>
#include <wetdbg/caller.h>
#include <wetdbg/wet.h>

WETDBG_BEGIN

/* ---- criteria ---- */

enum wetdbg_criterion_kind {
    WETDBG_CRITERION_CRASH,
    WETDBG_CRITERION_EXIT,
    WETDBG_CRITERION_OUTPUT,
    WETDBG_CRITERION_LINE,
    WETDBG_CRITERION_MEMORY,
    WETDBG_CRITERION_REGISTER,
    WETDBG_CRITERION_FUNCTION,
    WETDBG_CRITERION_PLACES,   /* made by a part of the library from registers and memory */
    WETDBG_CRITERION_VARIABLE, /* wetdbg_criterion_of_variable() */
    WETDBG_CRITERION_INPUT,
    WETDBG_CRITERION_ARGUMENT,
    WETDBG_CRITERION_ENVIRONMENT,
};

struct wetdbg_criterion;

/* What a criterion turned out to be. Strings live as long as the criterion. */
struct wetdbg_criterion_info {
    enum wetdbg_criterion_kind kind;
    const char *text;        /* as given */
    const char *description; /* "SIGSEGV at a.c:12 in f: the address in rax (0x0)" */
    const char *source; /* the same as the source of a forward slice: "what a.c:12 did at time 7" */
    wetdbg_time time;   /* of its (last) instance; instructions + 1 if the fault is the last */
    uint64_t pc;        /* of that instance */
    bool executed;      /* false: the instruction at pc faulted, and nothing has that time
                              * or another instruction has (a handler's, another thread's) */
    /*
     * Of output that is sliced from where it was put into the buffer that was written (see
     * wetdbg_criterion_parse()): the program's own code that put the latest byte there, or called
     * what did; and when the (last) call wrote it. Else all 0.
     */
    struct wetdbg_caller born;
    wetdbg_time written;
    /* Of output: bytes [output_offset, output_offset + output_size) of a descriptor (-1: of a
     * file); a size of 0: where output ended. Of all else a descriptor of -1 and a size of 0. */
    int output_fd;
    uint64_t output_offset, output_size;
    const char *output_path; /* of output to a file: as it was given; else NULL */
};

struct wetdbg_slice_session; /* below */

/* Where whoever asks stands in the run. All zero: nowhere, and times are numbers. */
struct wetdbg_standpoint {
    wetdbg_time now; /* what a criterion without its @TIME means; 0: it must be given */
    /* Reads what stands behind '@'; 0 or an error, explained. NULL: only numbers are understood. */
    int (*read_time)(void *arg, const char *text, wetdbg_time *time);
    void *arg;
    bool from_write; /* output is meant as it was written, not as it was put into its buffer */
    /* Of the same wet: keeps what input and output criteria find out of the run. NULL: nothing is
     * kept. */
    struct wetdbg_slice_session *session;
};

/*
 * Reads one of
 *   crash                         the signal that ended the run. Of one that the program sent
 *                                 itself (abort, a failed assertion, free() of what malloc() did
 *                                 not give) the calls that led there, from the function that
 *                                 decided on it up to the program's own code, each with the branch
 *                                 that guards it
 *   exit                          the exit status
 *   output[:FD]:OFFSET[+LEN]      bytes of all that was put out by a descriptor (default 1), by
 *                                 write and kin, sendmsg and kin, splice, sendfile, copy_file_range
 *   output:PATH:OFFSET[+LEN]      bytes of a file as the run left it, where lseek,
 *                                 pwrite, O_APPEND and truncation had them written Of output each
 *                                 byte is meant as it was when it was last stored in the memory
 *                                 that was written from (by putc, printf, memcpy into the program's
 *                                 own buffer...): why the buffer was flushed later is no part of
 *                                 it. from->from_write: as the call found it that wrote it
 *   output[:FD|:PATH]:end         why there was no more of it: the branches after which the frames
 *                                 that put the last byte there could not come there again and, if
 *                                 the run ended before that, what ended it. Bytes behind the end
 *                                 mean the same
 *   input[:FD|:PATH]:OFFSET[+LEN] bytes that were read from a descriptor (default 0) or a file, by
 *                                 their positions in it (where it has none: in all bytes that were
 *                                 read), as they lay in memory just after each call that delivered
 *                                 them
 *   argv:N[:OFFSET[+LEN]]         an argument of the program, as it got it, or bytes of it
 *   env:NAME[:OFFSET[+LEN]]       a variable of its environment
 *   FILE:LINE[#K][:VARIABLE]      the K-th time (from 1; from -1 backwards; default #-1) that a
 *                                 breakpoint on the line is hit: the variable just before the line
 *                                 ran, or all that the line's instructions use that time
 *   FUNCTION[#K]                  its K-th call, as breakpoints on it count: why it was called (the
 *                                 control edge of its body's first instruction), and its
 *                                 arguments, where debug information says which they are
 *   MODULE+0xOFFSET[#K], FUNCTION+OFFSET[#K]   all that an instruction used (of one that begins
 *                                 a function the same as FUNCTION)
 *   *ADDRESS[+LEN][@TIME]         bytes of memory (default 1) just before the instruction at TIME,
 *                                 1 to instructions + 1
 *   $REGISTER[@TIME]              a register, a part of one ("$ah", "$xmm3") or a flag ("$zf") of
 *                                 the thread that runs then
 * `wet` must outlive the criterion. *out is for wetdbg_criterion_free(). `from` may be NULL.
 */
int wetdbg_criterion_parse(struct wetdbg *wet, const char *text,
                           const struct wetdbg_standpoint *from, struct wetdbg_criterion **out);

/*
 * A variable or another thing of the program just before `time` (1..instructions + 1), wherever the
 * model says that it is: memory or a register of the thread that runs then. `text` is what it is
 * called. -WETDBG_ERR_NOT_FOUND if it is nowhere, -WETDBG_ERR_UNSUPPORTED in a register that slices
 * do not follow.
 */
struct wetdbg_place;
int wetdbg_criterion_of_variable(struct wetdbg *wet, wetdbg_time time, const char *text,
                                 const struct wetdbg_place *where, uint64_t type_bytes,
                                 struct wetdbg_criterion **out);

/*
 * The names of the environment's variables as the program got it, for env:NAME, in their order.
 * `name` lives until on_name returns; a non-zero return ends it and is returned.
 * -WETDBG_ERR_NOT_FOUND if the file does not hold the program's start.
 */
int wetdbg_environment_each(struct wetdbg *wet, int (*on_name)(void *arg, const char *name),
                            void *arg);

/* What the instruction at a time used; of a forward slice, what it did. -WETDBG_ERR_NOT_FOUND
 * outside the run. */
int wetdbg_criterion_of_instance(struct wetdbg *wet, wetdbg_time time,
                                 struct wetdbg_criterion **out);

/* The times of the instances that a criterion names, the latest first; of what did not complete
 * none. *times is to be freed. 0 or -ENOMEM. */
int wetdbg_criterion_times(const struct wetdbg_criterion *criterion, wetdbg_time **times,
                           size_t *count);

void wetdbg_criterion_free(struct wetdbg_criterion *criterion);
const struct wetdbg_criterion_info *
wetdbg_criterion_get_info(const struct wetdbg_criterion *criterion);

/* ---- slices ---- */

enum wetdbg_slice_kinds {
    WETDBG_SLICE_FULL,    /* value, address, condition, control */
    WETDBG_SLICE_DATA,    /* value, address, condition */
    WETDBG_SLICE_THIN,    /* value, condition */
    WETDBG_SLICE_CONTROL, /* control only, from the criterion's instance upward */
};

#define WETDBG_DISTANCE_UNKNOWN UINT32_MAX

enum wetdbg_edge {
    WETDBG_EDGE_VALUE,
    WETDBG_EDGE_ADDRESS,
    WETDBG_EDGE_CONDITION,
    WETDBG_EDGE_CONTROL,
    WETDBG_EDGE_IMPLICIT, /* struct wetdbg_implicit_edge */
    WETDBG_EDGE_NONE,     /* the criterion itself */
};

/* "value", "address", "condition", "control", "implicit", "criterion" */
const char *wetdbg_edge_name(enum wetdbg_edge edge);

/*
 * What a slice has of one source line. Code without line information is put together by
 * function: then file is NULL and line 0.
 */
struct wetdbg_slice_line {
    const char *file; /* as wetdbg_line_at gives it, or NULL */
    uint32_t line;
    const char *function;     /* "?" if unknown */
    const char *linkage_name; /* the linker's name of `function`, or the same; "?" if unknown */
    const char *module;       /* name of the module, "?" if unknown */
    uint64_t pc;              /* an instruction of it that is in the slice: that of last_time */
    uint64_t instances;       /* instruction instances in the slice */
    uint32_t statements;      /* distinct instructions of it in the slice */
    /* The least distance of its instances; 0 for the criterion's own line. WETDBG_DISTANCE_UNKNOWN
     * without record_parents. */
    uint32_t min_distance;
    wetdbg_time first_time, last_time;
    /* of `statements`, those that are calls */
    uint32_t calls;
};

/* Whether nothing of the line is in the slice but calls of what is: a caller's bookkeeping. */
static inline bool wetdbg_slice_line_only_calls(const struct wetdbg_slice_line *line)
{
    return line->calls && line->calls == line->statements;
}

/*
 * What slices of a run have found out, for further ones: those are several times faster then.
 * Slices that were given a session keep it alive; it must not outlive the wet. If a wet has one,
 * all of its slices should be given it, since one learns where others would go wrong. For one
 * thread.
 */
struct wetdbg_slice_session;
int wetdbg_slice_session_new(struct wetdbg *wet,
                             struct wetdbg_slice_session **out); /* 0 or -ENOMEM */
void wetdbg_slice_session_free(struct wetdbg_slice_session *session);

/*
 * A dependence that no instruction of the run made: the instance at `use` depends on the
 * predicate's instance at `predicate`, which came earlier (<wetdbg/implicit.h> finds such).
 */
struct wetdbg_implicit_edge {
    wetdbg_time use, predicate;
};

struct wetdbg_slice_options {
    enum wetdbg_slice_kinds kinds;
    /* Of backward slices: edges that are followed besides, where `use` is in the slice. Borrowed
     * for the call. */
    const struct wetdbg_implicit_edge *implicit;
    size_t implicit_count;
    struct wetdbg_slice_session *session; /* of the same wet; NULL: nothing is kept */
    /* Keeps distance and best parent of each instance (32 bytes each): for wetdbg_slice_path() and
     * for distances and users everywhere. Some three times slower. */
    bool record_parents;
    /* A branch that guards a call which never returns does not control what comes after it. */
    bool no_exits;
    bool no_bypass; /* of the dynamic linker, where it is passed by, nothing is shown anyway */
    /* Follows the dynamic linker. Without it, and unless the criterion is in there, none of its
     * instances are in the slice: what it wrote ends there (and is an initial), registers that it
     * preserves keep their definitions across it (also of a function that it bound when that
     * was first called), and what made a frame from inside it is what entered it. */
    bool loader;
    /*
     * A first look: the scan ends soon after it has passed so many instructions (0: it goes on to
     * the end), and counts.looked_to says where. All that it has is exact, since a way to the
     * criterion only leads through later instances, and one from a source through earlier ones.
     * What is beyond that time is missing, and so are the initials, and what a forward slice came
     * to at the end of the run. With record_parents only.
     */
    uint64_t look;
    /* With record_parents: what only copies a value is as near as who uses the copy. */
    bool copies_are_near;
    /* Called some ten times a second at most, with the number of instructions scanned and that
     * there are in all; non-zero stops with -WETDBG_ERR_INTERRUPTED. May be NULL. */
    int (*progress)(void *arg, uint64_t scanned, uint64_t total);
    /* Called when a line's first instance is met (its most recent one); counts and first_time in it
     * are of that moment. Each line once. Non-zero stops with -WETDBG_ERR_INTERRUPTED. May be
     * NULL. */
    int (*on_line)(void *arg, const struct wetdbg_slice_line *line);
    void *arg;
};

struct wetdbg_slice;

/*
 * The backward slice of a criterion. One pass over the run from the criterion back to its start, or
 * to where nothing is wanted any more; a second pass in the rare case that the first one met an
 * indirect jump's unknown target or a saved register that was overwritten in its slot.
 * Memory: 1 bit per instruction of intervals with instances, and about 1 KiB for each page of which
 * something was ever wanted; with record_parents 16 bytes per byte wanted at a time besides.
 * *out is for wetdbg_slice_free(); neither criterion nor wet may go before it.
 */
int wetdbg_slice_backward(struct wetdbg *wet, const struct wetdbg_criterion *criterion,
                          const struct wetdbg_slice_options *options, struct wetdbg_slice **out);
void wetdbg_slice_free(struct wetdbg_slice *slice);

/*
 * The forward slice of a source: every instance that depends on it, through the same edges as
 * backward slices have. An instance is in the forward slice of another one if and only if that one
 * is in the backward slice of all that the instance uses. The source is what a criterion names:
 * instances, or what places held at a time (of output the bytes that were written); of a function's
 * call also that it came to be. Distances count from the source; the parent of an instance is the
 * earlier one that it uses. If the run ended by an instruction that faulted, that is one of them
 * where the crash's backward slice has the source (but where nothing but a condition that guards it
 * led to the fault, and control is not followed, it is none): it has its time although it did not
 * complete. One pass over the run from the source to its end, or to where nothing depends on it any
 * more. Memory as for backward slices. *out is for wetdbg_slice_free(); neither source nor wet may
 * go before it. -WETDBG_ERR_NOT_FOUND if the source is where the run ends.
 */
int wetdbg_slice_forward(struct wetdbg *wet, const struct wetdbg_criterion *source,
                         const struct wetdbg_slice_options *options, struct wetdbg_slice **out);

/* A piece of the program's output that a forward slice came to: bytes of all that was written to a
 * descriptor. */
struct wetdbg_slice_reached {
    int fd;
    uint64_t offset;
    uint64_t size;
    /* only because the call that wrote them was let run by something in the slice */
    bool is_control;
    /* Of a file that the run opened, its path as the program gave it, and where in the file that
     * is; else NULL, and 0. */
    const char *path;
    uint64_t path_offset;
};
/* In the order in which they were written; none of backward slices. Lives as long as the slice. */
const struct wetdbg_slice_reached *wetdbg_slice_get_reached(const struct wetdbg_slice *slice,
                                                            size_t *count);
/* Whether the run ended by a crash that depends on a forward slice's source. */
bool wetdbg_slice_reaches_crash(const struct wetdbg_slice *slice);

struct wetdbg_slice_counts {
    uint64_t instances;  /* an instruction that did not complete is one of them */
    uint64_t statements; /* distinct instruction addresses */
    uint64_t lines;      /* source lines; groups without line information are not counted */
    uint64_t functions_without_lines;
    uint64_t unknown_calls; /* instances of system calls whose uses are not known */
    uint64_t scanned;       /* instructions passed over, of all passes */
    uint32_t passes;
    wetdbg_time looked_to; /* of a first look that ended early, where; else 0 */
    double seconds;
};
const struct wetdbg_slice_counts *wetdbg_slice_get_counts(const struct wetdbg_slice *slice);

/* All lines: of a backward slice the one with the most recent last_time first, of a forward one the
 * one with the earliest first_time. Lives as long as the slice. */
const struct wetdbg_slice_line *wetdbg_slice_lines(const struct wetdbg_slice *slice, size_t *count);

/* Whether the instance at that time is in the slice. */
bool wetdbg_slice_contains_time(const struct wetdbg_slice *slice, wetdbg_time time);

/* ---- registers of instances ---- */

/*
 * A *location* is a register, a part of one, or a flag, by number. WETDBG_LOCATION_NONE is none,
 * where an address says more.
 */
#define WETDBG_LOCATION_NONE 239

enum wetdbg_location_kind {
    /* of a general register, which `number` tells: rax 0, rcx 1, rdx 2 ... */
    WETDBG_LOCATION_GENERAL,
    WETDBG_LOCATION_FLAG,   /* its bit in rflags */
    WETDBG_LOCATION_VECTOR, /* of zmm0 to zmm31 */
    WETDBG_LOCATION_MASK,   /* k0 to k7 */
    WETDBG_LOCATION_OTHER,  /* x87, MXCSR, segment bases, PKRU */
};
enum wetdbg_location_kind wetdbg_location_kind(unsigned location, unsigned *number);

/* "rax.b0", "rax.b2-7", "CF", "zmm3.b16-31", "k1", "mxcsr.status"...; static; NULL for none. */
const char *wetdbg_location_name(unsigned location);

/* ---- instances ---- */

struct wetdbg_slice_instance {
    wetdbg_time time;
    uint64_t pc;
    uint32_t distance; /* WETDBG_DISTANCE_UNKNOWN without record_parents */
    enum wetdbg_edge
        edge; /* to `parent`; WETDBG_EDGE_NONE for the criterion, or without record_parents */
    wetdbg_time parent; /* the later instance that uses this one on a shortest path; 0 if none */
    /* What passed over that edge: a location or, if it is WETDBG_LOCATION_NONE, the byte at
     * `address`. Nothing for control edges (WETDBG_LOCATION_NONE and address 0). */
    uint16_t location;
    uint64_t address;
};

/* The thread that executed an instance of the slice (or tried to, for a criterion's instruction
 * that did not complete); NULL if the wet does not know. Lives as long as the wet. */
const struct wetdbg_thread *
wetdbg_slice_instance_thread(const struct wetdbg_slice *slice,
                             const struct wetdbg_slice_instance *instance);

/* Calls back for each instance whose pc is one of `pcs` (pc_count 0: each instance), most recent
 * first; a non-zero return ends it and is returned. An instruction that did not complete comes
 * first. Without record_parents this runs the intervals with instances again. */
typedef int (*wetdbg_slice_instance_fn)(void *arg, const struct wetdbg_slice_instance *instance);
int wetdbg_slice_each_instance(const struct wetdbg_slice *slice, const uint64_t *pcs,
                               size_t pc_count, wetdbg_slice_instance_fn fn, void *arg);

/* wetdbg_slice_each_instance() for the instances of wetdbg_slice_lines()[line_index]. */
int wetdbg_slice_each_line_instance(const struct wetdbg_slice *slice, size_t line_index,
                                    wetdbg_slice_instance_fn fn, void *arg);

/*
 * A shortest dependence path: hops[0] is the criterion's instance, the last one is the nearest
 * instance of one of `pcs`; the edge of hop i leads to hop i - 1. Needs record_parents
 * (-EINVAL without). -WETDBG_ERR_NOT_FOUND if no instance of them is in the slice.
 * *path is for wetdbg_slice_path_free().
 */
struct wetdbg_slice_path {
    size_t count;
    const struct wetdbg_slice_instance *hops;
};
int wetdbg_slice_path(const struct wetdbg_slice *slice, const uint64_t *pcs, size_t pc_count,
                      struct wetdbg_slice_path **path);
int wetdbg_slice_path_to_line(const struct wetdbg_slice *slice, size_t line_index,
                              struct wetdbg_slice_path **path);
/* The same to the instance at a time: -WETDBG_ERR_NOT_FOUND if that is not in the slice. */
int wetdbg_slice_path_to_time(const struct wetdbg_slice *slice, wetdbg_time time,
                              struct wetdbg_slice_path **path);
void wetdbg_slice_path_free(struct wetdbg_slice_path *path);

/*
 * How the lines of a slice hang together: for each two of wetdbg_slice_lines(), how many instances
 * of `line` have one of `user` as their parent, by the edge to it (enum wetdbg_edge). Each instance
 * counts once, so that these are the shortest ways from the criterion and not all dependences;
 * instances of the criterion itself have no parent.
 */
struct wetdbg_slice_link {
    size_t user, line;
    uint64_t instances[WETDBG_EDGE_NONE];
    uint32_t distance; /* the least of these instances */
};

/*
 * All links, also those of a line with itself, by user and then by line. Lines of which
 * passed[index] is true (NULL: none) have none: what they gave to a line comes, by the last of
 * these edges, from those that gave it to them; only the criterion's instance is never passed by.
 * Needs record_parents (-EINVAL without). *links is to be freed. 0 or -ENOMEM.
 */
int wetdbg_slice_links(const struct wetdbg_slice *slice, const bool *passed,
                       struct wetdbg_slice_link **links, size_t *count);

/* Something the slice uses that nothing in the run defined: initial memory (.data, arguments,
 * environment) or registers, or what the kernel put there unasked (a signal's information). */
struct wetdbg_slice_initial {
    uint16_t location; /* WETDBG_LOCATION_NONE: memory */
    uint32_t task;     /* of a location */
    uint64_t address;  /* of memory */
    uint64_t size_bytes;
    /* Of a nearest user, plus 1, and that user; WETDBG_DISTANCE_UNKNOWN and 0 without
     * record_parents. */
    uint32_t distance;
    wetdbg_time user;
};
/* Memory by address, then registers. Lives as long as the slice. */
const struct wetdbg_slice_initial *wetdbg_slice_initials(const struct wetdbg_slice *slice,
                                                         size_t *count);

WETDBG_END

#endif
