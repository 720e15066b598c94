/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * FUNCTION[#K]: a call of a function; MODULE+0xOFFSET[#K], FUNCTION+OFFSET[#K]: an instruction that
 * begins none, and all that it used. The instance is the first instruction of its body, where a
 * breakpoint on it would stop: there unoptimised code has put the arguments where the debug
 * information says they are, and the instruction depends on nothing but the call.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slicer/criteria/criterion.h"
#include "slicer/state_view.h"
#include <wetdbg/errors.h>

#define INLINE_MAX 32

struct call {
    struct wetdbg_criterion *criterion;
    char *name;
    int64_t instance;
    uint64_t *pcs;
    size_t pc_count;
    bool is_instruction;
};

static int parse_name(struct call *call)
{
    const char *text = call->criterion->text, *hash = strrchr(text, '#'), *rest;
    size_t length = hash ? (size_t)(hash - text) : strlen(text);
    int err = slc_parse_instance(text, hash ? hash : text + length, &call->instance, &rest);

    if (err)
        return err;
    if (*rest || length == 0)
        return slc_criterion_refuse(call->criterion);
    call->name = strndup(text, length);
    return call->name ? 0 : -ENOMEM;
}

/* An instruction inside of a function. */
static int find_instruction(struct call *call)
{
    uint64_t address;
    int err = wetdbg_address_named(wetdbg_get_model(call->criterion->wet), call->name, &address);

    if (err == -WETDBG_ERR_NOT_FOUND)
        return wetdbg_fail(
            -WETDBG_ERR_USAGE,
            "'%s' is no function of the program, and no other criterion: crash, exit, "
            "output[:FD|:PATH]:OFFSET[+LEN], input[:FD|:PATH]:OFFSET[+LEN], argv:N, env:NAME, "
            "FILE:LINE[#K][:VARIABLE], "
            "*ADDRESS[+LEN][@TIME] or $REGISTER[@TIME]",
            call->name);
    call->pcs = err ? NULL : malloc(sizeof(*call->pcs));
    if (!call->pcs)
        return err ? err : -ENOMEM;
    call->pcs[call->pc_count++] = address;
    call->is_instruction = true;
    return 0;
}

/* Where breakpoints on all functions of that name would be. Stubs that only jump on are none. */
static int find_bodies(struct call *call)
{
    struct wetdbg_model *model = wetdbg_get_model(call->criterion->wet);
    struct wetdbg_function *functions;
    size_t count;
    int err = wetdbg_functions_named(model, call->name, &functions, &count);

    if (err == -WETDBG_ERR_NOT_FOUND)
        return find_instruction(call);
    if (err)
        return err;
    call->pcs = malloc((count + 1) * sizeof(*call->pcs));
    for (size_t i = 0; call->pcs && i < count; i++) {
        uint64_t body = functions[i].start;
        if (functions[i].flags & (WETDBG_FUNCTION_PLT | WETDBG_FUNCTION_COLD))
            continue;
        wetdbg_function_body(model, functions[i].start, &body);
        for (size_t k = 0; k < call->pc_count && body; k++)
            if (call->pcs[k] == body)
                body = 0; /* an alias */
        if (body)
            call->pcs[call->pc_count++] = body;
    }
    free(functions);
    return call->pcs ? 0 : -ENOMEM;
}

static int find_time(struct call *call, wetdbg_time *time)
{
    struct wetdbg *wet = call->criterion->wet;
    uint64_t count = 0;
    int err = call->pc_count
                  ? wetdbg_find_instance(wet, call->pcs, call->pc_count, call->instance, time)
                  : -WETDBG_ERR_NOT_FOUND;

    if (err != -WETDBG_ERR_NOT_FOUND)
        return err;
    err = call->pc_count ? wetdbg_count_instances(wet, call->pcs, call->pc_count, &count) : 0;
    if (err)
        return err;
    if (call->is_instruction && count == 0)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no instruction at %s ran", call->name);
    if (call->is_instruction)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                           "%s has no instance #%lld: it ran %llu time%s in all", call->name,
                           (long long)call->instance, (unsigned long long)count,
                           count == 1 ? "" : "s");
    if (count == 0)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                           "%s was never called (or only where it is inlined)", call->name);
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                       "%s has no call #%lld: it was called %llu time%s in all", call->name,
                       (long long)call->instance, (unsigned long long)count, count == 1 ? "" : "s");
}

/* ---- arguments ---- */

struct arguments {
    struct call *call;
    struct wetdbg_model *model;
    struct wetdbg_state *state;
    struct slc_seed *seed;
    unsigned known, unknown;
};

static int add_argument(void *context, const struct wetdbg_variable *variable)
{
    struct arguments *arguments = context;
    struct wetdbg_machine machine = {arguments->state, slc_read_register, slc_read_memory};
    struct wetdbg_place where;

    if (variable->scope != WETDBG_SCOPE_PARAM)
        return 0;
    int err =
        wetdbg_variable_locate(arguments->model, variable, arguments->seed->pc, &machine, &where);
    bool has_place =
        !err && (where.kind == WETDBG_PLACE_MEMORY || where.kind == WETDBG_PLACE_REGISTER);
    if (has_place)
        err = slc_seed_add_variable(arguments->seed, &where, variable->type.size_bytes);
    if (err == -ENOMEM || err == -WETDBG_ERR_INTERRUPTED)
        return err;
    if (has_place && !err)
        arguments->known++;
    else
        arguments->unknown++;
    return 0;
}

/* The function itself, not what is inlined into its first instruction. */
static size_t outermost(struct wetdbg_model *model, uint64_t pc)
{
    struct wetdbg_line chain[INLINE_MAX];
    size_t count;

    if (wetdbg_inline_chain(model, pc, chain, INLINE_MAX, &count) || count == 0)
        return 0;
    return count - 1;
}

static int add_arguments(struct arguments *arguments, wetdbg_time time)
{
    struct wetdbg_criterion *criterion = arguments->call->criterion;
    int err = slc_criterion_stand(criterion, time, &arguments->seed, &arguments->state);

    if (err)
        return err;
    uint64_t pc = arguments->seed->pc;
    err = wetdbg_variables_each_at(arguments->model, pc, outermost(arguments->model, pc),
                                   add_argument, arguments);
    wetdbg_state_close(arguments->state);
    if (err == -WETDBG_ERR_NOT_FOUND || err == -WETDBG_ERR_CORRUPT)
        err = 0; /* no debug information: no arguments */
    return err;
}

static void describe(const struct arguments *arguments, wetdbg_time time)
{
    struct wetdbg_criterion *criterion = arguments->call->criterion;
    char with[80] = "no argument is known";

    if (arguments->known)
        snprintf(with, sizeof(with), "%u argument%s", arguments->known,
                 arguments->known == 1 ? "" : "s");
    if (arguments->known && arguments->unknown)
        snprintf(with + strlen(with), sizeof(with) - strlen(with), ", %u more nowhere",
                 arguments->unknown);
    snprintf(criterion->description, sizeof(criterion->description),
             "the call of %s at time %llu (%s)", arguments->call->name, (unsigned long long)time,
             with);
}

/* ---- all of it ---- */

static int add_instruction(struct call *call, wetdbg_time time)
{
    struct wetdbg_criterion *criterion = call->criterion;
    struct slc_seed *seed;
    struct wetdbg_state *state;
    int err = slc_criterion_stand(criterion, time, &seed, &state);

    if (err)
        return err;
    seed->uses = SLC_USES_ALL;
    wetdbg_state_close(state);
    snprintf(criterion->description, sizeof(criterion->description),
             "all that %s uses at time %llu", call->name, (unsigned long long)time);
    snprintf(criterion->source, sizeof(criterion->source), "what %s did at time %llu", call->name,
             (unsigned long long)time);
    criterion->info.source = criterion->source;
    return 0;
}

int slc_parse_function(struct wetdbg_criterion *criterion)
{
    struct call call = {.criterion = criterion};
    struct arguments arguments = {.call = &call, .model = wetdbg_get_model(criterion->wet)};
    wetdbg_time time = 0;
    int err = parse_name(&call);

    if (!err)
        err = find_bodies(&call);
    if (!err)
        err = find_time(&call, &time);
    if (!err && call.is_instruction)
        err = add_instruction(&call, time);
    else if (!err)
        err = add_arguments(&arguments, time);
    if (!err && !call.is_instruction)
        describe(&arguments, time);
    free(call.name);
    free(call.pcs);
    return err;
}
