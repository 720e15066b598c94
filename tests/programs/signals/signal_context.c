/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A handler that changes where the interrupted code goes on, and with which registers. */
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <ucontext.h>

enum {
    ROUNDS = 4,
};

static volatile unsigned long turns;
extern const char context_before[], context_after[];

static void start_timer(void)
{
    const struct itimerval timer = {.it_value = {.tv_usec = 2000}};

    setitimer(ITIMER_REAL, &timer, NULL);
}

static void on_alarm(int signo, siginfo_t *info, void *context)
{
    ucontext_t *at = context;

    (void)signo;
    (void)info;
    if ((unsigned long)at->uc_mcontext.gregs[REG_RIP] - (unsigned long)context_before >=
        (unsigned long)(context_after - context_before)) {
        start_timer(); /* too early */
        return;
    }
    at->uc_mcontext.gregs[REG_RIP] = (greg_t)(long)context_after;
    at->uc_mcontext.gregs[REG_RAX] += 1000;
}

/* The labels of this function must not come twice. clang does not clone functions, nor know the attribute. */
#ifdef __clang__
#define NOT_CLONED
#else
#define NOT_CLONED __attribute__((noclone))
#endif

/* Spins for ever: only the handler gets it out, to context_after with another rax. */
NOT_CLONED __attribute__((noinline)) static unsigned long spin(unsigned long rax)
{
    __asm__ volatile(".globl context_before\n"
                     "context_before:\n"
                     "1:\n\t"
                     "addq $1, %1\n\t"
                     "jmp 1b\n"
                     ".globl context_after\n"
                     "context_after:\n\t"
                     : "+a"(rax), "+m"(turns)
                     :
                     : "cc");
    return rax;
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO};

    sigaction(SIGALRM, &action, NULL);
    for (unsigned long i = 0; i < ROUNDS; i++) {
        start_timer();
        printf("rax %lu\n", spin(i));
    }
    printf("turns %lu\n", turns);
    return 0;
}
