/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values out of values: members, elements, what a pointer points to. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "dbgcli/eval/arithmetic.h"
#include "dbgcli/eval/registers.h"
#include <wetdbg/errors.h>

/* ---- members ---- */

struct member_search {
    struct cli_frame_view *view;
    const char *name;
    uint64_t address; /* of the object whose members are looked at */
    struct wetdbg_member found;
    uint64_t found_address;
    unsigned depth;
};

/* 1 ends the enumeration: it is there. */
static int match_member(void *context, const struct wetdbg_member *member)
{
    struct member_search *search = context;
    if (!member->name || strcmp(member->name, search->name) != 0)
        return 0;
    search->found = *member;
    search->found_address = search->address + member->offset_bytes;
    return 1;
}

static int find_member(struct member_search *search, uint64_t type_handle);

/* Looks for the member in unnamed members and base classes, whose members count as the whole's. */
static int match_unnamed(void *context, const struct wetdbg_member *member)
{
    struct member_search *search = context;
    struct wetdbg_machine machine = cli_frame_machine(search->view);
    uint64_t whole = search->address, offset;
    if (member->name || search->depth > 8)
        return 0;
    int err = wetdbg_member_offset(search->view->moment->model, member, &machine, whole, &offset);
    if (err)
        return err;
    search->depth++;
    search->address = whole + offset;
    err = find_member(search, member->type.handle);
    search->address = whole;
    search->depth--;
    return err;
}

static int find_member(struct member_search *search, uint64_t type_handle)
{
    struct wetdbg_model *model = search->view->moment->model;
    int result = wetdbg_type_members_each(model, type_handle, match_member, search);
    return result ? result : wetdbg_type_members_each(model, type_handle, match_unnamed, search);
}

int cli_value_member(struct cli_moment *moment, const struct cli_value *value, const char *name,
                     struct cli_value *member)
{
    struct cli_frame_view view = {moment, 0};
    /* of what is not in memory, offsets */
    struct member_search search = {
        .view = &view, .name = name, .address = value->is_in_memory ? value->address : 0};
    int result = value->type.handle ? find_member(&search, value->type.handle) : 0;
    if (result <= 0)
        return result ? result : -WETDBG_ERR_NOT_FOUND;
    uint64_t start = value->is_in_memory ? value->address : 0;
    result = cli_value_part(value, search.found_address - start, &search.found.type, member);
    member->bit_offset = search.found.bit_offset;
    member->bit_size = search.found.bit_size;
    return result;
}

int cli_value_path(struct cli_moment *moment, const struct cli_value *value, const char *path,
                   struct cli_value *member)
{
    char name[64];
    int err = 0;
    *member = *value;
    while (*path && !err) {
        struct cli_value outer = *member;
        size_t length = strcspn(path, ".");
        snprintf(name, sizeof(name), "%.*s", (int)length, path);
        err = cli_value_member(moment, &outer, name, member);
        path += path[length] ? length + 1 : length;
    }
    return err;
}

/* ---- parts ---- */

/* Takes over what is not known of the bytes from `offset` on. */
static void take_gaps(const struct cli_value *value, uint64_t offset, struct cli_value *part)
{
    for (size_t i = 0; i + offset < sizeof(value->bytes); i++)
        if (cli_value_is_missing(value, i + offset, 1))
            part->missing[i / 8] |= (uint8_t)(1u << i % 8);
    for (unsigned i = 0; i < value->synthetic_count; i++) {
        if (value->synthetic[i].at < offset)
            continue;
        part->synthetic[part->synthetic_count] = value->synthetic[i];
        part->synthetic[part->synthetic_count++].at -= offset;
    }
}

int cli_value_part(const struct cli_value *value, uint64_t offset, const struct wetdbg_type *type,
                   struct cli_value *part)
{
    struct cli_value made = {.type = *type, .is_in_memory = value->is_in_memory};
    if (value->is_in_memory) {
        made.address = value->address + offset;
        if (value->kept && offset <= value->kept_bytes) {
            made.kept = value->kept + offset;
            made.kept_bytes = value->kept_bytes - offset;
        }
    } else {
        if (offset >= sizeof(value->bytes))
            return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "the value is not in memory as a whole");
        memcpy(made.bytes, value->bytes + offset, sizeof(value->bytes) - offset);
        take_gaps(value, offset, &made);
    }
    *part = made;
    return 0;
}

/* What a synthetic pointer points to, or a value none of which is known. */
static int synthetic_target(struct cli_moment *moment, const struct cli_synthetic *synthetic,
                            const struct wetdbg_type *type, struct cli_value *target)
{
    struct cli_frame_view view = {moment, synthetic->frame};
    struct wetdbg_variable variable = {
        .name = "what it points to", .type = *type, .handle = synthetic->target};
    struct cli_value whole;
    variable.type.size_bytes += (uint64_t)synthetic->target_offset;
    int err = synthetic->target_offset < 0 ? -WETDBG_ERR_NOT_FOUND
                                           : cli_value_of_variable(&view, &variable, &whole);
    if (err == -WETDBG_ERR_NOT_FOUND) {
        *target = (struct cli_value){.type = *type};
        memset(target->missing, 0xff, sizeof(target->missing));
        return 0;
    }
    return err ? err : cli_value_part(&whole, (uint64_t)synthetic->target_offset, type, target);
}

int cli_value_target(struct cli_moment *moment, const struct cli_value *value,
                     struct cli_value *target)
{
    struct wetdbg_type type;
    uint64_t address, count;
    if (value->type.kind == WETDBG_TYPE_FUNCTION) {
        *target = *value;
        return 0;
    }
    if (value->type.kind == WETDBG_TYPE_ARRAY)
        return cli_value_element(moment, value, 0, target);
    if (value->type.kind != WETDBG_TYPE_POINTER)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "a value of type '%s' points to nothing",
                           value->type.name);
    const struct cli_synthetic *synthetic = cli_value_synthetic(value);
    int err =
        value->type.handle
            ? wetdbg_type_target(moment->model, value->type.handle, &type, &count)
            : wetdbg_fail(-WETDBG_ERR_USAGE, "it is not known what a '%s' points to: cast it first",
                          value->type.name);
    if (!err && synthetic)
        return synthetic_target(moment, synthetic, &type, target);
    if (!err)
        err = cli_value_bits(moment, value, &address);
    if (err)
        return err;
    *target = (struct cli_value){.type = type, .is_in_memory = true, .address = address};
    return 0;
}

int cli_value_dereference(struct cli_moment *moment, struct cli_value *value)
{
    struct cli_value target;
    if (!value->type.is_reference)
        return 0;
    int err = cli_value_target(moment, value, &target);
    if (!err)
        *value = target;
    return err;
}

int cli_value_evaluate_through(struct cli_frame_view *view, const char *text,
                               struct cli_value *value)
{
    int err = cli_value_evaluate(view, text, value);
    return err ? err : cli_value_dereference(view->moment, value);
}

int cli_value_element(struct cli_moment *moment, const struct cli_value *value, int64_t index,
                      struct cli_value *element)
{
    struct cli_value start = *value;
    struct wetdbg_type type;
    uint64_t count;
    if (value->type.kind == WETDBG_TYPE_POINTER && cli_value_synthetic(value)) {
        struct cli_synthetic at = *cli_value_synthetic(value);
        int err = wetdbg_type_target(moment->model, value->type.handle, &type, &count);
        at.target_offset += err ? 0 : index * (int64_t)type.size_bytes;
        return err ? err : synthetic_target(moment, &at, &type, element);
    }
    if (value->type.kind == WETDBG_TYPE_POINTER) {
        int err = cli_value_target(moment, value, &start);
        if (err)
            return err;
        type = start.type;
    } else if (value->type.kind == WETDBG_TYPE_ARRAY) {
        int err = wetdbg_type_target(moment->model, value->type.handle, &type, &count);
        if (err)
            return err;
    } else {
        return wetdbg_fail(-WETDBG_ERR_USAGE, "a value of type '%s' has no elements",
                           value->type.name);
    }
    if (!type.size_bytes && index)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "the size of an element ('%s') is not known",
                           type.name);
    return cli_value_part(&start, (uint64_t)index * type.size_bytes, &type, element);
}

/* ---- what a function returned ---- */

struct eightbytes {
    struct cli_moment *moment;
    bool is_float[2]; /* nothing but floating-point members */
    bool is_known[2];
    uint64_t offset; /* of what is looked at */
    bool is_odd;     /* beyond these rules */
};

static int classify_member(void *context, const struct wetdbg_member *member);

static void classify(struct eightbytes *pair, const struct wetdbg_type *type)
{
    struct wetdbg_type element;
    uint64_t count;
    size_t at = pair->offset / 8;
    bool is_float = type->kind == WETDBG_TYPE_FLOAT;
    if (at > 1 || (is_float && type->size_bytes > 8)) {
        pair->is_odd = true;
    } else if (type->kind == WETDBG_TYPE_STRUCT || type->kind == WETDBG_TYPE_UNION) {
        if (wetdbg_type_members_each(pair->moment->model, type->handle, classify_member, pair) < 0)
            pair->is_odd = true;
    } else if (type->kind == WETDBG_TYPE_ARRAY) {
        uint64_t start = pair->offset;
        if (wetdbg_type_target(pair->moment->model, type->handle, &element, &count) != 0 ||
            count > 16)
            count = 0, pair->is_odd = true;
        for (uint64_t i = 0; i < count; i++) {
            pair->offset = start + i * element.size_bytes;
            classify(pair, &element);
        }
        pair->offset = start;
    } else {
        pair->is_float[at] = (pair->is_float[at] || !pair->is_known[at]) && is_float;
        pair->is_known[at] = true;
    }
}

static int classify_member(void *context, const struct wetdbg_member *member)
{
    struct eightbytes *pair = context;
    uint64_t start = pair->offset;
    pair->offset = start + member->offset_bytes;
    pair->is_odd |= member->is_virtual != 0;
    classify(pair, &member->type);
    pair->offset = start;
    return 0;
}

static int take_registers(struct cli_frame_view *view, const struct eightbytes *pair,
                          struct cli_value *value)
{
    static const char *const floats[] = {"xmm0", "xmm1"}, *const integers[] = {"rax", "rdx"};
    size_t floats_used = 0, integers_used = 0;
    for (size_t i = 0; i < 2 && 8 * i < value->type.size_bytes; i++) {
        struct cli_value whole;
        const char *name = pair->is_float[i] ? floats[floats_used++] : integers[integers_used++];
        int err = cli_register_value(view, name, &whole);
        if (err)
            return err;
        memcpy(value->bytes + 8 * i, whole.bytes, 8);
    }
    return 0;
}

/* The value that a function returned, by System V's rules without those for objects with
 * constructors, which C++ returns in memory. */
int cli_value_of_result(struct cli_moment *moment, const struct wetdbg_type *type,
                        struct cli_value *value)
{
    struct cli_frame_view view = {moment, 0};
    struct eightbytes pair = {.moment = moment};
    struct wetdbg_type plain = *type;
    bool is_structure = type->kind == WETDBG_TYPE_STRUCT || type->kind == WETDBG_TYPE_UNION;
    *value = (struct cli_value){.type = *type};
    if (type->kind == WETDBG_TYPE_FLOAT && type->size_bytes == 16)
        return cli_register_value(&view, "st0", value);
    if (type->size_bytes > 16) {
        value->is_in_memory = true;
        return is_structure
                   ? cli_frame_register(&view, 0, &value->address)
                   : wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "a result of type '%s'", type->name);
    }
    if (is_structure && !wetdbg_is_of_c(moment->model, moment->frames[0].lookup_pc))
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "a result of type '%s'", type->name);
    classify(&pair, &plain);
    if (pair.is_odd)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "a result of type '%s'", type->name);
    return take_registers(&view, &pair, value);
}
