/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compiled without optimisation: the loop's counter lives in memory, so all its turns show the
 * same registers. */
#include <pthread.h>
#include <stdio.h>

#define WORK 300000000

static volatile int done;
static volatile long worked;

static void *work(void *unused)
{
    for (long i = 0; i < WORK; i++)
        worked = i;
    done = 1;
    return unused;
}

int main(void)
{
    pthread_t worker;
    long i;

    pthread_create(&worker, NULL, work, NULL);
    for (i = 0; !done; i++)
        continue;
    pthread_join(worker, NULL);
    printf("%s\n", i >= 0 ? "waited" : "");
    return 0;
}
