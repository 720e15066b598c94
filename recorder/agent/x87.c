/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/agent/x87.h"

#include "recorder/agent/in_use.h"

#define IP_MASK    0xffffffffffffull
#define OPCODE_MAX 0x7ffu
#define STATUS_ES  0x80u /* an exception that is not masked is pending */
#define USER_CS    0x33u

/* Where the fields are. */
struct layout {
    uint8_t status, ip, cs, opcode, dp, ds;
    uint8_t pointer_bytes;
};

#define NONE 0xff

static const struct layout layouts[] = {
    [AGT_X87_ENV32] = {4, 12, 16, 18, 20, 24, 4},
    [AGT_X87_ENV16] = {2, 6, 8, NONE, 10, 12, 2},
    [AGT_X87_IMAGE32] = {2, 8, 12, 6, 16, 20, 4},
    [AGT_X87_IMAGE64] = {2, 8, NONE, 6, 16, NONE, 8},
};

static void put(uint8_t *at, unsigned off, unsigned bytes, uint64_t value)
{
    for (unsigned i = 0; i < bytes && off != NONE; i++)
        at[off + i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get(const uint8_t *at, unsigned off, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes && off != NONE; i++)
        value |= (uint64_t)at[off + i] << 8 * i;
    return value;
}

static void pointer_put(uint8_t *at, const struct layout *is, const struct agt_x87 *x87)
{
    put(at, is->ip, is->pointer_bytes, x87->ip & IP_MASK);
    if (get(at, is->opcode, 2)) /* many store none */
        put(at, is->opcode, 2, x87->ip >> 48 & OPCODE_MAX);
}

void agt_x87_give(uint8_t *at, enum agt_x87_form form, const struct agt_x87 *x87, bool is_lost)
{
    const struct layout *is = &layouts[form];
    const struct agt_x87 none = {0};
    if (!is_lost || get(at, is->status, 1) & STATUS_ES) {
        pointer_put(at, is, x87);
        return;
    }
    if (form == AGT_X87_IMAGE32 || form == AGT_X87_IMAGE64)
        x87 = &none;
    put(at, is->ip, is->pointer_bytes, x87->ip & IP_MASK);
    put(at, is->opcode, 2, x87->ip >> 48 & OPCODE_MAX);
    put(at, is->cs, 2, x87->ip && !(x87->ip & AGT_X87_FLAT) ? USER_CS : 0);
    put(at, is->dp, is->pointer_bytes, x87->dp);
    put(at, is->ds, 2, 0);
}

void agt_x87_take(const uint8_t *at, enum agt_x87_form form, struct agt_x87 *x87)
{
    const struct layout *is = &layouts[form];
    x87->ip = (get(at, is->ip, is->pointer_bytes) & IP_MASK) | (get(at, is->opcode, 2) & OPCODE_MAX)
                                                                   << 48;
    if (x87->ip && !get(at, is->cs, 2))
        x87->ip |= AGT_X87_FLAT;
    x87->dp = get(at, is->dp, is->pointer_bytes);
}

void agt_x87_forget(uint8_t *image, struct agt_x87 *x87, uint32_t rules)
{
    const struct layout *is = &layouts[AGT_X87_IMAGE64];
    bool is_pending = get(image, is->status, 1) & STATUS_ES;
    if (rules & AGT_X87_CLEARED) {
        put(image, is->ip, 8, 0);
        put(image, is->dp, 8, 0);
        x87->ip &= ~(IP_MASK | AGT_X87_FLAT);
        x87->dp = 0;
    }
    if (rules & AGT_X87_LOST && !is_pending)
        *x87 = (struct agt_x87){0};
}

void agt_x87_keep(uint8_t *image, const struct agt_x87 *x87, bool is_lost)
{
    const struct layout *is = &layouts[AGT_X87_IMAGE64];
    bool is_pending = get(image, is->status, 1) & STATUS_ES;
    if (!is_lost || is_pending) {
        pointer_put(image, is, x87);
    } else {
        put(image, is->ip, 8, x87->ip & IP_MASK);
        put(image, is->opcode, 2, x87->ip >> 48); /* the processor ignores the flag */
        put(image, is->dp, 8, x87->dp);
    }
    if (x87->ip)
        image[AGT_XS_HEADER_OFF] |= AGT_XS_X87;
}

void agt_x87_find(const uint8_t *image, struct agt_x87 *x87)
{
    *x87 = (struct agt_x87){0};
    if (!(image[AGT_XS_HEADER_OFF] & AGT_XS_X87))
        return;
    agt_x87_take(image, AGT_X87_IMAGE64, x87);
    x87->ip &= ~AGT_X87_FLAT;
    x87->ip |= get(image, layouts[AGT_X87_IMAGE64].opcode, 2) << 48 & AGT_X87_FLAT;
}
