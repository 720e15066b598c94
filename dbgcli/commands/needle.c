/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/needle.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/hexadecimal.h"
#include <wetdbg/errors.h>

/* ---- what is looked for ---- */

static int fail_size(const char *text)
{
    return wetdbg_fail(-WETDBG_ERR_USAGE, "search: '%s' does not fit into that size", text);
}

/* Adds an integer in the sizes that it fits into, with or without a sign. */
static int add_integer(struct cli_needle *needle, const char *text, unsigned sizes)
{
    bool is_negative = *text == '-';
    uint64_t value;
    if (!cli_number_parse(text + is_negative, &value))
        return -ENOENT;
    if (is_negative)
        value = -value;
    needle->is_number = true;
    for (unsigned size = 1; size <= 8; size *= 2) {
        uint64_t mask = size == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * size) - 1;
        bool fits = is_negative ? (value | mask >> 1) == UINT64_MAX : (value & ~mask) == 0;
        if (!(sizes & size) || !fits)
            continue;
        needle->sizes |= size;
        needle->value[size] = value & mask;
    }
    return needle->sizes ? 0 : fail_size(text);
}

static int add_float(struct cli_needle *needle, const char *text, unsigned sizes)
{
    char *end;
    double wide = strtod(text, &end);
    float narrow = (float)wide;
    uint32_t narrow_bits;
    if (end == text || *end)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "search: '%s' is no number", text);
    needle->is_number = true;
    needle->sizes = sizes & (4 | 8);
    memcpy(&narrow_bits, &narrow, sizeof(narrow));
    needle->value[4] = narrow_bits;
    memcpy(&needle->value[8], &wide, sizeof(wide));
    return needle->sizes ? 0 : wetdbg_fail(-WETDBG_ERR_USAGE, "search: floats have 4 or 8 bytes");
}

static int add_bytes(struct cli_needle *needle, const void *bytes, size_t count)
{
    if (!count || count > sizeof(needle->bytes))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "search: between 1 and %d bytes can be looked for",
                           CLI_NEEDLE_BYTES_MAX);
    memcpy(needle->bytes, bytes, count);
    needle->byte_count = count;
    return 0;
}

/* Adds bytes from digits: "de ad be ef", "deadbeef". */
static int add_hex(struct cli_needle *needle, const char *text)
{
    uint8_t bytes[CLI_NEEDLE_BYTES_MAX];
    size_t digits = 0;
    unsigned value = 0;
    for (; *text && digits < 2 * sizeof(bytes); text++) {
        if (isspace((unsigned char)*text) && digits % 2 == 0)
            continue;
        int digit = cli_hex_digit(*text);
        if (digit < 0)
            break;
        value = value << 4 | (unsigned)digit;
        if (digits++ % 2)
            bytes[digits / 2 - 1] = (uint8_t)value;
    }
    if (*text || digits % 2)
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "search: bytes are pairs of hexadecimal digits: de ad be ef");
    return add_bytes(needle, bytes, digits / 2);
}

int cli_needle_parse(const struct cli_args *args, struct cli_needle *needle)
{
    const char *string = cli_args_value(args, "string"), *hex = cli_args_value(args, "bytes");
    const char *number = cli_args_value(args, "float");
    const char *word = args->operand_count ? args->operands[0] : NULL;
    uint64_t size;
    *needle = (struct cli_needle){.is_number = false};
    int err = cli_args_number(args, "size", 0, &size);
    if (err)
        return err;
    if (size > 8 || (size & (size - 1)))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "search: --size is 1, 2, 4 or 8");
    if (!string + !hex + !number + !word != 3)
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "search: what for? One of VALUE, --string, --bytes and --float");
    unsigned sizes = size ? (unsigned)size : 15;
    if (hex)
        return add_hex(needle, hex);
    if (number)
        return add_float(needle, number, sizes);
    if (word) {
        err = add_integer(needle, word, sizes);
        if (err != -ENOENT)
            return err;
        string = word;
    }
    return add_bytes(needle, string, strlen(string));
}

/* ---- whether it is there ---- */

static uint64_t load(const uint8_t *bytes, unsigned size)
{
    uint64_t value = 0;
    memcpy(&value, bytes, size);
    return value;
}

static bool is_new_number(const struct cli_needle *needle, const struct wetdbg_effect *effect,
                          uint64_t off, unsigned size)
{
    return load(effect->after + off, size) == needle->value[size] &&
           load(effect->before + off, size) != needle->value[size];
}

static int find_number(const struct cli_needle *needle, const struct wetdbg_effect *effect,
                       uint64_t *address, uint64_t *found_size)
{
    bool is_scalar = effect->pc && effect->size <= 8 && !(effect->size & (effect->size - 1));
    if (is_scalar) {
        *address = effect->address;
        *found_size = effect->size;
        return needle->sizes & effect->size &&
               is_new_number(needle, effect, 0, (unsigned)effect->size);
    }
    for (unsigned size = 4; size <= 8; size += 4) {
        uint64_t off = -effect->address & (size - 1);
        for (; needle->sizes & size && off + size <= effect->size; off += size)
            if (is_new_number(needle, effect, off, size)) {
                *address = effect->address + off;
                *found_size = size;
                return 1;
            }
    }
    return 0;
}

/* Finds the needle in the bytes around what was written, as they are now and were before; the
 * needle overlaps it. */
static int find_bytes(const struct cli_needle *needle, struct wetdbg_effects *effects,
                      const struct wetdbg_effect *effect, uint64_t *address)
{
    size_t around = needle->byte_count - 1;
    if (effect->address < around)
        around = effect->address;
    uint64_t start = effect->address - around;
    size_t size = around + effect->size + needle->byte_count - 1;
    uint8_t small[1024], *now = size <= sizeof(small) ? small : malloc(size);
    int err = now ? wetdbg_effects_read(effects, start, now, size) : -ENOMEM;
    for (const uint8_t *at = now; !err && at;) {
        at = memmem(at, size - (size_t)(at - now), needle->bytes, needle->byte_count);
        if (!at)
            break;
        /* what of it was stored now was something else before, or it was there already */
        uint64_t off = (uint64_t)(at - now);
        uint64_t low = off > around ? off : around;
        uint64_t high = off + needle->byte_count;
        high = high < around + effect->size ? high : around + effect->size;
        if (memcmp(now + low, effect->before + (low - around), high - low) != 0) {
            *address = start + off;
            err = 1;
        }
        at++;
    }
    if (now != small)
        free(now);
    return err;
}

/* Whether a store may hold the needle: what most of them wrote has no byte of its ends. */
static bool may_hold(const struct cli_needle *needle, const struct wetdbg_effect *effect)
{
    for (uint64_t i = 0; i < effect->size; i++)
        if (memchr(needle->bytes, effect->after[i], needle->byte_count))
            return true;
    return false;
}

int cli_needle_in_memory(const struct cli_needle *needle, struct wetdbg_effects *effects,
                         const struct wetdbg_effect *effect, uint64_t *address, uint64_t *size)
{
    if (!effect->after || effect->reg >= 0)
        return 0;
    if (needle->is_number)
        return find_number(needle, effect, address, size);
    *size = needle->byte_count;
    return may_hold(needle, effect) ? find_bytes(needle, effects, effect, address) : 0;
}

/* Compares low bits only: results of 32 bits have zeros above, those of 8 and 16 bits what was
 * there. */
bool cli_needle_in_register(const struct cli_needle *needle, const struct wetdbg_effect *effect)
{
    if (!needle->is_number || effect->reg < 0)
        return false; /* what an effect without a register wrote may be unknown: no `after` */
    uint64_t value = load(effect->after, 8);
    return (needle->sizes & 8 && value == needle->value[8]) ||
           (needle->sizes & 4 && value == needle->value[4]);
}
