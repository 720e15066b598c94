/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `info` can be asked for. */
#ifndef DBGCLI_COMMANDS_INFO_SUBJECT_H
#define DBGCLI_COMMANDS_INFO_SUBJECT_H

#include "dbgcli/commands/session.h"

/* Shows a subject; `operand` is NULL if none was given. 0 or a negative error. */
typedef int (*cli_info_fn)(struct cli_session *session, const char *operand);

struct cli_info_subject {
    const char *name;
    bool takes_operand;
    bool takes_many; /* the operand is all words, with a blank between two */
    cli_info_fn run;
};

struct cli_completions;

/* Adds the names of subjects that begin with `typed`. */
void cli_info_subjects_each(const char *typed, struct cli_completions *completions);

int cli_info_breakpoints(struct cli_session *session, const char *operand);
int cli_info_functions(struct cli_session *session, const char *regex);
int cli_info_lines(struct cli_session *session, const char *file);
int cli_info_locals(struct cli_session *session, const char *operand);
/* Prints the locals of a frame of the session's moment below its line, or adds them to `array`
 * (NULL: none). 0 or a negative error. */
int cli_frame_locals(struct cli_session *session, size_t index, json_t *array);

int cli_info_symbol(struct cli_session *session, const char *text);
int cli_info_line(struct cli_session *session, const char *text);
int cli_info_source(struct cli_session *session, const char *operand);
int cli_info_frame(struct cli_session *session, const char *operand);
int cli_info_sharedlibrary(struct cli_session *session, const char *operand);
int cli_info_variables(struct cli_session *session, const char *regex);
int cli_info_types(struct cli_session *session, const char *regex);
int cli_info_args(struct cli_session *session, const char *operand);
int cli_info_all_registers(struct cli_session *session, const char *operand);
int cli_info_files(struct cli_session *session, const char *operand);
/* What is said of a module in JSON, to be added to. */
json_t *cli_module_json(const struct wetdbg_module *module,
                        const struct wetdbg_module_debug *debug);
int cli_info_modules(struct cli_session *session, const char *operand);
int cli_info_implicit(struct cli_session *session, const char *operand);
int cli_info_slices(struct cli_session *session, const char *operand);
int cli_info_threads(struct cli_session *session, const char *operand);
int cli_info_ambiguous(struct cli_session *session, const char *operand);
int cli_info_registers(struct cli_session *session, const char *operand);

#endif
