/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cmocka with what it wants to see first, which sorted includes would put behind it. */
#ifndef TESTS_RECORD_UNIT_H
#define TESTS_RECORD_UNIT_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#endif
