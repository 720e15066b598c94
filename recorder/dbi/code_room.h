/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory for what is kept as long as the code cache, and huge pages for translated code. */
#ifndef RECORDER_DBI_CODE_ROOM_H
#define RECORDER_DBI_CODE_ROOM_H

#include <stddef.h>
#include <stdint.h>

struct dbi;

/* Zeroed memory that stays until dbi_free(); NULL if there is none. For 8-byte alignment. */
void *dbi_room_get(struct dbi *dbi, size_t bytes);
void dbi_room_free(struct dbi *dbi);

/*
 * Puts a part of a region that begins at `part` and of which `used` bytes are used on huge pages,
 * from its second one on. *upto is what was done so far. Where it cannot be done nothing is
 * different.
 */
void dbi_room_settle(uint8_t *part, size_t used, size_t *upto);

#endif
