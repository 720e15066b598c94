/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads what a child put into a pipe, that the same bytes went through before the child was there; and a
 * file that a child changed in between. Of all that is written out only the first four bytes, and the file's
 * last two, are from here.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile char given = 'a';
static char own[4], out[12];

static void fill(void)
{
    for (unsigned i = 0; i < sizeof(own); i++)
        own[i] = given; /* OWN */
}

static int child(int pipe_end, const char *path)
{
    int fd = open(path, O_WRONLY);
    return write(pipe_end, "aaaa", 4) != 4 || pwrite(fd, "zz", 2, 0) != 2;
}

int main(int argc, char **argv)
{
    int fds[2], status;
    const char *path = argc > 1 ? argv[1] : "shared_pipe.tmp";

    fill();
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (pipe(fds) || write(fd, own, 4) != 4 || write(fds[1], own, 4) != 4 ||
        read(fds[0], out, 4) != 4)
        return 2;
    pid_t pid = fork();
    if (pid == 0)
        _exit(child(fds[1], path));
    if (waitpid(pid, &status, 0) != pid || status || write(fds[1], own, 4) != 4 ||
        read(fds[0], out + 4, 4) != 4 || pread(fd, out + 8, 4, 0) != 4)
        return 3;
    return write(1, out, sizeof(out)) != sizeof(out);
}
