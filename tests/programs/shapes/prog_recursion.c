/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Self recursion, mutual recursion and tail calls: call and return depth. */
#include <stdio.h>

static unsigned ackermann(unsigned m, unsigned n)
{
    if (m == 0)
        return n + 1;
    if (n == 0)
        return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

static int is_odd(unsigned n);

static int is_even(unsigned n)
{
    return n == 0 ? 1 : is_odd(n - 1);
}

static int is_odd(unsigned n)
{
    return n == 0 ? 0 : is_even(n - 1);
}

static void hanoi(int disks, char from, char to, char spare, unsigned *moves, unsigned *digest)
{
    if (disks == 0)
        return;
    hanoi(disks - 1, from, spare, to, moves, digest);
    ++*moves;
    *digest = *digest * 31 + (unsigned)(from * 3 + to);
    hanoi(disks - 1, spare, to, from, moves, digest);
}

int main(void)
{
    unsigned moves = 0;
    unsigned digest = 0;

    hanoi(7, 'a', 'c', 'b', &moves, &digest);
    printf("ackermann(2,7) = %u\n", ackermann(2, 7));
    printf("even(200) = %d, odd(77) = %d\n", is_even(200), is_odd(77));
    printf("hanoi: %u moves, digest %08x\n", moves, digest);
    return 0;
}
