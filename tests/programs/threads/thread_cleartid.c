/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads without the C library's: a bare clone whose id the kernel clears when it ends, and
 * set_tid_address of one that moves the word. */
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK_BYTES 16384

static _Alignas(64) char stacks[2][STACK_BYTES];
static _Atomic uint32_t tids[2], moved_word = 99;
static unsigned results[2];

/* No thread-local storage of its own: nothing of the C library may be called. */
static int work(void *arg)
{
    unsigned *result = arg;

    for (unsigned i = 1; i <= 1000; i++)
        *result += i * i % 7;
    return 0;
}

static void set_tid_address(_Atomic uint32_t *word)
{
    long number = SYS_set_tid_address;

    __asm__ volatile("syscall" : "+a"(number) : "D"(word) : "rcx", "r11", "memory");
}

static int move_word(void *arg)
{
    set_tid_address(&moved_word);
    return work(arg);
}

static void wait_for_zero(_Atomic uint32_t *word)
{
    for (uint32_t now; (now = atomic_load(word)) != 0;)
        syscall(SYS_futex, word, FUTEX_WAIT, now, NULL, NULL, 0);
}

static void start(int i, int (*fn)(void *))
{
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;

    clone(fn, stacks[i] + STACK_BYTES, flags, &results[i], &tids[i], NULL, &tids[i]);
}

int main(void)
{
    start(0, work);
    wait_for_zero(&tids[0]);
    start(1, move_word);
    wait_for_zero(&moved_word);
    printf("results %u %u, cleared %d, moved: %s\n", results[0], results[1],
           atomic_load(&tids[0]) == 0, atomic_load(&tids[1]) != 0 ? "kept" : "cleared");
    return 0;
}
