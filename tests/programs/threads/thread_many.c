/* SPDX-License-Identifier: GPL-3.0-or-later */
/* More threads in the course of a run than anything that counts them may expect; 20 at a time. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum {
    AT_A_TIME = 20,
    BATCHES = 35,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned sum;

static void *work(void *arg)
{
    pthread_mutex_lock(&lock);
    sum += (unsigned)(uintptr_t)arg;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    pthread_t threads[AT_A_TIME];

    for (uintptr_t batch = 0; batch < BATCHES; batch++) {
        for (uintptr_t i = 0; i < AT_A_TIME; i++)
            if (pthread_create(&threads[i], NULL, work, (void *)(batch * AT_A_TIME + i)) != 0)
                return 1;
        for (int i = 0; i < AT_A_TIME; i++)
            pthread_join(threads[i], NULL);
    }
    printf("%u threads, sum %u\n", AT_A_TIME * BATCHES, sum);
    return 0;
}
