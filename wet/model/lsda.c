/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The language specific data of a function's call frame information, as GCC and LLVM write it
 * (Itanium C++ ABI, exception handling tables): a header, then records of which calls land where.
 */
#include "wet/model/lsda.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* More records than any function has: a damaged table is not read for ever. */
#define RECORDS_MAX (1 << 20)

struct reader {
    const uint8_t *start;
    const uint8_t *at;
    const uint8_t *end;
    uint64_t address; /* of `start` */
    bool is_damaged;
};

static uint64_t read_fixed(struct reader *reader, unsigned bytes)
{
    uint64_t value = 0;

    if ((size_t)(reader->end - reader->at) < bytes) {
        reader->is_damaged = true;
        return 0;
    }
    memcpy(&value, reader->at, bytes);
    reader->at += bytes;
    return value;
}

static uint64_t read_leb(struct reader *reader, bool is_signed)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;

    do {
        byte = (uint8_t)read_fixed(reader, 1);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80 && !reader->is_damaged);
    if (is_signed && byte & 0x40 && shift < 64)
        value |= ~UINT64_C(0) << shift;
    return value;
}

static uint64_t read_encoded(struct reader *reader, uint8_t encoding)
{
    uint64_t place = reader->address + (uint64_t)(reader->at - reader->start), value;

    switch (encoding & 0x0f) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
        value = read_fixed(reader, 8);
        break;
    case DW_EH_PE_uleb128:
        value = read_leb(reader, 0);
        break;
    case DW_EH_PE_sleb128:
        value = read_leb(reader, 1);
        break;
    case DW_EH_PE_udata2:
        value = read_fixed(reader, 2);
        break;
    case DW_EH_PE_sdata2:
        value = (uint64_t)(int64_t)(int16_t)read_fixed(reader, 2);
        break;
    case DW_EH_PE_udata4:
        value = read_fixed(reader, 4);
        break;
    case DW_EH_PE_sdata4:
        value = (uint64_t)(int64_t)(int32_t)read_fixed(reader, 4);
        break;
    default:
        reader->is_damaged = true;
        return 0;
    }
    return (encoding & 0x70) == DW_EH_PE_pcrel ? value + place : value;
}

static int add_landing(struct mdl_landing **landings, size_t *count, size_t *capacity,
                       const struct mdl_landing *landing)
{
    if (*count == *capacity) {
        size_t wanted = *capacity ? *capacity * 2 : 16;
        struct mdl_landing *grown = reallocarray(*landings, wanted, sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        *landings = grown;
        *capacity = wanted;
    }
    (*landings)[(*count)++] = *landing;
    return 0;
}

/* Reads the header; *base is what landing pads are relative to, *encoding that of the records.
 * Returns the end of the records. */
static const uint8_t *read_header(struct reader *reader, uint64_t *base, uint8_t *encoding)
{
    uint8_t pad_encoding = (uint8_t)read_fixed(reader, 1), type_encoding;
    uint64_t length;

    if (pad_encoding != DW_EH_PE_omit)
        *base = read_encoded(reader, pad_encoding);
    type_encoding = (uint8_t)read_fixed(reader, 1);
    if (type_encoding != DW_EH_PE_omit)
        read_leb(reader, 0);
    *encoding = (uint8_t)read_fixed(reader, 1);
    length = read_leb(reader, 0);
    if (length > (uint64_t)(reader->end - reader->at))
        return reader->at;
    return reader->at + length;
}

int mdl_lsda_read(struct mdl_mod *mod, uint64_t lsda, uint64_t function,
                  struct mdl_landing **landings, size_t *count)
{
    struct reader reader = {.address = lsda};
    uint64_t base = function;
    size_t available, capacity = 0;
    const uint8_t *end;
    uint8_t encoding = 0;

    *landings = NULL;
    *count = 0;
    reader.start = reader.at = mdl_mod_bytes(mod, lsda, &available);
    if (!reader.start)
        return 0;
    reader.end = reader.start + available;
    end = read_header(&reader, &base, &encoding);
    while (reader.at < end && *count < RECORDS_MAX) {
        uint64_t start = read_encoded(&reader, encoding), length = read_encoded(&reader, encoding);
        uint64_t pad = read_encoded(&reader, encoding);
        struct mdl_landing landing = {function + start, function + start + length, base + pad};

        read_leb(&reader, 0); /* which handlers: not our business */
        if (reader.is_damaged)
            break;
        if (pad && add_landing(landings, count, &capacity, &landing) < 0) {
            free(*landings);
            return -ENOMEM;
        }
    }
    return 0;
}
