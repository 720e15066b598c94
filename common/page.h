/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The processor's pages. A header only, which freestanding code uses, too. */
#ifndef COMMON_PAGE_H
#define COMMON_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#define WD_PAGE 4096ull /* bytes */

/* The start of the page that an address is in. */
static inline uint64_t wd_page_down(uint64_t address)
{
    return address & ~(WD_PAGE - 1);
}

/* The first page that starts at or above; 0 above the last one. */
static inline uint64_t wd_page_up(uint64_t address)
{
    return (address + WD_PAGE - 1) & ~(WD_PAGE - 1);
}

static inline bool wd_page_is_start(uint64_t address)
{
    return address % WD_PAGE == 0;
}

/* Bytes from the address to the end of its page: 1 to WD_PAGE. */
static inline uint64_t wd_page_left(uint64_t address)
{
    return WD_PAGE - address % WD_PAGE;
}

#endif
