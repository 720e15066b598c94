/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ddmin as the paper prints it (TSE 2002, figure 5): what ours is measured against. */
#ifndef TESTS_DELTA_PLAIN_DDMIN_H
#define TESTS_DELTA_PLAIN_DDMIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the kept elements (one byte each) fail. Called once for each test. */
typedef bool (*plain_fails_fn)(void *arg, const uint8_t *kept, size_t count);

/* Clears what can go of `kept`, all of which is set at first and fails. */
void plain_ddmin(plain_fails_fn fails, void *arg, uint8_t *kept, size_t count);

#endif
