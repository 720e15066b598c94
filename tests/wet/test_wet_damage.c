/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Damaged and forged files: sections are taken apart, changed and put together again with correct
 * checksums, so that what is tested is the sense of the contents. Whatever a file says, a query
 * ends in an answer or in an error of status 3 or 4, never in a signal or for ever.
 *
 * An argument multiplies the number of changes.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dbgcli/exit_status.h"
#include "tests/record/spawn.h"
#include "tests/wet/wet_run.h"
#include "tests/wet/wet_unit.h"
#include <wetdbg/errors.h>

#define SHORT 10000

static struct good_wet here;

static unsigned factor = 1;

static int setup(void **state)
{
    (void)state;
    good_wet_make(&here, PROGRAM, SHORT, "damaged.wet");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    good_wet_fini(&here);
    return 0;
}

/* Everything is asked of the damaged file, in another process. */
static int check(const char *what)
{
    const char *const argv[] = {WET_DRIVER, "check", here.changed, NULL};
    struct spawn_result result = spawn(argv, NULL);
    int status = WIFEXITED(result.status) ? WEXITSTATUS(result.status) : -1;
    bool good = status == 0 || status == CLI_EXIT_TRACE || status == CLI_EXIT_DIVERGED;
    const char *keep = getenv("WETDBG_KEEP");
    if (!good && keep)
        assert_int_equal(rename(here.changed, keep), 0);
    if (!good)
        fail_msg("%s: wait status %#x: %s", what, (unsigned)result.status, result.err);
    if (status && !strstr(result.err, "error: "))
        fail_msg("%s: no message", what);
    spawn_result_fini(&result);
    return status;
}

static void undamaged_file_is_good(void **state)
{
    (void)state;
    unit_sections_store(&here.sections, here.changed, SIZE_MAX);
    assert_int_equal(check("nothing"), 0);
}

static void missing_section_is_noticed(void **state)
{
    (void)state;
    for (size_t i = 0; i < here.sections.count; i++) {
        char what[64];
        const struct unit_section *section = &here.sections.list[i];
        if (section->key > 2 && section->kind >= WET_SEC_STATE)
            continue;
        snprintf(what, sizeof(what), "without section %u.%llu", section->kind,
                 (unsigned long long)section->key);
        unit_sections_store(&here.sections, here.changed, i);
        int status = check(what);
        bool optional = section->kind == WET_SEC_DEBUG || section->kind == WET_SEC_ALT;
        if (!optional)
            assert_int_equal(status, CLI_EXIT_TRACE);
    }
}

/* ---- changes ---- */

static void changes_of_kind(uint32_t kind, unsigned count)
{
    char what[80];
    snprintf(what, sizeof(what), "kind %u", kind);
    uint64_t start = unit_seed(what);
    for (unsigned i = 0; i < count * factor; i++) {
        uint64_t seed = start + 2 * i;
        unit_random(&seed);
        unit_random(&seed);
        size_t n;
        do
            n = unit_random(&seed) % here.sections.count;
        while (here.sections.list[n].kind != kind);
        struct unit_section *section = &here.sections.list[n];
        struct wd_buf good = section->bytes;
        section->bytes = (struct wd_buf){0};
        assert_int_equal(wd_buf_append(&section->bytes, good.data, good.size_bytes), 0);
        unit_bytes_change(&section->bytes, &seed);
        unit_sections_store(&here.sections, here.changed, SIZE_MAX);
        wd_buf_fini(&section->bytes);
        section->bytes = good;
        snprintf(what, sizeof(what), "WETDBG_SEED=%llu, section %u.%llu",
                 (unsigned long long)(start + 2 * i), kind, (unsigned long long)section->key);
        check(what);
    }
}

#define KIND(name, kind, count)                                                                    \
    static void name(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        changes_of_kind(kind, count);                                                              \
    }

KIND(changed_description_is_survived, WET_SEC_META, 12)
KIND(changed_cpu_records_are_survived, WET_SEC_CPU, 8)
KIND(changed_spans_are_survived, WET_SEC_SPANS, 12)
KIND(changed_table_of_files_is_survived, WET_SEC_FILES, 12)
KIND(changed_file_contents_are_survived, WET_SEC_FILE_DATA, 16)
KIND(changed_names_are_survived, WET_SEC_NAMES, 6)
KIND(changed_nodes_are_survived, WET_SEC_NODES, 20)
KIND(changed_objects_are_survived, WET_SEC_OBJECTS, 20)
KIND(changed_index_is_survived, WET_SEC_INDEX, 12)
KIND(changed_outputs_are_survived, WET_SEC_OUTPUTS, 8)
KIND(changed_threads_are_survived, WET_SEC_THREADS, 12)
KIND(changed_turns_are_survived, WET_SEC_TURNS, 8)
KIND(changed_uncertain_events_are_survived, WET_SEC_AMBIGUOUS, 4)
KIND(changed_jumps_are_survived, WET_SEC_JUMPS, 8)
KIND(changed_states_are_survived, WET_SEC_STATE, 30)
KIND(changed_entries_are_survived, WET_SEC_ENTRIES, 40)
KIND(changed_counts_are_survived, WET_SEC_COUNTS, 12)
KIND(changed_memory_lines_are_survived, WET_SEC_LINES, 16)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(undamaged_file_is_good),
        cmocka_unit_test(missing_section_is_noticed),
        cmocka_unit_test(changed_description_is_survived),
        cmocka_unit_test(changed_cpu_records_are_survived),
        cmocka_unit_test(changed_spans_are_survived),
        cmocka_unit_test(changed_table_of_files_is_survived),
        cmocka_unit_test(changed_file_contents_are_survived),
        cmocka_unit_test(changed_names_are_survived),
        cmocka_unit_test(changed_nodes_are_survived),
        cmocka_unit_test(changed_objects_are_survived),
        cmocka_unit_test(changed_index_is_survived),
        cmocka_unit_test(changed_outputs_are_survived),
        cmocka_unit_test(changed_threads_are_survived),
        cmocka_unit_test(changed_turns_are_survived),
        cmocka_unit_test(changed_uncertain_events_are_survived),
        cmocka_unit_test(changed_jumps_are_survived),
        cmocka_unit_test(changed_states_are_survived),
        cmocka_unit_test(changed_entries_are_survived),
        cmocka_unit_test(changed_counts_are_survived),
        cmocka_unit_test(changed_memory_lines_are_survived),
    };
    if (argc > 1)
        factor = (unsigned)strtoul(argv[1], NULL, 10);
    return cmocka_run_group_tests_name("wet_damage", tests, setup, teardown);
}
