/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asks which processor it runs on, in all forms that need no kernel, and writes what it was told. */
#include <cpuid.h>
#include <stdint.h>
#include <unistd.h>

#include "common/cpuid.h"

#define PROCESSOR 0x7b

static uint64_t told[64];
static unsigned count;
uint16_t selector = PROCESSOR;

#define TELL(instruction, result, inputs)                                                          \
    do {                                                                                           \
        uint64_t flags, got = result;                                                              \
        __asm__ volatile("cmp $1, %%al; " instruction "; pushf; pop %1"                            \
                         : "+r"(got), "=&r"(flags)                                                 \
                         : inputs                                                                  \
                         : "cc", "memory", "r14", "r15");                                          \
        told[count++] = got;                                                                       \
        told[count++] = flags & 0x8d5;                                                             \
    } while (0)

#define OLD           0x1122334455667788ull
#define NAMED(number) "a"((uint64_t)(number))

static void ask_lsl(void)
{
    static const uint16_t selectors[] = {PROCESSOR, 0x78, 0,    3,    0x10, 0x18,  0x23,
                                         0x2b,      0x33, 0x40, 0x63, 0x7f, 0x103, 0xffff};
    for (unsigned i = 0; i < sizeof(selectors) / sizeof(*selectors); i++)
        TELL("lsl %%eax, %k0", OLD, NAMED(selectors[i]));
    TELL("lsl %%rax, %q0", OLD, NAMED(PROCESSOR | 0xabcd0000u));
    TELL("lsl %%ax, %w0", OLD, NAMED(PROCESSOR));
    TELL("lsl %w0, %k0", PROCESSOR, NAMED(0));
    TELL("mov %%rax, %%r15; lsl %%r15d, %%r15d; mov %%r15, %0", OLD, NAMED(PROCESSOR));
    TELL("lea -24(%%rax), %%r14; lsl 24(%%r14), %k0", OLD, NAMED(&selector));
    TELL("mov %%rax, %%r15; mov $0, %k0; lsl (%%r15,%q0,2), %%r15d; mov %%r15, %0", OLD,
         NAMED(&selector));
    TELL("lsl selector(%%rip), %w0", OLD, NAMED(0));
}

static void ask_rdpid(void)
{
    if (!wd_cpuid_has(7) || !(wd_cpuid_ask(7, 0).ecx & bit_RDPID))
        return;
    TELL(".byte 0xf3, 0x41, 0x0f, 0xc7, 0xff; mov %%r15, %0", OLD, NAMED(0)); /* rdpid r15 */
    TELL(".byte 0xf3, 0x41, 0x0f, 0xc7, 0xfe; mov %%r14, %0", OLD, NAMED(0)); /* rdpid r14 */
}

int main(void)
{
    const uint64_t head[] = {(uint64_t)(uintptr_t)told, sizeof(told)};
    ask_lsl();
    ask_rdpid();
    return write(STDOUT_FILENO, head, sizeof(head)) != (ssize_t)sizeof(head) ||
           write(STDOUT_FILENO, told, sizeof(told)) != (ssize_t)sizeof(told);
}
