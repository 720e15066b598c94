/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Indirect calls: a table of functions, a virtual method, a callback that returns a function. */
#include <stdio.h>

typedef long (*binary_fn)(long, long);

static long add(long a, long b)
{
    return a + b;
}
static long sub(long a, long b)
{
    return a - b;
}
static long mul(long a, long b)
{
    return a * b;
}
static long shift(long a, long b)
{
    return (long)((unsigned long)a << (b & 7));
}

static const binary_fn table[] = {add, sub, mul, shift};

struct shape;
struct shape_ops {
    long (*area)(const struct shape *);
    const char *name;
};
struct shape {
    const struct shape_ops *ops;
    long width;
    long height;
};

static long area_box(const struct shape *s)
{
    return s->width * s->height;
}
static long area_triangle(const struct shape *s)
{
    return s->width * s->height / 2;
}
static const struct shape_ops box_ops = {area_box, "box"};
static const struct shape_ops triangle_ops = {area_triangle, "triangle"};

static binary_fn choose(long key)
{
    return table[(unsigned long)key % (sizeof(table) / sizeof(table[0]))];
}

int main(void)
{
    const struct shape shapes[] = {
        {&box_ops, 3, 4}, {&triangle_ops, 3, 4}, {&box_ops, 10, 2}, {&triangle_ops, 9, 8}};
    volatile long seed = 1;
    long value = seed;

    for (long i = 0; i < 40; i++)
        value = choose(value ^ i)(value, i + 3) & 0xffffff;
    printf("chain %ld\n", value);
    for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        printf("%s %ld\n", shapes[i].ops->name, shapes[i].ops->area(&shapes[i]));
    return 0;
}
