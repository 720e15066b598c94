/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <pthread.h>
#include <stdlib.h>

static void *work(void *arg)
{
    return arg;
}

int main(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL))
        return EXIT_FAILURE;
    return pthread_join(thread, NULL) ? EXIT_FAILURE : EXIT_SUCCESS;
}
