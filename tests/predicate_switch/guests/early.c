/* SPDX-License-Identifier: GPL-3.0-or-later */
/* early: ends before it has asked anything about its descriptors, unless `asks` is set. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile unsigned asks;

int main(void)
{
    struct stat st;
    if (!asks) /* ASKS */
        return 1;
    for (int fd = 0; fd < 3; fd++) {
        if (fstat(fd, &st))
            return 2;
        printf("%d %o %lu %lu %ld %x %d\n", fd, st.st_mode, (unsigned long)st.st_ino,
               (unsigned long)st.st_rdev, (long)st.st_size, (unsigned)fcntl(fd, F_GETFL),
               isatty(fd));
    }
    return 0;
}
