/* SPDX-License-Identifier: GPL-3.0-or-later */
/* POSIX timers that signal one thread each (SIGEV_THREAD_ID), which both compute. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../linger.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum {
    TIMERS = 2,
    EXPIRIES = 3,
};

static __thread volatile unsigned expiries;
static __thread unsigned number;
static volatile unsigned strangers;
static unsigned long turns[TIMERS];

static void on_timer(int signo, siginfo_t *info, void *context)
{
    (void)signo;
    (void)context;
    if (info->si_code != SI_TIMER || (unsigned)info->si_value.sival_int != number)
        strangers = strangers + 1;
    expiries = expiries + 1;
}

static void *work(void *arg)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 1};
    const struct itimerspec when = {{.tv_nsec = 7000000}, {.tv_nsec = 5000000}};
    timer_t timer;

    number = (unsigned)(uintptr_t)arg + 1;
    event.sigev_value.sival_int = (int)number;
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
        return "failed";
    timer_settime(timer, 0, &when, NULL);
    while (expiries < EXPIRIES) {
        turns[number - 1]++;
        linger();
    }
    timer_delete(timer);
    return NULL;
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = on_timer, .sa_flags = SA_SIGINFO};
    pthread_t threads[TIMERS];

    sigaction(SIGRTMIN + 1, &action, NULL);
    for (uintptr_t i = 0; i < TIMERS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < TIMERS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        printf("timer %d: %s\n", i, result ? (const char *)result : "expired");
    }
    printf("strangers %u\n", strangers);
    printf("turns %lu %lu\n", turns[0], turns[1]);
    return 0;
}
