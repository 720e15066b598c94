/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dies of SIGABRT: an assertion fails. */
#include <assert.h>
#include <stdio.h>

static int half(int value)
{
    assert(value % 2 == 0);
    return value / 2;
}

int main(void)
{
    volatile int start = 40;

    for (int value = start; value > 0; value = half(value)) {
        printf("%d\n", value);
        fflush(stdout);
    }
    return 0;
}
