/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Protection keys: what they forbid to instructions, to threads and to the kernel, printed. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROUNDS = 200 };

static volatile long *page;
static volatile int faults, last_code, last_key;
static int key;

/* Takes the key off the page, so that the store succeeds when it is tried again. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    faults++;
    last_code = info->si_code;
    last_key = info->si_pkey;
    if (pkey_mprotect((void *)page, 4096, PROT_READ | PROT_WRITE, 0) != 0)
        _exit(77);
}

static long sum_under_key(long from)
{
    long sum = 0;
    for (int i = 0; i < ROUNDS; i++) {
        pkey_set(key, 0);
        page[i % 64] += from + i;
        pkey_set(key, PKEY_DISABLE_WRITE);
        sum += page[i % 64];
    }
    return sum;
}

static void *in_thread(void *argument)
{
    printf("a thread begins with rights %d\n", pkey_get(key));
    return (void *)sum_under_key((long)argument);
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    pthread_t thread;
    void *result;
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    key = pkey_alloc(0, 0);
    if (page == MAP_FAILED || key < 0 || sigaction(SIGSEGV, &action, NULL) != 0)
        return 77;
    pkey_mprotect((void *)page, 4096, PROT_READ | PROT_WRITE, key);
    printf("key %d: sum %ld\n", key, sum_under_key(1));
    if (pthread_create(&thread, NULL, in_thread, (void *)7L) == 0) {
        pthread_join(thread, &result);
        printf("a thread's sum %ld\n", (long)result);
    }
    page[0] = 5;
    printf("%d faults, code %d, key %d, then %ld\n", faults, last_code, last_key, page[0]);
    pkey_mprotect((void *)page, 4096, PROT_READ | PROT_WRITE, key);
    pkey_set(key, PKEY_DISABLE_ACCESS);
    long got = write(STDOUT_FILENO, (const void *)page, 1);
    int err = errno;
    pkey_set(key, 0);
    printf("the kernel writes from there: %ld, %s\n", got, got < 0 ? strerror(err) : "");
    return pkey_free(key);
}
