/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Four threads share a mutex under a timer whose handler runs; then the program crashes with an
 * 8 MiB mapping half written, AVX registers in use and a grown stack. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long total;
static volatile sig_atomic_t ticks;

static void on_alarm(int signal)
{
    (void)signal;
    ticks++;
}

static void *work(void *unused)
{
    for (int i = 0; i < 2000; i++) {
        pthread_mutex_lock(&lock);
        total++;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static int deep(int depth)
{
    volatile char frame[4096];
    memset((char *)frame, depth, sizeof(frame));
    return depth == 0 ? frame[7] : deep(depth - 1) + frame[5];
}

int main(void)
{
    struct itimerval interval = {{0, 2000}, {0, 2000}};
    pthread_t threads[4];
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &interval, NULL);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    char *area = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(area, 1, 4 << 20);
    while (ticks < 2)
        total++;
    printf("%ld %d\n", total > 0 ? 8000L : 0, deep(200) != 1);
    fflush(stdout);
    abort();
}
