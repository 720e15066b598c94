/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wet/model/noreturn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "wet/model/names.h"

/* ---- by name ---- */

/* libstdc++'s std::__throw_length_error(char const*) and kin, std::terminate(); Rust's panics
 * (their hash, and all of the names of version 0, keep them from being a list). */
static bool throws(const char *name)
{
    static const char *const parts[] = {"4core9panicking", "3std9panicking11begin_panic",
                                        "4core6option13expect_failed",
                                        "4core6result13unwrap_failed", "5slice5index"};

    if (strncmp(name, "_ZSt", 4) == 0) {
        size_t digits = strspn(name + 4, "0123456789");

        return strncmp(name + 4 + digits, "__throw_", 8) == 0 ||
               strncmp(name, "_ZSt9terminatev", 15) == 0;
    }
    if (!mdl_name_is_mangled(name))
        return false;
    for (size_t i = 0; i < 4; i++)
        if (strstr(name, parts[i]))
            return true;
    return strstr(name, parts[4]) && strstr(name, "_fail");
}

bool mdl_name_never_returns(const char *name)
{
    static const char *const names[] = {
        "_Exit",
        "_Unwind_Resume",
        "__assert",
        "__assert_fail",
        "__assert_perror_fail",
        "__chk_fail",
        "__cxa_bad_cast",
        "__cxa_bad_typeid",
        "__cxa_pure_virtual",
        "__cxa_rethrow",
        "__cxa_throw",
        "__cxa_throw_bad_array_new_length",
        "__fortify_fail",
        "__libc_fatal",
        "__longjmp_chk",
        "__stack_chk_fail",
        "_exit",
        "_longjmp",
        "abort",
        "err",
        "errx",
        "exit",
        "longjmp",
        "pthread_exit",
        "quick_exit",
        "siglongjmp",
        "thrd_exit",
        "verr",
        "verrx",
    };
    size_t low = 0, high = sizeof(names) / sizeof(names[0]);
    size_t length;

    if (throws(name))
        return true;
    if (strncmp(name, "__GI_", 5) == 0)
        name += 5;
    length = strcspn(name, "@");
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strncmp(names[middle], name, length);

        if (order == 0)
            order = names[middle][length] != '\0';
        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* Go's functions that go on with their caller in their own way. */
static bool resumes(const char *name)
{
    return strncmp(name, "runtime.morestack", 17) == 0 || strcmp(name, "runtime.mcall") == 0 ||
           strcmp(name, "runtime.systemstack") == 0;
}

/* ---- by code ---- */

/* The search in one module. */
struct search {
    struct mdl_mod *mod;
    struct mdl_functions *functions;
    struct mdl_graphs *graphs;
    uint64_t start, end; /* of its code */
    uint8_t *is_new;     /* bit by address - start: entries found on the last level */
    bool finds_slots;    /* on the first level: calls through slots, too */
    uint32_t *callers;   /* that were found on this level and may be such functions */
    size_t caller_count, caller_capacity;
    uint8_t *is_listed; /* by function: is among `callers` */
};

#define OP_CALL     0xe8
#define OP_JUMP     0xe9
#define OP_GROUP_FF 0xff
#define OP_RETURN   0xc3

static bool has_bit(const uint8_t *bits, uint64_t at)
{
    return bits[at / 8] >> (at % 8) & 1;
}

/* A function's bytes, as many as there are. */
static const uint8_t *code_of(const struct search *search, const struct mdl_function_entry *entry,
                              size_t *size)
{
    size_t available = 0;
    const uint8_t *bytes = mdl_mod_bytes(search->mod, entry->start, &available);

    *size = entry->end - entry->start < available ? entry->end - entry->start : available;
    return bytes;
}

/* Whether bytes, if they were a call or jump, would lead to one of the last level. A match inside
 * an instruction costs a look at the function, no more. */
static bool leads_to_new(const struct search *search, const uint8_t *at, uint64_t pc, bool is_long)
{
    bool is_near = at[0] == OP_CALL || at[0] == OP_JUMP;
    int32_t distance;

    if (is_near) {
        memcpy(&distance, at + 1, sizeof(distance));
        uint64_t target = pc + 5 + (uint64_t)(int64_t)distance;
        return target - search->start < search->end - search->start &&
               has_bit(search->is_new, target - search->start);
    }
    if (!is_long)
        return false;
    memcpy(&distance, at + 2, sizeof(distance));
    uint64_t target = pc + 6 + (uint64_t)(int64_t)distance;
    if (at[0] == 0x0f && (at[1] & 0xf0) == 0x80)
        return target - search->start < search->end - search->start &&
               has_bit(search->is_new, target - search->start);
    if (!search->finds_slots || at[0] != OP_GROUP_FF || (at[1] != 0x15 && at[1] != 0x25))
        return false;
    const struct mdl_slot *slot = mdl_functions_slot(search->functions, target);
    return slot && slot->never_returns;
}

static bool calls_new(const struct search *search, const uint8_t *bytes, size_t size, uint64_t pc)
{
    for (size_t i = 0; i + 5 <= size; i++) {
        uint8_t byte = bytes[i];

        if ((byte == OP_CALL || byte == OP_JUMP || byte == 0x0f || byte == OP_GROUP_FF) &&
            leads_to_new(search, bytes + i, pc + i, i + 6 <= size))
            return true;
    }
    return false;
}

static int list_caller(struct search *search, uint32_t index)
{
    if (search->is_listed[index])
        return 0;
    if (wd_grow(search->callers, search->caller_capacity, search->caller_count + 1))
        return -ENOMEM;
    search->is_listed[index] = 1;
    search->callers[search->caller_count++] = index;
    return 0;
}

/* Whether a function is worth a look on any level. */
static bool is_open(const struct mdl_function_entry *entry)
{
    return !entry->never_returns && !(entry->flags & WETDBG_FUNCTION_PLT) &&
           entry->end > entry->start && !resumes(entry->name);
}

/* Lists functions that call what was found last; on the first level also those without any
 * return. */
static int list_callers(struct search *search)
{
    int err = 0;

    search->caller_count = 0;
    memset(search->is_listed, 0, search->functions->count);
    for (uint32_t i = 0; i < search->functions->count && !err; i++) {
        const struct mdl_function_entry *entry = &search->functions->entries[i];
        size_t size = 0;
        const uint8_t *bytes = is_open(entry) ? code_of(search, entry, &size) : NULL;

        if (bytes && (calls_new(search, bytes, size, entry->start) ||
                      (search->finds_slots && size && !memchr(bytes, OP_RETURN, size))))
            err = list_caller(search, i);
    }
    return err;
}

static void mark_new(struct search *search, uint64_t entry)
{
    uint64_t at = entry - search->start;

    if (at < search->end - search->start)
        search->is_new[at / 8] |= (uint8_t)(1u << (at % 8));
}

/* Looks at the listed functions. How many never return, or -ENOMEM. */
static int judge_callers(struct search *search)
{
    int found = 0;

    memset(search->is_new, 0, (search->end - search->start) / 8 + 1);
    for (size_t i = 0; i < search->caller_count; i++) {
        uint32_t index = search->callers[i];
        int may_return = mdl_cfg_may_return(search->mod, search->graphs, index);

        if (may_return < 0)
            return may_return;
        if (may_return)
            continue;
        search->functions->entries[index].never_returns = true;
        mark_new(search, search->functions->entries[index].start);
        found++;
    }
    return found;
}

/* ---- imports ---- */

/* Whether what some module exports under a name never returns. 1, 0 or -ENOMEM. */
static int import_never_returns(struct wetdbg_model *model, const char *name)
{
    bool is_found = false;

    for (size_t i = 0; i < model->mod_count; i++) {
        struct mdl_mod *mod = model->mods[i];
        struct mdl_functions *functions;
        size_t first, end;

        if (mdl_functions_get(mod, &functions) < 0)
            continue;
        mdl_functions_by_name(functions, name, &first, &end);
        if (first == end)
            continue;
        struct mdl_graphs *graphs;
        int err = mdl_graphs_get(mod, &graphs);
        if (!err)
            err = mdl_noreturn_find(mod, graphs);
        for (; first < end && !err; first++) {
            uint32_t index = mdl_functions_find(functions, functions->names[first].start);
            if (index == MDL_NO_FUNCTION || !functions->entries[index].never_returns)
                return 0;
            is_found = true;
        }
        if (err)
            return err;
    }
    return is_found;
}

/* The same for a name as slots and stubs have it: "die", "die@plt", "die@VERSION". */
static int name_never_returns(struct wetdbg_model *model, const char *name)
{
    size_t length = strcspn(name, "@");
    char plain[256];

    if (mdl_name_never_returns(name))
        return 1;
    if (length == 0 || length >= sizeof(plain))
        return 0;
    memcpy(plain, name, length);
    plain[length] = '\0';
    return import_never_returns(model, plain);
}

/* What is known by name: imports, and what the run-time libraries themselves have under names that
 * are reserved for them (a program's own err() may well return). */
static int note_names(struct search *search)
{
    struct wetdbg_model *model = search->mod->model;
    struct mdl_functions *functions = search->functions;
    int result = 0;

    for (size_t i = 0; i < functions->slot_count && result >= 0; i++) {
        struct mdl_slot *slot = &functions->slots[i];
        result = slot->name ? name_never_returns(model, slot->name) : 0;
        slot->never_returns = result > 0;
    }
    for (size_t i = 0; i < functions->count && result >= 0; i++) {
        struct mdl_function_entry *entry = &functions->entries[i];
        if (entry->flags & WETDBG_FUNCTION_PLT)
            result = name_never_returns(model, entry->name);
        else
            result = entry->name[0] == '_' && mdl_name_never_returns(entry->name);
        if (result <= 0)
            continue;
        entry->never_returns = true;
        /* which nearly all functions call, and none that is not found by something else */
        if (strncmp(entry->name, "__stack_chk_fail", 16) != 0)
            mark_new(search, entry->start);
    }
    return result < 0 ? result : 0;
}

/* ---- all of it ---- */

#define SPAN_MAX (UINT64_C(4) << 30)

static int search_all(struct search *search)
{
    int found = note_names(search);

    if (found < 0)
        return found;
    do {
        found = list_callers(search);
        if (found == 0)
            found = judge_callers(search);
        search->finds_slots = false;
    } while (found > 0);
    return found;
}

int mdl_noreturn_find(struct mdl_mod *mod, struct mdl_graphs *graphs)
{
    struct mdl_functions *functions = mod->functions;
    struct search search = {
        .mod = mod, .functions = functions, .graphs = graphs, .finds_slots = true};
    int err = 0;

    if (functions->lost_known || functions->count == 0)
        return 0;
    functions->lost_known =
        true; /* also while it is being found out: modules may need each other */
    search.start = mod->info.start;
    search.end = mod->info.end > mod->info.start ? mod->info.end : mod->info.start;
    if (search.end - search.start > SPAN_MAX) /* no linker makes such a module */
        search.end = search.start;
    search.is_new = calloc((search.end - search.start) / 8 + 1, 1);
    search.is_listed = calloc(functions->count, 1);
    if (!search.is_new || !search.is_listed)
        err = -ENOMEM;
    if (!err)
        err = search_all(&search);
    if (err)
        functions->lost_known = false;
    free(search.is_new);
    free(search.is_listed);
    free(search.callers);
    return err;
}
