/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which indirect jumps went where: what the engine noted on its way against what the ring says was
 * executed, and counting against collecting.
 */
#include <stdlib.h>
#include <string.h>

#include "recorder/insn/insn.h"
#include "tests/record/spawn.h"
#include "tests/replay/replay_unit.h"

#define STEP_INSTRUCTIONS (1u << 20)

struct pair {
    uint64_t jump, target;
};

#define LATEST 1024

struct pairs {
    struct pair *list;
    size_t count, capacity;
    struct pair latest[LATEST]; /* by hash: not added again */
};

/* A replay that looks at its ring. */
struct watch {
    struct unit_replay replay;
    struct rep_source source;
    struct pairs ran;    /* jumps and what was executed next */
    struct pairs broken; /* jumps after which an event came; no target */
    struct wd_buf stops; /* uint64_t: ring offsets of events in this run */
    uint64_t jump;       /* executed last; 0: that was no jump */
    struct wd_buf jumps; /* uint64_t: by fragment, 1 + the jump at its end */
};

static void pairs_add(struct pairs *pairs, uint64_t jump, uint64_t target)
{
    struct pair *latest = &pairs->latest[(jump * 31 + target * 7 + (target >> 7)) % LATEST];
    if (latest->jump == jump && latest->target == target)
        return;
    *latest = (struct pair){jump, target};
    if (pairs->count == pairs->capacity) {
        pairs->capacity = pairs->capacity ? pairs->capacity * 2 : 256;
        pairs->list = realloc(pairs->list, pairs->capacity * sizeof(*pairs->list));
        assert_non_null(pairs->list);
    }
    pairs->list[pairs->count++] = (struct pair){jump, target};
}

static int pair_order(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    if (x->jump != y->jump)
        return x->jump < y->jump ? -1 : 1;
    return x->target < y->target ? -1 : x->target > y->target;
}

static void pairs_settle(struct pairs *pairs)
{
    size_t to = 0;
    if (pairs->count)
        qsort(pairs->list, pairs->count, sizeof(*pairs->list), pair_order);
    for (size_t i = 0; i < pairs->count; i++) {
        if (!to || pair_order(&pairs->list[to - 1], &pairs->list[i]))
            pairs->list[to++] = pairs->list[i];
    }
    pairs->count = to;
}

static bool pairs_have(const struct pairs *pairs, struct pair pair)
{
    return pairs->count &&
           bsearch(&pair, pairs->list, pairs->count, sizeof(*pairs->list), pair_order) != NULL;
}

static int pair_take(void *arg, uint64_t jump, uint64_t target)
{
    struct pairs *pairs = arg;
    struct pair pair = {jump, target};
    if (pairs->count) /* in order, each once */
        assert_int_equal(pair_order(&pairs->list[pairs->count - 1], &pair), -1);
    pairs_add(pairs, jump, target);
    return 0;
}

static struct pairs pairs_noted(struct rep_engine *engine)
{
    struct pairs pairs = {0};
    unit_check(rep_engine_jumps(engine, pair_take, &pairs), "rep_engine_jumps");
    return pairs;
}

/* ---- what the ring says ---- */

static int watch_next(void *arg, struct wd_buf *out)
{
    return rep_feed_next(((struct watch *)arg)->replay.feed, out);
}

static int watch_taken(void *arg, const struct evq_entry *entry, uint64_t time, uint64_t ring_bytes)
{
    (void)entry;
    (void)time;
    return wd_buf_append(&((struct watch *)arg)->stops, &ring_bytes, sizeof(ring_bytes));
}

/* The address of the indirect jump at the end of a fragment; 0: it ends otherwise. */
static uint64_t jump_of(const struct dbi_fragment *fragment)
{
    struct ins_info info;
    unsigned at = 0;
    do {
        if (ins_decode(fragment->code + at, fragment->code_bytes - at, fragment->pc + at, &info))
            return 0;
        at += info.length;
    } while (at < fragment->code_bytes);
    return info.klass == INS_JMP_INDIRECT ? fragment->pc + at - info.length : 0;
}

static uint64_t jump_get(struct watch *watch, const struct dbi_fragment *fragment)
{
    static const uint64_t unknown[256] = {0};
    while (watch->jumps.size_bytes / sizeof(uint64_t) <= fragment->id)
        unit_check(wd_buf_append(&watch->jumps, unknown, sizeof(unknown)), "jumps");
    uint64_t *jump = (uint64_t *)watch->jumps.data + fragment->id;
    if (!*jump)
        *jump = 1 + jump_of(fragment);
    return *jump - 1;
}

static void ring_read(struct watch *watch)
{
    const uint64_t *stops = (const uint64_t *)watch->stops.data;
    size_t stop_count = watch->stops.size_bytes / sizeof(*stops), stop = 0, bytes;
    const uint64_t *ring = rep_engine_ring(watch->replay.engine, &bytes);
    for (size_t at = 0; at <= bytes / 8;) {
        bool is_stop = false;
        for (; stop < stop_count && stops[stop] <= at * 8; stop++)
            is_stop = true;
        if (is_stop && watch->jump) {
            pairs_add(&watch->broken, watch->jump, 0);
            watch->jump = 0;
        }
        if (at == bytes / 8)
            break;
        const struct dbi_fragment *fragment =
            rep_engine_fragment(watch->replay.engine, agt_ring_fragment(ring[at]));
        assert_non_null(fragment);
        if (watch->jump)
            pairs_add(&watch->ran, watch->jump, fragment->pc);
        watch->jump = jump_get(watch, fragment);
        at += 1 + fragment->word_count;
    }
    watch->stops.size_bytes = 0;
    pairs_settle(&watch->ran);
    pairs_settle(&watch->broken);
}

static void watch_run(struct watch *watch, const char *dir)
{
    enum rep_stop why = REP_STOP_TIME;
    unsigned runs = 0;
    *watch = (struct watch){.source = {.next = watch_next, .taken = watch_taken, .arg = watch}};
    unit_check(unit_open(&watch->replay, dir, NULL, DBI_COLLECT), dir);
    while (why == REP_STOP_TIME) {
        /* some of the runs end at the very instruction, by fragments that go by no table */
        bool exact = ++runs % 3 == 0;
        unit_check(rep_engine_run(watch->replay.engine, &watch->source,
                                  STEP_INSTRUCTIONS + (exact ? runs : 0), exact, &why),
                   dir);
        ring_read(watch);
    }
}

static void watch_end(struct watch *watch)
{
    unit_close(&watch->replay);
    wd_buf_fini(&watch->stops);
    wd_buf_fini(&watch->jumps);
    free(watch->ran.list);
    free(watch->broken.list);
}

/* ---- comparing ---- */

static void pair_fail(const char *what, struct pair pair)
{
    fail_msg("%#llx -> %#llx: %s", (unsigned long long)pair.jump, (unsigned long long)pair.target,
             what);
}

/* A target that is not known from the ring must be one after an event. */
static void noted_as_executed(const struct watch *watch, const struct pairs *noted)
{
    for (size_t i = 0; i < watch->ran.count; i++) {
        if (!pairs_have(noted, watch->ran.list[i]))
            pair_fail("executed, not noted", watch->ran.list[i]);
    }
    for (size_t i = 0; i < noted->count; i++) {
        struct pair any = {noted->list[i].jump, 0};
        if (!pairs_have(&watch->ran, noted->list[i]) && !pairs_have(&watch->broken, any))
            pair_fail("noted, not executed", noted->list[i]);
    }
}

static struct pairs counted_pairs(const char *dir)
{
    struct unit_replay replay;
    unit_check(unit_open(&replay, dir, NULL, DBI_COUNT), dir);
    unit_check(unit_run_to_end(&replay), dir);
    struct pairs pairs = pairs_noted(replay.engine);
    unit_close(&replay);
    return pairs;
}

/* Returns how many pairs there are. */
static size_t jumps_compare(const char *dir)
{
    struct watch watch;
    watch_run(&watch, dir);
    struct pairs noted = pairs_noted(watch.replay.engine), counted = counted_pairs(dir);
    size_t count = noted.count;
    noted_as_executed(&watch, &noted);
    assert_int_equal(counted.count, count);
    for (size_t i = 0; i < count; i++) {
        if (pair_order(&counted.list[i], &noted.list[i]))
            pair_fail("noted when collecting, not when counting", noted.list[i]);
    }
    free(noted.list);
    free(counted.list);
    watch_end(&watch);
    return count;
}

static size_t program_compare(const char *name, const char *program, const char *argument,
                              const char *second)
{
    const char *argv[] = {program, argument, second, NULL};
    char *dir = unit_record(unit_work, name, argv);
    size_t count = jumps_compare(dir);
    print_message("%-24s %zu pairs\n", name, count);
    free(dir);
    return count;
}

static void tables_of_every_size_note_all_targets(void **state)
{
    (void)state;
    /* 7 handlers that go to 7, 160 labels, 6 stubs that share their low 32 bits */
    assert_true(program_compare("jumps", GUEST_JUMPS, NULL, NULL) >= 7 * 6 + 160 + 6);
}

static void jumps_of_generated_code_are_noted(void **state)
{
    static const char *const cases[] = {"rewritten", "either_or", "mapped", "interrupted"};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_true(program_compare(cases[i], GUEST_GENERATED, cases[i], NULL) > 0);
    assert_true(program_compare("libraries", GUEST_GENERATED, "libraries", LIBRARIES) > 0);
}

static void jumps_between_events_of_any_time_are_noted(void **state)
{
    static const char *const names[] = {"prog_switch_O2_pie",   "prog_fnptr_O2_pie",
                                        "prog_segvjump_O2_pie", "thread_queue_O2_pie",
                                        "signal_ticker_O2_pie", "signal_heap_O0_static"};
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char program[512];
        snprintf(program, sizeof(program), "%s/%s", PROGRAMS_DIR, names[i]);
        assert_true(program_compare(names[i], program, NULL, NULL) > 0);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_of_every_size_note_all_targets),
        cmocka_unit_test(jumps_of_generated_code_are_noted),
        cmocka_unit_test(jumps_between_events_of_any_time_are_noted),
    };
    if (argc > 1) { /* a recording of one's own */
        printf("%zu pairs\n", jumps_compare(argv[1]));
        return 0;
    }
    return cmocka_run_group_tests(tests, unit_work_new, unit_work_remove);
}
