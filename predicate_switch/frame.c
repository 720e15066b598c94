/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "predicate_switch/frame.h"

#include <errno.h>
#include <string.h>

#include "recorder/feed/feed_xsave.h"

#define FRAME_ALIGN 16
#define XSAVE_ALIGN 64
#define RED_ZONE    128
#define MAGIC1      0x46505853u
#define MAGIC2      0x46505845u
#define MXCSR_RESET 0x1f80u
#define FCW_RESET   0x37fu

#define XSAVE_MXCSR_OFF    24
#define XSAVE_SOFTWARE_OFF 464 /* of the bytes that the processor leaves to software */
#define FEATURES_LEGACY    3   /* x87, SSE */

/* uc_flags: vector state is an XSAVE image; ss is there, and is taken. */
#define UC_FLAGS 7u

/* Of flags: CF PF AF ZF SF TF DF OF NT RF AC, which a program may set by returning. */
#define FLAGS_TAKEN 0x54dd5u
/* DF TF RF: a handler begins without. */
#define FLAGS_CLEARED 0x10500u

struct software {
    uint32_t magic1, extended_bytes;
    uint64_t features;
    uint32_t xsave_bytes, padding[7];
};

struct rt_frame {
    uint64_t restorer;
    uint64_t flags, link;
    uint64_t stack;
    int32_t stack_flags, padding;
    uint64_t stack_bytes;
    uint64_t regs[18]; /* in the order of `order` */
    uint16_t cs, gs, fs, ss;
    uint64_t err, trapno, old_mask, address, xsave, reserved[8];
    uint64_t mask;
    uint8_t info[128];
};

_Static_assert(sizeof(struct rt_frame) == 440, "as Linux has it");
_Static_assert(sizeof(struct software) == 48, "as Linux has it");

static const uint8_t order[18] = {
    EVQ_R8,  EVQ_R9,  EVQ_R10, EVQ_R11, EVQ_R12, EVQ_R13, EVQ_R14, EVQ_R15, EVQ_RDI,
    EVQ_RSI, EVQ_RBP, EVQ_RBX, EVQ_RDX, EVQ_RAX, EVQ_RCX, EVQ_RSP, EVQ_RIP, EVQ_EFLAGS,
};

/* ---- vector state ---- */

/* The image as it is in the frame: followed by the word that ends it. */
static void image_put(const struct feed_xsave_layout *here, const uint8_t *xsave, uint8_t *out)
{
    struct software software = {.magic1 = MAGIC1,
                                .extended_bytes = here->size_bytes + 4,
                                .features = here->xcr0,
                                .xsave_bytes = here->size_bytes};
    const uint32_t end = MAGIC2;
    uint64_t features;
    memcpy(out, xsave, here->size_bytes);
    memcpy(&features, out + FEED_XSAVE_LEGACY_BYTES, sizeof(features));
    features |= FEATURES_LEGACY;
    memcpy(out + FEED_XSAVE_LEGACY_BYTES, &features, sizeof(features));
    memcpy(out + XSAVE_SOFTWARE_OFF, &software, sizeof(software));
    memcpy(out + here->size_bytes, &end, sizeof(end));
}

static int image_reset(const struct feed_xsave_layout *here, struct wd_buf *out)
{
    const uint16_t control = FCW_RESET;
    const uint32_t mxcsr = MXCSR_RESET;
    int err = wd_buf_append_zeros(out, here->size_bytes);
    if (err)
        return err;
    memcpy(out->data, &control, sizeof(control));
    memcpy(out->data + XSAVE_MXCSR_OFF, &mxcsr, sizeof(mxcsr));
    return 0;
}

/* Whether an xrstor takes it; what is software's is cleared. */
static bool image_settle(const struct feed_xsave_layout *here, uint8_t *image)
{
    uint64_t header[FEED_XSAVE_HEADER_BYTES / 8];
    uint32_t mxcsr;
    memcpy(header, image + FEED_XSAVE_LEGACY_BYTES, sizeof(header));
    memcpy(&mxcsr, image + XSAVE_MXCSR_OFF, sizeof(mxcsr));
    memset(image + XSAVE_SOFTWARE_OFF, 0, sizeof(struct software));
    for (size_t i = 1; i < sizeof(header) / sizeof(header[0]); i++) {
        if (header[i])
            return false;
    }
    return !(header[0] & ~here->xcr0) && !(mxcsr & ~here->mxcsr_mask);
}

/* ---- to the stack ---- */

static void frame_fill(struct rt_frame *frame, const struct vk_signal *signal,
                       const struct psw_interrupted *interrupted, uint64_t xsave_at)
{
    const struct evq_regs *regs = &interrupted->regs;
    *frame = (struct rt_frame){.restorer = signal->restorer,
                               .flags = UC_FLAGS,
                               .stack = signal->alt_stack,
                               .stack_flags = signal->alt_flags,
                               .stack_bytes = signal->alt_size,
                               .cs = (uint16_t)regs->r[EVQ_CS],
                               .ss = (uint16_t)regs->r[EVQ_SS],
                               .err = interrupted->err,
                               .trapno = interrupted->trapno,
                               .old_mask = signal->old_mask,
                               .address = interrupted->address,
                               .xsave = xsave_at,
                               .mask = signal->old_mask};
    for (size_t i = 0; i < sizeof(order); i++)
        frame->regs[i] = regs->r[order[i]];
    memcpy(frame->info, signal->info, sizeof(frame->info));
}

static struct evq_regs handler_regs(const struct vk_signal *signal,
                                    const struct psw_interrupted *interrupted, uint64_t frame)
{
    struct evq_regs regs = interrupted->regs;
    regs.r[EVQ_RDI] = (uint64_t)signal->number;
    regs.r[EVQ_RSI] = frame + offsetof(struct rt_frame, info);
    regs.r[EVQ_RDX] = frame + offsetof(struct rt_frame, flags);
    regs.r[EVQ_RAX] = 0;
    regs.r[EVQ_RSP] = frame;
    regs.r[EVQ_RIP] = signal->handler;
    regs.r[EVQ_EFLAGS] &= ~(uint64_t)FLAGS_CLEARED;
    return regs;
}

/* Below which address the frame goes. */
static uint64_t frame_top(const struct vk_signal *signal, uint64_t rsp)
{
    bool is_there = rsp > signal->alt_stack && rsp - signal->alt_stack <= signal->alt_size;
    return signal->frame_top && !is_there ? signal->frame_top : rsp - RED_ZONE;
}

int psw_frame_make(const struct vk_signal *signal, const struct psw_interrupted *interrupted,
                   struct psw_frame *out)
{
    struct feed_xsave_layout here;
    struct rt_frame frame;
    *out = (struct psw_frame){0};
    int err = feed_xsave_layout_here(&here);
    if (err)
        return err;
    uint64_t top = frame_top(signal, interrupted->regs.r[EVQ_RSP]);
    uint64_t xsave_at = (top - (here.size_bytes + sizeof(uint32_t))) & -(uint64_t)XSAVE_ALIGN;
    uint64_t at = ((xsave_at - sizeof(frame)) & -(uint64_t)FRAME_ALIGN) - 8;
    size_t image_off = xsave_at - at;
    err = wd_buf_append_zeros(&out->bytes, image_off + here.size_bytes + sizeof(uint32_t));
    if (!err)
        err = image_reset(&here, &out->xsave);
    if (err)
        return err;
    frame_fill(&frame, signal, interrupted, xsave_at);
    memcpy(out->bytes.data, &frame, sizeof(frame));
    image_put(&here, interrupted->xsave, out->bytes.data + image_off);
    out->address = at;
    out->regs = handler_regs(signal, interrupted, at);
    return 0;
}

void psw_frame_fini(struct psw_frame *frame)
{
    wd_buf_fini(&frame->bytes);
    wd_buf_fini(&frame->xsave);
}

/* ---- and back ---- */

static int image_take(const struct vk_memory *memory, uint64_t at, struct psw_frame *out)
{
    struct feed_xsave_layout here;
    int err = feed_xsave_layout_here(&here);
    if (!err && !at)
        return image_reset(&here, &out->xsave);
    if (!err)
        err = wd_buf_append_zeros(&out->xsave, here.size_bytes);
    if (err)
        return err;
    bool is_sane = !memory->read(memory->arg, at, out->xsave.data, here.size_bytes) &&
                   image_settle(&here, out->xsave.data);
    return is_sane ? 0 : -EFAULT;
}

int psw_frame_take(const struct vk_memory *memory, const struct evq_regs *regs,
                   struct psw_frame *out)
{
    struct rt_frame frame;
    uint64_t at = regs->r[EVQ_RSP] - sizeof(frame.restorer);
    *out = (struct psw_frame){.regs = *regs};
    if (memory->read(memory->arg, at, &frame, sizeof(frame)))
        return -EFAULT;
    for (size_t i = 0; i < sizeof(order); i++)
        out->regs.r[order[i]] = frame.regs[i];
    out->regs.r[EVQ_EFLAGS] = (regs->r[EVQ_EFLAGS] & ~(uint64_t)FLAGS_TAKEN) |
                              (frame.regs[sizeof(order) - 1] & FLAGS_TAKEN);
    out->regs.r[EVQ_ORIG_RAX] = UINT64_MAX;
    return image_take(memory, frame.xsave, out);
}
