/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs a program to which one system call is refused, as in a container with a strict filter:
 * deny SYSTEM-CALL PROGRAM [ARGUMENT...]
 */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int number = argc < 3 ? __NR_SCMP_ERROR : seccomp_syscall_resolve_name(argv[1]);

    if (number == __NR_SCMP_ERROR || !filter)
        return 124;
    if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0) != 0 ||
        seccomp_load(filter) != 0) {
        fprintf(stderr, "deny: the filter cannot be loaded\n");
        return 124;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 124;
}
