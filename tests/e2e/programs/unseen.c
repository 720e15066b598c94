/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Maps a file of two pages and changes it by a call: sendfile, write, ftruncate, truncate, hole,
 * reopen; or does what changes nothing of the mapping: grow, unmapped, other. Arguments: shared or
 * private, then the call.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#define PAGE 4096

static const char *how;

static int is(const char *name)
{
    return strcmp(how, name) == 0;
}

/* Calls that change bytes of the mapping. */
static int change(int fd)
{
    int again = open("./shown", O_RDWR), from = open("from", O_RDWR);
    off_t at = 4;

    if (is("sendfile"))
        return sendfile(again, from, &at, 6) == 6;
    if (is("write"))
        return pwrite(again, "XYZ", 3, 5) == 3 && pwrite(again, "Z", 1, 9) == 1;
    if (is("ftruncate"))
        return !ftruncate(again, 4) && !ftruncate(fd, 2 * PAGE);
    if (is("truncate"))
        return !truncate("shown", 4) && !truncate("shown", 2 * PAGE);
    if (is("hole"))
        return !fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, PAGE, PAGE);
    return is("reopen") && open("shown", O_WRONLY | O_TRUNC) >= 0 && !ftruncate(fd, 2 * PAGE);
}

int main(int argc, char **argv)
{
    static const char bytes[17] = "0123456789abcdef";
    int fd = open("shown", O_RDWR | O_CREAT | O_TRUNC, 0600),
        from = open("from", O_RDWR | O_CREAT | O_TRUNC, 0600);

    how = argc > 2 ? argv[2] : "";
    if (write(from, bytes, 16) != 16 || ftruncate(fd, 2 * PAGE) || pwrite(fd, bytes, 16, 0) != 16)
        return 1;
    int flags = strcmp(argv[1], "shared") ? MAP_PRIVATE : MAP_SHARED;
    char *map = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (map == MAP_FAILED)
        return 2;
    if (is("grow"))
        return ftruncate(fd, 3 * PAGE);
    if (is("unmapped"))
        return munmap(map, 2 * PAGE) || ftruncate(fd, 4) || ftruncate(fd, 2 * PAGE);
    if (is("other"))
        return pwrite(from, bytes, 3, 5) != 3 || ftruncate(from, 4);
    return !change(fd);
}
