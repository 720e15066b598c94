/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Control flow whose dependences are known. test_control.c finds lines by their marks (one mark per
 * line, "@name"); "/" and "|" in the table there say which marks a line depends on.
 */
#include <stdio.h>
#include <stdlib.h>

volatile int sink;

int if_else(int a)
{
    int r = 0; /* @if_before */
    if (a > 3) /* @if_test */
        r = 1; /* @if_then */
    else
        r = 2; /* @if_else */
    sink = r;  /* @if_after */
    return r;
}

int while_loop(int n)
{
    int i = 0;
    while (i < n) { /* @while_test */
        sink = i;   /* @while_body */
        i++;
    }
    return i; /* @while_after */
}

int do_loop(int n)
{
    int i = 0;
    do {
        sink = i; /* @do_body */
        i++;
    } while (i < n); /* @do_test */
    return i;        /* @do_after */
}

int big_switch(int k)
{
    switch (k) { /* @switch */
    case 0:
        sink = 10; /* @case0 */
        break;
    case 1:
        sink = 21; /* @case1 */
        /* fallthrough */
    case 2:
        sink = 32; /* @case2 */
        break;
    case 3:
        sink = 43; /* @case3 */
        break;
    case 4:
        sink = 54; /* @case4 */
        break;
    case 5:
        sink = 65; /* @case5 */
        break;
    case 6:
        sink = 76; /* @case6 */
        break;
    default:
        sink = 99; /* @default */
    }
    return sink; /* @switch_after */
}

int with_goto(int a, int b)
{
    if (a)        /* @goto_a */
        goto out; /* @goto_jump */
    sink = 1;     /* @goto_middle */
    if (b)        /* @goto_b */
        sink = 2; /* @goto_then */
out:
    sink = 3; /* @goto_out */
    return sink;
}

int early_return(int a)
{
    if (a < 0)     /* @early_test */
        return -1; /* @early_return */
    sink = a;      /* @early_rest */
    return sink;
}

int and_or(int a, int b, int c)
{
    if (a         /* @and_a */
        && b)     /* @and_b */
        sink = 1; /* @and_then */
    if (b         /* @or_b */
        || c)     /* @or_c */
        sink = 2; /* @or_then */
    return sink;  /* @and_or_after */
}

void endless(int a)
{
    sink = 0; /* @endless_before */
    for (;;) {
        sink = 1;     /* @endless_body */
        if (sink > a) /* @endless_test */
            sink = 2; /* @endless_then */
        sink = 3;     /* @endless_rest */
    }
}

int checked(int a)
{
    if (a == 77) /* @check_test */
        abort(); /* @check_abort */
    sink = a;    /* @check_after */
    return sink;
}

void lose(int a)
{
    sink = a;
    exit(a);
}

int doubted(int a)
{
    if (a == 78) /* @doubt_test */
        lose(a); /* @doubt_lost */
    else         /* or the call would be the last thing before what follows */
        sink = 1;
    if (a == 79)    /* @plain_test */
        checked(a); /* @plain_call */
    sink = a;       /* @doubt_after */
    return sink;
}

int nested(int n)
{
    int total = 0;
    for (int i = 0; /* @for_init */
         i < n;     /* @for_outer */
         i++)       /* @for_step */
    {
        if (i & 1)      /* @for_if */
            continue;   /* @for_continue */
        for (int j = 0; /* @for_inner_init */
             j < i;     /* @for_inner */
             j++) {
            if (j == 50) /* @for_break_test */
                break;   /* @for_break */
            total += j;  /* @for_innermost */
        }
        total++; /* @for_tail */
    }
    return total; /* @for_after */
}

int interpret(const char *code)
{
    static const void *const labels[] = {&&add, &&sub, &&stop};
    int value = 0;

    goto *labels[*code & 3]; /* @computed */
add:
    value += 2; /* @op_add */
    code++;
    goto *labels[*code & 3]; /* @computed_again */
sub:
    value -= 1; /* @op_sub */
    code++;
    goto *labels[*code & 3];
stop:
    return value; /* @op_stop */
}

int main(int argc, char **argv)
{
    int sum = 0;
    (void)argv;
    for (int i = 0; i < 8; i++)
        sum += if_else(i) + big_switch(i) + with_goto(i & 1, i & 2) + early_return(i - 4);
    sum += while_loop(argc) + do_loop(argc) + and_or(argc, 1, 2) + checked(argc) + nested(argc) +
           interpret("\0\1\2");
    if (sum == -12345)
        endless(sum);
    printf("%d\n", sum);
    return 0;
}
