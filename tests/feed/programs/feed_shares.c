/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared memory, by argument: "child" writes what its parent reads; "exec": a child inherits it
 * but runs another program; "alias": one object mapped twice in one process. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static char *map_shared(int fd)
{
    int flags = fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
    char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (map == MAP_FAILED)
        exit(99);
    return map;
}

static int share_with_child(int runs_program)
{
    char *map = map_shared(-1);
    pid_t pid = fork();
    if (!pid && runs_program)
        execl("/bin/true", "true", (char *)NULL);
    if (!pid) {
        map[0] = 42;
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    return map[0] != (runs_program ? 0 : 42);
}

static int alias(void)
{
    int fd = memfd_create("feed_shares", 0);
    if (fd < 0 || ftruncate(fd, 4096))
        return 99;
    char *one = map_shared(fd), *other = map_shared(fd);
    one[0] = 42;
    return other[0] != 42;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 99;
    if (!strcmp(argv[1], "alias"))
        return alias();
    return share_with_child(!strcmp(argv[1], "exec"));
}
