/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /proc/PID/maps as rr before 5.9 understands it. */
#ifndef RECORDER_TICKS_MAPS_H
#define RECORDER_TICKS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

bool tck_maps_is_path(const char *path);

/*
 * Joins the line of [vvar_vclock], which kernels from 6.13 on have, to that of [vvar] before it
 * if the two touch: rr unmaps what is called [vvar] and stumbles over the rest. Works in place on
 * `text` (zero-terminated); returns the new length.
 */
size_t tck_maps_join_vvar(char *text);

/* Opens `path` for reading, joined; NULL with errno like fopen. */
FILE *tck_maps_open(const char *path);

#endif
