/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions behind those that the preload stands in front of. */
#ifndef RECORDER_TICKS_REAL_H
#define RECORDER_TICKS_REAL_H

#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/wait.h>

struct tck_real {
    int (*close)(int);
    ssize_t (*read)(int, void *, size_t);
    ssize_t (*pread)(int, void *, size_t, off_t);
    ssize_t (*write)(int, const void *, size_t);
    int (*poll)(struct pollfd *, nfds_t, int);
    int (*ioctl)(int, unsigned long, ...);
    int (*open)(const char *, int, ...);
    FILE *(*fopen)(const char *, const char *);
    pid_t (*waitpid)(pid_t, int *, int);
    int (*waitid)(idtype_t, id_t, siginfo_t *, int);
    long (*ptrace)(int, ...);
    void (*abort)(void);
    void (*exit)(int status);
    int (*vprintf_chk)(int, const char *, va_list);
};

/* Looked up on first use, since other constructors may run before ours. */
const struct tck_real *tck_real(void);

/* syscall(2) itself, with its errno. */
long tck_real_syscall(long number, const long args[6]);

#endif
