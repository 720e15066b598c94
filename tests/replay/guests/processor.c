/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * processor WHAT: asks the processor what recordings may not hold. `leaves`: subleaves of CPUID that no table
 * lists; `xgetbv`: which vector state is in use; `xstore`: an instruction that few processors have.
 */
#include <cpuid.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

/* The four registers are among those that the events of a system call are compared with. */
static void see(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    register uint64_t r12 __asm__("r12") = a, r13 __asm__("r13") = b, r14 __asm__("r14") = c,
                          r15 __asm__("r15") = d;
    long number = SYS_getpid;
    __asm__ volatile("syscall"
                     : "+a"(number)
                     : "r"(r12), "r"(r13), "r"(r14), "r"(r15)
                     : "rcx", "r11", "memory");
}

static void see_leaf(unsigned leaf, unsigned subleaf)
{
    unsigned a, b, c, d;
    __cpuid_count(leaf, subleaf, a, b, c, d);
    see(a, b, c, leaf == 0xb || leaf == 0x1f ? 0 : d); /* there the core's number */
}

static void leaves(void)
{
    static const unsigned list[][2] = {{0, 5},    {7, 9},          {0xb, 3},       {0xd, 1},
                                       {0xd, 40}, {0x1d, 1},       {0x1e, 0},      {0x1f, 0},
                                       {0x1f, 3}, {0x24, 0},       {0x7f, 0},      {0x7f, 2},
                                       {4, 9},    {0x8000001d, 9}, {0x800000ff, 1}};
    for (unsigned i = 0; i < sizeof(list) / sizeof(*list); i++)
        see_leaf(list[i][0], list[i][1]);
}

static void in_use(void)
{
    unsigned a, b, c, d;
    uint32_t low = 0, high = 0;
    __cpuid_count(0xd, 1, a, b, c, d);
    if (a & 4)
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    see(a & 4, 0, 0, 0);
}

static void pass_by(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 3;
}

static void store_random(void)
{
    static uint8_t random[64];
    struct sigaction action = {.sa_sigaction = pass_by, .sa_flags = SA_SIGINFO};
    sigaction(SIGILL, &action, NULL);
    __asm__ volatile(".byte 0x0f, 0xa7, 0xc0" : : "a"(0), "d"(0), "D"(random) : "memory");
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 1;
    if (!strcmp(argv[1], "leaves"))
        leaves();
    else if (!strcmp(argv[1], "xgetbv"))
        in_use();
    else
        store_random();
    return 0;
}
