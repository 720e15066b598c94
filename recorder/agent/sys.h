/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The few things the freestanding agent needs from below: system calls and memory copies. */
#ifndef RECORDER_AGENT_SYS_H
#define RECORDER_AGENT_SYS_H

#include <stddef.h>
#include <stdint.h>

/* Raw system call: the result, or -errno. */
static inline long sys_call6(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static inline long sys_call3(long number, long a, long b, long c)
{
    return sys_call6(number, a, b, c, 0, 0, 0);
}

static inline void sys_copy(void *to, const void *from, size_t bytes)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

static inline void sys_fill(void *to, int byte, size_t bytes)
{
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(byte) : "memory");
}

static inline void sys_xsave(void *area)
{
    __asm__ volatile("xsave64 (%0)" : : "r"(area), "a"(-1), "d"(-1) : "memory");
}

static inline void sys_xrstor(const void *area)
{
    __asm__ volatile("xrstor64 (%0)" : : "r"(area), "a"(-1), "d"(-1) : "memory");
}

#endif
