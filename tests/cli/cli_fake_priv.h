/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where things are in the run that never was: what its parts have in common. */
#ifndef TESTS_CLI_FAKE_PRIV_H
#define TESTS_CLI_FAKE_PRIV_H

#include "tests/cli/cli_fake_run.h"

#define INSTRUCTIONS 1000
#define HELPER_TIME  993
#define MAIN_PC      0x1000u /* 16 bytes a line, from line 10 */
#define HELPER_PC    0x2000u /* line 30 */
#define FOREIGN_PC   0x5000u /* in libforeign.so, without lines */
#define MEMORY       0x7000u

/* The model's, which are compared as pointers. */
extern const char fake_main_file[], fake_helper_file[];

#endif
