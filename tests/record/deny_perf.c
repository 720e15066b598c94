/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs a program to which perf_event_open is refused, as in a container with Docker's default
 * filter:  deny_perf PROGRAM [ARGUMENT...]
 */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

    if (argc < 2 || !filter)
        return 125;
    if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(perf_event_open), 0) != 0 ||
        seccomp_load(filter) != 0) {
        fprintf(stderr, "deny_perf: the filter cannot be loaded\n");
        return 125;
    }
    execvp(argv[1], argv + 1);
    perror(argv[1]);
    return 125;
}
