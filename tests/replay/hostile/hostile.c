/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The agent with two hooks: where it gives its turn away, and where it makes system calls. */
#include "tests/replay/hostile/hostile.h"

#include <linux/futex.h>
#include <stdbool.h>
#include <sys/syscall.h>

#include "recorder/agent/agent.h"
#include "recorder/agent/sys.h"

static volatile struct hostile_plan the_plan
    __attribute__((section(".data"))) = {.magic = HOSTILE_MAGIC};

static uint64_t turns, state;

static uint64_t random_next(void)
{
    state += 0x9e3779b97f4a7c15ull;
    uint64_t x = (state ^ state >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/* Values that are likely to be near some limit, and some that are not. */
static uint64_t bad_value(void)
{
    uint64_t x = random_next();
    switch (x % 8) {
    case 0:
        return 0;
    case 1:
        return UINT64_MAX;
    case 2:
        return 1ull << (x >> 8 & 63);
    case 3:
        return (1ull << (x >> 8 & 63)) - 1;
    case 4:
        return x >> 8 & 0xff;
    case 5:
        return 0x200000000000ull + (x >> 8 & 0x5fffffff); /* where the agent is */
    case 6:
        return x >> (x >> 56 & 31);
    default:
        return x;
    }
}

static void spoil_word(uint8_t *from, uint64_t bytes)
{
    uint64_t value = bad_value(), at = random_next() % (bytes / 4) * 4;
    sys_copy(from + at, &value, at + 8 <= bytes && random_next() & 1 ? 8 : 4);
}

static void spoil(struct agt_ctx *ctx)
{
    uint8_t *shm = (uint8_t *)ctx;
    struct agt_mail *mail = &ctx->mail;
    switch (random_next() % 14) {
    case 0:
        mail->request = (uint32_t)(random_next() % 32);
        break;
    case 1:
    case 2:
        spoil_word((uint8_t *)mail->args, sizeof(mail->args));
        break;
    case 3:
        spoil_word((uint8_t *)&mail->fault, sizeof(mail->fault));
        break;
    case 4: /* registers, time, branch */
        spoil_word(shm, AGT_CTX_REP_COUNT + 8);
        break;
    case 5:
        ctx->log_bytes = bad_value();
        break;
    case 6:
        ctx->jump_count = (uint32_t)bad_value();
        break;
    case 7:
        ctx->task = (uint32_t)bad_value();
        break;
    case 8:
        spoil_word(shm + AGT_LOG_OFF, 256);
        break;
    case 9:
        spoil_word(shm + AGT_XFER_OFF, 4096);
        break;
    case 10:
        spoil_word(shm + AGT_TASKS_OFF, 4 * sizeof(struct agt_task));
        break;
    case 11:
        spoil_word(shm + AGT_COUNT_OFF, 4096);
        break;
    case 12:
        spoil_word(shm + AGT_RING_OFF, 65536);
        break;
    default:
        spoil_word(shm + AGT_JUMPS_OFF, 4096);
        break;
    }
}

static long call_32(const volatile struct hostile_call *call)
{
    long result;
    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(call->number), "b"(call->args[0]), "c"(call->args[1]), "d"(call->args[2])
                     : "memory");
    return result;
}

/* The last one's result is where r15 of the running task should be. */
static void calls_make(struct agt_ctx *ctx)
{
    struct agt_task *tasks = (struct agt_task *)((uint8_t *)ctx + AGT_TASKS_OFF);
    long result = 0;
    for (uint64_t i = 0; i < the_plan.call_count; i++) {
        const volatile struct hostile_call *call = &the_plan.calls[i];
        result = the_plan.kind == HOSTILE_CALL_32
                     ? call_32(call)
                     : sys_call6((long)call->number, (long)call->args[0], (long)call->args[1],
                                 (long)call->args[2], (long)call->args[3], (long)call->args[4],
                                 (long)call->args[5]);
    }
    tasks[ctx->task].regs.r[EVQ_R15] = (uint64_t)result;
}

static void hash_fill(struct agt_ctx *ctx)
{
    struct agt_lookup *table = (struct agt_lookup *)((uint8_t *)ctx + AGT_LOOKUP_OFF);
    for (uint64_t i = 0; i <= ctx->lookup_mask; i++) {
        if (!table[i].pc)
            table[i].pc = 2;
    }
}

/* Asks without end, as a program does that changes its own code all the time. */
__attribute__((noreturn)) static void nag(struct agt_mail *mail)
{
    for (;;) {
        mail->request = AGT_REQ_CODE_CHANGED;
        mail->args[0] = 0x1000;
        mail->args[1] = 0x2000;
        *(volatile uint32_t *)&mail->turn = 1;
        sys_call3(SYS_futex, (long)&mail->turn, FUTEX_WAKE, 1);
        while (*(volatile uint32_t *)&mail->turn)
            ;
    }
}

__attribute__((noreturn)) static void lines_send(struct agt_ctx *ctx)
{
    struct agt_mail *mail = &ctx->mail;
    uint8_t *area = (uint8_t *)ctx + AGT_XFER_OFF;
    uint64_t first, second;
    sys_copy(&first, area, 8);
    second = first + (uint64_t)the_plan.step;
    sys_copy(area + 8 + AGT_LINE_BYTES, &second, 8);
    for (;;) {
        mail->request = AGT_REQ_LINES;
        mail->args[0] = 2 * (8 + AGT_LINE_BYTES);
        *(volatile uint32_t *)&mail->turn = 1;
        sys_call3(SYS_futex, (long)&mail->turn, FUTEX_WAKE, 1);
        while (*(volatile uint32_t *)&mail->turn)
            ;
    }
}

/* Changes what was collected since the run began. */
static void ring_change(const struct agt_ctx *ctx)
{
    uint64_t *word = (uint64_t *)((uint8_t *)ctx + ctx->ring_start);
    uint64_t *end = (uint64_t *)((uint8_t *)ctx + (uint32_t)ctx->r15);
    for (; word < end; word++) {
        if (*word == the_plan.ring_word)
            *word = the_plan.ring_other;
    }
}

/* Stands in place of the store that gives the turn away. */
static void turn_give(uint32_t *turn, uint32_t value)
{
    struct agt_ctx *ctx =
        (struct agt_ctx *)((uint8_t *)turn - __builtin_offsetof(struct agt_ctx, mail.turn));
    bool is_state = ctx->mail.request == AGT_REQ_REPLY && ctx->mail.command == AGT_CMD_STATE;
    bool is_lines = ctx->mail.request == AGT_REQ_REPLY && ctx->mail.command == AGT_CMD_LINES;
    bool is_time = ++turns >= the_plan.first;
    while (the_plan.kind == HOSTILE_DEAF && is_time)
        ;
    if (the_plan.kind == HOSTILE_EXIT && is_time)
        sys_call3(SYS_exit_group, 0, 0, 0);
    if (the_plan.kind == HOSTILE_FULL_HASH && is_time)
        hash_fill(ctx);
    if (the_plan.kind == HOSTILE_NAGGING && is_time && ctx->mail.request != AGT_REQ_REPLY)
        nag(&ctx->mail);
    if (the_plan.kind == HOSTILE_LINES && is_time && is_lines && ctx->mail.args[0])
        lines_send(ctx);
    if (the_plan.kind == HOSTILE_RING && ctx->collecting)
        ring_change(ctx);
    if (the_plan.kind == HOSTILE_SPOIL) {
        state += turns == 1 ? the_plan.seed : 0;
        if (is_time && turns % the_plan.every == 0)
            spoil(ctx);
    } else if ((the_plan.kind == HOSTILE_CALL || the_plan.kind == HOSTILE_CALL_32) && is_state) {
        calls_make(ctx);
    }
    *(volatile uint32_t *)turn = value;
}

static long agent_call6(long number, long a, long b, long c, long d, long e, long f)
{
    bool is_announcement = number == SYS_prctl && a == 1;
    while (the_plan.kind == HOSTILE_MUTE_COPY && is_announcement)
        ;
    if (the_plan.kind == HOSTILE_EXIT_COPY && is_announcement)
        sys_call3(SYS_exit_group, 0, 0, 0);
    return sys_call6(number, a, b, c, d, e, f);
}

#define sys_call6                        agent_call6
#define __atomic_store_n(at, value, how) turn_give(at, value)

#include "recorder/agent/agent.c"
