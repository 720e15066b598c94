/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines of the prompt, each with what it has to say to the byte; for suites whose cases have a
 * prompt of their own each. */
#ifndef TESTS_CLI_ROWS_H
#define TESTS_CLI_ROWS_H

#include <stdlib.h>
#include <string.h>

#include "tests/cli/cli_fake_run.h"
#include "tests/cli/cli_prompt.h"
#include "tests/cli/cli_unit.h"

static inline int cli_rows_open(void **state)
{
    struct cli_prompt *f = calloc(1, sizeof(*f));
    fake_slice_is_interrupted = fake_has_avx512 = false;
    fake_slice_count = 0;
    *state = f;
    return cli_prompt_open(f);
}

static inline int cli_rows_close(void **state)
{
    struct cli_prompt *f = *state;
    cli_prompt_close(f);
    free(f);
    return 0;
}

struct cli_row {
    const char *line;
    int status;
    const char *answer; /* or the complaint */
};

/* Runs each line; its status has to be as expected, and its answer, or its complaint if it
 * fails. */
static inline void cli_rows_check(struct cli_prompt *f, const struct cli_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int status = cli_prompt_execute(f, rows[i].line);
        const char *said = rows[i].status ? f->said.errors : f->said.answer;
        if (status != rows[i].status || strcmp(said, rows[i].answer) != 0)
            fail_msg("row %zu: '%s' gave %d and said:\n%s%s", i, rows[i].line, status,
                     f->said.answer, f->said.errors);
    }
}

#endif
