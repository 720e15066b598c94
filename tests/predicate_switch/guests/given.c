/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * given: opens a file that programs have only while rr records them, as it gives libgcrypt a list
 * of what it must not use; and reserves more memory than a run that goes on may have.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define RESERVED (1ul << 40)

static void work(void)
{
    for (volatile int i = 0; i < 20000; i++)
        ;
}

int main(void)
{
    struct stat st = {0};
    char text[64] = "";
    work();
    int before = access("/etc/gcrypt/fips_enabled", F_OK) ? errno : 0;
    int fd = open("/etc/gcrypt/hwf.deny", O_RDONLY);
    long got = fd < 0 ? -errno : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        fstat(fd, &st);
    printf("%d, %ld of %ld: %s\n", before, got, (long)st.st_size, text);
    work();
    char *room =
        mmap(NULL, RESERVED, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED || mprotect(room + RESERVED / 2, 4096, PROT_READ | PROT_WRITE))
        return 1;
    room[RESERVED / 2] = 'x';
    work();
    return munmap(room, RESERVED) ? 2 : 0;
}
