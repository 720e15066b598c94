/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The shape programs, replayed, against the single-stepping oracle and against copies of memory.
 * With the argument "all": every program and link; else a selection of them.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/record/spawn.h"
#include "tests/replay/oracle_compare.h"
#include "tests/replay/written_lines.h"
#include "tests/skipped.h"

static const struct {
    const char *name;
    const char *variant; /* that the selection takes */
} shapes[] = {
    {"prog_recursion", "O0_static"},
    {"prog_switch", "O2_pie"},
    {"prog_fnptr", NULL},
    {"prog_variadic", "O2_pie"},
    {"prog_simd", "O0_static"},
    {"prog_repstr", "O0_static"},
    {"prog_x87", "O2_pie"},
    {"prog_setjmp", NULL},
    {"prog_qsort", "O2_pie"},
    {"prog_mmapfile", NULL},
    {"prog_heap", "O0_static"},
    {"prog_printf", "O2_pie"},
    {"prog_regs", NULL},
    {"prog_flags", "O2_pie"},
    {"prog_redzone", NULL},
    {"prog_operands", "O2_pie"},
    {"prog_segments", "O0_static"},
    {"prog_goto", "O0_static"},
    {"prog_cpuid", NULL},
    {"prog_rdtsc", NULL},
    {"prog_deepstack", NULL},
    {"prog_segvjump", NULL},
    {"prog_segvfix", "O0_static"},
    {"prog_signals", "O2_pie"},
    {"prog_crash_ud2", "O0_static"},
    {"prog_crash_int3", "O2_pie"},
    {"prog_crash_fpe", NULL},
    {"prog_exit3", NULL},
    {"prog_crash_rodata", NULL},
    {"prog_crash_assert", NULL},
    {"prog_crash_stack", NULL},
    {"prog_crash_wildcall", NULL},
};

static bool all;

static void shape_check(const char *name, const char *variant)
{
    char program[512], what[64];
    struct compare_report report;
    snprintf(what, sizeof(what), "%s_%s", name, variant);
    snprintf(program, sizeof(program), "%s/%s", PROGRAMS_DIR, what);
    const char *argv[] = {program,
                          strcmp(name, "prog_mmapfile") ? NULL : PROGRAMS_DATA "/lines.txt", NULL};
    char *dir = unit_record(unit_work, what, argv);
    compare_with_oracle(dir, what, all ? 6 : 4, all ? 10000 : 2000, 40, &report);
    uint64_t step = report.instructions / (all ? 60 : 10);
    lines_verify(dir, step < 20000 ? 20000 : step, what);
    compare_report_print(what, &report);
    free(dir);
}

static void shapes_replay_as_the_oracle_steps(void **state)
{
    const char *only = getenv("REPLAY_SHAPE");
    (void)state;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        if (only && strcmp(only, shapes[i].name))
            continue;
        if (all || (only && !shapes[i].variant)) {
            shape_check(shapes[i].name, "O0_static");
            shape_check(shapes[i].name, "O2_pie");
        } else if (shapes[i].variant) {
            shape_check(shapes[i].name, shapes[i].variant);
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_replay_as_the_oracle_steps),
    };
    all = argc > 1 && !strcmp(argv[1], "all");
    if (!__builtin_cpu_supports("avx2"))
        skipped_say("test_replay_shapes", "256-bit code of prog_simd, gathers: no AVX2");
    return cmocka_run_group_tests(tests, unit_work_new, unit_work_remove);
}
