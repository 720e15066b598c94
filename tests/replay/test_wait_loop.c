/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The places of signals that came after some time of computing in registers, which nothing but that
 * time bounds: recorded while other processes compute too, inside the recording and outside.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/agent/settled.h"
#include "tests/replay/replay_unit.h"

#define ROUNDS 4

static pid_t the_load;

static int load_begin(void **state)
{
    the_load = fork();
    if (the_load == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile unsigned turn = 0;; turn++)
            ;
    }
    return the_load < 0 ? -1 : unit_work_new(state);
}

static int load_end(void **state)
{
    kill(the_load, SIGKILL);
    waitpid(the_load, NULL, 0);
    return unit_work_remove(state);
}

static void place_is_found(unsigned round, const char *children, const char *microseconds)
{
    const char *argv[] = {GUEST, children, microseconds, NULL};
    struct unit_replay replay;
    char name[64];
    snprintf(name, sizeof(name), "%s-%s-%u", children, microseconds, round);
    char *dir = unit_record(unit_work, name, argv);
    unit_check(unit_open(&replay, dir, NULL, DBI_PLAIN), name);
    unit_check(unit_run_to_end(&replay), name);
    const struct rep_info *info = rep_feed_info(replay.feed);
    assert_true(info->has_wait_status && WIFEXITED(info->wait_status));
    assert_int_equal(WEXITSTATUS(info->wait_status), 7);
    unit_close(&replay);
    free(dir);
}

static void signal_after_a_wait_in_registers_is_placed(void **state)
{
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++)
        place_is_found(round, "0", "30000");
}

/* What the dynamic linker's xsavec left on the stack may be either of two. */
static void place_above_a_lazy_resolver_is_found(void **state)
{
    const char *argv[] = {GUEST_LAZY, NULL};
    (void)state;
    for (unsigned round = 0; round < 2; round++) {
        struct unit_replay replay;
        char name[16];
        snprintf(name, sizeof(name), "lazy%u", round);
        char *dir = unit_record(unit_work, name, argv);
        unit_check(unit_open(&replay, dir, NULL, DBI_PLAIN), name);
        unit_check(unit_run_to_end(&replay), name);
        assert_int_equal(WEXITSTATUS(rep_feed_info(replay.feed)->wait_status), 7);
        unit_close(&replay);
        free(dir);
    }
}

/* ---- areas made up ---- */

static void line_has_a_variant_for_each_component(void **state)
{
    static struct agt_settled area = {.address = 0x1000,
                                      .bytes = AGT_XS_SETTLED_BYTES,
                                      .unused = AGT_XS_SSE | AGT_XS_AVX | AGT_XS_ZMM_16,
                                      .is_compact = true};
    const uint16_t avx512_off[] = {832, 896, 1408};
    uint64_t line[8], variant[8];
    (void)state;
    agt_xs_layout_standard(&area.layout, avx512_off);
    memset(area.before, 0xaa, sizeof(area.before));
    memset(line, 0xaa, sizeof(line));
    agt_settled_note(&area);
    line[3] = 5;                                                          /* written since */
    assert_true(agt_settled_variant(0, 0x1000 + 192, line, 64, variant)); /* in xmm2 to xmm5 */
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(variant[i], i == 3 ? 5 : 0);
    line[3] = line[0];
    assert_true(agt_settled_variant(0, 0x1000, line, 64, variant)); /* x87, which was in use */
    assert_int_equal(variant[0], line[0]);
    assert_int_equal((uint32_t)variant[3], 0x1f80);
    assert_true(agt_settled_variant(0, 0x1000 + 576, line, 64, variant));
    assert_int_equal(variant[7], 0);
    assert_false(agt_settled_variant(0, 0x1000 + 512, line, 64, variant)); /* the header */
    assert_false(agt_settled_variant(0, 0x1000 + 832, line, 64, variant)); /* masks, in use */
    assert_true(agt_settled_variant(0, 0x1000 + 2368, line, 64, variant)); /* zmm31 */
    assert_int_equal(variant[7], 0);
    assert_false(agt_settled_variant(1, 0x1000 + 2368, line, 64, variant));
    assert_false(agt_settled_variant(0, 0x1000 + 2432, line, 64, variant));
    assert_false(agt_settled_variant(0, 0xfc0, line, 64, variant));
}

/* What the recorder switches between is what it says of preemptions. */
static void signal_after_preemptions_by_another_process_is_placed(void **state)
{
    (void)state;
    place_is_found(0, "1", "250000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signal_after_a_wait_in_registers_is_placed),
        cmocka_unit_test(place_above_a_lazy_resolver_is_found),
        cmocka_unit_test(line_has_a_variant_for_each_component),
        cmocka_unit_test(signal_after_preemptions_by_another_process_is_placed),
    };
    return cmocka_run_group_tests(tests, load_begin, load_end);
}
