/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is kept of source files that were shown. */
#ifndef WET_MODEL_SOURCE_H
#define WET_MODEL_SOURCE_H

struct mdl_sources;

/* NULL is fine. */
void mdl_sources_free(struct mdl_sources *sources);

#endif
