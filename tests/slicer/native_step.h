/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One instruction of a stopped thread, by ptrace. Some virtual machines lose the trap after a cpuid
 * that is stepped over, and the instruction behind it is executed unseen: a cpuid runs to an int3
 * that is put there.
 */
#ifndef TESTS_SLICER_NATIVE_STEP_H
#define TESTS_SLICER_NATIVE_STEP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#define NATIVE_CPUID_BYTES 2

/* Steps the thread, which is at `pc`, and waits for it; false if it ended, or ptrace failed. That
 * it was stopped by a signal, and executed nothing, is in *status. */
static inline bool native_step(pid_t tid, uint64_t pc, bool is_cpuid, int *status)
{
    uint64_t behind = pc + NATIVE_CPUID_BYTES;
    struct user_regs_struct regs;

    if (!is_cpuid)
        return !ptrace(PTRACE_SINGLESTEP, tid, 0, 0) && waitpid(tid, status, __WALL) >= 0 &&
               WIFSTOPPED(*status);
    long code = ptrace(PTRACE_PEEKTEXT, tid, behind, 0);
    if (ptrace(PTRACE_POKETEXT, tid, behind, (code & ~0xffl) | 0xcc) ||
        ptrace(PTRACE_CONT, tid, 0, 0) || waitpid(tid, status, __WALL) < 0 ||
        !WIFSTOPPED(*status) || ptrace(PTRACE_POKETEXT, tid, behind, code) ||
        ptrace(PTRACE_GETREGS, tid, 0, &regs))
        return false;
    if (WSTOPSIG(*status) != SIGTRAP || regs.rip != behind + 1)
        return true;
    regs.rip = behind;
    return !ptrace(PTRACE_SETREGS, tid, 0, &regs);
}

#endif
