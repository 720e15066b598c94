/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which functions lie between a call and the function that runs. All ways are tried that the tail
 * calls of the functions concerned allow, each call site once on a way. What the first ways have in
 * common at their beginning and at their end is sure.
 */
#include "wet/model/tail_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX     2000 /* of a search; most take two */
#define FUNCTIONS_MAX 64

/* The tail calls of the function that begins at `entry`: from `from` on the next one; NULL after
 * the last. *is_known is false if no debug information tells of the function. */
static const struct mdl_call_site *next_tail(struct wetdbg_model *model, uint64_t entry,
                                             const struct mdl_call_site *from, bool *is_known)
{
    struct mdl_mod *mod = mdl_mod_at(model, entry);
    struct mdl_unit *unit = NULL;
    const struct mdl_call_sites *sites;
    uint32_t scope;

    *is_known = mod && mdl_scope_at(mod, entry, &unit, &scope) == 0 && unit &&
                scope != MDL_NO_SCOPE && mdl_function_entry(model, entry) == entry &&
                mdl_call_sites_get(unit, &sites) == 0;
    if (!*is_known)
        return NULL;
    for (const struct mdl_call_site *site = from ? from + 1 : sites->items;
         site < sites->items + sites->count; site++)
        if (site->is_tail && site->function == entry)
            return site;
    return NULL;
}

/* ---- Ways -------------------------------------------------------------------------------- */

struct way {
    const struct mdl_call_site *sites[MDL_TAIL_CALLS_MAX];
    size_t length;
};

/* What the ways found so far have in common. */
struct common {
    struct way way; /* the first one */
    size_t callers, callees;
    bool is_set;
};

/* false if that leaves nothing. */
static bool take_way(struct common *common, const struct way *way)
{
    size_t length = common->way.length, most;

    if (!common->is_set) {
        *common = (struct common){*way, way->length, way->length, true};
        return true;
    }
    most = common->callers < way->length ? common->callers : way->length;
    for (common->callers = 0; common->callers < most; common->callers++)
        if (way->sites[common->callers] != common->way.sites[common->callers])
            break;
    most = common->callees < way->length ? common->callees : way->length;
    for (common->callees = 0; common->callees < most; common->callees++)
        if (way->sites[way->length - 1 - common->callees] !=
            common->way.sites[length - 1 - common->callees])
            break;
    return common->callers || common->callees;
}

static bool is_on_way(const struct way *way, const struct mdl_call_site *site)
{
    for (size_t i = 0; i < way->length; i++)
        if (way->sites[i] == site)
            return true;
    return false;
}

/* The next call site to try: of the function that the last one leads to, or, going back, beside
 * it. false if the search is over. */
static bool go_on(struct wetdbg_model *model, struct way *way, const struct mdl_call_site *next)
{
    bool is_known;

    for (;;) {
        while (next && is_on_way(way, next))
            next = next_tail(model, next->function, next, &is_known);
        if (next && way->length < MDL_TAIL_CALLS_MAX) {
            way->sites[way->length++] = next;
            return true;
        }
        if (way->length == 0)
            return false;
        next = way->sites[--way->length];
        next = next_tail(model, next->function, next, &is_known);
    }
}

/* false if nothing is sure. */
static bool find_ways(struct wetdbg_model *model, const struct mdl_call_site *from, uint64_t callee,
                      struct common *common)
{
    struct way way = {.length = 0};

    for (unsigned steps = 0; steps < STEPS_MAX; steps++) {
        const struct mdl_call_site *at = way.length ? way.sites[way.length - 1] : from;
        const struct mdl_call_site *next = NULL;
        uint64_t target = mdl_call_target(at);
        bool is_known = true;

        if (target == 0)
            return false;
        if (target == callee && !take_way(common, &way))
            return false;
        if (target != callee)
            next = next_tail(model, target, NULL, &is_known);
        if (!is_known)
            return false;
        if (!go_on(model, &way, next))
            return common->is_set;
    }
    return false;
}

int mdl_tail_calls(struct wetdbg_model *model, uint64_t return_pc, uint64_t callee,
                   uint64_t pcs[MDL_TAIL_CALLS_MAX], size_t *count)
{
    const struct mdl_call_site *from = mdl_call_site_at(model, return_pc);
    struct common *common;

    *count = 0;
    if (!from)
        return 0;
    common = calloc(1, sizeof(*common));
    if (!common)
        return -ENOMEM;
    if (find_ways(model, from, callee, common)) {
        for (size_t i = 0; i < common->callees; i++)
            pcs[(*count)++] = common->way.sites[common->way.length - 1 - i]->return_pc;
        if (common->callees < common->way.length)
            for (size_t i = common->callers; i-- > 0 && *count < MDL_TAIL_CALLS_MAX;)
                pcs[(*count)++] = common->way.sites[i]->return_pc;
    }
    free(common);
    return 0;
}

/* ---- Coming back ------------------------------------------------------------------------- */

bool mdl_is_entered_once(struct wetdbg_model *model, uint64_t entry)
{
    uint64_t functions[FUNCTIONS_MAX] = {entry};
    size_t count = 1;

    for (size_t i = 0; i < count; i++) {
        const struct mdl_call_site *site = NULL;
        bool is_known;

        while ((site = next_tail(model, functions[i], site, &is_known)) != NULL) {
            uint64_t target = mdl_call_target(site);
            size_t known = 0;

            while (known < count && functions[known] != target)
                known++;
            if (target == 0 || target == entry || (known == count && count == FUNCTIONS_MAX))
                return false;
            if (known == count)
                functions[count++] = target;
        }
        if (!is_known)
            return false;
    }
    return true;
}
