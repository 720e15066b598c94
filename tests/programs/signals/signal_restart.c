/* SPDX-License-Identifier: GPL-3.0-or-later */
/* System calls that a handler interrupts: read and wait go on by themselves with SA_RESTART and
 * fail with EINTR without; nanosleep and poll always fail, nanosleep telling what is left. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned alarms;
static int pipe_fds[2];

static void on_alarm(int signo)
{
    (void)signo;
    alarms = alarms + 1;
    if (alarms % 2 == 0 && write(pipe_fds[1], "x", 1) != 1)
        _exit(1);
}

static void handle(int flags)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = flags};

    sigaction(SIGALRM, &action, NULL);
}

static void set_timer(long every_usec)
{
    const struct itimerval timer = {{.tv_usec = every_usec}, {.tv_usec = every_usec}};

    setitimer(ITIMER_REAL, &timer, NULL);
}

static void try_read(const char *how)
{
    char byte;
    ssize_t got = read(pipe_fds[0], &byte, 1);

    printf("read %s: %s\n", how, got == 1 ? "a byte" : strerror(errno));
}

static void try_sleep(void)
{
    const struct timespec wanted = {.tv_sec = 5};
    struct timespec left = {0};
    int rc = nanosleep(&wanted, &left);

    printf("nanosleep: %s, %s left\n", rc == 0 ? "slept" : strerror(errno),
           left.tv_sec == 4 ? "most" : "little");
    rc = poll(NULL, 0, 5000);
    printf("poll: %s\n", rc == 0 ? "timed out" : strerror(errno));
}

static void try_wait(void)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        usleep(100000);
        _exit(3);
    }
    pid_t got = waitpid(child, &status, 0);
    printf("waitpid: %s\n", got == child ? "the child" : strerror(errno));
}

int main(void)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    if (pipe(pipe_fds) != 0)
        return 1;
    handle(SA_RESTART);
    set_timer(20000);
    try_read("with SA_RESTART");
    set_timer(0);
    alarms = 0;
    handle(0);
    set_timer(20000);
    try_read("without");
    set_timer(20000);
    try_sleep();
    handle(SA_RESTART);
    set_timer(20000);
    try_wait();
    return 0;
}
