/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/trace_arg.h"

#include <stdlib.h>

#include <wetdbg/record.h>
#include <wetdbg/recording.h>

int cli_trace_open(const char *name, struct wetdbg_recording **out)
{
    char *dir;
    int err = wetdbg_recording_find(name, &dir);
    if (err)
        return err;
    err = wetdbg_recording_open(dir, out);
    free(dir);
    return err;
}
