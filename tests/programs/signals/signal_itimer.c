/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A repeating timer during computation; its handler writes how far that has got. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    ALARMS = 5,
};

static volatile sig_atomic_t alarms;
static volatile uint64_t state = 1;
static volatile unsigned turns;

static size_t put_number(char *to, uint64_t value)
{
    char digits[24];
    size_t count = 0;

    do
        digits[count++] = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    for (size_t i = 0; i < count; i++)
        to[i] = digits[count - 1 - i];
    return count;
}

static void on_alarm(int signo)
{
    char line[80];
    size_t length = put_number(line, (uint64_t)signo);

    line[length++] = ' ';
    length += put_number(line + length, turns);
    line[length++] = ' ';
    length += put_number(line + length, state);
    line[length++] = '\n';
    if (write(1, line, length) < 0)
        _exit(1);
    alarms = alarms + 1;
}

static void compute(void)
{
    uint64_t x = state;

    for (int i = 0; i < 100; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    state = x;
    turns = turns + 1;
}

int main(int argc, char **argv)
{
    int which = argc > 1 && strcmp(argv[1], "prof") == 0 ? ITIMER_PROF : ITIMER_REAL;
    const struct itimerval timer = {{.tv_usec = 4000}, {.tv_usec = 4000}};

    signal(SIGALRM, on_alarm);
    signal(SIGPROF, on_alarm);
    setitimer(which, &timer, NULL);
    while (alarms < ALARMS)
        compute();
    return 0;
}
