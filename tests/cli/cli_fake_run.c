/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/cli/cli_fake_run.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>

#include "slicer/slicer.h"
#include "wet/intervals.h"
#include "wet/model/make_model.h"
#include <wetdbg/caller.h>
#include <wetdbg/decisions.h>
#include <wetdbg/errors.h>
#include <wetdbg/files.h>
#include <wetdbg/origin.h>
#include <wetdbg/prune.h>
#include <wetdbg/set.h>

#define INSTRUCTIONS 1000
#define HELPER_TIME  993
#define MAIN_PC      0x1000u /* 16 bytes a line, from line 10 */
#define HELPER_PC    0x2000u /* line 30 */
#define FOREIGN_PC   0x5000u /* in libforeign.so, without lines */
#define MEMORY       0x7000u

bool fake_slice_is_interrupted;
unsigned fake_path_turns;
unsigned fake_slice_count;

struct wetdbg {
    int unused;
};
struct wetdbg_state {
    uint32_t task;
    struct user_regs_struct regs;
    uint8_t memory[0x100];
};

static struct wetdbg the_wet;
static const char *const arguments[] = {"prog", "a b", NULL};
static struct wetdbg_info run = {
    .program = "/bin/prog",
    .argv = arguments,
    .argc = 2,
    .pid = 42,
    .wait_status = 139,
    .signal = 11,
    .signal_code = 1,
    .signal_address = 0x10,
    .signal_time = INSTRUCTIONS + 1,
    .first_time = 1,
    .last_time = INSTRUCTIONS,
    .has_end = true,
    .instructions = INSTRUCTIONS,
    .threads = 1,
    .bits_per_instruction = 0.5,
};

void fake_set_threads(unsigned threads, unsigned ambiguous)
{
    run.threads = threads;
    run.places = run.ambiguous = ambiguous;
}

/* ---- wet.h ---- */

int wetdbg_open(const char *path, struct wetdbg **out)
{
    if (strcmp(path, "fake.wet") != 0)
        return wetdbg_fail(-ENOENT, "cannot open '%s': No such file or directory", path);
    *out = &the_wet;
    return 0;
}

void wetdbg_close(struct wetdbg *wet)
{
    (void)wet;
}

const struct wetdbg_info *wetdbg_get_info(const struct wetdbg *wet)
{
    (void)wet;
    return &run;
}

struct wetdbg_model *wetdbg_get_model(struct wetdbg *wet)
{
    return (struct wetdbg_model *)wet;
}

void wetdbg_trust(struct wetdbg *wet)
{
    (void)wet;
}

void wetdbg_set_memory(struct wetdbg *wet, uint64_t bytes)
{
    (void)wet;
    (void)bytes;
}

void wetdbg_interrupt(struct wetdbg *wet)
{
    (void)wet;
}

void wetdbg_interrupt_clear(struct wetdbg *wet)
{
    (void)wet;
}

static uint64_t pc_at(wetdbg_time time)
{
    return time >= HELPER_TIME ? HELPER_PC : MAIN_PC + 16 * ((time - 1) % 8);
}

static bool is_one_of(uint64_t pc, const uint64_t *pcs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (pcs[i] == pc)
            return true;
    return false;
}

int wetdbg_each_instance(struct wetdbg *wet, const uint64_t *pcs, size_t pc_count, wetdbg_time from,
                         wetdbg_time to, wetdbg_instance_fn fn, void *arg)
{
    int result = 0;
    (void)wet;
    for (wetdbg_time t = from; t <= to && !result; t++)
        if (is_one_of(pc_at(t), pcs, pc_count))
            result = fn(arg, t, pc_at(t));
    return result;
}

static int count_one(void *arg, wetdbg_time time, uint64_t pc)
{
    (void)time;
    (void)pc;
    ++*(uint64_t *)arg;
    return 0;
}

int wetdbg_count_instances(struct wetdbg *wet, const uint64_t *pcs, size_t pc_count,
                           uint64_t *count)
{
    *count = 0;
    return wetdbg_each_instance(wet, pcs, pc_count, 1, INSTRUCTIONS, count_one, count);
}

int wetdbg_find_instance(struct wetdbg *wet, const uint64_t *pcs, size_t pc_count, int64_t k,
                         wetdbg_time *time)
{
    uint64_t count, seen = 0;
    wetdbg_count_instances(wet, pcs, pc_count, &count);
    int64_t wanted = k > 0 ? k : (int64_t)count + 1 + k;
    for (wetdbg_time t = 1; t <= INSTRUCTIONS; t++)
        if (is_one_of(pc_at(t), pcs, pc_count) && (int64_t)++seen == wanted) {
            *time = t;
            return 0;
        }
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "there are fewer");
}

int wetdbg_state_open(struct wetdbg *wet, wetdbg_time t, struct wetdbg_state **out)
{
    struct wetdbg_state *state = calloc(1, sizeof(*state));
    (void)wet;
    state->task = run.threads > 1 && t >= HELPER_TIME;
    int32_t x = -5;
    uint64_t pointer = MEMORY;
    state->regs.rip = pc_at(t);
    state->regs.rax = t;
    memcpy(state->memory, &x, 4);                  /* int x */
    state->memory[4] = 'a';                        /* char c */
    state->memory[5] = 0x2b;                       /* bits: a:3 = 3, b:5 = 5 */
    memcpy(state->memory + 8, &pointer, 8);        /* int *p = &x */
    strcpy((char *)state->memory + 16, "hello\n"); /* char name[8] */
    pointer = MEMORY + 16;
    memcpy(state->memory + 24, &pointer, 8); /* char *text = name */
    double half = 0.1;
    memcpy(state->memory + 32, &half, 8); /* double d */
    state->memory[40] = 1;                /* enum colour e, 4 bytes */
    state->memory[48] = (uint8_t)t;       /* unsigned char now */
    *out = state;
    return 0;
}

void wetdbg_state_close(struct wetdbg_state *state)
{
    free(state);
}

const struct user_regs_struct *wetdbg_state_registers(const struct wetdbg_state *state)
{
    return &state->regs;
}

uint32_t wetdbg_state_task(const struct wetdbg_state *state)
{
    return state->task;
}

int wetdbg_state_select(struct wetdbg_state *state, uint32_t task)
{
    state->task = task;
    state->regs.rip = task == 0 ? MAIN_PC + 16 * 2 : HELPER_PC;
    return 0;
}

int wetdbg_state_mappings(struct wetdbg_state *state, const struct wetdbg_mapping **list,
                          size_t *count)
{
    (void)state;
    *list = NULL;
    *count = 0;
    return 0;
}

/* ---- wet.h: threads ---- */

static const struct wetdbg_thread threads[] = {
    {.index = 0, .tid = 42, .name = "prog", .start = 1, .end = 1000, .instructions = 992},
    {.index = 1,
     .tid = 43,
     .name = "worker",
     .task = 1,
     .start = 500,
     .end = 1000,
     .instructions = 8,
     .parent = &threads[0]},
    {.index = 2,
     .tid = 44,
     .name = "short",
     .task = 2,
     .has_ended = true,
     .start = 600,
     .end = 599,
     .parent = &threads[0]},
};

const struct wetdbg_thread *wetdbg_threads(const struct wetdbg *wet, size_t *count)
{
    (void)wet;
    *count = run.threads;
    return threads;
}

const struct wetdbg_thread *wetdbg_thread_at(const struct wetdbg *wet, wetdbg_time t)
{
    (void)wet;
    if (t < 1 || t > INSTRUCTIONS)
        return NULL;
    return run.threads > 1 && t >= HELPER_TIME ? &threads[1] : &threads[0];
}

const struct wetdbg_thread *wetdbg_thread_of(const struct wetdbg *wet, uint32_t task, wetdbg_time t)
{
    (void)wet;
    return task < run.threads && threads[task].start <= t && t <= threads[task].end + 1
               ? &threads[task]
               : NULL;
}

const struct wetdbg_ambiguous *wetdbg_ambiguous_events(const struct wetdbg *wet, size_t *count)
{
    static const struct wetdbg_ambiguous list[] = {
        {.time = 499, .frame = 50, .signal = 14, .thread = &threads[0]},
        {.time = 992, .frame = 90, .thread = &threads[0]},
    };
    (void)wet;
    *count = run.ambiguous;
    return list;
}

bool fake_has_avx512;

/* Byte i of register n is 2 n + i; k3 is 0x8000000000000005, the other masks are their numbers. */
int wetdbg_state_vector(const struct wetdbg_state *state, unsigned number, uint8_t bytes[64],
                        unsigned *width)
{
    (void)state;
    if (number > 15 && !fake_has_avx512)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "no vector register %u", number);
    unsigned size = fake_has_avx512 ? 64 : 32;
    for (unsigned i = 0; i < 64; i++)
        bytes[i] = i < size ? (uint8_t)(2 * number + i) : 0;
    if (width)
        *width = size;
    return 0;
}

int wetdbg_state_mask(const struct wetdbg_state *state, unsigned number, uint64_t *mask)
{
    (void)state;
    *mask = number == 3 ? UINT64_C(0x8000000000000005) : number;
    return fake_has_avx512 ? 0
                           : wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "no mask register %u", number);
}

const uint8_t *wetdbg_state_xstate(const struct wetdbg_state *state, size_t *size_bytes)
{
    (void)state;
    *size_bytes = 0;
    return NULL;
}

int wetdbg_state_read(struct wetdbg_state *state, uint64_t address, void *bytes, size_t size)
{
    if (address < MEMORY || address - MEMORY > sizeof(state->memory) ||
        size > sizeof(state->memory) - (address - MEMORY))
        return wetdbg_fail(-EFAULT, "no memory at 0x%lx", (unsigned long)address);
    memcpy(bytes, state->memory + (address - MEMORY), size);
    return 0;
}

const struct wetdbg_output *wetdbg_outputs(const struct wetdbg *wet, size_t *count)
{
    static const struct wetdbg_output list[] = {
        {1, 100, 0, MEMORY + 16, 6},
        {2, 150, 0, MEMORY + 16, 3},
        {1, 200, 6, MEMORY + 16, 6},
    };
    (void)wet;
    *count = 3;
    return list;
}

/* The first thread waits in futex (202) from time 992 on; then the run faults. */
int wetdbg_each_event(struct wetdbg *wet, wetdbg_event_fn fn, void *arg)
{
    const struct wetdbg_event events[] = {
        {.time = 992, .kind = WETDBG_EVENT_CALL, .number = 202},
        {.time = INSTRUCTIONS,
         .task = run.threads > 1,
         .kind = WETDBG_EVENT_FAULT,
         .number = 11,
         .code = 1,
         .address = 0x10},
    };
    int result = 0;
    (void)wet;
    for (size_t i = run.threads > 1 ? 0 : 1; i < 2 && !result; i++)
        result = fn(arg, &events[i]);
    return result;
}

/* ---- model.h: code ---- */

static const struct wetdbg_function functions[] = {
    {.name = "main", .linkage_name = "main", .start = MAIN_PC, .end = MAIN_PC + 0x80},
    {.name = "helper", .linkage_name = "helper", .start = HELPER_PC, .end = HELPER_PC + 0x10},
    {.name = "foreign",
     .linkage_name = "foreign",
     .start = FOREIGN_PC,
     .end = FOREIGN_PC + 0x10,
     .module = 1},
};

int wetdbg_function_at(struct wetdbg_model *model, uint64_t pc, struct wetdbg_function *function)
{
    (void)model;
    for (size_t i = 0; i < 3; i++)
        if (pc >= functions[i].start && pc < functions[i].end) {
            *function = functions[i];
            return 0;
        }
    return -WETDBG_ERR_NOT_FOUND;
}

size_t wetdbg_module_count(const struct wetdbg_model *model)
{
    (void)model;
    return 2;
}

int wetdbg_module_get(const struct wetdbg_model *model, wetdbg_module_id id,
                      struct wetdbg_module *module)
{
    static const struct wetdbg_module modules[] = {
        {.path = "/bin/prog", .name = "prog", .start = 0x1000, .end = 0x3000, .is_elf = 1},
        {.id = 1,
         .path = "/lib/libforeign.so",
         .name = "libforeign.so",
         .start = 0x5000,
         .end = 0x6000,
         .is_elf = 1},
    };
    (void)model;
    *module = modules[id];
    return 0;
}

int wetdbg_module_debug(struct wetdbg_model *model, wetdbg_module_id id,
                        struct wetdbg_module_debug *debug)
{
    (void)model;
    *debug = (struct wetdbg_module_debug){.has_dwarf = id == 0, .build_id = "0badf00d"};
    return 0;
}

int wetdbg_module_at(const struct wetdbg_model *model, uint64_t pc, struct wetdbg_module *module)
{
    return wetdbg_module_get(model, pc >= 0x5000, module);
}

int wetdbg_functions_each(struct wetdbg_model *model, const char *regex, wetdbg_function_fn fn,
                          void *context)
{
    regex_t pattern;
    int result = 0;
    (void)model;
    if (regcomp(&pattern, regex ? regex : "", REG_EXTENDED) != 0)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "bad expression '%s'", regex);
    for (size_t i = 0; i < 3 && !result; i++)
        if (regexec(&pattern, functions[i].name, 0, NULL, 0) == 0)
            result = fn(context, &functions[i]);
    regfree(&pattern);
    return result;
}

const char *wetdbg_name_full(struct wetdbg_model *model, const char *linkage_name)
{
    (void)model;
    return linkage_name;
}

int wetdbg_functions_named(struct wetdbg_model *model, const char *name,
                           struct wetdbg_function **list, size_t *count)
{
    (void)model;
    for (size_t i = 0; i < 3; i++)
        if (strcmp(functions[i].name, name) == 0) {
            *list = malloc(sizeof(**list));
            **list = functions[i];
            *count = 1;
            return 0;
        }
    return -WETDBG_ERR_NOT_FOUND;
}

static const char main_file[] = "/src/main.c", helper_file[] = "/src/lib/util.c";

int wetdbg_line_at(struct wetdbg_model *model, uint64_t pc, struct wetdbg_line *line)
{
    bool is_main = pc < HELPER_PC;
    (void)model;
    if (pc >= FOREIGN_PC)
        return -WETDBG_ERR_NOT_FOUND;
    *line = (struct wetdbg_line){
        .file = is_main ? main_file : helper_file,
        .line = is_main ? 10 + (uint32_t)(pc - MAIN_PC) / 16 : 30,
        .is_stmt = 1,
        .start = pc & ~UINT64_C(15),
        .end = (pc & ~UINT64_C(15)) + 16,
        .run_start = pc & ~UINT64_C(15),
        .run_end = (pc & ~UINT64_C(15)) + 16,
    };
    return 0;
}

int wetdbg_line_of_instruction(struct wetdbg_model *model, uint64_t pc, struct wetdbg_line *line)
{
    return wetdbg_line_at(model, pc, line);
}

int wetdbg_inline_chain(struct wetdbg_model *model, uint64_t pc, struct wetdbg_line *chain,
                        size_t max, size_t *count)
{
    (void)max;
    *count = 1;
    return wetdbg_line_at(model, pc, chain);
}

int wetdbg_line_locations(struct wetdbg_model *model, const char *file, uint32_t line,
                          struct wetdbg_line_location **locations, size_t *count)
{
    bool is_main = strcmp(file, "main.c") == 0, is_helper = strcmp(file, "util.c") == 0;
    (void)model;
    if (!is_main && !is_helper)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no module knows a source file '%s'", file);
    if (is_main ? line < 10 || line > 17 : line != 30)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no code at %s:%u; nearest: %s:10", file, line,
                           file);
    *locations = malloc(sizeof(**locations));
    **locations = (struct wetdbg_line_location){
        .pc = is_main ? MAIN_PC + 16 * (line - 10) : HELPER_PC,
        .file = is_main ? main_file : helper_file,
        .line = line,
        .is_breakpoint = 1,
    };
    *count = 1;
    return 0;
}

int wetdbg_lines_each(struct wetdbg_model *model, const char *file, wetdbg_line_fn fn,
                      void *context)
{
    struct wetdbg_line line;
    int result = 0;
    for (unsigned i = 0; i < 8 && !result && strcmp(file, "main.c") == 0; i++) {
        wetdbg_line_at(model, MAIN_PC + 16 * i, &line);
        result = fn(context, &line);
    }
    return result;
}

int wetdbg_source_line(struct wetdbg_model *model, const char *file, uint32_t line, uint64_t pc,
                       const char **text, unsigned *flags)
{
    static char lines[64][64];
    (void)model;
    (void)pc;
    *flags = 0;
    *text = NULL;
    if (file == helper_file && line == 30) {
        *text = "    return *p;\033[31m";
    } else if (file == main_file && line >= 1 && line <= 20) {
        snprintf(lines[line], sizeof(lines[line]), "\tmain line %u;", line);
        *text = lines[line];
    } else {
        *flags = file == main_file ? WETDBG_SOURCE_SHORT : WETDBG_SOURCE_MISSING;
    }
    return 0;
}

/* ---- model.h: variables and frames ---- */

enum {
    T_INT = 1,
    T_CHAR,
    T_INT_PTR,
    T_PAIR,
    T_NAME,
    T_CHAR_PTR,
    T_DOUBLE,
    T_ENUM,
    T_UCHAR,
    T_PAIR_PTR
};

static const struct wetdbg_type types[] = {
    [T_INT] = {WETDBG_TYPE_SIGNED, 1, 0, 4, "int", T_INT},
    [T_CHAR] = {WETDBG_TYPE_CHAR, 1, 0, 1, "char", T_CHAR},
    [T_INT_PTR] = {WETDBG_TYPE_POINTER, 0, 0, 8, "int *", T_INT_PTR},
    [T_PAIR] = {WETDBG_TYPE_STRUCT, 0, 0, 8, "struct pair", T_PAIR},
    [T_NAME] = {WETDBG_TYPE_ARRAY, 0, 0, 8, "char [8]", T_NAME},
    [T_CHAR_PTR] = {WETDBG_TYPE_POINTER, 0, 0, 8, "char *", T_CHAR_PTR},
    [T_DOUBLE] = {WETDBG_TYPE_FLOAT, 1, 0, 8, "double", T_DOUBLE},
    [T_ENUM] = {WETDBG_TYPE_ENUM, 0, 0, 4, "enum colour", T_ENUM},
    [T_UCHAR] = {WETDBG_TYPE_CHAR, 0, 0, 1, "unsigned char", T_UCHAR},
    [T_PAIR_PTR] = {WETDBG_TYPE_POINTER, 0, 0, 8, "struct pair *", T_PAIR_PTR},
};

static const struct {
    const char *name;
    unsigned type, offset;
} variables[] = {
    {"x", T_INT, 0},     {"c", T_CHAR, 4},     {"p", T_INT_PTR, 8},
    {"s", T_PAIR, 0},    {"name", T_NAME, 16}, {"text", T_CHAR_PTR, 24},
    {"d", T_DOUBLE, 32}, {"e", T_ENUM, 40},    {"now", T_UCHAR, 48},
};

static void fill_variable(size_t i, struct wetdbg_variable *variable)
{
    *variable = (struct wetdbg_variable){
        .name = variables[i].name,
        .type = types[variables[i].type],
        .scope = i == 0 ? WETDBG_SCOPE_PARAM : WETDBG_SCOPE_LOCAL,
        .handle = i + 1,
    };
}

int wetdbg_variable_find(struct wetdbg_model *model, uint64_t pc, const char *name,
                         struct wetdbg_variable *variable)
{
    (void)model;
    (void)pc;
    for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
        if (strcmp(variables[i].name, name) == 0) {
            fill_variable(i, variable);
            return 0;
        }
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "unknown");
}

int wetdbg_variable_find_at(struct wetdbg_model *model, uint64_t pc, size_t depth, const char *name,
                            struct wetdbg_variable *variable)
{
    (void)depth;
    return wetdbg_variable_find(model, pc, name, variable);
}

int wetdbg_member_offset(struct wetdbg_model *model, const struct wetdbg_member *member,
                         const struct wetdbg_machine *machine, uint64_t address,
                         uint64_t *offset_bytes)
{
    (void)model;
    (void)machine;
    (void)address;
    *offset_bytes = member->offset_bytes;
    return 0;
}

int wetdbg_variables_each_at(struct wetdbg_model *model, uint64_t pc, size_t depth,
                             wetdbg_variable_fn fn, void *context)
{
    struct wetdbg_variable variable;
    int result = 0;
    (void)model;
    (void)depth;
    if (pc < HELPER_PC)
        return 0;
    for (size_t i = 0; i < 2 && !result; i++) {
        fill_variable(i, &variable);
        result = fn(context, &variable);
    }
    return result;
}

int wetdbg_variable_locate(struct wetdbg_model *model, const struct wetdbg_variable *variable,
                           uint64_t pc, const struct wetdbg_machine *machine,
                           struct wetdbg_place *place)
{
    (void)model;
    (void)pc;
    (void)machine;
    *place = (struct wetdbg_place){
        .kind = WETDBG_PLACE_MEMORY,
        .address = MEMORY + variables[variable->handle - 1].offset,
    };
    return 0;
}

int wetdbg_type_target(struct wetdbg_model *model, uint64_t handle, struct wetdbg_type *target,
                       uint64_t *element_count)
{
    (void)model;
    *element_count = handle == T_NAME ? 8 : 0;
    *target = types[handle == T_INT_PTR ? T_INT : handle == T_PAIR_PTR ? T_PAIR : T_CHAR];
    return handle == T_INT_PTR || handle == T_NAME || handle == T_CHAR_PTR || handle == T_PAIR_PTR
               ? 0
               : -WETDBG_ERR_NOT_FOUND;
}

int wetdbg_type_members_each(struct wetdbg_model *model, uint64_t handle, wetdbg_member_fn fn,
                             void *context)
{
    const struct wetdbg_member members[] = {
        {.name = "first", .type = types[T_INT]},
        {.name = "letter", .type = types[T_CHAR], .offset_bytes = 4},
        {.name = "low", .type = types[T_INT], .offset_bytes = 5, .bit_offset = 0, .bit_size = 3},
        {.name = "high", .type = types[T_INT], .offset_bytes = 5, .bit_offset = 3, .bit_size = 5},
    };
    int result = 0;
    (void)model;
    for (size_t i = 0; i < 4 && handle == T_PAIR && !result; i++)
        result = fn(context, &members[i]);
    return result;
}

int wetdbg_type_enumerator(struct wetdbg_model *model, uint64_t handle, int64_t value,
                           const char **name)
{
    (void)model;
    (void)handle;
    *name = "GREEN";
    return value == 1 ? 0 : -WETDBG_ERR_NOT_FOUND;
}

int wetdbg_type_enumerators_each(struct wetdbg_model *model, uint64_t handle,
                                 wetdbg_enumerator_fn fn, void *context)
{
    (void)model;
    (void)handle;
    return fn(context, "GREEN", 1);
}

int wetdbg_type_plain(struct wetdbg_model *model, const struct wetdbg_type *type,
                      struct wetdbg_type *plain)
{
    (void)model;
    *plain = *type;
    return 0;
}

/* Makes no more types than there are: pointers to int, char and the structure, an array of char. */
int wetdbg_type_pointer(struct wetdbg_model *model, const struct wetdbg_type *target,
                        struct wetdbg_type *pointer)
{
    (void)model;
    *pointer = types[target->handle == T_CHAR   ? T_CHAR_PTR
                     : target->handle == T_PAIR ? T_PAIR_PTR
                                                : T_INT_PTR];
    snprintf(pointer->name, sizeof(pointer->name), "%.200s *", target->name);
    return 0;
}

int wetdbg_type_array(struct wetdbg_model *model, const struct wetdbg_type *element, uint64_t count,
                      struct wetdbg_type *array)
{
    (void)model;
    (void)count;
    *array = types[T_NAME];
    return element->handle == T_CHAR ? 0 : wetdbg_fail(-WETDBG_ERR_USAGE, "no such array");
}

int wetdbg_type_named(struct wetdbg_model *model, uint64_t pc, const char *name,
                      struct wetdbg_type *type)
{
    (void)model;
    (void)pc;
    *type = types[T_PAIR];
    return strcmp(name, "struct pair") == 0 ? 0 : wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no type");
}

int wetdbg_enumerator_named(struct wetdbg_model *model, uint64_t pc, const char *name,
                            struct wetdbg_type *type, int64_t *value)
{
    (void)model;
    (void)pc;
    *type = types[T_ENUM];
    *value = 1;
    return strcmp(name, "GREEN") == 0 ? 0 : wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no enumerator");
}

int wetdbg_function_type(struct wetdbg_model *model, uint64_t pc, struct wetdbg_type *type)
{
    (void)model;
    (void)pc;
    *type =
        (struct wetdbg_type){.kind = WETDBG_TYPE_FUNCTION, .size_bytes = 1, .name = "int (void)"};
    return 0;
}

int wetdbg_function_result(struct wetdbg_model *model, uint64_t pc, size_t depth,
                           struct wetdbg_type *type)
{
    (void)model;
    (void)pc;
    (void)depth;
    *type = types[T_INT];
    return 0;
}

int wetdbg_function_body(struct wetdbg_model *model, uint64_t entry_pc, uint64_t *body_pc)
{
    (void)model;
    *body_pc = entry_pc;
    return 0;
}

bool wetdbg_is_of_c(struct wetdbg_model *model, uint64_t pc)
{
    (void)model;
    (void)pc;
    return 1;
}

int wetdbg_symbol_at(struct wetdbg_model *model, uint64_t address, struct wetdbg_symbol *symbol)
{
    (void)model;
    *symbol = (struct wetdbg_symbol){.name = "storage", .start = MEMORY, .size_bytes = 0x100};
    return address >= MEMORY && address < MEMORY + 0x100 ? 0 : -WETDBG_ERR_NOT_FOUND;
}

int wetdbg_unwind(struct wetdbg_model *model, struct wetdbg_frame_regs *regs,
                  wetdbg_read_memory_fn read_memory, void *context)
{
    (void)model;
    (void)read_memory;
    (void)context;
    if (regs->value[WETDBG_REG_RIP] < HELPER_PC)
        return 0;
    *regs = (struct wetdbg_frame_regs){.valid = 1u << WETDBG_REG_RIP};
    regs->value[WETDBG_REG_RIP] = MAIN_PC + 16 * 4 + 5; /* the call was on line 14 */
    return 1;
}

/* ---- slicer.h ---- */

struct wetdbg_criterion {
    struct wetdbg_criterion_info info;
    char text[64];
};

struct wetdbg_slice {
    bool has_parents;
};

static const struct wetdbg_slice_line lines[] = {
    {helper_file, 30, "helper", "helper", "prog", HELPER_PC, 2, 1, 0, 993, 1001, 0},
    {main_file, 14, "main", "main", "prog", MAIN_PC + 64, 3, 2, 1, 13, 989, 1},
    {NULL, 0, "foreign", "foreign", "libforeign.so", FOREIGN_PC, 7, 7, 2, 500, 507, 0},
    {main_file, 10, "main", "main", "prog", MAIN_PC, 1, 1, 3, 1, 1, 1},
};

static const struct wetdbg_slice_instance instances[] = {
    {1001, HELPER_PC, 0, WETDBG_EDGE_NONE, 0, WETDBG_LOCATION_NONE, 0},
    {989, MAIN_PC + 64, 1, WETDBG_EDGE_VALUE, 1001, 0 /* of rax */, 0},
    {507, FOREIGN_PC, 2, WETDBG_EDGE_CONTROL, 989, WETDBG_LOCATION_NONE, 0},
    {1, MAIN_PC, 3, WETDBG_EDGE_ADDRESS, 507, WETDBG_LOCATION_NONE, MEMORY + 4},
};

int wetdbg_criterion_parse(struct wetdbg *wet, const char *text,
                           const struct wetdbg_standpoint *from, struct wetdbg_criterion **out)
{
    (void)wet;
    (void)from;
    if (strcmp(text, "exit") == 0)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "the run did not exit");
    if (strcmp(text, "crash") != 0)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "'%s' is no criterion", text);
    *out = calloc(1, sizeof(**out));
    strcpy((*out)->text, text);
    (*out)->info = (struct wetdbg_criterion_info){
        .text = (*out)->text,
        .description = "SIGSEGV at util.c:30 in helper",
        .source = "the source",
        .time = INSTRUCTIONS + 1,
    };
    return 0;
}

int wetdbg_criterion_of_variable(struct wetdbg *wet, wetdbg_time time, const char *text,
                                 const struct wetdbg_place *where, uint64_t type_bytes,
                                 struct wetdbg_criterion **out)
{
    (void)wet;
    (void)where;
    (void)type_bytes;
    *out = calloc(1, sizeof(**out));
    snprintf((*out)->text, sizeof(*out)->text, "%s", text);
    (*out)->info = (struct wetdbg_criterion_info){
        .text = (*out)->text, .description = "a variable", .source = "a variable", .time = time};
    return 0;
}

/* One file, which nothing but its name is known of, and standard output. */
int wetdbg_files_open(struct wetdbg *wet, struct wetdbg_files **out)
{
    *out = (struct wetdbg_files *)(uintptr_t)wet;
    return 0;
}

void wetdbg_files_close(struct wetdbg_files *files)
{
    (void)files;
}

size_t wetdbg_files_count(const struct wetdbg_files *files)
{
    (void)files;
    return 2;
}

struct wetdbg_file wetdbg_files_get(const struct wetdbg_files *files, size_t n)
{
    (void)files;
    if (n == 0)
        return (struct wetdbg_file){.name = "dir/in\x1b.txt",
                                    .is_path = true,
                                    .is_mapped = true,
                                    .reads = 2,
                                    .read_bytes = 300,
                                    .first_time = 500,
                                    .last_time = 501};
    return (struct wetdbg_file){.name = "standard output",
                                .writes = 1,
                                .written_bytes = 6,
                                .first_time = 506,
                                .last_time = 506};
}

int wetdbg_files_find_written(const struct wetdbg_files *files, const char *path, size_t *n)
{
    (void)files;
    *n = 1;
    return strcmp(path, "out.txt") == 0
               ? 0
               : wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "the program wrote to no file '%s'", path);
}

int wetdbg_files_outputs(const struct wetdbg_files *files, size_t n, struct wetdbg_output **list,
                         size_t *count)
{
    const struct wetdbg_output *outputs = wetdbg_outputs(NULL, count);
    (void)files;
    (void)n;
    *list = malloc(2 * sizeof(**list));
    (*list)[0] = outputs[0];
    (*list)[0].offset = 100;
    (*list)[1] = outputs[0];
    (*list)[1].offset = UINT64_MAX;
    *count = 2;
    return 0;
}

int wetdbg_descriptor_outputs(struct wetdbg *wet, int fd, struct wetdbg_output **list,
                              size_t *count)
{
    size_t all;
    const struct wetdbg_output *outputs = wetdbg_outputs(wet, &all);
    *list = malloc(all * sizeof(**list));
    *count = 0;
    for (size_t i = 0; i < all; i++)
        if (outputs[i].fd == fd)
            (*list)[(*count)++] = outputs[i];
    return 0;
}

bool wetdbg_is_own(struct wetdbg *wet, uint64_t pc)
{
    (void)wet;
    (void)pc;
    return true;
}

int wetdbg_own_caller(struct wetdbg *wet, wetdbg_time time, struct wetdbg_caller *caller)
{
    (void)wet;
    (void)time;
    (void)caller;
    return -WETDBG_ERR_NOT_FOUND;
}

/* Copied at 989 from memory, where a read had put it at 500. */
int wetdbg_origin(struct wetdbg *wet, const struct wetdbg_criterion *criterion,
                  const struct wetdbg_slice_options *options, struct wetdbg_origin **out)
{
    const struct wetdbg_spot rax = {.kind = WETDBG_SPOT_GPR};
    const struct wetdbg_spot memory = {.kind = WETDBG_SPOT_MEMORY, .address = MEMORY};
    (void)wet;
    (void)criterion;
    (void)options;
    *out = calloc(1, sizeof(**out));
    **out = (struct wetdbg_origin){.size = 2, .value = {0x34, 0x12}, .known = 3, .place = rax};
    (*out)->hops = calloc(3, sizeof *(*out)->hops);
    (*out)->hops[(*out)->hop_count++] = (struct wetdbg_hop){.kind = WETDBG_HOP_COPY,
                                                            .time = 989,
                                                            .pc = MAIN_PC + 64,
                                                            .bytes = 3,
                                                            .to = rax,
                                                            .from = memory,
                                                            .text = "mov eax, dword ptr [rbx]"};
    (*out)->hops[(*out)->hop_count++] = (struct wetdbg_hop){.kind = WETDBG_HOP_SYSCALL,
                                                            .time = 507,
                                                            .pc = FOREIGN_PC,
                                                            .bytes = 1,
                                                            .to = memory,
                                                            .arg_count = 3,
                                                            .args = {3, MEMORY, 100},
                                                            .result = 12,
                                                            .offset = 4,
                                                            .extent = 12,
                                                            .file = "in.txt",
                                                            .file_offset = 104};
    (*out)->hops[(*out)->hop_count++] = (struct wetdbg_hop){.kind = WETDBG_HOP_COMPUTED,
                                                            .time = 1,
                                                            .pc = MAIN_PC,
                                                            .bytes = 2,
                                                            .to = memory,
                                                            .text = "inc"};
    return 0;
}

void wetdbg_origin_free(struct wetdbg_origin *origin)
{
    free(origin->hops);
    free(origin);
}

const char *wetdbg_hop_name(enum wetdbg_hop_kind kind)
{
    return kind == WETDBG_HOP_COPY      ? "copied"
           : kind == WETDBG_HOP_SYSCALL ? "system call"
                                        : "computed";
}

void wetdbg_spot_name(const struct wetdbg_spot *spot, char *text, size_t size)
{
    snprintf(text, size, "%s", spot->kind == WETDBG_SPOT_GPR ? "rax" : "");
}

void wetdbg_criterion_free(struct wetdbg_criterion *criterion)
{
    free(criterion);
}

const struct wetdbg_criterion_info *
wetdbg_criterion_get_info(const struct wetdbg_criterion *criterion)
{
    return &criterion->info;
}

const char *wetdbg_edge_name(enum wetdbg_edge edge)
{
    static const char *const names[] = {"value", "address", "condition", "control", "criterion"};
    return names[edge];
}

int wetdbg_check_model(const struct wetdbg *wet)
{
    (void)wet;
    return 0;
}

int wetdbg_slice_session_new(struct wetdbg *wet, struct wetdbg_slice_session **out)
{
    (void)wet;
    *out = NULL;
    return 0;
}

void wetdbg_slice_session_free(struct wetdbg_slice_session *session)
{
    (void)session;
}

int wetdbg_slice_backward(struct wetdbg *wet, const struct wetdbg_criterion *criterion,
                          const struct wetdbg_slice_options *options, struct wetdbg_slice **out)
{
    (void)wet;
    (void)criterion;
    fake_slice_count++;
    if (fake_slice_is_interrupted)
        return -WETDBG_ERR_INTERRUPTED;
    *out = calloc(1, sizeof(**out));
    (*out)->has_parents = options->record_parents;
    return 0;
}

int wetdbg_slice_forward(struct wetdbg *wet, const struct wetdbg_criterion *source,
                         const struct wetdbg_slice_options *options, struct wetdbg_slice **out)
{
    return wetdbg_slice_backward(wet, source, options, out);
}

const struct wetdbg_slice_reached *wetdbg_slice_get_reached(const struct wetdbg_slice *slice,
                                                            size_t *count)
{
    static const struct wetdbg_slice_reached reached = {.fd = 1, .offset = 4, .size = 2};
    (void)slice;
    *count = 1;
    return &reached;
}

bool wetdbg_slice_reaches_crash(const struct wetdbg_slice *slice)
{
    (void)slice;
    return false;
}

struct wetdbg_set {
    uint64_t count;
};

int wetdbg_set_of_slice(const struct wetdbg_slice *slice, struct wetdbg_set **out)
{
    (void)slice;
    *out = calloc(1, sizeof(**out));
    (*out)->count = 13;
    return 0;
}

int wetdbg_set_combine(const struct wetdbg_set *a, enum wetdbg_set_operation operation,
                       const struct wetdbg_set *b, struct wetdbg_set **out)
{
    (void)b;
    *out = calloc(1, sizeof(**out));
    if (operation != WETDBG_SET_MINUS)
        **out = *a;
    return 0;
}

int wetdbg_set_save(const struct wetdbg_set *set, const char *note, const char *path)
{
    (void)set;
    (void)note;
    return wetdbg_fail(-EACCES, "%s: Permission denied", path);
}

int wetdbg_set_load(struct wetdbg *wet, const char *path, struct wetdbg_set **out, char **note)
{
    (void)wet;
    (void)out;
    (void)note;
    return wetdbg_fail(-WETDBG_ERR_USAGE, "%s is a set of another run's instances", path);
}

uint64_t wetdbg_set_count(const struct wetdbg_set *set)
{
    return set->count;
}

void wetdbg_set_free(struct wetdbg_set *set)
{
    free(set);
}

int wetdbg_slice_of_set(const struct wetdbg_set *set, const struct wetdbg_slice_options *options,
                        struct wetdbg_slice **out)
{
    (void)set;
    return wetdbg_slice_backward(NULL, NULL, options, out);
}

int wetdbg_slice_within(const struct wetdbg_slice *slice, const struct wetdbg_set *set,
                        struct wetdbg_slice **out)
{
    (void)set;
    *out = calloc(1, sizeof(**out));
    **out = *slice;
    return 0;
}

bool wetdbg_slice_contains_time(const struct wetdbg_slice *slice, wetdbg_time time)
{
    (void)slice;
    return time == 993 || time == 13;
}

/* Pruning: of the lines above one has no confidence, one half, one all. */
struct wetdbg_profile {
    bool is_there;
};

int wetdbg_profile_make(struct wetdbg *wet,
                        int (*progress)(void *arg, uint64_t done, uint64_t total), void *arg,
                        struct wetdbg_profile **out)
{
    (void)wet;
    if (progress(arg, 1, 2))
        return -WETDBG_ERR_INTERRUPTED;
    *out = calloc(1, sizeof(**out));
    return 0;
}

void wetdbg_profile_free(struct wetdbg_profile *profile)
{
    free(profile);
}

struct wetdbg_prune {
    struct wetdbg_prune_counts counts;
    struct wetdbg_prune_line lines[4];
};

int wetdbg_prune(const struct wetdbg_slice *slice, const struct wetdbg_prune_options *options,
                 struct wetdbg_prune **out)
{
    static const double confidences[] = {0, 0.995, 0.25, 1};
    (void)slice;
    *out = calloc(1, sizeof(**out));
    (*out)->counts = (struct wetdbg_prune_counts){.instances = 13,
                                                  .kept = 9,
                                                  .lines = 4,
                                                  .kept_lines = 3,
                                                  .right_bytes = 4,
                                                  .known = 20 + options->good_count};
    for (unsigned i = 0; i < 4; i++)
        (*out)->lines[i] = (struct wetdbg_prune_line){&lines[i], confidences[i],
                                                      i == 3 ? 0 : lines[i].instances - i};
    return 0;
}

void wetdbg_prune_free(struct wetdbg_prune *prune)
{
    free(prune);
}

const struct wetdbg_prune_counts *wetdbg_prune_get_counts(const struct wetdbg_prune *prune)
{
    return &prune->counts;
}

const struct wetdbg_prune_line *wetdbg_prune_lines(const struct wetdbg_prune *prune, size_t *count)
{
    *count = 4;
    return prune->lines;
}

int wetdbg_prune_right_before(struct wetdbg *wet, const struct wetdbg_criterion *wrong,
                              struct wetdbg_criterion **out)
{
    (void)wrong;
    return wetdbg_criterion_parse(wet, "crash", NULL, out);
}

int wetdbg_prune_check(const struct wetdbg_criterion *right, const struct wetdbg_criterion *wrong)
{
    (void)right;
    (void)wrong;
    return 0;
}

int wetdbg_criterion_of_instance(struct wetdbg *wet, wetdbg_time time,
                                 struct wetdbg_criterion **out)
{
    (void)time;
    return wetdbg_criterion_parse(wet, "crash", NULL, out);
}

int wetdbg_criterion_times(const struct wetdbg_criterion *criterion, wetdbg_time **times,
                           size_t *count)
{
    *times = calloc(1, sizeof(**times));
    (*times)[0] = criterion->info.time;
    *count = 1;
    return 0;
}

void wetdbg_slice_free(struct wetdbg_slice *slice)
{
    free(slice);
}

const struct wetdbg_slice_counts *wetdbg_slice_get_counts(const struct wetdbg_slice *slice)
{
    static const struct wetdbg_slice_counts counts = {
        .instances = 13, .statements = 11, .lines = 3, .functions_without_lines = 1};
    (void)slice;
    return &counts;
}

const struct wetdbg_slice_line *wetdbg_slice_lines(const struct wetdbg_slice *slice, size_t *count)
{
    (void)slice;
    *count = 4;
    return lines;
}

int wetdbg_slice_each_line_instance(const struct wetdbg_slice *slice, size_t line_index,
                                    wetdbg_slice_instance_fn fn, void *arg)
{
    struct wetdbg_slice_instance instance = instances[line_index];
    if (!slice->has_parents) {
        instance.distance = WETDBG_DISTANCE_UNKNOWN;
        instance.parent = 0;
    }
    return fn(arg, &instance);
}

int wetdbg_slice_each_instance(const struct wetdbg_slice *slice, const uint64_t *pcs,
                               size_t pc_count, wetdbg_slice_instance_fn fn, void *arg)
{
    int result = 0;
    (void)pcs;
    (void)pc_count;
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines) && !result; i++)
        result = wetdbg_slice_each_line_instance(slice, i, fn, arg);
    return result;
}

int wetdbg_slice_path_to_line(const struct wetdbg_slice *slice, size_t line_index,
                              struct wetdbg_slice_path **path)
{
    size_t count = line_index + 1 + 2 * fake_path_turns, at = 0;
    if (!slice->has_parents)
        return -EINVAL;
    *path = malloc(sizeof(**path) + count * sizeof(instances[0]));
    struct wetdbg_slice_instance *hops = (struct wetdbg_slice_instance *)(*path + 1);
    for (size_t i = 0; i <= line_index; i++) {
        hops[at++] = instances[i];
        for (unsigned turn = 0; i == 2 && turn < fake_path_turns; turn++) {
            hops[at++] = instances[1];
            hops[at++] = instances[2];
        }
    }
    **path = (struct wetdbg_slice_path){at, hops};
    return 0;
}

int wetdbg_slice_decisions(const struct wetdbg_slice *slice, size_t limit,
                           struct wetdbg_decision **decisions, size_t *count)
{
    if (!slice->has_parents)
        return -EINVAL;
    *count = limit && limit < 2 ? limit : 2;
    *decisions = calloc(2, sizeof(**decisions));
    (*decisions)[0] = (struct wetdbg_decision){.instance = instances[1],
                                               .instances = 3,
                                               .went = instances[0].pc,
                                               .other = instances[3].pc,
                                               .is_way_out = true};
    (*decisions)[1] = (struct wetdbg_decision){.instance = instances[3], .instances = 1};
    return 0;
}

/* Each line gave something to the one before. */
int wetdbg_slice_links(const struct wetdbg_slice *slice, const bool *passed,
                       struct wetdbg_slice_link **links, size_t *count)
{
    (void)passed;
    if (!slice->has_parents)
        return wetdbg_fail(-EINVAL, "the slice was made without parents");
    *links = calloc(3, sizeof(**links));
    *count = 3;
    for (size_t i = 0; i < 3; i++)
        (*links)[i] = (struct wetdbg_slice_link){i, i + 1, {[WETDBG_EDGE_VALUE] = i + 1}};
    return 0;
}

void wetdbg_slice_path_free(struct wetdbg_slice_path *path)
{
    free(path);
}

const struct wetdbg_slice_initial *wetdbg_slice_initials(const struct wetdbg_slice *slice,
                                                         size_t *count)
{
    static const struct wetdbg_slice_initial list[] = {
        {.location = WETDBG_LOCATION_NONE,
         .address = MEMORY + 4,
         .size_bytes = 4,
         .distance = 9,
         .user = 5},
        {.location = WETDBG_LOCATION_NONE,
         .address = MEMORY + 12,
         .size_bytes = 4,
         .distance = 3,
         .user = 7},
        {.location = WETDBG_LOCATION_NONE,
         .address = 0x9000,
         .size_bytes = 8,
         .distance = 1,
         .user = 9},
        {.location = 0 /* of rax */, .distance = 2, .user = 1},
    };
    (void)slice;
    *count = 4;
    return list;
}
