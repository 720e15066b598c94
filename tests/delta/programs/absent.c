/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Obeys a script of one command a line, and aborts in the end if a lock was not given back, or at once if it is
 * told to. Lines that begin with # are none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int depth, work;

static void obey(const char *command)
{
    if (strncmp(command, "lock", 4) == 0)
        depth++; /* LOCK */
    else if (strncmp(command, "unlock", 6) == 0)
        depth--; /* UNLOCK */
    else if (strncmp(command, "work", 4) == 0)
        work++; /* WORK */
    else if (strncmp(command, "die", 3) == 0)
        abort(); /* DIE */
}

int main(void)
{
    char line[80];
    while (fgets(line, sizeof(line), stdin)) { /* READ */
        if (line[0] == '#')                    /* COMMENT */
            continue;
        obey(line); /* OBEY */
    }
    if (depth)   /* LEFT */
        abort(); /* ABORT */
    printf("%d\n", work);
    return 0;
}
