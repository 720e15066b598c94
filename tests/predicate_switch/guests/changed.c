/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * changed: does something with a file of its own, unless it has a second argument, and then says what
 * became of it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char name[] = "changed.file";

static void change(const char *how, int fd)
{
    if (!strcmp(how, "write") || !strcmp(how, "append") || !strcmp(how, "read"))
        (void)!write(fd, "twice", 5);
    else if (!strcmp(how, "mode"))
        fchmod(fd, 0644);
    else if (!strcmp(how, "links"))
        unlink(name);
    else if (!strcmp(how, "make"))
        close(open(name, O_CREAT | O_WRONLY, 0600));
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    struct stat st = {0};
    char bytes[16] = "";
    int flags = O_CREAT | O_RDWR | (!strcmp(how, "append") ? O_APPEND : 0);
    int fd = !strcmp(how, "make") ? -1 : open(name, flags, 0600);
    if (fd >= 0)
        (void)!write(fd, "once ", 5);
    if (argc == 2) /* CHANGES */
        change(how, fd);
    if (fd >= 0)
        fstat(fd, &st);
    ssize_t got = fd < 0 || strcmp(how, "read") ? 0 : pread(fd, bytes, 10, 0);
    printf("%ld %o %d %ld %.10s %d\n", (long)st.st_size, st.st_mode & 07777, (int)st.st_nlink,
           (long)got, bytes, access(name, F_OK));
    return 0;
}
