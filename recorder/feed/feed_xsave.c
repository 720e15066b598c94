/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 *     0          24     32        160         416     464    512       576
 *     | x87 ctrl | MXCSR| st0-7   | xmm0-15   | 0     | sw   | header  | components 2.. |
 *                                                             XSTATE_BV, XCOMP_BV = 0, 0...
 *
 * XRSTOR takes a component's bytes only if its XSTATE_BV bit is set, and otherwise initialises it;
 * MXCSR it takes always. It faults on reserved header bytes and on unknown MXCSR bits, so those
 * are never copied from a recording.
 */
#include "recorder/feed/feed_xsave.h"

#include <cpuid.h>
#include <stdbool.h>
#include <string.h>

#include "common/cpuid.h"
#include <wetdbg/errors.h>

enum {
    X87_CONTROL_BYTES = 24,
    MXCSR_OFFSET = 24,
    X87_STACK_OFFSET = 32,
    X87_STACK_BYTES = 128,
    XMM_OFFSET = 160,
    XMM_BYTES = 256,
    XSTATE_BV_OFFSET = 512,
    X87_BIT = 1,
    SSE_BIT = 2,
    FIRST_EXTENDED = 2,
    MXCSR_BITS_EVERYWHERE = 0xffbf,
    X87_INITIAL_CONTROL = 0x37f,
};

static uint64_t local_xcr0(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static uint32_t local_mxcsr_mask(void)
{
    uint8_t area[512] __attribute__((aligned(16))) = {0};
    uint32_t mask;
    __asm__ volatile("fxsave %0" : "=m"(area));
    memcpy(&mask, area + 28, sizeof(mask));
    return mask ? mask : MXCSR_BITS_EVERYWHERE; /* 0: as if it said this, says the manual */
}

int feed_xsave_layout_here(struct feed_xsave_layout *layout)
{
    memset(layout, 0, sizeof(*layout));
    if (!(wd_cpuid_ask(1, 0).ecx & bit_OSXSAVE))
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                           "this processor or its system does not use XSAVE");
    layout->xcr0 = local_xcr0();
    layout->mxcsr_mask = local_mxcsr_mask();
    layout->size_bytes = wd_cpuid_ask(0xd, 0).ebx;
    for (uint32_t i = FIRST_EXTENDED; i < 63; i++) {
        if (!(layout->xcr0 >> i & 1))
            continue;
        struct wd_cpuid is = wd_cpuid_ask(0xd, i);
        layout->component[i].offset = is.ebx;
        layout->component[i].size_bytes = is.eax;
    }
    return 0;
}

void feed_xsave_layout_of_trace(const struct rrt_header *header, struct feed_xsave_layout *layout)
{
    memset(layout, 0, sizeof(*layout));
    layout->xcr0 = header->xcr0;
    layout->mxcsr_mask = UINT32_MAX;
    for (size_t i = 0; i < header->cpuid_count; i++) {
        const struct rrt_cpuid *record = &header->cpuid[i];
        if (record->eax_in != 0xd)
            continue;
        if (record->ecx_in == 0)
            layout->size_bytes = record->ebx;
        if (record->ecx_in < FIRST_EXTENDED || record->ecx_in >= 63)
            continue;
        layout->component[record->ecx_in].offset = record->ebx;
        layout->component[record->ecx_in].size_bytes = record->eax;
    }
}

static void convert_legacy(const struct feed_xsave_layout *to, const uint8_t *image, uint64_t used,
                           uint8_t *dest)
{
    uint32_t mxcsr;
    memcpy(&mxcsr, image + MXCSR_OFFSET, sizeof(mxcsr));
    mxcsr &= to->mxcsr_mask;
    if (used & X87_BIT) {
        memcpy(dest, image, X87_CONTROL_BYTES);
        memcpy(dest + X87_STACK_OFFSET, image + X87_STACK_OFFSET, X87_STACK_BYTES);
    } else {
        uint16_t control = X87_INITIAL_CONTROL;
        memcpy(dest, &control, sizeof(control));
    }
    memcpy(dest + MXCSR_OFFSET, &mxcsr, sizeof(mxcsr));
    memcpy(dest + MXCSR_OFFSET + 4, &to->mxcsr_mask, sizeof(to->mxcsr_mask));
    if (used & SSE_BIT)
        memcpy(dest + XMM_OFFSET, image + XMM_OFFSET, XMM_BYTES);
}

static bool is_zero(const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i])
            return false;
    return true;
}

#define PKRU_COMPONENT 9
#define PKRU_OF_LINUX  0x55555554u /* every program's: no key but the one that all memory has */

/* Whether component `i` is as a program has it that does nothing about it; of most components that
 * is all zeros. */
static bool is_initial(unsigned i, const uint8_t *bytes, size_t count)
{
    uint32_t pkru;
    if (i == PKRU_COMPONENT && count >= sizeof(pkru)) {
        memcpy(&pkru, bytes, sizeof(pkru));
        if (pkru == PKRU_OF_LINUX)
            return is_zero(bytes + sizeof(pkru), count - sizeof(pkru));
    }
    return is_zero(bytes, count);
}

const char *feed_xsave_component(unsigned i)
{
    static const char *const names[] = {[2] = "AVX",     [5] = "AVX-512 masks",   [6] = "AVX-512",
                                        [7] = "AVX-512", [9] = "protection keys", [17] = "AMX",
                                        [18] = "AMX"};
    return i < sizeof(names) / sizeof(names[0]) && names[i] ? names[i] : "unknown";
}

/* Component `i`, which the recording has in use. Takes its bit out of *used when its registers are
 * as in a program that never touched them and this processor does not have it. */
static int convert_component(const struct feed_xsave_layout *from,
                             const struct feed_xsave_layout *to, unsigned i, const uint8_t *image,
                             size_t size_bytes, uint8_t *dest, uint64_t *used)
{
    uint64_t offset = from->component[i].offset, bytes = from->component[i].size_bytes;
    if (!bytes || offset < FEED_XSAVE_MIN_BYTES || offset + bytes > size_bytes)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT,
                           "vector state: component %u is in use but not in the %zu recorded bytes",
                           i, size_bytes);
    if (to->component[i].size_bytes == bytes) {
        memcpy(dest + to->component[i].offset, image + offset, bytes);
        return 0;
    }
    if (!is_initial(i, image + offset, bytes))
        return wetdbg_fail(
            -WETDBG_ERR_UNSUPPORTED,
            "vector state: the recording uses XSAVE component %u (%s, %u bytes), which "
            "this processor does not have: replay it where it is, or record it again here",
            i, feed_xsave_component(i), (unsigned)bytes);
    *used &= ~(1ull << i);
    return 0;
}

int feed_xsave_convert(const struct feed_xsave_layout *from, const struct feed_xsave_layout *to,
                       const uint8_t *image, size_t size_bytes, struct wd_buf *out)
{
    uint64_t used = X87_BIT | SSE_BIT;
    if (size_bytes < FEED_XSAVE_LEGACY_BYTES)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "vector state of %zu bytes is too short",
                           size_bytes);
    if (size_bytes >= FEED_XSAVE_MIN_BYTES)
        memcpy(&used, image + XSTATE_BV_OFFSET, sizeof(used));
    out->size_bytes = 0;
    int err = wd_buf_append_zeros(out, to->size_bytes);
    if (err)
        return err;
    convert_legacy(to, image, used, out->data);
    for (unsigned i = FIRST_EXTENDED; i < 64 && !err; i++)
        if (used >> i & 1)
            err = convert_component(from, to, i, image, size_bytes, out->data, &used);
    if (!err)
        memcpy(out->data + XSTATE_BV_OFFSET, &used, sizeof(used));
    return err;
}
