/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/memory_arg.h"

#include <string.h>

#include <wetdbg/errors.h>

/* Parses a size: digits, then K, M, G or nothing. */
static bool size_parse(const char *text, uint64_t *bytes)
{
    static const char units[] = "KMG";
    char digits[24];
    size_t length = strspn(text, "0123456789");
    const char *unit = text[length] ? strchr(units, text[length]) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if (!length || length >= sizeof(digits) || (text[length] && (!unit || text[length + 1])))
        return false;
    memcpy(digits, text, length);
    digits[length] = 0;
    if (!cli_number_parse(digits, bytes) || *bytes > UINT64_MAX >> shift)
        return false;
    *bytes <<= shift;
    return true;
}

int cli_size_parse(const struct cli_args *args, const char *option, uint64_t least, uint64_t *bytes)
{
    const char *text = cli_args_value(args, option);
    *bytes = 0;
    if (text && !least && !size_parse(text, bytes))
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "%s: option '--%s' needs a size, such as 500M or 0, not '%s'",
                           args->name, option, text);
    if (text && least && (!size_parse(text, bytes) || *bytes < least))
        return wetdbg_fail(
            -WETDBG_ERR_USAGE,
            "%s: option '--%s' needs a size of %uM or more, such as 500M or 4G, not '%s'",
            args->name, option, (unsigned)(least >> 20), text);
    return 0;
}

int cli_memory_parse(const struct cli_args *args, uint64_t *bytes)
{
    return cli_size_parse(args, "memory", 16u << 20, bytes);
}
