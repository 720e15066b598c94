/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * DIEs do not know their parents. So the first question about a unit (also a type unit, or one that
 * dwz shares) walks its namespaces and classes once, and notes where things are declared.
 */
#include "wet/model/qualify.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "wet/model/addrmap.h"
#include "wet/model/dies.h"

#define DEPTH_MAX  100
#define BUDGET     (UINT64_C(1) << 22)
#define NO_PARENT  UINT32_MAX
#define FOLLOW_MAX 8

/* A namespace or class. */
struct container {
    const char *name; /* NULL: unnamed */
    uint32_t parent;  /* the enclosing one, or NO_PARENT */
};

/* What is declared in one of them. */
struct member {
    Dwarf_Off off; /* of its DIE */
    uint32_t container;
};

/* What the DIEs of one unit are declared in. */
struct table {
    struct container *containers;
    size_t container_count, container_capacity;
    struct member *members; /* sorted by off */
    size_t member_count, member_capacity;
};

struct mdl_qualifiers {
    struct mdl_addrmap by_root; /* tables by the address of a unit's first DIE */
};

static void table_free(struct table *table)
{
    if (!table)
        return;
    free(table->containers);
    free(table->members);
    free(table);
}

void mdl_qualifiers_free(struct mdl_qualifiers *qualifiers)
{
    if (!qualifiers)
        return;
    for (size_t i = 0; i < qualifiers->by_root.slot_count; i++)
        table_free(qualifiers->by_root.slots[i].value);
    mdl_addrmap_fini(&qualifiers->by_root);
    free(qualifiers);
}

/* ---- Making a table ---------------------------------------------------------------------- */

struct walk {
    struct table *table;
    uint64_t budget;
    uint32_t container;
    unsigned depth;
};

static int add_member(struct walk *walk, Dwarf_Die *die)
{
    struct table *table = walk->table;

    if (walk->container == NO_PARENT)
        return 0;
    if (wd_grow(table->members, table->member_capacity, table->member_count + 1))
        return -ENOMEM;
    table->members[table->member_count++] = (struct member){dwarf_dieoffset(die), walk->container};
    return 0;
}

static int visit(void *context, Dwarf_Die *die);

static int visit_inside(struct walk *walk, Dwarf_Die *die)
{
    struct table *table = walk->table;
    uint32_t outer = walk->container;
    int err;

    if (walk->depth >= DEPTH_MAX)
        return 0;
    if (wd_grow(table->containers, table->container_capacity, table->container_count + 1))
        return -ENOMEM;
    table->containers[table->container_count] = (struct container){dwarf_diename(die), outer};
    walk->container = (uint32_t)table->container_count++;
    walk->depth++;
    err = mdl_die_children(die, &walk->budget, visit, walk);
    walk->depth--;
    walk->container = outer;
    return err;
}

static int visit(void *context, Dwarf_Die *die)
{
    struct walk *walk = context;
    int result = 0;

    switch (dwarf_tag(die)) {
    case DW_TAG_namespace:
    case DW_TAG_module:
        return visit_inside(walk, die);
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
        result = add_member(walk, die);
        return result < 0 ? result : visit_inside(walk, die);
    case DW_TAG_subprogram:
    case DW_TAG_variable:
    case DW_TAG_member:
    case DW_TAG_enumeration_type:
    case DW_TAG_typedef:
        return add_member(walk, die);
    default:
        return 0;
    }
}

static int compare_members(const void *left, const void *right)
{
    const struct member *a = left, *b = right;

    return a->off < b->off ? -1 : a->off > b->off;
}

static struct table *table_new(Dwarf_Die *root)
{
    struct table *table = calloc(1, sizeof(*table));
    struct walk walk = {.table = table, .budget = BUDGET, .container = NO_PARENT};

    if (!table || mdl_die_children(root, &walk.budget, visit, &walk) < 0) {
        table_free(table);
        return NULL;
    }
    if (table->member_count)
        qsort(table->members, table->member_count, sizeof(*table->members), compare_members);
    return table;
}

/* The table of a DIE's unit; NULL if memory is short. */
static const struct table *table_of(struct mdl_mod *mod, Dwarf_Die *die)
{
    struct mdl_units *units;
    struct table *table;
    Dwarf_Die root;

    if (mdl_units_get(mod, &units) < 0 || !dwarf_diecu(die, &root, NULL, NULL))
        return NULL;
    if (!units->qualifiers)
        units->qualifiers = calloc(1, sizeof(*units->qualifiers));
    if (!units->qualifiers)
        return NULL;
    table = mdl_addrmap_get(&units->qualifiers->by_root, (uintptr_t)root.addr);
    if (table)
        return table;
    table = table_new(&root);
    if (table && mdl_addrmap_set(&units->qualifiers->by_root, (uintptr_t)root.addr, table) < 0) {
        table_free(table);
        return NULL;
    }
    return table;
}

/* ---- Asking ------------------------------------------------------------------------------ */

/* To the DIE that declares what this one is an instance or the definition of. */
static void die_to_declaration(Dwarf_Die *die)
{
    for (int i = 0; i < FOLLOW_MAX; i++) {
        Dwarf_Attribute attribute;
        Dwarf_Die target;

        if (!dwarf_attr(die, DW_AT_abstract_origin, &attribute) &&
            !dwarf_attr(die, DW_AT_specification, &attribute))
            return;
        if (!dwarf_formref_die(&attribute, &target))
            return;
        *die = target;
    }
}

const char *mdl_die_qualified(struct mdl_mod *mod, Dwarf_Die *die, const char *name)
{
    struct mdl_strings *strings = &mod->model->strings;
    struct member key, *member = NULL;
    const struct table *table;
    Dwarf_Die declaration = *die;
    uint32_t at;

    die_to_declaration(&declaration);
    key.off = dwarf_dieoffset(&declaration);
    table = table_of(mod, &declaration);
    if (table && table->member_count)
        member = bsearch(&key, table->members, table->member_count, sizeof(key), compare_members);
    at = member ? member->container : NO_PARENT;
    for (; name && at != NO_PARENT; at = table->containers[at].parent) {
        const char *outer = table->containers[at].name, *longer;

        longer =
            mdl_strings_format(strings, "%s::%s", outer ? outer : "(anonymous namespace)", name);
        if (!longer)
            break;
        name = longer;
    }
    return name;
}

const char *mdl_die_linkage_name(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;

    if (!dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) &&
        !dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
        return NULL;
    return dwarf_formstring(&attribute);
}

/* DWARF's number, or -1. */
static int language_of(struct mdl_mod *mod, Dwarf_Die *die)
{
    struct mdl_units *units;
    Dwarf_Die root;
    int language = dwarf_diecu(die, &root, NULL, NULL) ? dwarf_srclang(&root) : -1;

    /* units that dwz shares need not say */
    if (language < 0 && mdl_units_get(mod, &units) == 0)
        for (size_t i = 0; i < units->count && language < 0; i++)
            language = dwarf_srclang(&units->units[i].die);
    return language;
}

/* NULL: one that nobody here asks for. */
static const char *language_name(int language)
{
    switch (language) {
    case DW_LANG_C89:
    case DW_LANG_C:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case 0x2c: /* DW_LANG_C17 */
        return "c";
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
    case 0x2b: /* DW_LANG_C_plus_plus_20 */
        return "c++";
    case DW_LANG_ObjC:
        return "objective-c";
    case DW_LANG_Mips_Assembler:
        return "asm";
    case DW_LANG_Rust:
        return "rust";
    case DW_LANG_Go:
        return "go";
    case DW_LANG_Fortran77:
    case DW_LANG_Fortran90:
    case DW_LANG_Fortran95:
    case DW_LANG_Fortran03:
    case DW_LANG_Fortran08:
        return "fortran";
    case DW_LANG_Ada83:
    case DW_LANG_Ada95:
        return "ada";
    default:
        return NULL;
    }
}

const char *mdl_die_language(struct mdl_mod *mod, Dwarf_Die *die)
{
    return language_name(language_of(mod, die));
}

int mdl_die_is_of_c(struct mdl_mod *mod, Dwarf_Die *die)
{
    int language = language_of(mod, die);
    const char *name = language_name(language);

    return language < 0 || (name && (strcmp(name, "c") == 0 || strcmp(name, "objective-c") == 0 ||
                                     strcmp(name, "asm") == 0));
}

size_t mdl_name_is_within(const char *name, const char *scope)
{
    size_t length = strlen(scope), at = 0;

    /* a scope without template arguments stands for all of them */
    if (strncmp(name, scope, length) != 0)
        return 0;
    at = length;
    if (name[at] == '<') {
        unsigned depth = 0;

        do {
            depth += name[at] == '<';
            depth -= name[at] == '>';
        } while (name[++at] && depth);
    }
    return strncmp(name + at, "::", 2) == 0 || !name[at] ? length : 0;
}
