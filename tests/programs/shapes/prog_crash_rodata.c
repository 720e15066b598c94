/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dies of SIGSEGV: writes to a string literal. */
#include <stdio.h>

static void shout(char *text)
{
    for (; *text; text++)
        if (*text >= 'a' && *text <= 'z')
            *text = (char)(*text - 32);
}

int main(void)
{
    char copy[] = "a copy";
    char *volatile literal = (char *)"Literal";

    shout(copy);
    puts(copy);
    fflush(stdout);
    shout(literal);
    puts(literal);
    return 0;
}
