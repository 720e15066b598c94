/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What <wetdbg/switch.h> makes of a session. */
#ifndef PREDICATE_SWITCH_SWITCHER_H
#define PREDICATE_SWITCH_SWITCHER_H

#include "predicate_switch/run.h"
#include <wetdbg/switch.h>

struct wetdbg_switcher {
    struct wetdbg *wet;
    struct psw_session *session;
    char cwd[4096];
};

/* psw_run() with what is public of it. `settings` without `output`. */
int psw_switcher_run(struct psw_session *session, const struct psw_change *change,
                     const struct psw_settings *settings, wetdbg_switch_output_fn output, void *arg,
                     struct wetdbg_switch_result *result);

#endif
