/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A live run as a .wet of its own: its entries, replayed once more by the builder. */
#ifndef PREDICATE_SWITCH_KEPT_RUN_H
#define PREDICATE_SWITCH_KEPT_RUN_H

#include "predicate_switch/run.h"

struct psw_kept {
    struct wd_buf before, entries; /* struct psw_settings */
};

void psw_kept_fini(struct psw_kept *kept);

/* Appends the entries of the whole run, one behind the other: 0 or -ENOMEM. */
int psw_kept_join(const struct psw_kept *kept, struct wd_buf *out);

/*
 * Writes FILE.wet `path` of a run that has ended (PSW_EXIT), which was made from the one in `wet`
 * by a change at `time`; `change` says in words which. That all of it comes out again as it was,
 * time by time, is checked as in any replay. Errors are those of wet_build();
 * -WETDBG_ERR_UNSUPPORTED if the run did not end.
 */
int psw_kept_write(struct wetdbg *wet, const struct psw_kept *kept, const struct psw_result *result,
                   const char *change, wetdbg_time time, const char *path);

#endif
