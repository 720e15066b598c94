/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Indirect jumps of many kinds: an interpreter with computed gotos, one jump to many targets,
 * and one to targets that differ in their high bits only. Prints a sum.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define STEPS       20000
#define STUBS       6
#define STUB_BASE   0x700000000000ull
#define STUB_STRIDE 0x100000000ull

static unsigned long sum;

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

/* Each handler ends in a jump of its own; code is a stream of numbers. */
static void interpret(uint32_t seed)
{
    static const void *const handlers[] = {&&add, &&xor, &&turn, &&twice, &&less, &&swap, &&end};
    unsigned long a = 1, b = seed;
    unsigned left = STEPS;
#define NEXT goto *handlers[left-- ? next_random(&seed) % 6 : 6]
    NEXT;
add:
    a += b;
    NEXT;
    xor : a ^= b << 3;
    NEXT;
turn:
    b = b >> 7 | b << 57;
    NEXT;
twice:
    a *= 2;
    NEXT;
less:
    b -= a;
    NEXT;
swap:
    a ^= b;
    b ^= a;
    a ^= b;
    NEXT;
end:
    sum += a ^ b;
}

/* More targets than a small table can have. */
static unsigned long choose(unsigned n, unsigned long x)
{
#define LABEL(i) &&l##i,
#define CODE(i)                                                                                    \
    l##i : x = (x << (i) % 13) ^ (x >> 5) ^ (i);                                                   \
    goto done;
#define TEN(m, t) m(t##0) m(t##1) m(t##2) m(t##3) m(t##4) m(t##5) m(t##6) m(t##7) m(t##8) m(t##9)
#define FEW(m)    TEN(m, 1) TEN(m, 2) TEN(m, 3) TEN(m, 4) TEN(m, 5) TEN(m, 6) TEN(m, 7) TEN(m, 8)
#define MORE(m)   TEN(m, 9) TEN(m, 10) TEN(m, 11) TEN(m, 12) TEN(m, 13) TEN(m, 14) TEN(m, 15)
#define ALL(m)    FEW(m) MORE(m) TEN(m, 16)
    static const void *const labels[] = {ALL(LABEL)};
    goto *labels[n % (sizeof(labels) / sizeof(labels[0]))];
    ALL(CODE)
done:
    return x;
}

/* jmp *rdi: the stubs return to the caller. */
static unsigned long jump_to(void *stub)
{
    unsigned long result;
    __asm__ volatile(
        "sub $128, %%rsp; lea 1f(%%rip), %%rdx; push %%rdx; jmp *%1; 1: add $128, %%rsp"
        : "=a"(result)
        : "D"(stub)
        : "rdx", "memory", "cc");
    return result;
}

static void far_stubs(void)
{
    void *stubs[STUBS];
    for (unsigned i = 0; i < STUBS; i++) {
        const uint8_t code[] = {0xb8, (uint8_t)(i + 1), 0, 0, 0, 0xc3}; /* mov eax, i + 1; ret */
        stubs[i] = mmap((void *)(STUB_BASE + i * STUB_STRIDE), 4096, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (stubs[i] == MAP_FAILED)
            return;
        memcpy(stubs[i], code, sizeof(code));
        mprotect(stubs[i], 4096, PROT_READ | PROT_EXEC);
    }
    for (unsigned i = 0; i < 1000; i++)
        sum += jump_to(stubs[i % STUBS]);
}

int main(void)
{
    uint32_t seed = 7;
    for (unsigned i = 0; i < 4; i++)
        interpret(i);
    for (unsigned i = 0; i < STEPS; i++)
        sum = choose(next_random(&seed), sum);
    far_stubs();
    printf("%lu\n", sum);
    return 0;
}
