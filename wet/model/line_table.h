/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Walking the line tables of all modules for one file. */
#ifndef WET_MODEL_LINE_TABLE_H
#define WET_MODEL_LINE_TABLE_H

#include "wet/model/paths.h"
#include "wet/model/units.h"

/* Called for each unit of each module, its lines loaded. Nonzero stops. Modules whose debug
 * information does not contain the wanted file's name anywhere are left out (`match` NULL or of all
 * files: none). */
typedef int (*mdl_unit_fn)(void *context, struct mdl_unit *unit);
int mdl_units_each(struct wetdbg_model *model, const struct mdl_file_match *match, mdl_unit_fn fn,
                   void *context);

/* What a search for FILE:LINE saw besides: for the message when there is nothing. */
struct mdl_near {
    const char *file; /* one that matched, or NULL */
    uint32_t below;   /* nearest lines with code, 0 = none */
    uint32_t above;
};

void mdl_near_see(struct mdl_near *near, const struct mdl_row *row, uint32_t wanted);
int mdl_near_fail(const struct mdl_near *near, const char *file, uint32_t line);

#endif
