/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Life of a model: what its files made of it is freed here. */
#include <stdlib.h>

#include "wet/model/call_sites.h"
#include "wet/model/cfi.h"
#include "wet/model/functions.h"
#include "wet/model/globals.h"
#include "wet/model/graph.h"
#include "wet/model/make_model.h"
#include "wet/model/module.h"
#include "wet/model/qualify.h"
#include "wet/model/source.h"
#include "wet/model/types.h"

struct wetdbg_model *mdl_new(void)
{
    elf_version(EV_CURRENT);
    return calloc(1, sizeof(struct wetdbg_model));
}

static void mod_free(struct mdl_mod *mod)
{
    mdl_graphs_free(mod->graphs);
    mdl_functions_free(mod->functions);
    if (mod->units) {
        mdl_globals_free(mod->units->globals);
        mdl_qualifiers_free(mod->units->qualifiers);
        for (size_t i = 0; i < mod->units->count; i++)
            mdl_call_sites_free(mod->units->units[i].call_sites);
    }
    mdl_units_free(mod->units);
    mdl_cfi_free(mod->cfi);
    mdl_mod_free(mod);
}

void mdl_free(struct wetdbg_model *model)
{
    if (!model)
        return;
    for (size_t i = 0; i < model->mod_count; i++)
        mod_free(model->mods[i]);
    free(model->mods);
    free(model->spans);
    mdl_handles_free(&model->handles);
    mdl_sources_free(model->sources);
    mdl_strings_fini(&model->strings);
    free(model);
}
