/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pages that may not be touched, and a handler that opens each where a fault strikes. */
#ifndef TESTS_WET_GUESTS_OPENED_H
#define TESTS_WET_GUESTS_OPENED_H

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096u

static uint8_t *area;
static volatile unsigned faults;

/* For SIGSEGV, with SA_SIGINFO. */
static void on_fault(int signo, siginfo_t *info, void *context)
{
    uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1);
    (void)signo;
    (void)context;
    faults++;
    if (mprotect((void *)page, PAGE, PROT_READ | PROT_WRITE))
        _Exit(3);
}

#endif
