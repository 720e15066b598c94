/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of a line as an optimizer leaves them, put there by hand. */
#define LOC(statement) ".loc 1 6 0 is_stmt " statement " discriminator 2\n\tnop\n\t"
int rows(volatile int *sum)
{
    *sum += 1; /* the line of those rows */
    *sum += 2;
    return *sum;
}

int main(void)
{
    volatile int sum = 0;
    __asm__ volatile(LOC("0") LOC("1"));
    sum += rows(&sum);
    __asm__ volatile(LOC("1"));
    return sum;
}
