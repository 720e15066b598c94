/* SPDX-License-Identifier: GPL-3.0-or-later */
/* States agree with the slots of their interval, and outputs with what the program wrote. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/wet/wet_fixture.h"
#include "tests/wet/wet_unit.h"
#include "wet/intervals.h"
#include <wetdbg/errors.h>

RUN(run_printf, PROGRAMS "/prog_printf_O0_pie")
RUN(run_signals, PROGRAMS "/prog_signals_O0_pie")
RUN(run_heap, PROGRAMS "/prog_heap_O2_pie")
RUN(run_outputs, GUEST)
RUN(run_gzip, "gzip", "-c", LICENSE)

/* ---- states and slots ---- */

/* Where the registers say that an operand lies; false for the kinds that need more than that. */
static bool operand_address(const struct ins_mem *mem, const struct evq_regs *regs,
                            uint64_t *address)
{
    const unsigned odd = INS_MEM_VSIB32 | INS_MEM_VSIB64 | INS_MEM_BIT_OFFSET | INS_MEM_INDEX_BYTE |
                         INS_MEM_ADDR32 | INS_MEM_LINE;
    if (mem->flags & odd)
        return false;
    *address = (uint64_t)mem->disp;
    if (mem->base >= 0)
        *address += regs->r[evq_reg_of_gpr[mem->base]];
    if (mem->index >= 0)
        *address += regs->r[evq_reg_of_gpr[mem->index]] * mem->scale;
    if (mem->flags & INS_MEM_FS)
        *address += regs->r[EVQ_FS_BASE];
    return true;
}

/* The execution that holds time t in its interval, and the statement. */
static const struct wet_exec *exec_at(struct wetdbg *wet, const struct wet_interval *interval,
                                      wetdbg_time t, uint32_t *statement)
{
    for (size_t i = interval->exec_count; i-- > 0;) {
        const struct wet_exec *exec = &interval->execs[i];
        if (interval->first_time + exec->time_off > t)
            continue;
        *statement = (uint32_t)(t - interval->first_time - exec->time_off);
        assert_in_range(*statement, 0, wet_get_node(wet, exec->node)->statement_count - 1);
        return exec;
    }
    fail_msg("no execution at time %llu", (unsigned long long)t);
    return NULL;
}

/* A push's value is found on the stack one instruction later; a return goes where the stack
 * said. */
static void assert_stack_agrees(struct wetdbg *wet, struct wetdbg_state *before,
                                const struct wet_statement *statement, const uint8_t *code,
                                wetdbg_time t, uint64_t address)
{
    const struct evq_regs *regs = wet_state_regs(before);
    bool push = *code >= 0x50 && *code < 0x58, ret = *code == 0xc3;
    struct wetdbg_state *after;
    uint64_t value;
    if (!(push || ret) || t == wetdbg_get_info(wet)->instructions || statement->slot_count != 1)
        return;
    struct evq_regs was = *regs;
    if (ret)
        ok(wetdbg_state_read(before, address, &value, 8));
    ok(wetdbg_state_open(wet, t + 1, &after));
    if (push) {
        ok(wetdbg_state_read(after, address, &value, 8));
        assert_int_equal(value, was.r[evq_reg_of_gpr[*code - 0x50]]);
        assert_int_equal(wet_state_regs(after)->r[EVQ_RSP], address);
    } else {
        assert_int_equal(value, wet_state_regs(after)->r[EVQ_RIP]);
        assert_int_equal(wet_state_regs(after)->r[EVQ_RSP], address + 8);
    }
    wetdbg_state_close(after);
}

static unsigned state_check(struct wetdbg *wet, wetdbg_time t)
{
    const struct wet_interval *interval;
    struct wetdbg_state *state;
    uint32_t at;
    unsigned checked = 0;
    ok(wet_interval_get(wet, wetdbg_interval_at(wet, t), &interval));
    ok(wetdbg_state_open(wet, t, &state));
    const struct wet_exec *exec = exec_at(wet, interval, t, &at);
    const struct wet_node *node = wet_get_node(wet, exec->node);
    const struct wet_statement *statement = &node->statements[at];
    const uint64_t *slots = interval->slots + exec->slot_off + statement->slot;
    uint8_t code[15] = {0};
    assert_int_equal(wet_state_regs(state)->r[EVQ_RIP], statement->pc);
    assert_int_equal(wetdbg_state_task(state), exec->task);
    ok(wetdbg_state_read(state, statement->pc, code, statement->info->length));
    assert_memory_equal(code, node->code + statement->byte_off, statement->info->length);
    for (unsigned m = 0; m < statement->info->mem_count; m++) {
        uint64_t address;
        if (m && statement->info->mems[m - 1].flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64))
            break;
        if (!operand_address(&statement->info->mems[m], wet_state_regs(state), &address))
            break;
        assert_int_equal(slots[m], address);
        checked++;
    }
    if (checked == 1)
        assert_stack_agrees(wet, state, statement, code, t, slots[0]);
    wetdbg_state_close(state);
    wet_interval_put(wet, interval);
    return checked;
}

static void state_agrees_with_the_slots_of_its_interval(void **state)
{
    const struct fixture *fixture = *state;
    struct wetdbg *wet = fixture->cut;
    const struct wetdbg_info *info = wetdbg_get_info(wet);
    uint64_t seed = unit_seed("times");
    unsigned checked = 0;
    for (unsigned i = 0; i < 120; i++)
        checked += state_check(wet, 1 + unit_random(&seed) % info->instructions);
    for (uint64_t k = 1; k < info->intervals && k < 20; k++) {
        const struct wet_interval *interval;
        ok(wet_interval_get(wet, k, &interval));
        wetdbg_time border = interval->first_time;
        wet_interval_put(wet, interval);
        checked += state_check(wet, border - 1) + state_check(wet, border);
    }
    assert_true(checked > 20);
}

#define CMOVS 60

/* Checks some of an interval's cmovs, at most `count` of them, against the flags of the states
 * before them; how often they took their operands goes to *taken. Returns how many. */
static unsigned cmovs_check(struct wetdbg *wet, const struct wet_interval *interval, unsigned count,
                            unsigned *taken)
{
    struct wetdbg_state *state;
    unsigned checked = 0;

    ok(wetdbg_state_open(wet, interval->first_time, &state));
    for (size_t i = 0; i < interval->exec_count && checked < count; i += 7) {
        const struct wet_exec *exec = &interval->execs[i];
        const struct wet_node *node = wet_get_node(wet, exec->node);
        for (uint32_t s = 0; s < node->statement_count && checked < count; s++) {
            const struct ins_info *info = node->statements[s].info;
            const uint64_t *slots = interval->slots + exec->slot_off + node->statements[s].slot;
            wetdbg_time time = interval->first_time + exec->time_off + s;
            if (!(info->flags & INS_IS_CMOV))
                continue;
            if (time > interval->first_time)
                ok(wetdbg_state_advance(state, time));
            const struct evq_regs *regs = wet_state_regs(state);
            assert_int_equal(regs->r[EVQ_RIP], node->statements[s].pc);
            assert_int_equal(slots[info->mem_count],
                             ins_condition_holds(info->condition, regs->r[EVQ_EFLAGS], 0));
            *taken += slots[info->mem_count] != 0;
            checked++;
        }
    }
    wetdbg_state_close(state);
    return checked;
}

static void the_slot_of_a_cmov_says_what_it_took(void **state)
{
    const struct fixture *fixture = *state;
    struct wetdbg *wet = fixture->whole;
    unsigned checked = 0, taken = 0;
    for (uint64_t k = 0; k < wetdbg_get_info(wet)->intervals; k++) {
        const struct wet_interval *interval;
        ok(wet_interval_get(wet, k, &interval));
        checked += cmovs_check(wet, interval, CMOVS, &taken);
        wet_interval_put(wet, interval);
    }
    assert_true(checked >= CMOVS && taken > 0 && taken < checked);
}

/* Both cuts of the run give the same state: registers, vector state, mappings, memory. */
static void assert_same_state(struct wetdbg *a_wet, struct wetdbg *b_wet, wetdbg_time t)
{
    struct wetdbg_state *a, *b;
    const struct wetdbg_mapping *x, *y;
    size_t x_count, y_count, a_bytes, b_bytes;
    ok(wetdbg_state_open(a_wet, t, &a));
    ok(wetdbg_state_open(b_wet, t, &b));
    assert_memory_equal(wet_state_regs(a), wet_state_regs(b), sizeof(struct evq_regs));
    assert_int_equal(wetdbg_state_task(a), wetdbg_state_task(b));
    const uint8_t *a_vectors = wetdbg_state_xstate(a, &a_bytes);
    const uint8_t *b_vectors = wetdbg_state_xstate(b, &b_bytes);
    assert_int_equal(a_bytes, b_bytes);
    assert_memory_equal(a_vectors + 160, b_vectors + 160, 256); /* xmm0..15 */
    ok(wetdbg_state_mappings(a, &x, &x_count));
    ok(wetdbg_state_mappings(b, &y, &y_count));
    assert_int_equal(x_count, y_count);
    for (size_t i = 0; i < x_count; i++) {
        assert_int_equal(x[i].start, y[i].start);
        assert_int_equal(x[i].end, y[i].end);
        assert_int_equal(x[i].prot, y[i].prot);
        assert_string_equal(x[i].name, y[i].name);
        size_t bytes = x[i].end - x[i].start;
        if (!(x[i].prot & 2) || bytes > 1 << 20)
            continue;
        uint8_t *p = malloc(bytes), *q = malloc(bytes);
        ok(wetdbg_state_read(a, x[i].start, p, bytes));
        ok(wetdbg_state_read(b, x[i].start, q, bytes));
        if (memcmp(p, q, bytes))
            fail_msg("memory of %#llx %s differs at time %llu", (unsigned long long)x[i].start,
                     x[i].name, (unsigned long long)t);
        free(p);
        free(q);
    }
    wetdbg_state_close(a);
    wetdbg_state_close(b);
}

static void state_does_not_depend_on_the_intervals(void **state)
{
    const struct fixture *fixture = *state;
    uint64_t seed = unit_seed("times"), last = wetdbg_get_info(fixture->whole)->instructions + 1;
    for (unsigned i = 0; i < 12; i++)
        assert_same_state(fixture->whole, fixture->cut, 1 + unit_random(&seed) % last);
    assert_same_state(fixture->whole, fixture->cut, 1);
    assert_same_state(fixture->whole, fixture->cut, last);
}

struct times {
    wetdbg_time list[64];
    size_t count;
};

/* Around events is where going on could differ from beginning again. */
static int note_event_time(void *arg, const struct wet_event *event)
{
    struct times *times = arg;
    for (unsigned i = 0; i < 2 && times->count < 60; i++)
        if (event->time + i >= 1 &&
            (!times->count || times->list[times->count - 1] < event->time + i))
            times->list[times->count++] = event->time + i;
    return 0;
}

static void assert_equal_to_a_new_state(struct wetdbg *wet, struct wetdbg_state *state,
                                        wetdbg_time t)
{
    struct wetdbg_state *fresh;
    uint8_t mine[512], other[512];
    ok(wetdbg_state_open(wet, t, &fresh));
    assert_memory_equal(wet_state_regs(state), wet_state_regs(fresh), sizeof(struct evq_regs));
    assert_int_equal(wetdbg_state_task(state), wetdbg_state_task(fresh));
    uint64_t stack = wet_state_regs(state)->r[EVQ_RSP];
    int one = wetdbg_state_read(state, stack, mine, sizeof(mine));
    assert_int_equal(wetdbg_state_read(fresh, stack, other, sizeof(other)), one);
    if (!one)
        assert_memory_equal(mine, other, sizeof(mine));
    wetdbg_state_close(fresh);
}

static int by_time(const void *a, const void *b)
{
    const wetdbg_time *one = a, *two = b;
    return *one < *two ? -1 : *one > *two;
}

/* The other wet is asked for the new states, so that nothing comes between two steps. */
static void state_that_goes_on_is_a_new_one(void **state)
{
    const struct fixture *fixture = *state;
    uint64_t seed = unit_seed("steps"), last = wetdbg_get_info(fixture->whole)->instructions + 1;
    struct times times = {.count = 0};
    struct wetdbg_state *walker;
    ok(wet_each_entry(fixture->whole, note_event_time, &times));
    while (times.count < 63)
        times.list[times.count++] = 1 + unit_random(&seed) % last;
    times.list[times.count++] = last;
    qsort(times.list, times.count, sizeof(times.list[0]), by_time);
    ok(wetdbg_state_open(fixture->cut, times.list[0], &walker));
    for (size_t i = 0; i < times.count; i++) {
        ok(wetdbg_state_advance(walker, times.list[i]));
        assert_equal_to_a_new_state(fixture->whole, walker, times.list[i]);
    }
    assert_int_equal(wetdbg_state_advance(walker, 1), -WETDBG_ERR_NOT_FOUND);
    wetdbg_state_close(walker);
}

/* ... and if something does, it goes on all the same. */
static void state_goes_on_after_another_question(void **state)
{
    const struct fixture *fixture = *state;
    struct wetdbg *wet = fixture->cut;
    uint64_t last = wetdbg_get_info(wet)->instructions + 1;
    struct wetdbg_state *walker, *other;
    ok(wetdbg_state_open(wet, last / 2, &walker));
    ok(wetdbg_state_open(wet, last / 5, &other));
    ok(wetdbg_state_advance(walker, last / 2 + 10));
    assert_equal_to_a_new_state(fixture->whole, walker, last / 2 + 10);
    assert_equal_to_a_new_state(fixture->whole, other, last / 5);
    wetdbg_state_close(other);
    wetdbg_state_close(walker);
}

/* Where the builder stopped, the code is often about to set the flags, and they are its own until
 * then. */
static void state_begins_with_the_program_s_flags(void **state)
{
    const struct fixture *fixture = *state;
    struct wetdbg *wet = fixture->cut;
    for (uint64_t k = 1; k < wetdbg_get_info(wet)->intervals && k < 20; k++) {
        const struct wet_interval *interval;
        ok(wet_interval_get(wet, k, &interval));
        wetdbg_time border = interval->first_time;
        wet_interval_put(wet, interval);
        for (wetdbg_time t = border; t < border + 3; t++) {
            struct wetdbg_state *here;
            ok(wetdbg_state_open(wet, t, &here));
            assert_equal_to_a_new_state(fixture->whole, here, t);
            wetdbg_state_close(here);
        }
    }
}

/* Two states at once: each reads its own time, though there is one replayee. */
static void states_at_two_times_are_read_in_turn(void **state)
{
    const struct fixture *fixture = *state;
    uint64_t last = wetdbg_get_info(fixture->cut)->instructions + 1, first_value = 0, value;
    struct wetdbg_state *early, *late;
    ok(wetdbg_state_open(fixture->cut, last / 3, &early));
    ok(wetdbg_state_open(fixture->cut, last, &late));
    struct evq_regs regs = *wet_state_regs(early);
    for (unsigned i = 0; i < 3; i++) {
        ok(wetdbg_state_read(early, regs.r[EVQ_RSP], &value, 8));
        first_value = i ? first_value : value;
        assert_int_equal(value, first_value);
        ok(wetdbg_state_read(late, wet_state_regs(late)->r[EVQ_RSP], &value, 8));
    }
    assert_memory_equal(&regs, wet_state_regs(early), sizeof(regs));
    wetdbg_state_close(early);
    wetdbg_state_close(late);
}

static void state_outside_the_run_or_memory_is_refused(void **state)
{
    const struct fixture *fixture = *state;
    uint64_t last = wetdbg_get_info(fixture->cut)->instructions + 1;
    const wetdbg_time wrong[] = {0, last + 1, UINT64_MAX};
    struct wetdbg_state *here;
    uint8_t bytes[64];
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(wetdbg_state_open(fixture->cut, wrong[i], &here), -WETDBG_ERR_NOT_FOUND);
    ok(wetdbg_state_open(fixture->cut, last / 2, &here));
    const uint64_t absent[] = {0, 0x10, 0x7fffffffffff, 0xffffffffff600000, UINT64_MAX - 8};
    for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++) {
        int err = wetdbg_state_read(here, absent[i], bytes, sizeof(bytes));
        assert_int_equal(err, -EFAULT);
        assert_non_null(strstr(wetdbg_error(err), "mapped"));
    }
    wetdbg_state_close(here);
}

/* ---- outputs ---- */

static void outputs_read_from_memory_are_what_was_written(void **state)
{
    const struct fixture *fixture = *state;
    size_t count, done = 0;
    const struct wetdbg_output *outputs = wetdbg_outputs(fixture->cut, &count);
    char *text = malloc(fixture->run.out_bytes + 1);
    wetdbg_time last = 0;
    for (size_t i = 0; i < count; i++) {
        struct wetdbg_state *here;
        assert_true(outputs[i].time >= last);
        last = outputs[i].time;
        if (outputs[i].fd != 1)
            continue;
        assert_int_equal(outputs[i].offset, done);
        assert_true(outputs[i].size <= fixture->run.out_bytes - done);
        ok(wetdbg_state_open(fixture->cut, outputs[i].time, &here));
        ok(wetdbg_state_read(here, outputs[i].address, text + done, outputs[i].size));
        wetdbg_state_close(here);
        done += outputs[i].size;
    }
    assert_int_equal(done, fixture->run.out_bytes);
    assert_memory_equal(text, fixture->run.out, done);
    free(text);
}

int main(void)
{
#define CASE(name, run)                                                                            \
    {                                                                                              \
#name " (" #run ")", name, run, fixture_close, NULL                                        \
    }
    const struct CMUnitTest tests[] = {
        CASE(state_agrees_with_the_slots_of_its_interval, run_printf),
        CASE(state_agrees_with_the_slots_of_its_interval, run_signals),
        CASE(state_agrees_with_the_slots_of_its_interval, run_gzip),
        CASE(the_slot_of_a_cmov_says_what_it_took, run_gzip),
        CASE(state_does_not_depend_on_the_intervals, run_heap),
        CASE(state_does_not_depend_on_the_intervals, run_signals),
        CASE(state_begins_with_the_program_s_flags, run_heap),
        CASE(state_begins_with_the_program_s_flags, run_signals),
        CASE(states_at_two_times_are_read_in_turn, run_printf),
        CASE(state_that_goes_on_is_a_new_one, run_printf),
        CASE(state_that_goes_on_is_a_new_one, run_signals),
        CASE(state_that_goes_on_is_a_new_one, run_heap),
        CASE(state_goes_on_after_another_question, run_gzip),
        CASE(state_outside_the_run_or_memory_is_refused, run_outputs),
        CASE(outputs_read_from_memory_are_what_was_written, run_outputs),
        CASE(outputs_read_from_memory_are_what_was_written, run_printf),
        CASE(outputs_read_from_memory_are_what_was_written, run_gzip),
    };
    return cmocka_run_group_tests_name("wetdbg_state", tests, NULL, NULL);
}
