/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a session knows to be right and wrong: rounds of `prune` and `mark`. */
#ifndef DBGCLI_COMMANDS_PRUNING_H
#define DBGCLI_COMMANDS_PRUNING_H

#include "dbgcli/commands/session.h"
#include <wetdbg/prune.h>

/* Instances that a user has said something of. */
struct cli_mark {
    char *text; /* as given */
    bool is_good;
    wetdbg_time *times;
    size_t count, capacity;
};

/* Embedded in nothing: made when it is first needed, and freed with the session. */
struct cli_pruning {
    struct wetdbg_profile *profile; /* NULL until needed */
    wetdbg_time profile_last;       /* what it is of: */
    uint64_t profile_instructions;  /* see wetdbg_profile_make() */
    /* What the last round began from; a session's criterion that is another one begins anew. */
    char *wrong;                     /* its description */
    struct wetdbg_criterion **right; /* owned */
    size_t right_count;
    struct wetdbg_criterion **wrongs; /* owned: criteria from which marks of what is bad led on */
    size_t wrong_count;
    struct wetdbg_set *within; /* only these instances are judged; NULL: all */
    struct cli_mark *marks;
    size_t mark_count;
};

/* The session's; never NULL. */
struct cli_pruning *cli_pruning_of(struct cli_session *session);
void cli_pruning_free(struct cli_pruning *pruning); /* NULL is fine */

/* By default so many instances are judged: some half a minute. */
#define CLI_PRUNE_JUDGE (UINT64_C(8) << 20)

/* How a round is made and shown. */
struct cli_prune_view {
    uint64_t limit; /* of lines; 0: none */
    uint64_t judge; /* so many instances at most; 0: all */
    bool shows_all; /* also lines whose source is not here */
    bool shows_pruned;
};

/* From now on only instances are judged that are in a set, too: it is taken over. */
int cli_pruning_narrow(struct cli_pruning *pruning, struct wetdbg_set *set);

/* What was sliced before something was marked as bad is wrong all the same: it is taken over. */
void cli_pruning_add_wrong(struct cli_pruning *pruning, struct wetdbg_criterion *criterion);
void cli_pruning_forget_wrongs(struct cli_pruning *pruning);

/* Forgets what is right. */
void cli_pruning_forget_right(struct cli_pruning *pruning);

/* From now on what is right is meant for the session's criterion. */
void cli_pruning_settle(struct cli_session *session);

/* Whether there is a backward slice to prune: -WETDBG_ERR_USAGE, explained. The session's pruning
 * is there then. */
int cli_prune_check(struct cli_session *session);

/* Something that is right: it is taken over. -WETDBG_ERR_USAGE if what is wrong, or was before a
 * mark led on from there, is a part of it. */
int cli_pruning_add_right(struct cli_session *session, struct wetdbg_criterion *criterion);

/* Finds what is right if nobody has said it of the session's criterion: that may be nothing. */
int cli_prune_begin(struct cli_session *session);

/* A list for JSON. */
json_t *cli_marks_to_json(const struct cli_pruning *pruning);

/* One round: prunes the slice of the session's criterion by what is right and the marks, and shows
 * what is left. -WETDBG_ERR_NOT_FOUND if nothing is known to be right; errors of slices. */
int cli_prune_round(struct cli_session *session, const struct cli_prune_view *how);

#endif
