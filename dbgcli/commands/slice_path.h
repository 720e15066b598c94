/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The dependence path to a line of a slice. */
#ifndef DBGCLI_COMMANDS_SLICE_PATH_H
#define DBGCLI_COMMANDS_SLICE_PATH_H

#include <wetdbg/slice.h>

/*
 * wetdbg_slice_path_to_line() for FILE:LINE; `file` is a path, a base name or any suffix of whole
 * path parts. Of a line that is there several times (functions inlined here and there) the nearest
 * is meant. -WETDBG_ERR_NOT_FOUND, without a sentence, if the slice does not have it.
 */
int cli_slice_path_to(const struct wetdbg_slice *slice, const char *file, uint32_t line,
                      struct wetdbg_slice_path **path);

#endif
