/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cmocka with what it needs, small helpers, and store files taken apart, for this folder. */
#ifndef TESTS_WET_WET_UNIT_H
#define TESTS_WET_WET_UNIT_H

#include <stdbool.h>

#include "tests/record/unit.h"
#include "wet/store/store.h"

/* xorshift: the same sequence everywhere for the same seed (not 0). */
uint64_t unit_random(uint64_t *seed);

/* A seed for this run: $WETDBG_SEED or from the clock. Printed, so that a failure can be had
 * again. */
uint64_t unit_seed(const char *what);

/* Writes the whole file. */
void unit_write(const char *path, const void *bytes, size_t size_bytes);

/* dir/name, for the caller to free. */
char *unit_path(const char *dir, const char *name);

/* Names in `dir` that contain `part`. */
unsigned unit_count_names(const char *dir, const char *part);

/* Changes bytes here and there, or their number, as damage and forgers do: numbers that are too
 * large, flipped bits, an end that is missing. Starts of structures more often than their ends. */
void unit_bytes_change(struct wd_buf *bytes, uint64_t *seed);

/* A .wet file taken apart: its sections, decompressed. */
struct unit_section {
    uint32_t kind;
    uint64_t key;
    struct wd_buf bytes;
};

struct unit_sections {
    struct unit_section *list;
    size_t count;
};

void unit_sections_load(struct unit_sections *sections, const char *path);
void unit_sections_fini(struct unit_sections *sections);
struct unit_section *unit_section_find(struct unit_sections *sections, uint32_t kind, uint64_t key);

/* Writes a file with correct checksums; without section `left_out` (an index; SIZE_MAX: with
 * all). */
void unit_sections_store(const struct unit_sections *sections, const char *path, size_t left_out);

#endif
