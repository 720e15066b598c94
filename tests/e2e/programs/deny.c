/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs a program to which one system call is refused, as in a container with a strict filter:
 * deny SYSTEM-CALL PROGRAM [ARGUMENT...]
 * The "system call" listener is seccomp(2) that asks for a listener.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    bool is_listener = argc > 1 && !strcmp(argv[1], "listener");
    const char *name = is_listener ? "seccomp" : argc > 1 ? argv[1] : "";
    int number = argc < 3 ? __NR_SCMP_ERROR : seccomp_syscall_resolve_name(name);
    const struct scmp_arg_cmp flags = SCMP_A1(SCMP_CMP_MASKED_EQ, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                                              SECCOMP_FILTER_FLAG_NEW_LISTENER);

    if (number == __NR_SCMP_ERROR || !filter)
        return 124;
    if (seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), number, is_listener, &flags) != 0 ||
        seccomp_load(filter) != 0) {
        fprintf(stderr, "deny: the filter cannot be loaded\n");
        return 124;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 124;
}
