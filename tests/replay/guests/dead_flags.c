/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Faults at the start of code that reads no flag before all are written: the handler is shown the
 * flags all the same. It passes each by. Exit status 0: they were as the processor has them. */
#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

#define LOAD_BYTES 3
#define STATUS     0x8d5 /* CF, PF, AF, ZF, SF, OF */
#define FLAGS_WERE 0x84  /* what -5 - 1 leaves: PF, SF */

static volatile unsigned wrong;

static void pass_by(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)number, (void)info;
    wrong += (registers[REG_EFL] & STATUS) != FLAGS_WERE;
    registers[REG_RIP] += LOAD_BYTES;
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = pass_by, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    for (int i = 0; i < 2; i++) {
        int64_t value = -5;
        __asm__ volatile("cmp $1, %0\n\t"
                         "je 1f\n\t"
                         ".byte 0x48, 0x8b, 0x32\n\t" /* mov (%rdx), %rsi */
                         "1: or $1, %0\n\t"
                         "mov $600, %%ecx\n"
                         "2: dec %%ecx\n\t"
                         "jnz 2b"
                         : "+r"(value)
                         : "d"(0)
                         : "rcx", "rsi", "memory", "cc");
    }
    return wrong ? 1 : 0;
}
