/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames and variables of stopped processes, against gdb and against what the sample stores. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fixture.h"
#include "process.h"
#include <wetdbg/errors.h>

#define STATE SOURCES "state.c"

/* Starts a sample and runs it to a marked line. */
static void stop_at(struct process *process, const char *sample, const char *source,
                    const char *marker)
{
    process_start(process, sample);
    process_run_to(process, fixture_line(process->model, source, fixture_marker(source, marker)));
}

/* ---- Frames ------------------------------------------------------------------------------ */

#define FRAMES_MAX 64

static size_t unwind_all(struct process *process, uint64_t *pcs)
{
    struct wetdbg_frame_regs regs = process->regs;
    size_t count = 0;
    int result;

    do {
        assert_in_range(count, 0, FRAMES_MAX - 1);
        pcs[count++] = regs.value[WETDBG_REG_RIP];
        result = wetdbg_unwind(process->model, &regs, process_read, process);
    } while (result == 1);
    if (result < 0)
        fail_msg("frame %zu: %s", count, wetdbg_error(result));
    return count;
}

/* Our frames at a marked line must have the addresses of gdb's backtrace. */
static void check_frames(const char *sample, const char *source, const char *marker,
                         size_t at_least)
{
    uint32_t line = fixture_marker(source, marker);
    char *output = fixture_run(
        "gdb -nx -batch -ex 'set width 0' -ex 'set backtrace past-main on' -ex 'set backtrace "
        "past-entry on' -ex 'handle SIGUSR1 nostop noprint pass' -ex 'break %s:%u' -ex run "
        "-ex 'python f = gdb.newest_frame()\nwhile f: print(\"PC\", f.pc(), "
        "f.type() in (gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME)); f = f.older()' %s 2>/dev/null | grep "
        "'^PC .* True'",
        strrchr(source, '/') + 1, line, sample);
    char *at = output, *row;
    struct process process;
    uint64_t pcs[FRAMES_MAX];
    size_t count, n = 0;

    stop_at(&process, sample, source, marker);
    count = unwind_all(&process, pcs);
    while ((row = strsep(&at, "\n")) && *row) {
        uint64_t pc = strtoull(row + 3, NULL, 10);

        if (n >= count || pcs[n] != pc)
            fail_msg("%s %s: frame %zu is at 0x%llx, we say 0x%llx (of %zu)", sample, marker, n,
                     (unsigned long long)pc, (unsigned long long)(n < count ? pcs[n] : 0), count);
        n++;
    }
    assert_int_equal(n, count);
    assert_in_range(count, at_least, FRAMES_MAX);
    process_end(&process);
    free(output);
}

static void frames_of_recursion_equal_gdb(void **state)
{
    (void)state;
    check_frames(SAMPLES "state_O0", STATE, "@leaf", 7);
    check_frames(SAMPLES "state_static", STATE, "@leaf", 7);
}

/* Unwinds through the C library's qsort, which has no frame pointer. */
static void frames_through_the_library_equal_gdb(void **state)
{
    (void)state;
    check_frames(SAMPLES "state_O0", STATE, "@compare", 5);
    check_frames(SAMPLES "state_static", STATE, "@compare", 5);
}

static void frames_through_a_signal_equal_gdb(void **state)
{
    (void)state;
    check_frames(SAMPLES "state_O0", STATE, "@handler", 5);
    check_frames(SAMPLES "state_static", STATE, "@handler", 5);
}

static void frames_of_optimized_code_equal_gdb(void **state)
{
    (void)state;
    check_frames(SAMPLES "inline_O2", SOURCES "inline.c", "@square_store", 3);
}

static void frames_wild_call_returns_to_its_caller(void **state)
{
    struct process process;
    struct wetdbg_frame_regs regs;
    uint64_t caller;

    (void)state;
    process_start(&process, SAMPLES "state_O0");
    process_run_to(&process, fixture_function(process.model, "leaf"));
    regs = process.regs;
    assert_int_equal(process_read(&process, regs.value[WETDBG_REG_RSP], &caller, 8), 0);
    regs.value[WETDBG_REG_RIP] = 0; /* as if it had been called through a null pointer */
    assert_int_equal(wetdbg_unwind(process.model, &regs, process_read, &process), 1);
    assert_int_equal(regs.value[WETDBG_REG_RIP], caller);
    assert_int_equal(wetdbg_unwind(process.model, &regs, process_read, &process), 1);
    regs.value[WETDBG_REG_RSP] = regs.value[WETDBG_REG_RBP] = 8; /* a stack that cannot be read */
    assert_true(wetdbg_unwind(process.model, &regs, process_read, &process) < 0);
    process_end(&process);
}

/* ---- Variables --------------------------------------------------------------------------- */

/* The bytes of a variable where it is, zero-extended; its type on the side. */
static uint64_t value_of(struct process *process, uint64_t pc, const char *name,
                         struct wetdbg_variable *variable)
{
    struct wetdbg_place place;
    uint64_t value = 0;
    int result = wetdbg_variable_find(process->model, pc, name, variable);

    if (result == 0)
        result = wetdbg_variable_locate(process->model, variable, pc, &process->machine, &place);
    if (result < 0)
        fail_msg("%s: %s", name, wetdbg_error(result));
    assert_string_equal(variable->name, name);
    assert_int_equal(place.size_bytes, variable->type.size_bytes);
    switch (place.kind) {
    case WETDBG_PLACE_MEMORY:
        result = process_read(process, place.address, &value,
                              place.size_bytes < 8 ? place.size_bytes : 8);
        assert_int_equal(result, 0);
        return value;
    case WETDBG_PLACE_REGISTER:
        result = process->machine.read_register(process, place.reg, &value);
        assert_int_equal(result, 0);
        return place.size_bytes < 8 ? value & ((UINT64_C(1) << place.size_bytes * 8) - 1) : value;
    case WETDBG_PLACE_VALUE:
        return place.size_bytes < 8 ? place.value & ((UINT64_C(1) << place.size_bytes * 8) - 1)
                                    : place.value;
    default:
        fail_msg("%s: %s", name, place.reason);
        return 0;
    }
}

static void check_variables(const char *sample)
{
    static const struct {
        const char *name;
        uint64_t value;
        enum wetdbg_type_kind kind;
        enum wetdbg_scope scope;
        uint64_t size;
        const char *type;
    } rows[] = {
        {"local", 77, WETDBG_TYPE_SIGNED, WETDBG_SCOPE_LOCAL, 4, "int"}, /* the inner one */
        {"depth", 5, WETDBG_TYPE_SIGNED, WETDBG_SCOPE_PARAM, 4, "int"},
        {"byte", 200, WETDBG_TYPE_CHAR, WETDBG_SCOPE_LOCAL, 1, "unsigned char"},
        {"counted", 254, WETDBG_TYPE_SIGNED, WETDBG_SCOPE_LOCAL, 4, "int"},
        {"numbers", 0x200000001, WETDBG_TYPE_ARRAY, WETDBG_SCOPE_LOCAL, 16, "int [4]"},
        {"here", 77, WETDBG_TYPE_STRUCT, WETDBG_SCOPE_LOCAL, 24, "struct point"},
        {"global_long", 0x1122334455667788, WETDBG_TYPE_SIGNED, WETDBG_SCOPE_GLOBAL, 8, "int64_t"},
        {"file_static", 4660, WETDBG_TYPE_UNSIGNED, WETDBG_SCOPE_FILE, 2, "unsigned short"},
        {"thread_value", 4711, WETDBG_TYPE_SIGNED, WETDBG_SCOPE_GLOBAL, 4, "int"},
        {"thread_more", 'q', WETDBG_TYPE_CHAR, WETDBG_SCOPE_GLOBAL, 1, "char"},
        {"global_color", (uint32_t)-2, WETDBG_TYPE_ENUM, WETDBG_SCOPE_GLOBAL, 4, "enum color"},
        {"global_double", 0x4004000000000000, WETDBG_TYPE_FLOAT, WETDBG_SCOPE_GLOBAL, 8, "double"},
    };
    struct process process;
    struct wetdbg_variable variable;
    uint64_t pc, text;
    char bytes[6];

    stop_at(&process, sample, STATE, "@inner");
    pc = process.regs.value[WETDBG_REG_RIP];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t value = value_of(&process, pc, rows[i].name, &variable);

        if (value != rows[i].value)
            fail_msg("%s is 0x%llx", rows[i].name, (unsigned long long)value);
        assert_int_equal(variable.type.kind, rows[i].kind);
        assert_int_equal(variable.scope, rows[i].scope);
        assert_int_equal(variable.type.size_bytes, rows[i].size);
        /* clang has other names for some base types */
        if (strcmp(rows[i].name, "file_static") != 0)
            assert_string_equal(variable.type.name, rows[i].type);
    }
    text = value_of(&process, pc, "text", &variable);
    assert_string_equal(variable.type.name, "const char *");
    assert_int_equal(variable.type.kind, WETDBG_TYPE_POINTER);
    assert_int_equal(process_read(&process, text, bytes, 6), 0);
    assert_string_equal(bytes, "hello");
    assert_int_equal(value_of(&process, pc, "global_text", &variable), text);
    process_end(&process);
}

static void variables_have_their_values(void **state)
{
    (void)state;
    check_variables(SAMPLES "state_O0");
    check_variables(SAMPLES "state_static");
}

/* Variables of callers, by their registers. */
static void variables_of_outer_frames(void **state)
{
    struct process process;
    struct wetdbg_variable variable;
    struct wetdbg_frame_regs frame;

    (void)state;
    stop_at(&process, SAMPLES "state_O0", STATE, "@leaf");
    assert_int_equal(value_of(&process, process.regs.value[WETDBG_REG_RIP], "local", &variable),
                     5 * 3 + 200);
    frame = process.regs;
    for (uint64_t depth = 0; depth < 4; depth++) {
        assert_int_equal(wetdbg_unwind(process.model, &frame, process_read, &process), 1);
        process.regs = frame; /* the machine now shows that frame */
        assert_int_equal(value_of(&process, wetdbg_frame_lookup_pc(&frame), "depth", &variable),
                         depth);
    }
    process_end(&process);
}

/* Checks one variable at a stop; gdb's answer is a number, "<optimized out>" or "none". Returns 1
 * if both have a value. gdb can also find values of the function's entry at the caller: we do
 * not. */
static int check_optimized(struct process *process, const char *name, const char *answer)
{
    uint64_t pc = process->regs.value[WETDBG_REG_RIP];
    struct wetdbg_variable variable;
    struct wetdbg_place place;
    int result;

    if (strcmp(answer, "none") == 0)
        return 0; /* gdb does not look into an inlined function's callers */
    result = wetdbg_variable_find(process->model, pc, name, &variable);
    if (result == 0)
        result = wetdbg_variable_locate(process->model, &variable, pc, &process->machine, &place);
    if (result < 0)
        fail_msg("%s at 0x%llx: %s", name, (unsigned long long)pc, wetdbg_error(result));
    if (strcmp(answer, "<optimized out>") == 0) {
        assert_int_equal(place.kind, WETDBG_PLACE_NONE);
        assert_non_null(strstr(place.reason, "optimized out"));
        return 0;
    }
    if (place.kind == WETDBG_PLACE_NONE)
        return 0;
    assert_int_equal((int32_t)value_of(process, pc, name, &variable), atoi(answer));
    return 1;
}

static void variables_optimized_values_equal_gdb(void **state)
{
    static const char *const names[] = {"our_first", "our_second", "our_sum",  "our_turn",
                                        "our_value", "our_result", "our_kind", "our_source"};
    static const char *const markers[] = {"@square_store", "@compute_loop", "@dispatch"};
    const char *source = SOURCES "inline.c";
    unsigned with_value = 0;

    (void)state;
    for (size_t m = 0; m < sizeof(markers) / sizeof(markers[0]); m++) {
        struct process process;
        char *output, *at;

        stop_at(&process, SAMPLES "inline_O2", source, markers[m]);
        at = output = fixture_run(
            "for n in our_first our_second our_sum our_turn our_value our_result our_kind "
            "our_source; do echo -ex; echo \"print "
            "(int)$n\"; done | xargs -d '\\n' gdb -nx -batch -ex 'break main' -ex run -ex 'tbreak "
            "*0x%llx' -ex continue %s 2>&1 | sed -n 's/^\\$[0-9]* = //p;s/^No symbol.*/none/p;"
            "s/^value has been optimized out/<optimized out>/p'",
            (unsigned long long)process.regs.value[WETDBG_REG_RIP], SAMPLES "inline_O2");
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            char *answer = strsep(&at, "\n");

            assert_non_null(answer);
            with_value += (unsigned)check_optimized(&process, names[i], answer);
        }
        process_end(&process);
        free(output);
    }
    assert_in_range(with_value, 5, 24);
}

struct names {
    char text[512];
};

static int add_name(void *context, const struct wetdbg_variable *variable)
{
    struct names *names = context;

    strcat(strcat(names->text, variable->name), " ");
    return 0;
}

static void variables_of_a_scope_are_listed_innermost_first(void **state)
{
    struct wetdbg_model *model = fixture_load(SAMPLES "state_O0", FIXTURE_BASE);
    static const char *const outer[] = {"depth ",   "text ", "local ",
                                        "counted ", "byte ", "numbers "};
    struct names names = {""};

    (void)state;
    assert_int_equal(
        wetdbg_variables_each(model, fixture_line(model, STATE, fixture_marker(STATE, "@inner")),
                              add_name, &names),
        0);
    assert_int_equal(strlen(names.text),
                     strlen("local here depth text local counted byte numbers "));
    assert_memory_equal(names.text, "local here ", 11); /* statics' places differ by compiler */
    for (size_t i = 0; i < 6; i++)
        assert_non_null(strstr(names.text + 11, outer[i]));
    mdl_free(model);
}

/* Members as text: "name@offset:bits ". */
static int add_member(void *context, const struct wetdbg_member *member)
{
    struct names *names = context;
    size_t used = strlen(names->text);

    snprintf(names->text + used, sizeof(names->text) - used, "%s@%llu:%u.%u ", member->name,
             (unsigned long long)member->offset_bytes, member->bit_offset, member->bit_size);
    return 0;
}

static void types_targets_members_and_enumerators(void **state)
{
    struct wetdbg_model *model = fixture_load(SAMPLES "state_O0", FIXTURE_BASE);
    uint64_t pc = fixture_line(model, STATE, fixture_marker(STATE, "@inner"));
    struct wetdbg_variable variable;
    struct wetdbg_type target;
    struct names names = {""};
    uint64_t count;
    const char *name;

    (void)state;
    assert_int_equal(wetdbg_variable_find(model, pc, "numbers", &variable), 0);
    assert_int_equal(wetdbg_type_target(model, variable.type.handle, &target, &count), 0);
    assert_int_equal(count, 4);
    assert_int_equal(target.kind, WETDBG_TYPE_SIGNED);
    assert_int_equal(wetdbg_type_target(model, target.handle, &target, &count),
                     -WETDBG_ERR_NOT_FOUND);
    assert_int_equal(wetdbg_variable_find(model, pc, "global_point", &variable), 0);
    assert_int_equal(wetdbg_type_members_each(model, variable.type.handle, add_member, &names), 0);
    assert_string_equal(names.text, "x@0:0.0 low@4:0.3 high@4:3.5 next@8:0.0 name@16:0.0 ");
    assert_int_equal(wetdbg_variable_find(model, 0, "global_color", &variable), 0);
    assert_int_equal(wetdbg_type_enumerator(model, variable.type.handle, -2, &name), 0);
    assert_string_equal(name, "BLUE");
    assert_int_equal(wetdbg_type_enumerator(model, variable.type.handle, 4, &name),
                     -WETDBG_ERR_NOT_FOUND);
    mdl_free(model);
}

static void variables_unknown_names_say_so(void **state)
{
    struct wetdbg_model *model = fixture_load(SAMPLES "state_O0", FIXTURE_BASE);
    uint64_t pc = fixture_function(model, "leaf");
    struct wetdbg_variable variable;

    (void)state;
    assert_int_equal(wetdbg_variable_find(model, pc, "nowhere", &variable), -WETDBG_ERR_NOT_FOUND);
    assert_non_null(
        strstr(wetdbg_error(-WETDBG_ERR_NOT_FOUND), "no variable \"nowhere\" in scope at 0x"));
    assert_int_equal(wetdbg_variable_find(model, 0, "depth", &variable), -WETDBG_ERR_NOT_FOUND);
    assert_int_equal(wetdbg_variable_find(model, 1, "depth", &variable), -WETDBG_ERR_NOT_FOUND);
    mdl_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_of_recursion_equal_gdb),
        cmocka_unit_test(frames_through_the_library_equal_gdb),
        cmocka_unit_test(frames_through_a_signal_equal_gdb),
        cmocka_unit_test(frames_of_optimized_code_equal_gdb),
        cmocka_unit_test(frames_wild_call_returns_to_its_caller),
        cmocka_unit_test(variables_have_their_values),
        cmocka_unit_test(variables_of_outer_frames),
        cmocka_unit_test(variables_optimized_values_equal_gdb),
        cmocka_unit_test(variables_of_a_scope_are_listed_innermost_first),
        cmocka_unit_test(types_targets_members_and_enumerators),
        cmocka_unit_test(variables_unknown_names_say_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
