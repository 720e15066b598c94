/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/insn/insn_image.h"

#include <pthread.h>

#include "common/cpuid.h"
#include "recorder/insn/insn_zydis.h"

#define LEGACY_BYTES 576 /* the fxsave image and the header */
#define COMPONENTS   63

#define X87   UINT64_C(1)
#define SSE   UINT64_C(2)
#define AVX   UINT64_C(4)
#define MXCSR (SSE | AVX) /* either asks for it in the standard form */

#define IS_COMPACT (UINT64_C(1) << 63)

/* The components that this processor has and the system allows. */
static struct {
    uint64_t enabled; /* XCR0 */
    struct {
        uint32_t off, bytes;
        bool is_aligned; /* in the compacted form, to 64 bytes */
    } at[COMPONENTS];
} processor;

static void ask_processor(void)
{
    uint32_t low, high;

    if (!wd_cpuid_has(0xd) || !(wd_cpuid_ask(1, 0).ecx >> 27 & 1)) /* OSXSAVE */
        return;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    processor.enabled = (uint64_t)high << 32 | low;
    for (unsigned i = 2; i < COMPONENTS; i++) {
        struct wd_cpuid is = wd_cpuid_ask(0xd, i);
        processor.at[i].off = is.ebx;
        processor.at[i].bytes = is.eax;
        processor.at[i].is_aligned = is.ecx & 2;
    }
}

static void know_processor(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, ask_processor);
}

static bool is_save_compact(unsigned mnemonic)
{
    return mnemonic == ZYDIS_MNEMONIC_XSAVEC || mnemonic == ZYDIS_MNEMONIC_XSAVEC64;
}

static bool is_save_whole(unsigned mnemonic)
{
    return mnemonic == ZYDIS_MNEMONIC_XSAVE || mnemonic == ZYDIS_MNEMONIC_XSAVE64;
}

static bool is_restore(unsigned mnemonic)
{
    return mnemonic == ZYDIS_MNEMONIC_XRSTOR || mnemonic == ZYDIS_MNEMONIC_XRSTOR64;
}

static bool is_save_optimized(unsigned mnemonic)
{
    return mnemonic == ZYDIS_MNEMONIC_XSAVEOPT || mnemonic == ZYDIS_MNEMONIC_XSAVEOPT64;
}

bool ins_is_image(unsigned mnemonic)
{
    return is_save_whole(mnemonic) || is_save_compact(mnemonic) || is_save_optimized(mnemonic) ||
           is_restore(mnemonic);
}

bool ins_image_is_exact(unsigned mnemonic)
{
    return ins_is_image(mnemonic) && !is_save_optimized(mnemonic);
}

/* Which components an image has room for, and in which form, and which of them were touched. */
struct image {
    bool is_compact;
    uint64_t room, touched, asked;
};

static struct image image_of(unsigned mnemonic, const uint64_t *slots)
{
    struct image is = {.asked = (slots[INS_IMAGE_RDX] << 32 | (uint32_t)slots[INS_IMAGE_RAX]) &
                                processor.enabled};

    is.is_compact =
        is_save_compact(mnemonic) || (is_restore(mnemonic) && slots[INS_IMAGE_LAYOUT] & IS_COMPACT);
    is.room = is_save_compact(mnemonic) ? is.asked : slots[INS_IMAGE_LAYOUT] & processor.enabled;
    is.touched = is_save_whole(mnemonic) ? is.asked : is.asked & slots[INS_IMAGE_STATES];
    return is;
}

struct list {
    struct ins_range *ranges;
    uint64_t address;
    unsigned count;
};

/* Ranges come in ascending order; what lies side by side is one. */
static void add(struct list *list, uint32_t off, uint32_t bytes)
{
    struct ins_range *last = list->count ? &list->ranges[list->count - 1] : NULL;

    if (!bytes)
        return;
    if (last && last->address + last->size_bytes == list->address + off)
        last->size_bytes += bytes;
    else if (list->count < INS_RANGES_MAX)
        list->ranges[list->count++] = (struct ins_range){list->address + off, bytes};
}

/* The fxsave image: x87's registers around MXCSR and its mask, then xmm0 to xmm15. */
static void add_legacy(struct list *list, unsigned mnemonic, const struct image *is)
{
    bool has_mxcsr = is->is_compact ? is->touched & SSE : is->asked & MXCSR;

    if (is->touched & X87)
        add(list, 0, 24);
    if (has_mxcsr)
        add(list, 24, is_restore(mnemonic) ? 4 : 8);
    if (is->touched & X87)
        add(list, 32, 128);
    if (is->touched & SSE)
        add(list, 160, 256);
}

/* The standard form's components ascend by their offsets, which need not be their numbers. */
static void add_standard(struct list *list, uint64_t touched)
{
    for (uint32_t from = 0; touched;) {
        unsigned next = 0;
        for (unsigned i = 2; i < COMPONENTS; i++)
            if (touched >> i & 1 && processor.at[i].off >= from &&
                (!next || processor.at[i].off < processor.at[next].off))
                next = i;
        if (!next)
            break;
        add(list, processor.at[next].off, processor.at[next].bytes);
        from = processor.at[next].off + 1;
    }
}

static void add_compact(struct list *list, uint64_t room, uint64_t touched)
{
    uint32_t at = LEGACY_BYTES;

    for (unsigned i = 2; i < COMPONENTS; i++) {
        if (!(room >> i & 1))
            continue;
        at = processor.at[i].is_aligned ? (at + 63) & ~63u : at;
        if (touched >> i & 1)
            add(list, at, processor.at[i].bytes);
        at += processor.at[i].bytes;
    }
}

unsigned ins_image_ranges(const struct ins_info *info, const uint64_t *slots,
                          struct ins_range ranges[INS_RANGES_MAX])
{
    struct list list = {.ranges = ranges, .address = slots[0]};

    know_processor();
    struct image is = image_of(info->mnemonic, slots + info->mem_count);
    bool has_layout = is_save_compact(info->mnemonic) || is_restore(info->mnemonic);
    add_legacy(&list, info->mnemonic, &is);
    add(&list, INS_IMAGE_STATES_OFF, has_layout ? 16 : 8);
    if (is.is_compact)
        add_compact(&list, is.room, is.touched);
    else
        add_standard(&list, is.touched);
    return list.count;
}

unsigned ins_xsave_bytes(unsigned mnemonic, uint64_t components)
{
    unsigned end = LEGACY_BYTES;

    know_processor();
    for (unsigned i = 2; i < COMPONENTS; i++) {
        if (!(components >> i & 1))
            continue;
        if (is_save_compact(mnemonic))
            end = (processor.at[i].is_aligned ? (end + 63) & ~63u : end) + processor.at[i].bytes;
        else if (processor.at[i].off + processor.at[i].bytes > end)
            end = processor.at[i].off + processor.at[i].bytes;
    }
    return end < INS_XSAVE_BYTES_MAX ? end : INS_XSAVE_BYTES_MAX;
}
