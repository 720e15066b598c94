/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether the code cache is in order, between calls of dbi.h's functions (common/checked.h). */
#ifndef RECORDER_DBI_DBI_VALIDATE_H
#define RECORDER_DBI_DBI_VALIDATE_H

#include "common/checked.h"
#include "recorder/dbi/dbi_priv.h"

/* Regions, fragments and their chains, exits, pads, sites and pages. 0 or -WETDBG_ERR_MACHINE. */
int dbi_validate(const struct dbi *dbi);

/* The hash of fragments, forgotten bodies, stubs of exits and the records of sites: what the
 * replayee can write to, so that a failure need not be a defect of ours. dbi_validate() must have
 * passed, and the memory be mapped. 0 or -WETDBG_ERR_MACHINE. */
int dbi_validate_shared(const struct dbi *dbi);

/* At the end of what changed the cache: 0, or dbi_validate()'s failure. All of it is looked at, so
 * that is done now and then only. */
static inline int dbi_changed(struct dbi *dbi)
{
#ifdef WD_CHECKED
    if (++dbi->changes < 16 + dbi->fragment_count / 1024)
        return 0;
    dbi->changes = 0;
#else
    (void)dbi;
#endif
    return wd_checked(dbi_validate(dbi));
}

#endif
