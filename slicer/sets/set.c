/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "slicer/sets/instance_set.h"
#include "slicer/slice_priv.h"
#include <wetdbg/errors.h>

struct wetdbg_set *slc_set_new(struct wetdbg *wet)
{
    struct wetdbg_set *set = calloc(1, sizeof(*set));

    if (!set)
        return NULL;
    set->wet = wet;
    set->part_count = wetdbg_get_info(wet)->intervals;
    set->parts = calloc(set->part_count + 1, sizeof(roaring_bitmap_t *));
    if (set->parts)
        return set;
    free(set);
    return NULL;
}

void wetdbg_set_free(struct wetdbg_set *set)
{
    if (!set)
        return;
    for (uint64_t k = 0; k < set->part_count; k++)
        if (set->parts[k])
            roaring_bitmap_free(set->parts[k]);
    free(set->parts);
    slc_call_bytes_fini(&set->calls);
    free(set);
}

uint64_t slc_set_instructions(const struct wetdbg_set *set, uint64_t k)
{
    return wetdbg_interval_time(set->wet, k + 1) - wetdbg_interval_time(set->wet, k);
}

/*
 * A bitmap is made of its portable form (https://github.com/RoaringBitmap/RoaringFormatSpec), which
 * is written here from the words: that copies where adding members one by one would take longer
 * than the slice. After a head with keys and counts come the containers, each for 65,536 numbers:
 * as bits, or, of few members, as a list.
 */
#define CONTAINER_WORDS 1024
#define COOKIE          12346
#define LIST_MAX        4096

struct container_head {
    uint16_t key, count_less_one;
};

static unsigned count_bits(const uint64_t *words, size_t count)
{
    unsigned bits = 0;

    for (size_t w = 0; w < count; w++)
        bits += (unsigned)__builtin_popcountll(words[w]);
    return bits;
}

/* Writes a container with so many members; returns its bytes. */
static size_t write_container(char *to, const uint64_t *words, size_t word_count, unsigned members)
{
    uint16_t list[LIST_MAX];
    unsigned used = 0;

    if (members > LIST_MAX) {
        memcpy(to, words, word_count * 8);
        memset(to + word_count * 8, 0, (CONTAINER_WORDS - word_count) * 8);
        return CONTAINER_WORDS * 8;
    }
    for (size_t w = 0; w < word_count; w++)
        for (uint64_t left = words[w]; left; left &= left - 1)
            list[used++] = (uint16_t)(64 * w + (unsigned)__builtin_ctzll(left));
    memcpy(to, list, used * sizeof(*list));
    return used * sizeof(*list);
}

/* Makes a bitmap; NULL if memory is short or nothing is in it: *is_empty. `words` holds nothing
 * behind the last number. */
static roaring_bitmap_t *bitmap_of(const uint64_t *words, size_t word_count, bool *is_empty)
{
    size_t most = (word_count + CONTAINER_WORDS - 1) / CONTAINER_WORDS;
    struct container_head *heads = malloc((most + 1) * sizeof(*heads));
    uint32_t *offsets = malloc((most + 1) * sizeof(*offsets)), count = 0;
    char *bytes = malloc(8 + most * (sizeof(*heads) + sizeof(*offsets) + 8 * CONTAINER_WORDS));
    size_t used = 0;
    roaring_bitmap_t *bitmap = NULL;

    /* the containers first, for there to be known how many have members */
    for (size_t c = 0; heads && offsets && bytes && c < most; c++) {
        const uint64_t *first = words + c * CONTAINER_WORDS;
        size_t own = word_count - c * CONTAINER_WORDS;
        own = own < CONTAINER_WORDS ? own : CONTAINER_WORDS;
        unsigned members = count_bits(first, own);
        if (!members)
            continue;
        heads[count] = (struct container_head){(uint16_t)c, (uint16_t)(members - 1)};
        offsets[count++] = (uint32_t)used;
        used += write_container(bytes + used, first, own, members);
    }
    *is_empty = heads && offsets && bytes && !count;
    size_t head = 8 + count * (sizeof(*heads) + sizeof(*offsets));
    if (heads && offsets && bytes && count) {
        const uint32_t start[2] = {COOKIE, count};
        memmove(bytes + head, bytes, used);
        for (uint32_t c = 0; c < count; c++)
            offsets[c] += (uint32_t)head;
        memcpy(bytes, start, sizeof(start));
        memcpy(bytes + 8, heads, count * sizeof(*heads));
        memcpy(bytes + 8 + count * sizeof(*heads), offsets, count * sizeof(*offsets));
        bitmap = roaring_bitmap_portable_deserialize_safe(bytes, head + used);
    }
    free(heads);
    free(offsets);
    free(bytes);
    return bitmap;
}

int slc_set_fill(struct wetdbg_set *set, uint64_t k, const uint64_t *words, uint64_t instructions)
{
    bool is_empty;

    assert(k < set->part_count && !set->parts[k] && instructions <= UINT32_MAX);
    set->parts[k] = bitmap_of(words, (size_t)((instructions + 63) / 64), &is_empty);
    return set->parts[k] || is_empty ? 0 : -ENOMEM;
}

#define AT_ONCE 1024

void slc_set_bits(const struct wetdbg_set *set, uint64_t k, uint64_t *words)
{
    roaring_uint32_iterator_t at;
    uint32_t values[AT_ONCE], count;

    if (!set->parts[k])
        return;
    roaring_init_iterator(set->parts[k], &at);
    do {
        count = roaring_read_uint32_iterator(&at, values, AT_ONCE);
        for (uint32_t i = 0; i < count; i++)
            words[values[i] / 64] |= UINT64_C(1) << values[i] % 64;
    } while (count == AT_ONCE);
}

void slc_set_finish(struct wetdbg_set *set)
{
    set->count = set->has_fault;
    for (uint64_t k = 0; k < set->part_count; k++)
        if (set->parts[k])
            set->count += roaring_bitmap_get_cardinality(set->parts[k]);
}

int wetdbg_set_of_slice(const struct wetdbg_slice *slice, struct wetdbg_set **out)
{
    struct wetdbg_set *set = slc_set_new(slice->wet);
    int err = set ? 0 : -ENOMEM;

    for (uint64_t k = 0; k < slice->share_count && !err; k++)
        if (slice->shares[k].bits)
            err = slc_set_fill(set, k, slice->shares[k].bits, slice->shares[k].instructions);
    if (!err)
        err = slc_call_bytes_join(&set->calls, &slice->calls, 0);
    if (err) {
        wetdbg_set_free(set);
        return err;
    }
    if (slice->has_fault) {
        set->has_fault = true;
        set->fault_time = slice->fault_time;
        set->fault_pc = slice->code->pcs[slice->fault_pc].pc;
        set->fault_task = slice->fault_task;
    }
    slc_call_bytes_sort(&set->calls);
    set->has_calls = true;
    set->is_forward = slice->is_forward;
    slc_set_finish(set);
    *out = set;
    return 0;
}

/* ---- putting together ---- */

/* What forward slices hand on by calls is known of them together. */
static int combine_calls(struct wetdbg_set *set, const struct wetdbg_set *a,
                         enum wetdbg_set_operation operation, const struct wetdbg_set *b)
{
    if (operation != WETDBG_SET_OR || !a->has_calls || !b->has_calls || !a->is_forward ||
        !b->is_forward)
        return 0;
    int err = slc_call_bytes_join(&set->calls, &a->calls, 0);
    if (!err)
        err = slc_call_bytes_join(&set->calls, &b->calls, 0);
    slc_call_bytes_sort(&set->calls);
    set->has_calls = set->is_forward = true;
    return err;
}

/* NULL stands for an empty bitmap; *out too. 0 or -ENOMEM. */
static int combine_parts(const roaring_bitmap_t *a, enum wetdbg_set_operation operation,
                         const roaring_bitmap_t *b, roaring_bitmap_t **out)
{
    roaring_bitmap_t *part = NULL;

    *out = NULL;
    if ((!a && (!b || operation != WETDBG_SET_OR)) || (!b && operation == WETDBG_SET_AND))
        return 0;
    if (!b || !a)
        part = roaring_bitmap_copy(a ? a : b);
    else if (operation == WETDBG_SET_AND)
        part = roaring_bitmap_and(a, b);
    else if (operation == WETDBG_SET_OR)
        part = roaring_bitmap_or(a, b);
    else
        part = roaring_bitmap_andnot(a, b);
    if (!part)
        return -ENOMEM;
    if (roaring_bitmap_is_empty(part))
        roaring_bitmap_free(part);
    else
        *out = part;
    return 0;
}

static void combine_faults(struct wetdbg_set *set, const struct wetdbg_set *a,
                           enum wetdbg_set_operation operation, const struct wetdbg_set *b)
{
    const struct wetdbg_set *has = a->has_fault ? a : b;

    set->has_fault = operation == WETDBG_SET_AND  ? a->has_fault && b->has_fault
                     : operation == WETDBG_SET_OR ? a->has_fault || b->has_fault
                                                  : a->has_fault && !b->has_fault;
    if (!set->has_fault)
        return;
    set->fault_time = has->fault_time;
    set->fault_pc = has->fault_pc;
    set->fault_task = has->fault_task;
}

int wetdbg_set_combine(const struct wetdbg_set *a, enum wetdbg_set_operation operation,
                       const struct wetdbg_set *b, struct wetdbg_set **out)
{
    if (a->wet != b->wet)
        return wetdbg_fail(-EINVAL, "the sets are of two runs");
    struct wetdbg_set *set = slc_set_new(a->wet);
    int err = set ? 0 : -ENOMEM;

    for (uint64_t k = 0; !err && k < set->part_count; k++)
        err = combine_parts(a->parts[k], operation, b->parts[k], &set->parts[k]);
    if (!err)
        err = combine_calls(set, a, operation, b);
    if (err) {
        wetdbg_set_free(set);
        return err;
    }
    combine_faults(set, a, operation, b);
    slc_set_finish(set);
    *out = set;
    return 0;
}

static void remove_time(struct wetdbg_set *set, wetdbg_time time)
{
    uint64_t k = wetdbg_interval_at(set->wet, time);

    roaring_bitmap_remove(set->parts[k], (uint32_t)(time - wetdbg_interval_time(set->wet, k)));
    if (!roaring_bitmap_is_empty(set->parts[k]))
        return;
    roaring_bitmap_free(set->parts[k]);
    set->parts[k] = NULL;
}

int wetdbg_set_chop(const struct wetdbg_set *forward, const struct wetdbg_set *backward,
                    struct wetdbg_set **out)
{
    bool has_both =
        forward->has_calls && forward->is_forward && backward->has_calls && !backward->is_forward;
    const struct slc_call_run *runs;
    size_t count;
    int err = wetdbg_set_combine(forward, WETDBG_SET_AND, backward, out);

    for (wetdbg_time at = 0;
         !err && has_both && slc_call_bytes_next(&backward->calls, at, &runs, &count);
         at = runs->time)
        if (wetdbg_set_contains_time(*out, runs->time) &&
            !slc_call_bytes_meet(&forward->calls, &backward->calls, runs->time))
            remove_time(*out, runs->time);
    if (!err)
        slc_set_finish(*out);
    return err;
}

/* ---- reading ---- */

uint64_t wetdbg_set_count(const struct wetdbg_set *set)
{
    return set->count;
}

bool wetdbg_set_contains_time(const struct wetdbg_set *set, wetdbg_time time)
{
    const struct wetdbg_info *info = wetdbg_get_info(set->wet);

    if (time > info->last_time)
        return set->has_fault && time == set->fault_time;
    if (time < info->first_time)
        return false;
    uint64_t k = wetdbg_interval_at(set->wet, time);
    return k < set->part_count && set->parts[k] &&
           roaring_bitmap_contains(set->parts[k],
                                   (uint32_t)(time - wetdbg_interval_time(set->wet, k)));
}

/* ---- as a slice ---- */

/* Bits [from, from + count), count up to 64. */
static uint64_t bits_at(const uint64_t *words, uint64_t from, unsigned count)
{
    uint64_t found = words[from / 64] >> from % 64;

    if (from % 64 + count > 64)
        found |= words[from / 64 + 1] << (64 - from % 64);
    return count < 64 ? found & ((UINT64_C(1) << count) - 1) : found;
}

/* Executions of a node of which the set has the same instructions, one bit each, and when the first
 * and the last of them began: they are counted together. */
struct same {
    uint64_t instructions;
    uint64_t executions; /* 0: none was met */
    wetdbg_time first, last;
};

/* Counts what was met of a node, and forgets it. */
static int flush_same(struct wetdbg_slice *slice, uint32_t id, struct same *same)
{
    struct slc_node *node = slc_code_node(slice->code, id);

    if (!node)
        return -ENOMEM;
    for (uint64_t left = same->instructions; left; left &= left - 1) {
        unsigned at = (unsigned)__builtin_ctzll(left);
        slc_code_tally(slice->code, node->pc_index[at], same->executions, same->first + at,
                       same->last + at, WETDBG_DISTANCE_UNKNOWN);
    }
    same->executions = 0;
    return 0;
}

static int flush_all(struct wetdbg_slice *slice, struct same *same)
{
    uint32_t limit = wet_node_limit(slice->wet);
    int err = 0;

    for (uint32_t id = 0; id < limit && !err; id++)
        if (same[id].executions)
            err = flush_same(slice, id, &same[id]);
    return err;
}

static int count_exec(struct wetdbg_slice *slice, const struct wet_interval *interval,
                      const struct wet_exec *exec, const uint64_t *bits, struct same *all)
{
    const struct wet_node *wet = wet_get_node(slice->wet, exec->node);
    uint32_t statements = wet ? wet->statement_count : 0;

    if (exec->time_off + (uint64_t)statements > interval->instructions || statements > 64)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "interval %llu holds times beyond its end",
                           (unsigned long long)interval->index);
    uint64_t has = statements ? bits_at(bits, exec->time_off, statements) : 0;
    if (!has)
        return 0;
    struct same *same = &all[exec->node];
    wetdbg_time time = interval->first_time + exec->time_off;
    if (same->executions && same->instructions != has) {
        int err = flush_same(slice, exec->node, same);
        if (err)
            return err;
    }
    if (!same->executions) {
        same->instructions = has;
        same->first = time;
    }
    same->last = time;
    same->executions++;
    return 0;
}

/* Has the next interval of which there is something run while this one is looked at. */
static void prefetch_next(const struct wetdbg_set *set, uint64_t k)
{
    for (k++; k < set->part_count && !set->parts[k];)
        k++;
    if (k < set->part_count)
        wet_prefetch(set->wet, k);
}

/* `same` is of all nodes, none of them met. */
static int add_part(struct wetdbg_slice *slice, const struct wetdbg_set *set, uint64_t k,
                    struct same *same)
{
    const struct wet_interval *interval;
    uint64_t *bits;
    int err = wet_interval_get(set->wet, k, &interval);

    if (err)
        return err;
    prefetch_next(set, k);
    err = slc_slice_make_bits(slice, interval, &bits);
    if (!err)
        slc_set_bits(set, k, bits);
    for (size_t e = 0; e < interval->exec_count && !err; e++)
        err = count_exec(slice, interval, &interval->execs[e], bits, same);
    uint64_t done = interval->first_time + interval->instructions;
    wet_interval_put(set->wet, interval);
    if (!err)
        err = flush_all(slice, same);
    if (!err)
        err = slc_slice_collect(slice);
    if (!err && slice->options.progress &&
        slice->options.progress(slice->options.arg, done, wetdbg_get_info(set->wet)->instructions))
        err = wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "the slice was interrupted");
    return err;
}

int wetdbg_slice_of_set(const struct wetdbg_set *set, const struct wetdbg_slice_options *options,
                        struct wetdbg_slice **out)
{
    struct wetdbg_slice_options how = *options;
    double began = wd_seconds();

    how.record_parents = false;
    how.kinds = WETDBG_SLICE_FULL;
    struct wetdbg_slice *slice = slc_slice_new(set->wet, &how);
    struct same *same = calloc((size_t)wet_node_limit(set->wet) + 1, sizeof(*same));
    int err = slice && same ? 0 : -ENOMEM;

    for (uint64_t k = 0; k < set->part_count && !err; k++)
        if (set->parts[k])
            err = add_part(slice, set, k, same);
    free(same);
    if (!err && set->has_fault)
        err = slc_slice_add_fault(slice, set->fault_time, set->fault_pc, set->fault_task, NULL, 0);
    if (!err)
        err = slc_slice_finish(slice);
    if (err) {
        wetdbg_slice_free(slice);
        return err;
    }
    slice->counts.seconds = wd_seconds() - began;
    *out = slice;
    return 0;
}
