/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How text nests, as far as can be told without its grammar: by brackets, by the tags of XML, by
 * indentation. Inside of brackets statements end with a semicolon (or a closing brace), members are
 * parted by commas, else by lines, else by tokens. A comma goes with either of its neighbours, so
 * that what is left of a JSON array is one.
 */
#ifndef DELTA_NESTING_H
#define DELTA_NESTING_H

#include <wetdbg/delta.h>

/* The nodes of a text in bytes, parents first; for the caller to free. 0 or -ENOMEM. Any bytes will
 * do. */
int dlt_nesting_find(const uint8_t *bytes, size_t size, struct wetdbg_delta_node **nodes,
                     size_t *count);

#endif
