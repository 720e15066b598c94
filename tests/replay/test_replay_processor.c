/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What replay needs to know of the recording's processor: answers of CPUID that no table lists, and
 * features that this one lacks. Recordings of other processors are made by altering headers.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/agent/cpuid_answer.h"
#include "recorder/feed/feed_cpu.h"
#include "tests/replay/replay_unit.h"
#include <wetdbg/errors.h>

/* ---- answers from a table made up ---- */

#define INTEL 0x756e6547
#define AMD   0x68747541
#define WHOLE AGT_CPUID_NO_SUBLEAF

static struct agt_cpuid table[] = {
    {0, WHOLE, 0x1f, INTEL, 0, 0},
    {2, WHOLE, 2, 0, 0, 0},
    {7, 0, 0x70, 0, 0, 0},
    {7, 1, 0x71, 0, 0, 0},
    {0x1e, WHOLE, 0x1e0, 0, 0, 0},
    {0x1f, WHOLE, 0x1f0, 0, 0, 0},
    {0x40000000, WHOLE, 0x40000001, 0, 0, 0},
    {0x80000000, WHOLE, 0x80000008, 0, 0, 0},
};
#define COUNT (sizeof(table) / sizeof(*table))

static void table_answers_only_what_follows(void **state)
{
    static const struct {
        uint32_t vendor, leaf, subleaf;
        bool is_found;
        uint32_t eax;
    } rows[] = {
        {INTEL, 2, 0, true, 2},
        {INTEL, 2, 9, true, 2}, /* it has no subleaves */
        {INTEL, 7, 1, true, 0x71},
        {INTEL, 7, 2, true, 0},
        {INTEL, 0x1e, 0, true, 0x1e0},
        {INTEL, 0x1e, 1, false, 0}, /* of which the recorder did not know */
        {INTEL, 0x20, 0, true, 0x1f0},
        {INTEL, 0x20, 1, false, 0}, /* as the last basic one */
        {INTEL, 0x80000009, 0, true, 0x1f0},
        {AMD, 0x20, 1, true, 0},
        {AMD, 0x80000009, 3, true, 0},
        {AMD, 9, 0, false, 0},
        {INTEL, 0x40000002, 0, false, 0},
        {1, 0x20, 0, false, 0},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct agt_cpuid answer = {0};
        table[0].ebx = rows[i].vendor;
        bool is_found = agt_cpuid_find(table, COUNT, rows[i].leaf, rows[i].subleaf, &answer);
        if (is_found != rows[i].is_found || (is_found && answer.eax != rows[i].eax))
            fail_msg("row %u: %sfound, %#x", i, is_found ? "" : "not ", answer.eax);
    }
    struct agt_cpuid answer;
    assert_false(agt_cpuid_find(table, 0, 0x20, 0, &answer));
}

/* ---- recordings ---- */

static bool has_faulting;

/* Another processor's name, which nobody asks for. */
static void other_name(struct rrt_header *header)
{
    has_faulting = header->has_cpuid_faulting;
    for (size_t i = 0; i < header->cpuid_count; i++)
        if (header->cpuid[i].eax_in == 0x80000002)
            ((struct rrt_cpuid *)header->cpuid)[i].eax ^= 1;
}

/* TBM, which few processors had, and no C library asks for. */
static void more_features(struct rrt_header *header)
{
    for (size_t i = 0; i < header->cpuid_count; i++)
        if (header->cpuid[i].eax_in == 0x80000001)
            ((struct rrt_cpuid *)header->cpuid)[i].ecx |= 1u << 21;
}

/* Gives the recording all that XCR0 may have. */
static void more_state(struct rrt_header *header)
{
    header->xcr0 |= 3ull << 17 | 7u << 5;
}

static void unaltered(struct rrt_header *header)
{
    has_faulting = header->has_cpuid_faulting;
}

static char *record(const char *what)
{
    const char *argv[] = {GUEST, what, NULL};
    return unit_record(unit_work, what, argv);
}

struct other_signal {
    struct rep_feed *feed;
    bool is_wanted;
};

static int signal_next(void *arg, struct wd_buf *out)
{
    struct other_signal *other = arg;
    size_t from = out->size_bytes;
    int more = rep_feed_next(other->feed, out);
    struct evq_entry *entry = (struct evq_entry *)(out->data + from);
    if (more > 0 && other->is_wanted && entry->kind == EVQ_FAULT && entry->number == SIGILL)
        entry->number = SIGBUS;
    return more;
}

static int run(const char *dir, void (*alter)(struct rrt_header *header), bool alters_signal)
{
    struct unit_replay replay;
    enum rep_stop why = REP_STOP_TIME;
    int err = unit_open_altered(&replay, dir, alter, DBI_PLAIN);
    struct other_signal other = {.feed = replay.feed, .is_wanted = alters_signal};
    struct rep_source source = {.next = signal_next, .arg = &other};
    while (!err && why == REP_STOP_TIME)
        err = rep_engine_run(replay.engine, &source, 1 << 20, false, &why);
    unit_close(&replay);
    return err;
}

static void refused_with(int err, const char *const words[])
{
    const char *message = wetdbg_error(err);
    if (err != -WETDBG_ERR_UNSUPPORTED)
        fail_msg("result %d: %s", err, message);
    for (; *words; words++)
        if (!strstr(message, *words))
            fail_msg("\"%s\" does not say \"%s\"", message, *words);
}

static void skip_where_cpuid_faults(void)
{
    if (!has_faulting)
        return;
    printf("SKIPPED: test_replay_processor: recordings of this machine have cpuid as events\n");
    skip();
}

static void unlisted_leaf_is_asked_here_if_this_is_the_recorded_processor(void **state)
{
    (void)state;
    char *dir = record("leaves");
    unit_check(run(dir, unaltered, false), "leaves");
    if (!has_faulting)
        refused_with(run(dir, other_name, false),
                     (const char *const[]){"leaf 0xb, subleaf 0x3", "not the recorded", NULL});
    free(dir);
    skip_where_cpuid_faults();
}

static void state_in_use_is_refused_by_name(void **state)
{
    (void)state;
    char *dir = record("xgetbv");
    int err = run(dir, unaltered, false);
    free(dir);
    if (!err) {
        printf("SKIPPED: test_replay_processor: this processor does not tell what is in use\n");
        skip();
    }
    refused_with(err, (const char *const[]){"xgetbv", "register 1", NULL});
}

static void features_count_only_if_they_are_used(void **state)
{
    (void)state;
    char *dir = record("xstore");
    unit_check(run(dir, unaltered, false), "unaltered");
    unit_check(run(dir, more_features, false), "nothing is used of what is lacking");
    const char *argv[] = {GUEST_WITHOUT_LIBC, NULL};
    char *other_dir = unit_record(unit_work, "state", argv);
    unit_check(run(other_dir, more_state, false), "state that is not in use");
    free(other_dir);
    int err = run(dir, unaltered, true);
    assert_int_equal(err, -WETDBG_ERR_DIVERGED);
    refused_with(run(dir, more_features, true),
                 (const char *const[]){"xstore", "which lacks ", "TBM", "replay it where",
                                       "record it again", NULL});
    free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_answers_only_what_follows),
        cmocka_unit_test(unlisted_leaf_is_asked_here_if_this_is_the_recorded_processor),
        cmocka_unit_test(state_in_use_is_refused_by_name),
        cmocka_unit_test(features_count_only_if_they_are_used),
    };
    return cmocka_run_group_tests(tests, unit_work_new, unit_work_remove);
}
