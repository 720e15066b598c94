/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Binds a function lazily while the vector registers are loaded with zeros, on a stack full of junk: whether
 * xsavec stores them depends on the processor. Then waits, above what it left, for SIGALRM, which ends it.
 */
#include <signal.h>
#include <stdint.h>
#include <sys/time.h>
#include <unistd.h>

static const uint8_t zeros[16] __attribute__((aligned(16)));

static void on_time(int number)
{
    (void)number;
    _exit(7);
}

__attribute__((noinline)) static void fill(void)
{
    volatile uint8_t hole[16000];
    for (unsigned i = 0; i < sizeof(hole); i++)
        hole[i] = 0xaa;
}

__attribute__((noinline)) static void bind(void)
{
    if (__builtin_cpu_supports("avx"))
        __asm__ volatile("vzeroall; movdqa %0, %%xmm0" : : "m"(zeros) : "xmm0");
    geteuid();
}

__attribute__((noinline)) static void wait_above(void)
{
    volatile uint8_t hole[3500];
    for (hole[0] = 1; hole[0];)
        __asm__ volatile("nop");
}

int main(void)
{
    struct itimerval time = {.it_value = {.tv_usec = 10000}};
    if (signal(SIGALRM, on_time) == SIG_ERR || setitimer(ITIMER_REAL, &time, NULL))
        return 1;
    fill();
    bind();
    wait_above();
}
