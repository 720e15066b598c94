/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where asynchronous events struck.
 *
 * The agent meets the place's address and registers; whether memory agrees too is decided here, by
 * the digests that the recorder took.
 */
#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "common/err.h"
#include "recorder/replay/engine_priv.h"

/* The entry whose place is asked for. 0, or what draining the log gives, or -WD_ERR_MACHINE. */
static int asked_entry(struct rep_engine *engine, const struct evq_entry **entry)
{
    int err = rep_log_drain(engine);
    *entry = rep_current_entry(engine);
    if (!err && (!*entry || (*entry)->kind != EVQ_PLACE))
        err = wd_fail(-WD_ERR_MACHINE, "the replay process asked for no place");
    return err;
}

/* In the batch: what is noted there reaches the source. */
static struct evq_place *place_of(const struct evq_entry *entry)
{
    uint8_t *op = (uint8_t *)entry + sizeof *entry + sizeof(struct evq_regs);
    return (struct evq_place *)(op + sizeof(struct evq_op));
}

/* The agent is about to look for the place: everything that comes by there has to stop. */
int rep_on_stop(struct rep_engine *engine)
{
    struct agt_ctx *ctx = engine->host.ctx;
    uint64_t pc = ctx->mail.args[0];
    const struct evq_entry *entry;
    int err = asked_entry(engine, &entry);
    if (err)
        return err;
    const struct evq_place *place = place_of(entry);
    ctx->stop_pc = pc;
    ctx->stop_body = 0;
    ctx->place_meetings = ctx->place_misses = 0;
    engine->place_cap = place->limit ? rep_engine_time(engine) + place->limit : REP_NEVER;
    err = dbi_stop_at(engine->dbi, pc);
    return err ? err : rep_limit_plan(engine);
}

/* Whether the fragment begins with a string instruction that has a rep prefix. */
static bool is_rep(const struct dbi_fragment *fragment)
{
    struct ins_info info;
    if (ins_decode(fragment->code, fragment->code_bytes, fragment->pc, &info))
        return false;
    for (unsigned m = 0; m < info.mem_count; m++) {
        if (info.mems[m].flags & INS_MEM_REP)
            return true;
    }
    return false;
}

/* A rep instruction's own registers are not what they will be when it is left in its middle. */
static bool is_filter(const struct dbi_fragment *at_stop, uint64_t what)
{
    const uint64_t moved = 1ull << INS_RCX | 1ull << INS_RSI | 1ull << INS_RDI;
    return what <= DBI_FILTER_MEMORY && !(is_rep(at_stop) && what < 16 && moved >> what & 1);
}

int rep_on_stop_filter(struct rep_engine *engine)
{
    struct agt_ctx *ctx = engine->host.ctx;
    struct dbi_filter filter = {.what = (unsigned)ctx->mail.args[0],
                                .address = ctx->mail.args[1],
                                .value = ctx->mail.args[2]};
    const struct dbi_fragment *fragment;
    struct dbi_fetch_fault fault;
    const struct evq_entry *entry;
    int result = asked_entry(engine, &entry);
    if (!result)
        result = dbi_translate(engine->dbi, ctx->stop_pc, &fragment, &fault);
    if (result || !is_filter(fragment, filter.what))
        return result < 0 ? result : 0;
    if (filter.what == DBI_FILTER_TICKS)
        filter.value = entry->ticks;
    else if (filter.what < 16)
        filter.value = rep_regs_of(entry)->r[evq_reg_of_gpr[filter.what]];
    ctx->stop_body = 0;
    return dbi_stop_filter(engine->dbi, &filter);
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
    /* by lines, the agent has compared the stack already, and made allowance where it has to */
    if (place->flags & EVQ_PLACE_STACK && !(place->flags & EVQ_PLACE_LINES))
        agrees = digest_agrees(engine, place->stack_start, place->stack_bytes, place->stack_digest);
    if (agrees > 0 && place->flags & EVQ_PLACE_DATA)
        agrees = digest_agrees(engine, place->data_start, place->data_bytes, place->data_digest);
    if (agrees > 0 && place->flags & EVQ_PLACE_HEAP)
        agrees = digest_agrees(engine, place->heap_start, place->heap_bytes, place->heap_digest);
    return agrees;
}

/* ---- is it the only one? ---- */

#define PROBE_INSTRUCTIONS (1u << 20)
#define PROBE_MEETINGS     200
#define PROBE_FRAGMENTS    64 /* that are looked at for stores */

struct probe {
    unsigned watched;  /* fragments run since the place */
    unsigned meetings; /* how often its registers were met again */
    bool has_written;
};

static bool fragment_writes(const struct dbi_fragment *fragment)
{
    for (unsigned off = 0; off < fragment->code_bytes;) {
        struct ins_info info;
        if (ins_decode(fragment->code + off, fragment->code_bytes - off, fragment->pc + off, &info))
            return true;
        for (unsigned m = 0; m < info.mem_count; m++) {
            if (info.mems[m].flags & INS_MEM_WRITE)
                return true;
        }
        off += info.length;
    }
    return false;
}

/* The first fragments are given out one by one, to see whether any of them stores. */
static int probe_translate(struct rep_engine *engine, struct probe *probe)
{
    struct agt_ctx *ctx = engine->host.ctx;
    const struct dbi_fragment *fragment;
    struct dbi_fetch_fault fault;
    bool done;
    ctx->careful = !probe->has_written && probe->watched < PROBE_FRAGMENTS;
    if (!ctx->careful) {
        probe->has_written = true;
        return rep_on_translate(engine, &done);
    }
    int result =
        dbi_translate_exact(engine->dbi, ctx->mail.args[0], DBI_INSN_MAX, &fragment, &fault);
    if (result)
        return result < 0 ? result : -ECANCELED;
    probe->watched++;
    probe->has_written = fragment_writes(fragment);
    memset(ctx->mail.args, 0, sizeof ctx->mail.args);
    ctx->mail.args[0] = fragment->host_body;
    return 0;
}

/* 1: another place fits; 0: none does, or it would make no difference; -EAGAIN: go on. */
static int probe_step(struct rep_engine *engine, const struct evq_place *place, struct probe *probe)
{
    struct agt_mail *mail = &engine->host.ctx->mail;
    mail->command = AGT_CMD_CONTINUE;
    int result = rep_host_exchange(&engine->host, engine->flag);
    if (result)
        return result;
    switch (mail->request) {
    case AGT_REQ_TRANSLATE:
        result = probe_translate(engine, probe);
        return result == -ECANCELED ? 0 : result ? result : -EAGAIN;
    case AGT_REQ_PLACE:
        /* nothing was written, and the registers are the same: it goes on like this for ever, and
         * after each turn the state is what it was found to be */
        if (!probe->has_written || ++probe->meetings > PROBE_MEETINGS)
            return 0;
        result = memory_agrees(engine, place);
        return result ? result : -EAGAIN;
    default:
        return 0;
    }
}

/*
 * Lets a copy of the replayee run on from a place that fits: 1 if another one fits too, before the
 * next event, within PROBE_INSTRUCTIONS and PROBE_MEETINGS. The copy must not see code that the
 * replayee has not seen: pages that are fetched are guarded in the process that fetches.
 */
static int is_ambiguous(struct rep_engine *engine, const struct evq_place *place)
{
    struct rep_host copy;
    struct probe probe = {0};
    struct agt_ctx *ctx = engine->host.ctx;
    pid_t pid = engine->host.pid;
    bool exact = engine->exact;
    if (engine->part) /* rcx, rsi and rdi tell such places apart, and the rest may be megabytes */
        return 0;
    int result = rep_host_probe_start(&engine->host, &copy);
    if (result)
        return result;
    engine->host.ctx = copy.ctx;
    engine->host.pid = copy.pid;
    engine->is_probing = true;
    engine->exact = false;
    copy.ctx->careful = 1;
    copy.ctx->limit = PROBE_INSTRUCTIONS;
    copy.ctx->r15 = engine->mode == DBI_COLLECT
                        ? agt_collect_r15(PROBE_INSTRUCTIONS, (uint32_t)ctx->r15)
                        : -(uint64_t)PROBE_INSTRUCTIONS;
    do
        result = probe_step(engine, place, &probe);
    while (result == -EAGAIN);
    copy.pid = engine->host.pid;
    rep_host_probe_stop(&copy);
    engine->host.ctx = ctx;
    engine->host.pid = pid;
    engine->is_probing = false;
    engine->exact = exact;
    return result;
}

int rep_on_place(struct rep_engine *engine)
{
    struct agt_mail *mail = &engine->host.ctx->mail;
    const struct evq_entry *entry;
    int err = asked_entry(engine, &entry);
    if (err)
        return err;
    struct evq_place *place = place_of(entry);
    int agrees = memory_agrees(engine, place);
    int ambiguous = agrees > 0 ? is_ambiguous(engine, place) : 0;
    if (ambiguous < 0)
        return ambiguous;
    if (ambiguous)
        place->flags |= EVQ_PLACE_AMBIGUOUS;
    if (agrees > 0 && engine->part)
        place->flags |= EVQ_PLACE_MID_REP;
    if (agrees > 0)
        err = stop_clear(engine);
    engine->part = agrees > 0 ? 0 : engine->part;
    mail->args[0] = agrees > 0;
    return agrees < 0 ? agrees : err;
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
    if (result > 0 || !is_rep(fragment)) {
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
