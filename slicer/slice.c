/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A slice's members and the questions that can be asked about them. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>

#include "common/array.h"
#include "common/bisect.h"
#include "slicer/slice_priv.h"
#include <wetdbg/errors.h>

const char *wetdbg_edge_name(enum wetdbg_edge edge)
{
    static const char *const names[] = {"value",   "address",  "condition",
                                        "control", "implicit", "criterion"};
    return (unsigned)edge < sizeof(names) / sizeof(names[0]) ? names[edge] : "?";
}

/* ---- filling ---- */

static enum slc_session_code code_for(const struct wetdbg_slice_options *options)
{
    if (options->record_parents)
        return SLC_CODE_USERS;
    return options->kinds == WETDBG_SLICE_FULL || options->kinds == WETDBG_SLICE_DATA
               ? SLC_CODE_ADDRESSES
               : SLC_CODE_PLAIN;
}

struct wetdbg_slice *slc_slice_new(struct wetdbg *wet, const struct wetdbg_slice_options *options)
{
    struct wetdbg_slice *slice = calloc(1, sizeof(*slice));

    if (!slice)
        return NULL;
    slice->wet = wet;
    slice->users = 1;
    slice->options = *options;
    slice->share_count = wetdbg_get_info(wet)->intervals;
    slice->shares = calloc(slice->share_count + 1, sizeof(*slice->shares));
    slice->session = options->session;
    if (slice->session)
        slc_session_hold(slice->session);
    else if (wetdbg_slice_session_new(wet, &slice->session))
        slice->session = NULL;
    if (slice->session)
        slice->code = slc_session_code(slice->session, code_for(options), options->no_exits);
    if (!slice->shares || !slice->code) {
        wetdbg_slice_free(slice);
        return NULL;
    }
    return slice;
}

/* With one more at the end. */
static size_t bit_words(uint64_t instructions)
{
    return (size_t)((instructions + 63) / 64 + 1);
}

/* Frees a slice that nobody has any more; its session, if there is one, is not held by it. */
static void slice_free(struct wetdbg_slice *slice)
{
    for (uint64_t k = 0; slice->shares && k < slice->share_count; k++) {
        if (slice->shares[k].bits)
            slc_session_give_bits(slice->session, slice->shares[k].bits,
                                  bit_words(slice->shares[k].instructions));
        free(slice->shares[k].members);
    }
    free(slice->shares);
    free(slice->totals);
    free(slice->announced);
    free(slice->sorted);
    free(slice->order);
    free(slice->initials);
    free(slice->initials_by_user);
    free(slice->reached);
    slc_call_bytes_fini(&slice->calls);
    free(slice);
}

void slc_slice_hold(struct wetdbg_slice *slice)
{
    if (!slice->users++)
        slc_session_hold(slice->session);
}

void slc_slice_release(struct wetdbg_slice *slice)
{
    slice->is_kept = false;
    if (!slice->users)
        slice_free(slice);
}

void wetdbg_slice_free(struct wetdbg_slice *slice)
{
    if (!slice || --slice->users)
        return;
    struct wetdbg_slice_session *session = slice->session;
    if (!slice->is_kept)
        slice_free(slice);
    wetdbg_slice_session_free(session);
}

void slc_slice_restart(struct wetdbg_slice *slice)
{
    for (uint64_t k = 0; k < slice->share_count; k++) {
        struct slc_share *share = &slice->shares[k];
        if (share->bits)
            memset(share->bits, 0, (share->instructions + 63) / 64 * 8);
        share->member_count = 0;
    }
    slc_code_clear_tallies(slice->code);
    slc_lines_restart(slice);
    slice->counts.instances = slice->counts.statements = slice->counts.unknown_calls = 0;
    slice->counts.looked_to = 0;
    slice->initial_count = 0;
    slice->calls.count = 0;
    slice->has_fault = false;
}

static int keep_member(struct slc_share *share, struct slc_member member)
{
    if (wd_grow(share->members, share->member_capacity, share->member_count + 1))
        return -ENOMEM;
    share->members[share->member_count++] = member;
    return 0;
}

int slc_slice_make_bits(struct wetdbg_slice *slice, const struct wet_interval *interval,
                        uint64_t **bits)
{
    struct slc_share *share = &slice->shares[interval->index];

    assert(interval->index < slice->share_count);
    if (!share->bits) {
        share->first_time = interval->first_time;
        share->instructions = interval->instructions;
        share->bits = slc_session_bits(slice->session, bit_words(interval->instructions));
    }
    *bits = share->bits;
    return share->bits ? 0 : -ENOMEM;
}

int slc_slice_add(struct wetdbg_slice *slice, const struct wet_interval *interval, wetdbg_time time,
                  uint32_t pc_index, const struct slc_want *want, uint64_t address)
{
    struct slc_share *share = &slice->shares[interval->index];
    uint64_t off = time - interval->first_time, *bits;
    uint32_t distance = slice->options.record_parents ? want->distance : WETDBG_DISTANCE_UNKNOWN;

    assert(pc_index < slice->code->pc_count);
    if (off >= interval->instructions)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "interval %llu holds time %llu beyond its end",
                           (unsigned long long)interval->index, (unsigned long long)time);
    if (slc_slice_make_bits(slice, interval, &bits))
        return -ENOMEM;
    bits[off / 64] |= UINT64_C(1) << (off % 64);
    if (slice->options.record_parents) {
        struct slc_member member = {.parent = want->user,
                                    .address = address,
                                    .time_off = (uint32_t)off,
                                    .pc_index = pc_index,
                                    .distance = want->distance,
                                    .location = want->location,
                                    .edge = want->edge};
        if (keep_member(share, member))
            return -ENOMEM;
    }
    slc_code_tally(slice->code, pc_index, 1, time, time, distance);
    return 0;
}

/* Members of an earlier interval are the latest first already. */
static int keep_late_member(struct slc_share *share, struct slc_member member, bool is_turned)
{
    size_t at = wd_bisect(0, share->member_count, i,
                          is_turned ? share->members[i].time_off > member.time_off
                                    : share->members[i].time_off < member.time_off);

    if (at == share->member_count || share->members[at].time_off != member.time_off) {
        if (wd_grow(share->members, share->member_capacity, share->member_count + 1))
            return -ENOMEM;
        memmove(&share->members[at + 1], &share->members[at],
                (share->member_count - at) * sizeof(member));
        share->member_count++;
    }
    share->members[at] = member;
    return 0;
}

/* Brings a line nearer of which an instance has been counted. */
static void count_nearer(struct wetdbg_slice *slice, uint32_t pc_index, uint32_t distance)
{
    struct slc_count *tally = &slice->code->pcs[pc_index].tally, *total = NULL;

    if (pc_index < slice->total_capacity)
        total = &slice->totals[pc_index];
    if (tally->instances && distance < tally->min_distance)
        tally->min_distance = distance;
    if (total && total->instances && distance < total->min_distance)
        total->min_distance = distance;
}

static int add_late(struct wetdbg_slice *slice, const struct wet_interval *interval,
                    struct slc_member member, bool is_turned)
{
    struct slc_share *share = &slice->shares[interval->index];
    bool has_parents = slice->options.record_parents;
    uint32_t distance = has_parents ? member.distance : WETDBG_DISTANCE_UNKNOWN;
    wetdbg_time time = interval->first_time + member.time_off;
    uint64_t *bits, bit = UINT64_C(1) << (member.time_off % 64);

    if (slc_slice_make_bits(slice, interval, &bits) ||
        (has_parents && keep_late_member(share, member, is_turned)))
        return -ENOMEM;
    if (bits[member.time_off / 64] & bit)
        count_nearer(slice, member.pc_index, distance);
    else
        slc_code_tally(slice->code, member.pc_index, 1, time, time, distance);
    bits[member.time_off / 64] |= bit;
    return 0;
}

int slc_slice_add_late(struct wetdbg_slice *slice, const struct wet_interval *now, wetdbg_time time,
                       uint32_t pc_index, const struct slc_want *want, uint64_t address)
{
    const struct wet_interval *interval = now;
    bool is_earlier = time < now->first_time;
    int err = 0;

    if (is_earlier)
        err = wet_interval_get(slice->wet, wetdbg_interval_at(slice->wet, time), &interval);
    if (err)
        return err;
    const struct slc_member member = {.parent = want->user,
                                      .address = address,
                                      .time_off = (uint32_t)(time - interval->first_time),
                                      .pc_index = pc_index,
                                      .distance = want->distance,
                                      .location = want->location,
                                      .edge = want->edge};
    assert(pc_index < slice->code->pc_count);
    if (time - interval->first_time < interval->instructions)
        err = add_late(slice, interval, member, is_earlier);
    else
        err = wetdbg_fail(-WETDBG_ERR_CORRUPT, "a call came back that was made at time %llu",
                          (unsigned long long)time);
    if (is_earlier)
        wet_interval_put(slice->wet, interval);
    return err;
}

void slc_slice_turn_members(struct wetdbg_slice *slice, const struct wet_interval *interval)
{
    struct slc_share *share = &slice->shares[interval->index];

    for (size_t i = 0, k = share->member_count; i + 1 < k; i++) {
        struct slc_member first = share->members[i];
        assert(first.time_off <= share->members[k - 1].time_off);
        share->members[i] = share->members[--k];
        share->members[k] = first;
    }
}

int slc_slice_collect(struct wetdbg_slice *slice)
{
    struct slc_code *code = slice->code;

    slc_code_collect(code);
    struct slc_count *counts = malloc((code->counted_count + 1) * sizeof(*counts));
    if (!counts)
        return -ENOMEM;
    for (uint32_t i = 0; i < code->counted_count; i++) {
        counts[i] = code->pcs[code->counted[i]].tally;
        slice->counts.instances += counts[i].instances;
    }
    int err = slc_lines_add(slice, counts, code->counted_count);
    slc_code_clear_tallies(code);
    free(counts);
    return err;
}

uint64_t *slc_slice_bits(const struct wetdbg_slice *slice, const struct wet_interval *interval)
{
    assert(interval->index < slice->share_count);
    return slice->shares[interval->index].bits;
}

int slc_slice_add_fault(struct wetdbg_slice *slice, wetdbg_time time, uint64_t pc, uint32_t task,
                        const struct slc_want *want, uint64_t address)
{
    bool has_parents = slice->options.record_parents;
    const struct slc_want criterion = {.distance = has_parents ? 0 : WETDBG_DISTANCE_UNKNOWN,
                                       .edge = WETDBG_EDGE_NONE,
                                       .location = INS_LOC_COUNT};

    slice->counts.instances += !slice->has_fault;
    slice->has_fault = true;
    slice->fault_time = time;
    slice->fault_task = task;
    slice->fault_pc = slc_code_pc(slice->code, pc);
    slice->fault_want = want && has_parents ? *want : criterion;
    slice->fault_address = want && has_parents ? address : 0;
    if (slice->fault_pc == SLC_UNKNOWN)
        return -ENOMEM;
    struct slc_count count = {slice->fault_pc, slice->fault_want.distance, 1, time, time};
    return slc_lines_add(slice, &count, 1);
}

int slc_slice_add_initial(struct wetdbg_slice *slice, const struct wetdbg_slice_initial *initial)
{
    if (wd_grow(slice->initials, slice->initial_capacity, slice->initial_count + 1))
        return -ENOMEM;
    struct wetdbg_slice_initial *own = &slice->initials[slice->initial_count++];
    *own = *initial;
    if (!slice->options.record_parents) {
        own->distance = WETDBG_DISTANCE_UNKNOWN;
        own->user = 0;
    }
    return 0;
}

static int compare_initials(const void *a, const void *b)
{
    const struct wetdbg_slice_initial *x = a, *y = b;
    bool x_memory = x->location == INS_LOC_COUNT, y_memory = y->location == INS_LOC_COUNT;

    if (x_memory != y_memory)
        return x_memory ? -1 : 1;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    if (x->task != y->task)
        return x->task < y->task ? -1 : 1;
    return (x->location > y->location) - (x->location < y->location);
}

/* Makes one range of bytes side by side, of the same user or whatever their users; equal places
 * once. */
static void join_initials(struct wetdbg_slice *slice, bool keeps_users)
{
    size_t kept = 0;

    if (slice->initial_count == 0)
        return;
    qsort(slice->initials, slice->initial_count, sizeof(*slice->initials), compare_initials);
    for (size_t i = 1; i < slice->initial_count; i++) {
        struct wetdbg_slice_initial *last = &slice->initials[kept];
        const struct wetdbg_slice_initial *next = &slice->initials[i];
        bool is_same = last->location == next->location && last->task == next->task &&
                       (!keeps_users || last->user == next->user);
        if (is_same && next->address <= last->address + last->size_bytes) {
            if (next->address + next->size_bytes > last->address + last->size_bytes)
                last->size_bytes = next->address + next->size_bytes - last->address;
            if (next->distance < last->distance) {
                last->distance = next->distance;
                last->user = next->user;
            }
            continue;
        }
        slice->initials[++kept] = *next;
    }
    slice->initial_count = kept + 1;
}

/* A copy of the ranges by their users. */
static int keep_initials(struct wetdbg_slice *slice)
{
    size_t bytes = slice->initial_count * sizeof(*slice->initials);

    if (!bytes || !slice->options.record_parents)
        return 0;
    slice->initials_by_user = malloc(bytes);
    if (!slice->initials_by_user)
        return -ENOMEM;
    memcpy(slice->initials_by_user, slice->initials, bytes);
    slice->initial_by_user_count = slice->initial_count;
    return 0;
}

int slc_slice_finish(struct wetdbg_slice *slice)
{
    for (size_t i = 0; i < slice->initial_count; i++)
        if (slice->initials[i].user == SLC_USER_FAULT)
            slice->initials[i].user = slice->fault_time;
    join_initials(slice, true);
    int err = keep_initials(slice);
    if (err)
        return err;
    join_initials(slice, false);
    return slc_lines_finish(slice);
}

/* ---- reading ---- */

const struct wetdbg_slice_counts *wetdbg_slice_get_counts(const struct wetdbg_slice *slice)
{
    return &slice->counts;
}

const struct wetdbg_slice_line *wetdbg_slice_lines(const struct wetdbg_slice *slice, size_t *count)
{
    *count = slice->counts.lines + slice->counts.functions_without_lines;
    return slice->sorted;
}

const struct wetdbg_slice_initial *slc_slice_initials_by_user(const struct wetdbg_slice *slice,
                                                              size_t *count)
{
    *count = slice->initial_by_user_count;
    return slice->initials_by_user;
}

const struct wetdbg_slice_initial *wetdbg_slice_initials(const struct wetdbg_slice *slice,
                                                         size_t *count)
{
    *count = slice->initial_count;
    return slice->initials;
}

const struct wetdbg_slice_reached *wetdbg_slice_get_reached(const struct wetdbg_slice *slice,
                                                            size_t *count)
{
    *count = slice->reached_count;
    return slice->reached;
}

bool wetdbg_slice_reaches_crash(const struct wetdbg_slice *slice)
{
    return slice->reaches_crash;
}

bool wetdbg_slice_contains_time(const struct wetdbg_slice *slice, wetdbg_time time)
{
    const struct wetdbg_info *info = wetdbg_get_info(slice->wet);

    if (time > info->last_time)
        return slice->has_fault && time == slice->fault_time;
    if (time < info->first_time)
        return false;
    uint64_t k = wetdbg_interval_at(slice->wet, time);
    if (k >= slice->share_count || !slice->shares[k].bits)
        return false;
    uint64_t off = time - slice->shares[k].first_time;
    return off < slice->shares[k].instructions && slice->shares[k].bits[off / 64] >> (off % 64) & 1;
}

/* Which instances are asked for. */
struct filter {
    const uint64_t *pcs;
    size_t pc_count; /* 0: any */
    uint32_t line;   /* raw index, or SLC_UNKNOWN: any */
};

static bool accepts(const struct wetdbg_slice *slice, const struct filter *filter,
                    uint32_t pc_index)
{
    const struct slc_pc *pc = &slice->code->pcs[pc_index];

    if (filter->line != SLC_UNKNOWN && pc->line != filter->line)
        return false;
    for (size_t i = 0; i < filter->pc_count; i++)
        if (filter->pcs[i] == pc->pc)
            return true;
    return filter->pc_count == 0;
}

static struct wetdbg_slice_instance instance_of(const struct wetdbg_slice *slice,
                                                const struct slc_share *share,
                                                const struct slc_member *member)
{
    return (struct wetdbg_slice_instance){
        .time = share->first_time + member->time_off,
        .pc = slice->code->pcs[member->pc_index].pc,
        .distance = member->distance,
        .edge = (enum wetdbg_edge)member->edge,
        .parent = member->parent == SLC_USER_FAULT ? slice->fault_time : member->parent,
        .location = member->location,
        .address = member->address,
    };
}

static struct wetdbg_slice_instance fault_instance(const struct wetdbg_slice *slice)
{
    return (struct wetdbg_slice_instance){.time = slice->fault_time,
                                          .pc = slice->code->pcs[slice->fault_pc].pc,
                                          .distance = slice->fault_want.distance,
                                          .edge = (enum wetdbg_edge)slice->fault_want.edge,
                                          .parent = slice->fault_want.user,
                                          .location = slice->fault_want.location,
                                          .address = slice->fault_address};
}

const struct wetdbg_thread *
wetdbg_slice_instance_thread(const struct wetdbg_slice *slice,
                             const struct wetdbg_slice_instance *instance)
{
    /* nothing has that time, or another instruction of perhaps another thread */
    if (slice->has_fault && instance->time == slice->fault_time &&
        instance->pc == slice->code->pcs[slice->fault_pc].pc)
        return wetdbg_thread_of(slice->wet, slice->fault_task, slice->fault_time - 1);
    return wetdbg_thread_at(slice->wet, instance->time);
}

static int each_recorded(const struct wetdbg_slice *slice, const struct slc_share *share,
                         const struct filter *filter, wetdbg_slice_instance_fn fn, void *arg)
{
    int err = 0;

    for (size_t i = 0; i < share->member_count && !err; i++) {
        if (!accepts(slice, filter, share->members[i].pc_index))
            continue;
        struct wetdbg_slice_instance instance = instance_of(slice, share, &share->members[i]);
        err = fn(arg, &instance);
    }
    return err;
}

/* Enumerates members of an interval without records: the interval says which pc ran when. */
static int each_in_interval(const struct wetdbg_slice *slice, const struct slc_share *share,
                            const struct wet_interval *interval, const struct filter *filter,
                            wetdbg_slice_instance_fn fn, void *arg)
{
    int err = 0;

    for (size_t e = interval->exec_count; e-- > 0 && !err;) {
        const struct wet_exec *exec = &interval->execs[e];
        const struct wet_node *node = wet_get_node(slice->wet, exec->node);
        const struct slc_node *known =
            exec->node < slice->code->node_limit ? slice->code->nodes[exec->node] : NULL;
        for (uint32_t s = node ? node->statement_count : 0; s-- > 0 && !err;) {
            uint64_t off = (uint64_t)exec->time_off + s;
            if (!known || off >= share->instructions ||
                !(share->bits[off / 64] >> (off % 64) & 1) ||
                !accepts(slice, filter, known->pc_index[s]))
                continue;
            struct wetdbg_slice_instance instance = {.time = share->first_time + off,
                                                     .pc = node->statements[s].pc,
                                                     .distance = WETDBG_DISTANCE_UNKNOWN,
                                                     .edge = WETDBG_EDGE_NONE,
                                                     .location = INS_LOC_COUNT};
            err = fn(arg, &instance);
        }
    }
    return err;
}

static int each_instance(const struct wetdbg_slice *slice, const struct filter *filter,
                         wetdbg_slice_instance_fn fn, void *arg)
{
    int err = 0;

    if (slice->has_fault && accepts(slice, filter, slice->fault_pc)) {
        struct wetdbg_slice_instance instance = fault_instance(slice);
        err = fn(arg, &instance);
    }
    for (uint64_t k = slice->share_count; k-- > 0 && !err;) {
        const struct slc_share *share = &slice->shares[k];
        const struct wet_interval *interval;
        if (!share->bits)
            continue;
        if (slice->options.record_parents) {
            err = each_recorded(slice, share, filter, fn, arg);
            continue;
        }
        err = wet_interval_get(slice->wet, k, &interval);
        if (err)
            break;
        err = each_in_interval(slice, share, interval, filter, fn, arg);
        wet_interval_put(slice->wet, interval);
    }
    return err;
}

int wetdbg_slice_each_instance(const struct wetdbg_slice *slice, const uint64_t *pcs,
                               size_t pc_count, wetdbg_slice_instance_fn fn, void *arg)
{
    struct filter filter = {pcs, pc_count, SLC_UNKNOWN};
    return each_instance(slice, &filter, fn, arg);
}

int wetdbg_slice_each_line_instance(const struct wetdbg_slice *slice, size_t line_index,
                                    wetdbg_slice_instance_fn fn, void *arg)
{
    size_t count;

    wetdbg_slice_lines(slice, &count);
    if (line_index >= count)
        return -EINVAL;
    struct filter filter = {NULL, 0, slice->order[line_index]};
    return each_instance(slice, &filter, fn, arg);
}

/* ---- paths ---- */

static int keep_nearest(void *arg, const struct wetdbg_slice_instance *instance)
{
    struct wetdbg_slice_instance *best = arg;

    if (best->time == 0 || instance->distance < best->distance)
        *best = *instance;
    return 0;
}

const struct slc_member *slc_slice_find(const struct wetdbg_slice *slice, wetdbg_time time,
                                        const struct slc_share **found)
{
    const struct slc_share *share = &slice->shares[wetdbg_interval_at(slice->wet, time)];
    size_t at =
        wd_bisect(0, share->member_count, i, share->first_time + share->members[i].time_off > time);

    if (at == share->member_count || share->first_time + share->members[at].time_off != time)
        return NULL;
    *found = share;
    return &share->members[at];
}

uint64_t slc_slice_pc_at(const struct wetdbg_slice *slice, wetdbg_time time)
{
    const struct slc_share *share;

    if (slice->has_fault && time == slice->fault_time)
        return slice->code->pcs[slice->fault_pc].pc;
    const struct slc_member *member = slc_slice_find(slice, time, &share);
    return member ? slice->code->pcs[member->pc_index].pc : 0;
}

/* The instance at which a source's places were looked at, which may be no member. */
static int source_instance(const struct wetdbg_slice *slice, wetdbg_time time,
                           struct wetdbg_slice_instance *instance)
{
    struct wetdbg_state *state;
    int err = wetdbg_state_open(slice->wet, time, &state);

    *instance = (struct wetdbg_slice_instance){
        .time = time, .edge = WETDBG_EDGE_NONE, .location = INS_LOC_COUNT};
    if (err)
        return err;
    instance->pc = wetdbg_state_registers(state)->rip;
    wetdbg_state_close(state);
    return 0;
}

/* The instance that used another one, on a shortest path. */
static int find_user(const struct wetdbg_slice *slice, const struct wetdbg_slice_instance *used,
                     struct wetdbg_slice_instance *user)
{
    const struct slc_share *share;
    bool is_fault = slice->has_fault && used->parent == slice->fault_time && used->distance <= 1;
    bool is_near = slice->options.copies_are_near; /* a copy is no farther than who uses it */
    const struct slc_member *member = is_fault ? NULL : slc_slice_find(slice, used->parent, &share);

    if (!is_fault && (!member || (member->distance + 1 != used->distance &&
                                  !(is_near && member->distance == used->distance))))
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "the slice has no instance at time %llu",
                           (unsigned long long)used->parent);
    *user = is_fault ? fault_instance(slice) : instance_of(slice, share, member);
    return 0;
}

/* How many hops a path has; parents are later in time, so that there is an end. */
static int count_hops(const struct wetdbg_slice *slice, const struct wetdbg_slice_instance *end,
                      size_t *count)
{
    struct wetdbg_slice_instance at = *end;
    int err = 0;

    *count = (size_t)end->distance + 1;
    if (slice->is_forward || !slice->options.copies_are_near)
        return 0;
    for (*count = 1; !err && at.parent; ++*count)
        err = find_user(slice, &at, &at);
    return err;
}

static int build_path(const struct wetdbg_slice *slice, const struct wetdbg_slice_instance *end,
                      struct wetdbg_slice_path **out)
{
    size_t count;
    int err = count_hops(slice, end, &count);

    if (err)
        return err;
    struct wetdbg_slice_path *path = malloc(sizeof(*path) + count * sizeof(path->hops[0]));
    if (!path)
        return -ENOMEM;
    struct wetdbg_slice_instance *hops = (struct wetdbg_slice_instance *)(path + 1);
    *path = (struct wetdbg_slice_path){count, hops};
    hops[count - 1] = *end;
    for (size_t i = count - 1; i-- > 0 && !err;)
        err = i == 0 && slice->is_forward ? source_instance(slice, hops[i + 1].parent, &hops[i])
                                          : find_user(slice, &hops[i + 1], &hops[i]);
    if (err)
        free(path);
    else
        *out = path;
    return err;
}

static int path_to(const struct wetdbg_slice *slice, const struct filter *filter,
                   struct wetdbg_slice_path **path)
{
    struct wetdbg_slice_instance best = {0};

    if (!slice->options.record_parents)
        return wetdbg_fail(-EINVAL, "the slice was made without parents");
    int err = each_instance(slice, filter, keep_nearest, &best);
    if (err)
        return err;
    if (best.time == 0)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no instance of that code is in the slice");
    return build_path(slice, &best, path);
}

int wetdbg_slice_path(const struct wetdbg_slice *slice, const uint64_t *pcs, size_t pc_count,
                      struct wetdbg_slice_path **path)
{
    struct filter filter = {pcs, pc_count, SLC_UNKNOWN};
    return pc_count ? path_to(slice, &filter, path) : -EINVAL;
}

int wetdbg_slice_path_to_line(const struct wetdbg_slice *slice, size_t line_index,
                              struct wetdbg_slice_path **path)
{
    size_t count;

    wetdbg_slice_lines(slice, &count);
    if (line_index >= count)
        return -EINVAL;
    struct filter filter = {NULL, 0, slice->order[line_index]};
    return path_to(slice, &filter, path);
}

int wetdbg_slice_path_to_time(const struct wetdbg_slice *slice, wetdbg_time time,
                              struct wetdbg_slice_path **path)
{
    const struct slc_member *member = NULL;
    const struct slc_share *share;

    if (!slice->options.record_parents)
        return wetdbg_fail(-EINVAL, "the slice was made without parents");
    if (wetdbg_slice_contains_time(slice, time))
        member = slc_slice_find(slice, time, &share);
    if (!member && !(slice->has_fault && time == slice->fault_time))
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "the slice has no instance at time %llu",
                           (unsigned long long)time);
    struct wetdbg_slice_instance end =
        member ? instance_of(slice, share, member) : fault_instance(slice);
    return build_path(slice, &end, path);
}

void wetdbg_slice_path_free(struct wetdbg_slice_path *path)
{
    free(path);
}
