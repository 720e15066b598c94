/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Source file names: as people type them against as DWARF has them. */
#ifndef WET_MODEL_PATHS_H
#define WET_MODEL_PATHS_H

#include "wet/model/addrmap.h"

/* Removes "//", "/./" and "dir/.." in place, without looking at the file system. */
void mdl_path_normalize(char *path);

/* Answers whether files match a wanted name: equal, or the name is a suffix of whole parts. */
struct mdl_file_match {
    char *wanted;             /* normalized; NULL matches everything */
    struct mdl_addrmap known; /* by interned file: answer + 1 */
};

int mdl_file_match_init(struct mdl_file_match *match, const char *wanted);
void mdl_file_match_fini(struct mdl_file_match *match);

/* `file` is interned. 1, 0 or -ENOMEM. */
int mdl_file_matches(struct mdl_file_match *match, const char *file);

#endif
