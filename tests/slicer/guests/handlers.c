/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signal handlers in the middle of computation: one that changes what is read later, one that is
 * itself interrupted, one on a stack of its own, one that mends the register that made its fault, and
 * one that reads a register of the code it struck.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

static volatile unsigned seen, inner, mended, table[8];
static uint64_t struck_sum;
static char own_stack[65536];

static unsigned mix(unsigned a, unsigned b)
{
    if (a & 1)
        return a * 3 + b;
    return (a ^ b) + 7;
}

/* Sent by whoever runs this. */
static void on_sent(int signal, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    (void)info;
    seen = mix(seen, (unsigned)signal);
    table[seen % 8] = seen;
    struck_sum += (uint64_t)uc->uc_mcontext.gregs[REG_RBX] & 0xff;
    if (seen % 3 == 0)
        raise(SIGUSR2);
}

static void on_inner(int signal)
{
    inner = mix(inner, seen) + (unsigned)signal;
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    (void)info;
    mended += (unsigned)signal;
    uc->uc_mcontext.gregs[REG_RCX] = (greg_t)(uintptr_t)&table[mended % 8];
}

static void install(int signal, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    sigaction(signal, &action, NULL);
}

__attribute__((noinline)) static unsigned read_through(const void *at)
{
    unsigned value;
    __asm__ volatile("movl (%%rcx), %0" : "=r"(value) : "c"(at) : "memory");
    return value;
}

__attribute__((noinline)) static unsigned compute(unsigned x, unsigned turns)
{
    for (unsigned i = 0; i < turns; i++) {
        x = mix(x, i);
        table[i % 8] ^= x;
    }
    return x;
}

int main(void)
{
    const stack_t stack = {.ss_sp = own_stack, .ss_size = sizeof(own_stack)};
    unsigned x = 1;

    signal(SIGUSR2, on_inner);
    install(SIGSEGV, on_fault, 0);
    install(SIGUSR1, on_sent, 0);
    x = compute(x, 60);
    x += read_through((void *)8);
    sigaltstack(&stack, NULL);
    install(SIGUSR1, on_sent, SA_ONSTACK);
    x = compute(x + table[x % 8], 60);
    x += read_through((void *)(uintptr_t)(x % 8));
    for (unsigned i = 0; i < 8; i++)
        x = mix(x, table[i]);
    char text[64];
    memset(text, (int)(x & 63) + 32, sizeof(text));
    printf("%u %u %u %.3s %llu\n", x, seen, inner, text, (unsigned long long)struck_sum);
    return (int)(x & 1);
}
