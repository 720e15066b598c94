/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * onward [VICTIM] < INPUT: aborts if INPUT has X and Y; prints how many letters it has, else. What
 * others do is for live runs: with C, or F and no X, it has a child, which no live run has; with X
 * alone it removes VICTIM; under a recorder, with R, X is enough to abort.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char input[4096];

static void fail_here(void)
{
    abort();
}

int main(int argc, char **argv)
{
    size_t size = fread(input, 1, sizeof(input) - 1, stdin);
    int has_x = strchr(input, 'X') != NULL, has_y = strchr(input, 'Y') != NULL;
    if (strchr(input, 'C') || (strchr(input, 'F') && !has_x)) {
        if (fork() == 0)
            _exit(0);
        wait(NULL);
    }
    if (has_x && !has_y && argc > 1)
        unlink(argv[1]);
    if (has_x && (has_y || (strchr(input, 'R') && getenv("LD_PRELOAD"))))
        fail_here();
    printf("%zu\n", size);
    return 0;
}
