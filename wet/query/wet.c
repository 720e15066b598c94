/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opening a .wet: the tables are read at once, everything else when it is asked for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "wet/intervals.h"
#include "wet/model/make_model.h"
#include "wet/query/wet_priv.h"
#include "wet/trace/rules.h"
#include "wet/trace/stored_entry.h"
#include <wetdbg/errors.h>

#define PASSING_BYTES (24ull << 20) /* what is there at a time has to be touched a first time */
/* The program's memory takes no more than either of these allows, unless more is granted. */
#define IMAGE_BYTES (512ull << 20)
#define IMAGE_RATIO 1024 /* to the file's size */

static int damaged(const struct wetdbg *wet, const char *what)
{
    return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: damaged %s", wet_store_path(wet->store), what);
}

/* ---- meta ---- */

static uint64_t number(const json_t *meta, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(meta, key));
}

/* A number, for keys that are there only if something is known: the other number says that it is
 * not. */
static uint64_t number_or(const json_t *meta, const char *key, uint64_t otherwise)
{
    return json_object_get(meta, key) ? number(meta, key) : otherwise;
}

/* What descriptors 0 to 2 were; null is one that is not known. */
static int streams_take(struct wetdbg *wet)
{
    const json_t *list = json_object_get(wet->meta, "streams");
    if (list && json_array_size(list) != RRT_INHERITED)
        return damaged(wet, "description of the run: 'streams' is no list of three");
    for (size_t fd = 0; list && fd < RRT_INHERITED; fd++) {
        const json_t *numbers = json_array_get(list, fd);
        struct rrt_inherited *stream = &wet->streams[fd];
        if (json_is_null(numbers))
            continue;
        bool is_sound = json_array_size(numbers) == RRT_INHERITED_FIELDS;
        for (size_t i = 0; i < RRT_INHERITED_FIELDS && is_sound; i++) {
            is_sound = json_is_integer(json_array_get(numbers, i));
            stream->fields[i] = json_integer_value(json_array_get(numbers, i));
        }
        if (!is_sound)
            return wetdbg_fail(-WETDBG_ERR_CORRUPT,
                               "%s: damaged description of the run: 'streams' has for descriptor "
                               "%zu something else than %d numbers or null",
                               wet_store_path(wet->store), fd, RRT_INHERITED_FIELDS);
        stream->is_known = true;
    }
    return 0;
}

static int hex_digit(char digit)
{
    const char *at = digit ? strchr("0123456789abcdef", digit) : NULL;
    return at ? (int)(at - "0123456789abcdef") : -1;
}

/* NULL if it is no even number of digits, holds a NUL, or memory is short. */
static char *hex_decode(const char *hex)
{
    size_t length = strlen(hex) / 2;
    char *bytes = strlen(hex) % 2 ? NULL : malloc(length + 1);
    for (size_t i = 0; bytes && i < length; i++) {
        int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);
        if (high < 0 || low < 0 || (high | low) == 0) {
            free(bytes);
            return NULL;
        }
        bytes[i] = (char)(high << 4 | low);
    }
    if (bytes)
        bytes[length] = 0;
    return bytes;
}

const char *wet_meta_text(struct wetdbg *wet, const json_t *value)
{
    const char *hex = json_string_value(json_object_get(value, "hex"));
    if (!hex)
        return json_string_value(value);
    char *bytes = hex_decode(hex);
    if (!bytes || wd_grow_one(wet->decoded, wet->decoded_count)) {
        free(bytes);
        return NULL;
    }
    wet->decoded[wet->decoded_count++] = bytes;
    return bytes;
}

static int meta_open(struct wetdbg *wet)
{
    struct wd_buf bytes = {0};
    json_error_t error;
    int err = wet_store_read(wet->store, WET_SEC_META, 0, &bytes);
    if (!err) {
        wet->meta = json_loadb((const char *)bytes.data, bytes.size_bytes, JSON_ALLOW_NUL, &error);
        wet->info.program = wet_meta_text(wet, json_object_get(wet->meta, "program"));
        if (!wet->info.program || !json_is_array(json_object_get(wet->meta, "argv")))
            err = damaged(wet, "description of the run");
    }
    wd_buf_fini(&bytes);
    if (err)
        return err == -WETDBG_ERR_NOT_FOUND ? damaged(wet, "description of the run") : err;
    const json_t *argv = json_object_get(wet->meta, "argv");
    struct wetdbg_info *info = &wet->info;
    info->argc = json_array_size(argv);
    wet->argv = calloc(info->argc + 1, sizeof(*wet->argv));
    if (!wet->argv)
        return -ENOMEM;
    for (size_t i = 0; i < info->argc; i++) {
        const char *arg = wet_meta_text(wet, json_array_get(argv, i));
        wet->argv[i] = arg ? arg : "";
    }
    info->argv = wet->argv;
    info->pid = (int)number(wet->meta, "pid");
    info->wait_status = (int)number(wet->meta, "wait_status");
    info->signal = (int)number(wet->meta, "signal");
    info->signal_code = (int64_t)number(wet->meta, "signal_code");
    info->signal_address = number(wet->meta, "signal_address");
    info->signal_time = number(wet->meta, "signal_time");
    info->instructions = number(wet->meta, "instructions");
    info->first_time = number(wet->meta, "first_time");
    info->last_time = info->first_time - 1 + info->instructions;
    info->has_end = number(wet->meta, "has_end");
    info->is_window = info->first_time > 1 || !info->has_end;
    info->nodes = number(wet->meta, "nodes");
    info->node_executions = number(wet->meta, "node_executions");
    info->loads = number(wet->meta, "loads");
    info->stores = number(wet->meta, "stores");
    info->syscalls = number(wet->meta, "syscalls");
    info->is_buffered = number(wet->meta, "buffered");
    info->events = number(wet->meta, "events");
    info->places = number(wet->meta, "places");
    info->recorded_at_ns = (int64_t)number(wet->meta, "recorded_at");
    info->recorded_until_ns = (int64_t)number(wet->meta, "recorded_until");
    const json_t *branch = json_object_get(wet->meta, "branch");
    info->change = wet_meta_text(wet, json_object_get(branch, "change"));
    info->change_time = number(branch, "time");
    info->recorded_in = wet_meta_text(wet, json_object_get(wet->meta, "recorded_in"));
    wet->xcr0 = number(wet->meta, "xcr0");
    wet->processor.rdpid = number_or(wet->meta, "rdpid", AGT_PROCESSOR_UNKNOWN);
    wet->processor.lsl = number_or(wet->meta, "lsl", AGT_PROCESSOR_UNKNOWN);
    wet->x87 = (uint32_t)number(wet->meta, "x87");
    wet->cpuid_is_recorded = number(wet->meta, "cpuid_recorded");
    return streams_take(wet);
}

/* ---- tables ---- */

static int table(struct wetdbg *wet, uint32_t kind, size_t record_bytes, const char *what,
                 struct wd_buf *bytes, size_t *count)
{
    int err = wet_store_read(wet->store, kind, 0, bytes);
    if (err == -WETDBG_ERR_NOT_FOUND || (!err && bytes->size_bytes % record_bytes))
        return damaged(wet, what);
    *count = bytes->size_bytes / record_bytes;
    return err;
}

static int index_open(struct wetdbg *wet)
{
    size_t count;
    int err = table(wet, WET_SEC_INDEX, sizeof(*wet->index), "index", &wet->index_bytes, &count);
    if (err)
        return err;
    wet->index = (const struct wet_index_record *)wet->index_bytes.data;
    uint64_t time = wet->info.first_time;
    if (!time || time > INT64_MAX)
        return damaged(wet, "index");
    for (size_t k = 0; k < count; k++) {
        if (!wet_rule_interval(&wet->index[k], time))
            return damaged(wet, "index");
        time += wet->index[k].instructions;
    }
    if (!count || time != wet->info.last_time + 1)
        return damaged(wet, "index");
    wet->info.intervals = count;
    wet->written = calloc(count, sizeof(*wet->written));
    wet->cached = calloc(count, sizeof(struct wet_cached *));
    wet->sizes = calloc(count, sizeof(*wet->sizes));
    if (!wet->written || !wet->cached || !wet->sizes)
        return -ENOMEM;
    return 0;
}

static int objects_open(struct wetdbg *wet)
{
    size_t count = 0;
    int err = table(wet, WET_SEC_OBJECTS, sizeof(struct wet_object), "table of mappings",
                    &wet->objects_bytes, &count);
    const struct wet_object *objects = (const struct wet_object *)wet->objects_bytes.data;
    for (size_t i = 0; !err && i < count; i++) {
        err = wet_space_add_object(&wet->space, &objects[i]);
        if (!err && wet->space.objects[i].mirror_off != objects[i].mirror_off)
            err = damaged(wet, "table of mappings");
    }
    return err;
}

static int names_open(struct wetdbg *wet)
{
    int err = wet_store_read(wet->store, WET_SEC_NAMES, 0, &wet->names_bytes);
    const struct wd_buf *bytes = &wet->names_bytes;
    if (err == -WETDBG_ERR_NOT_FOUND ||
        (!err && bytes->size_bytes && bytes->data[bytes->size_bytes - 1]))
        return damaged(wet, "names");
    if (err)
        return err;
    wet->names = calloc(bytes->size_bytes + 1, sizeof(*wet->names));
    if (!wet->names)
        return -ENOMEM;
    for (size_t at = 0; at < bytes->size_bytes; at += strlen((const char *)bytes->data + at) + 1)
        wet->names[wet->name_count++] = (const char *)bytes->data + at;
    return 0;
}

static int outputs_open(struct wetdbg *wet)
{
    size_t count = 0;
    int err = table(wet, WET_SEC_OUTPUTS, sizeof(struct wet_output_record), "table of outputs",
                    &wet->outputs_bytes, &count);
    if (err)
        return err;
    wet->outputs = calloc(count + 1, sizeof(*wet->outputs));
    if (!wet->outputs)
        return -ENOMEM;
    const struct wet_output_record *records = (const void *)wet->outputs_bytes.data;
    for (size_t i = 0; i < count; i++)
        wet->outputs[i] = (struct wetdbg_output){.fd = (int)records[i].fd,
                                                 .time = records[i].time,
                                                 .offset = records[i].offset,
                                                 .address = records[i].address,
                                                 .size = records[i].size};
    wet->output_count = count;
    return 0;
}

/* ---- life ---- */

/* Sets what the program's memory may take. It is true of some runs that they wrote the same to
 * many GiB, which is little to be stored; but few such files are seen, and one is quickly made by
 * hand. */
static void image_limit(struct wetdbg *wet)
{
    uint64_t static_bytes, bytes = wet_store_size(wet->store, &static_bytes);
    bytes = bytes < UINT64_MAX / IMAGE_RATIO ? bytes * IMAGE_RATIO : UINT64_MAX;
    wet->space.most_bytes = bytes > IMAGE_BYTES ? bytes : IMAGE_BYTES;
}

int wetdbg_open(const char *path, struct wetdbg **out)
{
    struct wetdbg *wet = calloc(1, sizeof(*wet));
    if (!wet)
        return -ENOMEM;
    wet_keeper_init(&wet->keeper, wet);
    wet_keeper_init(&wet->passing, wet);
    wetdbg_set_memory(wet, WET_MEMORY_DEFAULT);
    int err = wet_worker_init(&wet->worker);
    if (!err && (err = -pthread_mutex_init(&wet->node_lock, NULL)))
        wet_worker_fini(wet);
    if (err) {
        free(wet);
        return err;
    }
    err = wet_store_open(path, &wet->store);
    if (!err)
        err = wet_space_init(&wet->space);
    if (!err)
        image_limit(wet);
    wet->space.file_read = wet_file_read;
    wet->space.file_size = wet_file_size;
    wet->space.arg = wet;
    if (!err)
        err = meta_open(wet);
    if (!err)
        err = index_open(wet);
    if (!err)
        err = objects_open(wet);
    if (!err)
        err = wet_threads_open(wet);
    if (!err)
        err = wet_jumps_open(wet);
    if (!err)
        err = names_open(wet);
    if (!err)
        err = outputs_open(wet);
    if (!err)
        err = wet_files_open(wet);
    if (!err)
        err = wet_machine_open(wet);
    if (!err)
        err = wet_objects_check(wet);
    if (!err)
        err = wet_nodes_open(wet);
    if (!err)
        err = wet_model_make(wet);
    if (err) {
        wetdbg_close(wet);
        return err == -WETDBG_ERR_NOT_FOUND
                   ? wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: a section is missing", path)
                   : err;
    }
    struct wetdbg_info *info = &wet->info;
    info->wet_bytes = wet_store_size(wet->store, &info->static_bytes);
    info->bits_per_instruction =
        info->instructions
            ? 8.0 * (double)(info->wet_bytes - info->static_bytes) / (double)info->instructions
            : 0;
    *out = wet;
    return 0;
}

void wetdbg_close(struct wetdbg *wet)
{
    if (!wet)
        return;
    wet_worker_fini(wet);
    rep_engine_free(wet->engine);
    wet_fragments_free(wet->fragments);
    wet_keeper_fini(&wet->keeper);
    wet_keeper_fini(&wet->passing);
    wet_arrays_free(wet->spare);
    free(wet->sizes);
    free(wet->cached);
    free(wet->written);
    mdl_free(wet->model);
    wet_threads_close(wet);
    wd_buf_fini(&wet->jumps_bytes);
    wet_nodes_close(wet);
    wet_files_close(wet);
    wet_space_fini(&wet->space);
    json_decref(wet->meta);
    free(wet->argv);
    for (size_t i = 0; i < wet->decoded_count; i++)
        free(wet->decoded[i]);
    free(wet->decoded);
    free(wet->names);
    free(wet->outputs);
    wd_buf_fini(&wet->index_bytes);
    wd_buf_fini(&wet->objects_bytes);
    wd_buf_fini(&wet->names_bytes);
    wd_buf_fini(&wet->outputs_bytes);
    wd_buf_fini(&wet->files_bytes);
    wd_buf_fini(&wet->nodes_bytes);
    wd_buf_fini(&wet->spans_bytes);
    wd_buf_fini(&wet->cpu_bytes);
    wet_store_close(wet->store);
    pthread_mutex_destroy(&wet->node_lock);
    free(wet);
}

const struct wetdbg_info *wetdbg_get_info(const struct wetdbg *wet)
{
    return &wet->info;
}

struct wetdbg_model *wetdbg_get_model(struct wetdbg *wet)
{
    return wet->model;
}

void wetdbg_set_memory(struct wetdbg *wet, uint64_t bytes)
{
    wet->passing.budget = bytes / 4 < PASSING_BYTES ? bytes / 4 : PASSING_BYTES;
    wet->keeper.budget = bytes - wet->passing.budget;
    wet_keep_trim(&wet->passing);
    wet_keep_trim(&wet->keeper);
    if (bytes > wet->space.most_bytes)
        wet->space.most_bytes = bytes;
}

void wetdbg_trust(struct wetdbg *wet)
{
    wet->is_trusted = true;
    wet->space.most_bytes = UINT64_MAX; /* the user's own runs take what they take */
}

void wetdbg_interrupt(struct wetdbg *wet)
{
    __atomic_store_n(&wet->interrupted, 1, __ATOMIC_RELAXED);
}

void wetdbg_interrupt_clear(struct wetdbg *wet)
{
    __atomic_store_n(&wet->interrupted, 0, __ATOMIC_RELAXED);
}

const struct wetdbg_output *wetdbg_outputs(const struct wetdbg *wet, size_t *count)
{
    *count = wet->output_count;
    return wet->outputs;
}

int wet_each_entry(struct wetdbg *wet, int (*fn)(void *arg, const struct wet_event *event),
                   void *arg)
{
    struct wd_buf entries = {0};
    int err = 0;
    for (uint64_t k = 0; !err && k < wet->info.intervals; k++) {
        err = wet_entries_read(wet, k, false, &entries);
        for (size_t at = 0; !err && at < entries.size_bytes;) {
            const struct wet_entry_record *record = (const void *)(entries.data + at);
            const struct evq_entry *entry = (const struct evq_entry *)(record + 1);
            struct wet_event event = {.time = record->time, .task = entry->task, .entry = entry};
            at += sizeof(*record) + entry->bytes;
            err = fn(arg, &event);
        }
    }
    wd_buf_fini(&entries);
    return err;
}
