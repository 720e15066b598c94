/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cmocka.h wants these before it, in this order. */
#ifndef TESTS_FEED_FEED_UNIT_H
#define TESTS_FEED_FEED_UNIT_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#endif
