/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "predicate_switch/batches.h"

#include <errno.h>
#include <stdlib.h>

#include "common/clock.h"
#include <wetdbg/errors.h>

#define BATCH_PROBE 4u /* the first batch: runs may take seconds each */
#define BATCH_FIRST 64u
#define BATCH_MAX   4096u
#define QUICK_S     0.3 /* seconds: the next batch may be larger */
#define SLOW_S      1.0 /* it is smaller */

/* A run of the batch, and where it stands in the list. */
struct planned {
    struct psw_plan plan;
    size_t index;
};

struct batch {
    struct psw_batches *all;
    struct planned *planned;
    struct psw_plan *plans;
};

static int by_time(const void *left, const void *right)
{
    const struct planned *a = left, *b = right;
    if (a->plan.change.time != b->plan.change.time)
        return a->plan.change.time < b->plan.change.time ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static int answer_take(void *arg, size_t index, const struct wetdbg_trial_answer *answer)
{
    struct batch *batch = arg;
    return batch->all->answered(batch->all->arg, batch->planned[index].index, answer);
}

static int batch_run(struct batch *batch, size_t first, size_t count)
{
    struct psw_batches *all = batch->all;
    for (size_t i = 0; i < count; i++) {
        batch->planned[i].index = first + i;
        all->plan(all->arg, first + i, &batch->planned[i].plan);
    }
    qsort(batch->planned, count, sizeof(*batch->planned), by_time);
    for (size_t i = 0; i < count; i++)
        batch->plans[i] = batch->planned[i].plan;
    return psw_trials_run(all->trials, batch->plans, count, all->deadline, answer_take, batch);
}

static bool is_over(struct psw_batches *all)
{
    all->is_interrupted |= all->interrupted && *all->interrupted;
    return all->is_interrupted || (all->budget_trials && all->tried >= all->budget_trials) ||
           (all->deadline > 0 && wd_seconds() >= all->deadline);
}

/* Each batch passes the run anew, so that small ones are for runs that are slow. */
static size_t size_next(size_t size, double seconds)
{
    if (seconds < QUICK_S && size < BATCH_MAX)
        return size < BATCH_FIRST ? BATCH_FIRST : size * 4;
    if (size < BATCH_FIRST)
        return seconds < SLOW_S ? size * 4 : size;
    return seconds > SLOW_S && size > BATCH_FIRST ? size / 2 : size;
}

static int batches_run(struct batch *batch)
{
    struct psw_batches *all = batch->all;
    size_t size = BATCH_PROBE;
    int err = 0;
    while (all->tried < all->count && !err && !is_over(all)) {
        double began = wd_seconds();
        size_t left = all->count - all->tried, count = left < size ? left : size;
        if (all->budget_trials && count > all->budget_trials - all->tried)
            count = all->budget_trials - all->tried;
        err = batch_run(batch, all->tried, count);
        double seconds = wd_seconds() - began;
        size = size_next(size, seconds);
        if (!err)
            all->tried += count;
        if (!err && all->progress)
            all->progress(all->progress_arg, all->tried, all->count);
    }
    if (err != -WETDBG_ERR_INTERRUPTED)
        return err == -ETIMEDOUT ? 0 : err;
    all->is_interrupted = true;
    return 0;
}

int psw_batches_run(struct psw_batches *batches)
{
    struct batch batch = {.all = batches,
                          .planned = calloc(BATCH_MAX, sizeof(*batch.planned)),
                          .plans = calloc(BATCH_MAX, sizeof(*batch.plans))};
    int err = batch.planned && batch.plans ? batches_run(&batch) : -ENOMEM;
    free(batch.planned);
    free(batch.plans);
    return err;
}
