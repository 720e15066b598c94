/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/replay/turn.h"

#include "common/once.h"

/* Fields that have the same name and go both ways. */
#define CONTEXT_FIELDS(FIELD)                                                                      \
    FIELD(gpr)                                                                                     \
    FIELD(rip)                                                                                     \
    FIELD(rflags)                                                                                  \
    FIELD(fs_base)                                                                                 \
    FIELD(gs_base)                                                                                 \
    FIELD(r15)                                                                                     \
    FIELD(branch)                                                                                  \
    FIELD(ticks)                                                                                   \
    FIELD(rep_count)                                                                               \
    FIELD(stop_body)                                                                               \
    FIELD(place_meetings)                                                                          \
    FIELD(place_misses)                                                                            \
    FIELD(queue_tail_bytes)                                                                        \
    FIELD(seq)                                                                                     \
    FIELD(log_bytes)                                                                               \
    FIELD(jump_count)                                                                              \
    FIELD(task)

/* The fields of a turn that the supervisor decides. */
#define ORDER_FIELDS(FIELD)                                                                        \
    FIELD(careful)                                                                                 \
    FIELD(is_live)                                                                                 \
    FIELD(limit)                                                                                   \
    FIELD(time_base)                                                                               \
    FIELD(cut_round)                                                                               \
    FIELD(stop_pc)                                                                                 \
    FIELD(queue_head_bytes)                                                                        \
    FIELD(ring_start)

#define TAKE(name) wd_once_copy(&turn->name, &ctx->name, sizeof(turn->name));
#define GIVE(name) memcpy(&ctx->name, &turn->name, sizeof(ctx->name));

#define SAME_SIZE(name)                                                                            \
    _Static_assert(sizeof((struct rep_turn *)0)->name == sizeof((struct agt_ctx *)0)->name,        \
                   #name " is the same on both sides");
CONTEXT_FIELDS(SAME_SIZE)
ORDER_FIELDS(SAME_SIZE)

void rep_turn_take(struct rep_turn *turn, const struct agt_ctx *ctx)
{
    const struct agt_mail *mail = &ctx->mail;
    turn->request = wd_once_u32(&mail->request);
    wd_once_copy(turn->args, mail->args, sizeof(turn->args));
    wd_once_copy(&turn->fault, &mail->fault, sizeof(turn->fault));
    CONTEXT_FIELDS(TAKE)
}

void rep_turn_give(const struct rep_turn *turn, struct agt_ctx *ctx)
{
    struct agt_mail *mail = &ctx->mail;
    memcpy(mail->args, turn->args, sizeof(mail->args));
    memcpy(&mail->fault, &turn->fault, sizeof(mail->fault));
    mail->command = turn->command;
    memcpy(mail->cargs, turn->cargs, sizeof(mail->cargs));
    mail->wait.patient = turn->patient;
    CONTEXT_FIELDS(GIVE)
    ORDER_FIELDS(GIVE)
}
