/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/agent/settled.h"

#include <stddef.h>

#define X87_CONTROL 0x37full
#define MXCSR_USUAL 0x1f80ull

static struct agt_settled areas[AGT_SETTLED_MAX];

static void bytes_copy(void *to, const void *from, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++)
        ((volatile uint8_t *)to)[i] = ((const uint8_t *)from)[i];
}

void agt_settled_note(const struct agt_settled *area)
{
    static unsigned oldest;
    struct agt_settled *at = NULL;
    for (unsigned i = 0; i < AGT_SETTLED_MAX; i++)
        if (areas[i].bytes && areas[i].address == area->address)
            at = &areas[i];
    if (!at)
        at = &areas[oldest++ % AGT_SETTLED_MAX];
    bytes_copy(at, area, sizeof(*at));
}

static uint32_t component_at(const struct agt_xs_layout *layout, uint64_t off)
{
    for (unsigned i = 0; i < AGT_XS_PARTS; i++)
        if (off - layout->parts[i].off < layout->parts[i].bytes)
            return layout->parts[i].component;
    return off == AGT_XS_MXCSR_OFF ? AGT_XS_SSE : 0;
}

/* The word in which xsavec stores MXCSR (its usual contents) and, above it, which bits it may
 * have. */
static uint64_t mxcsr_word(void)
{
    static uint8_t image[AGT_XS_HEADER_OFF] __attribute__((aligned(16)));
    uint32_t mask;
    __asm__ volatile("fxsave64 %0" : "=m"(image));
    bytes_copy(&mask, image + AGT_XS_MXCSR_OFF + 4, sizeof(mask));
    return MXCSR_USUAL | (uint64_t)mask << 32;
}

static uint64_t stored_word(uint64_t off)
{
    return off == 0 ? X87_CONTROL : off == AGT_XS_MXCSR_OFF ? mxcsr_word() : 0;
}

/* What `area` would have in the line if `stored` had been; false: it is as it is. */
static bool area_apply(const struct agt_settled *area, uint64_t stored, uint64_t address,
                       uint32_t bytes, uint64_t *line)
{
    bool is_other = false;
    for (uint64_t off = 0; off < area->bytes; off += 8) {
        uint64_t at = area->address + off - address, before;
        bool is_kept = off == AGT_XS_MXCSR_OFF && !area->is_compact;
        if (at >= bytes || is_kept || !(component_at(&area->layout, off) & stored))
            continue;
        bytes_copy(&before, area->before + off, sizeof(before));
        if (line[at / 8] != before || before == stored_word(off))
            continue;
        line[at / 8] = stored_word(off);
        is_other = true;
    }
    return is_other;
}

/* Components that were not stored and have bytes in the line. */
static uint64_t components_in_line(const struct agt_settled *area, uint64_t address, uint32_t bytes)
{
    uint64_t components = 0;
    for (uint64_t off = 0; off < area->bytes; off += 8)
        if (area->address + off - address < bytes)
            components |= component_at(&area->layout, off);
    return components & area->unused;
}

bool agt_settled_variant(unsigned n, uint64_t address, const uint64_t *line, uint32_t bytes,
                         uint64_t *variant)
{
    for (unsigned i = 0; i < AGT_SETTLED_MAX; i++) {
        const struct agt_settled *area = &areas[i];
        if (address - area->address >= area->bytes && area->address - address >= bytes)
            continue;
        const uint64_t choices = components_in_line(area, address, bytes);
        for (uint64_t stored = -choices & choices; stored; stored = (stored - choices) & choices) {
            bytes_copy(variant, line, bytes);
            if (area_apply(area, stored, address, bytes, variant) && !n--)
                return true;
        }
    }
    return false;
}
