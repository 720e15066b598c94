/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What test_gdb.py walks through, here and in gdb: calls, recursion, loops, blocks. exercise()
 * calls nothing of the C library: whether that has line information differs between machines.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

struct point {
    int x, y;
};
enum color { RED, GREEN = 4, BLUE };
enum flags { FLAG_A = 1, FLAG_B = 2, FLAG_C = 4 };
union both {
    int whole;
    float real;
    char bytes[4];
};
struct bits {
    unsigned low : 3;
    int middle : 5;
    unsigned long high : 40;
};
struct node {
    int value;
    struct node *next;
    struct point at;
    const char *name;
    enum color color;
};
typedef int (*binary)(int, int);

extern char **environ;
static jmp_buf environment;
static volatile int hits;
int matrix[3][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}};
int zeros[300];
double real = 3.25;
float small = 0.1f;
long double large = 1.5L;
char text[20] = "hello";

static void on_signal(int number)
{
    hits += number;
}

static int add(int a, int b)
{
    int sum = a + b;
    return sum;
}

static int fibonacci(int n)
{
    if (n < 2)
        return n;
    return fibonacci(n - 1) + fibonacci(n - 2);
}

static struct point make(int x)
{
    struct point made = {x, -x};
    return made;
}

static double half(double number)
{
    return number / 2;
}

static int apply(binary function, int n)
{
    int total = 0;
    for (int i = 0; i < n; i++) {
        int inner = function(i, 1);
        total += inner;
    }
    return total;
}

static int deep(int n)
{
    int local = n * 2;
    {
        int local = n * 3;
        n += local;
    }
    if (n > 100)
        return local;
    return deep(n) + 1;
}

static void nothing(void)
{
    static int times;
    times++;
}

static int choose(int n)
{
    switch (n) {
    case 0:
        return 5;
    case 1:
        n += 3;
        /* fall through */
    case 2:
        n += 2;
        break;
    default:
        n = 0;
    }
    while (n > 3)
        n -= 2;
    return n ? n : 1;
}

static int exercise(int start)
{
    int result = start;
    struct point place = make(7);
    result += place.x > 3 ? add(1, 2) : add(3, 4);
    nothing();
    for (int i = 0; i < 3; i++)
        result += add(i, 1) + add(i, 2);
    result += apply(add, 2);
    result += deep(1);
    result += fibonacci(3);
    for (int i = 0; i < 4; i++)
        result += choose(i);
    result += (int)half(real);
    return result;
}

static void leave(int depth)
{
    if (depth == 0)
        longjmp(environment, 3);
    leave(depth - 1);
}

static int compare(const void *left, const void *right)
{
    return *(const int *)left - *(const int *)right;
}

int main(int argc, char **argv)
{
    struct node second = {2, NULL, {3, 4}, "second", BLUE};
    struct node first = {1, &second, {1, 2}, "first", RED};
    struct bits bits = {5, -3, 123456789012UL};
    enum flags flags = FLAG_A | FLAG_C;
    binary operation = add;
    int order[5] = {5, 3, 1, 4, 2};
    union both both;
    both.real = 1.5f;
    signal(SIGALRM, on_signal);
    raise(SIGALRM);
    int result = exercise(argc);
    int landed = setjmp(environment);
    if (landed == 0)
        leave(2);
    qsort(order, 5, sizeof(*order), compare);
    result += order[0] + both.whole % 2 + (int)bits.low + (int)flags + operation(1, 2);
    __asm__ volatile("fldpi\n\tfldz\n\tfld1"); /* what nothing here pops again */
    printf("%d %d %d\n", result, hits, argv[argc] == NULL && environ); /* LAST */
    return first.value - 1;
}
