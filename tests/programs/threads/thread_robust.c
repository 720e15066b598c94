/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A robust mutex whose owner dies with it held: the kernel marks it, and whoever locks it next gets
 * it with EOWNERDEAD. (Not one who waits already: rr, which does the marking itself when it
 * records, wakes nobody.) */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock;

static void *die_with_it(void *arg)
{
    pthread_mutex_lock(&lock);
    return arg;
}

static void let_owner_die(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, die_with_it, NULL);
    pthread_join(thread, NULL);
}

int main(void)
{
    pthread_mutexattr_t how;
    int rc;

    pthread_mutexattr_init(&how);
    pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&lock, &how);
    for (int i = 0; i < 2; i++) {
        let_owner_die();
        rc = pthread_mutex_lock(&lock);
        printf("lock: %s\n", rc == EOWNERDEAD ? "owner died" : strerror(rc));
        if (i == 0 && pthread_mutex_consistent(&lock) == 0)
            puts("made consistent");
        pthread_mutex_unlock(&lock);
    }
    rc = pthread_mutex_lock(&lock);
    printf("lock: %s\n", rc == ENOTRECOVERABLE ? "not recoverable" : strerror(rc));
    return 0;
}
