/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which bytes of an input matter: those whose values went into what is wrong, or into a step of the
 * ways that lead there. By thin forward slices: what only said where something is, or what was to
 * run, would be nearly all of an input. */
#ifndef DBGCLI_REPORT_INPUT_MARKS_H
#define DBGCLI_REPORT_INPUT_MARKS_H

#include "dbgcli/report/page_parts.h"

enum cli_input_mark {
    CLI_INPUT_UNUSED,
    CLI_INPUT_MATTERS,
    CLI_INPUT_COARSE, /* some byte of the stretch does, and there was no time to say which */
};

struct cli_input {
    char *bytes;
    uint8_t *marks; /* enum cli_input_mark of each */
    size_t size;
    bool is_cut; /* it has more bytes */
};

/* Reads what a criterion without its offset names ("input", "input:PATH", "argv:1"), of `size`
 * bytes, as it came to the program: the first ones only of much. 0 and cli_input_fini() is due, or
 * an error of criteria and states. */
int cli_input_read(const struct cli_page *page, const char *criterion, uint64_t size,
                   struct cli_input *input);
void cli_input_fini(struct cli_input *input);

/* Marks it, while the page has time: halves what matters until it is single bytes. */
void cli_input_mark(struct cli_page *page, const char *criterion, struct cli_input *input);

#endif
