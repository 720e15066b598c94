/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a switched run is worth: its output and its end held against what they should have been. */
#ifndef DBGCLI_VERBS_SWITCH_JUDGE_H
#define DBGCLI_VERBS_SWITCH_JUDGE_H

#include "dbgcli/args.h"
#include <wetdbg/switch_search.h>

enum cli_switch_oracle {
    CLI_SWITCH_EXPECT,   /* standard output is that of a file, and the exit status right */
    CLI_SWITCH_COMMAND,  /* a command says so: 0 right, 1 wrong, else nothing */
    CLI_SWITCH_NO_CRASH, /* the program exits */
};

/* Bytes that were put out, and when the calls did that. */
struct cli_switch_piece {
    wetdbg_time time;
    size_t end; /* in all bytes */
};

struct cli_switch_judge {
    enum cli_switch_oracle oracle;
    const char *command;
    uint8_t *expected;
    size_t expected_size;
    int status;   /* the right one */
    size_t wrong; /* offset of the recorded run's first wrong byte */
    /* What the recording put out to descriptor 1. */
    uint8_t *recorded;
    size_t recorded_size;
    struct cli_switch_piece *pieces;
    size_t piece_count;
};

/* -WETDBG_ERR_USAGE, explained, for options that do not go together. */
int cli_switch_judge_check(const struct cli_args *args);

/*
 * Reads what the oracle needs (of options that were checked), and asks it about the recorded run:
 * -WETDBG_ERR_USAGE, explained, if that passes, or if two answers differ. *criterion is what is
 * wrong, for 'slice'; to be freed.
 * cli_switch_judge_fini() is due in any case.
 */
int cli_switch_judge_init(struct cli_switch_judge *judge, const struct cli_args *args,
                          struct wetdbg *wet, char **criterion);
void cli_switch_judge_fini(struct cli_switch_judge *judge);

/* How many bytes the recording had put out before a time. */
size_t cli_switch_put_before(const struct cli_switch_judge *judge, wetdbg_time time);

/* Whether a run can no longer be right that has put out these bytes. */
bool cli_switch_is_lost(const struct cli_switch_judge *judge, const uint8_t *output, size_t size);

/* The verdict over a run that put out these bytes and ended so; `status` as wait(2) has it, or -1
 * for a run that was ended because it was lost. */
int cli_switch_judge(const struct cli_switch_judge *judge, const uint8_t *output, size_t size,
                     int status, struct wetdbg_trial_answer *answer);

#endif
