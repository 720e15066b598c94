/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/syscall_name.h"

#include <inttypes.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>

const char *cli_syscall_name(int64_t number)
{
    static char text[64];
    char *name = NULL;
    if (number >= 0 && number <= INT32_MAX)
        name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, (int)number);
    if (name)
        snprintf(text, sizeof(text), "%s", name);
    else
        snprintf(text, sizeof(text), "call %" PRId64, number);
    free(name);
    return text;
}
