/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rr's own checksums of all memory (tests/rr_checksums.h) against replayed memory. A file has a
 * line "(HEX) START-END ..." for each mapping: its length, then for each 32-bit word the sum of 17
 * times what was there and the word.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/record/spawn.h"
#include "tests/replay/replay_unit.h"
#include "tests/rr_checksums.h"

#define NOT_COMPUTED  0x98765432u
#define RECORDERS_END 0x70002000u /* below lies what rr puts into each process */

static uint32_t checksum(const uint8_t *bytes, size_t count)
{
    uint32_t sum = (uint32_t)count;
    for (size_t i = 0; i + 4 <= count; i += 4) {
        uint32_t word;
        memcpy(&word, bytes + i, 4);
        sum = sum * 17 + word;
    }
    return sum;
}

static void mapping_compare(struct rep_engine *engine, const char *path, uint64_t start,
                            uint64_t end, uint32_t recorded)
{
    size_t done, count = end - start;
    uint8_t *bytes = malloc(count);
    assert_non_null(bytes);
    unit_check(rep_engine_read(engine, start, bytes, count, &done), path);
    if (done != count || checksum(bytes, count) != recorded)
        fail_msg("%s: memory at %#" PRIx64 "-%#" PRIx64 " is not what was recorded (%zu bytes)",
                 path, start, end, done);
    free(bytes);
}

/* Compares the mappings of one file; how many there were. */
static unsigned file_compare(struct rep_engine *engine, FILE *file, const char *where)
{
    char line[8192];
    unsigned compared = 0;
    while (fgets(line, sizeof(line), file)) {
        uint64_t start, end;
        uint32_t recorded;
        assert_int_equal(
            sscanf(line, "(%" SCNx32 ") %" SCNx64 "-%" SCNx64, &recorded, &start, &end), 3);
        if (recorded == NOT_COMPUTED || start < RECORDERS_END || start >> 47)
            continue;
        mapping_compare(engine, where, start, end, recorded);
        compared++;
    }
    return compared;
}

/* Stops at each event's instruction, where its effects and those that need no running are there. */
static void memory_compare(const char *dir)
{
    struct unit_replay first, replay;
    unsigned files = 0, mappings = 0;
    unit_check(unit_open(&first, dir, NULL, DBI_PLAIN), dir);
    unit_check(unit_run_to_end(&first), dir);
    unit_check(unit_open(&replay, dir, NULL, DBI_PLAIN), dir);
    const struct unit_event *events = (const struct unit_event *)first.events.data;
    size_t count = first.events.size_bytes / sizeof(*events);
    for (size_t i = 0; i < count && events[i].time < rep_engine_time(first.engine); i++) {
        enum rep_stop why;
        if (i + 1 < count && events[i + 1].time == events[i].time)
            continue;
        FILE *file = rr_checksums_open(dir, events[i].frame, rep_feed_info(first.feed)->pid);
        assert_true(file || errno == ENOENT);
        if (file && events[i].time) {
            char where[PATH_MAX];
            snprintf(where, sizeof(where), "%s, frame %" PRIu64, dir, events[i].frame);
            unit_check(rep_engine_run(replay.engine, &replay.source,
                                      events[i].time - rep_engine_time(replay.engine), true, &why),
                       where);
            assert_int_equal(why, REP_STOP_TIME);
            mappings += file_compare(replay.engine, file, where);
            files++;
        }
        if (file)
            fclose(file);
    }
    print_message("%s: %u events, %u mappings compared\n", dir, files, mappings);
    assert_true(files > 5 && mappings >= 2 * files);
    unit_close(&first);
    unit_close(&replay);
}

/* An rr that is asked for checksums. */
static void wrapper_make(void)
{
    char *path;
    assert_true(asprintf(&path, "%s/rr", unit_work) > 0);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\nexec rr -C on-all-events \"$@\"\n");
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_equal(setenv("WETDBG_RR", path, 1), 0);
    free(path);
}

static void replayed_memory_is_the_recorded(void **state)
{
    const char *static_argv[] = {PROGRAMS_DIR "/prog_heap_O0_static", NULL};
    const char *pie_argv[] = {PROGRAMS_DIR "/prog_printf_O0_pie", NULL};
    (void)state;
    wrapper_make();
    char *dirs[] = {unit_record(unit_work, "static", static_argv),
                    unit_record(unit_work, "pie", pie_argv)};
    for (size_t i = 0; i < 2; i++) {
        memory_compare(dirs[i]);
        free(dirs[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replayed_memory_is_the_recorded),
    };
    return cmocka_run_group_tests(tests, unit_work_new, unit_work_remove);
}
