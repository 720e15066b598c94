/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/mutant_place.h"

#include <stdlib.h>
#include <string.h>
#include <sys/user.h>

#include "dbgcli/alloc.h"
#include "dbgcli/nav/moment.h"

/* A variable that is looked for by where it is. */
struct search {
    struct wetdbg_model *model;
    const struct wetdbg_machine *machine;
    uint64_t pc, address;
    struct wetdbg_variable found;
    bool is_found;
};

static int variable_look(void *context, const struct wetdbg_variable *variable)
{
    struct search *search = context;
    struct wetdbg_place place;
    if (wetdbg_variable_locate(search->model, variable, search->pc, search->machine, &place) ||
        place.kind != WETDBG_PLACE_MEMORY || place.address != search->address)
        return 0;
    search->found = *variable;
    search->is_found = true;
    return 1;
}

static bool global_find(struct search *search)
{
    struct wetdbg_symbol symbol;
    search->is_found =
        wetdbg_symbol_at(search->model, search->address, &symbol) == 0 &&
        symbol.start == search->address &&
        wetdbg_variable_find(search->model, search->pc, symbol.name, &search->found) == 0;
    return search->is_found;
}

struct member_search {
    uint64_t offset;
    const char *name;
};

static int member_look(void *context, const struct wetdbg_member *member)
{
    struct member_search *search = context;
    if (member->is_virtual || !member->name || member->offset_bytes != search->offset)
        return 0;
    search->name = member->name;
    return 1;
}

/* A member by its offset, of what a pointer of this type points to; NULL: there is none. */
static const char *member_name(struct wetdbg_model *model, const struct wetdbg_type *type,
                               int64_t offset)
{
    struct member_search search = {.offset = (uint64_t)offset};
    struct wetdbg_type plain, target, structure;
    uint64_t count;
    if (wetdbg_type_plain(model, type, &plain) ||
        wetdbg_type_target(model, plain.handle, &target, &count) ||
        wetdbg_type_plain(model, &target, &structure) ||
        wetdbg_type_members_each(model, structure.handle, member_look, &search) < 0)
        return NULL;
    return search.name;
}

static char *place_name(struct search *search, const struct wetdbg_mutant *mutant)
{
    if (wetdbg_variables_each(search->model, search->pc, variable_look, search) < 0)
        return NULL;
    if (!search->is_found && !global_find(search))
        return NULL;
    if (!mutant->place.is_member)
        return cli_strdup(search->found.name);
    const char *member = member_name(search->model, &search->found.type, mutant->place.offset);
    return member ? cli_asprintf("%s->%s", search->found.name, member) : NULL;
}

/* Where the variable is at the mutant's time. */
static uint64_t address_of(const struct wetdbg_mutant *mutant, const struct wetdbg_state *state)
{
    const struct user_regs_struct *regs = wetdbg_state_registers(state);
    uint64_t location = (uint64_t)mutant->place.location;
    switch (mutant->place.base) {
    case WETDBG_BASE_STACK:
        return regs->rsp + location;
    case WETDBG_BASE_FRAME:
        return regs->rbp + location;
    default:
        return location;
    }
}

char *cli_mutant_place(struct wetdbg *wet, const struct wetdbg_mutant *mutant)
{
    struct cli_moment *moment;
    if (cli_moment_open(wet, mutant->time, &moment))
        return NULL;
    struct cli_frame_view view = {moment, 0};
    struct wetdbg_machine machine = cli_frame_machine(&view);
    struct search search = {.model = moment->model,
                            .machine = &machine,
                            .pc = mutant->pc,
                            .address = address_of(mutant, moment->state)};
    char *name = place_name(&search, mutant);
    cli_moment_close(moment);
    return name;
}
