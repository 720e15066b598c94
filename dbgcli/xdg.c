/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/xdg.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "dbgcli/alloc.h"

char *cli_xdg_path(enum cli_xdg kind, const char *name)
{
    static const struct {
        const char *variable, *otherwise;
    } rows[] = {
        [CLI_XDG_STATE] = {"XDG_STATE_HOME", ".local/state"},
        [CLI_XDG_CONFIG] = {"XDG_CONFIG_HOME", ".config"},
    };
    const char *place = getenv(rows[kind].variable);
    const char *home = getenv("HOME");
    if (place && *place == '/')
        return cli_asprintf("%s/wetdbg/%s", place, name);
    if (home && *home == '/')
        return cli_asprintf("%s/%s/wetdbg/%s", home, rows[kind].otherwise, name);
    return NULL;
}

void cli_xdg_make_parents(char *path)
{
    for (char *at = path + 1; *at; at++)
        if (*at == '/') {
            *at = 0;
            mkdir(path, 0700);
            *at = '/';
        }
}
