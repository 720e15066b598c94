/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The wall: looks at addresses before the program uses them. */
#ifndef RECORDER_DBI_WALL_H
#define RECORDER_DBI_WALL_H

#include "recorder/dbi/work.h"

/* Looks, before instruction `at`, at the addresses that it will use. */
void dbi_wall_look(struct work *w, unsigned at);

/* Settles what is still known of registers behind instruction `at`. */
void dbi_wall_pass(struct work *w, unsigned at);

#endif
