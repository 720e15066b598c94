/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rdpid and lsl answer as the recorded processor did. */
#include <string.h>

#include "tests/wet/wet_fixture.h"

static int run_whereabouts(void **state)
{
    return fixture_open(state, 200, (const char *const[]){GUEST, NULL});
}

struct told {
    uint64_t address, bytes;
    uint64_t answers[64];
};

static void answers_check(struct wetdbg *wet, const struct told *told)
{
    struct wetdbg_state *end;
    uint64_t here[64];
    ok(wetdbg_state_open(wet, wetdbg_get_info(wet)->last_time, &end));
    ok(wetdbg_state_read(end, told->address, here, sizeof(here)));
    for (size_t i = 0; i < 64; i++)
        if (here[i] != told->answers[i])
            fail_msg("%zu: %#llx, recorded %#llx", i, (unsigned long long)here[i],
                     (unsigned long long)told->answers[i]);
    wetdbg_state_close(end);
}

/* The first question is about the segment that every x86-64 Linux has. */
static void processor_is_told_as_recorded(void **state)
{
    struct fixture *fixture = *state;
    struct told told;
    assert_int_equal(fixture->run.out_bytes, sizeof(told));
    memcpy(&told, fixture->run.out, sizeof(told));
    assert_int_equal(told.bytes, sizeof(told.answers));
    assert_true(told.answers[1] & 0x40);
    answers_check(fixture->whole, &told);
    answers_check(fixture->cut, &told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(processor_is_told_as_recorded, run_whereabouts,
                                        fixture_close),
    };
    return cmocka_run_group_tests_name("wet_processor", tests, NULL, NULL);
}
