/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads a text from standard input into a buffer that is too small for it: the 1,025th byte lies over the
 * pointer behind the buffer, which is freed in the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct {
    char text[1024];
    char *copy;
} line;

int main(int argc, char **argv)
{
    char input[4096];
    ssize_t size = read(0, input, sizeof(input)); /* INPUT */
    line.copy = malloc(16);
    for (ssize_t i = 0; i < size; i++)
        line.text[i] = input[i];                         /* STORE */
    printf("%zd bytes, first %c\n", size, line.text[0]); /* PRINT */
    fflush(stdout);
    if (argc > 1 && argv[1][0] == 'k')
        return 0;
    free(line.copy); /* FREE */
    return 0;
}
