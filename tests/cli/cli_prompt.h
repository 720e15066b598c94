/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The prompt with all its commands on a made-up run (cli_fake_run.h); what it says is caught. */
#ifndef TESTS_CLI_PROMPT_H
#define TESTS_CLI_PROMPT_H

#include <stdio.h>

#include "dbgcli/commands/session.h"
#include "dbgcli/repl/repl.h"
#include "tests/cli/cli_caught.h"
#include "tests/cli/cli_unit.h"

struct cli_prompt {
    struct cli_caught said;
    struct cli_session session;
    struct cli_repl repl;
};

static inline int cli_prompt_open(struct cli_prompt *prompt)
{
    cli_caught_open(&prompt->said);
    prompt->repl = (struct cli_repl){
        .out = &prompt->said.out,
        .commands = cli_commands,
        .other_words = cli_other_words,
        .session = &prompt->session,
        .prepare = cli_session_prepare,
    };
    return cli_session_open(&prompt->session, &prompt->said.out, "fake.wet");
}

static inline void cli_prompt_close(struct cli_prompt *prompt)
{
    cli_repl_fini(&prompt->repl);
    cli_session_close(&prompt->session);
    cli_caught_close(&prompt->said);
}

/* Runs a line; its answer and its complaint are in prompt->said, and nothing older. Returns its
 * status. */
static inline int cli_prompt_execute(struct cli_prompt *prompt, const char *line)
{
    struct cli_out *out = &prompt->said.out;
    rewind(out->stream);
    rewind(out->errors);
    int status = cli_repl_execute(&prompt->repl, line);
    putc(0, out->stream);
    putc(0, out->errors);
    fflush(out->stream);
    fflush(out->errors);
    return status;
}

#endif
