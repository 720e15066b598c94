/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/slicer/builds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* cmocka.h needs the headers above. */
#include <cmocka.h>

#define STEPS_MAX 400000

const char *builds_source;
static char **builds;

bool builds_take(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: %s SOURCE BUILD...\n", argv[0]);
        return false;
    }
    builds_source = argv[1];
    builds = argv + 2;
    return true;
}

void builds_each(void (*check)(struct wetdbg *wet, const char *build))
{
    for (char **build = builds; *build; build++) {
        char *argv[] = {*build, NULL};
        struct wetdbg *wet;
        assert_int_equal(fake_wet_run(argv, NULL, STEPS_MAX, &wet), 0);
        assert_int_equal(wetdbg_get_info(wet)->wait_status, 0);
        check(wet, *build);
        wetdbg_close(wet);
    }
}

unsigned builds_line(const char *mark, const char *name)
{
    char text[256], wanted[64];
    unsigned line = 0;
    FILE *file = fopen(builds_source, "r");

    assert_non_null(file);
    snprintf(wanted, sizeof(wanted), "/* %s %s */", mark, name);
    while (fgets(text, sizeof(text), file)) {
        line++;
        if (strstr(text, wanted)) {
            fclose(file);
            return line;
        }
    }
    fclose(file);
    fail_msg("%s has no %s", builds_source, wanted);
    return 0;
}

bool builds_slice_has(const struct wetdbg_slice *slice, unsigned line)
{
    const char *slash = strrchr(builds_source, '/');
    const char *name = slash ? slash + 1 : builds_source;
    size_t count;
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(slice, &count);
    for (size_t i = 0; i < count; i++)
        if (lines[i].file && strstr(lines[i].file, name) && lines[i].line == line)
            return true;
    return false;
}
