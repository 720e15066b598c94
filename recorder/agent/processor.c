/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/agent/processor.h"

#include <stdbool.h>

#include "recorder/agent/agent_priv.h"

#define FLAG_ZERO 0x40u

static void refuse(struct agt *agt)
{
    agt_stop(agt, AGT_REQ_UNSUPPORTED, AGT_UNS_INSTRUCTION, agt->ctx->rip, 0, 0);
}

static void result_set(struct agt_ctx *ctx, uint64_t value)
{
    uint64_t *reg = &ctx->gpr[ctx->exit_arg & 15];
    bool is_word = ctx->exit_arg & AGT_RESULT_WORD;
    *reg = is_word ? (*reg & ~0xffffull) | (value & 0xffff) : value;
}

static void pass_by(struct agt_ctx *ctx)
{
    ctx->rip += ctx->exit_arg >> 8 & 15;
}

void agt_on_rdpid(struct agt *agt)
{
    struct agt_ctx *ctx = agt->ctx;
    if (ctx->processor.rdpid == AGT_PROCESSOR_UNKNOWN)
        refuse(agt);
    result_set(ctx, ctx->processor.rdpid);
    pass_by(ctx);
}

/* Other segments that a program may name are the same on all systems of this kind. */
static bool limit_of(uint16_t selector, uint64_t *limit)
{
    uint32_t here = 0;
    bool has_one;
    __asm__("lsl %2, %0" : "+r"(here), "=@ccz"(has_one) : "r"((uint32_t)selector));
    *limit = here;
    return has_one;
}

void agt_on_lsl(struct agt *agt)
{
    struct agt_ctx *ctx = agt->ctx;
    uint16_t selector = (uint16_t)ctx->tmp;
    uint64_t limit = ctx->processor.lsl;
    bool is_processors = (selector & ~3) == AGT_PROCESSOR_SELECTOR, has_one = true;
    if (is_processors && limit == AGT_PROCESSOR_UNKNOWN)
        refuse(agt);
    if (!is_processors)
        has_one = limit_of(selector, &limit);
    ctx->rflags = has_one ? ctx->rflags | FLAG_ZERO : ctx->rflags & ~(uint64_t)FLAG_ZERO;
    if (has_one)
        result_set(ctx, limit);
    pass_by(ctx);
}

void agt_on_segment(struct agt *agt)
{
    struct agt_ctx *ctx = agt->ctx;
    const struct agt_task *tasks = (const struct agt_task *)((const uint8_t *)ctx + AGT_TASKS_OFF);
    uint64_t now = tasks[ctx->task].regs.r[ctx->exit_arg & AGT_RESULT_SEGMENT];
    if ((uint16_t)ctx->tmp != now)
        refuse(agt);
    pass_by(ctx);
}
