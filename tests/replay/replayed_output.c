/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For a plain replay, each entry of a write on descriptor 1 gets one more op, which captures the
 * bytes that the call is given.
 */
#include "tests/replay/replayed_output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "recorder/event/ops.h"
#include "tests/replay/replay_unit.h"
#include "wet/build/build_wet.h"
#include "wet/intervals.h"
#include <wetdbg/errors.h>

#define TAG_OUTPUT 99
#define OUTPUT_MAX 65536 /* of one write */
#define STDOUT     1

void replayed_output_fini(struct replayed_output *output)
{
    wd_buf_fini(&output->bytes);
    wd_buf_fini(&output->pieces);
}

static int piece_add(struct replayed_output *output, uint64_t frame, const void *bytes,
                     size_t count)
{
    struct output_piece piece = {frame, output->bytes.size_bytes, count};
    int err = wd_buf_append(&output->bytes, bytes, count);
    return err ? err : wd_buf_append(&output->pieces, &piece, sizeof(piece));
}

static int by_frame(const void *a, const void *b)
{
    const struct output_piece *x = a, *y = b;
    if (x->frame != y->frame)
        return x->frame < y->frame ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

char *replayed_output_text(const struct replayed_output *output)
{
    size_t count = output->pieces.size_bytes / sizeof(struct output_piece), length = 0;
    struct output_piece *pieces = malloc(output->pieces.size_bytes + 1);
    char *text = malloc(output->bytes.size_bytes + 1);
    assert_non_null(pieces);
    assert_non_null(text);
    if (count)
        memcpy(pieces, output->pieces.data, output->pieces.size_bytes);
    qsort(pieces, count, sizeof(*pieces), by_frame);
    for (size_t i = 0; i < count; i++) {
        if (i && pieces[i].frame == pieces[i - 1].frame)
            continue;
        memcpy(text + length, output->bytes.data + pieces[i].at, pieces[i].count);
        length += pieces[i].count;
    }
    text[length] = 0;
    free(pieces);
    return text;
}

int replayed_output_append(struct replayed_output *output, const struct replayed_output *other)
{
    const struct output_piece *pieces = (const struct output_piece *)other->pieces.data;
    int err = 0;
    for (size_t i = 0; !err && i < other->pieces.size_bytes / sizeof(*pieces); i++)
        err = piece_add(output, pieces[i].frame, other->bytes.data + pieces[i].at, pieces[i].count);
    output->instructions += other->instructions;
    output->programs += other->programs;
    return err;
}

/* ---- plain ---- */

struct plain {
    struct unit_replay replay;
    struct rep_source inner; /* the replay's own */
    struct replayed_output *output;
    struct wd_buf captured;
    bool has_captured;
};

static bool is_output(const struct evq_entry *entry)
{
    const struct evq_regs *regs = evq_entry_regs(entry);
    return entry->kind == EVQ_SYSCALL_ENTER && regs && entry->number == SYS_write &&
           regs->r[EVQ_RDI] == STDOUT && regs->r[EVQ_RDX] != 0 && regs->r[EVQ_RDX] <= OUTPUT_MAX;
}

/* Copies an entry; that of a write with one op more. */
static int entry_copy(struct wd_buf *out, const struct evq_entry *entry)
{
    const struct evq_regs *regs = evq_entry_regs(entry);
    size_t at = out->size_bytes;
    int err = wd_buf_append(out, entry, entry->bytes);
    if (err || !is_output(entry))
        return err;
    struct evq_op op = evq_op_range(EVQ_OP_CAPTURE, regs->r[EVQ_RSI], regs->r[EVQ_RDX]);
    op.bytes = sizeof(op);
    op.capture.tag = TAG_OUTPUT;
    err = wd_buf_append(out, &op, sizeof(op));
    if (!err) {
        struct evq_entry *copy = (struct evq_entry *)(out->data + at);
        copy->bytes += sizeof(op);
        copy->op_count++;
    }
    return err;
}

static int plain_next(void *arg, struct wd_buf *out)
{
    struct plain *plain = arg;
    struct wd_buf entries = {0};
    int rc = plain->inner.next(plain->inner.arg, &entries);
    int err = 0;
    for (size_t at = 0; rc > 0 && !err && at < entries.size_bytes;) {
        const struct evq_entry *entry = (const struct evq_entry *)(entries.data + at);
        err = entry_copy(out, entry);
        at += entry->bytes;
    }
    wd_buf_fini(&entries);
    return err ? err : rc;
}

static int plain_captured(void *arg, uint64_t tag, uint64_t address, const void *bytes,
                          size_t count)
{
    struct plain *plain = arg;
    (void)address;
    if (tag != TAG_OUTPUT)
        return 0;
    plain->has_captured = true;
    plain->captured.size_bytes = 0;
    return wd_buf_append(&plain->captured, bytes, count);
}

static int plain_taken(void *arg, const struct evq_entry *entry, uint64_t time, uint64_t ring_bytes)
{
    struct plain *plain = arg;
    int err = plain->inner.taken(plain->inner.arg, entry, time, ring_bytes);
    if (err || !plain->has_captured)
        return err;
    plain->has_captured = false;
    return piece_add(plain->output, entry->frame, plain->captured.data, plain->captured.size_bytes);
}

int replayed_output_plain(const char *dir, const char *program, struct replayed_output *output)
{
    struct plain plain = {.output = output};
    int err = unit_open(&plain.replay, dir, program, DBI_PLAIN);
    plain.inner = plain.replay.source;
    plain.replay.source = (struct rep_source){
        .next = plain_next, .taken = plain_taken, .captured = plain_captured, .arg = &plain};
    if (!err)
        err = unit_run_to_end(&plain.replay);
    if (!err) {
        output->instructions += rep_engine_time(plain.replay.engine);
        output->programs++;
    }
    unit_close(&plain.replay);
    wd_buf_fini(&plain.captured);
    return err;
}

/* ---- from a WET ---- */

static int build(const char *dir, const char *program, const char *wet_path, uint64_t interval)
{
    struct wetdbg_recording *trace = NULL;
    struct rep_feed *feed = NULL;
    struct rep_selection which = {0};
    struct wet_build_result result;
    struct wet_build_options options = {.fingerprint = "test", .interval_instructions = interval};
    int err = rep_selection_parse(program, &which);
    if (!err)
        err = wetdbg_recording_open(dir, &trace);
    if (!err)
        err = rep_feed_open(trace, &which, &feed);
    if (!err)
        err = wet_build(feed, wet_path, &options, &result);
    rep_feed_close(feed);
    wetdbg_recording_close(trace);
    return err;
}

static int piece_read(struct wetdbg *wet, const struct wetdbg_output *piece,
                      struct replayed_output *output)
{
    struct wetdbg_state *state = NULL;
    uint8_t *bytes = malloc(piece->size + 1);
    int err = bytes ? wetdbg_state_open(wet, piece->time, &state) : -ENOMEM;
    if (!err)
        err = wetdbg_state_read(state, piece->address, bytes, piece->size);
    if (!err)
        err = piece_add(output, piece->time, bytes, piece->size);
    if (state)
        wetdbg_state_close(state);
    free(bytes);
    return err;
}

int replayed_output_wet(const char *dir, const char *program, const char *wet_path,
                        uint64_t interval, struct replayed_output *output, struct wet_facts *facts)
{
    struct wetdbg *wet = NULL;
    size_t count;
    int err = build(dir, program, wet_path, interval);
    if (!err)
        err = wetdbg_open(wet_path, &wet);
    if (err)
        return err;
    const struct wetdbg_output *pieces = wetdbg_outputs(wet, &count);
    for (size_t i = 0; i < count && !err; i++) {
        if (pieces[i].fd == STDOUT)
            err = piece_read(wet, &pieces[i], output);
    }
    const struct wetdbg_info *info = wetdbg_get_info(wet);
    output->instructions += info->instructions;
    output->programs++;
    if (info->threads > facts->threads)
        facts->threads = info->threads;
    facts->places += info->places;
    facts->ambiguous += info->ambiguous;
    wetdbg_close(wet);
    return err;
}
