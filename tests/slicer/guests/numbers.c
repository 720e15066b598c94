/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Computes some numbers in the ways that integers are computed in, and writes them with one call: on its own, so that
 * it has few instructions. The last number is one that a test takes for wrong. With TWICE it computes squares.
 */
#define WRITE 1
#define EXIT  60

static char out[256];
static unsigned used;
static int seen[8] = {3, 17, -4, 250, 96, 11, 1024, 7};
static const unsigned char weights[16] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 9, 2};

static long call(long number, long a, long b, long c)
{
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return result;
}

static void put(char c)
{
    out[used++] = c;
}

__attribute__((noinline)) static void number(int n)
{
    static const char figures[] = "0123456789";
    char digits[12];
    int count = 0;
    unsigned left = n < 0 ? -(unsigned)n : (unsigned)n;

    if (n < 0)
        put('-');
    do {
        digits[count++] = figures[left % 10];
        left /= 10;
    } while (left);
    while (count)
        put(digits[--count]);
    put('\n');
}

__attribute__((noinline)) static int mix(int x, int y)
{
    int a = x * 3 - y, b = x ^ 0x55, c = (x >> 2) + (y << 3);
    int larger = a > b ? a : b;
    unsigned char low = (unsigned char)(c * 7);

    if (x & 1)
        larger += weights[y & 15];
    else
        larger -= low / 3;
    return larger + (c < 0) - (~x & 6);
}

__attribute__((noinline)) static int sum(const int *values, int count)
{
    int total = 0;

    for (int i = 0; i < count; i++)
        total += values[i] % 10 * weights[i];
    return total;
}

__attribute__((noinline)) static short halves(unsigned long x)
{
    short low = (short)(x * 2654435761u >> 16);
    return (short)(low - (signed char)x);
}

typedef int four __attribute__((vector_size(16)));
typedef unsigned char sixteen __attribute__((vector_size(16)));
typedef sixteen unaligned __attribute__((aligned(1)));

/* Moved about by vector instructions. */
__attribute__((noinline)) static void turn(four *to, const four *from)
{
    to[0] = __builtin_shufflevector(from[0], from[0], 2, 0, 3, 1);
    to[1] = __builtin_shufflevector(from[0], from[1], 0, 4, 1, 5);
}

/* Made letters of by vector instructions, where they are written from. */
__attribute__((noinline)) static void letters(const sixteen *from)
{
    *(unaligned *)(out + used) = (*from ^ 5) + 'a';
    used += 16;
    put('\n');
}

#ifdef TWICE

/* Numbers that come to one instruction by two ways: with another sign they give the same. */
__attribute__((used)) static void run(void)
{
    static const signed char signs[] = {3, -3, 5, 2, -5, -2, 4, -4, 3, -5, 1, 6};

    for (unsigned i = 0; i < sizeof(signs); i++) {
        volatile int value = signs[i], other = value;
        put((char)('0' + (i % 2 ? value * value : value * other)));
        put('\n');
    }
    call(WRITE, 1, (long)out, used);
    call(EXIT, 0, 0, 0);
}

#else

__attribute__((used)) static void run(void)
{
    static union {
        four vectors[2];
        int numbers[8];
    } mixed, turned;
    static union {
        sixteen vector;
        unsigned char bytes[16];
    } small;

    for (int i = 0; i < 6; i++)
        number(mix(seen[i], i));
    for (int i = 0; i < 8; i++)
        mixed.numbers[i] = seen[i] * 3 + 7;
    for (int i = 0; i < 16; i++)
        small.bytes[i] = (unsigned char)(seen[i & 7] >> 2 & 15);
    letters(&small.vector);
    turn(turned.vectors, mixed.vectors);
    number(turned.numbers[1]);
    number(turned.numbers[5]);
    number(sum(seen, 6));
    number(halves((unsigned long)seen[4]));
    number(sum(seen, 8) + mix(seen[6], 2));
    call(WRITE, 1, (long)out, used);
    call(EXIT, 0, 0, 0);
}

#endif

__asm__(".globl _start\n"
        "_start:\n"
        "    xor %ebp, %ebp\n"
        "    and $-16, %rsp\n"
        "    call run\n");
