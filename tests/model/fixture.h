/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loads ELF files into a model as if a process had them mapped, and asks other tools about them. */
#ifndef TESTS_MODEL_FIXTURE_H
#define TESTS_MODEL_FIXTURE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "wet/model/make_model.h"

/* The address that fixture_load() gives to a position independent file's virtual address 0. */
#define FIXTURE_BASE UINT64_C(0x555555554000)

/* Adds a file with segments as its program headers say. `base` is added to virtual addresses (pass
 * 0 for a file that is not position independent). Fails the test if that does not work. */
void fixture_add(struct wetdbg_model *model, const char *path, uint64_t base, int search_debug);

/* A model with just one file. */
struct wetdbg_model *fixture_load(const char *path, uint64_t base);

/* Segments of an ELF image; the caller frees. 0 if there are none (a damaged image). */
size_t fixture_segments(const void *data, size_t size, uint64_t base,
                        struct mdl_segment **segments);

/* Reads a whole file; the caller frees. Fails the test if it cannot. */
void *fixture_read(const char *path, size_t *size);

/* Runs a shell command and returns its output; the caller frees. Fails the test if the command
 * fails. */
char *fixture_run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes every third address of each function with line information to `list`, less `base`; closes
 * it. How many there are. */
unsigned fixture_put_addresses(struct wetdbg_model *model, uint64_t base, FILE *list);

/* A model of code that no file has, mapped at FIXTURE_GENERATED with `size` bytes of address space.
 * The code stays the caller's until mdl_free(). */
#define FIXTURE_GENERATED 0x10000
struct wetdbg_model *fixture_generated(const uint8_t *code, size_t code_bytes, uint64_t size);

/* The entry of a function that must exist. */
uint64_t fixture_function(struct wetdbg_model *model, const char *name);

/* Address where a line starts: the only breakpoint location. */
uint64_t fixture_line(struct wetdbg_model *model, const char *file, uint32_t line);

/* The line number on which a source file has a marker text (once). */
uint32_t fixture_marker(const char *file, const char *marker);

#endif
