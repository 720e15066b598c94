/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Types. Chains of typedefs and qualifiers are followed for a bounded number of steps: in a damaged
 * file they can be circular.
 */
#include "wet/model/types.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wet/model/dies.h"
#include "wet/model/expr.h"
#include "wet/model/globals.h"
#include "wet/model/names.h"
#include "wet/model/qualify.h"
#include <wetdbg/errors.h>

#define CHAIN_MAX      32
#define NAME_BYTES_MAX 4096

/* ---- Handles ----------------------------------------------------------------------------- */

void mdl_handles_free(struct mdl_handles *handles)
{
    for (size_t i = 0; i < handles->count; i++)
        free((void *)handles->items[i].target);
    free(handles->items);
}

/* Adds a handle; 0 if memory is short. */
static uint64_t handle_add(struct wetdbg_model *model, const struct mdl_handle *handle)
{
    struct mdl_handles *handles = &model->handles;

    if (handles->count == handles->capacity) {
        size_t capacity = handles->capacity ? handles->capacity * 2 : 64;
        struct mdl_handle *grown = reallocarray(handles->items, capacity, sizeof(*grown));

        if (!grown)
            return 0;
        handles->items = grown;
        handles->capacity = capacity;
    }
    handles->items[handles->count++] = *handle;
    return handles->count;
}

uint64_t mdl_handle_new(struct mdl_mod *mod, const Dwarf_Die *die)
{
    return handle_add(mod->model, &(struct mdl_handle){.die = *die, .mod = mod});
}

const struct mdl_handle *mdl_handle_get(const struct wetdbg_model *model, uint64_t handle)
{
    if (handle == 0 || handle > model->handles.count) {
        wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no debug information for this type or variable");
        return NULL;
    }
    return &model->handles.items[handle - 1];
}

/* ---- Following references ---------------------------------------------------------------- */

/* The DIE that DW_AT_type names. 0, or -1 if there is none. */
static int type_die(Dwarf_Die *die, Dwarf_Die *type)
{
    Dwarf_Attribute attribute;

    Dwarf_Die defined;

    if (!dwarf_attr_integrate(die, DW_AT_type, &attribute) || !dwarf_formref_die(&attribute, type))
        return -1;
    /* where a type unit has the type, this may be no more than its signature */
    if (dwarf_attr(type, DW_AT_signature, &attribute) && dwarf_formref_die(&attribute, &defined))
        *type = defined;
    return 0;
}

static bool is_wrapper(int tag)
{
    switch (tag) {
    case DW_TAG_typedef:
    case DW_TAG_const_type:
    case DW_TAG_volatile_type:
    case DW_TAG_restrict_type:
    case DW_TAG_atomic_type:
        return true;
    default:
        return false;
    }
}

/* Goes through typedefs and qualifiers. 0; -1 if the chain ends in void or has no end. */
static int type_peel(Dwarf_Die *die, Dwarf_Die *peeled)
{
    *peeled = *die;
    for (int i = 0; i < CHAIN_MAX; i++) {
        Dwarf_Die next;

        if (!is_wrapper(dwarf_tag(peeled)))
            return 0;
        if (type_die(peeled, &next) < 0)
            return -1;
        *peeled = next;
    }
    return -1;
}

static int get_number(Dwarf_Die *die, unsigned name, uint64_t *value)
{
    Dwarf_Attribute attribute;
    Dwarf_Word word;

    if (dwarf_formudata(dwarf_attr_integrate(die, name, &attribute), &word) != 0)
        return -1;
    *value = word;
    return 0;
}

/* ---- Arrays ------------------------------------------------------------------------------ */

struct dimensions {
    uint64_t counts[8]; /* 0 = unknown */
    unsigned count;
};

static int add_dimension(void *context, Dwarf_Die *die)
{
    struct dimensions *dims = context;
    uint64_t value, lower = 0;

    if (dwarf_tag(die) != DW_TAG_subrange_type || dims->count == 8)
        return 0;
    if (get_number(die, DW_AT_count, &value) < 0) {
        get_number(die, DW_AT_lower_bound, &lower);
        if (get_number(die, DW_AT_upper_bound, &value) < 0 || value == UINT64_MAX || value < lower)
            value = 0;
        else
            value = value - lower + 1;
    }
    dims->counts[dims->count++] = value;
    return 0;
}

static void get_dimensions(Dwarf_Die *array, struct dimensions *dims)
{
    uint64_t budget = 64;

    dims->count = 0;
    mdl_die_children(array, &budget, add_dimension, dims);
}

/* ---- Size -------------------------------------------------------------------------------- */

static uint64_t type_size(Dwarf_Die *die, unsigned skipped, int depth)
{
    struct dimensions dims;
    Dwarf_Die peeled, element;
    uint64_t size;

    if (depth > 8 || type_peel(die, &peeled) < 0)
        return 0;
    if (!skipped && get_number(&peeled, DW_AT_byte_size, &size) == 0)
        return size;
    switch (dwarf_tag(&peeled)) {
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
    case DW_TAG_ptr_to_member_type:
    case DW_TAG_unspecified_type:
        return 8;
    case DW_TAG_array_type:
        break;
    default:
        return 0;
    }
    if (type_die(&peeled, &element) < 0)
        return 0;
    size = type_size(&element, 0, depth + 1);
    get_dimensions(&peeled, &dims);
    for (unsigned i = skipped; i < dims.count; i++)
        if (__builtin_mul_overflow(size, dims.counts[i], &size))
            return 0;
    return dims.count > skipped ? size : 0;
}

/* ---- Name -------------------------------------------------------------------------------- */

struct text {
    struct mdl_mod *mod;
    char *start;
    char *at;
    size_t left;
};

static void put(struct text *text, const char *part)
{
    int length = snprintf(text->at, text->left, "%s", part);
    size_t used = length > 0 ? (size_t)length : 0;

    if (used >= text->left)
        used = text->left ? text->left - 1 : 0;
    text->at += used;
    text->left -= used;
}

static void put_name(struct text *text, Dwarf_Die *die, int depth);

static void put_target(struct text *text, Dwarf_Die *die, int depth)
{
    Dwarf_Die target;

    if (depth > CHAIN_MAX)
        put(text, "...");
    else if (type_die(die, &target) < 0)
        put(text, "void");
    else
        put_name(text, &target, depth + 1);
}

struct parameters {
    struct text *text;
    int depth;
    unsigned count;
};

static int put_parameter(void *context, Dwarf_Die *die)
{
    struct parameters *parameters = context;
    int tag = dwarf_tag(die);

    if (tag != DW_TAG_formal_parameter && tag != DW_TAG_unspecified_parameters)
        return 0;
    put(parameters->text, parameters->count++ ? ", " : "");
    if (tag == DW_TAG_formal_parameter)
        put_target(parameters->text, die, parameters->depth);
    else
        put(parameters->text, "...");
    return 0;
}

/* "(int, char **)" of a function or its type; "(void)" in C, where it is said that there are
 * none. */
static void put_parameters(struct text *text, Dwarf_Die *die, int depth)
{
    struct parameters parameters = {text, depth + 1, 0};
    uint64_t budget = 256;

    put(text, "(");
    if (depth <= CHAIN_MAX)
        mdl_die_children(die, &budget, put_parameter, &parameters);
    if (!parameters.count &&
        (dwarf_hasattr(die, DW_AT_prototyped) || !mdl_die_is_of_c(text->mod, die)))
        put(text, "void");
    put(text, ")");
}

/* The name of a base type as people write it, and gdb: "unsigned long", not "long unsigned int". */
static const char *plain_base_name(const char *name)
{
    static const char *const names[][2] = {
        {"long int", "long"},           {"long unsigned int", "unsigned long"},
        {"short int", "short"},         {"short unsigned int", "unsigned short"},
        {"long long int", "long long"}, {"long long unsigned int", "unsigned long long"},
    };

    for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i][0], name) == 0)
            return names[i][1];
    return name;
}

/* "struct tag" and kin; in C++ "ns::tag". */
static void put_tagged(struct text *text, Dwarf_Die *die, const char *keyword)
{
    const char *name = dwarf_diename(die);

    if (mdl_die_is_of_c(text->mod, die) || !name)
        put(text, keyword);
    else
        name = mdl_die_qualified(text->mod, die, name);
    put(text, name ? name : "{...}");
}

/* "int box::*" */
static void put_member_pointer(struct text *text, Dwarf_Die *die, int depth)
{
    Dwarf_Attribute attribute;
    Dwarf_Die holder;

    put_target(text, die, depth);
    put(text, " ");
    if (dwarf_formref_die(dwarf_attr(die, DW_AT_containing_type, &attribute), &holder))
        put_name(text, &holder, depth + 1);
    put(text, "::*");
}

/* A qualifier stands before what it qualifies, but behind a pointer's star. */
static void put_qualified(struct text *text, Dwarf_Die *die, const char *qualifier, int depth)
{
    Dwarf_Die target;

    if (type_die(die, &target) == 0 && dwarf_tag(&target) == DW_TAG_pointer_type) {
        put_target(text, die, depth);
        put(text, qualifier);
        return;
    }
    put(text, qualifier);
    put(text, " ");
    put_target(text, die, depth);
}

static void put_pointer(struct text *text, Dwarf_Die *die, const char *mark, int depth)
{
    Dwarf_Die target, result;

    if (type_die(die, &target) == 0 && dwarf_tag(&target) == DW_TAG_subroutine_type) {
        put(text, type_die(&target, &result) == 0 ? "" : "void");
        if (type_die(&target, &result) == 0)
            put_target(text, &target, depth + 1);
        put(text, " (");
        put(text, mark);
        put(text, ")");
        put_parameters(text, &target, depth);
        return;
    }
    put_target(text, die, depth);
    if (text->at > text->start && text->at[-1] != '*')
        put(text, " ");
    put(text, mark);
}

static void put_array(struct text *text, Dwarf_Die *die, unsigned skipped, int depth)
{
    struct dimensions dims;
    char bound[32];

    put_target(text, die, depth);
    if (text->at > text->start && text->at[-1] != '*')
        put(text, " ");
    get_dimensions(die, &dims);
    for (unsigned i = skipped; i < dims.count; i++) {
        snprintf(bound, sizeof(bound), "[%llu]", (unsigned long long)dims.counts[i]);
        put(text, dims.counts[i] ? bound : "[]");
    }
}

static void put_name(struct text *text, Dwarf_Die *die, int depth)
{
    switch (dwarf_tag(die)) {
    case DW_TAG_structure_type:
        put_tagged(text, die, "struct ");
        break;
    case DW_TAG_class_type:
        put_tagged(text, die, "class ");
        break;
    case DW_TAG_union_type:
        put_tagged(text, die, "union ");
        break;
    case DW_TAG_ptr_to_member_type:
        put_member_pointer(text, die, depth);
        break;
    case DW_TAG_enumeration_type:
        put_tagged(text, die, "enum ");
        break;
    case DW_TAG_const_type:
        put_qualified(text, die, "const", depth);
        break;
    case DW_TAG_volatile_type:
        put_qualified(text, die, "volatile", depth);
        break;
    case DW_TAG_restrict_type:
        put_qualified(text, die, "restrict", depth);
        break;
    case DW_TAG_atomic_type:
        put_qualified(text, die, "_Atomic", depth);
        break;
    case DW_TAG_pointer_type:
        put_pointer(text, die, "*", depth);
        break;
    case DW_TAG_reference_type:
        put_pointer(text, die, "&", depth);
        break;
    case DW_TAG_rvalue_reference_type:
        put_pointer(text, die, "&&", depth);
        break;
    case DW_TAG_array_type:
        put_array(text, die, 0, depth);
        break;
    case DW_TAG_subroutine_type:
    case DW_TAG_subprogram:
        put_target(text, die, depth);
        put(text, " ");
        put_parameters(text, die, depth);
        break;
    case DW_TAG_base_type:
        put(text, dwarf_diename(die) ? plain_base_name(dwarf_diename(die)) : "{...}");
        break;
    default:
        put_tagged(text, die, "");
        break;
    }
}

/* ---- Kind -------------------------------------------------------------------------------- */

static void classify_base(Dwarf_Die *die, struct wetdbg_type *type)
{
    uint64_t encoding = 0;

    get_number(die, DW_AT_encoding, &encoding);
    switch (encoding) {
    case DW_ATE_boolean:
        type->kind = WETDBG_TYPE_BOOL;
        break;
    case DW_ATE_float:
        type->kind = WETDBG_TYPE_FLOAT;
        type->is_signed = true;
        break;
    case DW_ATE_signed:
        type->kind = WETDBG_TYPE_SIGNED;
        type->is_signed = true;
        break;
    case DW_ATE_signed_char:
        type->kind = WETDBG_TYPE_CHAR;
        type->is_signed = true;
        break;
    case DW_ATE_unsigned:
        type->kind = WETDBG_TYPE_UNSIGNED;
        break;
    case DW_ATE_unsigned_char:
    case DW_ATE_UTF:
        type->kind = WETDBG_TYPE_CHAR;
        break;
    default:
        type->kind = WETDBG_TYPE_OTHER;
        break;
    }
}

/* An enumeration is as signed as its underlying type. */
static void classify_enum(Dwarf_Die *die, struct wetdbg_type *type)
{
    struct wetdbg_type base = {0};
    Dwarf_Die underlying, peeled;

    type->kind = WETDBG_TYPE_ENUM;
    if (type_die(die, &underlying) < 0 || type_peel(&underlying, &peeled) < 0)
        return;
    classify_base(&peeled, &base);
    type->is_signed = base.is_signed;
}

/* Whether a pointer to a member is one to a member function. */
static bool is_of_function(Dwarf_Die *die)
{
    Dwarf_Die target;

    return type_die(die, &target) == 0 && dwarf_tag(&target) == DW_TAG_subroutine_type;
}

static void classify(Dwarf_Die *die, struct wetdbg_type *type)
{
    switch (dwarf_tag(die)) {
    case DW_TAG_base_type:
        classify_base(die, type);
        break;
    case DW_TAG_enumeration_type:
        classify_enum(die, type);
        break;
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
        type->is_reference = true;
        /* fall through */
    case DW_TAG_pointer_type:
        type->kind = WETDBG_TYPE_POINTER;
        break;
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
        type->kind = WETDBG_TYPE_STRUCT;
        break;
    case DW_TAG_union_type:
        type->kind = WETDBG_TYPE_UNION;
        break;
    case DW_TAG_unspecified_type: /* of nullptr */
        type->kind = WETDBG_TYPE_POINTER;
        break;
    case DW_TAG_ptr_to_member_type: /* an offset, or the address of a function and more */
        type->kind = is_of_function(die) ? WETDBG_TYPE_POINTER : WETDBG_TYPE_SIGNED;
        type->is_signed = !is_of_function(die);
        break;
    case DW_TAG_array_type:
        type->kind = WETDBG_TYPE_ARRAY;
        break;
    case DW_TAG_subroutine_type:
    case DW_TAG_subprogram:
        type->kind = WETDBG_TYPE_FUNCTION;
        break;
    default:
        type->kind = WETDBG_TYPE_OTHER;
        break;
    }
}

/* `skipped`: without an array's first dimensions. */
static int describe(struct mdl_mod *mod, Dwarf_Die *die, unsigned skipped, struct wetdbg_type *type)
{
    char name[NAME_BYTES_MAX];
    struct text text = {mod, name, name, sizeof(name)};
    Dwarf_Die peeled;

    memset(type, 0, sizeof(*type));
    name[0] = '\0';
    if (skipped)
        put_array(&text, die, skipped, 0);
    else
        put_name(&text, die, 0);
    mdl_name_abbreviate(name);
    memcpy(type->name, name, strnlen(name, sizeof(type->name) - 1)); /* the rest is zero */
    if (type_peel(die, &peeled) < 0) {
        type->kind = WETDBG_TYPE_VOID;
        return 0;
    }
    if (mdl_type_complete(mod, &peeled) < 0)
        return -ENOMEM;
    classify(&peeled, type);
    type->size_bytes = type->kind == WETDBG_TYPE_FUNCTION ? 1 : type_size(&peeled, skipped, 0);
    type->handle =
        handle_add(mod->model, &(struct mdl_handle){.die = *die, .mod = mod, .skipped = skipped});
    return type->handle ? 0 : -ENOMEM;
}

int mdl_type_of_die(struct mdl_mod *mod, Dwarf_Die *die, struct wetdbg_type *type)
{
    return describe(mod, die, 0, type);
}

int mdl_type_of(struct mdl_mod *mod, Dwarf_Die *die, struct wetdbg_type *type)
{
    Dwarf_Die target;

    if (type_die(die, &target) == 0)
        return describe(mod, &target, 0, type);
    memset(type, 0, sizeof(*type));
    type->kind = WETDBG_TYPE_VOID;
    snprintf(type->name, sizeof(type->name), "void");
    return 0;
}

/* ---- Types that no DIE describes --------------------------------------------------------- */

static void put_start(struct text *text, const char *part, size_t length)
{
    char start[sizeof(((struct wetdbg_type *)0)->name)];

    length = length < sizeof(start) ? length : sizeof(start) - 1;
    memcpy(start, part, length);
    start[length] = '\0';
    put(text, start);
}

/* "int (*)[3]" and "int (*)(void)", not "int [3] *". */
static void name_pointer(const char *name, struct wetdbg_type *type)
{
    struct text text = {NULL, type->name, type->name, sizeof(type->name)};
    size_t length = strlen(name), start = length;
    const char *bracket = strchr(name, '['), *paren = strstr(name, " (");

    if (bracket && name[length - 1] == ']')
        start = (size_t)(bracket - name);
    else if (paren && name[length - 1] == ')' && strncmp(paren, " (*", 3) != 0)
        start = (size_t)(paren + 1 - name);
    put_start(&text, name, start);
    if (start < length)
        put(&text, "(*)");
    else
        put(&text, length && name[length - 1] == '*' ? "*" : " *");
    put(&text, name + start);
}

/* "int [2][3]" of "int [3]" */
static void name_array(const char *name, uint64_t count, struct wetdbg_type *type)
{
    struct text text = {NULL, type->name, type->name, sizeof(type->name)};
    const char *bracket = strchr(name, '[');
    size_t start = bracket ? (size_t)(bracket - name) : strlen(name);
    char bound[32];

    put_start(&text, name, start);
    if (start && name[start - 1] != '*' && name[start - 1] != ' ')
        put(&text, " ");
    snprintf(bound, sizeof(bound), "[%llu]", (unsigned long long)count);
    put(&text, bound);
    put(&text, name + start);
}

static int derive(struct wetdbg_model *model, const struct wetdbg_type *target, uint64_t count,
                  struct wetdbg_type *type)
{
    struct mdl_handle handle = {.count = count};
    struct wetdbg_type *kept = malloc(sizeof(*kept));

    if (!kept)
        return -ENOMEM;
    *kept = *target;
    handle.target = kept;
    type->handle = handle_add(model, &handle);
    if (!type->handle)
        free(kept);
    return type->handle ? 0 : -ENOMEM;
}

int wetdbg_type_pointer(struct wetdbg_model *model, const struct wetdbg_type *target,
                        struct wetdbg_type *pointer)
{
    struct wetdbg_type made = {.kind = WETDBG_TYPE_POINTER, .size_bytes = 8};

    name_pointer(target->name, &made);
    if (derive(model, target, 0, &made) < 0)
        return -ENOMEM;
    *pointer = made;
    return 0;
}

int wetdbg_type_array(struct wetdbg_model *model, const struct wetdbg_type *element, uint64_t count,
                      struct wetdbg_type *array)
{
    struct wetdbg_type made = {.kind = WETDBG_TYPE_ARRAY};

    if (!count || __builtin_mul_overflow(element->size_bytes, count, &made.size_bytes))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "an array of %llu elements of type '%s' is too large",
                           (unsigned long long)count, element->name);
    name_array(element->name, count, &made);
    if (derive(model, element, count, &made) < 0)
        return -ENOMEM;
    *array = made;
    return 0;
}

/* ---- Asked from outside ------------------------------------------------------------------ */

/* A handle's DIE without typedefs. */
static int handle_peeled(struct wetdbg_model *model, uint64_t handle, struct mdl_mod **mod,
                         Dwarf_Die *peeled)
{
    const struct mdl_handle *known = mdl_handle_get(model, handle);
    Dwarf_Die die;

    if (!known)
        return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
    if (known->target)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "neither a structure nor an enumeration");
    die = known->die;
    *mod = known->mod;
    if (type_peel(&die, peeled) < 0)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "the type is void");
    return mdl_type_complete(*mod, peeled) < 0 ? -ENOMEM : 0;
}

/* An array's elements: of several dimensions those of the first one, arrays themselves. */
static int element_of(struct mdl_mod *mod, Dwarf_Die *array, unsigned skipped,
                      struct wetdbg_type *target, uint64_t *count)
{
    struct dimensions dims;
    int result;

    get_dimensions(array, &dims);
    result = dims.count > skipped + 1 ? describe(mod, array, skipped + 1, target)
                                      : mdl_type_of(mod, array, target);
    if (result == 0)
        *count = dims.count > skipped ? dims.counts[skipped] : 0;
    return result;
}

int wetdbg_type_target(struct wetdbg_model *model, uint64_t type_handle, struct wetdbg_type *target,
                       uint64_t *element_count)
{
    const struct mdl_handle *known = mdl_handle_get(model, type_handle);
    struct mdl_mod *mod = NULL;
    unsigned skipped;
    Dwarf_Die die;
    int result;

    if (!known)
        return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
    if (known->target) {
        *target = *known->target;
        *element_count = known->count ? known->count : 1;
        return 0;
    }
    skipped = known->skipped;
    result = handle_peeled(model, type_handle, &mod, &die);
    if (result < 0)
        return result;
    switch (dwarf_tag(&die)) {
    case DW_TAG_array_type:
        return element_of(mod, &die, skipped, target, element_count);
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
        break;
    default:
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "neither a pointer nor an array");
    }
    result = mdl_type_of(mod, &die, target);
    if (result == 0)
        *element_count = 1;
    return result;
}

int wetdbg_type_plain(struct wetdbg_model *model, const struct wetdbg_type *type,
                      struct wetdbg_type *plain)
{
    const struct mdl_handle *known = mdl_handle_get(model, type->handle);
    struct mdl_mod *mod;
    Dwarf_Die die;
    int result;

    if (!known)
        return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
    if (known->target || known->skipped) {
        *plain = *type;
        return 0;
    }
    result = handle_peeled(model, type->handle, &mod, &die);
    return result < 0 ? result : describe(mod, &die, 0, plain);
}

struct argument_walk {
    struct mdl_mod *mod;
    unsigned left; /* before the wanted one */
    uint64_t budget;
    struct wetdbg_type *found;
};

/* 1: it is found. */
static int visit_argument(void *context, Dwarf_Die *die)
{
    struct argument_walk *walk = context;
    if (dwarf_tag(die) == DW_TAG_GNU_template_parameter_pack)
        return mdl_die_children(die, &walk->budget, visit_argument, walk);
    if (dwarf_tag(die) != DW_TAG_template_type_parameter || walk->left--)
        return 0;
    int result = mdl_type_of(walk->mod, die, walk->found);
    return result < 0 ? result : 1;
}

int wetdbg_type_argument(struct wetdbg_model *model, uint64_t type_handle, unsigned index,
                         struct wetdbg_type *argument)
{
    struct argument_walk walk = {.left = index, .budget = 1 << 20, .found = argument};
    Dwarf_Die die;
    int result = handle_peeled(model, type_handle, &walk.mod, &die);

    if (result == 0)
        result = mdl_die_children(&die, &walk.budget, visit_argument, &walk);
    if (result == 0)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "it has no such template argument");
    return result < 0 ? result : 0;
}

struct member_walk {
    struct mdl_mod *mod;
    wetdbg_member_fn fn;
    void *context;
};

static void get_bits(Dwarf_Die *die, struct wetdbg_member *member)
{
    uint64_t bits, offset;

    if (get_number(die, DW_AT_bit_size, &bits) < 0 || bits > 128)
        return;
    member->bit_size = (uint32_t)bits;
    if (get_number(die, DW_AT_data_bit_offset, &offset) == 0) {
        member->offset_bytes = offset / 8;
        member->bit_offset = (uint32_t)(offset % 8);
    } else if (get_number(die, DW_AT_bit_offset, &offset) == 0 &&
               offset + bits <= member->type.size_bytes * 8) {
        /* DWARF 3 counts from the most significant bit of the storage unit */
        member->bit_offset = (uint32_t)(member->type.size_bytes * 8 - offset - bits);
    }
}

static int visit_member(void *context, Dwarf_Die *die)
{
    struct member_walk *walk = context;
    struct wetdbg_member member = {0};
    int tag = dwarf_tag(die), result;

    /* before DWARF 5 a static member is a member, too, which is declared only */
    if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
        dwarf_hasattr(die, DW_AT_declaration) || dwarf_hasattr(die, DW_AT_external))
        return 0;
    member.name = tag == DW_TAG_inheritance ? NULL : dwarf_diename(die);
    member.is_base = tag == DW_TAG_inheritance;
    if (get_number(die, DW_AT_data_member_location, &member.offset_bytes) < 0 &&
        dwarf_hasattr(die, DW_AT_data_member_location)) {
        member.is_virtual = true;
        member.handle = mdl_handle_new(walk->mod, die);
        if (!member.handle)
            return -ENOMEM;
    }
    result = mdl_type_of(walk->mod, die, &member.type);
    if (result < 0)
        return result;
    get_bits(die, &member);
    return walk->fn(walk->context, &member);
}

int wetdbg_type_members_each(struct wetdbg_model *model, uint64_t type_handle, wetdbg_member_fn fn,
                             void *context)
{
    struct member_walk walk = {.fn = fn, .context = context};
    uint64_t budget = 1 << 20;
    Dwarf_Die die;
    int result = handle_peeled(model, type_handle, &walk.mod, &die);

    return result < 0 ? result : mdl_die_children(&die, &budget, visit_member, &walk);
}

int wetdbg_member_offset(struct wetdbg_model *model, const struct wetdbg_member *member,
                         const struct wetdbg_machine *machine, uint64_t address,
                         uint64_t *offset_bytes)
{
    struct mdl_expr_env env = {.machine = machine, .object = &address};
    const struct mdl_handle *known;
    struct wetdbg_place place;
    Dwarf_Attribute attribute;
    Dwarf_Die die;
    Dwarf_Op *ops;
    size_t count;
    int result;

    if (!member->is_virtual) {
        *offset_bytes = member->offset_bytes;
        return 0;
    }
    known = mdl_handle_get(model, member->handle);
    if (!known)
        return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
    die = known->die;
    env.bias = known->mod->info.bias;
    if (!dwarf_attr(&die, DW_AT_data_member_location, &attribute) ||
        dwarf_getlocation(&attribute, &ops, &count) != 0)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "damaged place of a base class");
    env.attr = &attribute;
    result = mdl_expr_eval(&env, ops, count, &place);
    if (result < 0)
        return result;
    if (place.kind != WETDBG_PLACE_MEMORY)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "a base class that is not in memory");
    *offset_bytes = place.address - address;
    return 0;
}

struct enumerator_search {
    int64_t value;
    Dwarf_Die die;
    const char *name;
};

/* Whether an enumerator has a value. Compilers note values of unsigned types signed, and the other
 * way round. */
static bool has_value(Dwarf_Die *die, int64_t wanted)
{
    Dwarf_Attribute attribute;
    Dwarf_Sword value;
    Dwarf_Word word;

    if (!dwarf_attr(die, DW_AT_const_value, &attribute))
        return false;
    return (dwarf_formsdata(&attribute, &value) == 0 && value == wanted) ||
           (dwarf_formudata(&attribute, &word) == 0 && (int64_t)word == wanted);
}

static int visit_enumerator(void *context, Dwarf_Die *die)
{
    struct enumerator_search *search = context;

    if (dwarf_tag(die) != DW_TAG_enumerator || !has_value(die, search->value))
        return 0;
    search->die = *die;
    search->name = dwarf_diename(die);
    return search->name != NULL;
}

/* "green" in C; "ns::green", or of an enum class "ns::colour::green". */
static const char *qualify_enumerator(struct mdl_mod *mod, Dwarf_Die *type, const char *name)
{
    const char *type_name = dwarf_diename(type), *qualified;
    struct mdl_strings *strings = &mod->model->strings;
    size_t length;

    if (mdl_die_is_of_c(mod, type))
        return name;
    qualified = mdl_die_qualified(mod, type, type_name ? type_name : "");
    if (!dwarf_hasattr(type, DW_AT_enum_class) && qualified) {
        length = strlen(qualified) - (type_name ? strlen(type_name) : 0);
        qualified = mdl_strings_intern(strings, qualified, length);
        return qualified ? mdl_strings_format(strings, "%s%s", qualified, name) : name;
    }
    return qualified ? mdl_strings_format(strings, "%s::%s", qualified, name) : name;
}

struct enumerator_walk {
    wetdbg_enumerator_fn fn;
    void *context;
};

static int visit_each_enumerator(void *context, Dwarf_Die *die)
{
    struct enumerator_walk *walk = context;
    Dwarf_Attribute attribute;
    Dwarf_Sword value;
    const char *name = dwarf_diename(die);

    if (dwarf_tag(die) != DW_TAG_enumerator || !name ||
        dwarf_formsdata(dwarf_attr(die, DW_AT_const_value, &attribute), &value) != 0)
        return 0;
    return walk->fn(walk->context, name, value);
}

int wetdbg_type_enumerators_each(struct wetdbg_model *model, uint64_t type_handle,
                                 wetdbg_enumerator_fn fn, void *context)
{
    struct enumerator_walk walk = {fn, context};
    struct mdl_mod *mod;
    uint64_t budget = 1 << 20;
    Dwarf_Die die;
    int result = handle_peeled(model, type_handle, &mod, &die);

    return result < 0 ? result : mdl_die_children(&die, &budget, visit_each_enumerator, &walk);
}

int wetdbg_type_enumerator(struct wetdbg_model *model, uint64_t type_handle, int64_t value,
                           const char **name)
{
    struct enumerator_search search = {.value = value};
    struct mdl_mod *mod;
    uint64_t budget = 1 << 20;
    Dwarf_Die die;
    int result = handle_peeled(model, type_handle, &mod, &die);

    if (result < 0)
        return result;
    mdl_die_children(&die, &budget, visit_enumerator, &search);
    if (!search.name)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no enumerator has the value %lld",
                           (long long)value);
    *name = qualify_enumerator(mod, &die, search.name);
    return *name ? 0 : -ENOMEM;
}
