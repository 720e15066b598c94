/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program's own instructions (<wetdbg/caller.h>) that a run executed. */
#ifndef PREDICATE_SWITCH_RAN_CODE_H
#define PREDICATE_SWITCH_RAN_CODE_H

#include <signal.h>

#include <wetdbg/wet.h>

/* An own instruction; `code` is the wet's. */
struct psw_ran {
    uint64_t pc;
    wetdbg_time time; /* of its first execution */
    const uint8_t *code;
    uint8_t length;
    bool begins; /* a node: something leads to it */
};

/* Each once, by address. *list is to be freed, also after an error. `interrupted` may be NULL; if
 * it is set the error is -WETDBG_ERR_INTERRUPTED. Others: -ENOMEM, those of running an interval. */
int psw_ran_find(struct wetdbg *wet, const volatile sig_atomic_t *interrupted,
                 struct psw_ran **list, size_t *count);

#endif
