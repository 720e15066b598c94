/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A handler that uses and spoils vector, x87 and control registers while the interrupted code has
 * its state there: it must find it again, and the handler must find its own. */
#include <fenv.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

static volatile unsigned alarms;
static volatile double handled;

static void on_alarm(int signo)
{
    double x = signo;

    fesetround(FE_DOWNWARD);
    for (int i = 0; i < 20; i++)
        x = sqrt(x + handled) * 1.25;
    __asm__ volatile("pcmpeqb %%xmm7, %%xmm7\n\tpcmpeqb %%xmm15, %%xmm15\n\tfninit\n\tfld1"
                     :
                     :
                     : "xmm7", "xmm15", "st");
    handled = x;
    alarms = alarms + 1;
}

__attribute__((noinline)) static double compute(unsigned turns)
{
    double a = 1.5, b = 2.25, c = 0.125;
    long double d = 1.0L;

    for (unsigned i = 0; i < turns; i++) {
        __asm__ volatile("" : "+x"(a));
        a = a * 1.0000001 + b * 1e-9;
        b = b / 1.0000002 + c * 1e-8;
        c = c + a * b * 1e-10;
        d = d * 1.00000001L + (long double)c * 1e-12L;
    }
    return a + b + c + (double)d;
}

int main(void)
{
    const struct itimerval timer = {{.tv_usec = 2000}, {.tv_usec = 2000}};
    const struct itimerval off = {{0, 0}, {0, 0}};
    double undisturbed = compute(30000);
    unsigned rounds = 0, wrong = 0;

    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &timer, NULL);
    while (alarms < 6) {
        double again = compute(30000);
        rounds++;
        wrong += memcmp(&again, &undisturbed, sizeof(again)) != 0;
    }
    setitimer(ITIMER_REAL, &off, NULL);
    printf("%a, wrong %u\n", undisturbed, wrong);
    printf("rounds %u, handled %a\n", rounds, handled);
    return 0;
}
