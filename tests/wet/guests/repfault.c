/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * String instructions that fault halfway: the page after the border may not be touched, and a handler
 * opens it. Upwards and downwards, by bytes and by words; a move of which the source lies in the
 * destination, so that doing any of it twice would show; compares and scans.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "opened.h"

#define PAGES 4u

static void close_page(unsigned page)
{
    if (mprotect(area + page * PAGE, PAGE, PROT_NONE))
        _Exit(3);
}

static void move_bytes(uint8_t *to, const uint8_t *from, size_t count)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
}

static void move_words_down(uint64_t *to, const uint64_t *from, size_t count)
{
    __asm__ volatile("std\n\trep movsq\n\tcld" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
}

static void fill_words(uint32_t *to, uint32_t value, size_t count)
{
    __asm__ volatile("rep stosl" : "+D"(to), "+c"(count) : "a"(value) : "memory");
}

static size_t left_after_compare(const uint8_t *a, const uint8_t *b, size_t count)
{
    __asm__ volatile("repe cmpsb" : "+D"(a), "+S"(b), "+c"(count) : : "memory", "cc");
    return count;
}

static size_t left_after_scan(const uint8_t *at, uint8_t value, size_t count)
{
    __asm__ volatile("repne scasb" : "+D"(at), "+c"(count) : "a"(value) : "memory", "cc");
    return count;
}

static unsigned round_of(unsigned n)
{
    static uint8_t from[PAGES * PAGE];
    for (size_t i = 0; i < sizeof(from); i += 5)
        from[i] = (uint8_t)(i * 7 + n);
    close_page(1);
    close_page(2);
    move_bytes(area + PAGE - 96 + n, from, PAGE + 1000);
    close_page(1);
    move_words_down((uint64_t *)(area + 2 * PAGE) + 20, (const uint64_t *)from + 99, 60);
    close_page(2);
    fill_words((uint32_t *)(area + 2 * PAGE) - 30, 0x01020304u * n, 70);
    close_page(2);
    move_bytes(area + 2 * PAGE - 200, area + 2 * PAGE - 190, 400); /* downwards into itself */
    memcpy(from, area + 2 * PAGE - 300, 600);
    close_page(2);
    size_t left = left_after_compare(area + 2 * PAGE - 300, from, 600);
    close_page(2);
    return (unsigned)(left + left_after_scan(area + 2 * PAGE - 100, 0xfb, 500));
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    area = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED)
        return 1;
    unsigned sum = 0;
    for (unsigned n = 0; n < 3; n++)
        sum += round_of(n);
    for (unsigned i = 0; i < PAGES * PAGE; i++)
        sum = sum * 31 + area[i];
    printf("%u faults, %u\n", faults, sum);
    return 0;
}
