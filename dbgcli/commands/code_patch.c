/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/code_patch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/hexadecimal.h"
#include <wetdbg/errors.h>

#define PREFIX "code:"

bool cli_is_code_patch(const char *text)
{
    return !strncmp(text, PREFIX, strlen(PREFIX));
}

/* Two digits for each byte. Their number, and the text behind them. */
static size_t bytes_parse(const char **text, uint8_t *bytes, size_t room)
{
    size_t count = 0;
    while (cli_hex_digit((*text)[0]) >= 0 && cli_hex_digit((*text)[1]) >= 0 && count < room) {
        bytes[count++] = (uint8_t)(cli_hex_digit((*text)[0]) << 4 | cli_hex_digit((*text)[1]));
        *text += 2;
    }
    return count;
}

/* ADDRESS=BYTES */
static int patch_parse(const char **text, uint64_t *address, uint64_t *size, uint8_t *bytes,
                       size_t room)
{
    const char *begin = *text;
    char *end = NULL;
    errno = 0;
    *address = strtoull(begin, &end, 0);
    if (errno || end == begin || *begin == '-' || *end != '=')
        return wetdbg_fail(-WETDBG_ERR_USAGE, "what-if: '%s' is no ADDRESS=BYTES", begin);
    *text = end + 1;
    *size = bytes_parse(text, bytes, room);
    if (*size && (!**text || **text == ',' || **text == '@'))
        return 0;
    return wetdbg_fail(-WETDBG_ERR_USAGE,
                       "what-if: '%s' is not 1 to %zu bytes of two hexadecimal digits", end + 1,
                       room);
}

int cli_code_patch_parse(const char *text, struct wetdbg_change *change, const char **at)
{
    struct wetdbg_change_more *more = &change->more;
    *change = (struct wetdbg_change){.kind = WETDBG_CHANGE_VALUE};
    text += strlen(PREFIX);
    int err =
        patch_parse(&text, &change->address, &change->size, change->bytes, sizeof(change->bytes));
    if (!err && *text == ',') {
        text++;
        err = patch_parse(&text, &more->address, &more->size, more->bytes, sizeof(more->bytes));
    }
    if (!err && *text == ',')
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "what-if: code is changed at two places at most");
    *at = text;
    return err;
}
