/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What there is per interval, in order of time; and what the tables of the whole run say of it:
 * executions in NODES, calls in META and OUTPUTS, threads and turns.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/agent/agent.h"
#include "recorder/event/buffered.h"
#include "recorder/feed/feed.h"
#include "wet/build/thread_finder.h"
#include "wet/trace/rules.h"
#include "wet/trace/stored_entry.h"
#include "wet/verify/verify_priv.h"
#include <wetdbg/errors.h>

struct walk {
    struct wet_verifier *verifier;
    const struct wet_index_record *index;
    uint64_t count;
    struct wet_verify_views *views;
    struct wet_thread_finder threads;
    struct wd_buf call_times; /* u64, of system calls that were entered */
    uint64_t syscalls;
    bool is_whole; /* everything so far was sound: sums mean something */
};

/* ---- ENTRIES ---- */

static bool ops_check(struct walk *walk, uint64_t k, uint64_t off, const struct evq_entry *entry)
{
    struct wet_verifier *verifier = walk->verifier;
    size_t span_count;
    const struct rep_span *spans = wet_verifier_spans(verifier, &span_count);
    bool has_spans = wet_verifier_trusts(verifier, WET_SEC_SPANS);
    for (const struct evq_op *op = NULL; (op = evq_op_next(entry, op));) {
        uint64_t at = off + (uint64_t)((const uint8_t *)op - (const uint8_t *)entry);
        bool is_map = op->op == EVQ_OP_MAP, is_remap = op->op == EVQ_OP_REMAP;
        if (op->op == EVQ_OP_DISCARD)
            return wet_verifier_say(verifier, WET_SEC_ENTRIES, k, at, "an op that no file has");
        if (has_spans &&
            ((is_map && !wet_rule_in_spans(spans, span_count, op->map.start, op->map.size)) ||
             (is_remap && !wet_rule_in_spans(spans, span_count, op->remap.to, op->remap.to_size))))
            return wet_verifier_say(verifier, WET_SEC_ENTRIES, k, at, "a mapping outside SPANS");
        if (is_map && op->map.file != EVQ_FILE_NONE && op->map.file >= verifier->file_count &&
            wet_verifier_trusts(verifier, WET_SEC_FILES))
            return wet_verifier_say(verifier, WET_SEC_ENTRIES, k, at + 32,
                                    "a mapping of a file that is not in FILES");
        if (is_map && !wet_verifier_has_name(verifier, op->map.name))
            return wet_verifier_say(verifier, WET_SEC_ENTRIES, k, at + 56,
                                    "a mapping's name is not in NAMES");
    }
    return true;
}

static bool entry_check(struct walk *walk, uint64_t k, const struct wd_buf *bytes, size_t *at,
                        uint64_t *time)
{
    struct wet_verifier *verifier = walk->verifier;
    uint64_t off = *at, left = bytes->size_bytes - *at, was = *time;
    uint64_t end = walk->index[k].first_time - 1 + walk->index[k].instructions;
    const struct evq_entry *entry =
        (const void *)(bytes->data + off + sizeof(struct wet_entry_record));
    if (left < sizeof(struct wet_entry_record) + sizeof(*entry))
        return wet_verifier_say(verifier, WET_SEC_ENTRIES, k, off, "an entry is cut off");
    *time = ((const struct wet_entry_record *)(bytes->data + off))->time;
    if (*time < was || *time > end)
        return wet_verifier_say(verifier, WET_SEC_ENTRIES, k, off,
                                "an entry's time is out of order or not of the interval");
    off += sizeof(struct wet_entry_record);
    int err = evq_entry_check(entry, bytes->size_bytes - off);
    if (err)
        return wet_verifier_say(verifier, WET_SEC_ENTRIES, k, off, "%s", wetdbg_error(err));
    if (entry->kind == EVQ_PAD || !wet_rule_entry(entry, *time))
        return wet_verifier_say(verifier, WET_SEC_ENTRIES, k, off,
                                "an entry of a kind, or with flags, that no file has");
    if (!ops_check(walk, k, off, entry))
        return false;
    *at = off + entry->bytes;
    bool is_last = *at == bytes->size_bytes && k + 1 == walk->count;
    if (entry->kind == EVQ_END && !is_last)
        return wet_verifier_say(verifier, WET_SEC_ENTRIES, k, off, "the run ends before the file");
    if (is_last && entry->kind != EVQ_END && !verifier->is_window)
        return wet_verifier_say(verifier, WET_SEC_ENTRIES, k, off, "the last entry is not the end");
    return true;
}

static void entry_follow(struct walk *walk, const struct evq_entry *entry, uint64_t time)
{
    struct wet_verifier *verifier = walk->verifier;
    int err = wet_thread_finder_entry(&walk->threads, entry, time);
    if (!err && entry->kind == EVQ_SYSCALL_ENTER) {
        walk->syscalls += (entry->flags & EVQ_FLAG_REGS) && !evq_is_own_call(entry);
        err = wd_buf_append_u64(&walk->call_times, time);
    }
    for (const struct evq_op *op = NULL; (op = evq_op_next(entry, op));)
        wet_verify_views_op(walk->views, op);
    if (err)
        verifier->err = err;
}

static bool entries_check(struct walk *walk, uint64_t k, const struct wd_buf *bytes)
{
    uint64_t time = walk->index[k].first_time - 1, count = 0;
    for (size_t at = 0; at < bytes->size_bytes; count++) {
        size_t here = at + sizeof(struct wet_entry_record);
        if (!entry_check(walk, k, bytes, &at, &time))
            return false;
        entry_follow(walk, (const void *)(bytes->data + here), time);
    }
    if (count != walk->index[k].entries)
        return wet_verifier_say(walk->verifier, WET_SEC_ENTRIES, k, 0,
                                "%llu entries, INDEX has %llu", (unsigned long long)count,
                                (unsigned long long)walk->index[k].entries);
    return true;
}

/* ---- COUNTS ---- */

static bool counts_check(struct walk *walk, uint64_t k, const struct wd_buf *bytes)
{
    struct wet_verifier *verifier = walk->verifier;
    struct wd_view view = wd_view_of(bytes->data, bytes->size_bytes);
    uint64_t id = 0, instructions = 0;
    bool has_nodes = wet_verifier_trusts(verifier, WET_SEC_NODES);
    while (view.at < view.size_bytes) {
        uint64_t at = view.at, step = wd_view_varint(&view), count = wd_view_varint(&view);
        if (view.failed || step >= AGT_COUNT_MAX || (at && !step) || id + step >= AGT_COUNT_MAX)
            return wet_verifier_say(verifier, WET_SEC_COUNTS, k, at,
                                    "ids are cut off, not ascending or out of bounds");
        id += step;
        if (!count || count > UINT32_MAX)
            return wet_verifier_say(verifier, WET_SEC_COUNTS, k, at, "a count is out of bounds");
        if (has_nodes && !verifier->nodes[id].statements)
            return wet_verifier_say(verifier, WET_SEC_COUNTS, k, at, "node %llu is not in NODES",
                                    (unsigned long long)id);
        verifier->nodes[id].counted += count;
        instructions += count * verifier->nodes[id].statements;
    }
    if (has_nodes && instructions != walk->index[k].instructions)
        return wet_verifier_say(
            verifier, WET_SEC_COUNTS, k, 0, "they make %llu instructions, INDEX has %llu",
            (unsigned long long)instructions, (unsigned long long)walk->index[k].instructions);
    return true;
}

/* ---- LINES and MEMORY ---- */

static bool lines_say(struct walk *walk, uint32_t kind, uint64_t key, uint64_t off,
                      const char *what)
{
    return wet_verifier_say(walk->verifier, kind, key, off, "%s", what);
}

static uint64_t image_lines(const struct wet_verifier *verifier)
{
    const struct wet_object *objects = (const void *)verifier->objects.data;
    size_t count = verifier->objects.size_bytes / sizeof(*objects);
    if (!wet_verifier_trusts(verifier, WET_SEC_OBJECTS))
        return UINT64_MAX;
    return count ? (objects[count - 1].mirror_off + objects[count - 1].bytes) / WET_LINE_BYTES : 0;
}

static bool lines_check(struct walk *walk, uint32_t kind, uint64_t key, const struct wd_buf *bytes)
{
    struct wd_view all = wd_view_of(bytes->data, bytes->size_bytes);
    uint64_t count = wd_view_u64(&all), place_bytes = wd_view_u64(&all), line = 0, words = 0;
    const uint8_t *place_data = wd_view_bytes(&all, place_bytes);
    size_t masks_at = all.at;
    const uint8_t *masks = count <= bytes->size_bytes ? wd_view_bytes(&all, 4 * count) : NULL;
    struct wd_view places = wd_view_of(place_data, place_data ? place_bytes : 0);
    uint64_t limit = image_lines(walk->verifier);
    if (!masks || all.failed)
        return lines_say(walk, kind, key, 0, "places or masks are cut off");
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = places.at, step = wd_view_varint(&places);
        uint32_t mask;
        memcpy(&mask, masks + 4 * i, 4);
        if (places.failed || (i && !step) || step > UINT64_MAX / WET_LINE_BYTES - line)
            return lines_say(walk, kind, key, 16 + at, "places are cut off or not ascending");
        line += step;
        if (line >= limit)
            return lines_say(walk, kind, key, 16 + at, "a line lies outside the image");
        for (; mask; mask &= mask - 1, words++) {
            uint64_t off = all.at, word = wd_view_u64(&all);
            if (all.failed || !word)
                return lines_say(walk, kind, key, off, "words are cut off, or one did not change");
        }
    }
    if (places.at != places.size_bytes)
        return lines_say(walk, kind, key, 16 + places.at, "something follows the last place");
    if (all.at != all.size_bytes)
        return lines_say(walk, kind, key, masks_at + 4 * count + 8 * words,
                         "something follows the last word");
    return true;
}

static void memory_check(struct walk *walk)
{
    size_t count;
    const struct wet_section *sections = wet_store_sections(walk->verifier->store, &count);
    struct wd_buf bytes = {0};
    uint64_t key = 0;
    for (size_t i = 0; i < count && !wet_verifier_stops(walk->verifier); i++) {
        if (sections[i].kind != WET_SEC_MEMORY)
            continue;
        if (sections[i].key != key++)
            lines_say(walk, WET_SEC_MEMORY, sections[i].key, 0, "a number before it is missing");
        if (wet_verifier_read(walk->verifier, WET_SEC_MEMORY, sections[i].key, &bytes))
            lines_check(walk, WET_SEC_MEMORY, sections[i].key, &bytes);
    }
    wd_buf_fini(&bytes);
}

/* ---- in order of time ---- */

static void interval_check(struct walk *walk, uint64_t k)
{
    struct wet_verifier *verifier = walk->verifier;
    struct wd_buf bytes = {0};
    bool is_sound = wet_verifier_read(verifier, WET_SEC_STATE, k, &bytes) &&
                    wet_verify_state(verifier, k, &bytes, walk->views);
    walk->is_whole &= is_sound;
    is_sound =
        wet_verifier_read(verifier, WET_SEC_ENTRIES, k, &bytes) && entries_check(walk, k, &bytes);
    walk->is_whole &= is_sound;
    is_sound =
        wet_verifier_read(verifier, WET_SEC_COUNTS, k, &bytes) && counts_check(walk, k, &bytes);
    walk->is_whole &= is_sound;
    if (wet_verifier_read(verifier, WET_SEC_LINES, k, &bytes))
        lines_check(walk, WET_SEC_LINES, k, &bytes);
    wd_buf_fini(&bytes);
}

/* ---- the whole ---- */

static void executions_check(struct walk *walk)
{
    struct wet_verifier *verifier = walk->verifier;
    for (uint32_t id = 0; id < AGT_COUNT_MAX; id++) {
        const struct wet_verified_node *node = &verifier->nodes[id];
        if (node->executions != node->counted) {
            wet_verifier_say(verifier, WET_SEC_NODES, 0, 0,
                             "node %u has %llu executions, COUNTS of all intervals %llu", id,
                             (unsigned long long)node->executions,
                             (unsigned long long)node->counted);
            return;
        }
    }
}

static int time_order(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void calls_check(struct walk *walk)
{
    struct wet_verifier *verifier = walk->verifier;
    const struct wet_output_record *outputs = (const void *)verifier->outputs.data;
    size_t count = verifier->outputs.size_bytes / sizeof(*outputs);
    uint64_t claimed = wet_verifier_meta(verifier, "syscalls");
    if (walk->syscalls != claimed && wet_verifier_trusts(verifier, WET_SEC_META)) {
        wet_verifier_say(verifier, WET_SEC_META, 0, 0, "%llu syscalls, ENTRIES have %llu",
                         (unsigned long long)claimed, (unsigned long long)walk->syscalls);
        return;
    }
    for (size_t i = 0; i < count && wet_verifier_trusts(verifier, WET_SEC_OUTPUTS); i++) {
        if (!bsearch(&outputs[i].time, walk->call_times.data, walk->call_times.size_bytes / 8, 8,
                     time_order)) {
            wet_verifier_say(verifier, WET_SEC_OUTPUTS, 0, i * sizeof(*outputs) + 8,
                             "there is no system call at time %llu",
                             (unsigned long long)outputs[i].time);
            return;
        }
    }
}

/* Whether threads agree with the entries. Names come from memory and ids perhaps from an ancestor;
 * the rest follows from ENTRIES. */
static bool threads_agree(struct walk *walk)
{
    struct wet_verifier *verifier = walk->verifier;
    const struct wet_thread_record *has = (const void *)verifier->threads.data;
    const struct wet_thread_record *made = (const void *)walk->threads.threads.data;
    size_t count = verifier->threads.size_bytes / sizeof(*has);
    if (count != walk->threads.threads.size_bytes / sizeof(*made))
        return wet_verifier_say(verifier, WET_SEC_THREADS, 0, 0, "%zu threads, ENTRIES make %zu",
                                count, walk->threads.threads.size_bytes / sizeof(*made));
    for (size_t i = 0; i < count; i++) {
        if (has[i].slot != made[i].slot || has[i].parent != made[i].parent ||
            has[i].flags != made[i].flags || has[i].start != made[i].start ||
            has[i].end != made[i].end)
            return wet_verifier_say(verifier, WET_SEC_THREADS, 0, i * sizeof(*has),
                                    "thread %zu lived otherwise by ENTRIES", i);
    }
    return true;
}

static bool bytes_agree(struct walk *walk, uint32_t kind, const struct wd_buf *has,
                        const struct wd_buf *made, size_t record_bytes)
{
    size_t at = 0;
    while (at < has->size_bytes && at < made->size_bytes && has->data[at] == made->data[at])
        at++;
    return (at == has->size_bytes && at == made->size_bytes) ||
           wet_verifier_say(walk->verifier, kind, 0, at / record_bytes * record_bytes,
                            "ENTRIES make something else");
}

/* Checks the turns; a window does not say who ran before it. */
static void turns_check(struct walk *walk)
{
    struct wet_verifier *verifier = walk->verifier;
    const uint32_t needed[] = {WET_SEC_META, WET_SEC_THREADS, WET_SEC_TURNS, WET_SEC_AMBIGUOUS};
    const struct wet_turn_record *turns = (const void *)verifier->turns.data;
    const struct wet_thread_record *threads = (const void *)verifier->threads.data;
    size_t count = verifier->turns.size_bytes / sizeof(*turns);
    for (unsigned i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        if (!wet_verifier_trusts(verifier, needed[i]))
            return;
    }
    if (verifier->is_window)
        return;
    uint32_t slot = count ? threads[turns[count - 1].thread].slot : 0;
    int err = wet_thread_finder_end(&walk->threads, verifier->last_time, slot);
    if (err)
        verifier->err = err;
    else if (threads_agree(walk) &&
             bytes_agree(walk, WET_SEC_TURNS, &verifier->turns, &walk->threads.turns,
                         sizeof(*turns)) &&
             bytes_agree(walk, WET_SEC_AMBIGUOUS, &verifier->ambiguous, &walk->threads.ambiguous,
                         sizeof(struct wet_ambiguous_record)) &&
             walk->threads.places != wet_verifier_meta(verifier, "places"))
        wet_verifier_say(verifier, WET_SEC_META, 0, 0, "%llu places, ENTRIES have %llu",
                         (unsigned long long)wet_verifier_meta(verifier, "places"),
                         (unsigned long long)walk->threads.places);
}

void wet_verify_intervals(struct wet_verifier *verifier)
{
    struct rep_info info = {.exe = ""};
    struct walk walk = {.verifier = verifier,
                        .index = (const void *)verifier->index.data,
                        .count = wet_verifier_intervals(verifier),
                        .views = wet_verify_views_new(),
                        .is_whole = true};
    wet_thread_finder_init(&walk.threads, &info);
    if (!walk.views)
        verifier->err = -ENOMEM;
    memory_check(&walk);
    bool has_index = wet_verifier_trusts(verifier, WET_SEC_INDEX);
    for (uint64_t k = 0; has_index && k < walk.count && !wet_verifier_stops(verifier); k++)
        interval_check(&walk, k);
    if (has_index && walk.is_whole && !wet_verifier_stops(verifier)) {
        if (wet_verifier_trusts(verifier, WET_SEC_NODES))
            executions_check(&walk);
        calls_check(&walk);
        turns_check(&walk);
    }
    wet_thread_finder_fini(&walk.threads);
    wet_verify_views_free(walk.views);
    wd_buf_fini(&walk.call_times);
}
