/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Handlers inside handlers: SIGUSR1 raised in one of SIGALRM, a second timer that strikes while
 * the first one's handler lingers, and one that may interrupt itself. */
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

#include "../linger.h"

static volatile unsigned alarms, users, virtuals, depth, deepest;
static volatile unsigned nested_in_alarm;

static void enter(void)
{
    depth = depth + 1;
    if (depth > deepest)
        deepest = depth;
}

static void on_user(int signo)
{
    (void)signo;
    enter();
    users = users + 1;
    if (users % 2 == 1)
        raise(SIGUSR1); /* SA_NODEFER: here and now */
    depth = depth - 1;
}

static void on_virtual(int signo)
{
    (void)signo;
    enter();
    virtuals = virtuals + 1;
    depth = depth - 1;
}

static void on_alarm(int signo)
{
    const struct itimerval timer = {.it_value = {.tv_usec = 1000}};
    unsigned before = virtuals;

    (void)signo;
    enter();
    raise(SIGUSR1);
    setitimer(ITIMER_VIRTUAL, &timer, NULL);
    while (virtuals == before)
        linger();
    nested_in_alarm = nested_in_alarm + 1;
    alarms = alarms + 1;
    depth = depth - 1;
}

int main(void)
{
    const struct itimerval timer = {.it_value = {.tv_usec = 2000}};
    struct sigaction action = {.sa_handler = on_user, .sa_flags = SA_NODEFER};
    unsigned long turns = 0;

    sigaction(SIGUSR1, &action, NULL);
    signal(SIGALRM, on_alarm);
    signal(SIGVTALRM, on_virtual);
    for (unsigned i = 0; i < 3; i++) {
        setitimer(ITIMER_REAL, &timer, NULL);
        while (alarms == i) {
            turns++;
            linger();
        }
    }
    printf("alarms %u users %u virtual %u nested %u deepest %u\n", alarms, users, virtuals,
           nested_in_alarm, deepest);
    printf("turns %lu\n", turns);
    return 0;
}
