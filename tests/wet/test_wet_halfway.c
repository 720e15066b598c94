/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a gather's lanes came from that were loaded before it faulted: see guests/halfway.c. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "slicer/slicer.h"
#include "tests/skipped.h"
#include "tests/wet/wet_fixture.h"
#include "tests/wet/wet_unit.h"
#include <wetdbg/errors.h>
#include <wetdbg/origin.h>

static int run_halfway(void **state)
{
    return fixture_open(state, 9000, (const char *const[]){HALFWAY, NULL});
}

static unsigned line_of(const char *mark)
{
    char text[512];
    unsigned line = 0, found = 0;
    FILE *file = fopen(SOURCES "/halfway.c", "re");
    assert_non_null(file);
    while (!found && fgets(text, sizeof(text), file)) {
        line++;
        found = strstr(text, mark) ? line : 0;
    }
    fclose(file);
    assert_true(found > 0);
    return found;
}

static bool has_line(const struct wetdbg_slice *slice, unsigned line)
{
    size_t count;
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(slice, &count);
    for (size_t i = 0; i < count; i++) {
        const char *base = lines[i].file ? strrchr(lines[i].file, '/') : NULL;
        if (base && !strcmp(base + 1, "halfway.c") && lines[i].line == line)
            return true;
    }
    return false;
}

static void assert_avx2(const struct fixture *fixture)
{
    if (!__builtin_cpu_supports("avx2")) {
        skipped_say("test_wet_halfway", "this processor has no AVX2");
        skip();
    }
    assert_int_equal(fixture->run.status, 77 << 8);
}

static void slice_has_the_lanes_loaded_before_a_fault(void **state)
{
    const struct fixture *fixture = *state;
    struct wetdbg *wets[] = {fixture->whole, fixture->cut};
    unsigned line = line_of("/* FIRST */");
    assert_avx2(fixture);
    for (unsigned i = 0; i < 4; i++) {
        struct wetdbg_slice_options options = {.record_parents = i < 2};
        struct wetdbg_criterion *criterion;
        struct wetdbg_slice *slice;
        ok(wetdbg_criterion_parse(wets[i % 2], "exit", NULL, &criterion));
        ok(wetdbg_slice_backward(wets[i % 2], criterion, &options, &slice));
        assert_true(has_line(slice, line));
        if (i < 2) {
            size_t count, at = 0;
            struct wetdbg_slice_path *path;
            while (wetdbg_slice_lines(slice, &count)[at].line != line)
                at++;
            ok(wetdbg_slice_path_to_line(slice, at, &path));
            wetdbg_slice_path_free(path);
        }
        wetdbg_slice_free(slice);
        wetdbg_criterion_free(criterion);
    }
}

/* Which lanes they were is not in the trace: an origin would be a guess. */
static void origin_of_such_a_lane_is_refused(void **state)
{
    const struct fixture *fixture = *state;
    struct wetdbg_criterion *criterion;
    struct wetdbg_origin *origin;
    assert_avx2(fixture);
    ok(wetdbg_criterion_parse(fixture->whole, "exit", NULL, &criterion));
    int err = wetdbg_origin(fixture->whole, criterion, NULL, &origin);
    assert_int_equal(err, -WETDBG_ERR_UNSUPPORTED);
    if (!strstr(wetdbg_error(err), "perhaps halfway"))
        fail_msg("%s", wetdbg_error(err));
    wetdbg_criterion_free(criterion);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(slice_has_the_lanes_loaded_before_a_fault, run_halfway,
                                        fixture_close),
        cmocka_unit_test_setup_teardown(origin_of_such_a_lane_is_refused, run_halfway,
                                        fixture_close),
    };
    return cmocka_run_group_tests_name("wet_halfway", tests, NULL, NULL);
}
