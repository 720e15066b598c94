/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * leaves PLACE [GONE] < INPUT: the letters X, Y and Z of INPUT go to standard output and error; to
 * the file PLACE, which is made anew ("-": to none; "temporary": to TMPDIR/left). GONE is removed.
 * Exits with 3.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char found[4096] = "", name[4096];
    size_t count = 0;
    for (int c; (c = getchar()) != EOF && count < sizeof(found) - 1;)
        if (c && strchr("XYZ", c))
            found[count++] = (char)c;
    snprintf(name, sizeof(name), "%s", argv[1]);
    if (!strcmp(name, "temporary"))
        snprintf(name, sizeof(name), "%s/left", getenv("TMPDIR"));
    if (argc > 2)
        unlink(argv[2]);
    printf("%s\n", found);
    fprintf(stderr, "%s\n", found);
    FILE *left = strcmp(name, "-") ? fopen(name, "w") : NULL;
    if (left) {
        fputs(found, left);
        fclose(left);
    }
    return 3;
}
