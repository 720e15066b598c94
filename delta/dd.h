/* SPDX-License-Identifier: GPL-3.0-or-later */
/* wetdbg_dd(), given what makes live runs. */
#ifndef DELTA_DD_H
#define DELTA_DD_H

#include "delta/live_runs.h"
#include <wetdbg/delta_program.h>

/* As wetdbg_dd(). `engine` NULL: all runs are real. */
int dlt_dd(const struct wetdbg_dd_options *options, const struct dlt_live_engine *engine,
           struct wetdbg_dd_result *result);

#endif
