/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Interned strings that live as long as the model: file paths, made-up function names. */
#ifndef WET_MODEL_STRINGS_H
#define WET_MODEL_STRINGS_H

#include <stddef.h>
#include <stdint.h>

struct mdl_strings {
    char **slots; /* open addressing, power of two, at most half full */
    size_t slot_count;
    size_t count;
};

void mdl_strings_fini(struct mdl_strings *strings);

/* The one copy of a string: equal strings give equal pointers. NULL if memory is short. */
const char *mdl_strings_intern(struct mdl_strings *strings, const char *text, size_t length);
const char *mdl_strings_format(struct mdl_strings *strings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
