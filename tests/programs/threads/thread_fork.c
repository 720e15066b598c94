/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fork while another thread holds state: the child has one thread and the memory of that moment;
 * the parent's threads go on. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static sem_t ready, go;
static unsigned table[100];

static unsigned total(void)
{
    unsigned sum = 0;

    for (int i = 0; i < 100; i++)
        sum += table[i];
    return sum;
}

static void *work(void *arg)
{
    for (unsigned i = 0; i < 50; i++)
        table[i] = i;
    sem_post(&ready);
    sem_wait(&go);
    for (unsigned i = 50; i < 100; i++)
        table[i] = i;
    return arg;
}

int main(void)
{
    pthread_t thread;
    pid_t child;
    int status;

    sem_init(&ready, 0, 0);
    sem_init(&go, 0, 0);
    pthread_create(&thread, NULL, work, NULL);
    sem_wait(&ready);
    child = fork();
    if (child == 0) {
        for (unsigned i = 50; i < 100; i++)
            table[i] = 1;
        printf("child: %u\n", total());
        fflush(stdout);
        _exit(9);
    }
    waitpid(child, &status, 0);
    sem_post(&go);
    pthread_join(thread, NULL);
    printf("parent: %u, child ended with %d\n", total(), WEXITSTATUS(status));
    return 0;
}
