/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a program can see of the x87 unit's last instruction: FIP, FOP, FDP and their selectors, as each
 * instruction stores them, after what changes them. All of it goes to standard output.
 */
#include <cpuid.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define SEEN_BYTES 32
#define SEEN_MAX   64

static uint8_t seen[SEEN_MAX][SEEN_BYTES];
static unsigned count;

static uint8_t area[4096] __attribute__((aligned(64)));
static double number = 1.5;
static const uint16_t unmasked = 0x300;

static void keep(unsigned bytes)
{
    memcpy(seen[count++], area, bytes);
    memset(area, 0, sizeof(area));
}

/* `code` has area as %0, number as %1; what it stored is `bytes` long. */
#define SEE(bytes, code)                                                                           \
    do {                                                                                           \
        __asm__ volatile(code                                                                      \
                         : "+m"(area)                                                              \
                         : "m"(number), "m"(unmasked), "a"(SYS_getpid)                             \
                         : "rcx", "rdx", "r11", "r15", "memory");                                  \
        keep(bytes);                                                                               \
    } while (0)

#define ENV    28
#define IMAGE  24                                      /* the x87 part before MXCSR */
#define BROKEN "fninit; fldcw %2; fld1; fldz; fdivrp;" /* an exception is pending */

static void see_environments(void)
{
    SEE(ENV, "fninit; fnstenv %0");
    SEE(ENV, "fninit; fld1; fnstenv %0");
    SEE(ENV, "fninit; fldl %1; fnstenv %0");
    SEE(ENV, "fninit; fldl %1; fld1; faddp; fnstenv %0");
    SEE(ENV, "fninit; lea %1, %%r15; fldl (%%r15); fnstenv %0");
    SEE(ENV, "fninit; fldl %1; jmp 1f; 1: nop; jmp 2f; 2: fnstenv %0");
    SEE(ENV, "fninit; fnop; fnclex; fnstenv %0");
    SEE(14, "fninit; fldl %1; data16 fnstenv %0");
    SEE(ENV, "fninit; fldl %1; fnsave %0");
    SEE(ENV, "fnstenv %0"); /* which is as after fninit */
    SEE(ENV, BROKEN "fnstenv %0; fnclex");
    SEE(ENV, BROKEN "syscall; fnstenv %0; fnclex");
    SEE(ENV, "fninit; fldl %1; syscall; fnstenv %0");
    SEE(ENV, "fninit; fldl %1; syscall; fld1; fnstenv %0");
}

static void see_images(void)
{
    SEE(IMAGE, "fninit; fldl %1; fxsave64 %0");
    SEE(IMAGE, "fninit; fldl %1; fxsave %0");
    SEE(IMAGE, BROKEN "fxsave64 %0; fnclex");
    SEE(IMAGE, BROKEN "fxsave %0; fnclex");
    SEE(IMAGE, "fninit; fldl %1; mov $7, %%eax; xor %%edx, %%edx; xsave64 %0");
    SEE(IMAGE, BROKEN "mov $7, %%eax; xor %%edx, %%edx; xsave %0; fnclex");
    SEE(IMAGE, BROKEN "mov $7, %%eax; xor %%edx, %%edx; xsave64 %0; fnclex");
}

/* Pointers of nobody's. */
static void see_loaded(void)
{
    SEE(ENV, "fninit; fld1; fnstenv %0; movl $0x12345678, 12+%0; movl $0x1234, 20+%0; fninit;"
             "fldenv %0; fnstenv %0");
    SEE(ENV, "fninit; fldl %1; fnstenv %0; fldenv %0; fnstenv %0");
    SEE(ENV, "fninit; fldl %1; fxsave64 %0; movl $0x12345678, 8+%0; movw $0x123, 6+%0;"
             "fxrstor64 %0; fnstenv %0");
    SEE(ENV, "fninit; fldl %1; mov $7, %%eax; xor %%edx, %%edx; xsave64 %0; fld1; xrstor64 %0; "
             "fnstenv %0");
    SEE(ENV, "fninit; fldl %1; fnsave %0; fld1; frstor %0; fnstenv %0");
}

static void pass_by(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number, (void)info;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

static void see_after_a_fault(void)
{
    struct sigaction action = {.sa_sigaction = pass_by, .sa_flags = SA_SIGINFO};
    sigaction(SIGILL, &action, NULL);
    SEE(ENV, "fninit; fldl %1; ud2; fnstenv %0");
    SEE(ENV, BROKEN "ud2; fnstenv %0; fnclex");
}

int main(void)
{
    see_environments();
    see_images();
    see_loaded();
    see_after_a_fault();
    return write(STDOUT_FILENO, seen, sizeof(seen)) != (ssize_t)sizeof(seen);
}
