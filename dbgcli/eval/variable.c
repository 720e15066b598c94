/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A variable's value, out of the places where its parts are. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/eval/registers.h"
#include "dbgcli/eval/value.h"
#include <wetdbg/errors.h>

/* A register's bytes as a frame has them; *size is how many. */
static int read_register(struct cli_frame_view *view, unsigned reg, uint8_t bytes[64], size_t *size)
{
    int vector = cli_dwarf_vector(reg);
    uint64_t bits;
    if (vector >= 0 && view->moment->frames[view->frame].is_top) {
        *size = 64;
        return wetdbg_state_vector(view->moment->state, (unsigned)vector, bytes, NULL);
    }
    int err = cli_frame_register(view, reg, &bits);
    if (!err)
        memcpy(bytes, &bits, sizeof(bits));
    *size = sizeof(bits);
    return err;
}

static bool add_synthetic(struct cli_value *value, size_t at, const struct wetdbg_piece *piece,
                          size_t frame)
{
    if (!piece->target || value->synthetic_count == CLI_SYNTHETIC_MAX)
        return false;
    value->synthetic[value->synthetic_count++] =
        (struct cli_synthetic){at, piece->target, piece->target_offset_bytes, frame};
    return true;
}

static void set_missing(struct cli_value *value, size_t at, size_t size)
{
    for (size_t i = at; i < at + size && i < sizeof(value->bytes); i++)
        value->missing[i / 8] |= (uint8_t)(1u << i % 8);
}

/* Loads the first bytes of a piece, `size` at most; how many are there. */
static size_t load_piece(struct cli_frame_view *view, const struct wetdbg_piece *piece,
                         uint8_t *bytes, size_t size)
{
    const struct wetdbg_place *place = &piece->place;
    uint8_t loaded[64] = {0};
    const uint8_t *from = loaded;
    size_t count = sizeof(place->value), skipped = 0;
    switch (place->kind) {
    case WETDBG_PLACE_MEMORY:
        return wetdbg_state_read(view->moment->state, place->address, bytes, size) ? 0 : size;
    case WETDBG_PLACE_REGISTER:
        if (read_register(view, place->reg, loaded, &count))
            return 0;
        skipped = place->offset_bytes < count ? place->offset_bytes : count;
        break;
    case WETDBG_PLACE_VALUE:
        memcpy(loaded, &place->value, sizeof(place->value));
        break;
    case WETDBG_PLACE_NONE:
        from = piece->bytes;
        count = piece->bytes ? piece->byte_count : 0;
        break;
    }
    count -= skipped;
    if (count > size)
        count = size;
    if (count)
        memcpy(bytes, from + skipped, count);
    return count;
}

/* Loads `size` bytes of a piece; what is not there is missing then. */
static void take_piece(struct cli_frame_view *view, const struct wetdbg_piece *piece, size_t at,
                       size_t size, struct cli_value *value)
{
    if (piece->place.kind == WETDBG_PLACE_NONE && add_synthetic(value, at, piece, view->frame))
        return;
    size_t count = load_piece(view, piece, value->bytes + at, size);
    set_missing(value, at + count, size - count);
}

/* Loads a piece that is no whole number of bytes, or does not begin with one, as of a bit field;
 * what is not there is missing then. */
static void take_bits(struct cli_frame_view *view, const struct wetdbg_piece *piece, size_t at_bits,
                      size_t bits, struct cli_value *value)
{
    uint8_t part[64] = {0};
    size_t size = bits / 8 < sizeof(part) ? (bits + 7) / 8 : sizeof(part);
    size_t count = load_piece(view, piece, part, size);
    for (size_t i = 0; i < bits; i++) {
        size_t to = at_bits + i;
        if (i / 8 >= count)
            set_missing(value, to / 8, 1);
        else if (part[i / 8] >> i % 8 & 1)
            value->bytes[to / 8] |= (uint8_t)(1u << to % 8);
    }
}

/* Puts a value of several pieces together. */
static int join(struct cli_frame_view *view, const struct wetdbg_piece *pieces, size_t count,
                struct cli_value *value)
{
    uint64_t size = value->type.size_bytes, at_bits = 0;
    if (size > sizeof(value->bytes))
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                           "a value of %" PRIu64 " bytes that is spread over several places", size);
    for (size_t i = 0; i < count && at_bits < size * 8; i++) {
        uint64_t bits = pieces[i].size_bits ? pieces[i].size_bits : size * 8 - at_bits;
        if (bits > size * 8 - at_bits)
            bits = size * 8 - at_bits;
        if (at_bits % 8 || bits % 8)
            take_bits(view, &pieces[i], at_bits, bits, value);
        else
            take_piece(view, &pieces[i], at_bits / 8, bits / 8, value);
        at_bits += bits;
    }
    if (at_bits < size * 8)
        set_missing(value, at_bits / 8, size - at_bits / 8);
    return 0;
}

static int fail_gone(const struct wetdbg_variable *variable, const char *reason)
{
    bool has_more = *reason && strncmp(reason, "optimized out", 13) != 0;
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "%s is optimized out here%s%s%s", variable->name,
                       has_more ? " (" : "", has_more ? reason : "", has_more ? ")" : "");
}

/* A register that was not preserved makes the whole value unknown, and says so. */
static int check_register(struct cli_frame_view *view, const struct wetdbg_piece *piece)
{
    uint8_t bytes[64];
    size_t size;
    return piece->place.kind == WETDBG_PLACE_REGISTER
               ? read_register(view, piece->place.reg, bytes, &size)
               : 0;
}

static int take_pieces(struct cli_frame_view *view, const struct wetdbg_variable *variable,
                       const struct wetdbg_piece *pieces, size_t count, struct cli_value *value)
{
    uint64_t size = variable->type.size_bytes;
    bool is_whole = count == 1 && (!pieces->size_bits || pieces->size_bits >= size * 8);
    if (is_whole && pieces->place.kind == WETDBG_PLACE_MEMORY) {
        value->is_in_memory = true;
        value->address = pieces->place.address;
        return 0;
    }
    int err = is_whole ? check_register(view, pieces) : 0;
    if (!err)
        err = join(view, pieces, count, value);
    if (!err && size && cli_value_is_all_missing(value, 0, size))
        err = fail_gone(variable, is_whole ? pieces->place.reason : "");
    return err;
}

int cli_value_of_variable(struct cli_frame_view *view, const struct wetdbg_variable *variable,
                          struct cli_value *value)
{
    const struct cli_frame *frame = &view->moment->frames[view->frame];
    struct wetdbg_machine machine = cli_frame_machine(view);
    struct wetdbg_piece *pieces;
    size_t count;
    int err = wetdbg_variable_pieces(view->moment->model, variable, frame->lookup_pc, &machine,
                                     &pieces, &count);
    if (err)
        return err;
    *value = (struct cli_value){
        .type = variable->type,
        .bit_offset = variable->bit_offset,
        .bit_size = variable->bit_size,
    };
    err = take_pieces(view, variable, pieces, count, value);
    free(pieces);
    return err;
}

int cli_value_at_entry(struct cli_frame_view *view, const struct wetdbg_variable *variable,
                       struct cli_value *value)
{
    const struct cli_frame *frame = &view->moment->frames[view->frame];
    struct wetdbg_machine machine = cli_frame_machine(view);
    uint64_t bits;
    /* nobody passes anything to an inlined function */
    if (frame->is_inlined || !variable->type.size_bytes || variable->type.size_bytes > sizeof(bits))
        return -WETDBG_ERR_NOT_FOUND;
    int err = wetdbg_variable_entry_value(view->moment->model, variable, frame->lookup_pc, &machine,
                                          &bits);
    if (err)
        return -WETDBG_ERR_NOT_FOUND;
    *value = (struct cli_value){.type = variable->type};
    memcpy(value->bytes, &bits, variable->type.size_bytes);
    return 0;
}

bool cli_value_is_missing(const struct cli_value *value, uint64_t offset, uint64_t size)
{
    bool is_missing = false;
    for (uint64_t i = offset; i < offset + size && i < sizeof(value->bytes); i++)
        is_missing |= value->missing[i / 8] >> i % 8 & 1;
    return is_missing && !value->is_in_memory;
}

bool cli_value_is_all_missing(const struct cli_value *value, uint64_t offset, uint64_t size)
{
    bool is_missing = !value->is_in_memory && size && offset + size <= sizeof(value->bytes);
    for (uint64_t i = offset; is_missing && i < offset + size; i++)
        is_missing = value->missing[i / 8] >> i % 8 & 1;
    return is_missing;
}

const struct cli_synthetic *cli_value_synthetic(const struct cli_value *value)
{
    for (unsigned i = 0; i < value->synthetic_count; i++)
        if (value->synthetic[i].at == 0)
            return &value->synthetic[i];
    return NULL;
}
