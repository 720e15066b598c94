/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The wall: a program that uses addresses of ours, in every way, has the faults that it had where
 * nothing was mapped. What is recorded is the oracle: every fault has its address and all
 * registers.
 *
 * Pages of recorded faults are kept free by the feed, so here they are taken out of what it says:
 * only then is anything of ours where the program looks. That it is there shows without the wall.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>

#include "recorder/replay/start.h"
#include "tests/replay/replay_unit.h"
#include <wetdbg/errors.h>

#define FAULT_BYTES 0x8000 /* of pages that adjacent tries fall into, at most */

/* The agent's area is in the first window, the code cache of a program at 0x400000 in the
 * second. */
struct window {
    const char *name, *first, *last, *step;
};

static const struct window windows[] = {
    {"area", "0x1ffff0000000", "0x200200000000", "0x3000100"},
    {"context", "0x200083ffff80", "0x200084001000", "0x340"},
    {"agent", "0x2000d0400000", "0x2000d0500000", "0x10fc8"},
    {"code", "0x0ffffff8", "0x20001000", "0x7ff000"},
};
#define WINDOWS (sizeof(windows) / sizeof(windows[0]))

static char *recordings[WINDOWS];

static int record_all(void **state)
{
    unit_work_new(state);
    /* The heap begins behind the program then, and not somewhere in the gigabyte after it. */
    assert_int_not_equal(personality(ADDR_NO_RANDOMIZE), -1);
    for (size_t i = 0; i < WINDOWS; i++) {
        const struct window *is = &windows[i];
        recordings[i] = unit_record(
            unit_work, is->name, (const char *const[]){GUEST, is->first, is->last, is->step, NULL});
    }
    return 0;
}

static int forget_all(void **state)
{
    for (size_t i = 0; i < WINDOWS; i++)
        free(recordings[i]);
    return unit_work_remove(state);
}

/* The program's addresses but for those it only tried to use. */
static size_t spans_get(const struct rep_feed *feed, const struct window *window,
                        struct rep_span *spans)
{
    size_t count, kept = 0;
    const struct rep_range *ranges = rep_feed_ranges(feed, &count);
    uint64_t low = strtoull(window->first, NULL, 0) - (1 << 16);
    uint64_t high = strtoull(window->last, NULL, 0) + (1 << 16);
    for (size_t i = 0; i < count; i++) {
        bool is_tried = ranges[i].start >= low && ranges[i].end <= high &&
                        ranges[i].end - ranges[i].start <= FAULT_BYTES;
        bool is_fixed = ranges[i].start == 0x200012345000 && ranges[i].end == 0x200012346000;
        if (!is_tried && !is_fixed)
            spans[kept++] = (struct rep_span){ranges[i].start, ranges[i].end};
    }
    return kept;
}

/* Whether the area or code of ours is in the window. */
static bool is_ours_there(const struct rep_engine *engine, const struct window *window)
{
    char path[64], line[512];
    uint64_t low = strtoull(window->first, NULL, 0), high = strtoull(window->last, NULL, 0);
    unsigned long long start, end;
    bool is_there = false;
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)rep_engine_pid(engine));
    FILE *maps = fopen(path, "re");
    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps)) {
        if (strstr(line, "memfd:wetdbg") && sscanf(line, "%llx-%llx", &start, &end) == 2)
            is_there |= start < high && end > low;
    }
    fclose(maps);
    return is_there;
}

static int replay(size_t which, enum dbi_mode mode, bool values, bool is_trusted)
{
    struct unit_replay replay;
    struct rep_start start;
    unit_check(unit_open(&replay, recordings[which], NULL, mode), "open");
    rep_engine_free(replay.engine);
    unit_check(rep_start_init(&start, replay.feed, mode), "start");
    start.setup.values = values;
    start.setup.is_trusted = is_trusted;
    start.setup.span_count = spans_get(replay.feed, &windows[which], start.spans);
    unit_check(rep_engine_new(&start.setup, &replay.engine), "engine");
    int err = unit_run_to_end(&replay);
    if (!err)
        assert_true(is_ours_there(replay.engine, &windows[which]));
    unit_close(&replay);
    rep_start_fini(&start);
    return err;
}

static void behind_the_wall_nothing_is_there(void **state)
{
    (void)state;
    for (size_t i = 0; i < WINDOWS; i++) {
        unit_check(replay(i, DBI_PLAIN, false, false), windows[i].name);
        unit_check(replay(i, DBI_COUNT, false, false), windows[i].name);
        unit_check(replay(i, DBI_COLLECT, false, false), windows[i].name);
    }
}

static void values_are_collected_behind_the_wall(void **state)
{
    (void)state;
    unit_check(replay(0, DBI_COLLECT, true, false), windows[0].name);
}

static void without_the_wall_something_is(void **state)
{
    (void)state;
    assert_int_not_equal(replay(0, DBI_PLAIN, false, true), 0);
    assert_int_not_equal(replay(3, DBI_PLAIN, false, true), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behind_the_wall_nothing_is_there),
        cmocka_unit_test(values_are_collected_behind_the_wall),
        cmocka_unit_test(without_the_wall_something_is),
    };
    return cmocka_run_group_tests_name("wall", tests, record_all, forget_all);
}
