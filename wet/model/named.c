/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions by name. A linker's name is found by halves. Names of C++ and Rust have no index of
 * their demangled forms: of those that contain the last word that was typed only a few need be
 * demangled.
 */
#include <errno.h>
#include <regex.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "wet/model/functions.h"
#include "wet/model/names.h"
#include <wetdbg/errors.h>

/* ---- By name ----------------------------------------------------------------------------- */

struct search {
    struct mdl_name_pattern pattern;
    struct wetdbg_function *functions;
    size_t count;
};

/* Adds the function that starts at a name's address, once. */
static int add_named(struct search *search, struct mdl_mod *mod,
                     const struct mdl_function_name *name)
{
    uint32_t index = mdl_functions_find(mod->functions, name->start);
    struct wetdbg_function function, *grown;

    if (index == MDL_NO_FUNCTION)
        return 0;
    for (size_t i = 0; i < search->count; i++)
        if (search->functions[i].start == name->start)
            return 0; /* .symtab and .dynsym both have it, or it is an alias */
    mdl_function_fill(mod, &mod->functions->entries[index], &function);
    function.start = name->start;
    function.linkage_name = name->name;
    function.name = mdl_name_demangle(mod->model, name->name, MDL_NAME_PLAIN);
    grown = function.name
                ? reallocarray(search->functions, search->count + 1, sizeof(*search->functions))
                : NULL;
    if (!grown)
        return -ENOMEM;
    search->functions = grown;
    grown[search->count++] = function;
    return 0;
}

static int add_exact(struct search *search, struct mdl_mod *mod)
{
    struct mdl_functions *table;
    size_t first, end;
    int result = mdl_functions_get(mod, &table);

    if (result < 0)
        return result;
    mdl_functions_by_name(table, search->pattern.typed, &first, &end);
    for (; result == 0 && first < end; first++)
        result = add_named(search, mod, &table->names[first]);
    return result;
}

/* C's copies of a function: "f.constprop.0". */
static bool is_copy(const char *name, const char *typed)
{
    size_t length = strlen(typed);

    if (strncmp(name, typed, length) != 0 || name[length] != '.')
        return false;
    name += length;
    return strncmp(name, ".constprop", 10) == 0 || strncmp(name, ".isra", 5) == 0 ||
           strncmp(name, ".lto_priv", 9) == 0;
}

/* Go's names are not mangled: "main.(*account).add" for "add" and "(*account).add". */
static bool is_end_of_go_name(const char *name, const char *typed)
{
    size_t length = strlen(name), typed_length = strlen(typed);

    return typed_length && length > typed_length && name[length - typed_length - 1] == '.' &&
           strcmp(name + length - typed_length, typed) == 0;
}

/* 1 if a linker's name matches what was typed; 0; -ENOMEM. */
static int matches_loosely(struct search *search, struct mdl_mod *mod, const char *name)
{
    if (is_copy(name, search->pattern.typed) && !strstr(name, ".cold"))
        return 1;
    if (mdl_name_is_mangled(name))
        return strchr(name, '@') || strstr(name, ".cold") || strstr(name, ".part.")
                   ? 0
                   : mdl_name_pattern_matches(mod->model, &search->pattern, name);
    return mod->functions->is_go && is_end_of_go_name(name, search->pattern.typed);
}

static int compare_starts_of_functions(const void *left, const void *right)
{
    const struct wetdbg_function *a = left, *b = right;

    return a->start < b->start ? -1 : a->start > b->start;
}

static int add_loose(struct search *search, struct mdl_mod *mod)
{
    const struct mdl_functions *table = mod->functions;
    size_t before = search->count;
    int result = 0;

    for (size_t i = 0; result == 0 && i < table->name_count; i++) {
        result = matches_loosely(search, mod, table->names[i].name);
        if (result > 0)
            result = add_named(search, mod, &table->names[i]);
    }
    if (search->count > before)
        qsort(search->functions + before, search->count - before, sizeof(*search->functions),
              compare_starts_of_functions);
    return result;
}

static int search_named(struct wetdbg_model *model, const char *name, struct search *found)
{
    struct search search = {0};
    int result = mdl_name_pattern_init(&search.pattern, name);

    for (size_t i = 0; result == 0 && i < model->mod_count; i++)
        result = add_exact(&search, model->mods[i]);
    for (size_t i = 0; result == 0 && i < model->mod_count; i++)
        result = add_loose(&search, model->mods[i]);
    mdl_name_pattern_fini(&search.pattern);
    if (result < 0)
        free(search.functions);
    else
        *found = search;
    return result;
}

/* The offset behind the last '+' of a text. */
static bool read_offset(const char *plus, uint64_t *offset)
{
    char *end;

    if (!plus || plus[1] < '0' || plus[1] > '9')
        return false;
    errno = 0;
    *offset = strtoull(plus + 1, &end, 0);
    return !errno && !*end;
}

static bool find_in_module(const struct wetdbg_model *model, const char *text, size_t length,
                           uint64_t offset, uint64_t *address)
{
    for (size_t i = 0; i < model->mod_count; i++) {
        const struct wetdbg_module *info = &model->mods[i]->info;
        if (strncmp(info->name, text, length) != 0 || info->name[length])
            continue;
        *address = info->bias + offset;
        if (*address >= info->start && *address < info->end)
            return true;
    }
    return false;
}

/* In the first function of that name: 0, -WETDBG_ERR_NOT_FOUND, -ENOMEM. */
static int find_in_function(struct wetdbg_model *model, const char *text, size_t length,
                            uint64_t offset, uint64_t *address)
{
    struct search search = {0};
    char *name = strndup(text, length);
    int result = name ? search_named(model, name, &search) : -ENOMEM;
    bool is_there =
        !result && search.count && offset < search.functions[0].end - search.functions[0].start;

    if (is_there)
        *address = search.functions[0].start + offset;
    free(search.functions);
    free(name);
    return result < 0 || is_there ? result : wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
}

int wetdbg_address_named(struct wetdbg_model *model, const char *text, uint64_t *address)
{
    const char *plus = strrchr(text, '+');
    uint64_t offset;

    if (plus == text || !read_offset(plus, &offset))
        return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
    size_t length = (size_t)(plus - text);
    if (plus[1] == '0' && find_in_module(model, text, length, offset, address))
        return 0;
    return find_in_function(model, text, length, offset, address);
}

/* A function without a name goes by where it begins. */
static int add_nameless(struct search *search, struct wetdbg_model *model, const char *text)
{
    struct wetdbg_function function;
    uint64_t address;
    int result = wetdbg_address_named(model, text, &address);

    if (result)
        return result == -WETDBG_ERR_NOT_FOUND ? 0 : result;
    if (wetdbg_function_at(model, address, &function) != 0 || function.start != address)
        return 0;
    search->functions = malloc(sizeof(*search->functions));
    if (!search->functions)
        return -ENOMEM;
    search->functions[search->count++] = function;
    return 0;
}

int wetdbg_functions_named(struct wetdbg_model *model, const char *name,
                           struct wetdbg_function **functions, size_t *count)
{
    struct search search = {0};
    int result = search_named(model, name, &search);

    if (result == 0 && search.count == 0)
        result = add_nameless(&search, model, name);
    if (result == 0 && search.count == 0)
        result = wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no function named \"%s\"", name);
    if (result < 0) {
        free(search.functions);
        return result;
    }
    *functions = search.functions;
    *count = search.count;
    return 0;
}

/* ---- Enumerating ------------------------------------------------------------------------- */

static int compare_starts(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;

    return *a < *b ? -1 : *a > *b;
}

/* Whether the name matches, mangled or demangled: 1, 0 or -ENOMEM. */
static int matches(struct wetdbg_model *model, const regex_t *regex, const char *name)
{
    const char *full;

    if (!regex || regexec(regex, name, 0, NULL, 0) == 0)
        return 1;
    full = mdl_name_demangle(model, name, MDL_NAME_FULL);
    if (!full)
        return -ENOMEM;
    return full != name && regexec(regex, full, 0, NULL, 0) == 0;
}

/* Starts of all functions with a matching name, sorted; aliases count. The caller frees them, also
 * on failure. */
static int matching_starts(struct wetdbg_model *model, const struct mdl_functions *table,
                           const regex_t *regex, uint64_t **starts, size_t *count)
{
    int found = 0;

    *count = 0;
    *starts = calloc(table->name_count + table->count + 1, sizeof(**starts));
    if (!*starts)
        return -ENOMEM;
    for (size_t i = 0; found >= 0 && i < table->name_count; i++)
        if ((found = matches(model, regex, table->names[i].name)) > 0)
            (*starts)[(*count)++] = table->names[i].start;
    for (size_t i = 0; found >= 0 && i < table->count; i++)
        if (table->entries[i].flags & WETDBG_FUNCTION_SYMBOL)
            continue;
        else if ((found = matches(model, regex, table->entries[i].name)) > 0)
            (*starts)[(*count)++] = table->entries[i].start;
    if (found < 0)
        return found;
    qsort(*starts, *count, sizeof(**starts), compare_starts);
    return 0;
}

static int each_in(struct mdl_mod *mod, const regex_t *regex, wetdbg_function_fn fn, void *context)
{
    struct mdl_functions *table;
    uint64_t *starts = NULL;
    size_t count = 0;
    int result = mdl_functions_get(mod, &table);

    if (result == 0)
        result = matching_starts(mod->model, table, regex, &starts, &count);
    for (size_t i = 0; result == 0 && i < count; i++) {
        uint32_t index = mdl_functions_find(table, starts[i]);
        struct wetdbg_function function;

        if ((i > 0 && starts[i] == starts[i - 1]) || index == MDL_NO_FUNCTION ||
            table->entries[index].start != starts[i])
            continue;
        mdl_function_fill(mod, &table->entries[index], &function);
        result = fn(context, &function);
    }
    free(starts);
    return result;
}

int wetdbg_functions_each(struct wetdbg_model *model, const char *regex, wetdbg_function_fn fn,
                          void *context)
{
    regex_t compiled;
    int result = regex ? mdl_name_regex(regex, &compiled) : 0;

    if (result < 0)
        return result;
    for (size_t i = 0; result == 0 && i < model->mod_count; i++)
        result = each_in(model->mods[i], regex ? &compiled : NULL, fn, context);
    if (regex)
        regfree(&compiled);
    return result;
}
