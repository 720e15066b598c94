/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether two builds of a recording came to the same. */
#ifndef TESTS_WET_WET_SAME_H
#define TESTS_WET_WET_SAME_H

/* Fails with the first section that differs, or with the first byte. */
void same_file(const char *path, const char *wanted);

/* What can be asked of META. */
void same_facts(const char *path, const char *wanted);

#endif
