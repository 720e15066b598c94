/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dies of SIGABRT: free() gets a pointer that malloc() did not give. Its lines are in test_criteria.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *skip(char *text)
{
    while (*text == ' ')
        text++;
    return text;
}

int main(void)
{
    char *copy = strdup("   text");
    unsigned length = (unsigned)strlen(copy);
    char *start = skip(copy);

    printf("%u\n", length);
    free(start);
    return 0;
}
