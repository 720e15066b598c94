/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The test's memory before and after a run. */
#include <string.h>

#include "oracle_cpu.h"

#define PAGES (ORACLE_MEMORY_BYTES / ORACLE_PAGE_BYTES)

uint8_t oracle_pristine[ORACLE_MEMORY_BYTES];
bool oracle_page_changed[PAGES];

void oracle_pristine_is_new(void)
{
    memset(oracle_page_changed, true, sizeof(oracle_page_changed));
}

void oracle_memory_reset(void)
{
    for (size_t i = 0; i < PAGES; i++) {
        size_t at = i * ORACLE_PAGE_BYTES;
        if (oracle_page_changed[i])
            memcpy(ORACLE_MEMORY + at, oracle_pristine + at, ORACLE_PAGE_BYTES);
    }
}

void oracle_memory_compare(void)
{
    for (size_t i = 0; i < PAGES; i++) {
        size_t at = i * ORACLE_PAGE_BYTES;
        oracle_page_changed[i] =
            memcmp(ORACLE_MEMORY + at, oracle_pristine + at, ORACLE_PAGE_BYTES) != 0;
    }
}
