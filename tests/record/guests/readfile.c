/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a file and prints the sum of its bytes: about the shortest program that does anything. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    unsigned char bytes[4096];
    unsigned long sum = 0;
    ssize_t got;
    int fd = open(argc > 1 ? argv[1] : "/etc/passwd", O_RDONLY | O_CLOEXEC);

    while (fd >= 0 && (got = read(fd, bytes, sizeof(bytes))) > 0) {
        for (ssize_t i = 0; i < got; i++)
            sum += bytes[i];
    }
    printf("%lu\n", sum);
    return fd < 0;
}
