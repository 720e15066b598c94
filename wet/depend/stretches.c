/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Replays stretch by stretch; while one runs, the labels of the one before are found on a thread of
 * their own. The ring has two halves for that.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "common/clock.h"
#include "recorder/replay/start.h"
#include "wet/depend/depend_priv.h"
#include <wetdbg/errors.h>

/* Instructions of a stretch: few enough for its part of the ring to stay in a shared cache. */
#define STRETCH_INSTRUCTIONS (1u << 20)

struct run {
    struct dep_finder finder;
    struct rep_feed *feed;
    struct rep_engine *engine;
    struct dep_stretch stretches[2];
    unsigned filling; /* which one the replay fills */
    /* the finder's thread */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    const struct dep_stretch *given; /* that it is to pass, or is passing; NULL: it waits */
    bool is_ending;
    int err;
    char message[512];
};

static void *finder_main(void *arg)
{
    struct run *run = arg;

    pthread_mutex_lock(&run->mutex);
    for (;;) {
        while (!run->given && !run->is_ending)
            pthread_cond_wait(&run->changed, &run->mutex);
        if (!run->given)
            break;
        const struct dep_stretch *stretch = run->given;
        pthread_mutex_unlock(&run->mutex);
        int err = run->err ? run->err : dep_finder_pass(&run->finder, stretch);
        pthread_mutex_lock(&run->mutex);
        if (err && !run->err) {
            run->err = err;
            snprintf(run->message, sizeof(run->message), "%s", wetdbg_error(err));
        }
        run->given = NULL;
        pthread_cond_broadcast(&run->changed);
    }
    pthread_mutex_unlock(&run->mutex);
    return NULL;
}

static int finder_wait(struct run *run)
{
    pthread_mutex_lock(&run->mutex);
    while (run->given)
        pthread_cond_wait(&run->changed, &run->mutex);
    pthread_mutex_unlock(&run->mutex);
    return run->err ? wetdbg_fail(run->err, "%s", run->message) : 0;
}

static void finder_give(struct run *run, const struct dep_stretch *stretch)
{
    pthread_mutex_lock(&run->mutex);
    run->given = stretch;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->mutex);
}

static int next_entries(void *arg, struct wd_buf *out)
{
    return rep_feed_next(((struct run *)arg)->feed, out);
}

static int entry_taken(void *arg, const struct evq_entry *entry, uint64_t time, uint64_t ring_bytes)
{
    struct run *run = arg;
    struct wd_buf *marks = &run->stretches[run->filling].marks;
    struct dep_mark mark = {.ring_words = ring_bytes / 8};
    int err = wd_buf_append(marks, &mark, sizeof(mark));

    (void)time;
    return err ? err : wd_buf_append(marks, entry, entry->bytes);
}

static int stretch_run(struct run *run, enum rep_stop *why)
{
    struct rep_source source = {.next = next_entries, .taken = entry_taken, .arg = run};
    struct dep_stretch *stretch = &run->stretches[run->filling];
    const struct agt_task *tasks;
    size_t bytes;

    stretch->marks.size_bytes = 0;
    rep_engine_ring_half(run->engine, run->filling);
    int err = rep_engine_run(run->engine, &source, STRETCH_INSTRUCTIONS, false, why);
    if (!err)
        err = rep_engine_tasks(run->engine, &tasks, &stretch->running);
    if (err)
        return err;
    stretch->words = rep_engine_ring(run->engine, &bytes);
    stretch->word_count = bytes / 8;
    if (bytes > AGT_RING_BYTES / 2 - DEP_SLACK_BYTES)
        return wetdbg_fail(-WETDBG_ERR_MACHINE, "the replay process sent a damaged ring");
    return 0;
}

static int run_all(struct run *run)
{
    enum rep_stop why = REP_STOP_TIME;
    int err = 0;

    rep_engine_watch(run->engine, run->finder.options->interrupted);
    while (!err && why == REP_STOP_TIME) {
        err = stretch_run(run, &why);
        int found = finder_wait(run);
        err = err ? err : found;
        /* the finder stands still: its nodes may change */
        if (!err)
            err = dep_finder_learn(&run->finder, run->engine);
        if (!err)
            finder_give(run, &run->stretches[run->filling]);
        run->filling ^= 1;
    }
    int found = finder_wait(run);
    return err ? err : found;
}

/* Runs all with the finder's thread beside it. */
static int run_threaded(struct run *run)
{
    pthread_mutex_init(&run->mutex, NULL);
    pthread_cond_init(&run->changed, NULL);
    int err = pthread_create(&run->thread, NULL, finder_main, run);
    if (err) {
        err = wetdbg_fail(-err, "no thread to find dependences");
    } else {
        err = run_all(run);
        pthread_mutex_lock(&run->mutex);
        run->is_ending = true;
        pthread_cond_broadcast(&run->changed);
        pthread_mutex_unlock(&run->mutex);
        pthread_join(run->thread, NULL);
    }
    pthread_cond_destroy(&run->changed);
    pthread_mutex_destroy(&run->mutex);
    return err;
}

int wet_find_dependences(struct rep_feed *feed, const struct wet_depend_options *options,
                         struct wet_depend_result *result)
{
    struct run *run = calloc(1, sizeof(*run));
    double start = wd_seconds();

    if (!run)
        return -ENOMEM;
    *result = (struct wet_depend_result){0};
    run->feed = feed;
    run->finder.options = options;
    run->finder.result = result;
    int err = dep_finder_init(&run->finder);
    if (!err)
        err = rep_engine_from_feed(feed, DBI_COLLECT, &run->engine);
    if (!err)
        err = run_threaded(run);
    result->seconds = wd_seconds() - start;
    rep_engine_free(run->engine);
    dep_finder_fini(&run->finder);
    wd_buf_fini(&run->stretches[0].marks);
    wd_buf_fini(&run->stretches[1].marks);
    free(run);
    return err;
}
