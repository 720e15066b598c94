/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every `rep` string instruction, upwards and downwards (DF = 1), with zero counts too. */
#include <stdio.h>
#include <string.h>

static void copy_up(void *to, const void *from, size_t bytes)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

static void copy_down(char *to, const char *from, size_t bytes)
{
    to += bytes - 1;
    from += bytes - 1;
    __asm__ volatile("std\n\trep movsb\n\tcld"
                     : "+D"(to), "+S"(from), "+c"(bytes)
                     :
                     : "memory", "cc");
}

static void copy_words(void *to, const void *from, size_t words)
{
    __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(words) : : "memory");
}

static void fill_quads(void *to, unsigned long value, size_t quads)
{
    __asm__ volatile("rep stosq" : "+D"(to), "+c"(quads) : "a"(value) : "memory");
}

static void fill_longs_down(unsigned *last, unsigned value, size_t longs)
{
    __asm__ volatile("std\n\trep stosl\n\tcld"
                     : "+D"(last), "+c"(longs)
                     : "a"(value)
                     : "memory", "cc");
}

static size_t length_of(const char *text)
{
    size_t left = (size_t)-1;

    __asm__ volatile("repne scasb" : "+D"(text), "+c"(left) : "a"(0) : "memory", "cc");
    return (size_t)-2 - left;
}

static size_t equal_prefix(const char *a, const char *b, size_t bytes)
{
    size_t left = bytes;
    unsigned char same;

    __asm__ volatile("cmpb %%al, %%al\n\trepe cmpsb\n\tsete %0"
                     : "=&r"(same), "+S"(a), "+D"(b), "+c"(left)
                     :
                     : "memory", "cc");
    return same ? bytes : bytes - left - 1;
}

static unsigned sum_lods(const unsigned char *bytes, size_t count)
{
    unsigned sum = 0;

    for (size_t i = 0; i < count; i++) {
        unsigned long value = 0;
        __asm__ volatile("lodsb" : "+S"(bytes), "+a"(value) : : "memory");
        sum = sum * 3 + (unsigned)value;
    }
    return sum;
}

int main(void)
{
    char text[64] = "overlapping moves go downwards";
    unsigned long quads[40];
    unsigned longs[17];
    unsigned long digest = 0;

    copy_down(text + 4, text, strlen(text) + 1);
    printf("%s\n", text);
    copy_up(text, "OVER", 4);
    copy_up(text, "unused", 0);
    printf("%s %zu\n", text, length_of(text));
    fill_quads(quads, 0x0123456789abcdefUL, 40);
    copy_words(quads + 1, text, 5);
    for (int i = 0; i < 40; i++)
        digest = digest * 31 + quads[i];
    printf("quads %016lx\n", digest);
    memset(longs, 0, sizeof(longs));
    fill_longs_down(&longs[15], 7, 15);
    printf("longs %u %u %u %u\n", longs[0], longs[1], longs[15], longs[16]);
    printf("prefix %zu %zu %zu\n", equal_prefix("abcdef", "abcxef", 6),
           equal_prefix("same", "same", 4), equal_prefix("", "", 0));
    printf("lods %u\n", sum_lods((const unsigned char *)text, 20));
    return 0;
}
