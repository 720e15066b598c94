/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cmocka, after what it needs but does not include. */
#ifndef TESTS_CLI_UNIT_H
#define TESTS_CLI_UNIT_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#endif
