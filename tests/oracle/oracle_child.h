/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The process in which recorded code runs natively: an empty address space but for one stub page,
 * stopped under ptrace by the thread that opened it. It never executes a system call of the
 * program's (PTRACE_SYSEMU); the ones we want are injected through the stub.
 */
#ifndef TESTS_ORACLE_ORACLE_CHILD_H
#define TESTS_ORACLE_ORACLE_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#define ORC_XSTATE_MAX 16384

struct orc_child {
    pid_t pid;
    int mem_fd; /* /proc/PID/mem */
    uint64_t stub;
    int cpu;                      /* that it is bound to; -1: none */
    struct user_regs_struct regs; /* as last read: good while `regs_known` */
    bool regs_known;
    uint64_t break_at; /* the breakpoint; 0: none */
};

enum orc_stop_kind {
    ORC_STOP_STEP,    /* one instruction done, or one turn of a rep */
    ORC_STOP_SYSCALL, /* at a system call, which is not going to be executed */
    ORC_STOP_SIGNAL,  /* a signal that will not be delivered */
    ORC_STOP_BREAK,   /* about to execute what is at the breakpoint */
};

struct orc_stop {
    enum orc_stop_kind kind;
    siginfo_t info; /* SIGNAL only */
};

/*
 * Starts the child with its stub at `stub` (page-aligned, free here and in the recording), bound
 * to processor `cpu` if that is not negative and possible. rdtsc and rdtscp end in a SIGSEGV there,
 * and cpuid too if `traps_cpuid`. The child shares our file descriptors, so a descriptor opened
 * here can be named in an injected mmap.
 */
int orc_child_start(struct orc_child *child, uint64_t stub, int cpu, bool traps_cpuid);
void orc_child_end(struct orc_child *child); /* all zero is fine */

/* Runs one system call in the child, which keeps its registers; *result as the kernel gave it
 * (-4095..-1 are errors). Nonzero: the child could not run it. */
int orc_child_syscall(struct orc_child *child, int number, const uint64_t args[6], int64_t *result);

/* orc_child_syscall that must succeed and yield `want` (UINT64_MAX: anything but an error). */
int orc_child_must(struct orc_child *child, const char *what, int number, const uint64_t args[6],
                   uint64_t want);

/* Resumes, for one instruction if `step`, and waits for the next stop. The instruction at which the
 * child stands is executed even if the breakpoint is there. */
int orc_child_resume(struct orc_child *child, bool step, struct orc_stop *stop);

/* Sets the breakpoint at `address`; 0 clears it. Memory is seen as if there were none. -ENOTSUP
 * where nothing is mapped. */
int orc_child_set_break(struct orc_child *child, uint64_t address);

int orc_child_get_regs(struct orc_child *child, struct user_regs_struct *regs);
/* orig_rax is not loaded: the kernel would take it for a call to restart. */
int orc_child_set_regs(struct orc_child *child, const struct user_regs_struct *regs);

/* XSAVE images in standard layout. `size_bytes`: capacity in, size out. */
int orc_child_get_xstate(struct orc_child *child, uint8_t *image, size_t *size_bytes);
int orc_child_set_xstate(struct orc_child *child, const uint8_t *image, size_t size_bytes);

/* Reads memory: how many bytes could be read, from the start; 0 if none. Protection does not
 * matter. */
size_t orc_child_read(const struct orc_child *child, uint64_t address, void *bytes, size_t count);

/* Writes memory, all of it or an error; also to read-only private pages. */
int orc_child_write(struct orc_child *child, uint64_t address, const void *bytes, size_t count);

#endif
