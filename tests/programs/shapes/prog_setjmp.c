/* SPDX-License-Identifier: GPL-3.0-or-later */
/* setjmp and longjmp across several frames, taken repeatedly, and sigsetjmp without signals. */
#include <setjmp.h>
#include <stdio.h>

static jmp_buf parse_failed;
static sigjmp_buf outer;

static int parse_digit(const char *text, int at)
{
    if (text[at] < '0' || text[at] > '9')
        longjmp(parse_failed, at + 1);
    return text[at] - '0';
}

static int parse_number(const char *text)
{
    int value = 0;

    for (int i = 0; text[i]; i++)
        value = value * 10 + parse_digit(text, i);
    return value;
}

static void descend(int depth)
{
    volatile char pad[64];

    pad[0] = (char)depth;
    if (depth == 0)
        siglongjmp(outer, 42);
    descend(depth - 1);
    pad[1] = pad[0];
}

int main(void)
{
    static const char *const inputs[] = {"123", "4x6", "7", "y"};
    volatile int good = 0;

    for (volatile int i = 0; i < 4; i++) {
        int where = setjmp(parse_failed);
        if (where != 0) {
            printf("%s: bad character %d\n", inputs[i], where);
            continue;
        }
        printf("%s: %d\n", inputs[i], parse_number(inputs[i]));
        good = good + 1;
    }
    int answer = sigsetjmp(outer, 1);
    if (answer == 0)
        descend(20);
    printf("good %d, answer %d\n", good, answer);
    return 0;
}
