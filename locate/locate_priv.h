/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of this folder share. */
#ifndef LOCATE_LOCATE_PRIV_H
#define LOCATE_LOCATE_PRIV_H

#include "common/hash.h"
#include <wetdbg/locate.h>

struct wetdbg_locate {
    struct wetdbg *wet;
    struct wetdbg_suspect *items;
    size_t count, capacity;
    struct wd_index by_line;
    struct wetdbg_suspect *sorted; /* what was given out last */
    uint32_t slice_lines;          /* own lines of the full slice; 0: none was taken */
    uint32_t decisions;
    uint32_t passing;
    uint32_t pieces; /* of the run before what is wrong; 0: it was not cut */
    enum wetdbg_pieces pieces_kind;
    bool is_pruned;
    bool is_tested;         /* some lines that ran are of no test's own source */
    uint64_t judged, sure;  /* lines of which confidence says something; of these, that it is 1 */
    uint64_t most_repaired; /* of any line */
    uint64_t most_mutated;  /* mutants that repair, of any line */
};

/* The suspect of a line; NULL if it is none. */
struct wetdbg_suspect *loc_find(const struct wetdbg_locate *locate, const char *file,
                                uint32_t line);

/* The same, made if it is not there. `suspect->file` and `line` say which; 0 or -ENOMEM. */
int loc_make(struct wetdbg_locate *locate, const struct wetdbg_suspect *suspect,
             struct wetdbg_suspect **out);

/* The suspect of an instruction's line. */
struct wetdbg_suspect *loc_find_pc(const struct wetdbg_locate *locate, uint64_t pc);

/* An instruction of the program's own code that ran. */
struct loc_ran {
    uint64_t pc, executions;
    unsigned doing;
};

/* All of a run, each once, by address; *items is to be freed. Runs nothing. 0 or -ENOMEM. */
int loc_ran_list(struct wetdbg *wet, struct loc_ran **items, size_t *count);

/* Whether a source file is one of the system's, which nobody suspects. */
bool loc_is_system(const char *file);

/* The score of a line's own evidence, and what of it other runs say: switched and changed ones,
 * those with other values, passing ones, and pieces of this one. */
struct loc_score {
    double all, runs;
};

struct loc_score loc_score(const struct wetdbg_locate *locate,
                           const struct wetdbg_suspect *suspect);

/* Makes the suspects' scores: of their own evidence, and of what runs say of lines beside them.
 * Leaves them sorted by file, function and line. 0 or -ENOMEM. */
int loc_scores_make(const struct wetdbg_locate *locate, struct wetdbg_suspect *suspects,
                    size_t count);

void loc_reasons(const struct wetdbg_locate *locate, struct wetdbg_suspect *suspect);

#endif
