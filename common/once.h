/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reading memory that somebody else may change meanwhile. What was read is then all that is looked
 * at: the compiler may not read the same place a second time, as it may for an ordinary load.
 */
#ifndef COMMON_ONCE_H
#define COMMON_ONCE_H

#include <stdint.h>
#include <string.h>

static inline uint32_t wd_once_u32(const void *at)
{
    return __atomic_load_n((const uint32_t *)at, __ATOMIC_RELAXED);
}

static inline uint64_t wd_once_u64(const void *at)
{
    return __atomic_load_n((const uint64_t *)at, __ATOMIC_RELAXED);
}

/* Copies memory. What is copied may mix what was there at different moments; it does not change any
 * more. Of no bytes, either pointer may be NULL. */
static inline void wd_once_copy(void *to, const void *from, size_t bytes)
{
    if (bytes)
        memcpy(to, from, bytes);
    __asm__ volatile("" : : "r"(to) : "memory");
}

#endif
