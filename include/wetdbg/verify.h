/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether a .wet file is what docs/format.md says: header and table, every section's checksum and
 * compression, every record, and what sections say about each other. Unlike wetdbg_open(), which
 * checks what it reads and only enough to be safe, this reads everything and tells all that it
 * finds.
 */
#ifndef WETDBG_VERIFY_H
#define WETDBG_VERIFY_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include <wetdbg/api.h>

WETDBG_BEGIN

#define WETDBG_VERIFY_MOST 20

/* What is wrong in one section, or, with kind 0, in the file. */
struct wetdbg_violation {
    uint32_t kind;
    const char *section; /* "LINES"; "file" for kind 0 */
    uint64_t key;
    uint64_t off; /* in the section's raw bytes; for kind 0 in the file */
    char what[240];
};

struct wetdbg_verify_options {
    bool deep;             /* run every interval again too */
    uint64_t memory_bytes; /* for that, as wetdbg_set_memory(); 0: nothing is said */
    const volatile sig_atomic_t *interrupted; /* may be NULL */
    /* Told of each violation, of WETDBG_VERIFY_MOST at most. */
    void (*found)(void *arg, const struct wetdbg_violation *violation);
    /* Told now and then; may be NULL. `done` of `total` are bytes, with `deep` instructions too. */
    void (*progress)(void *arg, uint64_t done, uint64_t total, uint64_t instructions);
    void *arg;
};

struct wetdbg_verify_result {
    uint64_t bytes, sections, intervals, instructions;
    uint64_t violations; /* 0: sound. No more are looked for after WETDBG_VERIFY_MOST. */
};

/*
 * 0 if the file could be read, whatever was found; else an error with its sentence: what is no .wet
 * file, or has a damaged header or table (-WETDBG_ERR_CORRUPT), another version
 * (-WETDBG_ERR_VERSION), what needs another processor to be run again (-WETDBG_ERR_UNSUPPORTED,
 * `deep` only), an interruption, a file that cannot be read.
 */
int wetdbg_verify(const char *path, const struct wetdbg_verify_options *options,
                  struct wetdbg_verify_result *result);

WETDBG_END

#endif
