/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Room for the stacks of this process. */
#ifndef DBGCLI_STACK_H
#define DBGCLI_STACK_H

/*
 * Makes sure that there is enough room: raises the limit as far as that is allowed, and gives
 * threads that are made from now on enough, whatever the limit is. -WETDBG_ERR_MACHINE and a
 * sentence if the limit cannot be raised. Programs that are run later inherit the limit.
 */
int cli_stack_prepare(void);

#endif
