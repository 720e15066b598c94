/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * First a plain replay, which says when each event came; then the oracle from some of these events
 * on; then a collecting replay of the same windows and a plain one with exact stops in them.
 * Instructions that fault are steps of the oracle's, but no instructions of ours.
 */
#include "tests/replay/oracle_compare.h"

#include <stdlib.h>
#include <string.h>

#include "tests/oracle/oracle.h"
#include <wetdbg/errors.h>

#define OPERANDS_MAX 20
#define WINDOWS_MAX  16
#define BYTES_MAX    64 /* of an operand that is compared by its bytes */
#define COLLECT_STEP (1u << 20)

/* One instruction, as either side saw it. */
struct step {
    uint64_t pc;
    uint16_t operand_count;
    uint8_t code[15];
    uint64_t operands[OPERANDS_MAX]; /* sorted */
};

/* What the oracle saw at a time at which the engine will stop. */
struct sample {
    uint64_t time; /* instructions executed before */
    struct rrt_regs regs;
    unsigned operand_count;
    struct {
        uint64_t address;
        unsigned size_bytes;
        uint8_t bytes[BYTES_MAX];
    } operands[OPERANDS_MAX];
};

struct window {
    uint64_t frame; /* 0: from the start */
    uint64_t time;
    uint64_t count;      /* instructions that the oracle executed, those that faulted left out */
    struct wd_buf steps; /* struct step */
};

struct compare {
    const char *what;
    struct window windows[WINDOWS_MAX];
    unsigned window_count;
    struct window *at; /* being stepped */
    struct wd_buf samples;
    unsigned sample_every;
    uint64_t seed;
    struct compare_report *report;
};

static uint64_t random_next(struct compare *compare)
{
    compare->seed ^= compare->seed << 13;
    compare->seed ^= compare->seed >> 7;
    compare->seed ^= compare->seed << 17;
    return compare->seed;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void append(struct wd_buf *buf, const void *bytes, size_t count)
{
    assert_int_equal(wd_buf_append(buf, bytes, count), 0);
}

/* ---- the oracle's side ---- */

static void sample_take(struct compare *compare, uint64_t time, const struct orc_insn *insn)
{
    struct sample sample = {.time = time, .regs = insn->regs};
    for (size_t i = 0; i < insn->operand_count; i++) {
        const struct orc_operand *operand = &insn->operands[i];
        if (!operand->before || operand->size_bytes > BYTES_MAX)
            continue;
        sample.operands[sample.operand_count].address = operand->address;
        sample.operands[sample.operand_count].size_bytes = (unsigned)operand->size_bytes;
        memcpy(sample.operands[sample.operand_count].bytes, operand->before, operand->size_bytes);
        sample.operand_count++;
    }
    append(&compare->samples, &sample, sizeof(sample));
}

static int oracle_step(void *context, const struct orc_insn *insn)
{
    struct compare *compare = context;
    struct window *window = compare->at;
    bool is_int3 = insn->code_bytes && insn->code[0] == 0xcc;
    if (insn->outcome == ORC_FAULTED && !is_int3)
        return 0;
    struct step step = {.pc = insn->regs.rip};
    memcpy(step.code, insn->code, sizeof(step.code));
    for (size_t i = 0; i < insn->operand_count; i++) {
        if (insn->operands[i].size_bytes) /* a rep of no turns touches nothing */
            step.operands[step.operand_count++] = insn->operands[i].address;
    }
    qsort(step.operands, step.operand_count, 8, by_value);
    append(&window->steps, &step, sizeof(step));
    if (random_next(compare) % compare->sample_every == 0)
        sample_take(compare, window->time + window->count, insn);
    window->count++;
    return 0;
}

static void oracle_run(struct compare *compare, const char *dir, int pid, uint64_t length)
{
    struct wetdbg_recording *trace = NULL;
    struct orc *orc = NULL;
    uint64_t done;
    unit_check(wetdbg_recording_open(dir, &trace), compare->what);
    unit_check(orc_open(trace, pid, &orc), compare->what);
    for (unsigned i = 0; i < compare->window_count; i++) {
        compare->at = &compare->windows[i];
        if (compare->at->frame)
            unit_check(orc_run_to_event(orc, compare->at->frame), compare->what);
        unit_check(orc_step(orc, length, oracle_step, compare, &done), compare->what);
    }
    orc_close(orc);
    wetdbg_recording_close(trace);
}

/* ---- windows ---- */

static void window_add(struct compare *compare, uint64_t frame, uint64_t time)
{
    if (compare->window_count < WINDOWS_MAX)
        compare->windows[compare->window_count++] = (struct window){.frame = frame, .time = time};
}

/* The first event from `wanted` on at which a window can begin: after it, something else runs. */
static const struct unit_event *window_event(const struct unit_replay *replay, uint64_t wanted)
{
    const struct unit_event *events = (const struct unit_event *)replay->events.data;
    size_t count = replay->events.size_bytes / sizeof(*events);
    uint64_t total = rep_engine_time(replay->engine);
    for (size_t i = 0; i + 1 < count; i++) {
        const struct unit_event *event = &events[i];
        if (event->time < wanted || event[1].frame == event->frame)
            continue;
        bool is_end = event->kind == EVQ_END || event->kind == EVQ_TASK_EXIT;
        if (is_end && event[1].kind != EVQ_END && event->time < total)
            continue;
        return is_end || event->time >= total ? NULL : event;
    }
    return NULL;
}

/* Times of `wanted` places of asynchronous events, spread over the run. */
static unsigned places_choose(const struct unit_replay *replay, unsigned wanted, uint64_t *times)
{
    const struct unit_event *events = (const struct unit_event *)replay->events.data;
    size_t count = replay->events.size_bytes / sizeof(*events), places = 0, nth = 0;
    unsigned chosen = 0;
    for (size_t i = 0; i < count; i++)
        places += events[i].kind == EVQ_PLACE;
    for (size_t i = 0; i < count && chosen < wanted; i++) {
        if (events[i].kind == EVQ_PLACE && nth++ * wanted / places >= chosen)
            times[chosen++] = events[i].time;
    }
    return chosen;
}

/* Compares from the start, from frames that come closer to the end, where the program's own code is
 * rather than its start-up, and from places of asynchronous events. The oracle counts attempts that
 * faulted, so a window may reach less far than its length. */
static void windows_choose(struct compare *compare, const struct unit_replay *replay,
                           unsigned windows, uint64_t length)
{
    uint64_t wanted[WINDOWS_MAX], total = rep_engine_time(replay->engine), free_from = length;
    unsigned count = 0;
    window_add(compare, 0, 0);
    if (windows > WINDOWS_MAX / 2)
        windows = WINDOWS_MAX / 2;
    for (unsigned k = 1; k < windows; k++)
        wanted[count++] = total - (total >> k);
    if (windows > 1)
        count += places_choose(replay, windows, wanted + count);
    qsort(wanted, count, sizeof(wanted[0]), by_value);
    for (unsigned k = 0; k < count; k++) {
        const struct unit_event *event =
            window_event(replay, wanted[k] > free_from ? wanted[k] : free_from);
        if (!event)
            break;
        window_add(compare, event->frame, event->time);
        free_from = event->time + length;
    }
}

/* ---- the engine's side ---- */

static int64_t slot_lane(const uint64_t *slots, unsigned size, unsigned lane)
{
    int32_t narrow;
    if (size == 8)
        return (int64_t)slots[lane];
    memcpy(&narrow, (const uint8_t *)slots + 4 * (size_t)lane, sizeof(narrow));
    return narrow;
}

/* An address of a rep's range is its lowest byte's, as the oracle gives it. */
static void step_add_rep(struct step *step, const struct ins_info *info, const uint64_t *slots)
{
    uint64_t mask = info->mems[0].flags & INS_MEM_ADDR32 ? UINT32_MAX : UINT64_MAX;
    uint64_t turns = (slots[info->mem_count] - slots[info->mem_count + 1]) & mask;
    bool down = turns && (slots[info->mem_count + 2] & mask) < (slots[0] & mask) &&
                !(info->mems[0].flags & INS_MEM_FS);
    for (unsigned m = 0; turns && m < info->mem_count; m++) {
        uint64_t back = down ? (turns - 1) * info->mems[m].size_bytes : 0;
        step->operands[step->operand_count++] = slots[m] - back;
    }
}

static void step_add_gather(struct step *step, const uint8_t *code, const struct ins_mem *mem,
                            const uint64_t *slots)
{
    bool wide_index = mem->flags & INS_MEM_VSIB64;
    unsigned size = mem->size_bytes;
    /* VEX.W and VEX.L: lanes are as many as the larger element leaves room for */
    unsigned vector = code[2] & 4 ? 32 : 16;
    unsigned larger = wide_index || size == 8 ? 8 : 4;
    for (unsigned i = 0; i < vector / larger; i++) {
        int64_t index = slot_lane(slots + 1, wide_index ? 8 : 4, i);
        int64_t mask = slot_lane(slots + 9, size, i);
        if (mask < 0)
            step->operands[step->operand_count++] = slots[0] + (uint64_t)index * mem->scale;
    }
}

/* Fills `step` from an instruction's slots; returns how many there are. */
static unsigned step_make(struct step *step, const uint8_t *code, size_t available, uint64_t pc,
                          const uint64_t *slots, unsigned *length)
{
    struct ins_info info;
    unsigned used = 0;
    bool rep = false;
    unit_check(ins_decode(code, available, pc, &info), "decode");
    *step = (struct step){.pc = pc};
    *length = info.length;
    for (unsigned m = 0; m < info.mem_count; m++) {
        rep |= info.mems[m].flags & INS_MEM_REP;
        if (info.mems[m].flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64)) {
            step_add_gather(step, code, &info.mems[m], slots + used);
            used += 17;
            continue;
        }
        if (!(info.mems[m].flags & INS_MEM_REP))
            step->operands[step->operand_count++] = slots[used];
        used++;
    }
    if (rep) {
        step_add_rep(step, &info, slots);
        used += 3;
    }
    used += info.choice.slots;
    qsort(step->operands, step->operand_count, 8, by_value);
    return used;
}

static void step_compare(struct compare *compare, uint64_t time, const struct step *ours,
                         const struct step *theirs)
{
    char text[128];
    bool same = ours->pc == theirs->pc && ours->operand_count == theirs->operand_count &&
                !memcmp(ours->operands, theirs->operands, 8u * ours->operand_count);
    compare->report->compared++;
    compare->report->operands += ours->operand_count;
    if (same)
        return;
    ins_text(theirs->code, sizeof(theirs->code), theirs->pc, text, sizeof(text));
    for (unsigned i = 0; i < OPERANDS_MAX; i++) {
        if (i < ours->operand_count || i < theirs->operand_count)
            print_message("operand %u: %#llx, oracle %#llx\n", i,
                          (unsigned long long)ours->operands[i],
                          (unsigned long long)theirs->operands[i]);
    }
    fail_msg("%s: instruction %llu is at %#llx with %u operands, by the oracle at %#llx with %u "
             "(%s)",
             compare->what, (unsigned long long)time, (unsigned long long)ours->pc,
             ours->operand_count, (unsigned long long)theirs->pc, theirs->operand_count, text);
}

/* The window that instruction `time` lies in, or NULL. */
static const struct window *window_of(const struct compare *compare, uint64_t time)
{
    for (unsigned i = 0; i < compare->window_count; i++) {
        const struct window *window = &compare->windows[i];
        if (time >= window->time && time - window->time < window->count)
            return window;
    }
    return NULL;
}

/* Compares one execution of a fragment, which began at `time`. */
static void execution_compare(struct compare *compare, const struct dbi_fragment *fragment,
                              const uint64_t *record, uint64_t time)
{
    unsigned code_off = 0, slot = 0, length;
    uint64_t slots[1 + DBI_INSN_MAX * 17]; /* a gather's are the most */
    if (!window_of(compare, time) && !window_of(compare, time + fragment->insn_count - 1u))
        return;
    assert_true(fragment->slot_count < sizeof(slots) / sizeof(slots[0]));
    for (unsigned i = 0; i < fragment->slot_count; i++)
        slots[i] = dbi_slot_value(fragment, i, record);
    for (unsigned i = 0; i < fragment->insn_count; i++) {
        struct step ours;
        slot += step_make(&ours, fragment->code + code_off, fragment->code_bytes - code_off,
                          fragment->pc + code_off, slots + slot, &length);
        code_off += length;
        const struct window *window = window_of(compare, time + i);
        if (window)
            step_compare(compare, time + i, &ours,
                         (const struct step *)window->steps.data + (time + i - window->time));
    }
    assert_int_equal(slot, fragment->slot_count);
    assert_int_equal(code_off, fragment->code_bytes);
}

static void collect_run(struct compare *compare, const char *dir)
{
    struct unit_replay replay;
    enum rep_stop why = REP_STOP_TIME;
    uint64_t time = 0;
    unit_check(unit_open(&replay, dir, NULL, DBI_COLLECT), compare->what);
    while (why == REP_STOP_TIME) {
        size_t bytes;
        unit_check(rep_engine_run(replay.engine, &replay.source, COLLECT_STEP, false, &why),
                   compare->what);
        const uint64_t *ring = rep_engine_ring(replay.engine, &bytes);
        for (size_t at = 0; at < bytes / 8;) {
            const struct dbi_fragment *fragment =
                rep_engine_fragment(replay.engine, agt_ring_fragment(ring[at]));
            assert_non_null(fragment);
            assert_true(at + 1 + fragment->word_count <= bytes / 8);
            execution_compare(compare, fragment, ring + at, time);
            time += fragment->insn_count;
            at += 1u + fragment->word_count;
        }
        assert_int_equal(time, rep_engine_time(replay.engine));
    }
    assert_int_equal(time, compare->report->instructions);
    unit_close(&replay);
}

/* ---- exact stops ---- */

static void registers_compare(struct compare *compare, const struct sample *sample,
                              const struct evq_regs *ours)
{
    const struct rrt_regs *r = &sample->regs;
    const struct {
        const char *name;
        enum evq_reg reg;
        uint64_t value;
    } all[] = {
        {"rax", EVQ_RAX, r->rax},
        {"rcx", EVQ_RCX, r->rcx},
        {"rdx", EVQ_RDX, r->rdx},
        {"rbx", EVQ_RBX, r->rbx},
        {"rsp", EVQ_RSP, r->rsp},
        {"rbp", EVQ_RBP, r->rbp},
        {"rsi", EVQ_RSI, r->rsi},
        {"rdi", EVQ_RDI, r->rdi},
        {"r8", EVQ_R8, r->r8},
        {"r9", EVQ_R9, r->r9},
        {"r10", EVQ_R10, r->r10},
        {"r11", EVQ_R11, r->r11},
        {"r12", EVQ_R12, r->r12},
        {"r13", EVQ_R13, r->r13},
        {"r14", EVQ_R14, r->r14},
        {"r15", EVQ_R15, r->r15},
        {"rip", EVQ_RIP, r->rip},
        {"fs", EVQ_FS_BASE, r->fs_base},
        {"eflags", EVQ_EFLAGS, r->eflags},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        uint64_t mask = all[i].reg == EVQ_EFLAGS ? EVQ_EFLAGS_COMPARED : UINT64_MAX;
        if ((ours->r[all[i].reg] ^ all[i].value) & mask)
            fail_msg("%s: before instruction %llu at %#llx, %s is %#llx, by the oracle %#llx",
                     compare->what, (unsigned long long)sample->time, (unsigned long long)r->rip,
                     all[i].name, (unsigned long long)ours->r[all[i].reg],
                     (unsigned long long)all[i].value);
    }
}

static void operands_compare(struct compare *compare, struct rep_engine *engine,
                             const struct sample *sample)
{
    for (unsigned i = 0; i < sample->operand_count; i++) {
        uint8_t bytes[BYTES_MAX];
        size_t done, size = sample->operands[i].size_bytes;
        unit_check(rep_engine_read(engine, sample->operands[i].address, bytes, size, &done),
                   compare->what);
        if (done != size || memcmp(bytes, sample->operands[i].bytes, size))
            fail_msg("%s: before instruction %llu, the %zu bytes at %#llx are not the oracle's",
                     compare->what, (unsigned long long)sample->time, size,
                     (unsigned long long)sample->operands[i].address);
    }
}

static void exact_run(struct compare *compare, const char *dir)
{
    struct unit_replay replay;
    const struct sample *samples = (const struct sample *)compare->samples.data;
    size_t count = compare->samples.size_bytes / sizeof(*samples);
    unit_check(unit_open(&replay, dir, NULL, DBI_PLAIN), compare->what);
    for (size_t i = 0; i < count; i++) {
        const struct agt_task *tasks;
        uint32_t running;
        enum rep_stop why;
        uint64_t limit = samples[i].time - rep_engine_time(replay.engine);
        unit_check(rep_engine_run(replay.engine, &replay.source, limit, true, &why), compare->what);
        assert_int_equal(why, REP_STOP_TIME);
        assert_int_equal(rep_engine_time(replay.engine), samples[i].time);
        unit_check(rep_engine_tasks(replay.engine, &tasks, &running), compare->what);
        registers_compare(compare, &samples[i], &tasks[running].regs);
        operands_compare(compare, replay.engine, &samples[i]);
        compare->report->stops++;
    }
    unit_close(&replay);
}

/* ---- whole runs ---- */

/* Every event at the same instruction in every mode; executions account for all instructions. */
static void count_run(struct compare *compare, const char *dir, const struct unit_replay *plain)
{
    struct unit_replay replay;
    uint64_t sum = 0;
    unit_check(unit_open(&replay, dir, NULL, DBI_COUNT), compare->what);
    unit_check(unit_run_to_end(&replay), compare->what);
    for (uint32_t id = 0; id < rep_engine_fragment_count(replay.engine); id++)
        sum += rep_engine_executions(replay.engine, id) *
               rep_engine_fragment(replay.engine, id)->insn_count;
    assert_int_equal(sum, rep_engine_time(replay.engine));
    assert_int_equal(sum, rep_engine_time(plain->engine));
    assert_int_equal(replay.events.size_bytes, plain->events.size_bytes);
    assert_memory_equal(replay.events.data, plain->events.data, plain->events.size_bytes);
    unit_close(&replay);
}

/* The oracle's count from each window's start on must meet every event where the engine does. */
static void ends_compare(const struct compare *compare, uint64_t total, uint64_t length)
{
    for (unsigned i = 0; i < compare->window_count; i++) {
        const struct window *window = &compare->windows[i];
        if (window->time + window->count > total)
            fail_msg("%s: the oracle executes %llu instructions from %llu on, the engine ends at "
                     "%llu",
                     compare->what, (unsigned long long)window->count,
                     (unsigned long long)window->time, (unsigned long long)total);
        if (length > 2 * total)
            assert_int_equal(window->count, total);
    }
}

void compare_with_oracle(const char *dir, const char *what, unsigned windows, uint64_t length,
                         unsigned stops, struct compare_report *report)
{
    struct unit_replay plain;
    struct compare compare = {.what = what, .seed = 0x9e3779b97f4a7c15u, .report = report};
    *report = (struct compare_report){0};
    unit_check(unit_open(&plain, dir, NULL, DBI_PLAIN), what);
    unit_check(unit_run_to_end(&plain), what);
    report->instructions = rep_engine_time(plain.engine);
    if (report->instructions <= windows * length) {
        length = 4 * windows * length; /* a short run is stepped whole */
        windows = 1;
    }
    windows_choose(&compare, &plain, windows, length);
    uint64_t expected = length < report->instructions ? length : report->instructions;
    compare.sample_every = (unsigned)(compare.window_count * expected / stops + 1);
    count_run(&compare, dir, &plain);
    oracle_run(&compare, dir, rep_feed_info(plain.feed)->pid, length);
    ends_compare(&compare, report->instructions, length);
    collect_run(&compare, dir);
    exact_run(&compare, dir);
    report->windows = compare.window_count;
    uint64_t stepped = 0;
    for (unsigned i = 0; i < compare.window_count; i++) {
        stepped += compare.windows[i].count;
        wd_buf_fini(&compare.windows[i].steps);
    }
    assert_int_equal(report->compared, stepped);
    wd_buf_fini(&compare.samples);
    unit_close(&plain);
}

void compare_report_print(const char *what, const struct compare_report *report)
{
    print_message("%-28s %10llu instructions %7llu compared %7llu operands %2llu windows %3llu "
                  "stops\n",
                  what, (unsigned long long)report->instructions,
                  (unsigned long long)report->compared, (unsigned long long)report->operands,
                  (unsigned long long)report->windows, (unsigned long long)report->stops);
}
