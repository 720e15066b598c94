/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Leaves with status 3, after its exit handlers and destructors have run. */
#include <stdio.h>
#include <stdlib.h>

static void last_words(void)
{
    puts("exit handler");
}

__attribute__((destructor)) static void destructor(void)
{
    puts("destructor");
}

int main(void)
{
    atexit(last_words);
    puts("main");
    exit(3);
}
