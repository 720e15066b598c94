/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signals of a timer, by argument:
 *   loop      they strike in a loop whose counter lives in memory
 *   altstack  the same, handled on a stack of their own
 *   nested    the handler raises another signal
 *   restart   they strike in a read that is restarted
 *   eintr     the same, but it is not restarted
 *   fatal     the first one ends the program in its loop */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int hits;
static volatile long work;
static char other_stack[65536];

static void note_hit(int number)
{
    hits++;
    if (number == SIGVTALRM)
        raise(SIGUSR1);
}

static void handle(const char *what)
{
    struct sigaction action = {.sa_handler = note_hit};
    stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof(other_stack)};
    if (!strcmp(what, "altstack")) {
        sigaltstack(&stack, NULL);
        action.sa_flags |= SA_ONSTACK;
    }
    if (!strcmp(what, "restart"))
        action.sa_flags |= SA_RESTART;
    if (!strcmp(what, "fatal"))
        action.sa_handler = SIG_DFL;
    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGVTALRM, &action, NULL);
}

static void start_timer(int which)
{
    struct itimerval timer = {{0, 20000}, {0, 20000}};
    setitimer(which, &timer, NULL);
}

/* A child writes a byte after some time. */
static int read_slowly(void)
{
    int ends[2];
    char byte;
    ssize_t got;
    if (pipe(ends))
        return 99;
    if (!fork()) {
        usleep(70000);
        _exit(write(ends[1], "x", 1) != 1);
    }
    start_timer(ITIMER_REAL);
    while ((got = read(ends[0], &byte, 1)) < 0 && errno == EINTR)
        work++;
    return got != 1 || !hits;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "loop";
    handle(what);
    if (!strcmp(what, "restart") || !strcmp(what, "eintr"))
        return read_slowly();
    start_timer(strcmp(what, "nested") ? ITIMER_REAL : ITIMER_VIRTUAL);
    while (hits < 5) {
        work++;
        work ^= work << 1;
    }
    return 0;
}
