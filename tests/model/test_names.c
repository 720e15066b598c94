/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of C++ and Rust: demangled against c++filt, and found by what people type. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "wet/model/names.h"
#include <wetdbg/errors.h>

#define NAMES_O0 SAMPLES "names_O0"
#define NAMES_O2 SAMPLES "names_O2"

/* ---- Demangling -------------------------------------------------------------------------- */

static void names_without_parameters(void **state)
{
    static const struct {
        const char *linkage, *plain, *full;
    } rows[] = {
        {"main", "main", "main"},
        {"_start", "_start", "_start"},
        {"_Zebra", "_Zebra", "_Zebra"},
        {"_ZN2ns3BoxIlE3getEv", "ns::Box<long>::get", "ns::Box<long>::get()"},
        {"_ZNK2ns3BoxIlE4areaEv", "ns::Box<long>::area", "ns::Box<long>::area() const"},
        {"_Z5checki.cold", "check.cold", "check(int) [clone .cold]"},
        {"_ZSt9terminatev@plt", "std::terminate@plt", "std::terminate()@plt"},
        {"_Z1fIiEvT_", "f<int>", "f<int>(int)"},
        {"_ZNSt6vectorINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESaIS5_EE3endEv",
         "std::vector<std::string>::end",
         "std::vector<std::__cxx11::basic_string<char, std::char_traits<char>, "
         "std::allocator<char> >, std::allocator<std::__cxx11::basic_string<char, "
         "std::char_traits<char>, std::allocator<char> > > >::end()"},
        {"_ZNKSt6vectorIiSaIiEE4sizeEv", "std::vector<int>::size",
         "std::vector<int, std::allocator<int> >::size() const"},
        {"_ZTVN2ns4BaseE", "vtable for ns::Base", "vtable for ns::Base"},
        {"_ZN5hello4main17h0123456789abcdefE", "hello::main", "hello::main"},
        {"_ZN4core3ptr42drop_in_place$LT$alloc..string..String$GT$17h0123456789abcdefE",
         "core::ptr::drop_in_place<alloc::string::String>",
         "core::ptr::drop_in_place<alloc::string::String>"},
        {"_RNvC6_123foo3bar", "123foo::bar", "123foo::bar"},
    };
    struct wetdbg_model *model = mdl_new();

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_string_equal(mdl_name_demangle(model, rows[i].linkage, MDL_NAME_PLAIN),
                            rows[i].plain);
        assert_string_equal(wetdbg_name_full(model, rows[i].linkage), rows[i].full);
    }
    mdl_free(model);
}

/* What c++filt makes of all names of libstdc++ is what we do, but for the results of templates. */
static void names_of_the_library_are_as_cxxfilt_has_them(void **state)
{
    char *output = fixture_run("list=$(mktemp) && nm -D --defined-only "
                               "$(g++ -print-file-name=libstdc++.so.6) | cut -d' ' -f3 | "
                               "sed 's/@.*//' | grep '^_Z' | sort -u >$list && "
                               "c++filt -i <$list | paste -d'\\n' $list - && rm $list");
    struct wetdbg_model *model = mdl_new();
    char *at = output, *linkage, *wanted;
    unsigned checked = 0;

    (void)state;
    while ((linkage = strsep(&at, "\n")) && (wanted = strsep(&at, "\n"))) {
        const char *full = wetdbg_name_full(model, linkage);
        size_t length = strlen(full), wanted_length = strlen(wanted);

        if (length > wanted_length || strcmp(wanted + wanted_length - length, full) != 0)
            fail_msg("%s: %s, not %s", linkage, full, wanted);
        checked++;
    }
    assert_true(checked > 3000);
    mdl_free(model);
    free(output);
}

/* Substitutions that each double the one before stand for 2^60 bytes; the name stays as it is. */
static void names_that_explode_stay_mangled(void **state)
{
    struct wetdbg_model *model = mdl_new();
    char bomb[2048] = "_Z1f1AI1BS0_E";
    char deep[8192] = "_Z1f";

    (void)state;
    for (int i = 0; i < 34; i++) {
        static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

        snprintf(bomb + strlen(bomb), sizeof(bomb) - strlen(bomb), "S_IS%c_S%c_E", digits[i],
                 digits[i]);
    }
    assert_string_equal(wetdbg_name_full(model, bomb), bomb);
    memset(deep + 4, 'P', 3900);
    strcpy(deep + 3904, "i");
    assert_true(strlen(wetdbg_name_full(model, deep)) > 3900);
    memset(deep + 4, 'P', 8000);
    strcpy(deep + 8004, "i");
    assert_string_equal(wetdbg_name_full(model, deep), deep);
    mdl_free(model);
}

/* ---- Finding ----------------------------------------------------------------------------- */

/* How many functions of the sample a name finds; *first is the first one's full name. */
static size_t found(struct wetdbg_model *model, const char *name, const char **first)
{
    struct wetdbg_function *functions;
    size_t count;

    if (wetdbg_functions_named(model, name, &functions, &count) < 0)
        return 0;
    *first = wetdbg_name_full(model, functions[0].linkage_name);
    free(functions);
    return count;
}

static void functions_are_found_by_parts_of_their_names(void **state)
{
    static const struct {
        const char *typed;
        size_t count;
        const char *first;
    } rows[] = {
        {"plain_c", 1, "plain_c"},
        {"_ZN2ns10overloadedEi", 1, "ns::overloaded(int)"},
        {"ns::overloaded", 2, "ns::overloaded(int)"},
        {"overloaded", 2, "ns::overloaded(int)"},
        {"loaded", 0, NULL},
        {"overloaded(char const*)", 1, "ns::overloaded(char const*)"},
        {"ns::overloaded( int )", 1, "ns::overloaded(int)"},
        {"Box::get", 2, "ns::Box<long>::get() const"},
        {"ns::Box<long>::get", 1, "ns::Box<long>::get() const"},
        {"Box<long>::get() const", 1, "ns::Box<long>::get() const"},
        {"Box<int>::get", 0, NULL},
        {"hidden", 1, "ns::(anonymous namespace)::hidden(int)"},
        {"ns::hidden", 1, "ns::(anonymous namespace)::hidden(int)"},
        {"ns::(anonymous namespace)::hidden", 1, "ns::(anonymous namespace)::hidden(int)"},
        {"versioned", 1, "ns::v2::versioned()"},
        {"Base::operator<", 1, "ns::Base::operator<(ns::Base const&) const"},
        {"operator<", 1, "ns::Base::operator<(ns::Base const&) const"},
        {"ns::Base::Base", 1, "ns::Base::Base(int)"},
        {"joined", 1, NULL},
        {"ns::joined(std::vector<std::string> const&)", 1, NULL},
        {"std::vector<std::string>::end", 1, NULL},
        {"", 0, NULL},
        {"::", 0, NULL},
        {"<<(([[", 0, NULL},
    };
    struct wetdbg_model *model = fixture_load(NAMES_O0, FIXTURE_BASE);

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *first = NULL;
        size_t count = found(model, rows[i].typed, &first);

        if (count != rows[i].count)
            fail_msg("\"%s\" finds %zu functions (%s)", rows[i].typed, count, first);
        if (rows[i].first)
            assert_string_equal(first, rows[i].first);
    }
    mdl_free(model);
}

static int count_function(void *context, const struct wetdbg_function *function)
{
    unsigned *count = context;

    assert_string_equal(function->name, "ns::overloaded");
    assert_string_not_equal(function->linkage_name, function->name);
    ++*count;
    return 0;
}

static void functions_are_matched_mangled_and_demangled(void **state)
{
    struct wetdbg_model *model = fixture_load(NAMES_O0, FIXTURE_BASE);
    unsigned count = 0;

    (void)state;
    assert_int_equal(wetdbg_functions_each(model, "^ns::overloaded\\(", count_function, &count), 0);
    assert_int_equal(count, 2);
    assert_int_equal(wetdbg_functions_each(model, "^_ZN2ns10overloaded", count_function, &count),
                     0);
    assert_int_equal(count, 4);
    mdl_free(model);
}

static void lines_tell_qualified_functions(void **state)
{
    struct wetdbg_model *model = fixture_load(NAMES_O0, FIXTURE_BASE);
    uint32_t number = fixture_marker(SOURCES "names.cpp", "/* AREA */");
    struct wetdbg_line_location *locations;
    struct wetdbg_line line;
    size_t count;

    (void)state;
    assert_int_equal(wetdbg_line_locations(model, "names.cpp", number, &locations, &count), 0);
    assert_int_equal(count, 2); /* Box<long>, Box<char> */
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(wetdbg_line_at(model, locations[i].pc, &line), 0);
        assert_string_equal(line.function, locations[i].function);
        assert_memory_equal(line.function, "ns::Box<", 8);
        assert_memory_equal(line.linkage_name, "_ZNK2ns3BoxI", 12);
    }
    free(locations);
    mdl_free(model);
}

/* Both halves of code that was split off bear the function's name. */
static void cold_parts_belong_to_their_function(void **state)
{
    struct wetdbg_model *model = fixture_load(NAMES_O2, FIXTURE_BASE);
    uint32_t number = fixture_marker(SOURCES "names.cpp", "/* COLD */");
    uint64_t pc = fixture_line(model, "names.cpp", number);
    const struct wetdbg_graph *graph;
    struct wetdbg_function function;
    struct wetdbg_line line;

    (void)state;
    assert_int_equal(wetdbg_function_at(model, pc, &function), 0);
    assert_string_equal(function.name, "check.cold");
    assert_true(function.flags & WETDBG_FUNCTION_COLD);
    assert_int_equal(wetdbg_line_at(model, pc, &line), 0);
    assert_string_equal(line.function, "check");
    assert_int_equal(wetdbg_graph_at(model, pc, &graph), 0);
    assert_int_equal(wetdbg_function_at(model, wetdbg_graph_entry(graph), &function), 0);
    assert_string_equal(function.name, "check");
    mdl_free(model);
}

/* ---- Inlined functions ------------------------------------------------------------------- */

/* addr2line's output after an address: pairs of function and place, up to the next address. */
static void check_chain(struct wetdbg_model *model, uint64_t pc, char **at)
{
    struct wetdbg_line chain[16];
    size_t count, i;

    assert_int_equal(wetdbg_inline_chain(model, pc, chain, 16, &count), 0);
    for (i = 0; i < count && *at && strncmp(*at, "0x0", 3) != 0; i++) {
        char *function = strsep(at, "\n"), *place = strsep(at, "\n");
        /* addr2line confuses inlined functions that have no linker's name */
        int is_nameless = i + 1 < count && strcmp(chain[i].linkage_name, chain[i].function) == 0;

        function[strcspn(function, ".")] = '\0'; /* of a cold part */
        if (!is_nameless && strcmp(chain[i].linkage_name, function) != 0 &&
            strcmp(chain[i].function, function) != 0)
            fail_msg("frame %zu at 0x%llx is %s, addr2line says %s", i,
                     (unsigned long long)(pc - FIXTURE_BASE), chain[i].linkage_name, function);
        /* which of several rows at the address counts is another matter: see test_lines */
        if (i > 0)
            assert_int_equal(chain[i].line, strtoul(strrchr(place, ':') + 1, NULL, 10));
    }
    assert_int_equal(i, count);
    if (*at && **at && strncmp(*at, "0x0", 3) != 0)
        fail_msg("no frame at 0x%llx above %s, addr2line says %s",
                 (unsigned long long)(pc - FIXTURE_BASE), chain[count - 1].function, *at);
}

static void chains_equal_addr2line(const char *path)
{
    struct wetdbg_model *model = fixture_load(path, FIXTURE_BASE);
    char list[] = "/tmp/model-chains-XXXXXX", *output, *at;
    unsigned checked = 0;

    unsigned count = fixture_put_addresses(model, FIXTURE_BASE, fdopen(mkstemp(list), "w"));
    at = output = fixture_run("addr2line -a -f -i -e %s < %s", path, list);
    unlink(list);
    for (; at && *at; checked++)
        check_chain(model, FIXTURE_BASE + strtoull(strsep(&at, "\n"), NULL, 16), &at);
    assert_int_equal(checked, count);
    assert_true(checked > 300);
    free(output);
    mdl_free(model);
}

static void inlined_functions_are_as_addr2line_has_them(void **state)
{
    (void)state;
    chains_equal_addr2line(NAMES_O0);
    chains_equal_addr2line(NAMES_O2);
    chains_equal_addr2line(SAMPLES "names_types");
    chains_equal_addr2line(SAMPLES "dwz_O2");
}

/* ---- Variables --------------------------------------------------------------------------- */

static void variables_are_found_and_typed(const char *path)
{
    static const struct {
        const char *name, *type;
        enum wetdbg_type_kind kind;
        uint64_t size;
    } rows[] = {
        {"box", "ns::Box<long>", WETDBG_TYPE_STRUCT, 32},
        {"base", "const ns::Base &", WETDBG_TYPE_POINTER, 8},
        {"letter", "ns::Box<char> *", WETDBG_TYPE_POINTER, 8},
        {"words", "std::vector<std::string>", WETDBG_TYPE_STRUCT, 24},
        {"moved", "int &&", WETDBG_TYPE_POINTER, 8},
        {"is_small", "bool", WETDBG_TYPE_BOOL, 1},
        {"wide", "char16_t", WETDBG_TYPE_CHAR, 2},
        {"counter", "int", WETDBG_TYPE_SIGNED, 4},
        {"ns::counter", "int", WETDBG_TYPE_SIGNED, 4},
        {"Base::made", "int", WETDBG_TYPE_SIGNED, 4},
        {"ns::Base::made", "int", WETDBG_TYPE_SIGNED, 4},
    };
    struct wetdbg_model *model = fixture_load(path, FIXTURE_BASE);
    uint64_t pc =
        fixture_line(model, "names.cpp", fixture_marker(SOURCES "names.cpp", "/* HERE */"));
    struct wetdbg_variable variable;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (wetdbg_variable_find(model, pc, rows[i].name, &variable) < 0)
            fail_msg("%s: no variable %s", path, rows[i].name);
        assert_string_equal(variable.type.name, rows[i].type);
        assert_int_equal(variable.type.kind, rows[i].kind);
        assert_int_equal(variable.type.size_bytes, rows[i].size);
    }
    assert_int_equal(wetdbg_variable_find(model, pc, "::counter", &variable),
                     -WETDBG_ERR_NOT_FOUND);
    assert_int_equal(wetdbg_variable_find(model, pc, "Box::made", &variable),
                     -WETDBG_ERR_NOT_FOUND);
    mdl_free(model);
}

struct member_walk {
    char text[256];
};

static int put_member(void *context, const struct wetdbg_member *member)
{
    struct member_walk *walk = context;
    size_t used = strlen(walk->text);

    snprintf(walk->text + used, sizeof(walk->text) - used, "%s%s@%u ", member->is_base ? ":" : "",
             member->name ? member->name : member->type.name, (unsigned)member->offset_bytes);
    return 0;
}

/* Also of a type that the unit only declares, where a type unit defines it. */
static void members_are_listed(const char *path)
{
    struct wetdbg_model *model = fixture_load(path, FIXTURE_BASE);
    uint64_t pc =
        fixture_line(model, "names.cpp", fixture_marker(SOURCES "names.cpp", "/* HERE */"));
    struct member_walk walk = {.text = ""};
    struct wetdbg_variable variable;
    struct wetdbg_type type;
    uint64_t count;

    assert_int_equal(wetdbg_variable_find(model, pc, "box", &variable), 0);
    assert_int_equal(wetdbg_type_members_each(model, variable.type.handle, put_member, &walk), 0);
    assert_string_equal(walk.text, ":ns::Base@0 content@16 colour@24 ");
    assert_int_equal(wetdbg_variable_find(model, pc, "base", &variable), 0);
    assert_int_equal(wetdbg_type_target(model, variable.type.handle, &type, &count), 0);
    walk.text[0] = '\0';
    assert_int_equal(wetdbg_type_members_each(model, type.handle, put_member, &walk), 0);
    assert_string_equal(walk.text, "_vptr.Base@0 id@8 "); /* `made` is static */
    mdl_free(model);
}

static const char *const variable_paths[] = {NAMES_O0, SAMPLES "names_types", SAMPLES "dwz_O0"};

static void variables_of_classes_and_templates(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(variable_paths) / sizeof(variable_paths[0]); i++) {
        variables_are_found_and_typed(variable_paths[i]);
        members_are_listed(variable_paths[i]);
    }
}

/* ---- Landing pads ------------------------------------------------------------------------ */

/* A handler depends on the jump of an exception to its landing pad, what follows it does not. */
static void handlers_depend_on_landing_pads(const char *path)
{
    struct wetdbg_model *model = fixture_load(path, FIXTURE_BASE);
    uint64_t handler =
        fixture_line(model, "names.cpp", fixture_marker(SOURCES "names.cpp", "/* HANDLES */"));
    uint64_t after =
        fixture_line(model, "names.cpp", fixture_marker(SOURCES "names.cpp", "/* AFTER */"));
    const uint64_t *pcs;
    struct wetdbg_function function;
    const struct wetdbg_graph *graph;
    uint32_t block;
    size_t count, pads = 0;

    assert_int_equal(wetdbg_function_at(model, handler, &function), 0);
    assert_int_equal(wetdbg_graph_at(model, handler, &graph), 0);
    assert_int_equal(wetdbg_controllers(model, handler, &pcs, &count), 0);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(wetdbg_graph_find(graph, pcs[i], &block), 0);
        pads += wetdbg_graph_block(graph, block)->start == pcs[i];
    }
    assert_true(count >= 1 && pads >= 1);
    assert_int_equal(wetdbg_controllers(model, after, &pcs, &count), 0);
    assert_int_equal(count, 0);
    mdl_free(model);
}

static void handlers_depend_on_exceptions(void **state)
{
    (void)state;
    handlers_depend_on_landing_pads(NAMES_O0);
    handlers_depend_on_landing_pads(NAMES_O2);
}

/* Nothing of an interrupted reading is kept: the next one finds all. */
static void reading_a_whole_module_can_be_interrupted(void **state)
{
    struct wetdbg_model *model = fixture_load(NAMES_O0, FIXTURE_BASE);
    volatile sig_atomic_t flag = 1;
    struct wetdbg_variable variable;
    struct wetdbg_function *functions;
    size_t count;

    (void)state;
    assert_int_equal(wetdbg_functions_named(model, "main", &functions, &count), 0);
    uint64_t pc = functions[0].start;
    free(functions);
    mdl_set_interrupt(model, &flag);
    assert_int_equal(wetdbg_variable_find(model, pc, "ns::counter", &variable),
                     -WETDBG_ERR_INTERRUPTED);
    flag = 0;
    assert_int_equal(wetdbg_variable_find(model, pc, "ns::counter", &variable), 0);
    flag = 1;
    assert_int_equal(wetdbg_variable_find(model, pc, "ns::counter", &variable), 0);
    mdl_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_without_parameters),
        cmocka_unit_test(names_of_the_library_are_as_cxxfilt_has_them),
        cmocka_unit_test(names_that_explode_stay_mangled),
        cmocka_unit_test(functions_are_found_by_parts_of_their_names),
        cmocka_unit_test(functions_are_matched_mangled_and_demangled),
        cmocka_unit_test(lines_tell_qualified_functions),
        cmocka_unit_test(cold_parts_belong_to_their_function),
        cmocka_unit_test(inlined_functions_are_as_addr2line_has_them),
        cmocka_unit_test(variables_of_classes_and_templates),
        cmocka_unit_test(handlers_depend_on_exceptions),
        cmocka_unit_test(reading_a_whole_module_can_be_interrupted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
