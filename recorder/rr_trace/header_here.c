/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rr writes a recording's header when it ends. One that did not end has none, and was mostly made
 * on the very machine where somebody asks what happened.
 */
#include <errno.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cpuid.h"
#include "recorder/rr_trace/trace_internal.h"

#define ARCH_SET_CPUID_NUMBER 0x1012
#define RRCALL_BASE           1000
#define SUBLEAVES_MAX         64

/* Whether rr can have cpuid fault here. The answer changes nothing: it does not fault for us. */
static bool has_cpuid_faulting(void)
{
    return syscall(SYS_arch_prctl, ARCH_SET_CPUID_NUMBER, 1) == 0;
}

/* How many subleaves are worth asking for; 0: the leaf has none. */
static uint32_t count_subleaves(uint32_t leaf)
{
    switch (leaf) {
    case 0xd:
        return SUBLEAVES_MAX;
    case 7:
    case 0x14:
    case 0x17:
    case 0x18:
        return wd_cpuid_ask(leaf, 0).eax % SUBLEAVES_MAX + 1;
    case 4:
    case 0xb:
    case 0xf:
    case 0x10:
    case 0x12:
    case 0x1f:
    case 0x8000001d:
        return 8;
    default:
        return 0;
    }
}

struct answers {
    struct rrt_cpuid list[1024];
    size_t count;
};

static void add_answer(struct answers *answers, uint32_t leaf, uint32_t subleaf, bool has_subleaf)
{
    if (answers->count == sizeof(answers->list) / sizeof(answers->list[0]))
        return;
    struct wd_cpuid is = wd_cpuid_ask(leaf, subleaf);
    answers->list[answers->count++] = (struct rrt_cpuid){
        leaf, has_subleaf ? subleaf : RRT_CPUID_NO_SUBLEAF, is.eax, is.ebx, is.ecx, is.edx};
}

static void add_leaves(struct answers *answers, uint32_t first)
{
    uint32_t last = wd_cpuid_ask(first, 0).eax;
    for (uint32_t leaf = first; leaf >= first && leaf <= last && leaf - first < 0x100; leaf++) {
        uint32_t subleaves = count_subleaves(leaf);
        if (!subleaves)
            add_answer(answers, leaf, 0, false);
        for (uint32_t i = 0; i < subleaves; i++)
            add_answer(answers, leaf, i, true);
    }
}

static uint64_t xcr0_here(void)
{
    if (!wd_cpuid_has(0xd))
        return 3; /* x87 and SSE, which every x86-64 has */
    struct wd_cpuid is = wd_cpuid_ask(0xd, 0);
    return (uint64_t)is.edx << 32 | is.eax;
}

int rrt_header_assume(struct rrt_arena *arena, struct rrt_header *header)
{
    struct answers answers = {.count = 0};
    add_leaves(&answers, 0);
    add_leaves(&answers, 0x80000000u);
    struct rrt_cpuid *cpuid = rrt_arena_alloc(arena, answers.count, sizeof(*cpuid));
    if (!cpuid)
        return -ENOMEM;
    for (size_t i = 0; i < answers.count; i++)
        cpuid[i] = answers.list[i];
    *header = (struct rrt_header){.bind_to_cpu = -1,
                                  .is_assumed = true,
                                  .has_cpuid_faulting = has_cpuid_faulting(),
                                  .clears_fip_fdp = true,
                                  .pkey_alloc_has_extra_regs = true,
                                  .uses_globals_in_replay = true,
                                  .buffered_syscall_forced_tick = true,
                                  .preload_thread_locals_recorded = true,
                                  .xcr0 = xcr0_here(),
                                  .rrcall_base = RRCALL_BASE,
                                  .forward_compatibility = 3,
                                  .syscallbuf_fds_disabled_size = 1024,
                                  .syscallbuf_header_size_bytes = 30,
                                  .cpuid = cpuid,
                                  .cpuid_count = answers.count};
    return 0;
}
