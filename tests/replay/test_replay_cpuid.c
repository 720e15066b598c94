/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recordings in which each cpuid is an event. Where rr can make it one, it has; elsewhere the
 * recording is told to have them, and they are added to what the feed says, behind each write() of
 * the guest.
 */
#include <cpuid.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "recorder/event/ops.h"
#include "tests/replay/replay_unit.h"
#include <wetdbg/errors.h>

#define NEVER 100

struct traps {
    struct rep_feed *feed;
    unsigned cpuids;      /* added so far */
    unsigned lost;        /* which one is not */
    unsigned rdtscs;      /* seen so far */
    unsigned rdtsc_other; /* of which one a register is altered: */
    enum evq_reg reg;
};

static bool is_made_by_rr;

static void cpuid_faults(struct rrt_header *header)
{
    is_made_by_rr = header->has_cpuid_faulting;
    header->has_cpuid_faulting = true;
}

/* The cpuid that follows the write() whose exit this is, as rr would have it. */
static int cpuid_add(const struct evq_entry *exit, struct wd_buf *out)
{
    struct {
        struct evq_entry entry;
        struct evq_regs found;
        struct evq_op op;
        struct evq_regs loaded;
    } trap = {.entry = {.bytes = sizeof(trap),
                        .kind = EVQ_TRAP,
                        .flags = EVQ_FLAG_REGS,
                        .task = exit->task,
                        .op_count = 1,
                        .frame = exit->frame,
                        .compare_mask = (EVQ_MASK_GENERAL | EVQ_BIT(EVQ_EFLAGS)) &
                                        ~(EVQ_BIT(EVQ_RAX) | EVQ_BIT(EVQ_RDX))},
              .op = {.bytes = sizeof(trap.op) + sizeof(trap.loaded), .op = EVQ_OP_REGS}};
    uint32_t a, b, c, d;
    __cpuid_count(0, 0, a, b, c, d);
    assert_non_null(evq_entry_loads(exit));
    trap.found = *evq_entry_loads(exit);
    trap.found.r[EVQ_RIP] += 2;
    trap.found.r[EVQ_RAX] = a;
    trap.found.r[EVQ_RBX] = b;
    trap.found.r[EVQ_RCX] = c;
    trap.found.r[EVQ_RDX] = d;
    trap.loaded = trap.found;
    return wd_buf_append(out, &trap, sizeof(trap));
}

static int traps_next(void *arg, struct wd_buf *out)
{
    struct traps *traps = arg;
    size_t from = out->size_bytes;
    int more = rep_feed_next(traps->feed, out);
    if (more <= 0)
        return more;
    struct evq_entry *entry = (struct evq_entry *)(out->data + from);
    if (is_made_by_rr && entry->kind == EVQ_TRAP && traps->cpuids == traps->rdtscs) {
        bool is_lost = ++traps->cpuids == traps->lost;
        out->size_bytes = is_lost ? from : out->size_bytes;
        return is_lost ? rep_feed_next(traps->feed, out) : more;
    }
    if (entry->kind == EVQ_TRAP && ++traps->rdtscs == traps->rdtsc_other)
        ((struct evq_regs *)(entry + 1))->r[traps->reg] ^= 1;
    if (is_made_by_rr || entry->kind != EVQ_SYSCALL_EXIT || entry->number != SYS_write)
        return more;
    struct evq_entry *exit = malloc(entry->bytes);
    assert_non_null(exit);
    memcpy(exit, entry, entry->bytes);
    int err = ++traps->cpuids == traps->lost ? 0 : cpuid_add(exit, out);
    free(exit);
    return err ? err : more;
}

static char *the_recording;

static int recording_make(void **state)
{
    const char *argv[] = {GUEST, NULL};
    int err = unit_work_new(state);
    the_recording = unit_record(unit_work, "cpuid", argv);
    return err;
}

static int recording_drop(void **state)
{
    free(the_recording);
    return unit_work_remove(state);
}

static int replay_run(struct traps *traps, enum dbi_mode mode)
{
    struct unit_replay replay;
    enum rep_stop why = REP_STOP_TIME;
    int err = unit_open_altered(&replay, the_recording, cpuid_faults, mode);
    unit_check(err, "open");
    traps->feed = replay.feed;
    struct rep_source source = {.next = traps_next, .arg = traps};
    while (!err && why == REP_STOP_TIME)
        err = rep_engine_run(replay.engine, &source, 1 << 20, false, &why);
    unit_close(&replay);
    return err;
}

static void diverges_with(struct traps *traps, enum dbi_mode mode, const char *words)
{
    int err = replay_run(traps, mode);
    if (err != -WETDBG_ERR_DIVERGED || !strstr(wetdbg_error(err), words))
        fail_msg("result %d, \"%s\" does not say \"%s\"", err, wetdbg_error(err), words);
}

static const enum dbi_mode modes[] = {DBI_PLAIN, DBI_COUNT, DBI_COLLECT};

static void recorded_cpuid_is_answered_by_its_event(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
        struct traps traps = {.lost = NEVER};
        unit_check(replay_run(&traps, modes[i]), "replay");
        assert_int_equal(traps.cpuids, 3);
        assert_int_equal(traps.rdtscs, 3);
    }
}

static void lost_cpuid_event_diverges(void **state)
{
    (void)state;
    for (unsigned lost = 1; lost <= 3; lost++) {
        struct traps traps = {.lost = lost};
        diverges_with(&traps, modes[lost - 1], "diverged at event ");
    }
}

static void registers_that_rdtsc_keeps_are_compared(void **state)
{
    (void)state;
    struct traps rbx = {.lost = NEVER, .rdtsc_other = 2, .reg = EVQ_RBX};
    diverges_with(&rbx, DBI_PLAIN, ": rbx is 0x7, recorded 0x6");
    struct traps rcx = {.lost = NEVER, .rdtsc_other = 1, .reg = EVQ_RCX};
    diverges_with(&rcx, DBI_COUNT, ": rcx is 0x8, recorded 0x9");
    struct traps rax = {.lost = NEVER, .rdtsc_other = 3, .reg = EVQ_RAX};
    unit_check(replay_run(&rax, DBI_PLAIN), "replay with another clock");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_cpuid_is_answered_by_its_event),
        cmocka_unit_test(lost_cpuid_event_diverges),
        cmocka_unit_test(registers_that_rdtsc_keeps_are_compared),
    };
    return cmocka_run_group_tests(tests, recording_make, recording_drop);
}
