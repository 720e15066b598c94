/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The .wet file as a container: numbered sections, each compressed and checksummed.
 *
 *   0   magic "WETDBG\r\n"    8   version u32, 0 u32     16  table offset u64, bytes u64
 *   32  table xxh64 u64       40  file bytes u64         48  xxh64 of bytes 0..47
 *   56  sections, back to back
 *   ..  table: per section struct wet_section (docs/format.md)
 *
 * A writer works on a temporary file beside the goal; only wet_store_commit() puts it in its
 * place, after fsync, so that whatever ends the writer leaves an older file as it was.
 */
#ifndef WET_STORE_STORE_H
#define WET_STORE_STORE_H

#include <stdbool.h>

#include "common/buf.h"
#include "wet/store/pack.h"

#define WET_STORE_VERSION 7

enum wet_section_kind {
    WET_SEC_META = 1, /* JSON */
    WET_SEC_CPU,
    WET_SEC_SPANS,
    WET_SEC_FILES,     /* table of mapped files */
    WET_SEC_FILE_DATA, /* key: file number */
    WET_SEC_DEBUG,     /* key: file number; separate debug file */
    WET_SEC_ALT,       /* key: file number; dwz's shared debug file */
    WET_SEC_NAMES,
    WET_SEC_NODES,
    WET_SEC_OBJECTS,
    WET_SEC_INDEX,
    WET_SEC_OUTPUTS,
    WET_SEC_THREADS,
    WET_SEC_TURNS,
    WET_SEC_AMBIGUOUS,
    WET_SEC_MEMORY, /* key: from 0; of a window */
    WET_SEC_JUMPS,
    WET_SEC_INPUT,      /* key: from 0; pieces of what standard input still held */
    WET_SEC_STATE = 32, /* key: interval, here and below */
    WET_SEC_ENTRIES,
    WET_SEC_COUNTS,
    WET_SEC_LINES,
};

struct wet_section {
    uint32_t kind; /* enum wet_section_kind */
    uint32_t form; /* enum wet_form */
    uint64_t key;
    uint64_t off;          /* in the file */
    uint64_t stored_bytes; /* codec.h */
    uint64_t raw_bytes;
    uint64_t hash; /* xxh64 of the stored bytes */
};

/* Kinds that hold nothing of the program's files and memory are no larger than either of these
 * allows. */
#define WET_TABLE_BYTES (16ull << 20)
#define WET_TABLE_RATIO 1024 /* raw_bytes to stored_bytes */

struct wet_store_writer;

/* Begins a file that is to become `path`, for its owner alone (0600). -WETDBG_ERR_USAGE if
 * something is there that is no regular file; other errors are those of the file system, named. */
int wet_store_create(const char *path, struct wet_store_writer **out);

/* Appends a section, compressed with an effort of `level` (codec.h). -ENOSPC and the like are
 * named. */
int wet_store_add(struct wet_store_writer *writer, uint32_t kind, uint64_t key, const void *bytes,
                  size_t size_bytes, int level);

/* Appends a section that somebody has packed. */
int wet_store_put(struct wet_store_writer *writer, const struct wet_packed *packed);

/* Writes table and header, syncs, renames. Frees the writer in any case. */
int wet_store_commit(struct wet_store_writer *writer);

/* Removes the temporary file; NULL is fine. */
void wet_store_abort(struct wet_store_writer *writer);

/* ---- a file that outlives its writer ----
 * It is PATH.part until it is committed, and locked while it has a writer. What is in it is for its
 * maker to know: there is no table yet. */

/* Opens the part file of `path`, or makes it. -EWOULDBLOCK without a message if that is not
 * possible, since another writer is at work, or for any other reason that wet_store_create may not
 * have; -EPERM, named, if what is there is not this user's own (wetdbg/own_file.h). */
int wet_store_create_part(const char *path, struct wet_store_writer **out);

/* Goes on behind these sections, the first ones that were written, and cuts off what follows.
 * -WETDBG_ERR_CORRUPT if they do not lie back to back. */
int wet_store_continue(struct wet_store_writer *writer, const struct wet_section *sections,
                       size_t count);

/* Reads a section that is there. -WETDBG_ERR_CORRUPT, named. */
int wet_store_reread(const struct wet_store_writer *writer, const struct wet_section *section,
                     struct wd_buf *out);

/* What has been written so far; borrowed until the next section. */
const struct wet_section *wet_store_table(const struct wet_store_writer *writer, size_t *count);

/* A file without a name, on the same file system, for the caller to close. -errno, named. */
int wet_store_scratch(const struct wet_store_writer *writer, int *fd);

void wet_store_flush(const struct wet_store_writer *writer); /* to the disk */

/* Ends the writer and leaves the file. NULL is fine. */
void wet_store_keep(struct wet_store_writer *writer);

struct wet_store;

/* Opens a file and checks header and table. -WETDBG_ERR_VERSION, -WETDBG_ERR_CORRUPT, -errno. */
int wet_store_open(const char *path, struct wet_store **out);
void wet_store_close(struct wet_store *store);

/* Decompresses a section into `out` (replacing what is there). -WETDBG_ERR_NOT_FOUND without a
 * message if there is none; -WETDBG_ERR_CORRUPT if it fails its checks. */
int wet_store_read(const struct wet_store *store, uint32_t kind, uint64_t key, struct wd_buf *out);

bool wet_store_has(const struct wet_store *store, uint32_t kind, uint64_t key);

/* How many bytes a section comes to when it is read; 0 if there is none. */
uint64_t wet_store_raw_bytes(const struct wet_store *store, uint32_t kind, uint64_t key);

/* All sections, by kind and key. */
const struct wet_section *wet_store_sections(const struct wet_store *store, size_t *count);

const char *wet_store_path(const struct wet_store *store);
uint64_t wet_store_size(const struct wet_store *store, uint64_t *static_bytes);

#endif
