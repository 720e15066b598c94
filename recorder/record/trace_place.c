/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/record/trace_place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <wetdbg/errors.h>
#include <wetdbg/record.h>

#define PLACE_LAST_RESORT "/tmp/rr"
#define BLOCK_BYTES       512 /* of st_blocks */

static int format_path(char **path, const char *format, const char *base)
{
    *path = NULL;
    return asprintf(path, format, base) < 0 ? wetdbg_fail(-ENOMEM, "out of memory") : 0;
}

static bool is_directory(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* rr's rules, so that its recordings and ours are the same ones. An empty variable counts as set
 * for $_RR_TRACE_DIR and $XDG_DATA_HOME with rr; nobody can mean the root directory by that. */
int wetdbg_recordings_place(char **path)
{
    const char *named = getenv("_RR_TRACE_DIR"), *home = getenv("HOME"),
               *xdg = getenv("XDG_DATA_HOME");
    char *modern = NULL, *old = NULL;
    int err;

    if (named)
        return format_path(path, "%s", named);
    if (xdg)
        err = format_path(&modern, "%s/rr", xdg);
    else if (home)
        err = format_path(&modern, "%s/.local/share/rr", home);
    else
        return format_path(path, "%s", PLACE_LAST_RESORT);
    if (!err && home)
        err = format_path(&old, "%s/.rr", home);
    if (!err && old && !is_directory(modern) && is_directory(old)) {
        *path = old;
        old = NULL;
    } else if (!err) {
        *path = modern;
        modern = NULL;
    }
    free(modern);
    free(old);
    return err;
}

static int make_parents(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return wetdbg_fail_errno("cannot make %s", path);
        *slash = '/';
    }
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return wetdbg_fail_errno("cannot make %s", path);
    return 0;
}

int rec_place_make(void)
{
    char *path;
    int err = wetdbg_recordings_place(&path);

    if (err)
        return err;
    err = make_parents(path);
    if (!err && !is_directory(path))
        err = wetdbg_fail(-ENOTDIR, "%s, where recordings go, is not a directory", path);
    else if (!err && access(path, W_OK | X_OK) != 0)
        err = wetdbg_fail_errno("cannot write into %s, where recordings go", path);
    free(path);
    return err;
}

/* The directory that `path` would be made in, resolved; `path` has no trailing slash. */
static int resolve_parent(const char *path, char *parent)
{
    char text[PATH_MAX];
    char *slash;

    if (snprintf(text, sizeof(text), "%s", path) >= (int)sizeof(text))
        return wetdbg_fail(-ENAMETOOLONG, "%s: name too long", path);
    slash = strrchr(text, '/');
    if (slash)
        slash[slash == text] = 0;
    else
        strcpy(text, ".");
    if (!realpath(text, parent))
        return wetdbg_fail_errno("cannot make %s", path);
    if (access(parent, W_OK | X_OK) != 0)
        return wetdbg_fail_errno("cannot make %s", path);
    return 0;
}

int rec_place_check_new(const char *dir, char **absolute)
{
    char text[PATH_MAX], parent[PATH_MAX];
    size_t length = strlen(dir);
    struct stat st;
    const char *name;
    int err;

    while (length > 1 && dir[length - 1] == '/')
        length--;
    if (length == 0)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "the trace directory's name is empty");
    if (length >= sizeof(text))
        return wetdbg_fail(-ENAMETOOLONG, "%s: name too long", dir);
    memcpy(text, dir, length);
    text[length] = 0;
    if (lstat(text, &st) == 0)
        return wetdbg_fail(-EEXIST, "%s exists already; a recording makes its own directory", text);
    if (errno != ENOENT)
        return wetdbg_fail_errno("%s", text);
    err = resolve_parent(text, parent);
    if (err)
        return err;
    name = strrchr(text, '/');
    if (asprintf(absolute, "%s/%s", strcmp(parent, "/") ? parent : "", name ? name + 1 : text) < 0)
        return wetdbg_fail(-ENOMEM, "out of memory");
    return 0;
}

uint64_t rec_place_bytes(const char *trace_dir)
{
    struct dirent *item;
    uint64_t bytes = 0;
    struct stat st;
    DIR *dir = opendir(trace_dir);

    if (!dir)
        return 0;
    while ((item = readdir(dir))) {
        if (fstatat(dirfd(dir), item->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            bytes += (uint64_t)st.st_blocks * BLOCK_BYTES;
    }
    closedir(dir);
    return bytes;
}
