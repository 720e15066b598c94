/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <wetdbg/errors.h>

int cli_futex_check(void)
{
    static const int ways[] = {FUTEX_WAKE, FUTEX_WAKE_PRIVATE};
    uint32_t word = 0;
    for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (syscall(SYS_futex, &word, ways[i], 0, NULL, NULL, 0) < 0)
            return wetdbg_fail(-WETDBG_ERR_MACHINE,
                               "this system refuses the futex system call (%s)",
                               errno == EPERM ? "not permitted" : "not available");
    }
    return 0;
}
