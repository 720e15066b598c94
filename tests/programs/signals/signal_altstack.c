/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Handlers on a stack of their own: a timer during deep recursion, and the overflow at its end. */
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/time.h>

static _Alignas(64) char alternate[65536];
static sigjmp_buf back;
static volatile unsigned alarms, depth, depth_at_alarm[4];
static volatile unsigned on_alternate;

static void note_stack(void)
{
    char here;
    uintptr_t at = (uintptr_t)&here;

    if (at >= (uintptr_t)alternate && at < (uintptr_t)alternate + sizeof(alternate))
        on_alternate = on_alternate + 1;
}

static void on_alarm(int signo)
{
    (void)signo;
    note_stack();
    if (alarms < 4)
        depth_at_alarm[alarms] = depth;
    alarms = alarms + 1;
}

static void on_overflow(int signo)
{
    (void)signo;
    note_stack();
    siglongjmp(back, 1);
}

__attribute__((noinline)) static unsigned descend(unsigned level)
{
    volatile char room[256];

    depth = level;
    room[level % 256] = (char)level;
    if (level == UINT_MAX)
        return 0;
    return descend(level + 1) + (unsigned char)room[(level + 1) % 256];
}

int main(void)
{
    const stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
    const struct rlimit limit = {512 * 1024, 512 * 1024};
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_ONSTACK};
    const struct itimerval timer = {{.tv_usec = 3000}, {.tv_usec = 3000}};
    volatile unsigned overflows = 0;

    setrlimit(RLIMIT_STACK, &limit);
    sigaltstack(&stack, NULL);
    sigaction(SIGALRM, &action, NULL);
    action.sa_handler = on_overflow;
    sigaction(SIGSEGV, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    while (alarms < 4) {
        if (sigsetjmp(back, 1) == 0)
            descend(1);
        overflows = overflows + 1;
    }
    printf("%s, all on the alternate stack: %d\n", overflows > 0 ? "overflowed" : "never",
           on_alternate == alarms + overflows);
    printf("depths %u %u %u %u, overflows %u\n", depth_at_alarm[0], depth_at_alarm[1],
           depth_at_alarm[2], depth_at_alarm[3], overflows);
    return 0;
}
