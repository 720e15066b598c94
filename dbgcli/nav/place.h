/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Places in the code and in the run: from what the user types, and back to what is shown. */
#ifndef DBGCLI_NAV_PLACE_H
#define DBGCLI_NAV_PLACE_H

#include "dbgcli/commands/session.h"

struct cli_place {
    uint64_t pc;
    const char *function; /* NULL: unknown. All strings are borrowed from the model */
    const char *linkage_name;
    const char *module;
    const char *file; /* absolute; NULL: no line information */
    uint32_t line;
    const char *text; /* of the line without indentation; NULL if the source is not there */
};

void cli_place_of_pc(struct cli_session *session, uint64_t pc, struct cli_place *place);

/* Text of a line without its indentation, or NULL. `pc` as for wetdbg_source_line(). Warns, once
 * for each file, of a source that is newer than the code. `file` is the model's. */
const char *cli_source_text(struct cli_session *session, const char *file, uint32_t line,
                            uint64_t pc);

/* "file.c:12", or "libc.so.6", or "?"; the base name is enough for people. */
void cli_place_print(struct cli_out *out, const struct cli_place *place);

/* Prints the place of one instruction: "file.c:12", or without a line its address, with the
 * function and how far in. */
void cli_place_print_exact(struct cli_session *session, const struct cli_place *place);

/* Adds pc, function, linkage_name, file, line, module and text to an object. */
void cli_place_to_json(json_t *object, const struct cli_place *place);

/* Last part of a path. */
const char *cli_base_name(const char *path);

/* "prog has no debug information (build-id 12ab...)" if that is so of the module of an address,
 * else NULL; to be freed. */
char *cli_debug_missing(struct wetdbg_model *model, uint64_t pc);

/* Splits FILE:LINE; *file is to be freed. -WETDBG_ERR_USAGE if it is none. */
int cli_line_parse(const char *text, char **file, uint32_t *line);

/* The addresses where a breakpoint on FILE:LINE would be; *pcs is to be freed. -WETDBG_ERR_USAGE or
 * -WETDBG_ERR_NOT_FOUND with what there is instead. */
int cli_line_pcs(struct wetdbg_model *model, const char *text, uint64_t **pcs, size_t *count);

/* Reads *ADDRESS, or an address as it is shown, with '*' or without: wetdbg_address_named(). */
bool cli_address_parse(struct wetdbg_model *model, const char *text, uint64_t *address);

/* cli_line_pcs() for FILE:LINE, FUNCTION (of that name all), or what cli_address_parse() takes. */
int cli_breakpoint_pcs(struct cli_session *session, const char *text, uint64_t **pcs,
                       size_t *count);

/*
 * Reads a time: TIME, start, end, crash, now, FILE:LINE, FILE:LINE#K (K from 1; from -1 backwards;
 * FILE:LINE is #-1, the last time), the same of other places that cli_breakpoint_pcs() takes, or a
 * bookmark. Errors: -WETDBG_ERR_USAGE,
 * -WETDBG_ERR_NOT_FOUND, those of the wet and of reading bookmarks.
 */
int cli_time_parse(struct cli_session *session, const char *text, wetdbg_time *time);

#endif
