/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Copies of a replayed program that go on without a recording: with a source of their own, which
 * knows three events. What the guest computes is computed here again.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "predicate_switch/entries.h"
#include "tests/replay/replay_unit.h"

#define TURNS 400

/* ---- what the guest has to do ---- */

struct expected {
    char text[8192];
    int status;
};

static void expect(struct expected *expected, uint64_t turns)
{
    uint64_t hash = 1469598103934665603u;
    size_t at = 0;
    *expected = (struct expected){0};
    for (uint64_t i = 0; i < turns; i++) {
        hash = (hash ^ i) * 1099511628211u;
        if (hash % 3 == 0)
            hash += i;
        if (i % 50 == 49)
            at += (size_t)sprintf(expected->text + at, "%" PRIu64 "\n", hash);
    }
    expected->status = (int)(hash & 63);
}

/* ---- a run that goes on ---- */

struct live {
    struct rep_engine *engine;
    struct wd_buf first; /* entries to begin with */
    struct wd_buf text;  /* what it has written */
    uint64_t frame, counter;
    int status;
};

static int live_next(void *arg, struct wd_buf *out)
{
    struct live *live = arg;
    bool has_some = live->first.size_bytes > 0;
    int err = has_some ? wd_buf_append(out, live->first.data, live->first.size_bytes) : 0;
    live->first.size_bytes = 0;
    return err ? err : has_some;
}

static void write_take(struct live *live, const struct evq_regs *regs)
{
    size_t done, count = regs->r[EVQ_RDX];
    uint8_t bytes[64];
    assert_true(count <= sizeof(bytes));
    unit_check(rep_engine_read(live->engine, regs->r[EVQ_RSI], bytes, count, &done), "write");
    assert_int_equal(done, count);
    assert_int_equal(wd_buf_append(&live->text, bytes, count), 0);
}

static void call_return(struct live *live, const struct rep_met *met, uint64_t result,
                        struct wd_buf *out)
{
    struct psw_entry entry;
    struct evq_entry head = {.kind = EVQ_SYSCALL_EXIT,
                             .task = met->task,
                             .frame = ++live->frame,
                             .number = (int32_t)met->regs.r[EVQ_ORIG_RAX]};
    struct evq_regs regs = met->regs;
    regs.r[EVQ_RAX] = result;
    assert_int_equal(psw_entry_begin(&entry, out, &head, NULL, 0), 0);
    assert_int_equal(psw_entry_load(&entry, &regs), 0);
    psw_entry_end(&entry);
}

static void on_call(struct live *live, const struct rep_met *met, struct wd_buf *out)
{
    assert_int_equal(psw_call_enter(out, met->task, ++live->frame, &met->regs), 0);
    switch (met->regs.r[EVQ_ORIG_RAX]) {
    case SYS_write:
        write_take(live, &met->regs);
        call_return(live, met, met->regs.r[EVQ_RDX], out);
        break;
    case SYS_exit_group:
        live->status = (int)met->regs.r[EVQ_RDI];
        assert_int_equal(psw_task_exit(out, met->task, ++live->frame), 0);
        assert_int_equal(psw_run_end(out, met->task, ++live->frame), 0);
        break;
    default:
        fail_msg("call %" PRIu64, met->regs.r[EVQ_ORIG_RAX]);
    }
}

static int live_met(void *arg, const struct rep_met *met, struct wd_buf *out)
{
    struct live *live = arg;
    struct evq_regs regs = met->regs;
    switch (met->kind) {
    case EVQ_SYSCALL_ENTER:
        on_call(live, met, out);
        break;
    case EVQ_TRAP:
        assert_int_equal(met->trap, AGT_EXIT_RDTSC);
        regs.r[EVQ_RAX] = (uint32_t)++live->counter;
        regs.r[EVQ_RDX] = UINT32_MAX;
        assert_int_equal(psw_trap(out, met->task, ++live->frame, &met->regs, &regs), 0);
        break;
    default:
        fail_msg("signal %d at %#" PRIx64, met->signo, met->regs.r[EVQ_RIP]);
    }
    return 0;
}

/* Goes on in a copy, with `live->first` to begin with; how many instructions the whole run had. */
static uint64_t branch_run(struct live *live)
{
    struct rep_source source = {.next = live_next, .met = live_met, .arg = live};
    enum rep_stop why = REP_STOP_TIME;
    unit_check(rep_engine_branch(live->engine), "branch");
    unit_check(rep_engine_run(live->engine, &source, 1u << 20, false, &why), "live");
    uint64_t time = rep_engine_time(live->engine);
    unit_check(rep_engine_branch_end(live->engine), "its end");
    assert_int_equal(why, REP_STOP_END);
    return time;
}

/* ---- the recorded run ---- */

struct recorded {
    struct unit_replay replay;
    struct live live;
    uint64_t instructions;
};

/* What was written before the copy goes on is noted here, too. */
static void taken(void *arg, const struct evq_entry *entry)
{
    struct recorded *recorded = arg;
    const struct evq_regs *regs = evq_entry_regs(entry);
    if (entry->kind == EVQ_SYSCALL_ENTER && entry->number == SYS_write)
        write_take(&recorded->live, regs);
}

static void recorded_open(struct recorded *recorded, const char *dir)
{
    *recorded = (struct recorded){0};
    unit_check(unit_open(&recorded->replay, dir, NULL, DBI_PLAIN), dir);
    unit_check(unit_run_to_end(&recorded->replay), dir);
    recorded->instructions = rep_engine_time(recorded->replay.engine);
    unit_close(&recorded->replay);
    unit_check(unit_open(&recorded->replay, dir, NULL, DBI_PLAIN), dir);
    recorded->live.engine = recorded->replay.engine;
}

static void recorded_close(struct recorded *recorded)
{
    wd_buf_fini(&recorded->live.first);
    wd_buf_fini(&recorded->live.text);
    unit_close(&recorded->replay);
}

/* Stops just before instruction `time`. */
static void stop_at(struct recorded *recorded, uint64_t time)
{
    enum rep_stop why;
    struct unit_replay *replay = &recorded->replay;
    uint64_t now = rep_engine_time(replay->engine);
    assert_true(now < time);
    unit_check(rep_engine_run(replay->engine, &replay->source, time - 1 - now, true, &why), "stop");
    assert_int_equal(rep_engine_time(replay->engine), time - 1);
}

static void text_note(struct recorded *recorded)
{
    recorded->replay.entry_fn = taken;
    recorded->replay.entry_arg = recorded;
}

static void outcome_check(const struct live *live, uint64_t turns)
{
    struct expected expected;
    expect(&expected, turns);
    assert_int_equal(live->text.size_bytes, strlen(expected.text));
    assert_memory_equal(live->text.data, expected.text, live->text.size_bytes);
    assert_int_equal(live->status, expected.status);
}

static char *the_dir;

static void unchanged_copies_end_as_recorded(void **state)
{
    (void)state;
    struct recorded recorded;
    recorded_open(&recorded, the_dir);
    text_note(&recorded);
    const uint64_t step = recorded.instructions / 23;
    for (uint64_t time = 1 + step / 2; time <= recorded.instructions; time += step) {
        stop_at(&recorded, time);
        size_t text = recorded.live.text.size_bytes;
        assert_int_equal(branch_run(&recorded.live), recorded.instructions);
        outcome_check(&recorded.live, TURNS);
        recorded.live.text.size_bytes = text;
        assert_int_equal(rep_engine_time(recorded.live.engine), time - 1);
    }
    unit_check(unit_run_to_end(&recorded.replay), "the recorded run");
    assert_int_equal(rep_engine_time(recorded.replay.engine), recorded.instructions);
    recorded_close(&recorded);
}

/* An event of now that writes to the guest's memory. */
static void change_append(struct recorded *recorded, uint64_t turns)
{
    struct rep_engine *engine = recorded->replay.engine;
    const struct agt_task *tasks;
    struct psw_entry entry;
    uint32_t running;
    unit_check(rep_engine_tasks(engine, &tasks, &running), "tasks");
    assert_int_equal(psw_place_begin(&entry, &recorded->live.first, running, 0, 0,
                                     rep_engine_time(engine), &tasks[running].regs),
                     0);
    assert_int_equal(psw_entry_write(&entry, COUNTS_AT, &turns, sizeof(turns)), 0);
    psw_entry_end(&entry);
}

static void changed_copies_do_what_the_change_says(void **state)
{
    (void)state;
    struct recorded recorded;
    recorded_open(&recorded, the_dir);
    text_note(&recorded);
    stop_at(&recorded, recorded.instructions / 3);
    size_t text = recorded.live.text.size_bytes;
    for (uint64_t turns = TURNS / 2; turns < 2 * TURNS; turns += 37) {
        change_append(&recorded, turns);
        uint64_t instructions = branch_run(&recorded.live);
        outcome_check(&recorded.live, turns);
        if (turns < TURNS)
            assert_true(instructions < recorded.instructions);
        else
            assert_true(instructions > recorded.instructions);
        recorded.live.text.size_bytes = text;
    }
    recorded_close(&recorded);
}

/* Time runs out, and whoever asked goes on, or not. */
static void live_runs_stop_for_time(void **state)
{
    (void)state;
    struct recorded recorded;
    enum rep_stop why = REP_STOP_TIME;
    recorded_open(&recorded, the_dir);
    struct live *live = &recorded.live;
    struct rep_source source = {.next = live_next, .met = live_met, .arg = live};
    stop_at(&recorded, 2);
    unit_check(rep_engine_branch(live->engine), "branch");
    while (why == REP_STOP_TIME)
        unit_check(rep_engine_run(live->engine, &source, 100, false, &why), "live");
    outcome_check(live, TURNS);
    assert_int_equal(rep_engine_time(live->engine), recorded.instructions);
    unit_check(rep_engine_branch_end(live->engine), "its end");
    assert_int_equal(rep_engine_time(live->engine), 1);
    recorded_close(&recorded);
}

/* The linker puts this in poll()'s place (--wrap). If asked to, each second wait for something is
 * over in vain just before it comes. */
static bool polls_too_early, was_too_early;

int __real_poll(struct pollfd *at, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *at, nfds_t count, int timeout_ms);

int __wrap_poll(struct pollfd *at, nfds_t count, int timeout_ms)
{
    int got = __real_poll(at, count, timeout_ms);
    if (!polls_too_early || !timeout_ms || got <= 0)
        return got;
    was_too_early = !was_too_early;
    if (was_too_early)
        at->revents = 0;
    return was_too_early ? 0 : got;
}

/* A copy that announces itself just when somebody has waited long enough is none that nobody asked
 * for. */
static void slow_copies_are_waited_for(void **state)
{
    (void)state;
    struct recorded recorded;
    recorded_open(&recorded, the_dir);
    text_note(&recorded);
    stop_at(&recorded, 2);
    polls_too_early = true;
    branch_run(&recorded.live);
    polls_too_early = false;
    outcome_check(&recorded.live, TURNS);
    recorded_close(&recorded);
}

static int suite_new(void **state)
{
    const char *const argv[] = {GUEST, NULL};
    int err = unit_work_new(state);
    if (!err)
        the_dir = unit_record(unit_work, "counts", argv);
    return err;
}

static int suite_end(void **state)
{
    free(the_dir);
    return unit_work_remove(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unchanged_copies_end_as_recorded),
        cmocka_unit_test(changed_copies_do_what_the_change_says),
        cmocka_unit_test(live_runs_stop_for_time),
        cmocka_unit_test(slow_copies_are_waited_for),
    };
    return cmocka_run_group_tests(tests, suite_new, suite_end);
}
