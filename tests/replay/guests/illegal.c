/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Instructions that replay refuses, on a processor (or in a process) where they are illegal: each raises
 * SIGILL, whose handler passes it by. Exit status 2: they are legal here.
 */
#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

#include "common/cpuid.h"

static uint8_t area[128] __attribute__((aligned(64)));
static volatile unsigned caught, length;

static void pass_by(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += length;
    caught++;
}

#define TRY(bytes_long, bytes)                                                                     \
    do {                                                                                           \
        length = (bytes_long);                                                                     \
        __asm__ volatile(".byte " bytes : : "a"(area), "S"(0), "c"(0) : "memory");                 \
    } while (0)

static void try_all(void)
{
    TRY(5, "0xc4, 0xe2, 0x78, 0x49, 0x00");       /* ldtilecfg [rax] */
    TRY(5, "0xc4, 0xe2, 0x79, 0x49, 0x00");       /* sttilecfg [rax] */
    TRY(5, "0xc4, 0xe2, 0x78, 0x49, 0xc0");       /* tilerelease */
    TRY(5, "0xc4, 0xe2, 0x7b, 0x49, 0xc0");       /* tilezero tmm0 */
    TRY(5, "0xc4, 0xe2, 0x73, 0x5e, 0xc2");       /* tdpbssd tmm0, tmm2, tmm1 */
    TRY(6, "0xc4, 0xe2, 0x7a, 0x4b, 0x04, 0x30"); /* tilestored [rax+rsi], tmm0 */
    TRY(6, "0xc4, 0xe2, 0x7b, 0x4b, 0x04, 0x30"); /* tileloadd tmm0, [rax+rsi] */
    TRY(5, "0xf2, 0x0f, 0x38, 0xf8, 0x08");       /* enqcmd rcx, [rax] */
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = pass_by, .sa_flags = SA_SIGINFO};
    struct wd_cpuid has = wd_cpuid_ask(7, 0);
    if (wd_cpuid_has(7) && (has.edx >> 24 & 1 || has.ecx >> 29 & 1))
        return 2;
    sigaction(SIGILL, &action, NULL);
    try_all();
    return caught == 8 ? 0 : 1;
}
