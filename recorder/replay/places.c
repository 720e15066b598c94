/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where asynchronous events struck.
 *
 * The agent meets the place's address and registers; whether memory agrees too is decided here, by
 * the digests that the recorder took.
 */
#include <xxhash.h>

#include "common/err.h"
#include "recorder/replay/engine_priv.h"

/* In the batch: what is noted there reaches the source. */
struct evq_place *rep_place_of(const struct rep_engine *engine)
{
    const struct evq_entry *entry = rep_current_entry(engine);
    if (!entry || entry->kind != EVQ_PLACE)
        return NULL;
    uint8_t *op = (uint8_t *)entry + sizeof *entry + sizeof(struct evq_regs);
    return (struct evq_place *)(op + sizeof(struct evq_op));
}

/* The agent is about to look for the place: everything that comes by there has to stop. */
int rep_on_stop(struct rep_engine *engine)
{
    struct agt_ctx *ctx = engine->host.ctx;
    uint64_t pc = ctx->mail.args[0];
    int err = rep_log_drain(engine);
    const struct evq_place *place = rep_place_of(engine);
    if (err || !place)
        return err ? err : wd_fail(-WD_ERR_MACHINE, "the replay process asked for no place");
    ctx->stop_pc = pc;
    ctx->stop_body = 0;
    engine->arrivals = 0;
    engine->place_cap = place->limit ? rep_engine_time(engine) + place->limit : REP_NEVER;
    err = dbi_stop_at(engine->dbi, pc);
    return err ? err : rep_limit_plan(engine);
}

static int stop_clear(struct rep_engine *engine)
{
    engine->host.ctx->stop_pc = engine->host.ctx->stop_body = 0;
    engine->place_cap = REP_NEVER;
    int err = dbi_stop_at(engine->dbi, 0);
    return err ? err : rep_limit_plan(engine);
}

/* 1 if the bytes have that digest, 0 if not (or not all of them are mapped). */
static int digest_agrees(struct rep_engine *engine, uint64_t start, uint64_t count, uint64_t digest)
{
    size_t done;
    engine->memory.size_bytes = 0;
    int err = wd_buf_append_zeros(&engine->memory, count);
    if (!err)
        err = rep_engine_read(engine, start, engine->memory.data, count, &done);
    return err ? err : done == count && XXH3_64bits(engine->memory.data, count) == digest;
}

static int memory_agrees(struct rep_engine *engine, const struct evq_place *place)
{
    int agrees = 1;
    if (place->flags & EVQ_PLACE_STACK)
        agrees = digest_agrees(engine, place->stack_start, place->stack_bytes, place->stack_digest);
    if (agrees > 0 && place->flags & EVQ_PLACE_DATA)
        agrees = digest_agrees(engine, place->data_start, place->data_bytes, place->data_digest);
    return agrees;
}

int rep_on_place(struct rep_engine *engine)
{
    struct agt_mail *mail = &engine->host.ctx->mail;
    int err = rep_log_drain(engine);
    struct evq_place *place = rep_place_of(engine);
    if (err || !place)
        return err ? err : wd_fail(-WD_ERR_MACHINE, "the replay process asked for no place");
    engine->arrivals++;
    int agrees = memory_agrees(engine, place);
    if (agrees > 0 && engine->part)
        place->flags |= EVQ_PLACE_MID_REP;
    if (agrees > 0)
        err = stop_clear(engine);
    engine->part = agrees > 0 ? 0 : engine->part;
    mail->args[0] = agrees > 0;
    return agrees < 0 ? agrees : err;
}

/* The element size in bytes of a string instruction with a rep prefix; 0: it is none. */
static unsigned rep_element(const struct dbi_fragment *fragment)
{
    struct ins_info info;
    if (ins_decode(fragment->code, fragment->code_bytes, fragment->pc, &info))
        return 0;
    for (unsigned m = 0; m < info.mem_count; m++) {
        if (info.mems[m].flags & INS_MEM_REP)
            return info.mems[m].size_bytes;
    }
    return 0;
}

int rep_on_place_rep(struct rep_engine *engine)
{
    struct agt_ctx *ctx = engine->host.ctx;
    uint64_t count = ctx->mail.args[0] - ctx->mail.args[1];
    const struct dbi_fragment *fragment;
    struct dbi_fetch_fault fault;
    int result = dbi_translate_exact(engine->dbi, ctx->rip, 1, &fragment, &fault);
    if (result < 0)
        return result;
    if (result > 0 || !rep_element(fragment)) {
        ctx->mail.args[0] = 0;
        return 0;
    }
    engine->part = fragment->id + 1;
    ctx->mail.args[0] = count;
    ctx->mail.args[1] = fragment->host_body;
    return 0;
}

/* That part was no place: it and the rest are one execution. */
int rep_on_place_undo(struct rep_engine *engine)
{
    struct agt_ctx *ctx = engine->host.ctx;
    if (!engine->part || engine->mode == DBI_COLLECT)
        return wd_fail(-WD_ERR_MACHINE, "the replay process took back what it did not do");
    if (engine->mode == DBI_COUNT)
        ((uint64_t *)(engine->host.shm + AGT_COUNT_OFF))[engine->part - 1]--;
    ctx->r15--;
    engine->part = 0;
    return 0;
}

int rep_on_time(struct rep_engine *engine, bool *done)
{
    if (!engine->ends_at_goal)
        return rep_limit_plan(engine);
    if (engine->run_exact || engine->place_cap < engine->run_goal) {
        int err = rep_log_drain(engine);
        return err ? err : rep_place_not_found(engine, 0, engine->host.ctx->rip);
    }
    *done = true;
    return 0;
}
