/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signals while main()'s variables are in use: an instruction faults and its handler jumps back, another
 * signal is handled on a stack of its own, and a function of a library is called for the first time, for
 * which the dynamic linker saves vector registers near main()'s frame.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sigjmp_buf back;
static volatile int faults, sent;
static char own_stack[65536];
static volatile int beside[512];

static void on_fault(int number, siginfo_t *info, void *context)
{
    int kind = number + (info->si_addr == (void *)24);
    (void)context;
    faults += kind;
    siglongjmp(back, kind);
}

static void on_sent(int number)
{
    int doubled = 2 * number;
    sent += doubled;
}

static int probe(const int *at)
{
    int result = sigsetjmp(back, 1);
    if (result)
        return result;
    return *at; /* FAULTS */
}

int main(void)
{
    const stack_t stack = {.ss_sp = own_stack, .ss_size = sizeof(own_stack)};
    struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    struct sigaction other = {.sa_handler = on_sent, .sa_flags = SA_ONSTACK};
    int kept = 7; /* KEPT */
    beside[0] = kept;
    sigaction(SIGSEGV, &fault, NULL);
    sigaction(SIGUSR1, &other, NULL);
    kept += probe((const int *)(uintptr_t)24); /* PROBED */
    raise(SIGUSR1);
    sigaltstack(&stack, NULL);
    raise(SIGUSR1);
    kept += (int)strtoul("5", NULL, 10); /* BOUND LATE */
    printf("%d %d %d %d\n", kept, faults, sent, beside[0]);
    return 0; /* HOLD */
}
