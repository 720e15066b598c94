/* SPDX-License-Identifier: GPL-3.0-or-later */
/* taker: reads 4 bytes of standard input, or as many as `wanted` says, and puts out what it got. */
#include <stdio.h>
#include <unistd.h>

static volatile unsigned wanted = 4;

int main(void)
{
    char bytes[64];
    size_t count = wanted; /* WANTED */
    ssize_t got = 0, part = 1;
    while (part > 0 && got < (ssize_t)count) {
        part = read(0, bytes + got, count - (size_t)got);
        got += part > 0 ? part : 0;
    }
    if (write(1, bytes, (size_t)got) != got)
        return 2;
    return part < 0;
}
