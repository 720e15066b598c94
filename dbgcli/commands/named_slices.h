/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Slices and chops that a user gave a name: sets of instances, kept until the session ends. Those
 * that were saved lie beside the .wet, in FILE.wet.NAME.set, and are there again in the next
 * session of the same run: they are read when somebody first asks for them.
 */
#ifndef DBGCLI_COMMANDS_NAMED_SLICES_H
#define DBGCLI_COMMANDS_NAMED_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dbgcli/commands/nearness.h"
#include <wetdbg/set.h>

#define CLI_NAMED_NAME_MAX 64
#define CLI_LINES_UNKNOWN  UINT64_MAX

struct cli_named_slice {
    char name[CLI_NAMED_NAME_MAX];
    struct wetdbg_set
        *set; /* NULL: there is a file of that name, which cannot be read; `how` says why */
    struct wetdbg_set *plain;  /* without what implicit dependences added; NULL: the same */
    struct cli_nearness *near; /* what is known of distances; NULL of what a file brought */
    char *how;                 /* "slice backward crash", "A & B"; from a file it is untrusted */
    uint64_t lines;            /* of source; CLI_LINES_UNKNOWN until somebody counted them */
    bool is_saved;             /* as it is here */
};

struct cli_named_slices;

/* Those of FILE.wet, which is copied and must be what `wet` was opened from; nothing is read yet.
 * Dies where memory is short. */
struct cli_named_slices *cli_named_slices_new(struct wetdbg *wet, const char *wet_path);
void cli_named_slices_free(struct cli_named_slices *named); /* NULL is fine */

/* -WETDBG_ERR_USAGE, explained, for what cannot be a name: letters, digits and '_', no digit first,
 * and no word that means something else where slices are named. */
int cli_named_slice_check(const char *name);

/* The slice of that name, borrowed until it is set again or deleted. -WETDBG_ERR_NOT_FOUND, with a
 * message, if there is none; errors of wetdbg_set_load(). */
int cli_named_slices_find(struct cli_named_slices *named, const char *name,
                          struct cli_named_slice **found);

/* All by name, those beside the .wet too; borrowed until something changes. */
void cli_named_slices_list(struct cli_named_slices *named, struct cli_named_slice **list,
                           size_t *count);

/* Adds one, in place of one of the same name. Takes `set` and `near` (or NULL) over, and the holder
 * may give it a `plain`; the texts are copied. */
struct cli_named_slice *cli_named_slices_set(struct cli_named_slices *named, const char *name,
                                             struct wetdbg_set *set, struct cli_nearness *near,
                                             const char *how);

/* Forgets one, and removes its file beside the .wet. -WETDBG_ERR_NOT_FOUND, -errno. */
int cli_named_slices_delete(struct cli_named_slices *named, const char *name);

/* Writes one to a file, which `path` NULL puts beside the .wet; *where is to be freed. Errors of
 * cli_named_slices_find() and wetdbg_set_save(). */
int cli_named_slices_save(struct cli_named_slices *named, const char *name, const char *path,
                          char **where);

#endif
