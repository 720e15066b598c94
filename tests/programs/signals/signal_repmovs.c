/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks of 64 MiB copied and filled by single rep instructions that a 1 ms timer interrupts: a
 * handler that sees how far they had got. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

#define BLOCK_BYTES (UINT64_C(64) << 20)

static volatile unsigned alarms, inside;
static volatile uint64_t checksum;

static void on_prof(int signo, siginfo_t *info, void *context)
{
    const ucontext_t *at = context;
    uint64_t left = (uint64_t)at->uc_mcontext.gregs[REG_RCX];

    (void)signo;
    (void)info;
    alarms = alarms + 1;
    if (left > 1 && left < BLOCK_BYTES)
        inside = inside + 1;
    checksum = checksum * 31 + left;
}

static void copy(char *to, const char *from, uint64_t count)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
}

static void fill(char *to, uint64_t value, uint64_t count)
{
    count /= 8;
    __asm__ volatile("rep stosq" : "+D"(to), "+c"(count) : "a"(value) : "memory");
}

static char *block_new(void)
{
    void *block =
        mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (block == MAP_FAILED)
        exit(1);
    return block;
}

int main(void)
{
    const struct itimerval timer = {{.tv_usec = 1000}, {.tv_usec = 1000}};
    const struct itimerval off = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_sigaction = on_prof, .sa_flags = SA_SIGINFO | SA_RESTART};
    char *a = block_new(), *b = block_new();
    uint64_t sum = 0;

    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &timer, NULL);
    fill(a, 0x0102030405060708, BLOCK_BYTES);
    copy(b, a, BLOCK_BYTES);
    copy(a + 3, b, BLOCK_BYTES - 3);
    setitimer(ITIMER_PROF, &off, NULL);
    for (uint64_t i = 0; i < BLOCK_BYTES; i += 65536 + 1)
        sum = sum * 3 + (uint64_t)a[i] + (uint64_t)b[i];
    printf("sum %016lx\n", (unsigned long)sum);
    printf("alarms %u, inside %u, checksum %016lx\n", alarms, inside, (unsigned long)checksum);
    return 0;
}
