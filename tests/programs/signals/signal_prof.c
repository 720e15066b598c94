/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A profiler: SIGPROF each millisecond of computing, the interrupted instruction's function
 * counted from the handler's context. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/time.h>
#include <ucontext.h>

enum {
    SAMPLES = 15,
};

static volatile unsigned samples;
static volatile uint64_t checksum;

static void on_prof(int signo, siginfo_t *info, void *context)
{
    const ucontext_t *at = context;

    (void)signo;
    (void)info;
    samples = samples + 1;
    checksum = checksum * 31 + ((uint64_t)at->uc_mcontext.gregs[REG_RIP] & 0xfff) +
               (uint64_t)at->uc_mcontext.gregs[REG_RCX];
}

__attribute__((noinline)) static unsigned sieve(unsigned char *flags, unsigned size)
{
    unsigned primes = 0;

    for (unsigned i = 2; i < size; i++)
        flags[i] = 1;
    for (unsigned i = 2; i < size; i++) {
        if (!flags[i])
            continue;
        primes++;
        for (unsigned j = 2 * i; j < size; j += i)
            flags[j] = 0;
    }
    return primes;
}

__attribute__((noinline)) static unsigned fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

int main(void)
{
    static unsigned char flags[20000];
    const struct itimerval timer = {{.tv_usec = 1000}, {.tv_usec = 1000}};
    const struct itimerval off = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_sigaction = on_prof, .sa_flags = SA_SIGINFO | SA_RESTART};
    unsigned rounds = 0, sum = 0;

    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &timer, NULL);
    while (samples < SAMPLES) {
        sum += sieve(flags, sizeof(flags)) + fibonacci(12);
        rounds++;
    }
    setitimer(ITIMER_PROF, &off, NULL);
    printf("rounds %u sum %u samples %u checksum %016lx\n", rounds, sum, samples,
           (unsigned long)checksum);
    return 0;
}
