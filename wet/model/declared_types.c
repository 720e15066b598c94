/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The types that are declared outside functions, one by one. */
#include <dwarf.h>
#include <errno.h>

#include "wet/model/globals.h"
#include "wet/model/names.h"
#include "wet/model/qualify.h"
#include "wet/model/types.h"
#include <wetdbg/errors.h>

struct walk {
    struct mdl_mod *mod;
    const regex_t *regex; /* NULL: all */
    wetdbg_declared_type_fn fn;
    void *context;
};

/* Basic types are declared nowhere: they count to their unit's main file. */
static const char *file_of(struct mdl_mod *mod, uint32_t unit, Dwarf_Die *die)
{
    Dwarf_Die *root = &mod->units->units[unit].die;
    const char *path = mdl_die_file(mod, die);

    if (path || dwarf_tag(die) != DW_TAG_base_type)
        return path;
    path = dwarf_diename(root);
    return path ? mdl_unit_file(mod->model, root, path) : NULL;
}

static int show(const struct walk *walk, const struct mdl_global *item)
{
    struct wetdbg_declared_type type = {.module = walk->mod->info.id};
    Dwarf_Die die = item->die;
    int line = 0, result = 0;
    bool is_basic = dwarf_tag(&die) == DW_TAG_base_type;

    /* compilers call a basic type "long unsigned int", people "unsigned long" */
    if (is_basic)
        result = mdl_type_of_die(walk->mod, &die, &type.type);
    type.name = is_basic ? type.type.name : mdl_die_qualified(walk->mod, &die, item->name);
    if (result || (walk->regex && regexec(walk->regex, type.name, 0, NULL, 0) != 0))
        return result;
    type.is_typedef = dwarf_tag(&die) == DW_TAG_typedef;
    type.language = mdl_die_language(walk->mod, &die);
    type.file = file_of(walk->mod, item->unit, &die);
    if (dwarf_decl_line(&die, &line) == 0 && line > 0)
        type.line = (uint32_t)line;
    if (!is_basic)
        result = mdl_type_of_die(walk->mod, &die, &type.type);
    if (result == 0 && type.is_typedef)
        result = mdl_type_of(walk->mod, &die, &type.target);
    return result ? result : walk->fn(walk->context, &type);
}

static int each_in(const struct walk *walk)
{
    const struct mdl_globals *globals;
    int result = mdl_globals_get(walk->mod, &globals);

    for (size_t i = 0; !result && i < globals->type_count; i++)
        result = show(walk, &globals->types[i]);
    return result;
}

int wetdbg_types_each(struct wetdbg_model *model, const char *regex, wetdbg_declared_type_fn fn,
                      void *context)
{
    struct walk walk = {.fn = fn, .context = context};
    regex_t compiled;
    int result = regex ? mdl_name_regex(regex, &compiled) : 0;

    if (result < 0)
        return result;
    walk.regex = regex ? &compiled : NULL;
    for (size_t i = 0; !result && i < model->mod_count; i++) {
        walk.mod = model->mods[i];
        result = each_in(&walk);
    }
    if (regex)
        regfree(&compiled);
    return result;
}
