/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Uses addresses where it has no memory, in every way that there is to use one, and catches the faults.
 *
 *   everywhere FIRST LAST STEP     numbers as strtoull has them
 *
 * Prints how many accesses faulted, and a sum of what the kernel said of them. One that did not fault is
 * printed by itself.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static sigjmp_buf back;
static uint64_t faults, sum;
static uint8_t own[4096] __attribute__((aligned(64)));
static uint8_t handler_stack[65536];

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)context;
    faults++;
    sum = sum * 31 + (uint64_t)number * 3 + (uint64_t)info->si_code * 7 + (uint64_t)info->si_addr;
    siglongjmp(back, 1);
}

/* ---- the ways ---- */

#define ALL                                                                                        \
    "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r11", "r12", "r15", "xmm0", "xmm1", "xmm2",          \
        "memory", "cc"

/* The address is in rbx, one of the program's own in %1; no way is expected to end. */
#define WAY(name, text)                                                                            \
    static void name(uint64_t at)                                                                  \
    {                                                                                              \
        __asm__ volatile("mov %%rsp, %%r12\n\t" text "\n\tmov %%r12, %%rsp"                        \
                         :                                                                         \
                         : "b"(at), "r"((uint64_t)(uintptr_t)own)                                  \
                         : ALL);                                                                   \
    }

WAY(load, "mov (%%rbx), %%rax")
WAY(store, "mov %%rax, (%%rbx)")
WAY(store_far, "lea -0x7ffffff0(%%rbx), %%rcx\n\tmovb $1, 0x7ffffff0(%%rcx)")
WAY(load_index, "mov $-3, %%rcx\n\tlea 24(%%rbx), %%rdx\n\tmov (%%rdx,%%rcx,8), %%eax")
WAY(load_r15, "mov %%rbx, %%r15\n\tmov 8(%%r15), %%al")
WAY(load_copy, "mov %1, %%rax\n\tmov (%%rax), %%cl\n\tmov %%rbx, %%rdx\n\tsub %1, %%rdx\n\t"
               "add %%rdx, %%rax\n\tmov (%%rax), %%cl")
WAY(load_stepped, "mov %1, %%rax\n\tmov (%%rax), %%cl\n\tmov %%rbx, %%rax\n\tadd $64, %%rax\n\t"
                  "mov -64(%%rax), %%cl")
WAY(load_exchanged,
    "mov %1, %%rax\n\tmov (%%rax), %%cl\n\tmov %%rbx, %%rdx\n\txchg %%rax, %%rdx\n\t"
    "mov (%%rax), %%cl")
WAY(load_popped,
    "mov %1, %%rax\n\tmov (%%rax), %%cl\n\tpush %%rbx\n\tpop %%rax\n\tmov (%%rax), %%cl")
WAY(load_fs, "rdfsbase %%rcx\n\tmov %%rbx, %%rdx\n\tsub %%rcx, %%rdx\n\tmov %%fs:(%%rdx), %%eax")
WAY(push, "lea 8(%%rbx), %%rsp\n\tpush %%rax")
WAY(pop, "mov %%rbx, %%rsp\n\tpop %%rax")
WAY(call, "lea 8(%%rbx), %%rsp\n\tcall 1f\n1:")
WAY(ret, "mov %%rbx, %%rsp\n\tret")
WAY(leave, "push %%rbp\n\tmov %%rbx, %%rbp\n\tleave")
WAY(enter, "lea 8(%%rbx), %%rsp\n\tenter $0, $0")
WAY(jump_by, "jmp *(%%rbx)")
WAY(call_by, "call *(%%rbx)")
WAY(jump_to, "jmp *%%rbx")
WAY(move, "mov %%rbx, %%rdi\n\tmov %1, %%rsi\n\tmov $9, %%ecx\n\trep movsb")
WAY(move_from, "mov %%rbx, %%rsi\n\tmov %1, %%rdi\n\tmov $9, %%ecx\n\trep movsb")
WAY(fill_down, "mov %%rbx, %%rdi\n\tmov $9, %%ecx\n\tstd\n\trep stosb\n\tcld")
WAY(scan, "mov %%rbx, %%rdi\n\tscasb")
WAY(translate, "push %%rbx\n\txor %%eax, %%eax\n\txlat\n\tpop %%rbx")
WAY(vector, "movdqu %%xmm0, (%%rbx)")
WAY(masked, "mov %%rbx, %%rdi\n\tpcmpeqd %%xmm1, %%xmm1\n\tmaskmovdqu %%xmm1, %%xmm0")
WAY(add, "lock addq $1, (%%rbx)")
WAY(bit, "btsl $3, (%%rbx)")
WAY(exchange, "and $-16, %%rbx\n\tlock cmpxchg16b (%%rbx)")
WAY(save, "fxsave64 (%%rbx)")
WAY(restore, "and $-64, %%rbx\n\tmov $7, %%eax\n\txor %%edx, %%edx\n\txrstor64 (%%rbx)")

/* Four lanes, the third of which is at the address. */
static void gather(uint64_t at)
{
    static int64_t offsets[4];
    offsets[2] = (int64_t)(at - (uint64_t)(uintptr_t)own);
    __asm__ volatile("vmovdqu %[offsets], %%ymm0\n\tvpcmpeqd %%ymm1, %%ymm1, %%ymm1\n\t"
                     "vpgatherqq %%ymm1, (%[own],%%ymm0,1), %%ymm2"
                     :
                     : [offsets] "m"(offsets), [own] "r"(own)
                     : ALL);
}

static void narrow(uint64_t at)
{
    if (at < UINT32_MAX)
        __asm__ volatile("mov (%%ebx), %%al" : : "b"(at) : ALL);
    else
        siglongjmp(back, 1);
}

static void fixed(uint64_t at)
{
    (void)at;
    __asm__ volatile("movabs 0x200012345678, %%rax" : : : ALL);
}

static void (*const ways[])(uint64_t) = {
    load,           store,       store_far, load_index, load_r15, load_copy, load_stepped,
    load_exchanged, load_popped, load_fs,   push,       pop,      call,      ret,
    leave,          enter,       jump_by,   call_by,    jump_to,  move,      move_from,
    fill_down,      scan,        translate, vector,     masked,   add,       bit,
    exchange,       save,        restore,   narrow,     fixed,    gather};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static bool has_gathers(void)
{
    return __builtin_cpu_supports("avx2");
}

static void use(uint64_t at)
{
    static size_t i; /* longjmp leaves it as it is */
    for (i = 0; i < WAYS - !has_gathers(); i++) {
        if (sigsetjmp(back, 0))
            continue;
        ways[i](at);
        printf("way %zu reached %#" PRIx64 "\n", i, at);
    }
}

int main(int argc, char **argv)
{
    stack_t stack = {.ss_sp = handler_stack, .ss_size = sizeof(handler_stack)};
    struct sigaction action = {.sa_sigaction = on_fault,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    if (argc != 4)
        return 2;
    sigaltstack(&stack, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    uint64_t last = strtoull(argv[2], NULL, 0), step = strtoull(argv[3], NULL, 0);
    for (uint64_t at = strtoull(argv[1], NULL, 0); at < last; at += step)
        use(at);
    printf("%" PRIu64 " faults, %" PRIx64 "\n", faults, sum);
    return 0;
}
