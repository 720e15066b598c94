/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ways to put a byte into the buffer that it is written from. Each case writes one byte of output, put there by
 * the line marked PUT; NONE: by none. What the line marked SEND decided, in the same case or in send_...(), has no part in
 * which byte it is.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile int given = 1;
static char own[16], other[16];

__attribute__((noinline)) static void send_out(void)
{
    if (given > 0) /* SEND stdio */
        fflush(stdout);
}

__attribute__((noinline)) static void send_own(const char *bytes)
{
    ssize_t sent = 0;
    if (given > 0) /* SEND own */
        sent = write(STDOUT_FILENO, bytes, 1);
    given = sent == 1;
}

static void by_putc(void)
{
    putchar('a' + given); /* PUT putc */
    send_out();
}

static void by_printf(void)
{
    printf("%d", given); /* PUT printf */
    send_out();
}

static void by_fwrite(void)
{
    other[1] = (char)('c' + given);
    fwrite(other + 1, (size_t)given, 1, stdout); /* PUT fwrite */
    send_out();
}

static void by_fputs(void)
{
    fputs(given ? "d" : "nothing", stdout); /* PUT fputs */
    send_out();
}

static void by_memcpy(void)
{
    other[2] = (char)('e' + given);
    memcpy(own + 2, other + 2, (size_t)given); /* PUT memcpy */
    send_own(own + 2);
}

static void by_store(void)
{
    own[3] = (char)('f' + given); /* PUT store */
    send_own(own + 3);
}

static void by_read(void)
{
    int ends[2];
    if (pipe(ends) || write(ends[1], "g", 1) != 1)
        return;
    if (read(ends[0], own + 4, 1) == 1) /* PUT read */
        send_own(own + 4);
}

static void by_nobody(void)
{
    send_own("h"); /* NONE */
}

int main(void)
{
    by_putc();
    by_printf();
    by_fwrite();
    by_fputs();
    by_memcpy();
    by_store();
    by_read();
    by_nobody();
    return 0;
}
