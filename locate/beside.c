/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What runs say of a line they say of those around it, too: what is missing, or was computed a
 * statement too late, has no such evidence of its own, but stands where other lines have some. What
 * the slice says is each line's own. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "locate/locate_priv.h"
#include "locate/weights.h"

static int by_place(const void *left, const void *right)
{
    const struct wetdbg_suspect *a = left, *b = right;
    int order = strcmp(a->file, b->file);

    if (!order)
        order = strcmp(a->function, b->function);
    return order ? order : a->line < b->line ? -1 : a->line > b->line;
}

static bool is_same_function(const struct wetdbg_suspect *a, const struct wetdbg_suspect *b)
{
    return !strcmp(a->function, b->function) && !strcmp(a->file, b->file);
}

/* The line beside another one against which runs speak most. */
struct beside {
    double runs; /* less than its own, the farther away the more; 0: there is none */
    uint32_t line;
};

/* Of suspects[i], of a function's `count`. */
static struct beside beside_of(const struct wetdbg_suspect *suspects, size_t count,
                               const struct loc_score *own, size_t i)
{
    struct beside best = {0};
    size_t from = i > LOC_BESIDE_LINES ? i - LOC_BESIDE_LINES : 0;

    for (size_t k = from; k < count && k <= i + LOC_BESIDE_LINES; k++) {
        double lines = fabs((double)suspects[k].line - suspects[i].line);
        double runs = own[k].runs * exp(-lines / LOC_BESIDE_DECAY);
        if (k != i && lines <= LOC_BESIDE_LINES && runs > best.runs)
            best = (struct beside){runs, suspects[k].line};
    }
    return best;
}

/* A line against which more speaks than against those around it keeps its score, so that those that
 * come first do so by their own evidence. */
static void function_scores(struct wetdbg_suspect *suspects, size_t count,
                            const struct loc_score *own)
{
    for (size_t i = 0; i < count; i++) {
        struct beside best = beside_of(suspects, count, own, i);
        bool is_lifted = best.runs > own[i].runs;
        suspects[i].beside = is_lifted ? best.line : 0;
        suspects[i].score = own[i].all + (is_lifted ? LOC_BESIDE * (best.runs - own[i].runs) : 0);
    }
}

int loc_scores_make(const struct wetdbg_locate *locate, struct wetdbg_suspect *suspects,
                    size_t count)
{
    struct loc_score *own = malloc((count + 1) * sizeof(*own));

    if (!own)
        return -ENOMEM;
    qsort(suspects, count, sizeof(*suspects), by_place);
    for (size_t i = 0; i < count; i++)
        own[i] = loc_score(locate, &suspects[i]);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && is_same_function(&suspects[from], &suspects[to]); to++)
            ;
        function_scores(suspects + from, to - from, own + from);
    }
    for (size_t i = 0; i < count && locate->is_tested; i++)
        if (suspects[i].evidence.in_test && suspects[i].score > 0)
            suspects[i].score *= LOC_TEST;
    free(own);
    return 0;
}
