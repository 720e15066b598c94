/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Looking for the places of asynchronous events (docs/architecture/engine.md, 5.8): what is done at
 * each arrival, which may be millions, and how most arrivals are avoided.
 */
#include "recorder/agent/agent_priv.h"
#include "recorder/agent/settled.h"
#include "recorder/event/ops.h"
#include "recorder/ticks/digest_format.h"

/*
 * Runs the rep instruction at rip `count` times: an interrupt between two repetitions leaves rip at
 * the instruction, with the registers advanced so far.
 */
static void rep_run_part(struct agt *agt, uint64_t count, uint64_t body)
{
    struct agt_ctx *ctx = agt->ctx;
    uint64_t rip = ctx->rip, left = ctx->gpr[RCX] - count;
    ctx->gpr[RCX] = count;
    ctx->target = body;
    int kind = agt_code_run(agt);
    if (kind != AGT_EXIT_DIRECT)
        agt_stop(agt, AGT_REQ_DIVERGED, AGT_DIV_PLACE, (uint64_t)kind, rip, 0);
    ctx->gpr[RCX] += left;
    ctx->rip = rip;
}

enum part {
    PART_NONE,  /* it does not lead there */
    PART_LATER, /* the run stops before it, for its time */
    PART_RUN,
};

/* Runs the rep instruction at rip in part, as far as the entry's rcx says. */
static enum part rep_run_to(struct agt *agt, const struct evq_entry *entry)
{
    struct agt_mail *mail = &agt->ctx->mail;
    const struct evq_regs *recorded = evq_entry_regs(entry);
    if (recorded->r[EVQ_RCX] >= agt->ctx->gpr[RCX])
        return PART_NONE;
    agt_ask(agt, AGT_REQ_PLACE_REP, agt->ctx->gpr[RCX], recorded->r[EVQ_RCX], 0, 0);
    if (!mail->args[0])
        return mail->args[2] ? PART_LATER : PART_NONE;
    rep_run_part(agt, mail->args[0], mail->args[1]);
    return PART_RUN;
}

/* One line of a place's memory. */
struct line {
    uint64_t address;
    uint32_t bytes;
    uint64_t hash; /* as it was at the place */
    bool is_stack;
};

static struct line line_of(const struct evq_place *place, uint64_t n)
{
    const struct {
        uint64_t start, bytes, line;
    } ranges[] = {{place->stack_start, place->stack_bytes, TCK_STACK_LINE},
                  {place->data_start, place->data_bytes, TCK_LINE},
                  {place->heap_start, place->heap_bytes, TCK_LINE}};
    const uint64_t *words = (const uint64_t *)(place + 1);
    struct line line = {.hash = words[n]};
    words += tck_line_count(place->stack_bytes, place->data_bytes, place->heap_bytes);
    for (unsigned i = 0; i < 3; i++) {
        uint64_t count = (ranges[i].bytes + ranges[i].line - 1) / ranges[i].line;
        if (n < count) {
            uint64_t left = ranges[i].bytes - n * ranges[i].line;
            line.address = ranges[i].start + n * ranges[i].line;
            line.bytes = (uint32_t)(left < ranges[i].line ? left : ranges[i].line);
            line.is_stack = i == 0;
            return line;
        }
        n -= count;
    }
    return (struct line){
        .address = words[2 * n], .bytes = TCK_STACK_LINE, .hash = words[2 * n + 1]};
}

#define XCOMP_COMPACTED (1ull << 63)
#define XSTATE_BITS     0xe7ull

/*
 * A line of the stack that differs only in what xsave or xsavec stored there once, on stack that is
 * dead by now: which components were in use (XSTATE_BV, before XCOMP_BV, which xsave leaves 0).
 * That depends on how often the recording machine switched processes meanwhile; here it does not
 * (xsave.h). (A small counter before a zero looks the same; then its other turns fit as well, and
 * the place is called ambiguous.)
 */
static bool differs_by_header(struct agt *agt, const struct line *line, const void *bytes)
{
    uint64_t hash = tck_line_hash(bytes, line->bytes);
    for (uint32_t i = 0; i < line->bytes / 8; i++) {
        uint64_t at = line->address + 8ull * i;
        if (!agt_memory_readable(agt, at, 16))
            return false;
        uint64_t in_use = ((const uint64_t *)at)[0], compacted = ((const uint64_t *)at)[1];
        uint64_t recorded = tck_line_solve(line->hash, hash, in_use, i);
        bool is_header = !(compacted & ~(XCOMP_COMPACTED | XSTATE_BITS)) &&
                         (!compacted || compacted & XCOMP_COMPACTED);
        if (is_header && !((in_use | recorded) & ~XSTATE_BITS))
            return true;
    }
    return false;
}

/* Whether a line may differ because xsave stored components there that were not in use here
 * (settled.h). */
static bool differs_by_xsave(struct agt *agt, const struct line *line)
{
    uint64_t variant[TCK_STACK_LINE / 8];
    const uint64_t *here = (const uint64_t *)line->address;
    if (differs_by_header(agt, line, here))
        return true;
    if (line->bytes > sizeof(variant) || line->bytes % 8)
        return false;
    for (unsigned n = 0; agt_settled_variant(n, line->address, here, line->bytes, variant); n++)
        if (tck_line_hash(variant, line->bytes) == line->hash ||
            differs_by_header(agt, line, variant))
            return true;
    return false;
}

static bool line_agrees(struct agt *agt, const struct line *line)
{
    return agt_memory_readable(agt, line->address, line->bytes) &&
           (tck_line_hash((const void *)line->address, line->bytes) == line->hash ||
            (line->is_stack && differs_by_xsave(agt, line)));
}

/* A line that differed, word by word, when the place's registers were last met. */
static struct {
    uint64_t address, met;
    uint64_t words[TCK_LINE / 8];
} missed_line;

#define LINE_MISSES_TO_FILTER 64
#define TURNS_MAX             (1ull << 40)

/*
 * A loop that counts in memory: between two meetings one word of the line has changed by `step`.
 * The hash tells what that word was at the place, if it alone still differs; and if it then lies a
 * whole number of steps ahead, that is hardly by chance, and translated code can wait for it.
 */
static void line_solve(struct agt *agt, const struct line *line, uint32_t index, uint64_t step)
{
    uint64_t word = tck_line_word((const void *)line->address, line->bytes, index);
    uint64_t hash = tck_line_hash((const void *)line->address, line->bytes);
    uint64_t wanted = tck_line_solve(line->hash, hash, word, index);
    bool down = step >> 63;
    uint64_t far = down ? word - wanted : wanted - word;
    step = down ? -step : step;
    if (index < line->bytes / 8 && !(far % step) && far / step < TURNS_MAX)
        agt_ask(agt, AGT_REQ_STOP_FILTER, AGT_FILTER_MEMORY, line->address + 8ull * index, wanted,
                0);
}

static void line_missed(struct agt *agt, const struct line *line)
{
    uint64_t meetings = agt->ctx->place_meetings;
    uint32_t count = (line->bytes + 7) / 8, changes = 0, changed = 0;
    if (meetings % LINE_MISSES_TO_FILTER > 1)
        return;
    bool again = missed_line.address == line->address && missed_line.met + 1 == meetings &&
                 agt->ctx->stop_pc == agt->ctx->rip;
    uint64_t before = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t word = tck_line_word((const void *)line->address, line->bytes, i);
        if (word != missed_line.words[i]) {
            before = missed_line.words[i];
            changed = i;
            changes++;
        }
        missed_line.words[i] = word;
    }
    missed_line.address = line->address;
    missed_line.met = meetings;
    if (again && changes == 1)
        line_solve(agt, line, changed, missed_line.words[changed] - before);
}

/* Whether the place's lines are as recorded. The line that told the last wrong place is compared
 * first: it tells most of them. */
static bool lines_agree(struct agt *agt, const struct evq_place *place)
{
    uint64_t count =
        tck_line_count(place->stack_bytes, place->data_bytes, place->heap_bytes) + place->targets;
    uint64_t *last = &agt->ctx->place_line;
    struct line line;
    if (!(place->flags & EVQ_PLACE_LINES))
        return true;
    if (*last < count) {
        line = line_of(place, *last);
        if (!line_agrees(agt, &line)) {
            line_missed(agt, &line);
            return false;
        }
    }
    for (uint64_t n = 0; n < count; n++) {
        line = line_of(place, n);
        if (!line_agrees(agt, &line)) {
            *last = n;
            return false;
        }
    }
    return true;
}

/* The registers agree: whether everything else does, too. */
bool agt_rest_agrees(struct agt *agt, const struct evq_entry *entry)
{
    agt->ctx->place_meetings++;
    if (entry->flags & EVQ_FLAG_TICKS && entry->ticks != agt->ctx->ticks)
        return false;
    if (!lines_agree(agt, evq_entry_place(entry)))
        return false;
    agt_ask(agt, AGT_REQ_PLACE, 0, 0, 0, 0);
    return agt->ctx->mail.args[0];
}

#define MISSES_TO_FILTER 64
#define FILTERS_MAX      8

/* Counts an arrival whose registers or ticks differ. A register that differs often is from then on
 * compared before the agent is entered. */
static void place_missed(struct agt *agt, const struct evq_entry *entry, uint32_t differ)
{
    struct agt_ctx *ctx = agt->ctx;
    bool ticks = entry->flags & EVQ_FLAG_TICKS && entry->ticks != ctx->ticks;
    if (++ctx->place_misses % MISSES_TO_FILTER ||
        ctx->place_misses > MISSES_TO_FILTER * FILTERS_MAX || ctx->stop_pc != ctx->rip)
        return;
    for (unsigned i = 0; i < 16; i++) {
        if (differ & EVQ_BIT(evq_reg_of_gpr[i]) && !ticks) {
            agt_ask(agt, AGT_REQ_STOP_FILTER, i, 0, 0, 0);
            return;
        }
    }
    if (ticks)
        agt_ask(agt, AGT_REQ_STOP_FILTER, AGT_FILTER_TICKS, 0, 0, 0);
}

/* Whether a place that has to be searched is here. */
static bool place_found(struct agt *agt, const struct evq_entry *entry)
{
    const struct evq_regs *recorded = evq_entry_regs(entry);
    const uint32_t moved =
        EVQ_BIT(EVQ_RCX) | EVQ_BIT(EVQ_RSI) | EVQ_BIT(EVQ_RDI) | EVQ_BIT(EVQ_EFLAGS);
    uint64_t pc = recorded->r[EVQ_RIP];
    if (entry->flags & EVQ_FLAG_TICKS && agt->ctx->ticks > entry->ticks)
        agt_stop(agt, AGT_REQ_DIVERGED, AGT_DIV_TICKS, entry->ticks, agt->ctx->ticks, 0);
    if (agt->ctx->rip == pc) {
        uint32_t differ = agt_regs_differ(agt, entry);
        if (!differ && agt_rest_agrees(agt, entry))
            return true;
        if (differ || (entry->flags & EVQ_FLAG_TICKS && entry->ticks != agt->ctx->ticks))
            place_missed(agt, entry, differ);
        if (differ & EVQ_BIT(EVQ_RCX) && !(differ & ~moved) && rep_run_to(agt, entry) == PART_RUN) {
            if (!agt_regs_differ(agt, entry) && agt_rest_agrees(agt, entry))
                return true;
            agt_ask(agt, AGT_REQ_PLACE_UNDO, 0, 0, 0, 0);
        }
    }
    if (agt->ctx->stop_pc != pc)
        agt_ask(agt, AGT_REQ_STOP, pc, 0, 0, 0);
    return false;
}

/* For a place whose time is known: the supervisor stops the run there. */
static bool place_reached(struct agt *agt, const struct evq_entry *entry)
{
    struct agt_ctx *ctx = agt->ctx;
    const struct evq_place *place = evq_entry_place(entry);
    const struct evq_regs *recorded = evq_entry_regs(entry);
    bool is_inside_rep = place->flags & EVQ_PLACE_MID_REP;
    uint64_t goal = place->time - is_inside_rep;
    if (agt_time(agt) < goal) {
        if (ctx->place_seq != ctx->seq + 1)
            agt_ask(agt, AGT_REQ_PLACE_TIME, goal, 0, 0, 0);
        ctx->place_seq = ctx->seq + 1;
        return false;
    }
    if (is_inside_rep && rep_run_to(agt, entry) == PART_LATER)
        return false;
    /* Code that sets all flags may have been left in its middle: they were right when found. */
    ctx->rflags = (recorded->r[EVQ_EFLAGS] & EVQ_EFLAGS_COMPARED) | 0x202;
    if (ctx->place_seq == ctx->seq + 1)
        agt_ask(agt, AGT_REQ_PLACE_TAKEN, 0, 0, 0, 0);
    return true;
}

bool agt_is_at_place(struct agt *agt, const struct evq_entry *entry)
{
    uint64_t flags = evq_entry_place(entry)->flags;
    if (flags & EVQ_PLACE_TIME)
        return place_reached(agt, entry);
    return flags & EVQ_PLACE_HERE || place_found(agt, entry);
}
