/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Processes of every kind, one way of making them per first argument. Each process that runs code of
 * this program writes one line of its own, with something it has computed, straight to descriptor 1.
 */
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static const char *self;

static unsigned compute(unsigned seed)
{
    unsigned sum = seed;
    for (unsigned i = 1; i < 100; i++)
        sum = sum * 31 + i; /* MARK */
    return sum;
}

static void say(const char *who)
{
    char text[64];
    int length = snprintf(text, sizeof(text), "%s %u\n", who, compute((unsigned)strlen(who)));
    if (write(1, text, (size_t)length) != length)
        _exit(99);
}

static int wait_for(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return 98;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int do_fork(void)
{
    pid_t child = fork();
    if (child == 0) {
        say("child");
        exit(3);
    }
    int status = wait_for(child);
    say("parent");
    return status == 3 ? 0 : 1;
}

static int do_three(void)
{
    static const char *const names[] = {"one", "two", "three"};
    int level = 0;
    pid_t child;
    while (level < 3 && (child = fork()) == 0)
        say(names[level++]);
    if (level == 3)
        exit(13);
    int status = wait_for(child);
    say("waited");
    return level ? 10 + level : status == 11 ? 0 : 1;
}

static int do_vfork(void)
{
    pid_t child = vfork();
    if (child == 0) {
        execl(self, self, "say", "vforked", (char *)NULL);
        _exit(127);
    }
    int status = wait_for(child);
    say("parent");
    return status;
}

static int do_vfork_exit(void)
{
    static volatile int left_behind;
    pid_t child = vfork();
    if (child == 0) {
        left_behind = 5;
        _exit(9);
    }
    int status = wait_for(child);
    say("parent");
    return status == 9 && left_behind == 5 ? 0 : 1;
}

static int do_spawn(void)
{
    char *const arguments[] = {(char *)self, "say", "spawned", NULL};
    pid_t child;
    if (posix_spawn(&child, self, NULL, NULL, arguments, environ) != 0)
        return 97;
    int status = wait_for(child);
    say("parent");
    return status;
}

static int do_system(void)
{
    char command[512];
    snprintf(command, sizeof(command), "'%s' say asked; exit 6", self);
    int status = system(command);
    say("parent");
    return WEXITSTATUS(status) == 6 ? 0 : 1;
}

static int do_popen(void)
{
    char command[512], text[64] = "";
    snprintf(command, sizeof(command), "exec '%s' say piped", self);
    FILE *pipe = popen(command, "r");
    if (!pipe || !fgets(text, sizeof(text), pipe) || pclose(pipe) != 0)
        return 96;
    say("parent");
    return strncmp(text, "piped ", 6) == 0 ? 0 : 1;
}

/* The last one waits until the first one is gone: it holds the pipe's other end. */
static int do_daemon(void)
{
    int pipe_ends[2];
    char byte;
    if (pipe(pipe_ends) != 0)
        return 95;
    pid_t middle = fork();
    if (middle != 0) {
        wait_for(middle);
        say("starter");
        return 0;
    }
    setsid();
    if (fork() != 0) {
        say("middle");
        exit(0);
    }
    close(pipe_ends[1]);
    while (read(pipe_ends[0], &byte, 1) < 0 && errno == EINTR)
        continue;
    say("daemon");
    exit(4);
}

static int do_crash(void)
{
    volatile int *volatile nowhere = NULL;
    pid_t child = fork();
    if (child == 0) {
        say("doomed");
        *nowhere = (int)compute(1);
    }
    int status = wait_for(child);
    say("parent");
    return status > 128 ? 0 : 1;
}

static int do_failed_exec(void)
{
    pid_t child = fork();
    if (child == 0) {
        execl("/nonexistent/program", "program", (char *)NULL);
        say("stranded");
        _exit(127);
    }
    return wait_for(child) == 127 ? 0 : 1;
}

static void *run_program(void *unused)
{
    (void)unused;
    say("thread");
    execl(self, self, "say", "instead", (char *)NULL);
    _exit(94);
}

/* The program that is run gets the process's number, though another thread ran it. */
static int do_thread_exec(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_program, NULL) != 0)
        return 93;
    pthread_join(thread, NULL);
    return 92;
}

/* A child with the number of one that has ended: 0 if the kernel cannot be talked into it. */
static pid_t fork_as(pid_t number, int status)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        FILE *last = fopen("/proc/sys/kernel/ns_last_pid", "w");
        if (!last)
            return 0;
        fprintf(last, "%d", number - 1);
        if (fclose(last) != 0)
            return 0;
        pid_t child = fork();
        if (child == 0)
            _exit(status);
        wait_for(child);
        if (child == number)
            return child;
    }
    return 0;
}

/* Status 77: not possible here. */
static int do_reuse(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(20);
    wait_for(child);
    for (int status = 21; status < 23; status++)
        if (!fork_as(child, status))
            return 77;
    return 0;
}

/* One child at a time, then all at once. */
static int do_many(void)
{
    for (int i = 0; i < 40; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(i % 7);
        wait_for(child);
    }
    for (int i = 0; i < 40; i++)
        if (fork() == 0)
            _exit(0);
    while (wait(NULL) > 0)
        continue;
    say("parent");
    return 0;
}

static int do_say(const char *who)
{
    say(who);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } rows[] = {
        {"fork", do_fork},
        {"three", do_three},
        {"vfork", do_vfork},
        {"vfork-exit", do_vfork_exit},
        {"spawn", do_spawn},
        {"system", do_system},
        {"popen", do_popen},
        {"daemon", do_daemon},
        {"crash", do_crash},
        {"failed-exec", do_failed_exec},
        {"many", do_many},
        {"reuse", do_reuse},
        {"thread-exec", do_thread_exec},
    };
    self = argv[0];
    if (argc == 3 && strcmp(argv[1], "say") == 0)
        return do_say(argv[2]);
    for (size_t i = 0; argc == 2 && i < sizeof(rows) / sizeof(*rows); i++)
        if (strcmp(argv[1], rows[i].name) == 0)
            return rows[i].run();
    return 2;
}
