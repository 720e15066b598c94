/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>

#include "tests/cli/cli_fake_priv.h"
#include "wet/intervals.h"
#include "wet/model/make_model.h"
#include <wetdbg/errors.h>

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

int wetdbg_count_instances_in(struct wetdbg *wet, const uint64_t *pcs, size_t pc_count, uint64_t k,
                              uint64_t *count)
{
    (void)k; /* there is one interval */
    return wetdbg_count_instances(wet, pcs, pc_count, count);
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

static void stand(struct wetdbg_state *state, wetdbg_time t)
{
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
}

int wetdbg_state_open(struct wetdbg *wet, wetdbg_time t, struct wetdbg_state **out)
{
    (void)wet;
    *out = calloc(1, sizeof(**out));
    stand(*out, t);
    return 0;
}

int wetdbg_state_advance(struct wetdbg_state *state, wetdbg_time t)
{
    stand(state, t);
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

int wetdbg_inlined_named(struct wetdbg_model *model, const char *name, uint64_t **pcs,
                         size_t *count)
{
    (void)model;
    (void)name;
    (void)pcs;
    (void)count;
    return -WETDBG_ERR_NOT_FOUND;
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

int wetdbg_address_named(struct wetdbg_model *model, const char *text, uint64_t *address)
{
    const char *plus = strrchr(text, '+');
    (void)model;
    for (size_t i = 0; plus && i < 3; i++)
        if (strlen(functions[i].name) == (size_t)(plus - text) &&
            strncmp(functions[i].name, text, (size_t)(plus - text)) == 0) {
            *address = functions[i].start + strtoull(plus + 1, NULL, 0);
            return 0;
        }
    return -WETDBG_ERR_NOT_FOUND;
}

const char fake_main_file[] = "/src/main.c", fake_helper_file[] = "/src/lib/util.c";

int wetdbg_line_at(struct wetdbg_model *model, uint64_t pc, struct wetdbg_line *line)
{
    bool is_main = pc < HELPER_PC;
    (void)model;
    if (pc >= FOREIGN_PC)
        return -WETDBG_ERR_NOT_FOUND;
    *line = (struct wetdbg_line){
        .file = is_main ? fake_main_file : fake_helper_file,
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

int wetdbg_line_ranges(struct wetdbg_model *model, const char *file, uint32_t line,
                       struct wetdbg_range **ranges, size_t *count)
{
    struct wetdbg_line_location *locations;
    int result = wetdbg_line_locations(model, file, line, &locations, count);
    if (result)
        return result;
    *ranges = calloc(*count + 1, sizeof(**ranges));
    for (size_t i = 0; i < *count; i++)
        (*ranges)[i] = (struct wetdbg_range){locations[i].pc, locations[i].pc + 1};
    free(locations);
    return 0;
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
        .file = is_main ? fake_main_file : fake_helper_file,
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
    if (file == fake_helper_file && line == 30) {
        *text = "    return *p;\033[31m";
    } else if (file == fake_main_file && line >= 1 && line <= 20) {
        snprintf(lines[line], sizeof(lines[line]), "\tmain line %u;", line);
        *text = lines[line];
    } else {
        *flags = file == fake_main_file ? WETDBG_SOURCE_SHORT : WETDBG_SOURCE_MISSING;
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

int wetdbg_variable_pieces(struct wetdbg_model *model, const struct wetdbg_variable *variable,
                           uint64_t pc, const struct wetdbg_machine *machine,
                           struct wetdbg_piece **pieces, size_t *count)
{
    *pieces = calloc(1, sizeof(**pieces));
    *count = 1;
    return *pieces ? wetdbg_variable_locate(model, variable, pc, machine, &(*pieces)->place)
                   : -ENOMEM;
}

int wetdbg_variable_entry_value(struct wetdbg_model *model, const struct wetdbg_variable *variable,
                                uint64_t pc, const struct wetdbg_machine *machine, uint64_t *value)
{
    (void)model;
    (void)variable;
    (void)pc;
    (void)machine;
    (void)value;
    return -WETDBG_ERR_NOT_FOUND;
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

int wetdbg_type_argument(struct wetdbg_model *model, uint64_t type_handle, unsigned index,
                         struct wetdbg_type *argument)
{
    (void)model;
    (void)type_handle;
    (void)index;
    (void)argument;
    return -WETDBG_ERR_NOT_FOUND;
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

const char *wetdbg_language_at(struct wetdbg_model *model, uint64_t pc)
{
    (void)model;
    (void)pc;
    return "c";
}

int wetdbg_symbol_at(struct wetdbg_model *model, uint64_t address, struct wetdbg_symbol *symbol)
{
    (void)model;
    *symbol = (struct wetdbg_symbol){.name = "storage", .start = MEMORY, .size_bytes = 0x100};
    return address >= MEMORY && address < MEMORY + 0x100 ? 0 : -WETDBG_ERR_NOT_FOUND;
}

size_t wetdbg_tail_callers(struct wetdbg_model *model, const struct wetdbg_frame_regs *callee,
                           const struct wetdbg_frame_regs *caller,
                           uint64_t pcs[WETDBG_TAIL_CALLERS_MAX])
{
    (void)model;
    (void)callee;
    (void)caller;
    (void)pcs;
    return 0;
}

void wetdbg_frame_enter_tail(struct wetdbg_frame_regs *caller, uint64_t pc)
{
    (void)caller;
    (void)pc;
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
