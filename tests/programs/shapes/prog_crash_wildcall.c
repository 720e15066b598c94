/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dies of SIGSEGV: calls through a table entry that holds no function. */
#include <stdint.h>
#include <stdio.h>

static void hello(void)
{
    puts("hello");
    fflush(stdout);
}

static void again(void)
{
    puts("again");
    fflush(stdout);
}

static void (*volatile handlers[])(void) = {hello, again, (void (*)(void))(uintptr_t)0x123450};

int main(void)
{
    for (int i = 0; i < 3; i++)
        handlers[i]();
    return 0;
}
