/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The container, which sections there are, and the order of everything else. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/agent/agent.h"
#include "wet/intervals.h"
#include "wet/verify/verify_priv.h"
#include <wetdbg/errors.h>
#include <wetdbg/verify.h>

#define HEADER_BYTES 56

static const struct {
    uint32_t kind;
    const char *name;
    bool is_needed; /* once, with key 0 */
} kinds[] = {
    {WET_SEC_META, "META", true},
    {WET_SEC_CPU, "CPU", true},
    {WET_SEC_SPANS, "SPANS", true},
    {WET_SEC_FILES, "FILES", true},
    {WET_SEC_FILE_DATA, "FILE_DATA", false},
    {WET_SEC_DEBUG, "DEBUG", false},
    {WET_SEC_ALT, "ALT", false},
    {WET_SEC_NAMES, "NAMES", true},
    {WET_SEC_NODES, "NODES", true},
    {WET_SEC_OBJECTS, "OBJECTS", true},
    {WET_SEC_INDEX, "INDEX", true},
    {WET_SEC_OUTPUTS, "OUTPUTS", true},
    {WET_SEC_THREADS, "THREADS", true},
    {WET_SEC_TURNS, "TURNS", true},
    {WET_SEC_AMBIGUOUS, "AMBIGUOUS", true},
    {WET_SEC_MEMORY, "MEMORY", false},
    {WET_SEC_JUMPS, "JUMPS", true},
    {WET_SEC_INPUT, "INPUT", false},
    {WET_SEC_STATE, "STATE", false},
    {WET_SEC_ENTRIES, "ENTRIES", false},
    {WET_SEC_COUNTS, "COUNTS", false},
    {WET_SEC_LINES, "LINES", false},
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static const char *kind_name(uint32_t kind)
{
    for (size_t i = 0; i < KINDS; i++) {
        if (kinds[i].kind == kind)
            return kinds[i].name;
    }
    return kind ? "unknown" : "file";
}

bool wet_verifier_say(struct wet_verifier *verifier, uint32_t kind, uint64_t key, uint64_t off,
                      const char *format, ...)
{
    struct wetdbg_violation violation = {
        .kind = kind, .section = kind_name(kind), .key = key, .off = off};
    va_list args;
    va_start(args, format);
    vsnprintf(violation.what, sizeof(violation.what), format, args);
    va_end(args);
    if (wet_verifier_stops(verifier))
        return false;
    verifier->result->violations++;
    if (verifier->options->found)
        verifier->options->found(verifier->options->arg, &violation);
    return false;
}

bool wet_verifier_stops(const struct wet_verifier *verifier)
{
    return verifier->err || verifier->result->violations >= WETDBG_VERIFY_MOST;
}

/* To be called between two sections: tells how far it is, and whether somebody wants it to end. */
static void step(struct wet_verifier *verifier, uint64_t bytes)
{
    const struct wetdbg_verify_options *options = verifier->options;
    verifier->done_bytes += bytes;
    if (options->progress)
        options->progress(options->arg, verifier->done_bytes, verifier->total_bytes,
                          verifier->done_instructions);
    if (!verifier->err && options->interrupted && *options->interrupted)
        verifier->err = wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
}

bool wet_verifier_read(struct wet_verifier *verifier, uint32_t kind, uint64_t key,
                       struct wd_buf *out)
{
    if (wet_verifier_stops(verifier))
        return false;
    int err = wet_store_read(verifier->store, kind, key, out);
    step(verifier, err ? 0 : out->size_bytes);
    if (err == -WETDBG_ERR_NOT_FOUND)
        return wet_verifier_say(verifier, kind, key, 0, "the section is missing");
    if (err == -WETDBG_ERR_CORRUPT)
        return wet_verifier_say(verifier, kind, key, 0, "%s", wetdbg_error(err));
    if (err)
        verifier->err = err;
    return !err;
}

uint64_t wet_verifier_meta(const struct wet_verifier *verifier, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(verifier->meta, key));
}

/* ---- the container ---- */

static int by_place(const void *a, const void *b)
{
    const struct wet_section *x = a, *y = b;
    if (x->off != y->off)
        return x->off < y->off ? -1 : 1;
    return x->stored_bytes < y->stored_bytes ? -1 : x->stored_bytes > y->stored_bytes;
}

/* Sections have to lie back to back from the header to the table. */
static void places_check(struct wet_verifier *verifier)
{
    size_t count;
    uint64_t static_bytes, end = HEADER_BYTES;
    uint64_t size = wet_store_size(verifier->store, &static_bytes);
    const struct wet_section *sections = wet_store_sections(verifier->store, &count);
    struct wet_section *sorted = malloc((count + 1) * sizeof(*sorted));
    if (!sorted) {
        verifier->err = -ENOMEM;
        return;
    }
    if (count) {
        memcpy(sorted, sections, count * sizeof(*sorted));
        qsort(sorted, count, sizeof(*sorted), by_place);
    }
    for (size_t i = 0; i < count; i++) {
        verifier->total_bytes += sorted[i].raw_bytes;
        if (sorted[i].off != end)
            wet_verifier_say(verifier, 0, 0, sorted[i].off,
                             "section %s %llu begins here, the one before it ends at %llu",
                             kind_name(sorted[i].kind), (unsigned long long)sorted[i].key,
                             (unsigned long long)end);
        end = sorted[i].off + sorted[i].stored_bytes;
    }
    if (end != size - count * sizeof(*sorted))
        wet_verifier_say(verifier, 0, 0, end, "the table does not follow the last section");
    free(sorted);
}

/* Each kind has the keys that the tables give it, and no others. Sections of unknown kinds are
 * nobody's, but they have to be whole too. */
static void keys_check(struct wet_verifier *verifier)
{
    size_t count;
    const struct wet_section *sections = wet_store_sections(verifier->store, &count);
    struct wd_buf bytes = {0};
    for (size_t i = 0; i < count && !wet_verifier_stops(verifier); i++) {
        uint32_t kind = sections[i].kind;
        uint64_t key = sections[i].key, end = UINT64_MAX;
        if (!strcmp(kind_name(kind), "unknown")) {
            wet_verifier_read(verifier, kind, key, &bytes);
            continue;
        }
        if (kind == WET_SEC_FILE_DATA || kind == WET_SEC_DEBUG || kind == WET_SEC_ALT)
            end = wet_verifier_trusts(verifier, WET_SEC_FILES) ? verifier->file_count : end;
        else if (kind >= WET_SEC_STATE)
            end = wet_verifier_trusts(verifier, WET_SEC_INDEX) ? wet_verifier_intervals(verifier)
                                                               : end;
        else if (kind != WET_SEC_MEMORY && kind != WET_SEC_INPUT)
            end = 1;
        if (key >= end)
            wet_verifier_say(verifier, kind, key, 0, "there is nothing of that number");
    }
    wd_buf_fini(&bytes);
}

/* ---- running it again ---- */

static void deep_check(struct wet_verifier *verifier)
{
    struct wetdbg *wet = NULL;
    const struct wet_interval *interval;
    int err = wetdbg_open(wet_store_path(verifier->store), &wet);
    if (err == -WETDBG_ERR_CORRUPT || err == -WETDBG_ERR_NOT_FOUND)
        wet_verifier_say(verifier, 0, 0, 0, "it cannot be opened: %s", wetdbg_error(err));
    else if (err && (verifier->options->deep || err != -WETDBG_ERR_UNSUPPORTED))
        verifier->err = err;
    if (!err && verifier->options->memory_bytes)
        wetdbg_set_memory(wet, verifier->options->memory_bytes);
    uint64_t count = !err && verifier->options->deep ? wetdbg_get_info(wet)->intervals : 0;
    for (uint64_t k = 0; k < count && !wet_verifier_stops(verifier); k++) {
        err = wet_interval_get(wet, k, &interval);
        if (!err) {
            verifier->done_instructions += interval->instructions;
            wet_interval_put(wet, interval);
        } else if (err == -WETDBG_ERR_CORRUPT || err == -WETDBG_ERR_DIVERGED) {
            wet_verifier_say(verifier, WET_SEC_STATE, k, 0, "run again: %s", wetdbg_error(err));
        } else {
            verifier->err = err;
        }
        step(verifier, verifier->total_bytes / (count + 1) / 4);
    }
    wetdbg_close(wet);
}

/* ---- all of it ---- */

static void verifier_fini(struct wet_verifier *verifier)
{
    struct wd_buf *const bufs[] = {&verifier->spans,    &verifier->objects, &verifier->index,
                                   &verifier->outputs,  &verifier->threads, &verifier->turns,
                                   &verifier->ambiguous};
    for (size_t i = 0; i < sizeof(bufs) / sizeof(bufs[0]); i++)
        wd_buf_fini(bufs[i]);
    json_decref(verifier->meta);
    free(verifier->files);
    free(verifier->nodes);
    wet_store_close(verifier->store);
}

int wetdbg_verify(const char *path, const struct wetdbg_verify_options *options,
                  struct wetdbg_verify_result *result)
{
    struct wet_verifier verifier = {.options = options, .result = result};
    uint64_t static_bytes;
    size_t count;
    *result = (struct wetdbg_verify_result){0};
    int err = wet_store_open(path, &verifier.store);
    if (err)
        return err;
    verifier.nodes = calloc(AGT_COUNT_MAX, sizeof(*verifier.nodes));
    if (!verifier.nodes)
        verifier.err = -ENOMEM;
    places_check(&verifier);
    if (options->deep)
        verifier.total_bytes += verifier.total_bytes / 4;
    wet_verify_tables(&verifier);
    wet_verify_files(&verifier);
    keys_check(&verifier);
    wet_verify_intervals(&verifier);
    if (!result->violations && !verifier.err)
        deep_check(&verifier);
    wet_store_sections(verifier.store, &count);
    result->sections = count;
    result->bytes = wet_store_size(verifier.store, &static_bytes);
    result->intervals = wet_verifier_intervals(&verifier);
    result->instructions = verifier.meta ? wet_verifier_meta(&verifier, "instructions") : 0;
    verifier_fini(&verifier);
    return verifier.err;
}
