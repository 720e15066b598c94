/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libdw keeps tables of lines on the stack (some 300 KiB), queries have frames of 64 KiB. With
 * `ulimit -s 64` that was a SIGSEGV in the middle of an answer. Threads take the limit as their
 * size, too.
 */
#include "dbgcli/stack.h"

#include <pthread.h>
#include <sys/resource.h>

#include <wetdbg/errors.h>

#define STACK_NEEDED ((rlim_t)2 << 20)
#define STACK_USUAL  ((rlim_t)8 << 20)

static int raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= STACK_NEEDED)
        return 0;
    rlim_t was = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max < STACK_USUAL ? limit.rlim_max : STACK_USUAL;
    if (limit.rlim_max < STACK_NEEDED) /* only root may */
        limit.rlim_cur = limit.rlim_max = STACK_USUAL;
    if (setrlimit(RLIMIT_STACK, &limit) == 0)
        return 0;
    return wetdbg_fail(
        -WETDBG_ERR_MACHINE,
        "the stack is limited to %llu KiB and cannot be made larger; %llu are needed "
        "(`ulimit -s`)",
        (unsigned long long)was >> 10, (unsigned long long)STACK_NEEDED >> 10);
}

static void give_threads_enough(void)
{
    pthread_attr_t attributes;
    size_t bytes;
    if (pthread_getattr_default_np(&attributes))
        return;
    if (pthread_attr_getstacksize(&attributes, &bytes) == 0 && bytes < STACK_NEEDED &&
        pthread_attr_setstacksize(&attributes, STACK_NEEDED) == 0)
        pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
}

int cli_stack_prepare(void)
{
    give_threads_enough();
    return raise_limit();
}
