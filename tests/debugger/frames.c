/* Frames of optimized code, whose variables are in registers that calls preserve, in several
   pieces, bit fields among them, or only known from what the caller passed; and a function that
   ends by a jump. */
#include <stdlib.h>

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noipa))
#endif

struct pair {
    long first, second;
};

struct fields {
    unsigned low : 3;
    int middle : 5;
    long high : 40;
};

static volatile long sink;

APART static void stop_here(void)
{
    sink++; /* STOP */
}

APART static long last(long x, long y)
{
    long twice = x * 2;
    x = y + 5;
    sink = x;
    stop_here();
    return sink + twice;
}

APART static long jumps(long n)
{
    return last(n + 1, 7);
}

APART static long holds(long kept, long passed)
{
    struct pair both = {kept + 1, kept * 3};
    struct fields fields = {5, -3, 123456789};
    sink = passed + fields.high;
    long got = jumps(kept);
    both.first += got;
    sink = both.first;
    return both.second + both.first;
}

int main(int argc, char **argv)
{
    (void)argv;
    long mine = atol("41") + argc;
    long sum = holds(mine, 3);
    return (int)(sum + mine) == 0;
}
