/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of wet/verify share. */
#ifndef WET_VERIFY_VERIFY_PRIV_H
#define WET_VERIFY_VERIFY_PRIV_H

#include <jansson.h>

#include "recorder/replay/engine.h"
#include "wet/store/store.h"
#include "wet/trace/records.h"
#include "wet/trace/space.h"
#include <wetdbg/verify.h>

struct wet_verified_node {
    uint16_t statements; /* 0: there is no such node */
    uint64_t executions; /* as NODES has it ... */
    uint64_t counted;    /* ... and COUNTS */
};

struct wet_verified_file {
    uint64_t size_bytes;
    bool is_module;
};

/*
 * Tables stay as they were read; what is empty was missing or damaged. Numbers in them have been
 * checked if `is_sound` has the bit of their kind: then others may be held against them.
 */
struct wet_verifier {
    const struct wetdbg_verify_options *options;
    struct wetdbg_verify_result *result;
    struct wet_store *store;
    uint64_t is_sound; /* bit n: kind n */
    uint64_t done_bytes, total_bytes, done_instructions;
    json_t *meta;
    uint64_t first_time, last_time;
    bool is_window;
    struct wd_buf spans, objects, index, outputs, threads, turns, ambiguous;
    struct wet_verified_file *files;
    uint64_t file_count, name_count;
    struct wet_verified_node *nodes; /* AGT_COUNT_MAX */
    int err;                         /* of the machine, not of the file */
};

#define WET_SOUND(kind) (1ull << (kind))

static inline bool wet_verifier_trusts(const struct wet_verifier *verifier, uint32_t kind)
{
    return verifier->is_sound >> kind & 1;
}

/* Reports; returns false. */
bool wet_verifier_say(struct wet_verifier *verifier, uint32_t kind, uint64_t key, uint64_t off,
                      const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Whether enough was found, or it cannot go on. */
bool wet_verifier_stops(const struct wet_verifier *verifier);

/* Reads a section, which must be there; false after a report. */
bool wet_verifier_read(struct wet_verifier *verifier, uint32_t kind, uint64_t key,
                       struct wd_buf *out);

static inline const struct rep_span *wet_verifier_spans(const struct wet_verifier *verifier,
                                                        size_t *count)
{
    *count = verifier->spans.size_bytes / sizeof(struct rep_span);
    return (const struct rep_span *)verifier->spans.data;
}

static inline uint64_t wet_verifier_intervals(const struct wet_verifier *verifier)
{
    return verifier->index.size_bytes / sizeof(struct wet_index_record);
}

/* A name's number, or none. */
static inline bool wet_verifier_has_name(const struct wet_verifier *verifier, uint64_t name)
{
    return name == EVQ_NAME_NONE || name < verifier->name_count ||
           !wet_verifier_trusts(verifier, WET_SEC_NAMES);
}

uint64_t wet_verifier_meta(const struct wet_verifier *verifier, const char *key);

void wet_verify_tables(struct wet_verifier *verifier);     /* sections with key 0 */
bool wet_verify_file_table(struct wet_verifier *verifier); /* of these FILES */
void wet_verify_files(struct wet_verifier *verifier);      /* the files' contents */
void wet_verify_intervals(struct wet_verifier *verifier);

/* verify_state.c: STATE, and what is mapped as the entries go on */
struct wet_verify_views;
struct wet_verify_views *wet_verify_views_new(void); /* NULL if memory is short */
void wet_verify_views_free(struct wet_verify_views *views);
/* Applies an entry's op to the views. */
void wet_verify_views_op(struct wet_verify_views *views, const struct evq_op *op);
/* STATE of interval k; with `views` it must say what they do, and if there are none they become
 * it. */
bool wet_verify_state(struct wet_verifier *verifier, uint64_t k, const struct wd_buf *bytes,
                      struct wet_verify_views *views);

#endif
