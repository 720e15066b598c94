/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Running programs with their output in files, for the suites of this folder. */
#ifndef TESTS_RECORD_SPAWN_H
#define TESTS_RECORD_SPAWN_H

#include <stddef.h>

/* A variable for the program; value NULL unsets it. */
struct spawn_env {
    const char *name, *value;
};

struct spawn_result {
    int status; /* a wait status; -1: it took longer than SPAWN_SECONDS_MAX and was killed */
    char *out;  /* zero-terminated */
    char *err;
    size_t out_bytes;
};

#define SPAWN_SECONDS_MAX 90

/* `env` ends with a NULL name, or is NULL. Asserts (cmocka) that spawning itself works. */
struct spawn_result spawn(const char *const argv[], const struct spawn_env *env);

void spawn_result_fini(struct spawn_result *result);

/* A fresh directory, and its removal with all that is in it. */
char *scratch_new(void);
void scratch_free(char *dir);

/* The whole file, zero-terminated, to be freed; NULL if it cannot be read. */
char *slurp(const char *path, size_t *bytes);

#endif
