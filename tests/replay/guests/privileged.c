/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Executes instructions that only a kernel may (of int: those of devices), one by one, each with a
 * handler for what the processor says of it: #GP comes as SIGSEGV, #UD as SIGILL. Exits with 0 if
 * each did not pass, and came to the handler at its own address; else prints its name.
 */
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

/* rdi and rsi: memory; rdx: a port; rcx: 1. Names that assemblers do not agree on are bytes. */
#define INSTRUCTIONS(X)                                                                            \
    X(swapgs, "swapgs")                                                                            \
    X(hlt, "hlt")                                                                                  \
    X(int_33, "int $33")                                                                           \
    X(cli, "cli")                                                                                  \
    X(sti, "sti")                                                                                  \
    X(in_byte, "in $0x80, %al")                                                                    \
    X(in_dx, "in %dx, %eax")                                                                       \
    X(out_byte, "out %al, $0x80")                                                                  \
    X(out_dx, "out %eax, %dx")                                                                     \
    X(insb, "insb")                                                                                \
    X(rep_insl, "rep insl")                                                                        \
    X(outsb, "outsb")                                                                              \
    X(rep_outsl, "rep outsl")                                                                      \
    X(rdmsr, "rdmsr")                                                                              \
    X(wrmsr, "wrmsr")                                                                              \
    X(read_cr0, "mov %cr0, %rax")                                                                  \
    X(read_cr3_r15, "mov %cr3, %r15")                                                              \
    X(write_cr4, "mov %rax, %cr4")                                                                 \
    X(write_cr8_r15, "mov %r15, %cr8")                                                             \
    X(read_dr7, "mov %dr7, %rax")                                                                  \
    X(write_dr0_r15, "mov %r15, %dr0")                                                             \
    X(clts, "clts")                                                                                \
    X(lmsw, "lmsw %ax")                                                                            \
    X(lmsw_memory, "lmsw (%rdi)")                                                                  \
    X(lgdt, "lgdt (%rdi)")                                                                         \
    X(lidt, "lidt (%rdi)")                                                                         \
    X(lldt, "lldt %ax")                                                                            \
    X(lldt_memory, "lldt (%rdi)")                                                                  \
    X(ltr, "ltr %ax")                                                                              \
    X(ltr_memory, "ltr (%rdi)")                                                                    \
    X(invlpg, "invlpg (%rdi)")                                                                     \
    X(invpcid, "invpcid (%rdi), %rax")                                                             \
    X(invd, "invd")                                                                                \
    X(wbinvd, "wbinvd")                                                                            \
    X(wbnoinvd, ".byte 0xf3, 0x0f, 0x09")                                                          \
    X(sysret, "sysretl")                                                                           \
    X(sysretq, "sysretq")                                                                          \
    X(sysexit, ".byte 0x0f, 0x35")                                                                 \
    X(sysexitq, ".byte 0x48, 0x0f, 0x35")                                                          \
    X(xsetbv, "xsetbv")                                                                            \
    X(xsaves, ".byte 0x0f, 0xc7, 0x2f")                                                            \
    X(xrstors, ".byte 0x0f, 0xc7, 0x1f")                                                           \
    X(rsm, "rsm")                                                                                  \
    X(monitor, "monitor")                                                                          \
    X(mwait, "mwait")                                                                              \
    X(clac, ".byte 0x0f, 0x01, 0xca")                                                              \
    X(stac, ".byte 0x0f, 0x01, 0xcb")                                                              \
    X(clgi, ".byte 0x0f, 0x01, 0xdd")                                                              \
    X(vmrun, ".byte 0x0f, 0x01, 0xd8")                                                             \
    X(vmxoff, ".byte 0x0f, 0x01, 0xc4")                                                            \
    X(vmread, ".byte 0x0f, 0x78, 0x07")

#define CODE(name, text) __asm__("privileged_" #name ": " text "\n ret");
#define DECLARE(name, text)                                                                        \
    void privileged_##name(void *to, void *from, uint64_t port, uint64_t count);
#define ROW(name, text) {#name, privileged_##name},

__asm__(".text");
INSTRUCTIONS(CODE)
INSTRUCTIONS(DECLARE)

static const struct {
    const char *name;
    void (*run)(void *to, void *from, uint64_t port, uint64_t count);
} rows[] = {INSTRUCTIONS(ROW)};

static sigjmp_buf back;
static uintptr_t expected;
static _Alignas(64) uint8_t data[4096];

static void on_signal(int signo, siginfo_t *info, void *context)
{
    const ucontext_t *at = context;
    (void)info;
    siglongjmp(back, (uintptr_t)at->uc_mcontext.gregs[REG_RIP] == expected ? signo : -1);
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    volatile int passed = 0;
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGILL, &action, NULL);
    for (volatile size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        int signo = sigsetjmp(back, 1);
        expected = (uintptr_t)rows[i].run;
        if (!signo)
            rows[i].run(data, data, 0x80, 1);
        if (signo <= 0) {
            passed++;
            printf("%s: %s\n", rows[i].name, signo ? "a fault elsewhere" : "no fault");
        }
    }
    return passed > 0;
}
