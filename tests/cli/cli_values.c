/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes that a test asks for, by the marks of their lines. Recorded by test_cli_values. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static long total;
static char copied[64], assembled[64], received[64];

static int descend(int level)
{
    volatile int local = level; /* BEGIN */
    if (level)
        descend(level - 1);
    local = local + 100; /* AGAIN */
    return local;
}

int main(void)
{
    static const char text[] = "put together";
    int ends[2];
    for (int i = 1; i <= 5; i++)
        total += i * 1000; /* SUM */
    for (size_t i = 0; i < sizeof(text); i++)
        assembled[i] = text[i];                /* BYTE */
    memcpy(copied, assembled, sizeof(copied)); /* COPY */
    if (pipe(ends) != 0 || write(ends[1], "through a pipe", 14) != 14)
        return 1;
    if (read(ends[0], received, sizeof(received)) != 14) /* READ */
        return 1;
    printf("%ld %d %s %s\n", total, descend(3), copied, received);
    return 0;
}
