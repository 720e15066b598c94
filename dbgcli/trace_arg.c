/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/trace_arg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <wetdbg/record.h>
#include <wetdbg/recording.h>

bool cli_is_wet_name(const char *name)
{
    size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".wet") == 0;
}

static void say_unfinished(const struct wetdbg_recording *trace)
{
    char text[512];
    if (wetdbg_recording_notice(trace, text, sizeof(text)))
        fprintf(stderr, "wetdbg: %s\n", text);
}

int cli_trace_open(const char *name, struct wetdbg_recording **out)
{
    char *dir;
    int err = wetdbg_recording_find(name, &dir);
    if (err)
        return err;
    err = wetdbg_recording_open(dir, out);
    free(dir);
    if (!err)
        say_unfinished(*out);
    return err;
}
