/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arrays that grow, for the stand-ins of this folder. */
#ifndef TESTS_SLICER_VEC_H
#define TESTS_SLICER_VEC_H

#include <stdlib.h>

/* A growing array; the tests may die loudly. */
#define VEC(type)                                                                                  \
    struct {                                                                                       \
        type *at;                                                                                  \
        size_t count, capacity;                                                                    \
    }
#define PUSH(vec, ...)                                                                             \
    do {                                                                                           \
        if ((vec).count == (vec).capacity) {                                                       \
            (vec).capacity = (vec).capacity ? (vec).capacity * 2 : 1024;                           \
            (vec).at = realloc((vec).at, (vec).capacity * sizeof(*(vec).at));                      \
            if (!(vec).at)                                                                         \
                abort();                                                                           \
        }                                                                                          \
        (vec).at[(vec).count++] = __VA_ARGS__;                                                     \
    } while (0)

#endif
