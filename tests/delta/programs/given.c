/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fails by what it is given:
 *   text FILE      says "text large" if there is an X in the file
 *   slow FILE      aborts on an X, after a while with very many system calls
 *   long FILE      aborts on an X, after a while without any
 *   ... statusN    exits with status N
 *   variable       stores at an address that the variable DD_CRASH has, if there is one
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int count_crosses(const char *name)
{
    char bytes[256];
    int crosses = 0;
    FILE *file = fopen(name, "r");
    size_t size = file ? fread(bytes, 1, sizeof(bytes), file) : 0;
    for (size_t i = 0; i < size; i++)
        crosses += bytes[i] == 'X'; /* COUNT */
    if (file)
        fclose(file);
    return crosses;
}

static void take_time(const char *mode)
{
    static volatile unsigned steps;
    for (int i = 0; mode[0] == 's' && i < 100000; i++)
        steps += (unsigned)getppid();
    while (mode[0] == 'l' && steps < 20000000)
        steps = steps + 1;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "variable") == 0) {
        const char *text = getenv("DD_CRASH");
        char *address = text ? (char *)strtoul(text, NULL, 10) : NULL;
        if (address)
            *address = 1; /* WILD */
        return 0;
    }
    if (argc == 3 && (strcmp(mode, "slow") == 0 || strcmp(mode, "long") == 0)) {
        if (!count_crosses(argv[2]))
            return 0;
        take_time(mode);
        abort();
    }
    if (argc == 3 && strcmp(mode, "text") == 0) {
        int crosses = count_crosses(argv[2]);
        const char *size = crosses ? "large" : "small"; /* CHOOSE */
        printf("text %s\n", size);
        return 0;
    }
    int status = 0;
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "status", 6) == 0)
            status = atoi(argv[i] + 6); /* STATUS */
    return status;
}
