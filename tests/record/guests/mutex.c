/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Four threads share a mutex under a 3 ms timer; prints a sum that no schedule changes. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

#define THREADS 4
#define ROUNDS  20000
#define MIXES   300

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long sum;
static volatile sig_atomic_t alarms;

static void count_alarm(int signal)
{
    (void)signal;
    alarms++;
}

static void *work(void *seed)
{
    unsigned x = *(unsigned *)seed;

    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < MIXES; k++)
            x = x * 1103515245 + 12345;
        pthread_mutex_lock(&lock);
        sum += x >> 16 & 255;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void)
{
    struct sigaction action = {.sa_handler = count_alarm, .sa_flags = SA_RESTART};
    struct itimerval every = {{0, 3000}, {0, 3000}}, never = {{0, 0}, {0, 0}};
    unsigned seeds[THREADS] = {1, 2, 3, 4};
    pthread_t threads[THREADS];

    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, &seeds[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%lu %s\n", sum, alarms > 0 ? "alarms" : "no alarm");
    return 0;
}
