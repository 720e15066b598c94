/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signals that are taken by calls, not by handlers: sigwaitinfo, sigtimedwait, signalfd,
 * sigsuspend, and what is pending while blocked. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <unistd.h>

static volatile unsigned handled;

static void on_signal(int signo)
{
    (void)signo;
    handled = handled + 1;
}

static void *send(void *arg)
{
    const union sigval value = {.sival_int = 42};

    usleep(10000);
    sigqueue(getpid(), SIGRTMIN + 2, value);
    return arg;
}

static void wait_info(const sigset_t *set)
{
    siginfo_t info;
    pthread_t thread;

    pthread_create(&thread, NULL, send, NULL);
    if (sigwaitinfo(set, &info) == SIGRTMIN + 2)
        printf("sigwaitinfo: code %d value %d\n", info.si_code, info.si_value.sival_int);
    pthread_join(thread, NULL);
}

static void wait_timed(const sigset_t *set)
{
    const struct timespec little = {.tv_nsec = 1000000};

    if (sigtimedwait(set, NULL, &little) < 0)
        printf("sigtimedwait: %s\n", errno == EAGAIN ? "nothing" : strerror(errno));
}

static void read_fd(const sigset_t *set)
{
    struct signalfd_siginfo info;
    int fd = signalfd(-1, set, SFD_CLOEXEC);

    raise(SIGUSR1);
    if (fd >= 0 && read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        printf("signalfd: %s\n", info.ssi_signo == SIGUSR1 ? "usr1" : "another");
    close(fd);
}

static void suspend(void)
{
    const struct itimerval timer = {.it_value = {.tv_usec = 5000}};
    sigset_t block, old, pending;

    signal(SIGALRM, on_signal);
    sigemptyset(&block);
    sigaddset(&block, SIGALRM);
    sigprocmask(SIG_BLOCK, &block, &old);
    setitimer(ITIMER_REAL, &timer, NULL);
    do
        sigpending(&pending);
    while (!sigismember(&pending, SIGALRM));
    printf("pending, handled %u\n", handled);
    sigsuspend(&old);
    printf("suspended, handled %u\n", handled);
    raise(SIGALRM);
    printf("blocked again, handled %u\n", handled);
    sigprocmask(SIG_SETMASK, &old, NULL);
    printf("unblocked, handled %u\n", handled);
}

int main(void)
{
    sigset_t set;

    setvbuf(stdout, NULL, _IONBF, 0);
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 2);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    wait_info(&set);
    wait_timed(&set);
    read_fd(&set);
    suspend();
    return 0;
}
