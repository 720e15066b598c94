/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a session keeps changes no answer: slices of a real run, one after the other with one
 * session, against the same without any.
 *
 * test_wet_slices FILE.wet COUNT does it with COUNT criteria of a run of one's own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bisect.h"
#include "slicer/forward/answers.h"
#include "slicer/forward/passage.h"
#include "slicer/scan/station.h"
#include "slicer/slice_priv.h"
#include "slicer/slicer.h"
#include "tests/wet/wet_fixture.h"
#include "tests/wet/wet_unit.h"

#define CRITERIA 60 /* of a run */
#define SOURCES  24

RUN(run_heap, PROGRAMS "/prog_heap_O2_pie")
RUN(run_printf, PROGRAMS "/prog_printf_O0_pie")
RUN(run_lazy, LAZY)
RUN(run_setjmp, PROGRAMS "/prog_setjmp_O2_pie")
RUN(run_threads, PROGRAMS "/thread_queue_O2_pie")
RUN(run_repalone, REPALONE)

static void assert_same_lines(const struct wetdbg_slice *a, const struct wetdbg_slice *b)
{
    size_t count, other_count;
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(a, &count),
                                   *others = wetdbg_slice_lines(b, &other_count);

    assert_int_equal(count, other_count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(lines[i].pc, others[i].pc);
        assert_int_equal(lines[i].instances, others[i].instances);
        assert_int_equal(lines[i].statements, others[i].statements);
        assert_int_equal(lines[i].first_time, others[i].first_time);
        assert_int_equal(lines[i].last_time, others[i].last_time);
    }
}

static void assert_same_initials(const struct wetdbg_slice *a, const struct wetdbg_slice *b)
{
    size_t count, other_count;
    const struct wetdbg_slice_initial *initials = wetdbg_slice_initials(a, &count);
    const struct wetdbg_slice_initial *others = wetdbg_slice_initials(b, &other_count);

    assert_int_equal(count, other_count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(initials[i].location, others[i].location);
        assert_int_equal(initials[i].task, others[i].task);
        assert_int_equal(initials[i].address, others[i].address);
        assert_int_equal(initials[i].size_bytes, others[i].size_bytes);
    }
}

static uint64_t members_of(const struct slc_share *share, size_t word)
{
    return share->bits ? share->bits[word] : 0;
}

static void assert_same_members(const struct wetdbg_slice *a, const struct wetdbg_slice *b)
{
    for (uint64_t k = 0; k < a->share_count; k++) {
        const struct slc_share *share = &a->shares[k], *other = &b->shares[k];
        uint64_t instructions = share->bits ? share->instructions : other->instructions;
        for (size_t i = 0; i < (instructions + 63) / 64; i++)
            if (members_of(share, i) != members_of(other, i))
                fail_msg("interval %llu, word %zu: %llx and %llx", (unsigned long long)k, i,
                         (unsigned long long)members_of(share, i),
                         (unsigned long long)members_of(other, i));
    }
}

static void assert_same(const struct wetdbg_slice *a, const struct wetdbg_slice *b)
{
    assert_int_equal(wetdbg_slice_get_counts(a)->instances, wetdbg_slice_get_counts(b)->instances);
    assert_same_members(a, b);
    assert_same_lines(a, b);
    assert_same_initials(a, b);
}

/* Of registers before an instruction, or (NULL) of all that it uses. */
static void check(struct wetdbg *wet, struct wetdbg_slice_session *session, wetdbg_time time,
                  const struct ins_regset *regs, struct wetdbg_slice_options options)
{
    struct wetdbg_criterion *criterion;
    struct wetdbg_slice *warm, *cold;

    ok(slc_criterion_of_places(wet, time, regs, 0, 0, &criterion));
    ok(wetdbg_slice_backward(wet, criterion, &options, &cold));
    options.session = session;
    ok(wetdbg_slice_backward(wet, criterion, &options, &warm));
    assert_same(cold, warm);
    wetdbg_slice_free(warm);
    wetdbg_slice_free(cold);
    wetdbg_criterion_free(criterion);
}

/* Sessions that are asked the same in the same order; their stretches have other lengths, and all
 * but the first one join nodes wherever they can (slicer/scan/joined.h). */
#define SESSIONS 3

struct order {
    struct wetdbg *wet;
    struct wetdbg_slice_session *sessions[SESSIONS];
    wetdbg_time times[16]; /* that were asked about lately */
    unsigned asked;
    uint64_t seed;
};

static void order_begin(struct order *order, struct wetdbg *wet, const unsigned bits[SESSIONS],
                        uint64_t seed)
{
    *order = (struct order){.wet = wet, .seed = seed};
    for (unsigned i = 0; i < SESSIONS; i++) {
        ok(wetdbg_slice_session_new(wet, &order->sessions[i]));
        order->sessions[i]->stretch_bits = bits[i];
        order->sessions[i]->join_mask = i ? 1 : 0;
    }
}

static void order_end(struct order *order)
{
    uint64_t taken = 0;

    for (unsigned i = 0; i < SESSIONS; i++) {
        taken += order->sessions[i]->taken;
        assert_int_equal(order->sessions[i]->codes[SLC_CODE_ADDRESSES].joined_count != 0, i != 0);
        wetdbg_slice_session_free(order->sessions[i]);
    }
    assert_true(taken > 0);
}

/* One of the whole run, one near a time that was asked about before, or that time again. */
static wetdbg_time next_time(struct order *order)
{
    uint64_t end = wetdbg_get_info(order->wet)->instructions, how = unit_random(&order->seed) % 8;
    wetdbg_time time = 1 + unit_random(&order->seed) % end;

    if (order->asked && how < 4)
        time = order->times[unit_random(&order->seed) % (order->asked < 16 ? order->asked : 16)];
    if (how < 3)
        time += unit_random(&order->seed) % 2000;
    if (time > end)
        time = end;
    order->times[order->asked++ % 16] = time;
    return time;
}

static struct wetdbg_slice_options next_options(struct order *order)
{
    static const enum wetdbg_slice_kinds kinds[] = {
        WETDBG_SLICE_FULL, WETDBG_SLICE_FULL, WETDBG_SLICE_FULL,    WETDBG_SLICE_FULL,
        WETDBG_SLICE_FULL, WETDBG_SLICE_DATA, WETDBG_SLICE_CONTROL, WETDBG_SLICE_THIN};
    uint64_t dice = unit_random(&order->seed);

    return (struct wetdbg_slice_options){.kinds = kinds[dice % 8],
                                         .no_bypass = dice / 8 % 8 == 0,
                                         .loader = dice / 64 % 8 == 0,
                                         .no_exits = dice / 512 % 8 == 0};
}

/* The same question to each session, and to none. */
static void ask(struct order *order)
{
    wetdbg_time time = next_time(order);
    struct wetdbg_slice_options options = next_options(order);
    struct wetdbg_criterion *criterion;
    struct wetdbg_slice *cold, *warm;

    ok(slc_criterion_of_places(order->wet, time, NULL, 0, 0, &criterion));
    ok(wetdbg_slice_backward(order->wet, criterion, &options, &cold));
    for (unsigned i = 0; i < SESSIONS; i++) {
        options.session = order->sessions[i];
        ok(wetdbg_slice_backward(order->wet, criterion, &options, &warm));
        assert_same(cold, warm);
        ok(slc_stations_validate(order->sessions[i]));
        wetdbg_slice_free(warm);
    }
    wetdbg_slice_free(cold);
    wetdbg_criterion_free(criterion);
}

static void check_run(struct wetdbg *wet, const unsigned bits[SESSIONS], unsigned criteria,
                      uint64_t seed)
{
    struct order order;

    order_begin(&order, wet, bits, seed);
    for (unsigned i = 0; i < criteria; i++)
        ask(&order);
    order_end(&order);
}

static void slices_are_the_same_with_a_session(void **state)
{
    const struct fixture *fixture = *state;

    check_run(fixture->cut, (const unsigned[SESSIONS]){7, 10, 13}, CRITERIA, unit_seed("criteria"));
}

static bool is_rep(const struct wet_statement *statement)
{
    return statement->info->mem_count && statement->info->mems[0].flags & INS_MEM_REP;
}

/* A rep instruction is followed by itself, not as part of its node. Where it is all of a stretch
 * that is in the slice, what is kept of the stretch has it. */
static void stretches_have_members_that_no_memo_has(void **state)
{
    const struct fixture *fixture = *state;
    struct wetdbg *wet = fixture->cut;
    const struct wetdbg_slice_options options = {.kinds = WETDBG_SLICE_FULL};
    struct ins_regset rdi = {0};
    unsigned tried = 0;

    ins_regset_add_gpr(&rdi, INS_RDI, 0, 8);
    for (uint64_t k = 0; k < wetdbg_get_info(wet)->intervals; k++) {
        const struct wet_interval *interval;
        ok(wet_interval_get(wet, k, &interval));
        for (size_t i = 0; i + 1 < interval->exec_count && tried < 8; i++) {
            struct wetdbg_slice_session *session;
            if (!is_rep(wet_get_node(wet, interval->execs[i].node)->statements))
                continue;
            ok(wetdbg_slice_session_new(wet, &session));
            session->stretch_bits = 0; /* each execution is one */
            wetdbg_time next = interval->first_time + interval->execs[i + 1].time_off;
            check(wet, session, next, &rdi, options);
            uint64_t taken = session->taken;
            check(wet, session, next, &rdi, options);
            assert_true(session->taken > taken);
            wetdbg_slice_session_free(session);
            tried++;
        }
        wet_interval_put(wet, interval);
    }
    assert_true(tried >= 4);
}

/* ---- forward ---- */

static void assert_same_reached(const struct wetdbg_slice *a, const struct wetdbg_slice *b)
{
    size_t count, other_count;
    const struct wetdbg_slice_reached *reached = wetdbg_slice_get_reached(a, &count);
    const struct wetdbg_slice_reached *others = wetdbg_slice_get_reached(b, &other_count);

    assert_int_equal(count, other_count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(reached[i].fd, others[i].fd);
        assert_int_equal(reached[i].offset, others[i].offset);
        assert_int_equal(reached[i].size, others[i].size);
        assert_int_equal(reached[i].is_control, others[i].is_control);
    }
    assert_int_equal(wetdbg_slice_reaches_crash(a), wetdbg_slice_reaches_crash(b));
}

static struct wetdbg_slice *forward_slice(struct wetdbg *wet, wetdbg_time time,
                                          struct wetdbg_slice_options options)
{
    struct wetdbg_criterion *source;
    struct wetdbg_slice *slice;

    ok(slc_criterion_of_places(wet, time, NULL, 0, 0, &source));
    ok(wetdbg_slice_forward(wet, source, &options, &slice));
    wetdbg_criterion_free(source);
    return slice;
}

/* The end of a node's execution, where branches are: what a branch lets run is in no register. */
static wetdbg_time branch_after(struct wetdbg *wet, wetdbg_time time)
{
    const struct wet_interval *interval;

    ok(wet_interval_get(wet, wetdbg_interval_at(wet, time), &interval));
    size_t at = wd_bisect(0, interval->exec_count, i,
                          interval->first_time + interval->execs[i].time_off <= time);
    wetdbg_time end =
        interval->first_time +
        (at < interval->exec_count ? interval->execs[at].time_off : interval->instructions);
    wet_interval_put(wet, interval);
    return end - 1;
}

/* What passages say must hold for sources in any order: earlier and later ones, near and far ones,
 * again and again, slices of other kinds and backward ones in between. */
static void check_forward_run(struct wetdbg *wet, unsigned stretch_bits, unsigned sources,
                              uint64_t seed)
{
    static const struct wetdbg_slice_options others[] = {
        {.kinds = WETDBG_SLICE_FULL, .no_bypass = true},
        {.kinds = WETDBG_SLICE_DATA},
        {.kinds = WETDBG_SLICE_FULL, .loader = true},
        {.kinds = WETDBG_SLICE_FULL, .no_exits = true}};
    uint64_t end = wetdbg_get_info(wet)->instructions;
    struct wetdbg_slice_session *session;
    wetdbg_time times[64];

    assert_in_range(sources, 1, 64);
    ok(wetdbg_slice_session_new(wet, &session));
    session->stretch_bits = stretch_bits;
    for (unsigned i = 0; i < sources; i++) {
        times[i] = i % 3 ? 1 + (times[i - 1] + unit_random(&seed) % 2000) % end
                         : 1 + unit_random(&seed) % end;
        if (i % 2)
            times[i] = branch_after(wet, times[i]);
    }
    for (unsigned i = 0; i < 2 * sources; i++) {
        wetdbg_time time = times[unit_random(&seed) % sources];
        struct wetdbg_slice_options options = {.kinds = WETDBG_SLICE_FULL};
        if (i % 5 == 4)
            options = others[i / 5 % 4];
        struct wetdbg_slice *cold = forward_slice(wet, time, options);
        options.session = session;
        struct wetdbg_slice *warm = forward_slice(wet, time, options);
        struct wetdbg_slice *again = forward_slice(wet, time, options);
        assert_ptr_equal(warm, again);
        wetdbg_slice_free(again);
        if (i % 3)
            slc_answers_free(session);
        assert_same(cold, warm);
        assert_same_reached(cold, warm);
        wetdbg_slice_free(warm);
        wetdbg_slice_free(cold);
        if (i % 7 == 6)
            check(wet, session, time, NULL,
                  (struct wetdbg_slice_options){.kinds = WETDBG_SLICE_FULL});
        ok(slc_passages_validate(session->passages));
    }
    assert_true(session->passages->taken > 0);
    wetdbg_slice_session_free(session);
}

static void forward_slices_are_the_same_with_a_session(void **state)
{
    const struct fixture *fixture = *state;
    uint64_t seed = unit_seed("sources");

    for (unsigned bits = 5; bits <= 13; bits += 4)
        check_forward_run(fixture->cut, bits, SOURCES, seed + bits);
}

/* ---- where scans begin ---- */

static uint64_t scanned_by(struct wetdbg *wet, wetdbg_time time,
                           struct wetdbg_slice_session *session)
{
    struct wetdbg_slice_options options = {.kinds = WETDBG_SLICE_FULL, .session = session};
    struct wetdbg_criterion *criterion;
    struct wetdbg_slice *slice;

    ok(slc_criterion_of_places(wet, time, NULL, 0, 0, &criterion));
    ok(wetdbg_slice_backward(wet, criterion, &options, &slice));
    uint64_t scanned = wetdbg_slice_get_counts(slice)->scanned;
    wetdbg_slice_free(slice);
    wetdbg_criterion_free(criterion);
    return scanned;
}

/* A criterion within the last node that an interval executes: what comes after it there is not its
 * past. */
static void no_scan_begins_after_its_criterion(void **state)
{
    const struct fixture *fixture = *state;
    struct wetdbg *wet = fixture->cut;
    unsigned tried = 0;

    for (uint64_t k = 0; k < wetdbg_get_info(wet)->intervals && tried < 6; k++) {
        const struct wet_interval *interval;
        struct wetdbg_slice_session *session;
        ok(wet_interval_get(wet, k, &interval));
        wetdbg_time end = interval->first_time + interval->instructions;
        wetdbg_time begin =
            interval->first_time + interval->execs[interval->exec_count - 1].time_off;
        wet_interval_put(wet, interval);
        if (end - begin < 2)
            continue;
        ok(wetdbg_slice_session_new(wet, &session));
        assert_int_equal(scanned_by(wet, begin, session), scanned_by(wet, begin, NULL));
        wetdbg_slice_session_free(session);
        tried++;
    }
    assert_true(tried > 0);
}

/* The linker's xsave perhaps writes to slots of saved registers; whoever does not follow the linker
 * does not learn of that from whoever did. */
static void following_the_linker_changes_no_other_slice(void **state)
{
    const struct fixture *fixture = *state;
    struct wetdbg_slice_options options = {.kinds = WETDBG_SLICE_FULL};
    struct wetdbg_criterion *criterion;
    struct wetdbg_slice *cold, *followed, *warm;

    ok(wetdbg_criterion_parse(fixture->cut, "exit", NULL, &criterion));
    ok(wetdbg_slice_backward(fixture->cut, criterion, &options, &cold));
    ok(wetdbg_slice_session_new(fixture->cut, &options.session));
    options.loader = true;
    ok(wetdbg_slice_backward(fixture->cut, criterion, &options, &followed));
    bool has_refused = wetdbg_slice_get_counts(followed)->passes > 1;
    options.loader = false;
    ok(wetdbg_slice_backward(fixture->cut, criterion, &options, &warm));
    assert_same(cold, warm);
    wetdbg_slice_free(warm);
    wetdbg_slice_free(followed);
    wetdbg_slice_free(cold);
    wetdbg_slice_session_free(options.session);
    wetdbg_criterion_free(criterion);
    if (has_refused)
        return;
    printf("SKIPPED: test_wet_slices: the dynamic linker bound nothing late, or without xsave\n");
    skip();
}

static int check_file(const char *path, unsigned count)
{
    struct wetdbg *wet;

    ok(wetdbg_open(path, &wet));
    check_run(wet, (const unsigned[SESSIONS]){14, 17, SLC_STRETCH_BITS}, count,
              unit_seed("criteria"));
    check_forward_run(wet, SLC_STRETCH_BITS, count, unit_seed("sources"));
    wetdbg_close(wet);
    printf("%s: %u criteria\n", path, count);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(slices_are_the_same_with_a_session, run_heap,
                                        fixture_close),
        cmocka_unit_test_setup_teardown(slices_are_the_same_with_a_session, run_printf,
                                        fixture_close),
        cmocka_unit_test_setup_teardown(slices_are_the_same_with_a_session, run_setjmp,
                                        fixture_close),
        cmocka_unit_test_setup_teardown(slices_are_the_same_with_a_session, run_threads,
                                        fixture_close),
        cmocka_unit_test_setup_teardown(stretches_have_members_that_no_memo_has, run_repalone,
                                        fixture_close),
        cmocka_unit_test_setup_teardown(forward_slices_are_the_same_with_a_session, run_heap,
                                        fixture_close),
        cmocka_unit_test_setup_teardown(forward_slices_are_the_same_with_a_session, run_printf,
                                        fixture_close),
        cmocka_unit_test_setup_teardown(no_scan_begins_after_its_criterion, run_heap,
                                        fixture_close),
        cmocka_unit_test_setup_teardown(following_the_linker_changes_no_other_slice, run_lazy,
                                        fixture_close),
    };

    if (argc == 3)
        return check_file(argv[1], (unsigned)strtoul(argv[2], NULL, 10));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
