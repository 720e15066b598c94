/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/channels/channel_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/bisect.h"
#include "common/page.h"

#define PATH_BYTES 4096 /* with its zero */

/* ---- reading ---- */

static char *read_text(struct wetdbg_state *state, uint64_t address)
{
    char text[PATH_BYTES];
    size_t bytes = 0;

    while (bytes < sizeof(text)) {
        size_t room = wd_page_left(address + bytes), left = sizeof(text) - bytes;
        size_t count = room < left ? room : left;
        if (wetdbg_state_read(state, address + bytes, &text[bytes], count))
            return NULL;
        if (memchr(&text[bytes], 0, count))
            return strdup(text);
        bytes += count;
    }
    return NULL;
}

int slc_paths_read(struct wetdbg *wet, struct slc_path *paths, size_t count)
{
    struct wetdbg_state *state = NULL;
    uint64_t interval = 0;
    int err = 0;

    for (size_t i = 0; i < count && !err; i++) {
        struct slc_path *path = &paths[i];
        if (state && wetdbg_interval_at(wet, path->time) != interval) {
            wetdbg_state_close(state);
            state = NULL;
        }
        if (!state) {
            interval = wetdbg_interval_at(wet, path->time);
            err = wetdbg_state_open(wet, path->time, &state);
        } else if (path->time != paths[i - 1].time) {
            err = wetdbg_state_advance(state, path->time);
        }
        if (!err && path->address)
            path->text = read_text(state, path->address);
    }
    if (state)
        wetdbg_state_close(state);
    return err;
}

const char *slc_paths_find(const struct slc_path *paths, size_t count, wetdbg_time time,
                           uint64_t address)
{
    size_t at = wd_bisect(0, count, i, paths[i].time < time);

    for (; at < count && paths[at].time == time; at++)
        if (paths[at].address == address)
            return paths[at].text;
    return NULL;
}

/* ---- symbolic links ---- */

#define FOLLOWED_MAX 40 /* as Linux does */

void slc_symlinks_fini(struct slc_symlinks *links)
{
    while (links->count)
        slc_symlinks_remove(links, &links->list[links->count - 1]);
    free(links->list);
    *links = (struct slc_symlinks){0};
}

struct slc_symlink *slc_symlinks_find(const struct slc_symlinks *links, const char *path)
{
    for (size_t i = 0; i < links->count; i++)
        if (strcmp(links->list[i].path, path) == 0)
            return &links->list[i];
    return NULL;
}

void slc_symlinks_remove(struct slc_symlinks *links, struct slc_symlink *link)
{
    free(link->path);
    free(link->text);
    *link = links->list[--links->count];
}

int slc_symlinks_add(struct slc_symlinks *links, const char *path, const char *text)
{
    struct slc_symlink *before = slc_symlinks_find(links, path);
    struct slc_symlink link = {.path = strdup(path), .text = strdup(text)};

    if (before)
        slc_symlinks_remove(links, before);
    if (!link.path || !link.text || wd_grow(links->list, links->capacity, links->count + 1)) {
        free(link.path);
        free(link.text);
        return -ENOMEM;
    }
    links->list[links->count++] = link;
    return 0;
}

/* ---- where paths lead ---- */

/* On the way along a path: where it has come to, and what is left of it. */
struct way {
    char *at, *left;
    size_t room; /* of `at` */
};

static void go_up(struct way *way)
{
    char *last = strrchr(way->at, '/');
    bool is_unknown = !last && *way->at;

    if (last && strcmp(last, "/..") != 0)
        *last = '\0';
    else if (last || is_unknown)
        strcat(way->at, "/..");
}

/* The rest of a path, in which a link stands first: `at` is where that is. */
static int follow_link(struct way *way, const char *text, const char *rest)
{
    size_t bytes = strlen(text) + strlen(rest) + 2;
    char *left = malloc(bytes), *at = realloc(way->at, way->room + bytes);

    if (at)
        way->at = at;
    if (!left || !at) {
        free(left);
        return -ENOMEM;
    }
    way->room += bytes;
    snprintf(left, bytes, "%s/%s", text, rest);
    free(way->left);
    way->left = left;
    if (*text == '/')
        *way->at = '\0';
    else
        go_up(way);
    return 0;
}

/* Goes along what is left, up to its end or a link that is followed. */
static const struct slc_symlink *go_on(struct way *way, const struct slc_symlinks *links,
                                       bool follows_last, const char **rest)
{
    const struct slc_symlink *link;
    const char *part = way->left;
    size_t length;

    for (;; part += length) {
        part += strspn(part, "/");
        length = strcspn(part, "/");
        if (length == 0)
            return NULL;
        if (length == 1 && *part == '.')
            continue;
        if (length == 2 && strncmp(part, "..", 2) == 0) {
            go_up(way);
            continue;
        }
        strcat(way->at, "/");
        strncat(way->at, part, length);
        *rest = part + length + strspn(part + length, "/");
        link = **rest || follows_last ? slc_symlinks_find(links, way->at) : NULL;
        if (link)
            return link;
    }
}

char *slc_path_resolve(const struct slc_symlinks *links, const char *base, const char *path,
                       bool follows_last)
{
    /* Each part comes with a slash, ".." perhaps with another one. */
    struct way way = {.left = strdup(path), .room = strlen(base) + 2 * strlen(path) + 2};
    const struct slc_symlink *link;
    const char *rest;
    int err = 0;

    way.at = malloc(way.room);
    if (way.at)
        strcpy(way.at, *path == '/' ? "" : base);
    for (unsigned i = 0; way.at && way.left && !err; i++) {
        link = go_on(&way, links, follows_last, &rest);
        if (!link || i == FOLLOWED_MAX)
            break;
        err = follow_link(&way, link->text, rest);
    }
    if (err || !way.left) {
        free(way.at);
        way.at = NULL;
    }
    free(way.left);
    return way.at;
}

/* ---- what is what ---- */

void slc_names_fini(struct slc_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->list[i].path);
    free(names->list);
    wd_index_fini(&names->index);
    *names = (struct slc_names){0};
}

static uint64_t hash_of(const char *text)
{
    uint64_t hash = 0;

    for (; *text; text++)
        hash = wd_hash_u64(hash ^ (unsigned char)*text) ^ hash >> 29;
    return hash >> 20;
}

static uint32_t *place_of(const struct slc_names *names, const char *path)
{
    return wd_index_find(&names->index, hash_of(path), i, strcmp(names->list[i].path, path) == 0);
}

static int names_grow(struct slc_names *names)
{
    if (wd_grow(names->list, names->capacity, names->count + 1))
        return -ENOMEM;
    if ((names->count + 1) * 2 <= names->index.capacity)
        return 0;
    if (wd_index_renew(&names->index, names->index.capacity ? 2 * names->index.capacity : 64))
        return -ENOMEM;
    for (size_t i = 0; i < names->count; i++)
        *place_of(names, names->list[i].path) = (uint32_t)i + 1;
    return 0;
}

uint32_t *slc_names_object(struct slc_names *names, const char *path)
{
    if (names_grow(names))
        return NULL;
    uint32_t *place = place_of(names, path);
    if (*place)
        return &names->list[*place - 1].object;
    char *copy = strdup(path);
    if (!copy)
        return NULL;
    names->list[names->count] = (struct slc_name){copy, SLC_NO_OBJECT};
    *place = (uint32_t)++names->count;
    return &names->list[names->count - 1].object;
}
