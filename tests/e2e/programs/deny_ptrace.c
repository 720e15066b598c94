/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs a program to which ptrace is refused, as in a container with a strict filter:
 * deny_ptrace PROGRAM [ARGUMENT...]
 */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

    if (argc < 2 || !filter)
        return 124;
    if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ptrace), 0) != 0 ||
        seccomp_load(filter) != 0) {
        fprintf(stderr, "deny_ptrace: the filter cannot be loaded\n");
        return 124;
    }
    execvp(argv[1], argv + 1);
    perror(argv[1]);
    return 124;
}
