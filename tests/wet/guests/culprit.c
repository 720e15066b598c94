/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One thread computes a wrong index, another one falls over it. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long place;
static int is_ready;
static int values[16];

static long compute(long from)
{
    long sum = from;
    for (long i = 0; i < 100; i++)
        sum = (sum * 5 + i) % 16;
    return sum * 1000000000; /* WRONG */
}

static void *producer(void *arg)
{
    pthread_setname_np(pthread_self(), "wrong");
    long own = compute((long)arg);
    pthread_mutex_lock(&lock);
    place = own;
    is_ready = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *consumer(void *arg)
{
    pthread_setname_np(pthread_self(), "victim");
    pthread_mutex_lock(&lock);
    while (!is_ready)
        pthread_cond_wait(&changed, &lock);
    values[place] = (int)(long)arg; /* CRASH */
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, consumer, (void *)3);
    pthread_create(&threads[1], NULL, producer, (void *)7);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", values[0]);
    return 0;
}
