/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `origin` and `slice` are asked for, and where values are, in words. */
#ifndef DBGCLI_COMMANDS_ORIGIN_PLACE_H
#define DBGCLI_COMMANDS_ORIGIN_PLACE_H

#include "dbgcli/commands/session.h"
#include <wetdbg/origin.h>

/*
 * A criterion of wetdbg_criterion_parse(), or VARIABLE[@TIME] as `print` understands it, in the
 * selected frame. A register of a frame that is not the innermost is looked for where that frame
 * made its call. *out is for wetdbg_criterion_free().
 */
int cli_origin_criterion(struct cli_session *session, const char *text,
                         struct wetdbg_criterion **out);

/* cli_origin_criterion() for `slice`, where a name is first that of a function, and output is meant
 * as it was put into its buffer unless `from_write`. */
int cli_slice_criterion(struct cli_session *session, const char *text, bool from_write,
                        struct wetdbg_criterion **out);

/* The times that cli_slice_criterion() stands for, to be freed. */
int cli_slice_times(struct cli_session *session, const char *text, wetdbg_time **times,
                    size_t *count);

/* "rax", "xmm3.b8", "ZF", "0x404010 <total+4>"; to be freed, never NULL. */
char *cli_spot_text(struct cli_session *session, const struct wetdbg_spot *spot);

/* "argv[2]", "the environment's PATH", "the initialised data of prog (table+8)", ...: what a byte
 * was that nothing in the run wrote. To be freed, never NULL. */
char *cli_initial_text(struct cli_session *session, const struct wetdbg_spot *spot);

#endif
