/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "predicate_switch/compare.h"

#include <string.h>

void psw_compare_begin(struct psw_compare *compare, const struct psw_told *told, wetdbg_time from)
{
    *compare = (struct psw_compare){.told = told, .from = from};
}

static void differs(struct psw_compare *compare, int fd, uint64_t offset)
{
    if (!compare->difference.is_there)
        compare->difference = (struct psw_difference){true, fd, offset};
}

/* Moves on to a piece of the descriptor's that was put out since; false: there is none. */
static bool piece_find(const struct psw_compare *compare, struct psw_cursor *cursor)
{
    const struct psw_told *told = compare->told;
    for (; cursor->output < told->output_count; cursor->output++) {
        const struct psw_output *output = &told->outputs[cursor->output];
        if (output->fd != cursor->fd)
            continue;
        if (output->ended >= compare->from && cursor->within < output->size)
            return true;
        if (output->ended < compare->from)
            cursor->offset += output->size;
        cursor->within = 0;
    }
    return false;
}

static struct psw_cursor *cursor_get(struct psw_compare *compare, int fd)
{
    for (unsigned i = 0; i < compare->cursor_count; i++) {
        if (compare->cursors[i].fd == fd)
            return &compare->cursors[i];
    }
    if (compare->cursor_count == PSW_CURSORS)
        return NULL;
    struct psw_cursor *cursor = &compare->cursors[compare->cursor_count++];
    *cursor = (struct psw_cursor){.fd = fd};
    return cursor;
}

static uint64_t same_bytes(const uint8_t *a, const uint8_t *b, uint64_t size)
{
    uint64_t at = 0;
    while (at < size && a[at] == b[at])
        at++;
    return at;
}

void psw_compare_put(struct psw_compare *compare, int fd, const uint8_t *bytes, uint64_t size)
{
    struct psw_cursor *cursor = cursor_get(compare, fd);
    while (cursor && size && !compare->difference.is_there) {
        if (!piece_find(compare, cursor)) {
            differs(compare, fd, cursor->offset);
            return;
        }
        const struct psw_output *output = &compare->told->outputs[cursor->output];
        uint64_t left = output->size - cursor->within, piece = size < left ? size : left;
        const uint8_t *recorded = compare->told->bytes.data + output->off + cursor->within;
        uint64_t same = same_bytes(bytes, recorded, piece);
        cursor->within += same;
        cursor->offset += same;
        if (same < piece)
            differs(compare, fd, cursor->offset);
        bytes += piece;
        size -= piece;
    }
}

void psw_compare_end(struct psw_compare *compare)
{
    const struct psw_told *told = compare->told;
    for (size_t i = 0; i < told->output_count && !compare->difference.is_there; i++) {
        const struct psw_output *output = &told->outputs[i];
        struct psw_cursor *cursor =
            output->ended >= compare->from && output->size ? cursor_get(compare, output->fd) : NULL;
        if (cursor && piece_find(compare, cursor))
            differs(compare, output->fd, cursor->offset);
    }
}
