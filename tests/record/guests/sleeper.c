/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One thread spins until another, which sleeps in the kernel, comes back. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_int awake;

static void *sleep_a_while(void *unused)
{
    usleep(200000);
    awake = 1;
    return unused;
}

int main(void)
{
    pthread_t sleeper;

    pthread_create(&sleeper, NULL, sleep_a_while, NULL);
    while (!awake)
        continue;
    pthread_join(sleeper, NULL);
    puts("awake");
    return 0;
}
