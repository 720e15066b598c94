/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/slice_path.h"

#include <string.h>

#include <wetdbg/errors.h>

/* Whether a path is the file's; `file` is a base name or any suffix of whole path parts. */
static bool file_matches(const char *path, const char *file)
{
    size_t path_length = strlen(path), length = strlen(file);
    if (length > path_length || strcmp(path + path_length - length, file) != 0)
        return false;
    return length == path_length || path[path_length - length - 1] == '/' || file[0] == '/';
}

int cli_slice_path_to(const struct wetdbg_slice *slice, const char *file, uint32_t line,
                      struct wetdbg_slice_path **path)
{
    size_t count, nearest = 0;
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(slice, &count);
    bool is_found = false;
    for (size_t i = 0; i < count; i++) {
        if (!lines[i].file || lines[i].line != line || !file_matches(lines[i].file, file))
            continue;
        if (!is_found || lines[i].min_distance < lines[nearest].min_distance)
            nearest = i;
        is_found = true;
    }
    return is_found ? wetdbg_slice_path_to_line(slice, nearest, path)
                    : wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
}
