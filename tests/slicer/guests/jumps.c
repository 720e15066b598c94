/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jumps back into a function that is active several times, to another one than its latest frame:
 * what a frame's branches let run goes on there. */
#include <setjmp.h>
#include <stdint.h>

#define DEPTH 5

#ifdef OWN_JUMPS
/* With a branch in front of the jump, and the stack in use in between. */
#undef setjmp
#define setjmp  own_setjmp
#define longjmp own_longjmp
#define jmp_buf own_buffer
typedef uint64_t own_buffer[8];
__attribute__((returns_twice)) int own_setjmp(own_buffer buffer);
__attribute__((noreturn)) void own_longjmp(own_buffer buffer, int value);
__asm__(".text\n"
        ".type own_setjmp, @function\n"
        "own_setjmp:\n\t"
        "mov %rbx, (%rdi)\n\t"
        "mov %rbp, 8(%rdi)\n\t"
        "mov %r12, 16(%rdi)\n\t"
        "mov %r13, 24(%rdi)\n\t"
        "mov %r14, 32(%rdi)\n\t"
        "mov %r15, 40(%rdi)\n\t"
        "lea 8(%rsp), %rdx\n\t"
        "mov %rdx, 48(%rdi)\n\t"
        "mov (%rsp), %rdx\n\t"
        "mov %rdx, 56(%rdi)\n\t"
        "xor %eax, %eax\n\t"
        "ret\n"
        ".size own_setjmp, . - own_setjmp\n"
        ".type own_longjmp, @function\n"
        "own_longjmp:\n\t"
        "mov %esi, %eax\n\t"
        "test %eax, %eax\n\t"
        "jnz 1f\n\t"
        "inc %eax\n"
        "1:\tpush %rax\n\t"
        "pop %rax\n\t"
        "mov (%rdi), %rbx\n\t"
        "mov 8(%rdi), %rbp\n\t"
        "mov 16(%rdi), %r12\n\t"
        "mov 24(%rdi), %r13\n\t"
        "mov 32(%rdi), %r14\n\t"
        "mov 40(%rdi), %r15\n\t"
        "mov 48(%rdi), %rsp\n\t"
        "jmp *56(%rdi)\n"
        ".size own_longjmp, . - own_longjmp\n");
#endif

static jmp_buf back[DEPTH];
static volatile uint32_t words[DEPTH], sink;

static uint32_t next(void)
{
    static uint32_t state = 12345;

    return state = state * 1103515245u + 12345u;
}

__attribute__((noinline)) static void dig(unsigned depth, unsigned to)
{
    volatile uint32_t before = words[depth];

    if (before & 1) {
        if (!setjmp(back[depth])) {
            if (depth + 1 < DEPTH)
                dig(depth + 1, to);
            else
                longjmp(back[to], 1);
            sink += 1;
        }
        sink += before;
    } else if (!setjmp(back[depth])) {
        if (depth + 1 < DEPTH)
            dig(depth + 1, to);
        else
            longjmp(back[to], 1);
        sink += 2;
    }
    if (words[depth] & 2)
        sink += depth;
}

int main(void)
{
    for (unsigned i = 0; i < 40; i++) {
        for (unsigned k = 0; k < DEPTH; k++)
            words[k] = next() >> 16;
        dig(0, i % DEPTH);
    }
    return 0;
}
