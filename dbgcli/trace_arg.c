/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/trace_arg.h"

#include <stdlib.h>

#include "recorder/record/record.h"
#include "recorder/rr_trace/rr_trace.h"

int cli_trace_open(const char *name, struct rrt_trace **out)
{
    char *dir;
    int err = rec_trace_dir(name, &dir);
    if (err)
        return err;
    err = rrt_open(dir, out);
    free(dir);
    return err;
}
