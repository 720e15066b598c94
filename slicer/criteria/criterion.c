/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Criteria: which of the forms a text is, and what all forms share. */
#include "slicer/criteria/criterion.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "slicer/channels/channels.h"
#include "slicer/criteria/birth.h"
#include "slicer/slice_session.h"
#include "slicer/state_view.h"
#include <wetdbg/errors.h>

struct slc_seed *slc_criterion_add(struct wetdbg_criterion *criterion, wetdbg_time time,
                                   uint64_t pc)
{
    if (wd_grow(criterion->seeds, criterion->seed_capacity, criterion->seed_count + 1))
        return NULL;
    struct slc_seed *seed = &criterion->seeds[criterion->seed_count++];
    *seed = (struct slc_seed){.time = time, .pc = pc};
    return seed;
}

int slc_seed_add_place(struct slc_seed *seed, uint64_t address, uint64_t size,
                       enum wetdbg_edge edge)
{
    if (wd_grow_one(seed->places, seed->place_count))
        return -ENOMEM;
    seed->places[seed->place_count++] =
        (struct slc_place){.address = address, .size_bytes = size, .edge = edge};
    return 0;
}

int slc_state_at(struct wetdbg *wet, wetdbg_time time, uint64_t *pc, uint32_t *task)
{
    struct wetdbg_state *state;
    int err = wetdbg_state_open(wet, time, &state);

    if (err)
        return err;
    *pc = wet_state_regs(state)->r[EVQ_RIP];
    *task = wetdbg_state_task(state);
    wetdbg_state_close(state);
    return 0;
}

void slc_describe_pc(struct wetdbg *wet, uint64_t pc, char *text, size_t size)
{
    struct wetdbg_model *model = wetdbg_get_model(wet);
    struct wetdbg_function function;
    struct wetdbg_module module;
    struct wetdbg_line line;

    if (wetdbg_line_at(model, pc, &line) == 0 && line.file && line.line) {
        const char *base = strrchr(line.file, '/');
        snprintf(text, size, "%s:%u%s%s", base ? base + 1 : line.file, line.line,
                 line.function ? " in " : "", line.function ? line.function : "");
    } else if (wetdbg_function_at(model, pc, &function) == 0 &&
               wetdbg_module_at(model, pc, &module) == 0) {
        if (function.flags & WETDBG_FUNCTION_NAMELESS)
            snprintf(text, size, "%s+0x%llx", module.name, (unsigned long long)(pc - module.bias));
        else if (pc > function.start)
            snprintf(text, size, "%s+%llu in %s", function.name,
                     (unsigned long long)(pc - function.start), module.name);
        else
            snprintf(text, size, "%s in %s", function.name, module.name);
    } else {
        snprintf(text, size, "0x%llx", (unsigned long long)pc);
    }
}

/* ---- numbers in texts ---- */

bool slc_parse_number(const char **text, uint64_t *number)
{
    char *end;

    if (!isdigit((unsigned char)**text))
        return false;
    errno = 0;
    unsigned long long value = strtoull(*text, &end, 0);
    if (errno)
        return false;
    *text = end;
    *number = value;
    return true;
}

bool slc_parse_piece(const char *text, struct slc_piece *piece)
{
    *piece = (struct slc_piece){.size = 1};
    if (!slc_parse_number(&text, &piece->offset))
        return false;
    if (*text == '+') {
        text++;
        piece->has_size = true;
        if (!slc_parse_number(&text, &piece->size) || piece->size == 0)
            return false;
    }
    return *text == 0 && piece->offset + piece->size > piece->offset;
}

/* ---- making ---- */

static int criterion_new(struct wetdbg *wet, const char *text, enum wetdbg_criterion_kind kind,
                         struct wetdbg_criterion **out)
{
    struct wetdbg_criterion *criterion = calloc(1, sizeof(*criterion));

    if (!criterion)
        return -ENOMEM;
    criterion->wet = wet;
    criterion->text = strdup(text);
    if (!criterion->text) {
        free(criterion);
        return -ENOMEM;
    }
    criterion->info.kind = kind;
    criterion->info.output_fd = -1;
    criterion->info.text = criterion->text;
    criterion->info.description = criterion->info.source = criterion->description;
    *out = criterion;
    return 0;
}

void wetdbg_criterion_free(struct wetdbg_criterion *criterion)
{
    if (!criterion)
        return;
    for (size_t i = 0; i < criterion->seed_count; i++)
        free(criterion->seeds[i].places);
    free(criterion->seeds);
    free(criterion->text);
    free(criterion->path);
    free(criterion);
}

const struct wetdbg_criterion_info *
wetdbg_criterion_get_info(const struct wetdbg_criterion *criterion)
{
    return &criterion->info;
}

static int latest_first(const void *a, const void *b)
{
    const struct slc_seed *x = a, *y = b;

    if (x->time != y->time)
        return x->time > y->time ? -1 : 1;
    return (int)y->is_fault - (int)x->is_fault;
}

/* Puts the seeds into order, and notes what the info says of the last instance. */
static int seal(struct wetdbg_criterion *criterion)
{
    if (criterion->seed_count == 0)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "'%s' names nothing that ran", criterion->text);
    qsort(criterion->seeds, criterion->seed_count, sizeof(*criterion->seeds), latest_first);
    criterion->info.time = criterion->seeds[0].time;
    criterion->info.pc = criterion->seeds[0].pc;
    criterion->info.executed = !criterion->seeds[0].is_fault;
    return 0;
}

static int name_birth(struct wetdbg_criterion *criterion)
{
    return criterion->info.written ? slc_criterion_name_birth(criterion) : 0;
}

/* Hands a criterion over, sealed, or frees it if there was an error. */
static int finish(struct wetdbg_criterion *criterion, int err, struct wetdbg_criterion **out)
{
    if (!err)
        err = seal(criterion);
    if (!err)
        err = name_birth(criterion);
    if (err)
        wetdbg_criterion_free(criterion);
    else
        *out = criterion;
    return err;
}

int slc_criterion_of_places(struct wetdbg *wet, wetdbg_time time, const struct ins_regset *regs,
                            uint64_t address, uint64_t size_bytes, struct wetdbg_criterion **out)
{
    const struct wetdbg_info *info = wetdbg_get_info(wet);
    struct wetdbg_criterion *criterion;
    uint32_t task;
    uint64_t pc;

    if (time < info->first_time || time > info->last_time)
        return wetdbg_fail(
            -WETDBG_ERR_NOT_FOUND, "no instruction has time %llu: the %s has %llu..%llu",
            (unsigned long long)time, info->is_window ? "window" : "run",
            (unsigned long long)info->first_time, (unsigned long long)info->last_time);
    int err = slc_state_at(wet, time, &pc, &task);
    if (!err)
        err = criterion_new(wet, "", WETDBG_CRITERION_PLACES, &criterion);
    if (err)
        return err;
    struct slc_seed *seed = slc_criterion_add(criterion, time, pc);
    if (!seed)
        err = -ENOMEM;
    if (seed && regs)
        seed->regs[WETDBG_EDGE_VALUE] = *regs;
    if (seed && size_bytes)
        err = slc_seed_add_place(seed, address, size_bytes, WETDBG_EDGE_VALUE);
    if (seed && (!regs || ins_regset_is_empty(regs)) && !size_bytes)
        seed->uses = SLC_USES_ALL;
    snprintf(criterion->description, sizeof(criterion->description), "time %llu",
             (unsigned long long)time);
    return finish(criterion, err, out);
}

int wetdbg_criterion_times(const struct wetdbg_criterion *criterion, wetdbg_time **times,
                           size_t *count)
{
    *times = malloc((criterion->seed_count + 1) * sizeof(**times));
    *count = 0;
    if (!*times)
        return -ENOMEM;
    for (size_t i = 0; i < criterion->seed_count; i++)
        if (!criterion->seeds[i].is_fault)
            (*times)[(*count)++] = criterion->seeds[i].time;
    return 0;
}

/* ---- parsing ---- */

int slc_criterion_stand(struct wetdbg_criterion *criterion, wetdbg_time time,
                        struct slc_seed **seed, struct wetdbg_state **state)
{
    const struct wetdbg_info *info = wetdbg_get_info(criterion->wet);

    if (time < info->first_time || time > info->last_time + 1)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "time %llu is outside the %s (%llu to %llu)",
                           (unsigned long long)time, info->is_window ? "window" : "run",
                           (unsigned long long)info->first_time,
                           (unsigned long long)info->last_time + 1);
    int err = wetdbg_state_open(criterion->wet, time, state);
    if (err)
        return err;
    *seed = slc_criterion_add(criterion, time, wet_state_regs(*state)->r[EVQ_RIP]);
    if (!*seed) {
        wetdbg_state_close(*state);
        return -ENOMEM;
    }
    (*seed)->task = wetdbg_state_task(*state);
    (*seed)->is_fault = time > info->last_time;
    return 0;
}

int slc_criterion_refuse(const struct wetdbg_criterion *criterion)
{
    return wetdbg_fail(-WETDBG_ERR_USAGE,
                       "'%s' is no criterion: use crash, exit, output[:FD|:PATH]:OFFSET[+LEN], "
                       "output[:FD|:PATH]:end, input[:FD|:PATH]:OFFSET[+LEN], argv:N, env:NAME, "
                       "FILE:LINE[#K][:VARIABLE], "
                       "FUNCTION[#K], *ADDRESS[+LEN][@TIME] or "
                       "$REGISTER[@TIME]",
                       criterion->text);
}

int slc_parse_instance(const char *text, const char *hash, int64_t *instance, const char **end)
{
    char *stop = (char *)(uintptr_t)hash;

    *instance = -1;
    if (*hash == '#') {
        errno = 0;
        *instance = strtoll(hash + 1, &stop, 10);
        if (errno || stop == hash + 1 || *instance == 0)
            return wetdbg_fail(-WETDBG_ERR_USAGE,
                               "'%s': instances count from #1, or backwards from #-1, the last one",
                               text);
    }
    *end = stop;
    return 0;
}

int slc_seed_add_variable(struct slc_seed *seed, const struct wetdbg_place *where,
                          uint64_t type_bytes)
{
    uint64_t bytes = where->size_bytes ? where->size_bytes : type_bytes ? type_bytes : 8;
    unsigned size = bytes > 64 ? 64 : (unsigned)bytes, off = where->offset_bytes;
    int gpr = slc_dwarf_gpr(where->reg);
    struct ins_regset *set = &seed->regs[WETDBG_EDGE_VALUE];

    if (where->kind == WETDBG_PLACE_MEMORY)
        return slc_seed_add_place(seed, where->address, bytes, WETDBG_EDGE_VALUE);
    seed->register_bytes = (uint8_t)size;
    if (gpr >= 0 && off < 8)
        ins_regset_add_gpr(set, (unsigned)gpr, off, size > 8 - off ? 8 - off : size);
    else if (where->reg >= WETDBG_REG_XMM0 && where->reg < WETDBG_REG_XMM0 + 16 && off < 64)
        ins_regset_add_vector(set, where->reg - WETDBG_REG_XMM0, off,
                              size > 64 - off ? 64 - off : size);
    else
        return wetdbg_fail_plain(-WETDBG_ERR_UNSUPPORTED);
    return 0;
}

static bool starts_with_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    return strncmp(text, word, length) == 0 && (text[length] == 0 || text[length] == ':');
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static enum wetdbg_criterion_kind kind_of(const char *text)
{
    if (strcmp(text, "crash") == 0)
        return WETDBG_CRITERION_CRASH;
    if (strcmp(text, "exit") == 0)
        return WETDBG_CRITERION_EXIT;
    if (starts_with_word(text, "output"))
        return WETDBG_CRITERION_OUTPUT;
    if (starts_with(text, "input:"))
        return WETDBG_CRITERION_INPUT;
    if (starts_with(text, "argv:"))
        return WETDBG_CRITERION_ARGUMENT;
    if (starts_with(text, "env:"))
        return WETDBG_CRITERION_ENVIRONMENT;
    if (*text == '*')
        return WETDBG_CRITERION_MEMORY;
    if (*text == '$')
        return WETDBG_CRITERION_REGISTER;
    return slc_is_line(text) ? WETDBG_CRITERION_LINE : WETDBG_CRITERION_FUNCTION;
}

int slc_criterion_channels(const struct wetdbg_criterion *criterion, struct slc_channels **channels)
{
    *channels = NULL;
    return criterion->from.session ? slc_session_channels(criterion->from.session, channels)
                                   : slc_channels_make(criterion->wet, channels);
}

void slc_criterion_give_channels(const struct wetdbg_criterion *criterion,
                                 struct slc_channels *channels)
{
    if (!criterion->from.session)
        slc_channels_free(channels);
}

int wetdbg_criterion_parse(struct wetdbg *wet, const char *text,
                           const struct wetdbg_standpoint *from, struct wetdbg_criterion **out)
{
    enum wetdbg_criterion_kind kind = kind_of(text);
    struct wetdbg_criterion *criterion;
    int err = criterion_new(wet, text, kind, &criterion);

    if (err)
        return err;
    if (from)
        criterion->from = *from;
    switch (kind) {
    case WETDBG_CRITERION_CRASH:
        err = slc_parse_crash(criterion);
        break;
    case WETDBG_CRITERION_EXIT:
        err = slc_parse_exit(criterion);
        break;
    case WETDBG_CRITERION_OUTPUT:
        err = slc_parse_output(criterion, text + strlen("output"));
        break;
    case WETDBG_CRITERION_INPUT:
        err = slc_parse_input(criterion, text + strlen("input"));
        break;
    case WETDBG_CRITERION_ARGUMENT:
        err = slc_parse_argument(criterion, text + strlen("argv"));
        break;
    case WETDBG_CRITERION_ENVIRONMENT:
        err = slc_parse_environment(criterion, text + strlen("env"));
        break;
    case WETDBG_CRITERION_MEMORY:
        err = slc_parse_memory(criterion);
        break;
    case WETDBG_CRITERION_REGISTER:
        err = slc_parse_register(criterion);
        break;
    case WETDBG_CRITERION_LINE:
        err = slc_parse_line(criterion);
        break;
    default:
        err = slc_parse_function(criterion);
        break;
    }
    return finish(criterion, err, out);
}

int wetdbg_criterion_of_instance(struct wetdbg *wet, wetdbg_time time,
                                 struct wetdbg_criterion **out)
{
    char place[300];
    int err = slc_criterion_of_places(wet, time, NULL, 0, 0, out);

    if (err)
        return err;
    struct wetdbg_criterion *made = *out;
    char *text;
    if (asprintf(&text, "time %llu", (unsigned long long)time) < 0) {
        wetdbg_criterion_free(made);
        return -ENOMEM;
    }
    free(made->text);
    made->info.text = made->text = text;
    slc_describe_pc(wet, made->info.pc, place, sizeof(place));
    snprintf(made->description, sizeof(made->description), "what %s used at time %llu", place,
             (unsigned long long)time);
    snprintf(made->source, sizeof(made->source), "what %s did at time %llu", place,
             (unsigned long long)time);
    made->info.source = made->source;
    return 0;
}

int wetdbg_criterion_of_variable(struct wetdbg *wet, wetdbg_time time, const char *text,
                                 const struct wetdbg_place *where, uint64_t type_bytes,
                                 struct wetdbg_criterion **out)
{
    struct wetdbg_criterion *criterion;
    struct wetdbg_state *state;
    struct slc_seed *seed;

    if (where->kind != WETDBG_PLACE_MEMORY && where->kind != WETDBG_PLACE_REGISTER)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "'%s' is nowhere at time %llu: %s", text,
                           (unsigned long long)time,
                           where->kind == WETDBG_PLACE_NONE && *where->reason
                               ? where->reason
                               : "the debug information computes it");
    int err = criterion_new(wet, text, WETDBG_CRITERION_VARIABLE, &criterion);
    if (err)
        return err;
    err = slc_criterion_stand(criterion, time, &seed, &state);
    if (!err) {
        wetdbg_state_close(state);
        err = slc_seed_add_variable(seed, where, type_bytes);
        if (err == -WETDBG_ERR_UNSUPPORTED)
            err = wetdbg_fail(err, "'%s' is in a register that slices do not follow", text);
    }
    snprintf(criterion->description, sizeof(criterion->description), "%s before time %llu", text,
             (unsigned long long)time);
    return finish(criterion, err, out);
}
