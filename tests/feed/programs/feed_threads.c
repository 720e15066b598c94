/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A second thread, which the feed refuses so far. */
#include <pthread.h>

static void *add(void *arg)
{
    ++*(int *)arg;
    return NULL;
}

int main(void)
{
    pthread_t thread;
    int value = 0;
    if (pthread_create(&thread, NULL, add, &value) || pthread_join(thread, NULL))
        return 99;
    return value - 1;
}
