/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Barriers, read-write locks, semaphores, once, spin locks and timed waits. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum {
    THREADS = 3,
    ROUNDS = 10,
};

static pthread_barrier_t barrier;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spinlock;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t two_at_a_time;
static unsigned serial, written, read_sum, initialised, inside;

static void initialise(void)
{
    initialised++;
}

static void one_round(unsigned self, unsigned round)
{
    pthread_once(&once, initialise);
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
        serial++;
    if (round % THREADS == self) {
        pthread_rwlock_wrlock(&rwlock);
        written += round;
        pthread_rwlock_unlock(&rwlock);
    }
    pthread_barrier_wait(&barrier);
    pthread_rwlock_rdlock(&rwlock);
    unsigned seen = written;
    pthread_rwlock_unlock(&rwlock);
    sem_wait(&two_at_a_time);
    pthread_spin_lock(&spinlock);
    inside++;
    read_sum += seen;
    pthread_spin_unlock(&spinlock);
    sem_post(&two_at_a_time);
}

static void *work(void *arg)
{
    for (unsigned round = 0; round < ROUNDS; round++)
        one_round((unsigned)(uintptr_t)arg, round);
    return NULL;
}

static const char *timed_wait(void)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    struct timespec until;
    int rc;

    clock_gettime(CLOCK_REALTIME, &until);
    pthread_mutex_lock(&lock);
    do
        rc = pthread_cond_timedwait(&never, &lock, &until);
    while (rc == 0);
    return rc == ETIMEDOUT ? "timed out" : "failed";
}

int main(void)
{
    pthread_t threads[THREADS];

    pthread_barrier_init(&barrier, NULL, THREADS);
    pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE);
    sem_init(&two_at_a_time, 0, 2);
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("once %u serial %u written %u read %u inside %u\n", initialised, serial, written,
           read_sum, inside);
    puts(timed_wait());
    return 0;
}
