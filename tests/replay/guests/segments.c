/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Segments in 64-bit code: string instructions and xlat through gs and fs, bases that are none, segment registers that
 * get what they have. What memory and registers hold in the end is seen at a system call.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE      4096
#define COPY_GS   "cld; .byte 0x65; rep movsb"
#define NOT_THERE 0x800000000000ul

static uint8_t *pages; /* two, with nothing behind them */
static volatile unsigned fault_count;
static uint64_t seen[64];
static unsigned seen_count;

/* The instruction that faulted is passed by: a nop of as many bytes stands behind each. */
static void pass_by(int number, siginfo_t *info, void *context)
{
    greg_t *gregs = ((ucontext_t *)context)->uc_mcontext.gregs;
    fault_count++;
    seen[seen_count++] = (uint64_t)number << 32 | (uint32_t)info->si_code;
    seen[seen_count++] = (uint64_t)gregs[REG_RCX];
    seen[seen_count++] = (uint64_t)gregs[REG_RSI] - (uint64_t)pages;
    gregs[REG_RIP] = gregs[REG_R13];
}

static void see(uint64_t value)
{
    register uint64_t r12 __asm__("r12") = value, r14 __asm__("r14") = fault_count;
    long number = SYS_getpid;
    __asm__ volatile("syscall" : "+a"(number) : "r"(r12), "r"(r14) : "rcx", "r11", "memory");
    seen[seen_count++] = value;
}

static uint64_t sum(const uint8_t *bytes, size_t count)
{
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++)
        total = total * 31 + bytes[i];
    return total;
}

static void gs_base_set(uint64_t base)
{
    __asm__ volatile("wrgsbase %0" : : "r"(base));
}

static void strings(void)
{
    uint8_t to[64] = {0};
    uint64_t si, di, cx, ax = 0, flags;
    gs_base_set((uint64_t)pages - 0x1000);
    si = 0x1000, di = (uint64_t)to, cx = 40;
    __asm__ volatile(COPY_GS : "+S"(si), "+D"(di), "+c"(cx) : : "memory");
    see(sum(to, sizeof(to)));
    see(si);
    si = 0x1000 + 40;
    cx = 5;
    __asm__ volatile("std; .byte 0x65; rep lodsq; cld" : "+S"(si), "+a"(ax), "+c"(cx) : : "memory");
    see(ax ^ si);
    si = 0x1008;
    __asm__ volatile(".byte 0x65; lodsb" : "+S"(si), "+a"(ax) : : "memory");
    see(ax ^ si);
    si = 0x1000, di = (uint64_t)to, cx = 64;
    __asm__ volatile(".byte 0x65; repe cmpsb; pushf; pop %3"
                     : "+S"(si), "+D"(di), "+c"(cx), "=r"(flags)
                     :
                     : "memory", "cc");
    see(flags & 0x8d5);
    see(cx);
    ax = 17;
    __asm__ volatile(".byte 0x65; xlatb" : "+a"(ax) : "b"(0x1000ul) : "memory");
    see(ax);
    si = 0x20001008u; /* cut to 32 bits before the base is added */
    __asm__ volatile("wrgsbase %2; .byte 0x65, 0x67; lodsl"
                     : "+S"(si), "+a"(ax)
                     : "r"((uint64_t)pages - 0x20001000u)
                     : "memory");
    see(ax ^ si);
}

/* Two elements are left when the pages end; the destination is a page that code lies in, or so the guard thinks. */
static void faults(void)
{
    static uint8_t to[128];
    uint64_t si = 0x1000 + 2 * PAGE - 30, di = (uint64_t)to, cx = 32;
    gs_base_set((uint64_t)pages - 0x1000);
    __asm__ volatile("lea 1f(%%rip), %%r13; " COPY_GS "; 1:"
                     : "+S"(si), "+D"(di), "+c"(cx)
                     :
                     : "memory", "r13");
    see(sum(to, sizeof(to)));
    see(cx);
    __asm__ volatile("lea 1f(%%rip), %%r13; .byte 0x65; lodsb; 1:"
                     : "+S"(si)
                     :
                     : "memory", "r13", "rax");
    see(si);
}

/* Whether a base that is none faults: emulators may take it. */
static int is_strict(void)
{
    uint64_t kept;
    __asm__ volatile("rdfsbase %0; lea 1f(%%rip), %%r13; wrfsbase %1; 1: wrfsbase %0"
                     : "=&r"(kept)
                     : "r"(NOT_THERE)
                     : "r13");
    return fault_count == 1;
}

static void bases(void)
{
    uint64_t base = 0x1234567890abul;
    __asm__ volatile("wrgsbase %0; lea 1f(%%rip), %%r13; wrgsbase %1; 1: rdgsbase %0"
                     : "+r"(base)
                     : "r"(NOT_THERE)
                     : "r13");
    see(base);
    __asm__ volatile("lea 1f(%%rip), %%r13; wrfsbase %0; 1:" : : "r"(0x1234567890abcdeful) : "r13");
    __asm__ volatile(
        "mov %1, %%r15; wrgsbase %%r15d; xor %%r15d, %%r15d; rdgsbase %%r15; mov %%r15, %0"
        : "=r"(base)
        : "r"(0xfedcba9887654321ul)
        : "r15");
    see(base);
    __asm__ volatile("rdgsbase %k0" : "=r"(base));
    see(base);
}

static void by_fs(void)
{
    uint64_t kept, si = 40, ax = 0, cx = 3;
    __asm__ volatile("rdfsbase %0; wrfsbase %4; std; .byte 0x64; rep lodsb; cld; wrfsbase %0"
                     : "=&r"(kept), "+S"(si), "+a"(ax), "+c"(cx)
                     : "r"(pages)
                     : "memory");
    see(ax ^ si);
}

static void segment_registers(void)
{
    uint16_t word;
    uint64_t whole;
    __asm__ volatile("mov %%ds, %0; mov %0, %%ds" : "=&r"(whole));
    see(whole);
    __asm__ volatile("mov %%es, %0; mov %0, %%es" : "=m"(word));
    __asm__ volatile("mov %%ss, %%r15d; mov %%r15d, %%ss; mov %%r15, %0" : "=r"(whole) : : "r15");
    see(whole);
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = pass_by, .sa_flags = SA_SIGINFO};
    uint64_t selector = 0x2b;
    if (argc > 1 && !strcmp(argv[1], "other")) {
        __asm__ volatile("mov %k0, %%es" : : "r"(selector));
        return 0;
    }
    pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(pages + 2 * PAGE, PAGE);
    for (unsigned i = 0; i < 2 * PAGE; i++)
        pages[i] = (uint8_t)(i * 7 + i / 256);
    sigaction(SIGSEGV, &action, NULL);
    segment_registers();
    if (!(getauxval(AT_HWCAP2) & 2))
        return 77;
    strings();
    if (argc > 1) {
        if (!is_strict())
            return 78;
        bases();
    } else {
        faults();
        by_fs();
    }
    return write(STDOUT_FILENO, seen, sizeof(seen)) != (ssize_t)sizeof(seen);
}
