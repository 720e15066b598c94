/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/cli/cli_program.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/buf.h"

int run_shell(const char *command, char **text)
{
    struct wd_buf buf = {0};
    char piece[4096];
    size_t count;
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    while ((count = fread(piece, 1, sizeof(piece), pipe)) > 0)
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
    snprintf(command, sizeof(command), "exec %s %s 2>&1", WETDBG_PROGRAM, args);
    return run_shell(command, text);
}

int record_and_hear(const char *command, const char *said)
{
    char *text;
    int status = run_shell(command, &text);
    bool is_good = status == 0 && strcmp(text, said) == 0;
    if (!is_good)
        print_error("recording said: %s", text);
    free(text);
    return is_good ? 0 : -1;
}

unsigned line_of_mark(const char *source, const char *mark)
{
    char line[256];
    unsigned number = 0, found = 0;
    FILE *file = fopen(source, "r");
    assert_non_null(file);
    while (!found && fgets(line, sizeof(line), file)) {
        const char *comment = strstr(line, "/* ");
        number++;
        if (comment && strncmp(comment + 3, mark, strlen(mark)) == 0)
            found = number;
    }
    fclose(file);
    assert_true(found > 0);
    return found;
}
