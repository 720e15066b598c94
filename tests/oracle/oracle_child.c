/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stub page holds `syscall; int3`. To inject a call the tracer points rip at it, lets the
 * child run, and gets it back at the int3.
 *
 * The child is a clone of this process that shares the file table (so that backing files and
 * memfds opened here can be mapped there) and nothing else. It takes back what the C library
 * registered with the kernel (rseq, robust list) before its memory vanishes.
 */
#include "tests/oracle/oracle_child.h"

#include <asm/prctl.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <wetdbg/errors.h>

#ifndef PTRACE_SYSEMU
#define PTRACE_SYSEMU 31
#endif
#ifndef PTRACE_SYSEMU_SINGLESTEP
#define PTRACE_SYSEMU_SINGLESTEP 32
#endif

#define STUB_BYTES  4096
#define STUB_AFTER  3 /* rip after the int3 */
#define SYSGOOD_BIT 0x80

static const uint8_t stub_code[] = {0x0f, 0x05, 0xcc};

/* ---------------------------------------------------------------- start and end */

/* What runs in the clone; only direct system calls, since it shares nothing but descriptors and
 * the C library does not know that it exists. */
static void __attribute__((noreturn)) run_clone(uint64_t stub)
{
    uint8_t *page =
        (uint8_t *)syscall(SYS_mmap, stub, STUB_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    if ((uint64_t)(uintptr_t)page != stub)
        syscall(SYS_exit_group, 1);
    for (size_t i = 0; i < sizeof(stub_code); i++)
        page[i] = stub_code[i];
    if (__rseq_size > 0)
        syscall(SYS_rseq, (char *)__builtin_thread_pointer() + __rseq_offset, 32,
                RSEQ_FLAG_UNREGISTER, RSEQ_SIG);
    syscall(SYS_set_robust_list, NULL, 24);
    syscall(SYS_set_tid_address, NULL);
    if (syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0) != 0)
        syscall(SYS_exit_group, 2);
    syscall(SYS_kill, syscall(SYS_getpid), SIGSTOP);
    for (;;)
        syscall(SYS_exit_group, 3);
}

static int wait_child(struct orc_child *child, int *status)
{
    pid_t got;

    do
        got = waitpid(child->pid, status, __WALL);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return wetdbg_fail_errno("cannot wait for the oracle's child");
    if (!WIFSTOPPED(*status)) {
        child->pid = 0;
        if (WIFSIGNALED(*status))
            return wetdbg_fail(-WETDBG_ERR_MACHINE, "the oracle's child was killed by signal %d",
                               WTERMSIG(*status));
        return wetdbg_fail(-WETDBG_ERR_MACHINE, "the oracle's child ended with status %d",
                           WEXITSTATUS(*status));
    }
    return 0;
}

/* Unmaps everything but the stub. The vsyscall page is not a mapping and stays. */
static int empty_space(struct orc_child *child)
{
    char path[64];
    char line[512];
    uint64_t *ranges = NULL;
    size_t count = 0;
    int err = 0;
    FILE *maps;

    snprintf(path, sizeof(path), "/proc/%d/maps", child->pid);
    maps = fopen(path, "re");
    if (!maps)
        return wetdbg_fail_errno("%s", path);
    while (err == 0 && fgets(line, sizeof(line), maps)) {
        uint64_t start;
        uint64_t end;
        uint64_t *grown;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) != 2 || start == child->stub ||
            start >> 63)
            continue;
        grown = realloc(ranges, (count + 1) * 2 * sizeof(*ranges));
        if (!grown) {
            err = -ENOMEM;
            break;
        }
        ranges = grown;
        ranges[2 * count] = start;
        ranges[2 * count + 1] = end - start;
        count++;
    }
    fclose(maps);
    for (size_t i = 0; err == 0 && i < count; i++) {
        const uint64_t args[6] = {ranges[2 * i], ranges[2 * i + 1]};
        err = orc_child_must(child, "munmap", SYS_munmap, args, 0);
    }
    free(ranges);
    return err;
}

static int open_memory(struct orc_child *child)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/mem", child->pid);
    child->mem_fd = open(path, O_RDWR | O_CLOEXEC);
    return child->mem_fd < 0 ? wetdbg_fail_errno("%s", path) : 0;
}

/* Binds the process to a processor. Only the APIC id that cpuid tells depends on it, so failure is
 * no error. */
static bool bind_to(pid_t pid, int cpu)
{
    cpu_set_t set;

    if (cpu < 0 || cpu >= CPU_SETSIZE)
        return false;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return sched_setaffinity(pid, sizeof(set), &set) == 0;
}

int orc_child_start(struct orc_child *child, uint64_t stub, int cpu, bool traps_cpuid)
{
    const uint64_t tsc_args[6] = {PR_SET_TSC, PR_TSC_SIGSEGV};
    const uint64_t cpuid_args[6] = {ARCH_SET_CPUID, 0};
    struct user_regs_struct regs;
    int status;
    int err;
    long pid;

    *child = (struct orc_child){.mem_fd = -1, .stub = stub, .cpu = -1};
    pid = syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
    if (pid < 0)
        return wetdbg_fail_errno("cannot start the oracle's child");
    if (pid == 0)
        run_clone(stub);
    child->pid = (pid_t)pid;
    err = wait_child(child, &status);
    if (err == 0 && WSTOPSIG(status) != SIGSTOP)
        err =
            wetdbg_fail(-WETDBG_ERR_MACHINE,
                        "the oracle's child stopped with signal %d at its start", WSTOPSIG(status));
    if (err == 0 && ptrace(PTRACE_SETOPTIONS, child->pid, 0L,
                           (long)(PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD)) != 0)
        err = wetdbg_fail_errno("cannot set ptrace options");
    if (err == 0)
        err = orc_child_get_regs(child, &regs);
    if (err == 0) {
        /* leave the clone's kill(2) for good, and forget that it was one */
        regs.rip = stub;
        err = orc_child_set_regs(child, &regs);
    }
    if (err == 0)
        err = empty_space(child);
    if (err == 0)
        err = open_memory(child);
    if (err == 0)
        err = orc_child_must(child, "prctl(PR_SET_TSC)", SYS_prctl, tsc_args, 0);
    if (err == 0 && traps_cpuid)
        err = orc_child_must(child, "arch_prctl(ARCH_SET_CPUID)", SYS_arch_prctl, cpuid_args, 0);
    if (err == 0 && bind_to(child->pid, cpu))
        child->cpu = cpu;
    if (err != 0)
        orc_child_end(child);
    return err;
}

void orc_child_end(struct orc_child *child)
{
    if (child->pid > 0) {
        kill(child->pid, SIGKILL);
        while (waitpid(child->pid, NULL, __WALL) < 0 && errno == EINTR)
            ;
        if (child->mem_fd >= 0)
            close(child->mem_fd);
    }
    *child = (struct orc_child){.mem_fd = -1};
}

/* ---------------------------------------------------------------- registers */

int orc_child_get_regs(struct orc_child *child, struct user_regs_struct *regs)
{
    if (!child->regs_known && ptrace(PTRACE_GETREGS, child->pid, 0L, &child->regs) != 0)
        return wetdbg_fail_errno("cannot read the oracle's registers");
    child->regs_known = true;
    *regs = child->regs;
    return 0;
}

int orc_child_set_regs(struct orc_child *child, const struct user_regs_struct *regs)
{
    struct user_regs_struct loaded = *regs;

    loaded.orig_rax = UINT64_MAX;
    child->regs_known = false; /* the kernel may take them differently */
    if (ptrace(PTRACE_SETREGS, child->pid, 0L, &loaded) != 0)
        return wetdbg_fail_errno("cannot load the oracle's registers (rip %#llx)",
                                 (unsigned long long)regs->rip);
    return 0;
}

int orc_child_get_xstate(struct orc_child *child, uint8_t *image, size_t *size_bytes)
{
    struct iovec vec = {.iov_base = image, .iov_len = *size_bytes};

    if (ptrace(PTRACE_GETREGSET, child->pid, (long)NT_X86_XSTATE, &vec) != 0)
        return wetdbg_fail_errno("cannot read the oracle's vector state");
    *size_bytes = vec.iov_len;
    return 0;
}

int orc_child_set_xstate(struct orc_child *child, const uint8_t *image, size_t size_bytes)
{
    struct iovec vec = {.iov_base = (void *)(uintptr_t)image, .iov_len = size_bytes};

    if (ptrace(PTRACE_SETREGSET, child->pid, (long)NT_X86_XSTATE, &vec) != 0)
        return wetdbg_fail_errno("cannot load the oracle's vector state (%zu bytes)", size_bytes);
    return 0;
}

int orc_child_set_break(struct orc_child *child, uint64_t address)
{
    uint8_t code;

    child->break_at = 0;
    if (address == 0)
        return 0;
    if (orc_child_read(child, address, &code, 1) != 1)
        return -ENOTSUP;
    child->break_at = address;
    return 0;
}

/* ---------------------------------------------------------------- running */

static int stop_signal(struct orc_child *child, int status, struct orc_stop *stop)
{
    stop->kind = ORC_STOP_SIGNAL;
    if (ptrace(PTRACE_GETSIGINFO, child->pid, 0L, &stop->info) != 0)
        return wetdbg_fail_errno("cannot read the signal of the oracle's child");
    if (WSTOPSIG(status) != SIGTRAP)
        return 0;
    if (stop->info.si_code == TRAP_TRACE)
        stop->kind = ORC_STOP_STEP;
    else if (stop->info.si_code == TRAP_HWBKPT)
        stop->kind = ORC_STOP_BREAK;
    return 0;
}

static long resume(struct orc_child *child, enum __ptrace_request request)
{
    child->regs_known = false;
    return ptrace(request, child->pid, 0L, 0L);
}

/* Resumes and waits for the next stop; no breakpoint is set. */
static int resume_freely(struct orc_child *child, bool step, struct orc_stop *stop)
{
    const enum __ptrace_request request =
        (enum __ptrace_request)(step ? PTRACE_SYSEMU_SINGLESTEP : PTRACE_SYSEMU);
    int status;
    int err;

    do {
        if (resume(child, request) != 0)
            return wetdbg_fail_errno("cannot resume the oracle's child");
        err = wait_child(child, &status);
        if (err != 0)
            return err;
        /* a stop asked for from outside (job control) is none of the program's */
    } while (WSTOPSIG(status) == SIGSTOP || WSTOPSIG(status) == SIGCONT);
    if (WSTOPSIG(status) == (SIGTRAP | SYSGOOD_BIT)) {
        stop->kind = ORC_STOP_SYSCALL;
        return 0;
    }
    return stop_signal(child, status, stop);
}

/* After a stop: was it the int3 of the breakpoint? Then rip goes back to where it stands. */
static int take_break(struct orc_child *child, struct orc_stop *stop)
{
    struct user_regs_struct regs;
    int err;

    if (stop->kind != ORC_STOP_SIGNAL || stop->info.si_signo != SIGTRAP)
        return 0;
    err = orc_child_get_regs(child, &regs);
    if (err != 0 || regs.rip != child->break_at + 1)
        return err;
    regs.rip = child->break_at;
    stop->kind = ORC_STOP_BREAK;
    return orc_child_set_regs(child, &regs);
}

/* Runs to the breakpoint, or to what comes before it. */
static int run_to_break(struct orc_child *child, struct orc_stop *stop)
{
    static const uint8_t int3 = 0xcc;
    uint8_t covered;
    int err;

    if (orc_child_read(child, child->break_at, &covered, 1) != 1)
        return wetdbg_fail(-EFAULT, "no code at the breakpoint %#" PRIx64, child->break_at);
    err = orc_child_write(child, child->break_at, &int3, 1);
    if (err == 0)
        err = resume_freely(child, false, stop);
    if (err == 0)
        err = orc_child_write(child, child->break_at, &covered, 1);
    return err == 0 ? take_break(child, stop) : err;
}

/* Some virtual machines lose the trap after a cpuid that is stepped over, and the instruction after
 * it is executed unseen: there the breakpoint takes the trap flag's place. */
static int step_once(struct orc_child *child, const struct user_regs_struct *regs,
                     struct orc_stop *stop)
{
    static const uint8_t cpuid[] = {0x0f, 0xa2};
    const uint64_t break_at = child->break_at;
    uint8_t code[sizeof(cpuid)];
    int err;

    if (orc_child_read(child, regs->rip, code, sizeof(code)) != sizeof(code) ||
        memcmp(code, cpuid, sizeof(cpuid)) != 0)
        return resume_freely(child, true, stop);
    child->break_at = regs->rip + sizeof(cpuid);
    err = run_to_break(child, stop);
    child->break_at = break_at;
    if (err == 0 && stop->kind == ORC_STOP_BREAK)
        stop->kind = ORC_STOP_STEP;
    return err;
}

/* Some virtual machines take no notice of debug registers, so an int3 is the breakpoint while the
 * child runs. What it stands at is stepped over first. */
int orc_child_resume(struct orc_child *child, bool step, struct orc_stop *stop)
{
    struct user_regs_struct regs;
    int err = 0;

    if (!step && child->break_at == 0)
        return resume_freely(child, false, stop);
    err = orc_child_get_regs(child, &regs);
    if (err != 0)
        return err;
    if (step)
        return step_once(child, &regs, stop);
    if (regs.rip == child->break_at) {
        err = step_once(child, &regs, stop);
        if (err != 0 || stop->kind != ORC_STOP_STEP)
            return err;
        err = orc_child_get_regs(child, &regs);
        if (err != 0)
            return err;
        if (regs.rip == child->break_at) {
            stop->kind = ORC_STOP_BREAK;
            return 0;
        }
    }
    return run_to_break(child, stop);
}

int orc_child_syscall(struct orc_child *child, int number, const uint64_t args[6], int64_t *result)
{
    struct user_regs_struct saved;
    struct user_regs_struct call;
    int status;
    int err = orc_child_get_regs(child, &saved);

    if (err != 0)
        return err;
    call = saved;
    call.rip = child->stub;
    call.rax = (uint64_t)number;
    call.rdi = args[0];
    call.rsi = args[1];
    call.rdx = args[2];
    call.r10 = args[3];
    call.r8 = args[4];
    call.r9 = args[5];
    call.eflags = 0x202;
    err = orc_child_set_regs(child, &call);
    if (err != 0)
        return err;
    if (resume(child, PTRACE_CONT) != 0)
        return wetdbg_fail_errno("cannot resume the oracle's child");
    err = wait_child(child, &status);
    if (err == 0)
        err = orc_child_get_regs(child, &call);
    if (err != 0)
        return err;
    if (WSTOPSIG(status) != SIGTRAP || call.rip != child->stub + STUB_AFTER)
        return wetdbg_fail(-WETDBG_ERR_MACHINE, "injected call %d stopped with signal %d at %#llx",
                           number, WSTOPSIG(status), (unsigned long long)call.rip);
    *result = (int64_t)call.rax;
    return orc_child_set_regs(child, &saved);
}

int orc_child_must(struct orc_child *child, const char *what, int number, const uint64_t args[6],
                   uint64_t want)
{
    int64_t result;
    int err = orc_child_syscall(child, number, args, &result);

    if (err != 0)
        return err;
    if (result < 0 && result >= -4095)
        return wetdbg_fail((int)result, "%s(%#" PRIx64 ", %#" PRIx64 ") in the oracle's child: %s",
                           what, args[0], args[1], strerror((int)-result));
    if (want != UINT64_MAX && (uint64_t)result != want)
        return wetdbg_fail(-WETDBG_ERR_MACHINE, "%s(%#" PRIx64 ") gave %#" PRIx64 ", not %#" PRIx64,
                           what, args[0], (uint64_t)result, want);
    return 0;
}

/* ---------------------------------------------------------------- memory */

size_t orc_child_read(const struct orc_child *child, uint64_t address, void *bytes, size_t count)
{
    size_t done = 0;

    while (done < count) {
        /* page by page at the end: the kernel may refuse a read as a whole */
        ssize_t got =
            pread(child->mem_fd, (char *)bytes + done, count - done, (off_t)(address + done));
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    return done;
}

int orc_child_write(struct orc_child *child, uint64_t address, const void *bytes, size_t count)
{
    size_t done = 0;

    while (done < count) {
        ssize_t put = pwrite(child->mem_fd, (const char *)bytes + done, count - done,
                             (off_t)(address + done));
        if (put <= 0)
            return wetdbg_fail(-EFAULT,
                               "cannot write %zu bytes at %#" PRIx64 " of the oracle's child",
                               count - done, address + done);
        done += (size_t)put;
    }
    return 0;
}
