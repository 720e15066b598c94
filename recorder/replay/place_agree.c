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

#include "recorder/event/ops.h"
#include "recorder/replay/engine_priv.h"
#include <wetdbg/errors.h>

/* The entry whose place is asked for, which is the next one to be taken: 0, or what draining the
 * log gives, or -WETDBG_ERR_MACHINE. */
static int asked_entry(struct rep_engine *engine, const struct evq_entry **entry)
{
    int err = rep_log_drain(engine);
    *entry = rep_current_entry(engine);
    if (!err && (!*entry || (*entry)->kind != EVQ_PLACE))
        err = wetdbg_fail(-WETDBG_ERR_MACHINE, "the replay process asked for no place");
    return err;
}

/* asked_entry() for a place that has to be searched. Whether it has to be, the entry says, and not
 * the replayee. */
static int searched_entry(struct rep_engine *engine, const struct evq_entry **entry)
{
    int err = asked_entry(engine, entry);
    if (!err && evq_entry_place(*entry)->flags & (EVQ_PLACE_TIME | EVQ_PLACE_HERE))
        err = wetdbg_fail(-WETDBG_ERR_MACHINE, "the replay process searches a place that is known");
    return err;
}

/* The agent is about to look for the place: everything that comes by there has to stop. */
int rep_on_stop(struct rep_engine *engine)
{
    struct rep_turn *turn = &engine->host.turn;
    const struct evq_entry *entry;
    int err = searched_entry(engine, &entry);
    if (err)
        return err;
    const struct evq_place *place = evq_entry_place(entry);
    uint64_t pc = evq_entry_regs(entry)->r[EVQ_RIP];
    turn->stop_pc = pc;
    turn->stop_body = 0;
    turn->place_meetings = turn->place_misses = 0;
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
    struct rep_turn *turn = &engine->host.turn;
    struct dbi_filter filter = {.what = turn->args[0] <= DBI_FILTER_MEMORY ? (unsigned)turn->args[0]
                                                                           : DBI_FILTER_MEMORY + 1u,
                                .address = turn->args[1],
                                .value = turn->args[2]};
    const struct dbi_fragment *fragment;
    struct dbi_fetch_fault fault;
    const struct evq_entry *entry;
    int result = searched_entry(engine, &entry);
    if (!result && !turn->stop_pc)
        result = wetdbg_fail(-WETDBG_ERR_MACHINE, "the replay process searches no place");
    if (!result)
        result = dbi_translate(engine->dbi, turn->stop_pc, &fragment, &fault);
    if (result || !is_filter(fragment, filter.what))
        return result < 0 ? result : 0;
    if (filter.what == DBI_FILTER_TICKS)
        filter.value = entry->ticks;
    else if (filter.what < 16)
        filter.value = evq_entry_regs(entry)->r[evq_reg_of_gpr[filter.what]];
    turn->stop_body = 0;
    return dbi_stop_filter(engine->dbi, &filter);
}

static int stop_clear(struct rep_engine *engine)
{
    engine->host.turn.stop_pc = engine->host.turn.stop_body = 0;
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
    struct rep_turn *turn = &engine->host.turn;
    const struct dbi_fragment *fragment;
    struct dbi_fetch_fault fault;
    bool done;
    turn->careful = !probe->has_written && probe->watched < PROBE_FRAGMENTS;
    if (!turn->careful) {
        probe->has_written = true;
        return rep_on_translate(engine, &done);
    }
    int result = dbi_translate_exact(engine->dbi, turn->args[0], DBI_INSN_MAX, &fragment, &fault);
    if (result)
        return result < 0 ? result : -ECANCELED;
    probe->watched++;
    probe->has_written = fragment_writes(fragment);
    memset(turn->args, 0, sizeof(turn->args));
    turn->args[0] = fragment->host_body;
    return 0;
}

/* 1: another place fits; 0: none does, or it would make no difference; -EAGAIN: go on. */
static int probe_step(struct rep_engine *engine, const struct evq_place *place, struct probe *probe)
{
    struct rep_turn *turn = &engine->host.turn;
    turn->command = AGT_CMD_CONTINUE;
    int result = rep_host_exchange(&engine->host, engine->flag, true);
    if (result)
        return result;
    switch (turn->request) {
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
    struct rep_host probed, replayee;
    struct probe probe = {0};
    struct rep_turn *turn = &engine->host.turn;
    bool exact = engine->exact;
    if (engine->part) /* rcx, rsi and rdi tell such places apart, and the rest may be megabytes */
        return 0;
    int result = rep_host_probe_start(&engine->host, &probed, engine->flag);
    if (result)
        return result;
    replayee = engine->host;
    engine->host = probed;
    engine->is_probing = true;
    engine->exact = false;
    turn->careful = 1;
    turn->limit = PROBE_INSTRUCTIONS;
    turn->r15 = engine->mode == DBI_COLLECT
                    ? agt_collect_r15(PROBE_INSTRUCTIONS, (uint32_t)replayee.turn.r15)
                    : -(uint64_t)PROBE_INSTRUCTIONS;
    do
        result = probe_step(engine, place, &probe);
    while (result == -EAGAIN);
    rep_host_probe_stop(&engine->host);
    engine->host = replayee;
    engine->is_probing = false;
    engine->exact = exact;
    return result;
}

int rep_on_place(struct rep_engine *engine)
{
    struct rep_turn *turn = &engine->host.turn;
    const struct evq_entry *entry;
    int err = searched_entry(engine, &entry);
    if (err)
        return err;
    /* In the batch: what is noted there reaches the source. */
    struct evq_place *place = (struct evq_place *)evq_entry_place(entry);
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
    turn->args[0] = agrees > 0;
    return agrees < 0 ? agrees : err;
}

int rep_on_place_rep(struct rep_engine *engine)
{
    struct rep_turn *turn = &engine->host.turn;
    uint64_t count = turn->args[0] - turn->args[1];
    const struct dbi_fragment *fragment;
    struct dbi_fetch_fault fault;
    const struct evq_entry *entry;
    int result = asked_entry(engine, &entry);
    if (result)
        return result;
    engine->part_waits =
        engine->exact && engine->run_exact && rep_engine_time(engine) >= engine->run_goal;
    if (engine->part_waits) {
        turn->args[0] = 0;
        turn->args[2] = 1;
        return 0;
    }
    result = dbi_translate_exact(engine->dbi, turn->rip, 1, &fragment, &fault);
    if (result < 0)
        return result;
    if (result > 0 || !is_rep(fragment)) {
        turn->args[0] = turn->args[2] = 0;
        return 0;
    }
    engine->part = fragment->id + 1;
    turn->args[0] = count;
    turn->args[1] = fragment->host_body;
    return 0;
}

/* The agent takes a part of a rep instruction back, which was no place: part and rest are one
 * execution. */
int rep_on_place_undo(struct rep_engine *engine)
{
    struct rep_turn *turn = &engine->host.turn;
    if (!engine->part || engine->mode == DBI_COLLECT)
        return wetdbg_fail(-WETDBG_ERR_MACHINE, "the replay process took back what it did not do");
    if (engine->mode == DBI_COUNT)
        ((uint64_t *)(engine->host.shm + AGT_COUNT_OFF))[engine->part - 1]--;
    turn->r15--;
    engine->part = 0;
    return 0;
}

/* A place whose time is known; inside a rep instruction that counts as an execution of its own. */
int rep_on_place_time(struct rep_engine *engine)
{
    const struct evq_entry *entry;
    int err = asked_entry(engine, &entry);
    if (err)
        return err;
    const struct evq_place *place = evq_entry_place(entry);
    if (!(place->flags & EVQ_PLACE_TIME))
        return wetdbg_fail(-WETDBG_ERR_MACHINE,
                           "the replay process knows a place that is to be searched");
    engine->place_goal = place->time - (place->flags & EVQ_PLACE_MID_REP ? 1 : 0);
    return rep_limit_plan(engine);
}

int rep_on_time(struct rep_engine *engine, bool *done)
{
    engine->flags_lost |= !engine->exact;
    if (!engine->ends_at_goal)
        return rep_limit_plan(engine);
    if (engine->run_exact || engine->place_cap < engine->run_goal) {
        int err = rep_log_drain(engine);
        return err ? err : rep_place_not_found(engine, 0, engine->host.turn.rip);
    }
    *done = true;
    return 0;
}
