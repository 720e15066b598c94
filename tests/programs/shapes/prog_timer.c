/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A timer interrupts running code, not system calls: loops whose registers repeat while memory
 * moves on, and one whose registers move. What is printed does not depend on when. */
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

enum {
    ALARMS = 3,
};

static volatile int alarms;
static volatile unsigned turns;
static unsigned table[64];

static void on_alarm(int signo)
{
    (void)signo;
    alarms = alarms + 1;
}

/* Spends some hundred cycles that leave no trace in registers or memory: few turns until the alarm,
 * so that whoever looks for its place turn by turn is done soon. */
static inline void linger(void)
{
    __asm__ volatile("fldpi\n\tfsin\n\tfstp %%st(0)\n\t"
                     "fldpi\n\tfsin\n\tfstp %%st(0)\n\t"
                     "fldpi\n\tfsin\n\tfstp %%st(0)\n\t"
                     "fldpi\n\tfsin\n\tfstp %%st(0)\n\t"
                     :
                     :
                     : "st", "cc");
}

/* every turn has the same registers; only the counter in memory differs */
__attribute__((noinline)) static void count_in_memory(int until)
{
    while (alarms < until) {
        turns = turns + 1;
        linger();
    }
}

/* every turn is different */
__attribute__((noinline)) static unsigned count_in_registers(int until)
{
    unsigned sum = 1;

    unsigned i = 0;

    do {
        sum = sum * 69069 + ++i;
        table[i & 63] ^= sum;
        linger();
    } while (alarms < until);
    return sum;
}

/* once: a repeating timer may be faster than what records us */
static void start_timer(void)
{
    const struct itimerval timer = {.it_value = {.tv_usec = 400}};

    setitimer(ITIMER_REAL, &timer, NULL);
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_alarm};
    unsigned sum = 0;

    if (sigaction(SIGALRM, &action, NULL) != 0)
        return 1;
    for (int i = 1; i <= ALARMS; i++) {
        start_timer();
        count_in_memory(i);
    }
    for (int i = ALARMS + 1; i <= 2 * ALARMS; i++) {
        start_timer();
        sum += count_in_registers(i) | 1;
    }
    printf("%d alarms, %s\n", alarms, sum != 0 ? "summed" : "idle");
    return 0;
}
