/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes in every way that there is, to standard output and elsewhere. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static void vectored(void)
{
    struct iovec pieces[] = {{"one ", 4}, {"", 0}, {"two ", 4}, {"three\n", 6}};
    if (writev(STDOUT_FILENO, pieces, 4) != 14)
        _exit(1);
}

/* A full pipe takes a part of what is written. */
static void pipe_partly(char *much, size_t bytes)
{
    int ends[2];
    if (pipe2(ends, O_NONBLOCK) || write(ends[1], much, bytes) >= (ssize_t)bytes)
        _exit(1);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    static char much[70000];
    memset(much, 'm', sizeof(much));
    much[sizeof(much) - 1] = '\n';
    for (int i = 0; i < 3; i++)
        vectored();
    printf("buffered %d\n", 1);
    fflush(stdout);
    fprintf(stderr, "elsewhere\n");
    pipe_partly(much, sizeof(much));
    if (write(STDOUT_FILENO, much, sizeof(much)) < 0 || write(-1, much, 1) != -1 ||
        write(STDOUT_FILENO, "", 0) != 0)
        return 1;
    memset(much, 'x', sizeof(much)); /* what was written is no longer there at the end */
    printf("%c\n", much[0]);
    return 0;
}
