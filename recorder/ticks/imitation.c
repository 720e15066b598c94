/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A timer that is armed for each stretch of a task's run would cost a wake-up per stretch if the
 * thread were told of each. Instead it sleeps until the deadline it knows; arming only moves the
 * deadline, and wakes the thread only if that became earlier.
 */
#include "recorder/ticks/imitation.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "recorder/ticks/real.h"

#define NS_PER_S   1000000000ULL
#define PIPE_BYTES 4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved;
static bool is_running;
static uint64_t armed_ns, deadline_ns = UINT64_MAX, sleeping_until_ns;
static int armed_write_fd = -1;

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t when_ns)
{
    struct timespec when = {.tv_sec = (time_t)(when_ns / NS_PER_S),
                            .tv_nsec = (long)(when_ns % NS_PER_S)};

    sleeping_until_ns = when_ns;
    if (when_ns == UINT64_MAX)
        pthread_cond_wait(&moved, &lock);
    else
        pthread_cond_timedwait(&moved, &lock, &when);
    sleeping_until_ns = 0;
}

static void *run_timer(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        if (deadline_ns > now_ns()) {
            sleep_until(deadline_ns);
            continue;
        }
        deadline_ns = UINT64_MAX;
        if (armed_write_fd >= 0 && write(armed_write_fd, "", 1) < 0)
            armed_write_fd = -1; /* a full pipe has already signalled */
    }
    return NULL;
}

/* rr's own signals must keep going to rr's own threads. */
static int start_timer(void)
{
    pthread_condattr_t monotonic;
    sigset_t all, before;
    pthread_t thread;
    int err;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&moved, &monotonic);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    err = pthread_create(&thread, NULL, run_timer, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err)
        return -err;
    pthread_detach(thread);
    is_running = true;
    return 0;
}

int tck_imitation_open(int *write_fd)
{
    int ends[2], err;

    if (!is_running) {
        err = start_timer();
        if (err)
            return err;
    }
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return -errno;
    fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES);
    *write_fd = ends[1];
    return ends[0];
}

/* rr's fcntl(F_SETFL, O_ASYNC) made reads block again, so ask first. */
static void drain(int read_fd)
{
    char stale[64];
    int waiting;

    while (tck_real()->ioctl(read_fd, FIONREAD, &waiting) == 0 && waiting > 0) {
        if (tck_real()->read(read_fd, stale, sizeof(stale)) <= 0)
            return;
    }
}

void tck_imitation_arm(int read_fd, int write_fd, uint64_t after_ns)
{
    drain(read_fd);
    pthread_mutex_lock(&lock);
    armed_ns = now_ns();
    armed_write_fd = write_fd;
    deadline_ns = after_ns == UINT64_MAX ? UINT64_MAX : armed_ns + after_ns;
    if (deadline_ns < sleeping_until_ns)
        pthread_cond_signal(&moved);
    pthread_mutex_unlock(&lock);
}

uint64_t tck_imitation_elapsed_ns(void)
{
    return now_ns() - armed_ns;
}

void tck_imitation_disarm(void)
{
    pthread_mutex_lock(&lock);
    armed_write_fd = -1;
    deadline_ns = UINT64_MAX;
    pthread_mutex_unlock(&lock);
}
