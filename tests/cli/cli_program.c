/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/cli/cli_program.h"

#include <stdio.h>
#include <sys/wait.h>

#include "common/buf.h"

int run_shell(const char *command, char **text)
{
    struct wd_buf buf = {0};
    char piece[4096];
    size_t count;
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    while ((count = fread(piece, 1, sizeof piece, pipe)) > 0)
        assert_int_equal(wd_buf_append(&buf, piece, count), 0);
    int status = pclose(pipe);
    assert_int_equal(wd_buf_append_zeros(&buf, 1), 0);
    *text = (char *)buf.data;
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

int run_wetdbg(const char *args, char **text)
{
    char command[1024];
    snprintf(command, sizeof command, "exec %s %s 2>&1", WETDBG_PROGRAM, args);
    return run_shell(command, text);
}
