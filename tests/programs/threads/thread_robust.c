/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A robust mutex whose owner dies with it held: the kernel marks it, and whoever waits gets it
 * with EOWNERDEAD. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock;
static sem_t held;

static void *die_with_it(void *arg)
{
    pthread_mutex_lock(&lock);
    sem_post(&held);
    usleep(20000); /* the other one waits by then */
    return arg;
}

int main(void)
{
    pthread_mutexattr_t how;
    pthread_t thread;
    int rc;

    sem_init(&held, 0, 0);
    pthread_mutexattr_init(&how);
    pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&lock, &how);
    for (int i = 0; i < 2; i++) {
        pthread_create(&thread, NULL, die_with_it, NULL);
        sem_wait(&held);
        rc = pthread_mutex_lock(&lock);
        printf("lock: %s\n", rc == EOWNERDEAD ? "owner died" : strerror(rc));
        if (i == 0 && pthread_mutex_consistent(&lock) == 0)
            puts("made consistent");
        pthread_mutex_unlock(&lock);
        pthread_join(thread, NULL);
    }
    rc = pthread_mutex_lock(&lock);
    printf("lock: %s\n", rc == ENOTRECOVERABLE ? "not recoverable" : strerror(rc));
    return 0;
}
