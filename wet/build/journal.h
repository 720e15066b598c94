/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an unfinished .wet file's builder knew, interval by interval: a list of records beside the
 * part file, each checksummed, that only grows at its end.
 *
 *   PATH.part-log:  record 0: what is built, and from where
 *                   record n: interval n - 1 is complete
 *   record:         u64 stored_bytes | u64 xxh64 (seed: the record's number) | a zstd frame
 */
#ifndef WET_BUILD_JOURNAL_H
#define WET_BUILD_JOURNAL_H

#include <stdbool.h>

#include "common/buf.h"

struct wet_journal;

/* Opens the journal of the file that is to become `path`, which the caller has locked, or makes an
 * empty one. Records behind a damaged one are none. -ENOMEM, -errno; -EPERM if it is not this
 * user's own (wetdbg/own_file.h). */
int wet_journal_open(const char *path, struct wet_journal **out);

size_t wet_journal_count(const struct wet_journal *journal);

/* Whether nothing of what was in the file is a record. */
bool wet_journal_is_damaged(const struct wet_journal *journal);

/* Decompresses a record. -WETDBG_ERR_CORRUPT. */
int wet_journal_read(const struct wet_journal *journal, size_t n, struct wd_buf *out);

/* Forgets all records from number `count` on. */
int wet_journal_cut(struct wet_journal *journal, size_t count);

int wet_journal_append(struct wet_journal *journal, const void *bytes, size_t size_bytes);

void wet_journal_flush(const struct wet_journal *journal); /* to the disk */

/* Ends the journal; the file stays, or goes. NULL is fine. */
void wet_journal_keep(struct wet_journal *journal);
void wet_journal_remove(struct wet_journal *journal);

#endif
