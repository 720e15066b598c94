/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A line of 1,024 characters fits; the 1,025th is stored into the pointer behind them, which is freed. */
#include <stdio.h>
#include <stdlib.h>

static struct {
    char text[1024];
    char *title;
} line;

int main(void)
{
    int c;
    line.title = malloc(32);
    for (unsigned i = 0; i <= sizeof(line.text) && (c = getchar()) == 'a'; i++) /* FAULT */
        line.text[i] = (char)c;
    printf("%.3s\n", line.text);
    free(line.title);
    return 0;
}
