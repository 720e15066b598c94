/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef WET_QUERY_FINGERPRINT_H
#define WET_QUERY_FINGERPRINT_H

#include <stddef.h>

/* What a file was built from (struct wet_build_options), without opening it for queries. Errors
 * are those of wet_open. */
int wet_fingerprint_read(const char *path, char *out, size_t size);

#endif
