/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * onward [VICTIM] < INPUT: aborts if INPUT has X and Y; prints how many letters it has, else. What
 * others do is for live runs: with C, or F and no X, it has a child, which no live run has. Under a
 * recorder it removes VICTIM with X alone; X is enough to abort with R; and of q, x and y, which
 * make it abort too, it needs y only there.
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
    int is_recorded = getenv("LD_PRELOAD") != NULL;
    int has_small =
        strchr(input, 'q') && strchr(input, 'x') && (strchr(input, 'y') || !is_recorded);
    if (has_x && !has_y && is_recorded && argc > 1)
        unlink(argv[1]);
    if ((has_x && (has_y || (is_recorded && strchr(input, 'R')))) || has_small)
        fail_here();
    printf("%zu\n", size);
    return 0;
}
