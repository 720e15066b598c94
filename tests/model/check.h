/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cmocka, behind the headers that it wants to have been included before it. */
#ifndef TESTS_MODEL_CHECK_H
#define TESTS_MODEL_CHECK_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#endif
