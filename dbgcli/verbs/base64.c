/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/base64.h"

#include <stdint.h>
#include <stdlib.h>

#include "dbgcli/alloc.h"
#include "dbgcli/out.h"

json_t *cli_json_base64(const void *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *from = bytes;
    char *text = cli_malloc(size / 3 * 4 + 5), *to = text;
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        uint32_t three = (uint32_t)from[i] << 16 | (left > 1 ? (uint32_t)from[i + 1] << 8 : 0) |
                         (left > 2 ? from[i + 2] : 0);
        *to++ = digits[three >> 18];
        *to++ = digits[three >> 12 & 63];
        *to++ = left > 1 ? digits[three >> 6 & 63] : '=';
        *to++ = left > 2 ? digits[three & 63] : '=';
    }
    *to = 0;
    json_t *string = cli_json_text(text);
    free(text);
    return string;
}
