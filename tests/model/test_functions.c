/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions and modules against readelf and objdump. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include <wetdbg/errors.h>

/* Whether one of the names that nm gives for an address is the model's. */
static int is_alias(struct wetdbg_model *model, const char *name, uint64_t start)
{
    struct wetdbg_function *functions;
    size_t count;
    int found = 0;

    if (wetdbg_functions_named(model, name, &functions, &count) < 0)
        return 0;
    for (size_t i = 0; i < count; i++)
        found |= functions[i].start == start;
    free(functions);
    return found;
}

/* Each sized FUNC symbol that readelf lists must be found by name, by its first and by its last
 * address. Returns how many there were. */
static unsigned check_against_readelf(const char *path, uint64_t base)
{
    struct wetdbg_model *model = fixture_load(path, base);
    char *output = fixture_run("readelf -W -s %s", path), *at = output, *line;
    unsigned checked = 0;

    while ((line = strsep(&at, "\n"))) {
        unsigned long long value;
        unsigned size;
        char type[16], bind[16], vis[16], index[16], name[256];
        struct wetdbg_function function;

        if (sscanf(line, " %*d: %llx %u %15s %15s %15s %15s %255s", &value, &size, type, bind, vis,
                   index, name) != 7 ||
            strcmp(type, "FUNC") != 0 || strcmp(index, "UND") == 0 || size == 0)
            continue;
        name[strcspn(name, "@")] = '\0';
        if (!is_alias(model, name, base + value))
            fail_msg("%s: no function %s at 0x%llx", path, name, value);
        assert_int_equal(wetdbg_function_at(model, base + value, &function), 0);
        assert_int_equal(function.start, base + value);
        assert_true(function.flags & WETDBG_FUNCTION_SYMBOL);
        assert_int_equal(wetdbg_function_at(model, base + value + size - 1, &function), 0);
        assert_true(function.end >= base + value + size);
        checked++;
    }
    free(output);
    mdl_free(model);
    return checked;
}

static char *libc_path(void)
{
    return fixture_run("ldd %s | awk '/libc.so/ {printf \"%%s\", $3}'", SAMPLES "flow_O0");
}

static void functions_samples_equal_readelf(void **state)
{
    (void)state;
    assert_in_range(check_against_readelf(SAMPLES "flow_O0", FIXTURE_BASE), 12, 1000);
    assert_in_range(check_against_readelf(SAMPLES "flow_O2_nopie", 0), 12, 1000);
    assert_in_range(check_against_readelf(SAMPLES "flow_static", 0), 500, 100000);
}

static void functions_c_library_equals_readelf(void **state)
{
    char *path = libc_path();

    (void)state;
    assert_in_range(check_against_readelf(path, UINT64_C(0x7f0000000000)), 1000, 100000);
    free(path);
}

/* Stubs are named as objdump names them. */
static void functions_stubs_equal_objdump(void **state)
{
    static const char *const names[] = {SAMPLES "flow_O0", SAMPLES "flow_O2_nopie", "/bin/ls"};
    unsigned checked = 0;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        uint64_t base = i == 1 ? 0 : FIXTURE_BASE;
        struct wetdbg_model *model = fixture_load(names[i], base);
        char *output = fixture_run("objdump -d %s | grep '@plt>:'", names[i]), *at = output, *line;

        while ((line = strsep(&at, "\n"))) {
            struct wetdbg_function function;
            unsigned long long value;
            char name[256];

            if (sscanf(line, "%llx <%255[^>]>:", &value, name) != 2)
                continue;
            assert_int_equal(wetdbg_function_at(model, base + value, &function), 0);
            assert_string_equal(function.name, name);
            assert_int_equal(function.start, base + value);
            assert_true(function.flags & WETDBG_FUNCTION_PLT);
            checked++;
        }
        free(output);
        mdl_free(model);
    }
    assert_in_range(checked, 20, 10000);
}

/* What symbols say of the unstripped program, call frame information says of the stripped one. */
static void functions_stripped_have_the_same_bounds(void **state)
{
    char *stripped = fixture_run("f=$(mktemp); strip -o $f %s; printf %%s $f", SAMPLES "flow_O2");
    struct wetdbg_model *full = fixture_load(SAMPLES "flow_O2", FIXTURE_BASE);
    struct wetdbg_model *bare = fixture_load(stripped, FIXTURE_BASE);
    static const char *const names[] = {"if_else", "big_switch", "nested", "main", "and_or"};

    (void)state;
    unlink(stripped);
    for (size_t i = 0; i < 5; i++) {
        struct wetdbg_function a, b;
        char name[300];

        assert_int_equal(wetdbg_function_at(full, fixture_function(full, names[i]), &a), 0);
        assert_int_equal(wetdbg_function_at(bare, a.start + 1, &b), 0);
        assert_int_equal(a.start, b.start);
        assert_int_equal(a.end, b.end);
        assert_true(b.flags & WETDBG_FUNCTION_FRAME);
        snprintf(name, sizeof(name), "%s+0x%llx", strrchr(stripped, '/') + 1,
                 (unsigned long long)(a.start - FIXTURE_BASE));
        assert_string_equal(b.name, name);
    }
    mdl_free(full);
    mdl_free(bare);
    free(stripped);
}

static int count_function(void *context, const struct wetdbg_function *function)
{
    unsigned *count = context;

    assert_true(function->start < function->end);
    ++*count;
    return 0;
}

static int stop_at_once(void *context, const struct wetdbg_function *function)
{
    (void)context;
    (void)function;
    return 7;
}

static void functions_are_listed_by_expression(void **state)
{
    struct wetdbg_model *model = fixture_load(SAMPLES "flow_O0", FIXTURE_BASE);
    unsigned count = 0;

    (void)state;
    assert_int_equal(wetdbg_functions_each(model, "^(while|do)_loop$", count_function, &count), 0);
    assert_int_equal(count, 2);
    count = 0;
    assert_int_equal(wetdbg_functions_each(model, NULL, count_function, &count), 0);
    assert_in_range(count, 15, 100);
    assert_int_equal(wetdbg_functions_each(model, NULL, stop_at_once, NULL), 7);
    assert_int_equal(wetdbg_functions_each(model, "(", count_function, &count), -WETDBG_ERR_USAGE);
    assert_non_null(strstr(wetdbg_error(-WETDBG_ERR_USAGE), "bad expression \"(\""));
    mdl_free(model);
}

static void functions_unknown_names_say_so(void **state)
{
    struct wetdbg_model *model = fixture_load(SAMPLES "flow_O0", FIXTURE_BASE);
    struct wetdbg_function function, *functions;
    size_t count;

    (void)state;
    assert_int_equal(wetdbg_functions_named(model, "no_such", &functions, &count),
                     -WETDBG_ERR_NOT_FOUND);
    assert_string_equal(wetdbg_error(-WETDBG_ERR_NOT_FOUND), "no function named \"no_such\"");
    assert_int_equal(wetdbg_function_at(model, 0x1000, &function), -WETDBG_ERR_NOT_FOUND);
    assert_string_equal(wetdbg_error(-WETDBG_ERR_NOT_FOUND), "no module at 0x1000");
    mdl_free(model);
}

static void functions_data_symbols_are_found(void **state)
{
    struct wetdbg_model *model = fixture_load(SAMPLES "state_O0", FIXTURE_BASE);
    struct wetdbg_symbol symbol, again;

    (void)state;
    assert_int_equal(wetdbg_symbol_named(model, "global_point", &symbol), 0);
    assert_int_equal(wetdbg_symbol_at(model, symbol.start + 5, &again), 0);
    assert_string_equal(again.name, "global_point");
    assert_int_equal(again.start, symbol.start);
    assert_int_equal(again.size_bytes, 24);
    mdl_free(model);
}

/* ---- Modules ----------------------------------------------------------------------------- */

static void module_addresses_and_bytes(void **state)
{
    struct wetdbg_model *model = fixture_load(SAMPLES "flow_O0", FIXTURE_BASE);
    uint64_t main_pc = fixture_function(model, "main");
    struct wetdbg_module module;
    const void *data;
    uint8_t bytes[16];
    size_t size;

    (void)state;
    assert_int_equal(wetdbg_module_count(model), 1);
    assert_int_equal(wetdbg_module_at(model, main_pc, &module), 0);
    assert_string_equal(module.name, "flow_O0");
    assert_int_equal(module.bias, FIXTURE_BASE);
    assert_true(module.is_elf);
    assert_int_equal(wetdbg_read_bytes(model, module.start, bytes, sizeof(bytes)), 0);
    assert_memory_equal(bytes, "\177ELF", 4);
    assert_int_equal(wetdbg_read_bytes(model, module.end, bytes, 1), -WETDBG_ERR_NOT_FOUND);
    assert_int_equal(mdl_module_image(model, 0, MDL_IMAGE_FILE, &data, &size), 0);
    assert_memory_equal(data, "\177ELF", 4);
    assert_int_equal(mdl_module_image(model, 0, MDL_IMAGE_DEBUG, &data, &size),
                     -WETDBG_ERR_NOT_FOUND);
    assert_int_equal(wetdbg_module_get(model, 1, &module), -WETDBG_ERR_NOT_FOUND);
    mdl_free(model);
}

static void module_overlap_is_refused(void **state)
{
    struct wetdbg_model *model = fixture_load(SAMPLES "flow_O0", FIXTURE_BASE);
    struct mdl_segment segment = {FIXTURE_BASE + 0x1000, 0x1000, 0, PROT_EXEC};
    struct mdl_module_input input = {.path = "/x",
                                     .file = {-1, "abc", 3},
                                     .debug = MDL_IMAGE_NONE,
                                     .alt = MDL_IMAGE_NONE,
                                     .segments = &segment,
                                     .segment_count = 1};

    (void)state;
    assert_int_equal(mdl_add_module(model, &input, NULL), -EEXIST);
    segment.size_bytes = 0;
    assert_int_equal(mdl_add_module(model, &input, NULL), -EINVAL);
    input.segment_count = 0;
    assert_int_equal(mdl_add_module(model, &input, NULL), -EINVAL);
    assert_int_equal(wetdbg_module_count(model), 1);
    mdl_free(model);
}

/* Debug information that lives in another file, given or found by its link; compressed sections
 * must not change the image that we were given. */
static void module_separate_debug_file_is_found(void **state)
{
    char *dir = fixture_run("d=$(mktemp -d); cp %s $d/prog; cd $d; mkdir .debug; "
                            "objcopy --only-keep-debug --compress-debug-sections prog "
                            ".debug/prog.debug; objcopy --remove-section=.note.gnu.build-id "
                            "--strip-all --add-gnu-debuglink=.debug/prog.debug prog; "
                            "objcopy --remove-section=.note.gnu.build-id .debug/prog.debug; "
                            "objcopy --remove-section=.gnu_debuglink prog; "
                            "objcopy --add-gnu-debuglink=.debug/prog.debug prog; printf %%s $d",
                            SAMPLES "flow_O0");
    char path[300], *found = NULL, *removed;
    struct wetdbg_model *model;
    const void *data;
    void *program, *debug;
    size_t size, program_size, debug_size;

    (void)state;
    snprintf(path, sizeof(path), "%s/prog", dir);
    program = fixture_read(path, &program_size);
    assert_int_equal(mdl_find_debug_file(program, program_size, path, &found), 0);
    assert_non_null(strstr(found, "/.debug/prog.debug"));
    debug = fixture_read(found, &debug_size);
    model = fixture_load(path, FIXTURE_BASE);
    assert_int_equal(fixture_function(model, "nested") > FIXTURE_BASE, 1);
    assert_int_not_equal(
        fixture_line(model, "flow.c", fixture_marker(SOURCES "flow.c", "@if_then")), 0);
    assert_int_equal(mdl_module_image(model, 0, MDL_IMAGE_DEBUG, &data, &size), 0);
    assert_int_equal(size, debug_size);
    assert_memory_equal(data, debug, size);
    mdl_free(model);
    removed = fixture_run("rm -r %s", dir);
    free(removed);
    free(found);
    free(program);
    free(debug);
    free(dir);
}

static void module_find_debug_file_without_any_says_so(void **state)
{
    char *found;

    (void)state;
    assert_int_equal(mdl_find_debug_file("no elf", 6, "/x/y", &found), -WETDBG_ERR_NOT_FOUND);
    assert_string_equal(wetdbg_error(-WETDBG_ERR_NOT_FOUND),
                        "no separate debug file found for /x/y");
    assert_int_equal(mdl_find_alt_file("no elf", 6, "/x/y", &found), -WETDBG_ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_samples_equal_readelf),
        cmocka_unit_test(functions_c_library_equals_readelf),
        cmocka_unit_test(functions_stubs_equal_objdump),
        cmocka_unit_test(functions_stripped_have_the_same_bounds),
        cmocka_unit_test(functions_are_listed_by_expression),
        cmocka_unit_test(functions_unknown_names_say_so),
        cmocka_unit_test(functions_data_symbols_are_found),
        cmocka_unit_test(module_addresses_and_bytes),
        cmocka_unit_test(module_overlap_is_refused),
        cmocka_unit_test(module_separate_debug_file_is_found),
        cmocka_unit_test(module_find_debug_file_without_any_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
