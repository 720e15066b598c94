/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes in JSON that are no text (RFC 4648, section 4). */
#ifndef DBGCLI_VERBS_BASE64_H
#define DBGCLI_VERBS_BASE64_H

#include <jansson.h>
#include <stddef.h>

/* A JSON string; dies where memory is short. */
json_t *cli_json_base64(const void *bytes, size_t size);

#endif
