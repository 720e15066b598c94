/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls that rr buffers, made by threads that take turns, and a child made by vfork. What they
 * read is put out, in the threads' order. argv[1]: a file of 3,000 bytes at least. */
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 3, ROUNDS = 40, PIECE = 25, SPINS = 2000000 };

extern char **environ;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static int turn;
static const char *path;

struct worker {
    pthread_t thread;
    int number, sum, spun;
};

static int read_piece(int fd, int round)
{
    unsigned char bytes[PIECE];
    int sum = 0;
    if (pread(fd, bytes, sizeof(bytes), (off_t)round * PIECE) != PIECE)
        exit(90);
    for (int i = 0; i < PIECE; i++)
        sum = (sum * 31 + bytes[i]) % 65521;
    return sum;
}

static void *work(void *arg)
{
    struct worker *worker = arg;
    int fd = open(path, O_RDONLY);
    for (int round = 0; round < ROUNDS; round++) {
        struct timespec now;
        worker->sum = (worker->sum + read_piece(fd, round * THREADS + worker->number)) % 65521;
        clock_gettime(CLOCK_MONOTONIC, &now);
        for (int i = 0; i < (round || worker->number ? 100 : SPINS); i++)
            worker->spun += i & round;
        pthread_mutex_lock(&lock);
        while (turn % THREADS != worker->number)
            pthread_cond_wait(&turned, &lock);
        turn++;
        pthread_cond_broadcast(&turned);
        pthread_mutex_unlock(&lock);
    }
    close(fd);
    return NULL;
}

static int run_child(void)
{
    char *const argv[] = {"true", NULL};
    pid_t child;
    int status = 0;
    if (posix_spawnp(&child, "true", NULL, NULL, argv, environ) ||
        waitpid(child, &status, 0) != child)
        exit(91);
    return WEXITSTATUS(status);
}

static int run_vfork(void)
{
    int status = 0;
    pid_t child = vfork();
    if (!child)
        _exit(23);
    return waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : -1;
}

int main(int argc, char **argv)
{
    struct worker workers[THREADS] = {0};
    char text[32];
    if (argc < 2)
        return 92;
    path = argv[1];
    for (int i = 0; i < THREADS; i++) {
        workers[i].number = i;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
            return 93;
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        int size = snprintf(text, sizeof(text), "%d %05d\n", i, workers[i].sum);
        if (write(1, text, (size_t)size) != size)
            return 94;
    }
    return run_child() + run_vfork();
}
