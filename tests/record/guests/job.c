/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program for a shell to have trouble with. It says `ready` once it can take signals, and `end`
 * if nothing ended it for ten seconds.
 *
 *     job WORD...
 *
 * stop, tstp: raises that signal, says `on` afterwards, ends with status 3. read: reads a line
 * from the terminal. write: has the terminal stop background output, and writes. spin: computes
 * instead of sleeping. threads: three more sleep beside it. ignore: SIGINT is ignored. handle: says
 * `got N` for each signal that can be caught.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static void say(int signo)
{
    char text[16] = "got 00\n";

    text[4] = (char)('0' + signo / 10);
    text[5] = (char)('0' + signo % 10);
    (void)!write(1, text, 7);
}

static void *sleep_on(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static void start_threads(void)
{
    pthread_t thread;

    for (int i = 0; i < 3; i++)
        pthread_create(&thread, NULL, sleep_on, NULL);
}

static void stop_background_output(void)
{
    struct termios terminal;

    tcgetattr(0, &terminal);
    terminal.c_lflag |= TOSTOP;
    signal(SIGTTOU, SIG_IGN);
    tcsetattr(0, TCSANOW, &terminal);
    signal(SIGTTOU, SIG_DFL);
}

static void handle_all(void)
{
    static const int signals[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                                  SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH};

    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        signal(signals[i], say);
}

static int raise_stop(int signo)
{
    raise(signo);
    printf("on\n");
    return 3;
}

static int read_line(void)
{
    char line[64];
    ssize_t got = read(0, line, sizeof(line));

    printf("read %d\n", (int)got);
    return 4;
}

static void pass_time(bool is_spinning)
{
    time_t end = time(NULL) + 10;
    volatile unsigned long turns = 0;

    while (time(NULL) < end) {
        for (int i = 0; is_spinning && i < 1000000; i++)
            turns++;
        if (!is_spinning)
            usleep(20000);
    }
}

int main(int argc, char **argv)
{
    bool is_spinning = false;

    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i < argc; i++) {
        is_spinning |= strcmp(argv[i], "spin") == 0;
        if (strcmp(argv[i], "threads") == 0)
            start_threads();
        if (strcmp(argv[i], "ignore") == 0)
            signal(SIGINT, SIG_IGN);
        if (strcmp(argv[i], "handle") == 0)
            handle_all();
        if (strcmp(argv[i], "write") == 0)
            stop_background_output();
        if (strcmp(argv[i], "stop") == 0 || strcmp(argv[i], "tstp") == 0)
            return raise_stop(strcmp(argv[i], "stop") == 0 ? SIGSTOP : SIGTSTP);
        if (strcmp(argv[i], "read") == 0)
            return read_line();
    }
    printf("ready\n");
    pass_time(is_spinning);
    printf("end\n");
    return 5;
}
