/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wet/build/writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/err.h"

#define QUEUE_MAX 4

struct wet_writer {
    struct wet_store_writer *store;
    int level;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct wet_interval_parts queue[QUEUE_MAX];
    unsigned first, count;
    bool finishing;
    int err;
    char message[512]; /* errors are kept per thread: carried over by hand */
};

static void parts_fini(struct wet_interval_parts *parts)
{
    wd_buf_fini(&parts->state);
    wd_buf_fini(&parts->entries);
    wd_buf_fini(&parts->counts);
    wd_buf_fini(&parts->lines);
}

static int parts_write(struct wet_writer *writer, const struct wet_interval_parts *parts)
{
    const struct {
        uint32_t kind;
        const struct wd_buf *buf;
    } sections[] = {{WET_SEC_STATE, &parts->state},
                    {WET_SEC_ENTRIES, &parts->entries},
                    {WET_SEC_COUNTS, &parts->counts},
                    {WET_SEC_LINES, &parts->lines}};
    for (unsigned i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        int err = wet_store_add(writer->store, sections[i].kind, parts->index,
                                sections[i].buf->data, sections[i].buf->size_bytes, writer->level);
        if (err)
            return err;
    }
    return 0;
}

static void *write_queue(void *arg)
{
    struct wet_writer *writer = arg;
    pthread_mutex_lock(&writer->lock);
    for (;;) {
        while (!writer->count && !writer->finishing)
            pthread_cond_wait(&writer->changed, &writer->lock);
        if (!writer->count)
            break;
        struct wet_interval_parts parts = writer->queue[writer->first];
        bool failed = writer->err != 0;
        pthread_mutex_unlock(&writer->lock);
        int err = failed ? 0 : parts_write(writer, &parts);
        parts_fini(&parts);
        pthread_mutex_lock(&writer->lock);
        if (err) {
            writer->err = err;
            snprintf(writer->message, sizeof writer->message, "%s", wd_error_message(err));
        }
        writer->first = (writer->first + 1) % QUEUE_MAX;
        writer->count--;
        pthread_cond_broadcast(&writer->changed);
    }
    pthread_mutex_unlock(&writer->lock);
    return NULL;
}

int wet_writer_new(struct wet_store_writer *store, int level, struct wet_writer **out)
{
    struct wet_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return -ENOMEM;
    writer->store = store;
    writer->level = level;
    pthread_mutex_init(&writer->lock, NULL);
    pthread_cond_init(&writer->changed, NULL);
    int err = pthread_create(&writer->thread, NULL, write_queue, writer);
    if (err) {
        free(writer);
        return -err;
    }
    *out = writer;
    return 0;
}

static int error_of(struct wet_writer *writer)
{
    return writer->err ? wd_fail(writer->err, "%s", writer->message) : 0;
}

int wet_writer_put(struct wet_writer *writer, struct wet_interval_parts *parts)
{
    pthread_mutex_lock(&writer->lock);
    while (writer->count == QUEUE_MAX)
        pthread_cond_wait(&writer->changed, &writer->lock);
    writer->queue[(writer->first + writer->count) % QUEUE_MAX] = *parts;
    writer->count++;
    int err = error_of(writer);
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->lock);
    *parts = (struct wet_interval_parts){0};
    return err;
}

int wet_writer_finish(struct wet_writer *writer)
{
    if (!writer)
        return 0;
    pthread_mutex_lock(&writer->lock);
    writer->finishing = true;
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->lock);
    pthread_join(writer->thread, NULL);
    int err = error_of(writer);
    free(writer);
    return err;
}
