/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One process of each kind, for the process overview: `tasks` starts
 * a child that only forks and exits with 3; a child that dies of SIGSEGV; a child that its
 * parent kills; a vfork child that runs `true`; and a child with two threads of which the
 * second runs `tasks leaf`, taking over the process. Meanwhile a timer's handler runs.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *own_path;
static volatile sig_atomic_t ticks;
static int *volatile nowhere;

static void on_alarm(int signal)
{
    (void)signal;
    ticks++;
}

static void *run_leaf(void *unused)
{
    execl(own_path, own_path, "leaf", (char *)NULL);
    return unused;
}

static void *idle(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static void take_over(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, idle, NULL);
    pthread_create(&threads[1], NULL, run_leaf, NULL);
    pthread_join(threads[0], NULL);
}

static void reap(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        continue;
}

static void start_timer(void)
{
    struct itimerval interval = {{0, 3000}, {0, 3000}};
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &interval, NULL);
}

int main(int argc, char **argv)
{
    pid_t child;
    own_path = argv[0];
    if (argc > 1 && strcmp(argv[1], "leaf") == 0)
        return 5;
    if ((child = fork()) == 0)
        _exit(3);
    reap(child);
    if ((child = fork()) == 0)
        *nowhere = 1;
    reap(child);
    if ((child = fork()) == 0)
        idle(NULL);
    kill(child, SIGKILL);
    reap(child);
    if ((child = vfork()) == 0) {
        execl("/bin/true", "true", "of", "vfork", (char *)NULL);
        _exit(127);
    }
    reap(child);
    if ((child = fork()) == 0)
        take_over();
    reap(child);
    start_timer();
    while (ticks < 3)
        pause();
    return 0;
}
