/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Copies 64 bytes of its input in many ways, all of them into `final`. If byte i of the input is i,
 * each byte of `final` says where it came from.
 */
#include <string.h>
#include <unistd.h>

struct record {
    unsigned char head[5];
    unsigned short middle;
    unsigned char tail[25];
};

unsigned char final[64];
static unsigned char input[64], first[96], second[96];
static struct record records[3];
static volatile size_t count = 29;

__attribute__((noinline)) static void copy(void *to, const void *from, size_t size)
{
    memcpy(to, from, size);
}

__attribute__((noinline)) static void move(void *to, const void *from, size_t size)
{
    memmove(to, from, size);
}

static void move_by_string(unsigned char *to, const unsigned char *from, size_t size)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size)::"memory");
}

static void move_by_string_down(unsigned char *to, const unsigned char *from, size_t size)
{
    to += size - 1;
    from += size - 1;
    __asm__ volatile("std\nrep movsb\ncld" : "+D"(to), "+S"(from), "+c"(size)::"memory");
}

/* Passes a value through registers, halves of them, and the stack. */
static unsigned long pass(unsigned long value, unsigned char byte)
{
    unsigned long result, other = 0;
    __asm__ volatile("push %2\n"
                     "pop %0\n"
                     "xchg %0, %1\n"
                     "xchg %0, %1\n"
                     "test %0, %0\n"
                     "cmovz %1, %0\n"
                     "movb %%cl, %%ah\n"
                     "movb %%ah, %%dl\n"
                     : "=&d"(result), "+S"(other)
                     : "b"(value), "c"(byte)
                     : "rax", "cc");
    return result;
}

static unsigned int through_vector(unsigned int value)
{
    unsigned int result;
    __asm__ volatile("movd %1, %%xmm5\n"
                     "movaps %%xmm5, %%xmm6\n"
                     "movd %%xmm6, %0"
                     : "=r"(result)
                     : "r"(value)
                     : "xmm5", "xmm6");
    return result;
}

static void fold(unsigned char *to)
{
    unsigned long word;
    unsigned int half;

    memcpy(&word, to, sizeof(word));
    word = pass(word, to[11]);
    memcpy(to, &word, sizeof(word));
    memcpy(&half, to + 20, sizeof(half));
    half = through_vector(half);
    memcpy(to + 20, &half, sizeof(half));
}

int main(void)
{
    if (read(0, input, 24) != 24 || read(0, input + 24, 40) != 40)
        return 1;
    copy(first, input, count);
    copy(first + count, input + count, 64 - count);
    move(first + 7, first, 40);
    move(first, first + 3, 50);
    move_by_string(second, first, 64);
    move_by_string_down(second + 9, second, 30);
    move_by_string(second + 4, second, 24); /* repeats a pattern */
    memcpy(&records[0], second + 17, sizeof(records[0]));
    records[1] = records[0];
    records[2] = records[1];
    for (unsigned i = 0; i < sizeof(records[2]); i++)
        final[i] = ((unsigned char *)&records[2])[i];
    for (unsigned i = sizeof(records[2]); i < 64; i++)
        final[i] = (unsigned char)(int)(signed char)second[i];
    fold(final);
    return final[0] == 255;
}
