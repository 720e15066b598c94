/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SIGSEGV taken on an alternative stack and left by siglongjmp, several times. */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static sigjmp_buf recovery;
static volatile uintptr_t fault_address;

static void on_fault(int signo, siginfo_t *info, void *context)
{
    (void)context;
    fault_address = (uintptr_t)info->si_addr;
    siglongjmp(recovery, signo);
}

static int probe(uintptr_t address, int write)
{
    volatile unsigned char *byte = (volatile unsigned char *)address;

    if (sigsetjmp(recovery, 1) != 0)
        return -1;
    if (write)
        *byte = 1;
    return *byte;
}

int main(void)
{
    static unsigned char stack_bytes[65536];
    const stack_t stack = {.ss_sp = stack_bytes, .ss_size = sizeof(stack_bytes)};
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    static const char constant[] = "read only";
    static unsigned char cell = 7;

    if (sigaltstack(&stack, NULL) != 0 || sigaction(SIGSEGV, &action, NULL) != 0)
        return 1;
    printf("cell %d\n", probe((uintptr_t)&cell, 0));
    printf("null %d\n", probe(16, 0));
    printf("at %lu\n", (unsigned long)fault_address);
    printf("constant %d\n", probe((uintptr_t)constant, 1));
    printf("%s\n", fault_address == (uintptr_t)constant ? "there" : "elsewhere");
    printf("non-canonical %d\n", probe((uintptr_t)1 << 63, 0));
    printf("cell %d\n", probe((uintptr_t)&cell, 1));
    return 0;
}
