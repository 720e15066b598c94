/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The origin of one value (<wetdbg/origin.h>): the run is scanned backward, event by event and
 * instruction by instruction, with the place of each byte of the value; what a hop means is
 * chase_step.c's and chase_kernel.c's to find out. Then push and pop pairs are marked, and names
 * and texts added.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/clock.h"
#include "slicer/criteria/criterion.h"
#include "slicer/descriptors.h"
#include "slicer/origin/chase.h"
#include "slicer/state_view.h"
#include <wetdbg/errors.h>
#include <wetdbg/origin.h>

const char *wetdbg_hop_name(enum wetdbg_hop_kind kind)
{
    static const char *const names[] = {
        [WETDBG_HOP_COPY] = "copied",
        [WETDBG_HOP_ZERO_EXTEND] = "zero-extended",
        [WETDBG_HOP_SIGN_EXTEND] = "sign-extended",
        [WETDBG_HOP_REMAP] = "moved by mremap",
        [WETDBG_HOP_SIGNAL] = "kept by a signal",
        [WETDBG_HOP_READ_BACK] = "read back",
        [WETDBG_HOP_WRITTEN] = "written",
        [WETDBG_HOP_PASSED] = "passed on",
        [WETDBG_HOP_COMPUTED] = "computed",
        [WETDBG_HOP_CONSTANT] = "constant",
        [WETDBG_HOP_SYSCALL] = "system call",
        [WETDBG_HOP_DELIVERED] = "delivered",
        [WETDBG_HOP_INITIAL] = "initial",
    };
    return (unsigned)kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "?";
}

void wetdbg_spot_name(const struct wetdbg_spot *spot, char *text, size_t size)
{
    static const char *const names[INS_GPR_COUNT] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp",
                                                     "rsi", "rdi", "r8",  "r9",  "r10", "r11",
                                                     "r12", "r13", "r14", "r15"};
    const char *location = ins_location_name(spot->number);
    char name[16] = "";

    if (spot->kind == WETDBG_SPOT_GPR)
        snprintf(name, sizeof(name), "%s", names[spot->number % INS_GPR_COUNT]);
    else if (spot->kind == WETDBG_SPOT_VECTOR)
        snprintf(name, sizeof(name), "%cmm%u",
                 spot->byte < 16   ? 'x'
                 : spot->byte < 32 ? 'y'
                                   : 'z',
                 spot->number);
    else if (spot->kind == WETDBG_SPOT_LOCATION)
        snprintf(name, sizeof(name), "%s", location ? location : "?");
    if (spot->byte)
        snprintf(text, size, "%s.b%u", name, spot->byte);
    else
        snprintf(text, size, "%s", name);
}

/* ---- the value ---- */

static int no_value(const struct wetdbg_criterion *criterion)
{
    return wetdbg_fail(-WETDBG_ERR_USAGE,
                       "'%s' is not one value: an origin is that of a variable, of up to %d bytes "
                       "of memory or output, or of a register",
                       criterion->text, WETDBG_VALUE_BYTES_MAX);
}

static bool is_mask(unsigned location)
{
    return location >= INS_LOC_K && location < INS_LOC_ST;
}

/* Takes all of a set's pieces in one register, or one location. */
static bool take_registers(struct slc_chase *chase, const struct slc_seed *seed,
                           const struct ins_regset *set)
{
    unsigned first = ins_regset_next(set, 0), unit, start, end, own, from, to;
    struct wetdbg_spot spot = {.task = seed->task};

    if (!slc_piece_bytes(first, &unit, &start, &end)) {
        if (ins_regset_next(set, first + 1) != INS_LOC_COUNT)
            return false;
        spot.kind = WETDBG_SPOT_LOCATION;
        spot.number = (uint16_t)first;
        chase->origin->size = is_mask(first) ? 8 : 1;
        for (; spot.byte < chase->origin->size; spot.byte++)
            slc_track_move(&chase->tracks[spot.byte], spot);
        return true;
    }
    for (unsigned l = first; l < INS_LOC_COUNT; l = ins_regset_next(set, l + 1)) {
        if (!slc_piece_bytes(l, &own, &from, &to) || own != unit)
            return false;
        end = to;
    }
    if (seed->register_bytes && seed->register_bytes < end - start)
        end = start + seed->register_bytes;
    spot.kind = unit < INS_GPR_COUNT ? WETDBG_SPOT_GPR : WETDBG_SPOT_VECTOR;
    spot.number = (uint16_t)(unit < INS_GPR_COUNT ? unit : unit - INS_GPR_COUNT);
    chase->origin->size = end - start;
    for (unsigned i = 0; i < end - start; i++) {
        spot.byte = (uint16_t)(start + i);
        slc_track_move(&chase->tracks[i], spot);
    }
    return true;
}

static bool take_memory(struct slc_chase *chase, const struct slc_place *place)
{
    if (place->size_bytes > WETDBG_VALUE_BYTES_MAX)
        return false;
    for (uint64_t i = 0; i < place->size_bytes; i++)
        slc_track_move(&chase->tracks[i], (struct wetdbg_spot){.kind = WETDBG_SPOT_MEMORY,
                                                               .address = place->address + i});
    chase->origin->size = place->size_bytes;
    return true;
}

/* Takes a seed's values, or else its addresses: an output has both, a crash only the latter. */
static int take_value(struct slc_chase *chase, const struct wetdbg_criterion *criterion)
{
    const struct slc_seed *seed = &criterion->seeds[0];
    const struct slc_place *place = NULL;
    unsigned places = 0;
    bool is_taken = false;

    if (criterion->seed_count != 1 || seed->uses != SLC_USES_NONE)
        return no_value(criterion);
    for (unsigned edge = WETDBG_EDGE_VALUE; edge <= WETDBG_EDGE_ADDRESS && !is_taken; edge++) {
        for (size_t i = 0; i < seed->place_count; i++)
            if (seed->places[i].edge == edge) {
                place = &seed->places[i];
                places++;
            }
        bool has_registers = !ins_regset_is_empty(&seed->regs[edge]);
        if (places + has_registers > 1)
            return no_value(criterion);
        if (places)
            is_taken = take_memory(chase, place);
        else if (has_registers)
            is_taken = take_registers(chase, seed, &seed->regs[edge]);
        if (!is_taken && places + has_registers)
            return no_value(criterion);
    }
    return is_taken ? 0 : no_value(criterion);
}

static bool read_vector(const struct wetdbg_state *state, const struct wetdbg_spot *spot,
                        uint8_t *byte)
{
    uint8_t bytes[WETDBG_VALUE_BYTES_MAX];
    unsigned width;

    if (wetdbg_state_vector(state, spot->number, bytes, &width) != 0 || spot->byte >= width)
        return false;
    *byte = bytes[spot->byte];
    return true;
}

/* Reads a flag, or a byte of a mask register. */
static bool read_location(const struct wetdbg_state *state, const struct wetdbg_spot *spot,
                          uint8_t *byte)
{
    static const uint8_t bits[] = {0, 2, 4, 6, 7, 11, 10}; /* from INS_LOC_CF on */
    unsigned location = spot->number;
    uint64_t mask;

    if (is_mask(location)) {
        if (wetdbg_state_mask(state, location - INS_LOC_K, &mask) != 0)
            return false;
        *byte = (uint8_t)(mask >> (8 * spot->byte));
        return true;
    }
    if (location < INS_LOC_CF || location > INS_LOC_DF)
        return false;
    *byte = wet_state_regs(state)->r[EVQ_EFLAGS] >> bits[location - INS_LOC_CF] & 1;
    return true;
}

bool slc_spot_read(struct wetdbg_state *state, const struct wetdbg_spot *spot, uint8_t *byte)
{
    switch (spot->kind) {
    case WETDBG_SPOT_MEMORY:
        return wetdbg_state_read(state, spot->address, byte, 1) == 0;
    case WETDBG_SPOT_GPR:
        *byte = (uint8_t)(slc_gpr_value(wet_state_regs(state), spot->number) >> (8 * spot->byte));
        return true;
    case WETDBG_SPOT_VECTOR:
        return read_vector(state, spot, byte);
    case WETDBG_SPOT_LOCATION:
        return read_location(state, spot, byte);
    default:
        return false;
    }
}

/* A criterion's seed; one that is about what its instance made stands just behind that. */
static struct slc_seed seed_of(const struct wetdbg_criterion *criterion)
{
    struct slc_seed seed = criterion->seeds[0];

    seed.time += seed.place_count && seed.places[0].is_after;
    return seed;
}

static int read_value(struct slc_chase *chase, const struct slc_seed *seed)
{
    struct wetdbg_origin *origin = chase->origin;
    struct wetdbg_state *state;
    int err = wetdbg_state_open(chase->wet, seed->time, &state);

    if (err)
        return err;
    for (size_t i = 0; i < origin->size; i++)
        if (slc_spot_read(state, &chase->tracks[i].spot, &origin->value[i]))
            origin->known |= UINT64_C(1) << i;
    wetdbg_state_close(state);
    origin->place = chase->tracks[0].spot;
    return 0;
}

/* ---- tracks and hops ---- */

void slc_track_move(struct slc_track *track, struct wetdbg_spot spot)
{
    struct ins_regset set = {0};

    track->spot = spot;
    track->state = SLC_TRACK_LIVE;
    track->location = INS_LOC_COUNT;
    if (spot.kind == WETDBG_SPOT_GPR)
        ins_regset_add_gpr(&set, spot.number, spot.byte, 1);
    else if (spot.kind == WETDBG_SPOT_VECTOR)
        ins_regset_add_vector(&set, spot.number, spot.byte, 1);
    else if (spot.kind == WETDBG_SPOT_LOCATION)
        ins_regset_add(&set, spot.number);
    if (spot.kind != WETDBG_SPOT_MEMORY)
        track->location = ins_regset_next(&set, 0);
}

static void add_range(struct slc_chase *chase, uint64_t address)
{
    for (unsigned r = 0; r < chase->range_count; r++) {
        struct ins_range *range = &chase->ranges[r];
        if (address + 1 == range->address) {
            range->address--;
            range->size_bytes++;
            return;
        }
        if (address - range->address <= range->size_bytes) {
            range->size_bytes += address - range->address == range->size_bytes;
            return;
        }
    }
    assert(chase->range_count < WETDBG_VALUE_BYTES_MAX);
    chase->ranges[chase->range_count++] = (struct ins_range){address, 1};
}

void slc_chase_sum(struct slc_chase *chase)
{
    assert(chase->origin->size <= WETDBG_VALUE_BYTES_MAX);
    chase->regs = (struct ins_regset){0};
    chase->range_count = 0;
    chase->has_registers = chase->has_calls = chase->has_asides = chase->has_held = false;
    chase->is_over = true;
    for (size_t i = 0; i < chase->origin->size; i++) {
        const struct slc_track *track = &chase->tracks[i];
        chase->is_over &= track->state == SLC_TRACK_DONE;
        chase->has_calls |= track->state == SLC_TRACK_CALL;
        chase->has_asides |= track->state == SLC_TRACK_ASIDE;
        chase->has_held |= track->state == SLC_TRACK_HELD;
        if (track->state != SLC_TRACK_LIVE)
            continue;
        if (track->spot.kind == WETDBG_SPOT_MEMORY) {
            add_range(chase, track->spot.address);
        } else {
            ins_regset_add(&chase->regs, track->location);
            chase->has_registers = true;
        }
    }
}

struct wetdbg_hop *slc_chase_hop(struct slc_chase *chase, enum wetdbg_hop_kind kind,
                                 wetdbg_time time, uint64_t pc)
{
    struct wetdbg_origin *origin = chase->origin;

    if (wd_grow(origin->hops, chase->hop_capacity, origin->hop_count + 1) ||
        wd_grow(chase->codes, chase->code_capacity, origin->hop_count + 1))
        return NULL;
    chase->codes[origin->hop_count] = (struct slc_hop_code){0};
    struct wetdbg_hop *hop = &origin->hops[origin->hop_count++];
    *hop = (struct wetdbg_hop){.kind = kind, .time = time, .pc = pc, .number = -1};
    return hop;
}

void slc_chase_note_code(struct slc_chase *chase, const uint8_t *code, uint8_t bytes)
{
    chase->codes[chase->origin->hop_count - 1] = (struct slc_hop_code){code, bytes};
}

void slc_hop_add(struct wetdbg_hop *hop, unsigned i, struct wetdbg_spot to, struct wetdbg_spot from)
{
    assert(i < WETDBG_VALUE_BYTES_MAX && !(hop->bytes >> i & 1));
    if (hop->bytes == 0) {
        hop->to = to;
        hop->from = from;
    }
    hop->bytes |= UINT64_C(1) << i;
}

/* Whether two hops are a push that completes a pop: the register has been saved meanwhile, and the
 * value was in it all the time. */
static bool is_pair(const struct wetdbg_hop *pop, const struct wetdbg_hop *push)
{
    return pop->is_saving && pop->to.kind == WETDBG_SPOT_GPR && push->is_saving &&
           push->from.kind == WETDBG_SPOT_GPR && push->bytes == pop->bytes &&
           push->to.address == pop->from.address && push->from.number == pop->to.number;
}

void slc_chase_bypass(struct slc_chase *chase)
{
    struct wetdbg_origin *origin = chase->origin;
    size_t count = origin->hop_count;

    if (count >= 2 && !(chase->options && chase->options->no_bypass) &&
        is_pair(&origin->hops[count - 2], &origin->hops[count - 1]))
        origin->hop_count -= 2;
}

/* Marks saving hops of the other pairs, between which other bytes moved: a pop is one if the next
 * hop of its bytes is the push. */
static int mark_saving(struct wetdbg_origin *origin)
{
    bool *is_paired = calloc(origin->hop_count + 1, sizeof(*is_paired));
    size_t next
        [WETDBG_VALUE_BYTES_MAX]; /* by lowest byte: the next hop with it, the last ones first */

    if (!is_paired)
        return -ENOMEM;
    for (size_t i = 0; i < WETDBG_VALUE_BYTES_MAX; i++)
        next[i] = origin->hop_count;
    for (size_t i = origin->hop_count; i-- > 0;) {
        struct wetdbg_hop *hop = &origin->hops[i];
        size_t after = next[__builtin_ctzll(hop->bytes)];
        bool is_pop = hop->to.kind == WETDBG_SPOT_GPR;
        if (is_pop && after < origin->hop_count && is_pair(hop, &origin->hops[after]))
            is_paired[after] = is_paired[i] = true;
        for (unsigned b = 0; b < WETDBG_VALUE_BYTES_MAX; b++)
            if (hop->bytes >> b & 1)
                next[b] = i;
    }
    for (size_t i = 0; i < origin->hop_count; i++)
        origin->hops[i].is_saving = is_paired[i];
    free(is_paired);
    return 0;
}

/* ---- the scan ---- */

static bool writes_value(const struct slc_chase *chase, const struct slc_node *node,
                         const uint64_t *slots)
{
    struct ins_range ranges[INS_RANGES_MAX];

    for (uint32_t i = 0; i < node->store_count && chase->range_count; i++) {
        const struct slc_store *store = &node->stores[i];
        unsigned count = 1;
        ranges[0] = (struct ins_range){slots[store->slot], store->size_bytes};
        if (store->is_range)
            count = slc_operand_ranges(&node->wet->statements[store->statement], store->operand,
                                       slots, ranges);
        for (unsigned r = 0; r < count; r++)
            for (unsigned v = 0; v < chase->range_count; v++)
                if (ranges[r].address - chase->ranges[v].address < chase->ranges[v].size_bytes ||
                    chase->ranges[v].address - ranges[r].address < ranges[r].size_bytes)
                    return true;
    }
    return false;
}

static int pass_events(struct slc_chase *chase, wetdbg_time time)
{
    int err = 0;

    while (!err && chase->event_at && chase->interval->events[chase->event_at - 1].time >= time) {
        chase->event_at--;
        err = slc_chase_event(chase, chase->event_at);
    }
    return err;
}

static int pass_exec(struct slc_chase *chase, const struct wet_exec *exec, wetdbg_time last)
{
    const struct slc_node *node = slc_code_node(&chase->code, exec->node);
    wetdbg_time first = chase->interval->first_time + exec->time_off;
    int err = 0;

    if (!node)
        return -ENOMEM;
    uint32_t count = node->statement_count;
    if (first + count - 1 > last)
        count = (uint32_t)(last - first) + 1;
    if (first - chase->interval->first_time + count > chase->interval->instructions)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "interval %llu holds time %llu beyond its end",
                           (unsigned long long)chase->interval->index,
                           (unsigned long long)(first + count - 1));
    bool has_event = chase->event_at && chase->interval->events[chase->event_at - 1].time >= first;
    if (!has_event && !chase->has_calls && !ins_regset_intersects(&chase->regs, &node->defs) &&
        !writes_value(chase, node, chase->interval->slots + exec->slot_off))
        return 0;
    for (uint32_t s = count; s-- > 0 && !err && !chase->is_over;) {
        err = pass_events(chase, first + s);
        if (!err && !chase->is_over)
            err = slc_chase_step(chase, exec, node->wet, s);
    }
    return err;
}

/* Events that had happened when the criterion's state was: see struct wet_event. */
static size_t events_before(const struct wet_interval *interval, const struct slc_seed *seed,
                            wetdbg_time last)
{
    size_t count = interval->event_count;

    while (count && interval->events[count - 1].time > last)
        count--;
    if (!seed->is_fault)
        return count;
    for (size_t i = count; i-- > 0 && interval->events[i].time == last;)
        if (interval->events[i].task == seed->task &&
            (interval->events[i].entry->kind == EVQ_FAULT ||
             interval->events[i].entry->kind == EVQ_PLACE))
            return i;
    return count;
}

#define REPORT_SECONDS 0.1
#define REPORT_EXECS   (1u << 14)

/* Tells how far the chase is, now and then. */
static int report(struct slc_chase *chase, wetdbg_time time)
{
    const struct wetdbg_info *info = wetdbg_get_info(chase->wet);
    const struct wetdbg_slice_options *options = chase->options;
    double now = wd_seconds();

    if (now - chase->reported < REPORT_SECONDS)
        return 0;
    chase->reported = now;
    if (options && options->progress &&
        options->progress(options->arg, info->last_time - time, info->instructions))
        return wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
    return 0;
}

static int pass_interval(struct slc_chase *chase, const struct wet_interval *interval,
                         const struct slc_seed *seed, wetdbg_time last)
{
    int err = 0;

    chase->interval = interval;
    chase->event_at = events_before(interval, seed, last);
    for (size_t i = interval->exec_count; i-- > 0 && !err && !chase->is_over;) {
        wetdbg_time time = interval->first_time + interval->execs[i].time_off;
        if (time <= last)
            err = pass_exec(chase, &interval->execs[i], last);
        if (!err && i % REPORT_EXECS == 0)
            err = report(chase, time);
    }
    if (!err && !chase->is_over)
        err = pass_events(chase, 0);
    chase->interval = NULL;
    return err;
}

static bool can_skip(const struct slc_chase *chase, uint64_t k)
{
    if (chase->has_registers || chase->has_calls)
        return false;
    for (unsigned i = 0; i < chase->origin->size && chase->has_held; i++)
        if (chase->tracks[i].state == SLC_TRACK_HELD &&
            wetdbg_interval_at(chase->wet, chase->tracks[i].sending.time) == k)
            return false;
    for (unsigned r = 0; r < chase->range_count; r++)
        if (wetdbg_interval_may_write(chase->wet, k, chase->ranges[r].address,
                                      chase->ranges[r].size_bytes))
            return false;
    return !chase->has_asides || chase->range_count || chase->has_held;
}

static int scan(struct slc_chase *chase, const struct slc_seed *seed)
{
    wetdbg_time last = seed->time - 1;
    bool is_empty = last < wetdbg_get_info(chase->wet)->first_time, is_first = true;
    int err = 0;

    for (uint64_t k = is_empty ? 0 : wetdbg_interval_at(chase->wet, last) + 1;
         k-- > 0 && !err && !chase->is_over; is_first = false) {
        const struct wet_interval *interval;
        if (!is_first && can_skip(chase, k)) {
            chase->origin->intervals_skipped++;
            continue;
        }
        err = wet_interval_get(chase->wet, k, &interval);
        if (err)
            break;
        chase->origin->intervals_scanned++;
        err = pass_interval(chase, interval, seed, last);
        wet_interval_put(chase->wet, interval);
    }
    return err ? err : slc_chase_end(chase);
}

/* Writes the instructions' texts. It is done last, since few of the hops on the way remain. */
static void write_texts(struct slc_chase *chase)
{
    struct wetdbg_origin *origin = chase->origin;
    for (size_t i = 0; i < origin->hop_count; i++) {
        struct wetdbg_hop *hop = &origin->hops[i];
        const struct slc_hop_code *is = &chase->codes[i];
        if (is->code)
            ins_text(is->code, is->bytes, hop->pc, hop->text, sizeof(hop->text));
    }
}

static struct slc_origin *whole(struct wetdbg_origin *origin)
{
    return (struct slc_origin *)origin;
}

/* Names what system calls read. */
static int name_files(struct slc_chase *chase)
{
    struct wetdbg_origin *origin = chase->origin;
    struct slc_channels *channels;
    int err = 0;

    for (size_t i = 0; i < origin->hop_count && !err; i++) {
        struct wetdbg_hop *hop = &origin->hops[i];
        hop->file_offset = SLC_OFFSET_UNKNOWN;
        if ((hop->kind != WETDBG_HOP_SYSCALL && hop->kind != WETDBG_HOP_READ_BACK) ||
            hop->to.kind != WETDBG_SPOT_MEMORY)
            continue;
        err = slc_chase_channels(chase, &channels);
        struct slc_files *files = err ? NULL : slc_channels_files(channels);
        const struct slc_transfer *transfer = err ? NULL : slc_files_at(files, hop->time);
        if (!transfer ||
            (transfer->kind != SLC_TRANSFER_READ && transfer->kind != SLC_TRANSFER_MAP))
            continue;
        hop->file = slc_files_name(files, transfer->file);
        if (hop->is_mapping)
            hop->file_offset = hop->offset;
        else if (transfer->offset != SLC_OFFSET_UNKNOWN)
            hop->file_offset = transfer->offset + hop->offset;
    }
    return err;
}

int wetdbg_origin(struct wetdbg *wet, const struct wetdbg_criterion *criterion,
                  const struct wetdbg_slice_options *options, struct wetdbg_origin **out)
{
    struct slc_chase chase = {.wet = wet,
                              .origin = calloc(1, sizeof(struct slc_origin)),
                              .options = options,
                              .reported = wd_seconds()};

    chase.calls = calloc(EVQ_TASKS_MAX, sizeof(*chase.calls));
    if (!chase.origin || !chase.calls || slc_code_init(&chase.code, wet, false, false)) {
        free(chase.calls);
        wetdbg_origin_free(chase.origin);
        return -ENOMEM;
    }
    for (unsigned i = 0; i < EVQ_TASKS_MAX; i++)
        chase.calls[i].number = -1;
    const struct slc_seed seed = seed_of(criterion);
    int err = take_value(&chase, criterion);
    if (!err)
        err = read_value(&chase, &seed);
    if (!err) {
        slc_chase_sum(&chase);
        err = scan(&chase, &seed);
    }
    if (!err) {
        write_texts(&chase);
        err = name_files(&chase);
    }
    if (!err)
        err = mark_saving(chase.origin);
    slc_code_fini(&chase.code);
    free(chase.calls);
    free(chase.codes);
    if (err) {
        wetdbg_origin_free(chase.origin);
        return err;
    }
    *out = chase.origin;
    return 0;
}

void wetdbg_origin_free(struct wetdbg_origin *origin)
{
    if (!origin)
        return;
    slc_channels_free(whole(origin)->channels);
    free(origin->hops);
    free(origin);
}
