/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two threads add to one sum, without a lock and without a system call in between. Prints the sum;
 * exits with 1 if something was lost. */
#include <pthread.h>
#include <stdio.h>

static volatile long sum;

static void *add(void *arg)
{
    for (int i = 0; i < 200; i++) {
        long before = sum;

        for (volatile int k = 0; k < 5000; k++)
            continue;
        sum = before + 1;
    }
    return arg;
}

int main(void)
{
    pthread_t one, other;

    pthread_create(&one, NULL, add, NULL);
    pthread_create(&other, NULL, add, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    printf("%ld\n", sum);
    return sum != 400;
}
