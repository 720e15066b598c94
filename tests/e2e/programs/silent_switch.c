/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An interpreter whose program has no instruction that prints: it puts out nothing. The case that would have is
 * found by the switch's table only, which lies among the program's constants.
 */
#include <stdio.h>

static const char *volatile program = "+++*-+.";

static int run(const char *at)
{
    int value = 0;

    for (;; at++) {
        switch (*at - '*') { /* SWITCH */
        case 0:
            value *= 2;
            break;
        case 1:
            value++;
            break;
        case 2:
            value = -value;
            break;
        case 3:
            value--;
            break;
        case 4:
            return value;
        case 5:
            printf("%d\n", value);
            break;
        default:
            return 0;
        }
    }
}

int main(void)
{
    return run(program) == 0;
}
