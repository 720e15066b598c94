/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A timer's signal in each of several programs of one recording: the first one; its child by fork,
 * which runs no other program; its child that does, and says nothing before; and what it becomes
 * itself in the end. Each says how far a loop had got that counts in memory.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t done;

static void on_tick(int signo)
{
    (void)signo;
    done = 1;
}

static void count(const char *who)
{
    const struct itimerval timer = {.it_value = {.tv_usec = 3000}};
    volatile unsigned long turns;

    done = 0;
    setitimer(ITIMER_REAL, &timer, NULL);
    for (turns = 0; !done; turns = turns + 1)
        ;
    if (!who)
        return;
    printf("%s: %lu turns\n", who, turns);
    fflush(stdout);
}

static pid_t child_start(const char *program, const char *name)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    count(name ? NULL : "child");
    if (name)
        execl(program, program, name, (char *)NULL);
    _exit(name ? 1 : 0);
}

int main(int argc, char **argv)
{
    signal(SIGALRM, on_tick);
    count(argc > 1 ? argv[1] : "first");
    if (argc > 1)
        return 0;
    waitpid(child_start(argv[0], NULL), NULL, 0);
    waitpid(child_start(argv[0], "program of a child"), NULL, 0);
    count("first again");
    execl(argv[0], argv[0], "second", (char *)NULL);
    return 1;
}
