/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The thread that runs an interval again while the caller looks at another one.
 *
 * There is one replayee, so there is one worker, with one order at a time. An order that fails
 * leaves nothing: whoever wants the interval runs it himself and is told why it cannot be run. So
 * no error has to be carried from one thread to the other, and none is reported that nobody asked
 * for.
 */
#include <assert.h>
#include <errno.h>
#include <signal.h>

#include "wet/query/wet_priv.h"

int wet_worker_init(struct wet_worker *worker)
{
    int err = pthread_mutex_init(&worker->lock, NULL);
    if (err)
        return -err;
    err = pthread_cond_init(&worker->changed, NULL);
    if (err)
        pthread_mutex_destroy(&worker->lock);
    return -err;
}

static void *worker_run(void *arg)
{
    struct wetdbg *wet = arg;
    struct wet_worker *worker = &wet->worker;
    pthread_mutex_lock(&worker->lock);
    while (!worker->quit) {
        if (worker->state != WET_WORKER_BUSY) {
            pthread_cond_wait(&worker->changed, &worker->lock);
            continue;
        }
        struct wet_cached *made = NULL;
        uint64_t k = worker->k;
        pthread_mutex_unlock(&worker->lock);
        int err = wet_interval_make(wet, k, &made);
        pthread_mutex_lock(&worker->lock);
        assert(worker->state == WET_WORKER_BUSY && !worker->result);
        worker->result = err ? NULL : made;
        worker->state = WET_WORKER_DONE;
        pthread_cond_broadcast(&worker->changed);
    }
    pthread_mutex_unlock(&worker->lock);
    return NULL;
}

/* Starts the thread, with signals blocked: they are for the threads of whoever uses us. */
static bool worker_start(struct wetdbg *wet)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    wet->worker.is_running = !pthread_create(&wet->worker.thread, NULL, worker_run, wet);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return wet->worker.is_running;
}

void wet_worker_fini(struct wetdbg *wet)
{
    struct wet_worker *worker = &wet->worker;
    if (worker->is_running) {
        pthread_mutex_lock(&worker->lock);
        worker->quit = true;
        pthread_cond_broadcast(&worker->changed);
        pthread_mutex_unlock(&worker->lock);
        pthread_join(worker->thread, NULL);
    }
    wet_cached_free(wet, worker->result);
    pthread_cond_destroy(&worker->changed);
    pthread_mutex_destroy(&worker->lock);
}

void wet_worker_ask(struct wetdbg *wet, uint64_t k)
{
    assert(k < wet->info.intervals);
    struct wet_worker *worker = &wet->worker;
    if (!worker->is_running && !worker_start(wet))
        return;
    pthread_mutex_lock(&worker->lock);
    if (worker->state == WET_WORKER_IDLE) {
        assert(!worker->result);
        worker->k = k;
        worker->state = WET_WORKER_BUSY;
        pthread_cond_broadcast(&worker->changed);
    }
    pthread_mutex_unlock(&worker->lock);
}

static struct wet_cached *result_take(struct wet_worker *worker, bool wait)
{
    struct wet_cached *result = NULL;
    if (!worker->is_running)
        return NULL;
    pthread_mutex_lock(&worker->lock);
    while (wait && worker->state == WET_WORKER_BUSY)
        pthread_cond_wait(&worker->changed, &worker->lock);
    if (worker->state == WET_WORKER_DONE) {
        result = worker->result;
        worker->result = NULL;
        worker->state = WET_WORKER_IDLE;
    }
    pthread_mutex_unlock(&worker->lock);
    return result;
}

struct wet_cached *wet_worker_settle(struct wetdbg *wet)
{
    return result_take(&wet->worker, true);
}

struct wet_cached *wet_worker_poll(struct wetdbg *wet)
{
    return result_take(&wet->worker, false);
}
