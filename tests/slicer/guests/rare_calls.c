/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes calls that few programs make, most of them in vain: what a call used does not depend on what
 * came of it. Each result goes into a sum.
 */
#include <sys/syscall.h>
#include <unistd.h>

#define WORDS 64

static volatile long given = 5, sum;
static long words[WORDS], other[WORDS];
static char text[16], name[16];

static void fill(void)
{
    for (int i = 0; i < WORDS; i++)
        words[i] = other[i] = -given;
    for (int i = 0; i < 15; i++) {
        text[i] = (char)('a' + given);
        name[i] = (char)('b' + given);
    }
}

static void call(long number, long a, const void *b, long c, const void *d, long e)
{
    sum = sum * 3 + syscall(number, a + given - 5, b, c + given - 5, d, e + given - 5);
}

int main(void)
{
    fill();
    call(SYS_mq_notify, -1, words, 0, NULL, 0);
    call(SYS_mq_getsetattr, -1, words, (long)other, NULL, 0);
    words[0] = given - 5; /* only asks for the time */
    call(SYS_adjtimex, (long)words, NULL, 0, NULL, 0);
    fill();
    words[0] = given - 5;
    call(SYS_clock_adjtime, 99, words, 0, NULL, 0);
    call(SYS_add_key, (long)text, name, (long)words, (const void *)16L, -9);
    call(SYS_request_key, (long)text, name, 0, (const void *)-9L, 0);
    call(SYS_keyctl, 999, words, 1, NULL, 0);
    call(SYS_modify_ldt, 7, words, 24, NULL, 0);
    call(SYS_quotactl, 0x7fffff, text, 0, words, 0);
    call(SYS_setdomainname, (long)text, (const void *)3000L, 0, NULL, 0);
    call(SYS_open_by_handle_at, -1, words, 0, NULL, 0);
    call(SYS_bpf, 9999, words, 32, NULL, 0);
    call(SYS_userfaultfd, 0x7f, NULL, 0, NULL, 0);
    call(SYS_lookup_dcookie, 12345, words, 8, NULL, 0);
    call(SYS_ioperm, 70000, (const void *)70000L, 1, NULL, 0);
    call(SYS_iopl, 9, NULL, 0, NULL, 0);
    for (int i = 0; i < 3000; i++)
        sum = sum * 5 + i;
    return 0;
}
