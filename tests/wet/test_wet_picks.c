/* SPDX-License-Identifier: GPL-3.0-or-later */
/* By what blends, masked moves and permutations chose is in their slots, and which registers st(i)
 * were: selector, mask and TOP of the states before them. */
#include <stdio.h>
#include <string.h>

#include "common/cpuid.h"
#include "recorder/insn/insn_pick.h"
#include "tests/wet/wet_fixture.h"
#include "tests/wet/wet_unit.h"
#include "wet/intervals.h"
#include <wetdbg/writes.h>

RUN(run_picks, GUEST)
RUN(run_x87, X87_GUEST)

/* Where a vector register's bytes from `first` on, a multiple of 16, are in an XSAVE image. */
static size_t vector_at(unsigned vector, unsigned first)
{
    if (vector >= 16)
        return wd_cpuid_ask(0xd, 7).ebx + 64 * (vector - 16) + first;
    if (first >= 32)
        return wd_cpuid_ask(0xd, 6).ebx + 32 * vector + first - 32;
    return first >= 16 ? wd_cpuid_ask(0xd, 2).ebx + 16 * vector : 160 + 16 * vector;
}

static void assert_image(const uint8_t *image, size_t size, size_t at, const void *slots,
                         size_t bytes)
{
    assert_true(at + bytes <= size);
    assert_memory_equal(image + at, slots, bytes);
}

/* Bits of a mask register beyond the elements are perhaps left out of a slot. */
static void assert_mask(const uint8_t *image, const struct ins_choice *choice, uint64_t slot)
{
    uint64_t mask, elements = choice->bytes / choice->element_bytes;

    memcpy(&mask, image + wd_cpuid_ask(0xd, 5).ebx + 8 * choice->mask, sizeof(mask));
    assert_int_equal((mask ^ slot) & UINT64_MAX >> (64 - elements), 0);
}

static void pick_check(struct wetdbg_state *state, const struct ins_info *info,
                       const uint64_t *slots)
{
    const struct ins_choice *choice = &info->choice;
    const uint64_t *selector = slots + info->mem_count;
    uint8_t bytes[64];
    size_t size;
    const uint8_t *image = wetdbg_state_xstate(state, &size);

    if (choice->selector == INS_PLACE_MEMORY) {
        ok(wetdbg_state_read(state, slots[0], bytes, ins_selector_bytes(choice)));
        assert_memory_equal(bytes, selector, ins_selector_bytes(choice));
    }
    for (unsigned at = 0; at < choice->bytes && choice->selector < INS_PLACE_MEMORY; at += 16)
        assert_image(image, size, vector_at(choice->selector, at), selector + at / 8, 16);
    if (choice->mask != INS_PLACE_NONE)
        assert_mask(image, choice, selector[choice->slots - 1]);
}

static void top_check(struct wetdbg_state *state, const struct ins_info *info,
                      const uint64_t *slots)
{
    size_t size;
    const uint8_t *image = wetdbg_state_xstate(state, &size);
    uint16_t status;

    assert_true(size >= 4);
    memcpy(&status, image + 2, sizeof(status));
    assert_int_equal(slots[info->mem_count] >> 11 & 7, status >> 11 & 7);
}

/* Checks the choices of a kind in an interval; returns how many. */
static unsigned interval_check(struct wetdbg *wet, const struct wet_interval *interval,
                               enum ins_choice_kind kind)
{
    struct wetdbg_state *state;
    unsigned checked = 0;

    ok(wetdbg_state_open(wet, interval->first_time, &state));
    for (size_t i = 0; i < interval->exec_count; i++) {
        const struct wet_exec *exec = &interval->execs[i];
        const struct wet_node *node = wet_get_node(wet, exec->node);
        for (uint32_t s = 0; s < node->statement_count; s++) {
            wetdbg_time time = interval->first_time + exec->time_off + s;
            if (node->statements[s].info->choice.kind != kind)
                continue;
            if (time > interval->first_time)
                ok(wetdbg_state_advance(state, time));
            (kind == INS_CHOICE_BYTES ? pick_check : top_check)(state, node->statements[s].info,
                                                                interval->slots + exec->slot_off +
                                                                    node->statements[s].slot);
            checked++;
        }
    }
    wetdbg_state_close(state);
    return checked;
}

static unsigned run_check(struct wetdbg *wet, enum ins_choice_kind kind)
{
    unsigned checked = 0;

    for (uint64_t k = 0; k < wetdbg_get_info(wet)->intervals; k++) {
        const struct wet_interval *interval;
        ok(wet_interval_get(wet, k, &interval));
        checked += interval_check(wet, interval, kind);
        wet_interval_put(wet, interval);
    }
    return checked;
}

static void slots_say_what_chose(void **state)
{
    const struct fixture *fixture = *state;

    assert_true(run_check(fixture->whole, INS_CHOICE_BYTES) >= 5);
    assert_true(run_check(fixture->cut, INS_CHOICE_BYTES) >= 5);
}

static void slots_say_what_top_was(void **state)
{
    const struct fixture *fixture = *state;

    assert_true(run_check(fixture->whole, INS_CHOICE_TOP) >= 60);
    assert_true(run_check(fixture->cut, INS_CHOICE_TOP) >= 60);
}

struct seen {
    wetdbg_time time;
    unsigned writes;
};

static int see_write(void *arg, const struct wetdbg_write *write)
{
    struct seen *seen = arg;

    assert_int_equal(write->time, seen->time);
    assert_false(write->is_maybe);
    seen->writes++;
    return 0;
}

/* Of a masked store those bytes are said to be written that its mask chose, for sure, and no
 * others. Returns how many were left out. */
static unsigned store_check(struct wetdbg_write_finder *finder, uint64_t k, wetdbg_time time,
                            const struct ins_info *info, const uint64_t *slots)
{
    struct ins_pick pick;
    unsigned left_out = 0;

    ins_pick_get(info, slots, &pick);
    for (unsigned i = 0; i < info->choice.bytes; i++) {
        const struct wetdbg_range byte = {slots[0] + i, slots[0] + i + 1};
        struct seen seen = {.time = time};
        bool is_kept = pick.place[i] == INS_PLACE_KEPT;
        ok(wetdbg_writes_each(finder, k, &byte, time, time, false, see_write, &seen));
        assert_int_equal(seen.writes, !is_kept);
        left_out += is_kept;
    }
    return left_out;
}

static void masked_stores_write_what_was_chosen(void **state)
{
    const struct fixture *fixture = *state;
    struct wetdbg_write_finder *finder;
    const struct wet_interval *interval;
    unsigned left_out = 0;

    ok(wetdbg_write_finder_open(fixture->whole, &finder));
    for (uint64_t k = 0; k < wetdbg_get_info(fixture->whole)->intervals; k++) {
        ok(wet_interval_get(fixture->whole, k, &interval));
        for (size_t i = 0; i < interval->exec_count; i++) {
            const struct wet_exec *exec = &interval->execs[i];
            const struct wet_node *node = wet_get_node(fixture->whole, exec->node);
            for (uint32_t s = 0; s < node->statement_count; s++) {
                const struct ins_info *info = node->statements[s].info;
                if (ins_is_pick(info) && info->choice.to == INS_PLACE_MEMORY)
                    left_out +=
                        store_check(finder, k, interval->first_time + exec->time_off + s, info,
                                    interval->slots + exec->slot_off + node->statements[s].slot);
            }
        }
        wet_interval_put(fixture->whole, interval);
    }
    wetdbg_write_finder_close(finder);
    assert_true(left_out >= 8); /* maskmovdqu's */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(slots_say_what_chose, run_picks, fixture_close),
        cmocka_unit_test_setup_teardown(masked_stores_write_what_was_chosen, run_picks,
                                        fixture_close),
        cmocka_unit_test_setup_teardown(slots_say_what_top_was, run_x87, fixture_close),
    };
    return cmocka_run_group_tests_name("wet_picks", tests, NULL, NULL);
}
