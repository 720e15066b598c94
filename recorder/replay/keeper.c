/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/replay/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <wetdbg/errors.h>

/*
 * rep_keeper_code(page, parent, group) is alone in its page, unmaps all others, and uses registers
 * only. It waits for SIGTERM, which comes when the thread that started it ends, or from anybody;
 * the supervisor is gone when the parent is another. Only then, and only if it is in the group (the
 * supervisor puts it there before the first copy is made), it kills the group, itself included.
 */
__asm__(".pushsection .text.rep_keeper, \"ax\", @progbits\n"
        ".balign 4096\n"
        ".globl rep_keeper_code\n.hidden rep_keeper_code\n"
        ".type rep_keeper_code, @function\n"
        "rep_keeper_code:\n"
        "  mov %rdi, %r12\n"
        "  mov %esi, %r13d\n"
        "  mov %edx, %r14d\n"
        "  mov %rdi, %rsi\n" /* munmap(0, page) */
        "  xor %edi, %edi\n"
        "  mov $11, %eax\n"
        "  syscall\n"
        "  lea 4096(%r12), %rdi\n" /* munmap(page + 4096, all that follows) */
        "  mov $0x7ffffffff000, %rsi\n"
        "  sub %rdi, %rsi\n"
        "  mov $11, %eax\n"
        "  syscall\n"
        "1:\n"
        "  mov $110, %eax\n" /* getppid() */
        "  syscall\n"
        "  cmp %r13d, %eax\n"
        "  jne 2f\n"
        "  lea 4f(%rip), %rdi\n" /* rt_sigtimedwait({SIGTERM}, NULL, NULL, 8) */
        "  xor %esi, %esi\n"
        "  xor %edx, %edx\n"
        "  mov $8, %r10d\n"
        "  mov $128, %eax\n"
        "  syscall\n"
        "  jmp 1b\n"
        "2:\n"
        "  mov $111, %eax\n" /* getpgrp() */
        "  syscall\n"
        "  cmp %r14d, %eax\n"
        "  jne 3f\n"
        "  xor %edi, %edi\n" /* kill(0, SIGKILL) */
        "  mov $9, %esi\n"
        "  mov $62, %eax\n"
        "  syscall\n"
        "3:\n"
        "  mov $1, %edi\n" /* exit_group(1) */
        "  mov $231, %eax\n"
        "  syscall\n"
        ".balign 8\n"
        "4: .quad 0x4000\n"
        ".balign 4096\n"
        ".size rep_keeper_code, . - rep_keeper_code\n"
        ".popsection\n");

__attribute__((noreturn, visibility("hidden"))) void rep_keeper_code(uintptr_t page, pid_t parent,
                                                                     pid_t group);

/* glibc's: where it registered restartable sequences for this thread. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned __rseq_size __attribute__((weak));

int rep_rseq_leave(void)
{
    if (!&__rseq_size || !__rseq_size)
        return 0;
    char *thread = __builtin_thread_pointer();
    long left = syscall(SYS_rseq, thread + __rseq_offset, 32, 1 /* unregister */, 0x53053053);
    return left ? -errno : 0;
}

/* Tells through `ready` that all is in order, and keeps. */
__attribute__((noreturn)) static void keep(pid_t parent, pid_t group, int ready)
{
    uint64_t all = ~0ull;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, sizeof(all));
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) || dup2(ready, 0) ||
        syscall(SYS_close_range, 1u, ~0u, 0) || rep_rseq_leave() || write(0, "", 1) != 1)
        _exit(2);
    close(0);
    prctl(PR_SET_NAME, "wetdbg-keeper");
    rep_keeper_code((uintptr_t)rep_keeper_code, parent, group);
}

static bool is_ready(int from)
{
    char byte;
    ssize_t count;
    do
        count = read(from, &byte, 1);
    while (count < 0 && errno == EINTR);
    return count == 1;
}

pid_t rep_keeper_start(pid_t group)
{
    pid_t parent = getpid();
    int ready[2];
    if (pipe2(ready, O_CLOEXEC))
        return wetdbg_fail_errno("pipe");
    pid_t keeper = fork();
    if (keeper == 0)
        keep(parent, group, ready[1]);
    int err = keeper < 0 ? wetdbg_fail_errno("fork") : 0;
    close(ready[1]);
    if (!err && setpgid(keeper, group))
        err = wetdbg_fail_errno("a replay process' group");
    if (!err && !is_ready(ready[0]))
        err =
            wetdbg_fail(-WETDBG_ERR_MACHINE, "who ends copies of a replay process could not start");
    close(ready[0]);
    if (err && keeper > 0) {
        kill(keeper, SIGKILL); /* not reaped: nobody else has that number */
        while (waitpid(keeper, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    return err ? err : keeper;
}
