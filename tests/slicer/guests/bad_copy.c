/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dies of SIGABRT: the C library's memcpy() is told how much room there is. Its lines are in test_criteria.c. */
#include <stdio.h>

void *__memcpy_chk(void *to, const void *from, size_t size, size_t room);

static char room[16];

int main(int argc, char **argv)
{
    size_t size = 1;

    for (const char *at = argv[0]; *at; at++)
        size++;
    printf("%d\n", argc);
    __memcpy_chk(room, argv[0], size, sizeof(room));
    return 0;
}
