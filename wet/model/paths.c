/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wet/model/paths.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Where the part before `out` starts, or NULL if it cannot be removed ("..", nothing). */
static char *previous_part(char *path, char *out)
{
    char *start = out;

    if (out == path || (out == path + 1 && path[0] == '/'))
        return NULL;
    while (start > path && start[-1] != '/')
        start--;
    if (out - start == 2 && start[0] == '.' && start[1] == '.')
        return NULL;
    return start;
}

void mdl_path_normalize(char *path)
{
    char *in = path, *out = path;
    bool is_absolute = path[0] == '/';

    if (is_absolute) {
        in++;
        out++;
    }
    while (*in) {
        size_t length = strcspn(in, "/");
        char *previous = previous_part(path, out);

        if (length == 0 || (length == 1 && in[0] == '.')) {
            /* nothing to add */
        } else if (length == 2 && in[0] == '.' && in[1] == '.' && (previous || is_absolute)) {
            if (previous)
                out = previous > path + is_absolute ? previous - 1 : previous;
        } else {
            if (out > path + is_absolute)
                *out++ = '/';
            memmove(out, in, length);
            out += length;
        }
        in += length + (in[length] == '/');
    }
    *out = '\0';
}

int mdl_file_match_init(struct mdl_file_match *match, const char *wanted)
{
    memset(match, 0, sizeof(*match));
    if (!wanted)
        return 0;
    match->wanted = strdup(wanted);
    if (!match->wanted)
        return -ENOMEM;
    mdl_path_normalize(match->wanted);
    return 0;
}

void mdl_file_match_fini(struct mdl_file_match *match)
{
    free(match->wanted);
    mdl_addrmap_fini(&match->known);
}

static int matches(const char *wanted, const char *file)
{
    char *path = strdup(file);
    size_t length, wanted_length = strlen(wanted);
    int err = 0;

    if (!path)
        return -ENOMEM;
    mdl_path_normalize(path);
    length = strlen(path);
    if (wanted_length && wanted_length <= length &&
        strcmp(path + length - wanted_length, wanted) == 0)
        err = wanted_length == length ||
              (wanted[0] != '/' && path[length - wanted_length - 1] == '/');
    free(path);
    return err;
}

int mdl_file_matches(struct mdl_file_match *match, const char *file)
{
    uintptr_t known;
    int result;

    if (!match->wanted)
        return 1;
    known = (uintptr_t)mdl_addrmap_get(&match->known, (uintptr_t)file);
    if (known)
        return (int)(known - 1);
    result = matches(match->wanted, file);
    if (result >= 0 &&
        mdl_addrmap_set(&match->known, (uintptr_t)file, (void *)(uintptr_t)(result + 1)) < 0)
        return -ENOMEM;
    return result;
}
