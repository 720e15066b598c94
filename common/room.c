/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/room.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <wetdbg/errors.h>

#define STEP_BYTES (16ull << 20)

#define RESERVE 32 /* of the machine's memory, one part of so many is for others */

static _Atomic uint64_t unasked;

static uint64_t kib_of(const char *text, const char *name)
{
    unsigned long long kib;
    const char *line = strstr(text, name);
    return line && sscanf(line + strlen(name), " %llu", &kib) == 1 ? kib << 10 : UINT64_MAX;
}

/* What can be used without swapping, which is free memory and what only caches files, but for the
 * reserve. */
static uint64_t available(void)
{
    char text[512];
    int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
    ssize_t count = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[count > 0 ? count : 0] = 0;
    uint64_t all = kib_of(text, "MemTotal:"), now = kib_of(text, "MemAvailable:");
    if (all == UINT64_MAX || now == UINT64_MAX)
        return UINT64_MAX;
    return now > all / RESERVE ? now - all / RESERVE : 0;
}

int wd_room_ask(uint64_t bytes)
{
    uint64_t sum = bytes < STEP_BYTES ? atomic_fetch_add(&unasked, bytes) + bytes : bytes;
    if (sum < STEP_BYTES)
        return 0;
    unasked = 0;
    uint64_t most = available();
    if (sum <= most)
        return 0;
    return wetdbg_fail(-WETDBG_ERR_MACHINE,
                       "this takes %llu MiB more, and %llu MiB of memory are free here",
                       (unsigned long long)sum >> 20, (unsigned long long)most >> 20);
}
