/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What programs seldom do: strange ORDERs, each of which says what came of it. The recorded run has
 * none, unless its argument is a number.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define TRAP_FLAG   0x100ul
#define NESTED_TASK 0x4000ul
#define TIB         (1ul << 40)

static volatile int order;

static void trapped(int number, siginfo_t *info, void *context)
{
    const ucontext_t *at = context;
    printf("signal %d, code %d, trap %lld\n", number, info->si_code,
           (long long)at->uc_mcontext.gregs[REG_TRAPNO]);
    fflush(stdout);
    _exit(11);
}

static void flags_set(unsigned long bits)
{
    unsigned long flags;
    __asm__ volatile("pushfq; orq %1, (%%rsp); popfq; nop; pushfq; popq %0"
                     : "=r"(flags)
                     : "r"(bits)
                     : "memory", "cc");
    printf("flags %lx\n", flags & (TRAP_FLAG | NESTED_TASK));
}

static void breakpoint(int which)
{
    if (which)
        __asm__ volatile(".byte 0xf1"); /* int1, also called icebp */
    else
        __asm__ volatile("int3");
}

/* Two TiB in the middle of nowhere, where no program has memory. */
static void hole_ask(void)
{
    void *at = (void *)(0x200000000000ul - TIB);
    int gone = munmap(at, 2 * TIB);
    int open = mprotect(at, 2 * TIB, PROT_READ) ? errno : 0;
    int left = madvise(at, 2 * TIB, MADV_DONTNEED) ? errno : 0;
    printf("munmap %d, mprotect %d, madvise %d\n", gone, open, left);
}

/* The same with a page of the program's in it. */
static void hole_empty(void)
{
    char *at = (char *)(0x300000000000ul), *page = at + TIB;
    page = mmap(page, 4096, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (page == MAP_FAILED)
        exit(9);
    *page = 'x';
    int gone = munmap(at, 2 * TIB);
    printf("munmap %d, then %d\n", gone, msync(page, 4096, MS_ASYNC) ? errno : 0);
}

static void *count_up(void *counter)
{
    ++*(int *)counter;
    return NULL;
}

/* One after the other, of which the recording has none. */
static void threads_begin(void)
{
    pthread_t thread;
    int counter = 0;
    for (int i = 0; i < 3 && !pthread_create(&thread, NULL, count_up, &counter); i++)
        pthread_join(thread, NULL);
    printf("%d threads\n", counter);
}

static void obey(void)
{
    switch (order) {
    case 1:
    case 2:
        breakpoint(order == 2);
        break;
    case 3:
        flags_set(NESTED_TASK);
        break;
    case 4:
        flags_set(TRAP_FLAG);
        break;
    case 5:
        hole_ask();
        break;
    case 6:
        hole_empty();
        break;
    case 7:
        threads_begin();
    }
}

int main(int argc, char *argv[])
{
    struct sigaction action = {.sa_sigaction = trapped, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    if (argc > 1)
        order = atoi(argv[1]);
    obey(); /* STRANGE */
    printf("done\n");
    return 0;
}
