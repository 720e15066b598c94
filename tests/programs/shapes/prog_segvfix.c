/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A SIGSEGV handler that repairs the cause and returns: the instruction runs again. One fault is
 * repaired by mprotect, one by changing a register in the saved context, one by skipping. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>

static unsigned char *page;
static unsigned char spare[64];
static volatile int faults;

static void on_fault(int signo, siginfo_t *info, void *context)
{
    ucontext_t *state = context;

    (void)signo;
    faults++;
    if ((uintptr_t)info->si_addr - (uintptr_t)page < 4096)
        mprotect(page, 4096, PROT_READ | PROT_WRITE);
    else if (state->uc_mcontext.gregs[REG_RBX] == 8)
        state->uc_mcontext.gregs[REG_RBX] = (greg_t)(uintptr_t)spare;
    else
        state->uc_mcontext.gregs[REG_RIP] += 2;
}

/* writes 1 at `address` (in rbx, which the handler may change), then doubles the byte there */
static void store_one(uintptr_t address)
{
    __asm__ volatile("movb $1, (%0)\n\taddb $1, (%0)" : "+b"(address) : : "memory", "cc");
}

static void skip_load(void)
{
    uintptr_t nowhere = 24;

    /* 8b 03 is two bytes long: mov eax, [rbx] */
    __asm__ volatile(".byte 0x8b, 0x03" : : "b"(nowhere) : "rax", "memory");
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || sigaction(SIGSEGV, &action, NULL) != 0)
        return 1;
    store_one((uintptr_t)page + 5);
    printf("page %d, faults %d\n", page[5], faults);
    store_one(8);
    printf("spare %d, faults %d\n", spare[0], faults);
    skip_load();
    printf("faults %d\n", faults);
    return 0;
}
