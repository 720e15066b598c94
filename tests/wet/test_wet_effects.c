/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an interval wrote, by wetdbg_effects_each(), against states and against the slots. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/skipped.h"
#include "tests/wet/wet_fixture.h"
#include "tests/wet/wet_unit.h"
#include "wet/intervals.h"
#include <wetdbg/errors.h>

RUN(run_printf, PROGRAMS "/prog_printf_O0_pie")
RUN(run_signals, PROGRAMS "/prog_signals_O0_pie")
RUN(run_heap, PROGRAMS "/prog_heap_O2_pie")
RUN(run_repstr, PROGRAMS "/prog_repstr_O2_static")
RUN(run_simd, PROGRAMS "/prog_simd_O2_pie")
RUN(run_repfault, REPFAULT)
RUN(run_gathers, GATHERS)
RUN(run_line, LINE)
RUN(run_gzip, "gzip", "-c", LICENSE)

struct check {
    struct wetdbg *wet; /* cut otherwise, so that nothing is shared */
    struct wetdbg_effects *effects;
    struct wetdbg_state *state;
    wetdbg_time state_time, last_time;
    uint64_t seed, seen, checked, registers, kernel;
    uint64_t every; /* one of so many is held against a state */
    bool is_event;  /* of has_event_at() */
    struct {
        uint64_t start, end;
    } unknown[1000];
    size_t unknown_count;
};

static bool is_unknown(const struct check *check, const struct wetdbg_effect *effect)
{
    for (size_t i = 0; i < check->unknown_count; i++)
        if (effect->address < check->unknown[i].end &&
            effect->address + effect->size > check->unknown[i].start)
            return true;
    return false;
}

static void note_unknown(struct check *check, const struct wetdbg_effect *effect)
{
    assert_in_range(check->unknown_count, 0, 999);
    check->unknown[check->unknown_count].start = effect->address;
    check->unknown[check->unknown_count++].end = effect->address + effect->size;
}

static int match_event(void *arg, const struct wet_event *event)
{
    struct check *check = arg;
    check->is_event |= event->time == check->last_time;
    return event->time > check->last_time;
}

/* The kernel changes registers and memory after such an instruction. */
static bool has_event_at(struct check *check)
{
    check->is_event = false;
    assert_true(wet_each_entry(check->wet, match_event, check) >= 0);
    return check->is_event;
}

static void go_to(struct check *check, wetdbg_time time)
{
    if (check->state && check->state_time <= time) {
        ok(wetdbg_state_advance(check->state, time));
    } else {
        wetdbg_state_close(check->state);
        ok(wetdbg_state_open(check->wet, time, &check->state));
    }
    check->state_time = time;
}

/* A later write at the same time may have covered it: only the last of a time is compared. */
static int check_effect(void *arg, const struct wetdbg_effect *effect)
{
    struct check *check = arg;
    uint8_t now[512], before[512];
    assert_true(effect->time >= check->last_time);
    check->last_time = effect->time;
    check->seen++;
    check->kernel += effect->pc == 0;
    if (!effect->after) {
        note_unknown(check, effect);
        return 0;
    }
    if (effect->size > sizeof(now) || unit_random(&check->seed) % check->every)
        return 0;
    if (effect->pc) {
        go_to(check, effect->time);
        assert_int_equal(wet_state_regs(check->state)->r[EVQ_RIP], effect->pc);
        if (effect->reg < 0 && !is_unknown(check, effect)) {
            ok(wetdbg_state_read(check->state, effect->address, before, effect->size));
            assert_memory_equal(before, effect->before, effect->size);
        }
    }
    if (has_event_at(check))
        return 0;
    go_to(check, effect->time + 1);
    check->checked++;
    if (effect->reg >= 0) {
        check->registers++;
        assert_memory_equal(&wet_state_regs(check->state)->r[evq_reg_of_gpr[effect->reg]],
                            effect->after, 8);
        return 0;
    }
    ok(wetdbg_state_read(check->state, effect->address, now, effect->size));
    assert_memory_equal(now, effect->after, effect->size);
    ok(wetdbg_effects_read(check->effects, effect->address, before, effect->size));
    assert_memory_equal(now, before, effect->size);
    return 0;
}

static void effects_are_what_states_show(void **state)
{
    const struct fixture *fixture = *state;
    struct check check = {
        .wet = fixture->whole, .seed = unit_seed("effects"), .every = 397, .last_time = 0};
    uint64_t intervals = wetdbg_get_info(fixture->cut)->intervals;
    ok(wetdbg_effects_open(fixture->cut, &check.effects));
    for (uint64_t k = 0; k < intervals; k += 1 + intervals / 6) {
        check.unknown_count = 0;
        ok(wetdbg_effects_each(check.effects, k, true, check_effect, &check));
    }
    assert_true(check.checked > 10);
    assert_true(check.registers > 2);
    wetdbg_state_close(check.state);
    wetdbg_effects_close(check.effects);
}

/* ---- memory at an interval's end ---- */

#define ADDRESSES_MAX 2000

struct written {
    struct wetdbg_effects *effects;
    uint64_t addresses[ADDRESSES_MAX];
    size_t count;
    uint64_t seed;
};

/* A sample of all, since each is read from the replayee. */
static int note_address(void *arg, const struct wetdbg_effect *effect)
{
    struct written *written = arg;
    for (uint64_t at = 0; effect->after && at < effect->size; at += 8)
        if (written->count < ADDRESSES_MAX)
            written->addresses[written->count++] = effect->address + at;
        else if (unit_random(&written->seed) % 8 == 0)
            written->addresses[unit_random(&written->seed) % ADDRESSES_MAX] = effect->address + at;
    return 0;
}

/* All that an interval wrote, by whatever means, is in the replica what it is in the program: rep
 * instructions and the kernel's writes too, since what they bring is there at the end. */
static void memory_at_the_end_is_the_program_s(void **state)
{
    const struct fixture *fixture = *state;
    struct wetdbg *wet = fixture->cut;
    uint64_t intervals = wetdbg_get_info(wet)->intervals, compared = 0;
    struct written written = {.seed = unit_seed("sample")};
    ok(wetdbg_effects_open(wet, &written.effects));
    for (uint64_t k = 0; k + 1 < intervals; k += 1 + intervals / 4) {
        const struct wet_interval *interval;
        struct wetdbg_state *end;
        written.count = 0;
        ok(wetdbg_effects_each(written.effects, k, false, note_address, &written));
        ok(wet_interval_get(wet, k, &interval));
        ok(wetdbg_state_open(wet, interval->first_time + interval->instructions, &end));
        wet_interval_put(wet, interval);
        for (size_t i = 0; i < written.count; i++) {
            uint64_t real, ours;
            if (wetdbg_state_read(end, written.addresses[i], &real, 8) != 0)
                continue; /* unmapped since */
            ok(wetdbg_effects_read(written.effects, written.addresses[i], &ours, 8));
            if (real != ours && !wetdbg_effects_unknown(written.effects))
                fail_msg("interval %lu: %#lx is %#lx, not %#lx", (unsigned long)k,
                         (unsigned long)written.addresses[i], (unsigned long)real,
                         (unsigned long)ours);
            compared += real == ours;
        }
        wetdbg_state_close(end);
    }
    assert_true(compared > 1000);
    wetdbg_effects_close(written.effects);
}

/* ---- whole lines ---- */

struct lines {
    uint64_t start;
    unsigned cleared; /* bit n: line n was, as a whole */
};

static int note_line(void *arg, const struct wetdbg_effect *effect)
{
    static const uint8_t zeros[64];
    struct lines *lines = arg;
    uint64_t off = effect->address - lines->start;
    if (effect->reg < 0 && effect->pc && effect->size == 64 && effect->after && off < 256) {
        assert_memory_equal(effect->after, zeros, 64);
        assert_int_equal(effect->before[0] & effect->before[63], 0xa5);
        assert_int_equal(off % 64, 0);
        lines->cleared |= 1u << off / 64;
    }
    return 0;
}

static void line_is_cleared_from_its_start(void **state)
{
    const struct fixture *fixture = *state;
    struct wetdbg_effects *effects;
    uint64_t told[3];
    assert_int_equal(fixture->run.out_bytes, sizeof(told));
    memcpy(told, fixture->run.out, sizeof(told));
    if (!told[2]) {
        skipped_say("test_wet_effects", "clzero: this processor lacks it");
        skip();
    }
    struct lines lines = {.start = told[0]};
    ok(wetdbg_effects_open(fixture->cut, &effects));
    for (uint64_t k = 0; k < wetdbg_get_info(fixture->cut)->intervals; k++)
        ok(wetdbg_effects_each(effects, k, false, note_line, &lines));
    wetdbg_effects_close(effects);
    assert_int_equal(lines.cleared, 7);
}

/* ---- errors ---- */

static int stop_soon(void *arg, const struct wetdbg_effect *effect)
{
    (void)effect;
    return ++*(unsigned *)arg == 5 ? 77 : 0;
}

static void callback_s_result_ends_it_and_all_goes_on(void **state)
{
    const struct fixture *fixture = *state;
    struct wetdbg *wet = fixture->cut;
    const struct wet_interval *interval;
    struct wetdbg_effects *effects;
    unsigned count = 0;
    ok(wetdbg_effects_open(wet, &effects));
    assert_int_equal(wetdbg_effects_each(effects, 1, false, stop_soon, &count), 77);
    assert_int_equal(count, 5);
    ok(wet_interval_get(wet, 1, &interval));
    wet_interval_put(wet, interval);
    count = 100;
    ok(wetdbg_effects_each(effects, 1, true, stop_soon, &count));
    assert_true(count > 1000);
    assert_int_equal(
        wetdbg_effects_each(effects, wetdbg_get_info(wet)->intervals, true, stop_soon, &count),
        -WETDBG_ERR_NOT_FOUND);
    wetdbg_effects_close(effects);
}

/* The program looks at what it gathered itself. */
static void gathers_that_fault_have_all_their_lanes(void **state)
{
    const struct fixture *fixture = *state;
    if (fixture->run.status == 77 << 8) {
        skipped_say("test_wet_effects", "gathers that fault: this processor has no AVX2");
        skip();
    }
    assert_int_equal(fixture->run.status, 0);
    assert_true(wetdbg_get_info(fixture->cut)->intervals > 2);
    effects_are_what_states_show(state);
    memory_at_the_end_is_the_program_s(state);
}

int main(void)
{
#define CASE(name, run)                                                                            \
    {                                                                                              \
#name " (" #run ")", name, run, fixture_close, NULL                                        \
    }
    const struct CMUnitTest tests[] = {
        CASE(effects_are_what_states_show, run_printf),
        CASE(effects_are_what_states_show, run_signals),
        CASE(effects_are_what_states_show, run_heap),
        CASE(effects_are_what_states_show, run_gzip),
        CASE(effects_are_what_states_show, run_repstr),
        CASE(effects_are_what_states_show, run_simd),
        CASE(effects_are_what_states_show, run_repfault),
        CASE(gathers_that_fault_have_all_their_lanes, run_gathers),
        CASE(memory_at_the_end_is_the_program_s, run_repstr),
        CASE(memory_at_the_end_is_the_program_s, run_simd),
        CASE(memory_at_the_end_is_the_program_s, run_repfault),
        CASE(memory_at_the_end_is_the_program_s, run_printf),
        CASE(memory_at_the_end_is_the_program_s, run_signals),
        CASE(memory_at_the_end_is_the_program_s, run_gzip),
        CASE(line_is_cleared_from_its_start, run_line),
        CASE(callback_s_result_ends_it_and_all_goes_on, run_printf),
    };
    return cmocka_run_group_tests_name("wetdbg_effects", tests, NULL, NULL);
}
