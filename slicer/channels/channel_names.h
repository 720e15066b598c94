/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which files paths name, as far as the run's own calls tell: two paths are one file if they lead
 * to the same place, or a link or a rename made them so. Symbolic links are followed if the run
 * made them. No recording has the paths that calls were given, so intervals are run for them.
 */
#ifndef SLICER_CHANNELS_CHANNEL_NAMES_H
#define SLICER_CHANNELS_CHANNEL_NAMES_H

#include <stdbool.h>

#include "common/hash.h"
#include "wet/intervals.h"

#define SLC_NO_OBJECT UINT32_MAX

/* A string that a call at `time` was given. */
struct slc_path {
    wetdbg_time time;
    uint64_t address;
    char *text; /* NULL: not read, or it cannot be */
};

/* Reads strings, which are in the order of their times: one run for each interval with some. 0, or
 * an error of the wet. */
int slc_paths_read(struct wetdbg *wet, struct slc_path *paths, size_t count);

/* The text of one that was read; NULL if it was not. */
const char *slc_paths_find(const struct slc_path *paths, size_t count, wetdbg_time time,
                           uint64_t address);

/* Symbolic links: what was written into them. Embedded by their holder; all zero is none. */
struct slc_symlinks {
    struct slc_symlink {
        char *path, *text;
    } * list;
    size_t count, capacity;
};
void slc_symlinks_fini(struct slc_symlinks *links);
/* Notes that `path` leads to `text`. 0 or -ENOMEM. */
int slc_symlinks_add(struct slc_symlinks *links, const char *path, const char *text);
/* The link that a path is; NULL if it is none. Borrowed until the links change. */
struct slc_symlink *slc_symlinks_find(const struct slc_symlinks *links, const char *path);
void slc_symlinks_remove(struct slc_symlinks *links, struct slc_symlink *link);

/*
 * Where `path` leads, seen from the directory `base`: a path without ".", ".." and links, as the
 * kernel goes from part to part (path_resolution(7)); a link that is its last part is followed only
 * if `follows_last`. Of links in a circle some are followed. A base that does not begin with a
 * slash stands for a directory that nobody knows: ".." of that stays. For the caller to free, NULL
 * if memory is short.
 */
char *slc_path_resolve(const struct slc_symlinks *links, const char *base, const char *path,
                       bool follows_last);

/* What is what now. Embedded by its holder; all zero is empty. */
struct slc_names {
    struct slc_name {
        char *path;
        uint32_t object; /* SLC_NO_OBJECT: of nothing now */
    } * list;
    size_t count, capacity;
    struct wd_index index;
};
void slc_names_fini(struct slc_names *names);

/* Where a path's object stands, SLC_NO_OBJECT for a new path; NULL if memory is short. Borrowed
 * until the next one. */
uint32_t *slc_names_object(struct slc_names *names, const char *path);

#endif
