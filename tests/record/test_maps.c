/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * /proc/PID/maps as rr before 5.9 understands it: which lines are joined, and which paths are such.
 */
#include <stdio.h>
#include <string.h>

#include "recorder/ticks/maps.h"
#include "tests/record/unit.h"

#define LIB  "7f0000001000-7f0000002000 r--p 00000000 fe:00 12                         /lib/x.so\n"
#define VDSO "7f0000016000-7f0000018000 r-xp 00000000 00:00 0                          [vdso]\n"
#define VVAR "7f0000010000-7f0000014000 r--p 00000000 00:00 0                          [vvar]\n"
#define CLOCK                                                                                      \
    "7f0000014000-7f0000016000 r--p 00000000 00:00 0                          [vvar_vclock]\n"
#define APART                                                                                      \
    "7f0000015000-7f0000016000 r--p 00000000 00:00 0                          [vvar_vclock]\n"
#define BOTH "7f0000010000-7f0000016000 r--p 00000000 00:00 0                          [vvar]\n"

static void maps_vvar_lines_are_joined_only_if_they_touch(void **state)
{
    static const struct {
        const char *before, *after;
    } rows[] = {
        {LIB VVAR CLOCK VDSO, LIB BOTH VDSO},
        {VVAR CLOCK, BOTH},
        {LIB VVAR VDSO, LIB VVAR VDSO},
        {LIB VVAR APART VDSO, LIB VVAR APART VDSO},
        {CLOCK VVAR, CLOCK VVAR},
        {VVAR VDSO CLOCK, VVAR VDSO CLOCK},
        {"", ""},
        {"no newline at the end [vvar]", "no newline at the end [vvar]"},
    };
    char text[1024];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        snprintf(text, sizeof(text), "%s", rows[i].before);
        assert_int_equal(tck_maps_join_vvar(text), strlen(rows[i].after));
        assert_string_equal(text, rows[i].after);
    }
}

static void maps_path_is_told_from_others(void **state)
{
    (void)state;
    assert_true(tck_maps_is_path("/proc/1234/maps"));
    assert_true(tck_maps_is_path("/proc/self/maps"));
    assert_false(tck_maps_is_path("/proc/1234/mapsx"));
    assert_false(tck_maps_is_path("/proc/1234/task/1234/maps"));
    assert_false(tck_maps_is_path("/proc/maps"));
    assert_false(tck_maps_is_path("/etc/maps"));
}

static void maps_stream_reads_as_the_file_does(void **state)
{
    FILE *stream = tck_maps_open("/proc/self/maps");
    char line[8192];
    size_t lines = 0;

    (void)state;
    assert_non_null(stream);
    while (fgets(line, sizeof(line), stream)) {
        unsigned long long from, to;

        assert_int_equal(sscanf(line, "%llx-%llx ", &from, &to), 2);
        assert_true(from < to);
        assert_null(strstr(line, "[vvar_vclock]"));
        lines++;
    }
    assert_true(lines > 5);
    fclose(stream);
    assert_null(tck_maps_open("/proc/0/maps"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_vvar_lines_are_joined_only_if_they_touch),
        cmocka_unit_test(maps_path_is_told_from_others),
        cmocka_unit_test(maps_stream_reads_as_the_file_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
