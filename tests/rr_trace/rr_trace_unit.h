/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cmocka with what it wants included before it, in that order. */
#ifndef TESTS_RR_TRACE_RR_TRACE_UNIT_H
#define TESTS_RR_TRACE_RR_TRACE_UNIT_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#endif
