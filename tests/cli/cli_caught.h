/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is put out, caught: answers and complaints apart. */
#ifndef TESTS_CLI_CAUGHT_H
#define TESTS_CLI_CAUGHT_H

#include <stdio.h>
#include <stdlib.h>

#include "dbgcli/out.h"

struct cli_caught {
    struct cli_out out;
    char *answer, *errors;
    size_t answer_size, errors_size;
};

static inline void cli_caught_open(struct cli_caught *caught)
{
    caught->out.stream = open_memstream(&caught->answer, &caught->answer_size);
    caught->out.errors = open_memstream(&caught->errors, &caught->errors_size);
}

static inline void cli_caught_close(struct cli_caught *caught)
{
    fclose(caught->out.stream);
    fclose(caught->out.errors);
    free(caught->answer);
    free(caught->errors);
}

#endif
