/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What <wetdbg/switch.h> makes of a session. */
#ifndef PREDICATE_SWITCH_SWITCHER_H
#define PREDICATE_SWITCH_SWITCHER_H

#include "predicate_switch/run.h"

struct wetdbg_switcher {
    struct psw_session *session;
    char cwd[4096];
};

#endif
