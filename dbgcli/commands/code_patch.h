/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Other code, as `what-if` takes it: code:ADDRESS=BYTES[,ADDRESS=BYTES][@TIME], bytes in
 * hexadecimal. */
#ifndef DBGCLI_COMMANDS_CODE_PATCH_H
#define DBGCLI_COMMANDS_CODE_PATCH_H

#include <stdbool.h>

#include <wetdbg/switch.h>

bool cli_is_code_patch(const char *text);

/* Fills in all but the time, whose text (begins with '@', may be empty) is *at, in `text`.
 * -WETDBG_ERR_USAGE. */
int cli_code_patch_parse(const char *text, struct wetdbg_change *change, const char **at);

#endif
