/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/named_slices.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dbgcli/alloc.h"
#include "dbgcli/suggest.h"
#include <wetdbg/errors.h>

#define SUFFIX ".set"

struct cli_named_slices {
    struct wetdbg *wet;
    char *wet_path;
    struct cli_named_slice *list;
    size_t count;
};

struct cli_named_slices *cli_named_slices_new(struct wetdbg *wet, const char *wet_path)
{
    struct cli_named_slices *named = cli_malloc(sizeof(*named));
    *named = (struct cli_named_slices){.wet = wet, .wet_path = cli_strdup(wet_path)};
    return named;
}

static void empty(struct cli_named_slice *slice)
{
    wetdbg_set_free(slice->set);
    wetdbg_set_free(slice->plain);
    cli_nearness_free(slice->near);
    free(slice->how);
    slice->set = slice->plain = NULL;
    slice->near = NULL;
    slice->how = NULL;
}

void cli_named_slices_free(struct cli_named_slices *named)
{
    if (!named)
        return;
    for (size_t i = 0; i < named->count; i++)
        empty(&named->list[i]);
    free(named->list);
    free(named->wet_path);
    free(named);
}

/* ---- names ---- */

static bool is_name(const char *name)
{
    size_t length = 0;
    if (isdigit((unsigned char)name[0]))
        return false;
    while (isalnum((unsigned char)name[length]) || name[length] == '_')
        length++;
    return length && !name[length] && length < CLI_NAMED_NAME_MAX;
}

int cli_named_slice_check(const char *name)
{
    static const char *const taken[] = {
        "crash", "exit",     "output",  "input", "argv",  "env",  "start", "end",
        "now",   "backward", "forward", "both",  "slice", "chop", "load",
    };
    if (!is_name(name))
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "'%s' cannot be the name of a slice: letters, digits and '_', no digit "
                           "first, at most %d",
                           name, CLI_NAMED_NAME_MAX - 1);
    for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++)
        if (strcmp(name, taken[i]) == 0)
            return wetdbg_fail(-WETDBG_ERR_USAGE,
                               "a slice cannot be called '%s', which means something in criteria; "
                               "take another name",
                               name);
    return 0;
}

static struct cli_named_slice *known(struct cli_named_slices *named, const char *name)
{
    for (size_t i = 0; i < named->count; i++)
        if (strcmp(named->list[i].name, name) == 0)
            return &named->list[i];
    return NULL;
}

/* An entry with nothing in it, at the place that its name has. */
static struct cli_named_slice *insert(struct cli_named_slices *named, const char *name)
{
    size_t at = 0;
    while (at < named->count && strcmp(named->list[at].name, name) < 0)
        at++;
    named->list = cli_realloc(named->list, named->count + 1, sizeof(*named->list));
    memmove(&named->list[at + 1], &named->list[at], (named->count - at) * sizeof(*named->list));
    named->count++;
    named->list[at] = (struct cli_named_slice){.lines = CLI_LINES_UNKNOWN};
    memcpy(named->list[at].name, name, strlen(name) + 1);
    return &named->list[at];
}

struct cli_named_slice *cli_named_slices_set(struct cli_named_slices *named, const char *name,
                                             struct wetdbg_set *set, struct cli_nearness *near,
                                             const char *how)
{
    struct cli_named_slice *slice = known(named, name);
    char *own_how = cli_strdup(how);
    if (!slice)
        slice = insert(named, name);
    empty(slice);
    slice->set = set;
    slice->near = near;
    slice->how = own_how;
    slice->lines = CLI_LINES_UNKNOWN;
    slice->is_saved = false;
    return slice;
}

/* ---- files beside the .wet ---- */

static char *path_beside(const struct cli_named_slices *named, const char *name)
{
    return cli_asprintf("%s.%s" SUFFIX, named->wet_path, name);
}

/* Reads the file of a name that nobody has used so far. */
static int load(struct cli_named_slices *named, const char *name, struct cli_named_slice **loaded)
{
    char *path = path_beside(named, name), *how;
    struct wetdbg_set *set;
    int err = wetdbg_set_load(named->wet, path, &set, &how);
    free(path);
    if (err)
        return err;
    *loaded = cli_named_slices_set(named, name, set, NULL, how);
    (*loaded)->is_saved = true;
    free(how);
    return 0;
}

static int fail_unknown(struct cli_named_slices *named, const char *name)
{
    struct cli_suggestion suggestion = {.wanted = name};
    struct cli_named_slice *list;
    size_t count;
    cli_named_slices_list(named, &list, &count);
    for (size_t i = 0; i < count; i++)
        cli_suggestion_offer(&suggestion, list[i].name);
    if (suggestion.best)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no slice is called '%s'; did you mean '%s'?",
                           name, suggestion.best);
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no slice is called '%s'; %s", name,
                       count ? "'info slices' lists those that there are"
                             : "'let NAME = slice backward CRITERION' makes one");
}

int cli_named_slices_find(struct cli_named_slices *named, const char *name,
                          struct cli_named_slice **found)
{
    *found = known(named, name);
    if (*found && (*found)->set)
        return 0;
    if (!is_name(name))
        return cli_named_slice_check(name);
    char *path = path_beside(named, name);
    bool is_there = access(path, F_OK) == 0;
    free(path);
    return is_there ? load(named, name, found) : fail_unknown(named, name);
}

/* Loads "BASE.NAME.set"; what cannot be read is listed with the reason. */
static void note_file(struct cli_named_slices *named, const char *base, const char *file)
{
    char name[CLI_NAMED_NAME_MAX];
    struct cli_named_slice *slice;
    size_t skipped = strlen(base), length = strlen(file);
    if (strncmp(file, base, skipped) != 0 || file[skipped] != '.')
        return;
    skipped++;
    if (length <= skipped + strlen(SUFFIX) || strcmp(file + length - strlen(SUFFIX), SUFFIX) != 0)
        return;
    length -= skipped + strlen(SUFFIX);
    if (length >= sizeof(name))
        return;
    memcpy(name, file + skipped, length);
    name[length] = 0;
    if (!is_name(name) || ((slice = known(named, name)) && slice->set))
        return;
    int err = load(named, name, &slice);
    if (err)
        cli_named_slices_set(named, name, NULL, NULL, wetdbg_error(err));
}

void cli_named_slices_list(struct cli_named_slices *named, struct cli_named_slice **list,
                           size_t *count)
{
    const char *slash = strrchr(named->wet_path, '/');
    char *folder = slash ? cli_strndup(named->wet_path, (size_t)(slash + 1 - named->wet_path))
                         : cli_strdup(".");
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        note_file(named, slash ? slash + 1 : named->wet_path, entry->d_name);
    if (directory)
        closedir(directory);
    free(folder);
    *list = named->list;
    *count = named->count;
}

int cli_named_slices_save(struct cli_named_slices *named, const char *name, const char *path,
                          char **where)
{
    struct cli_named_slice *slice;
    int err = cli_named_slices_find(named, name, &slice);
    if (err)
        return err;
    char *goal = path ? cli_strdup(path) : path_beside(named, name);
    err = wetdbg_set_save(slice->set, slice->how, goal);
    if (err) {
        free(goal);
        return err;
    }
    slice->is_saved |= !path;
    *where = goal;
    return 0;
}

int cli_named_slices_delete(struct cli_named_slices *named, const char *name)
{
    struct cli_named_slice *slice = known(named, name);
    char *path = is_name(name) ? path_beside(named, name) : NULL;
    bool was_saved = path && unlink(path) == 0;
    int err = 0;
    if (path && !was_saved && errno != ENOENT)
        err = wetdbg_fail_errno("cannot remove %s", path);
    free(path);
    if (!err && !slice && !was_saved)
        err = is_name(name) ? fail_unknown(named, name) : cli_named_slice_check(name);
    if (err || !slice)
        return err;
    empty(slice);
    memmove(slice, slice + 1, (size_t)(named->list + named->count - (slice + 1)) * sizeof(*slice));
    named->count--;
    return 0;
}
