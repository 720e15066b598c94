/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where FILE:LINE and functions take breakpoints, by gdb's rules, so that the K-th instance of a
 * line here is the K-th hit of a breakpoint there:
 *
 *  - of the places where a line starts, the first in each block counts; gdb's blocks are functions,
 *    inlined functions, and lexical blocks that declare something;
 *  - a place within a function's prologue moves to the prologue's end. Where that is depends on the
 *    compiler: clang marks it by the second row; for gcc it is past `push %rbp; mov %rsp, %rbp`,
 *    to the next row, and the entry itself without those or in gcc's units with location lists
 *    (gdb takes these as a sign that variables can be found anywhere).
 */
#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "wet/model/dies.h"
#include "wet/model/functions.h"
#include "wet/model/line_table.h"
#include <wetdbg/errors.h>

/* ---- Prologues --------------------------------------------------------------------------- */

static bool is_location_list(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;

    if (!dwarf_attr(die, DW_AT_location, &attribute))
        return false;
    switch (dwarf_whatform(&attribute)) {
    case DW_FORM_sec_offset:
    case DW_FORM_loclistx:
    case DW_FORM_data4:
    case DW_FORM_data8:
        return true;
    default:
        return false;
    }
}

struct loclist_search {
    uint64_t budget;
    unsigned depth;
};

static int find_loclist(void *context, Dwarf_Die *die)
{
    struct loclist_search *search = context;
    int tag = dwarf_tag(die), found = 0;

    if ((tag == DW_TAG_variable || tag == DW_TAG_formal_parameter) && is_location_list(die))
        return 1;
    if (search->depth > 64 || !dwarf_haschildren(die))
        return 0;
    search->depth++;
    if (tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block || tag == DW_TAG_namespace ||
        tag == DW_TAG_inlined_subroutine)
        found = mdl_die_children(die, &search->budget, find_loclist, search);
    search->depth--;
    return found;
}

static bool has_loclists(struct mdl_unit *unit)
{
    struct loclist_search search = {.budget = mdl_die_budget(&unit->die)};

    if (unit->loclists == 0)
        unit->loclists =
            mdl_die_children(&unit->die, &search.budget, find_loclist, &search) ? 1 : -1;
    return unit->loclists > 0;
}

static bool is_clang(struct mdl_unit *unit)
{
    Dwarf_Attribute attribute;
    const char *producer = dwarf_formstring(dwarf_attr(&unit->die, DW_AT_producer, &attribute));

    return producer && strstr(producer, "clang") != NULL;
}

/* Where a function sets up its frame: the addresses past `push %rbp` and past `mov %rsp,%rbp`
 * behind it; 0 if it does not begin so. */
struct frame_setup {
    uint64_t pushed;
    uint64_t done;
};

static struct frame_setup frame_setup_of(const struct mdl_mod *mod, uint64_t entry)
{
    static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
    static const uint8_t push[] = {0x55};
    static const uint8_t mov[][3] = {{0x48, 0x89, 0xe5}, {0x48, 0x8b, 0xec}};
    size_t available, at = 0;
    const uint8_t *bytes = mdl_mod_bytes(mod, entry, &available);

    struct frame_setup setup = {0};

    if (!bytes || available < sizeof(endbr) + sizeof(push) + sizeof(mov[0]))
        return setup;
    if (memcmp(bytes, endbr, sizeof(endbr)) == 0)
        at += sizeof(endbr);
    if (memcmp(bytes + at, push, sizeof(push)) != 0)
        return setup;
    at += sizeof(push);
    setup.pushed = entry + at;
    for (size_t i = 0; i < 2; i++)
        if (memcmp(bytes + at, mov[i], sizeof(mov[i])) == 0)
            setup.done = entry + at + sizeof(mov[i]);
    return setup;
}

/* The address past what sets up the frame; the entry if the function begins otherwise. */
static uint64_t skip_frame_setup(const struct mdl_mod *mod, uint64_t entry)
{
    struct frame_setup setup = frame_setup_of(mod, entry);

    return setup.done ? setup.done : entry;
}

/* The address of the first row after `row` that has another address. */
static uint64_t row_end(const struct mdl_unit *unit, const struct mdl_row *row)
{
    const struct mdl_row *last = unit->rows + unit->row_count - 1, *next = row;

    while (next < last && next->address == row->address)
        next++;
    return next->address;
}

static bool is_inlined(struct mdl_unit *unit, uint64_t pc)
{
    uint32_t scope;

    if (mdl_unit_scopes(unit) < 0)
        return false;
    scope = mdl_unit_function_scope(unit, mdl_unit_scope_at(unit, pc));
    return scope != MDL_NO_SCOPE && unit->scopes[scope].tag == DW_TAG_inlined_subroutine;
}

/* clang: rows of the prologue go on as long as line numbers fall within the function. */
static uint64_t clang_body(struct mdl_unit *unit, uint64_t entry, uint64_t end)
{
    const struct mdl_row *row = mdl_unit_row_at(unit, entry), *next;
    uint64_t body;

    if (!row || row->line == 0)
        return entry;
    if (row > unit->rows && row[-1].address == entry && !(row[-1].flags & MDL_ROW_END))
        return entry; /* two rows at the entry: an empty prologue */
    for (body = row_end(unit, row); body < end; body = row_end(unit, next)) {
        next = mdl_unit_row_at(unit, body);
        if (!next || next->line >= row->line || next->file != row->file || is_inlined(unit, body))
            return body;
        row = next;
    }
    return body < end ? body : entry;
}

static uint64_t body_of(struct mdl_mod *mod, const struct mdl_function_entry *function)
{
    uint64_t entry = function->start, pc;
    struct mdl_unit *unit = mdl_unit_at(mod, entry);
    const struct mdl_row *row;

    if (!unit || mdl_unit_lines(unit) < 0 || unit->row_count == 0)
        return skip_frame_setup(mod, entry);
    if (is_clang(unit))
        return clang_body(unit, entry, function->end);
    if (has_loclists(unit))
        return entry;
    pc = skip_frame_setup(mod, entry);
    row = mdl_unit_row_at(unit, pc);
    if (row && row->address != pc && row_end(unit, row) < function->end)
        pc = row_end(unit, row);
    return pc;
}

int wetdbg_function_body(struct wetdbg_model *model, uint64_t entry_pc, uint64_t *body_pc)
{
    struct mdl_mod *mod;
    uint32_t index;
    int result = mdl_function_need(model, entry_pc, &mod, &index);

    if (result == 0)
        *body_pc = body_of(mod, &mod->functions->entries[index]);
    return result;
}

int wetdbg_frame_base(struct wetdbg_model *model, uint64_t pc, const struct wetdbg_machine *machine,
                      uint64_t *base)
{
    struct frame_setup setup;
    struct mdl_mod *mod;
    uint32_t index;
    uint64_t sp;
    int result = mdl_function_need(model, pc, &mod, &index);

    if (result < 0)
        return result;
    setup = frame_setup_of(mod, mod->functions->entries[index].start);
    if (setup.done && pc > setup.pushed)
        return machine->read_register(machine->context, WETDBG_REG_RBP, base);
    result = machine->read_register(machine->context, WETDBG_REG_RSP, &sp);
    if (result == 0)
        *base = setup.pushed && pc >= setup.pushed ? sp : sp - sizeof(sp);
    return result;
}

/* ---- FILE:LINE --------------------------------------------------------------------------- */

/* A place where the line starts. */
struct place {
    struct mdl_unit *unit;
    const struct mdl_row *row;
    uint32_t block; /* gdb's block, or MDL_NO_SCOPE */
};

struct place_search {
    struct mdl_file_match match;
    uint32_t line;
    int takes_hidden; /* gdb has nothing of the line, but the table has */
    struct place *places;
    size_t count;
    struct mdl_near near;
};

static int declares(void *context, Dwarf_Die *die)
{
    (void)context;
    switch (dwarf_tag(die)) {
    case DW_TAG_variable:
    case DW_TAG_formal_parameter:
    case DW_TAG_typedef:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_class_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_label:
    case DW_TAG_imported_module:
    case DW_TAG_imported_declaration:
        return 1;
    default:
        return 0;
    }
}

/* From a scope outwards to what gdb takes for a block. */
static uint32_t block_of(struct mdl_unit *unit, uint32_t scope)
{
    while (scope != MDL_NO_SCOPE) {
        uint64_t budget = mdl_die_budget(&unit->die);
        int tag = unit->scopes[scope].tag;

        if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
            mdl_die_children(&unit->scopes[scope].die, &budget, declares, NULL))
            break;
        scope = unit->scopes[scope].parent;
    }
    return scope;
}

static int add_place(struct place_search *search, struct mdl_unit *unit, const struct mdl_row *row)
{
    struct place *grown = reallocarray(search->places, search->count + 1, sizeof(*grown));
    int result;

    if (!grown)
        return -ENOMEM;
    search->places = grown;
    result = mdl_unit_scopes(unit);
    if (result < 0)
        return result;
    grown[search->count++] =
        (struct place){unit, row, block_of(unit, mdl_unit_scope_at(unit, row->address))};
    return 0;
}

/* Whether gdb's table does not have the row. */
static bool is_unseen(const struct mdl_row *row)
{
    return (row->flags & (MDL_ROW_HIDDEN | MDL_ROW_SAME)) != 0;
}

/* Adds the first statement of each run of adjoining rows of the line. */
static int places_in_unit(void *context, struct mdl_unit *unit)
{
    struct place_search *search = context;
    int in_run = 0, result;

    for (size_t i = 0; i + 1 < unit->row_count; i++) {
        const struct mdl_row *row = &unit->rows[i];

        if (is_unseen(row) && !search->takes_hidden)
            continue;
        result = row->flags & MDL_ROW_END ? 0 : mdl_file_matches(&search->match, row->file);
        if (result < 0)
            return result;
        if (result == 0) {
            in_run = 0;
            continue;
        }
        mdl_near_see(&search->near, row, search->line);
        if (row->line != search->line) {
            in_run = 0;
        } else if (!in_run && (row->flags & MDL_ROW_STMT)) {
            in_run = 1;
            result = add_place(search, unit, row);
            if (result < 0)
                return result;
        }
    }
    return 0;
}

/* Whether a place is the first of its block. Places of a unit are in order of address. */
static bool is_first_in_block(const struct place *places, size_t index)
{
    if (places[index].block == MDL_NO_SCOPE)
        return true;
    for (size_t i = index; i-- > 0 && places[i].unit == places[index].unit;)
        if (places[i].block == places[index].block)
            return false;
    return true;
}

static int make_location(struct wetdbg_model *model, const struct place *places, size_t index,
                         struct wetdbg_line_location *location)
{
    const struct mdl_row *row = places[index].row;
    struct mdl_function_entry *entry;
    struct wetdbg_function described;
    struct mdl_mod *mod;
    uint32_t function;
    int result;

    *location = (struct wetdbg_line_location){
        .pc = row->address,
        .file = row->file,
        .line = row->line,
        .is_breakpoint = is_first_in_block(places, index),
        .is_hidden = is_unseen(row),
    };
    result = mdl_function_need(model, row->address, &mod, &function);
    if (result < 0)
        return result == -WETDBG_ERR_NOT_FOUND ? 0 : result;
    entry = &mod->functions->entries[function];
    mdl_function_fill(mod, entry, &described);
    location->function = described.name;
    if (location->is_breakpoint) {
        uint64_t body = body_of(mod, entry);

        if (body > location->pc)
            location->pc = body;
    }
    return 0;
}

static int compare_locations(const void *left, const void *right)
{
    const struct wetdbg_line_location *a = left, *b = right;

    if (a->pc != b->pc)
        return a->pc < b->pc ? -1 : 1;
    return b->is_breakpoint - a->is_breakpoint;
}

int wetdbg_line_locations(struct wetdbg_model *model, const char *file, uint32_t line,
                          struct wetdbg_line_location **locations, size_t *count)
{
    struct place_search search = {.line = line};
    struct wetdbg_line_location *made = NULL;
    size_t kept = 0;
    int result = mdl_file_match_init(&search.match, file);

    if (result == 0)
        result = mdl_units_each(model, &search.match, places_in_unit, &search);
    if (result == 0 && search.count == 0) {
        search.takes_hidden = 1;
        result = mdl_units_each(model, &search.match, places_in_unit, &search);
    }
    mdl_file_match_fini(&search.match);
    if (result == 0 && search.count == 0)
        result = mdl_near_fail(&search.near, file, line);
    if (result == 0) {
        made = calloc(search.count, sizeof(*made));
        result = made ? 0 : -ENOMEM;
    }
    for (size_t i = 0; result == 0 && i < search.count; i++)
        result = make_location(model, search.places, i, &made[i]);
    if (result == 0) {
        qsort(made, search.count, sizeof(*made), compare_locations);
        for (size_t i = 0; i < search.count; i++)
            if (kept == 0 || made[kept - 1].pc != made[i].pc)
                made[kept++] = made[i];
        *locations = made;
        *count = kept;
        made = NULL;
    }
    free(made);
    free(search.places);
    return result;
}
