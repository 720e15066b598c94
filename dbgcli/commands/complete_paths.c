/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/complete_paths.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dbgcli/alloc.h"

/* The prompt takes blanks, quotes and backslashes apart. */
static bool is_word(const char *name)
{
    while ((unsigned char)*name > ' ' && *name != 0x7f && !strchr("'\"\\", *name))
        name++;
    return !*name;
}

static bool is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

void cli_complete_path(const char *typed, struct cli_completions *completions)
{
    const char *slash = strrchr(typed, '/'), *base = slash ? slash + 1 : typed;
    char *folder = cli_strndup(typed, (size_t)(base - typed));
    DIR *directory = opendir(*folder ? folder : ".");
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (!is_word(entry->d_name) || (entry->d_name[0] == '.' && base[0] != '.'))
            continue;
        char *path = cli_asprintf("%s%s", folder, entry->d_name);
        char *word = cli_asprintf("%s%s", path, is_directory(path) ? "/" : "");
        cli_completions_add(completions, typed, word);
        free(word);
        free(path);
    }
    if (directory)
        closedir(directory);
    free(folder);
    if (completions->count == 1 && strchr(completions->list[0], 0)[-1] == '/')
        completions->is_open = true;
}
