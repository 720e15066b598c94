/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A directory for the time of a suite, in which recordings, bookmarks and history are looked
 * for. */
#ifndef TESTS_CLI_PLACE_H
#define TESTS_CLI_PLACE_H

#include <stdio.h>
#include <stdlib.h>

static char cli_place[] = "/tmp/wetdbg-cli-XXXXXX";

/* 0, or -1. */
static inline int cli_place_make(void)
{
    return mkdtemp(cli_place) && setenv("XDG_STATE_HOME", cli_place, 1) == 0 &&
                   setenv("_RR_TRACE_DIR", cli_place, 1) == 0
               ? 0
               : -1;
}

/* Removes it with all in it; 0 or rm's status. */
static inline int cli_place_remove(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", cli_place);
    return system(command);
}

/* The same at a group's or a test's end. */
static inline int cli_place_end(void **state)
{
    (void)state;
    return cli_place_remove();
}

#endif
