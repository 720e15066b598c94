/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Segments, as far as 64-bit code knows them. */
#include <stdlib.h>
#include <string.h>

#include "tests/record/spawn.h"
#include "tests/replay/replay_unit.h"
#include "tests/skipped.h"
#include <wetdbg/errors.h>

static const enum dbi_mode modes[] = {DBI_PLAIN, DBI_COUNT, DBI_COLLECT};

/* Returns the guest's wait status. */
static int replay_in_all_modes(const char *name, const char *argument)
{
    const char *argv[] = {GUEST, argument, NULL};
    char *dir = unit_record(unit_work, name, argv);
    struct unit_replay replay;
    int wait_status = 0;
    for (unsigned i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
        unit_check(unit_open(&replay, dir, NULL, modes[i]), "open");
        unit_check(unit_run_to_end(&replay), "segments");
        wait_status = rep_feed_info(replay.feed)->wait_status;
        unit_close(&replay);
    }
    free(dir);
    return wait_status;
}

static void unsettable(void)
{
    skipped_say("test_replay_segments", "bases of segments can not be set by programs here");
    skip();
}

static void memory_by_segments_is_replayed_as_recorded(void **state)
{
    (void)state;
    int wait_status = replay_in_all_modes("segments", NULL);
    if (wait_status == 77 << 8)
        unsettable();
    assert_int_equal(wait_status, 0);
}

/* Asks without a recorder first: where such a base is taken, rr fails. */
static void base_that_is_none_faults_as_recorded(void **state)
{
    const char *argv[] = {GUEST, "bases", NULL};
    struct spawn_result alone = spawn(argv, NULL);
    (void)state;
    spawn_result_fini(&alone);
    if (alone.status == 77 << 8)
        unsettable();
    if (alone.status == 78 << 8) {
        skipped_say("test_replay_segments", "this processor takes bases that are not canonical");
        skip();
    }
    assert_int_equal(replay_in_all_modes("bases", "bases"), 0);
}

static void segment_register_that_changes_is_refused(void **state)
{
    const char *argv[] = {GUEST, "other", NULL};
    char *dir = unit_record(unit_work, "other", argv);
    struct unit_replay replay;
    (void)state;
    unit_check(unit_open(&replay, dir, NULL, DBI_PLAIN), "open");
    int err = unit_run_to_end(&replay);
    unit_close(&replay);
    free(dir);
    assert_int_equal(err, -WETDBG_ERR_UNSUPPORTED);
    if (!strstr(wetdbg_error(err), "it changes a segment register"))
        fail_msg("\"%s\" does not say why", wetdbg_error(err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_by_segments_is_replayed_as_recorded),
        cmocka_unit_test(base_that_is_none_faults_as_recorded),
        cmocka_unit_test(segment_register_that_changes_is_refused),
    };
    return cmocka_run_group_tests(tests, unit_work_new, unit_work_remove);
}
