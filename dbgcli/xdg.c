/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/xdg.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dbgcli/alloc.h"

/* What everything of this kind is below: the directory that a variable names. NULL if none does. */
static const char *base_of(enum cli_xdg kind, const char **below)
{
    static const struct {
        const char *variable, *otherwise;
    } rows[] = {
        [CLI_XDG_STATE] = {"XDG_STATE_HOME", "/.local/state"},
        [CLI_XDG_CONFIG] = {"XDG_CONFIG_HOME", "/.config"},
    };
    const char *place = getenv(rows[kind].variable);
    const char *home = getenv("HOME");
    bool is_named = place && *place == '/';
    *below = is_named ? "" : rows[kind].otherwise;
    return is_named ? place : home && *home == '/' ? home : NULL;
}

char *cli_xdg_path(enum cli_xdg kind, const char *name)
{
    const char *below, *base = base_of(kind, &below);
    return base ? cli_asprintf("%s%s/wetdbg/%s", base, below, name) : NULL;
}

/* Whether somebody else may have a hand in a directory. A group may be the user's own, as on
 * systems with umask 002. What is root's is nobody's whom one could keep out: in containers a home
 * often is, though not what is in it. */
static bool is_foreign(const char *path, bool may_be_root)
{
    struct stat st;
    if (stat(path, &st))
        return false;
    bool is_ours = st.st_uid == geteuid() || (may_be_root && st.st_uid == 0);
    return !is_ours || st.st_mode & S_IWOTH;
}

bool cli_xdg_is_foreign(enum cli_xdg kind)
{
    const char *below, *base = base_of(kind, &below);
    char *dir = cli_xdg_path(kind, "");
    bool result = base && (is_foreign(base, true) || is_foreign(dir, false));
    free(dir);
    return result;
}

bool cli_xdg_make_parents(enum cli_xdg kind, char *path)
{
    if (cli_xdg_is_foreign(kind))
        return false;
    for (char *at = path + 1; *at; at++)
        if (*at == '/') {
            *at = 0;
            mkdir(path, 0700);
            *at = '/';
        }
    return !cli_xdg_is_foreign(kind); /* somebody may have been quicker */
}
