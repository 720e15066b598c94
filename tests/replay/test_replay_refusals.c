/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What replay refuses, it names in one line; a recording that lies is found out. */
#include <cpuid.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cpuid.h"
#include "dbgcli/exit_status.h"
#include "tests/record/spawn.h"
#include "tests/replay/replay_unit.h"
#include "tests/skipped.h"
#include <wetdbg/errors.h>

static char *record(const char *name, const char *program)
{
    const char *argv[] = {program, NULL};
    return unit_record(unit_work, name, argv);
}

/* Exit status 3 and one line on stderr in which `words` are. */
static void driver_refuses(const char *dir, const char *words)
{
    const char *argv[] = {REPLAY_DRIVER, dir, NULL};
    struct spawn_result result = spawn(argv, NULL);
    assert_int_equal(result.status, CLI_EXIT_TRACE << 8);
    const char *line_end = strchr(result.err, '\n');
    assert_non_null(line_end);
    assert_int_equal(line_end[1], 0);
    if (!strstr(result.err, words))
        fail_msg("\"%s\" does not say \"%s\"", result.err, words);
    spawn_result_fini(&result);
}

/* What a recording tells before it is replayed. */
struct told {
    int wait_status;
    struct rrt_processor processor;
};

static int replay(const char *dir, struct told *told)
{
    struct unit_replay replay;
    int err = unit_open(&replay, dir, NULL, DBI_COUNT);
    if (!err) {
        *told = (struct told){rep_feed_info(replay.feed)->wait_status,
                              rep_feed_cpu(replay.feed)->processor};
        err = unit_run_to_end(&replay);
    }
    unit_close(&replay);
    return err;
}

static void system_call_of_32_bits_is_named(void **state)
{
    char *dir = record("refused", GUEST_REFUSED);
    struct told told = {0};
    int err = replay(dir, &told);
    (void)state;
    if (told.wait_status == SIGSEGV) {
        unit_check(err, "an int 0x80 that faults");
        free(dir);
        skipped_say("test_replay_refusals", "int 0x80: no system calls of 32 bits here");
        skip();
    }
    driver_refuses(dir, "a 32-bit system call (int 0x80)");
    free(dir);
}

/* ---- results from outside ---- */

static void outside_is_refused(const char *name, bool has_it, const char *words)
{
    const char *argv[] = {GUEST_OUTSIDE, name, NULL};
    if (!has_it) {
        printf("SKIPPED: test_replay_refusals: %s: this processor lacks it\n", name);
        return;
    }
    char *dir = unit_record(unit_work, name, argv);
    driver_refuses(dir, words);
    free(dir);
}

static void results_in_no_recording_are_refused_with_the_reason(void **state)
{
    (void)state;
    outside_is_refused("rdrand", wd_cpuid_ask(1, 0).ecx >> 30 & 1,
                       "std::random_device(\"/dev/urandom\")");
    outside_is_refused("rdseed", wd_cpuid_has(7) && wd_cpuid_ask(7, 0).ebx >> 18 & 1,
                       "its random number is in no recording");
}

/* A kernel without FSGSBASE knows nothing of such a base; most leave the instruction illegal. */
static void segment_base_is_refused_if_the_kernel_does_not_keep_it(void **state)
{
    const char *argv[] = {GUEST_OUTSIDE, "wrfsbase", NULL};
    char *dir = unit_record(unit_work, "wrfsbase", argv);
    struct told told = {0};
    int err = replay(dir, &told);
    (void)state;
    if (dbi_has_fsgsbase() || told.wait_status == SIGILL)
        unit_check(err, "wrfsbase");
    else
        driver_refuses(dir, "it needs a kernel that lets programs set segment bases (FSGSBASE)");
    free(dir);
}

/* ---- which processor it was ---- */

static void side_file_remove(const char *dir, const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    assert_int_equal(unlink(path), 0);
}

static void processor_file_write(const char *dir, uint64_t bound, uint64_t lsl)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/" RRT_PROCESSOR_NAME, dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s 1\nbound %llu\nlsl %llu\n", RRT_PROCESSOR_NAME, (unsigned long long)bound,
            (unsigned long long)lsl);
    assert_int_equal(fclose(file), 0);
}

/* The file says what was so; nothing; what was so of another processor; what was not so. */
static void processor_is_told_only_if_it_was_noted(void **state)
{
    const char *argv[] = {GUEST_OUTSIDE, "lsl", NULL};
    struct told noted, other;
    struct wetdbg_recording *trace;
    char *dir = unit_record(unit_work, "lsl", argv);
    (void)state;
    unit_check(wetdbg_recording_open(dir, &trace), "open");
    uint64_t bound = (uint64_t)rrt_trace_header(trace)->bind_to_cpu;
    wetdbg_recording_close(trace);
    unit_check(replay(dir, &noted), "the number that was noted");
    assert_int_equal(noted.processor.lsl & 0xfff, bound);
    side_file_remove(dir, RRT_PROCESSOR_NAME);
    side_file_remove(dir, "wetdbg.sums");
    driver_refuses(dir, "not known of this recording");
    processor_file_write(dir, bound + 1, noted.processor.lsl);
    assert_int_equal(replay(dir, &other), -WETDBG_ERR_UNSUPPORTED);
    processor_file_write(dir, bound, noted.processor.lsl + 1);
    assert_int_equal(replay(dir, &other), -WETDBG_ERR_DIVERGED);
    assert_int_equal(other.processor.lsl, noted.processor.lsl + 1);
    processor_file_write(dir, bound, noted.processor.lsl);
    unit_check(replay(dir, &other), "the number that was so");
    free(dir);
}

static void processor_without_a_note_is_refused_at_rdpid(void **state)
{
    const char *argv[] = {GUEST_OUTSIDE, "rdpid", NULL};
    struct told noted;
    (void)state;
    if (!wd_cpuid_has(7) || !(wd_cpuid_ask(7, 0).ecx & bit_RDPID)) {
        printf("SKIPPED: test_replay_refusals: rdpid: this processor lacks it\n");
        skip();
    }
    char *dir = unit_record(unit_work, "rdpid", argv);
    unit_check(replay(dir, &noted), "the number that was noted");
    side_file_remove(dir, RRT_PROCESSOR_NAME);
    side_file_remove(dir, "wetdbg.sums");
    driver_refuses(dir, "not known of this recording");
    free(dir);
}

/* ---- a recording that was altered ---- */

struct altered {
    struct rep_feed *feed;
    uint64_t countdown; /* system calls until the one that is altered */
    enum evq_reg reg;
    uint64_t frame; /* of that one */
};

/* The feed's entries, with one bit of one recorded register flipped. */
static int altered_next(void *arg, struct wd_buf *out)
{
    struct altered *altered = arg;
    size_t from = out->size_bytes;
    int more = rep_feed_next(altered->feed, out);
    for (size_t at = from; more > 0 && at < out->size_bytes;) {
        struct evq_entry *entry = (struct evq_entry *)(out->data + at);
        if (entry->kind == EVQ_SYSCALL_ENTER && altered->countdown-- == 0) {
            ((struct evq_regs *)(entry + 1))->r[altered->reg] ^= 0x10;
            altered->frame = entry->frame;
        }
        at += entry->bytes;
    }
    return more;
}

static void altered_register_is_named(const char *dir, enum evq_reg reg, const char *name,
                                      enum dbi_mode mode)
{
    struct unit_replay replay;
    enum rep_stop why = REP_STOP_TIME;
    char words[64];
    int err = 0;
    unit_check(unit_open(&replay, dir, NULL, mode), "open");
    struct altered altered = {.feed = replay.feed, .countdown = 5, .reg = reg};
    struct rep_source source = {.next = altered_next, .arg = &altered};
    while (!err && why == REP_STOP_TIME)
        err = rep_engine_run(replay.engine, &source, 1 << 20, false, &why);
    assert_int_equal(err, -WETDBG_ERR_DIVERGED);
    assert_int_equal(cli_exit_status(err), CLI_EXIT_DIVERGED);
    const char *message = wetdbg_error(err);
    snprintf(words, sizeof(words), "at event %llu, instruction %llu, 0x",
             (unsigned long long)altered.frame, (unsigned long long)rep_engine_time(replay.engine));
    if (!strstr(message, words))
        fail_msg("\"%s\" does not say \"%s\"", message, words);
    snprintf(words, sizeof(words), ": %s is ", name);
    if (!strstr(message, words))
        fail_msg("\"%s\" does not say \"%s\"", message, words);
    unit_close(&replay);
}

static void altered_registers_diverge_where_they_are(void **state)
{
    char *dir = record("altered", GUEST_PLAIN);
    (void)state;
    altered_register_is_named(dir, EVQ_RDI, "rdi", DBI_PLAIN);
    altered_register_is_named(dir, EVQ_R15, "r15", DBI_COUNT);
    altered_register_is_named(dir, EVQ_RSP, "rsp", DBI_COLLECT);
    altered_register_is_named(dir, EVQ_RIP, "rip", DBI_PLAIN);
    altered_register_is_named(dir, EVQ_FS_BASE, "fs_base", DBI_COUNT);
    free(dir);
}

/* An event that never comes: the next system call is another one. */
static int dropping_next(void *arg, struct wd_buf *out)
{
    struct altered *altered = arg;
    int more = rep_feed_next(altered->feed, out);
    const struct evq_entry *entry = (const struct evq_entry *)out->data;
    if (more > 0 && out->size_bytes >= sizeof(*entry))
        altered->frame = entry->frame;
    if (altered->countdown == 0 || --altered->countdown)
        return more;
    size_t before = out->size_bytes;
    more = rep_feed_next(altered->feed, out); /* one frame's entries are lost */
    out->size_bytes = before;
    return more < 0 ? more : rep_feed_next(altered->feed, out);
}

static void lost_event_diverges(void **state)
{
    struct unit_replay replay;
    enum rep_stop why = REP_STOP_TIME;
    int err = 0;
    (void)state;
    char *dir = record("lost", GUEST_PLAIN);
    unit_check(unit_open(&replay, dir, NULL, DBI_PLAIN), "open");
    struct altered altered = {.feed = replay.feed, .countdown = 12};
    struct rep_source source = {.next = dropping_next, .arg = &altered};
    while (!err && why == REP_STOP_TIME)
        err = rep_engine_run(replay.engine, &source, 1 << 20, false, &why);
    if (err != -WETDBG_ERR_DIVERGED)
        fail_msg("result %d: %s", err, wetdbg_error(err));
    assert_non_null(strstr(wetdbg_error(err), "event"));
    unit_close(&replay);
    free(dir);
}

/* ---- a fault that is lost, and has a handler ---- */

struct lost_fault {
    struct rep_feed *feed;
    unsigned seen, lost; /* faults so far; which one never comes */
};

static int lost_fault_next(void *arg, struct wd_buf *out)
{
    struct lost_fault *lost = arg;
    size_t from = out->size_bytes;
    int more = rep_feed_next(lost->feed, out);
    const struct evq_entry *entry = (const struct evq_entry *)(out->data + from);
    if (more <= 0 || entry->kind != EVQ_FAULT || ++lost->seen != lost->lost)
        return more;
    out->size_bytes = from;
    return rep_feed_next(lost->feed, out);
}

/* The signal's handler is entered without anything to run: that the signal is not due yet shows in
 * the registers. */
static void lost_fault_of_a_handled_signal_diverges(void **state)
{
    static const enum dbi_mode modes[] = {DBI_PLAIN, DBI_COUNT, DBI_COLLECT};
    char *dir = record("lost_fault", GUEST_ILLEGAL);
    (void)state;
    for (unsigned i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
        struct unit_replay replay;
        enum rep_stop why = REP_STOP_TIME;
        int err = 0;
        unit_check(unit_open(&replay, dir, NULL, modes[i]), "open");
        struct lost_fault lost = {.feed = replay.feed, .lost = i + 1};
        struct rep_source source = {.next = lost_fault_next, .arg = &lost};
        while (!err && why == REP_STOP_TIME)
            err = rep_engine_run(replay.engine, &source, 1 << 20, false, &why);
        if (lost.seen > i && err != -WETDBG_ERR_DIVERGED)
            fail_msg("fault %u is lost, and the result %d", i + 1, err);
        assert_true(i > 0 || lost.seen > 0 || rep_feed_info(replay.feed)->wait_status);
        unit_close(&replay);
    }
    free(dir);
}

/* ---- instructions that are refused unless they were illegal ---- */

struct illegal {
    struct rep_feed *feed;
    unsigned seen, other; /* SIGILLs so far; the one that becomes another signal */
};

static int illegal_next(void *arg, struct wd_buf *out)
{
    struct illegal *illegal = arg;
    size_t from = out->size_bytes;
    int more = rep_feed_next(illegal->feed, out);
    struct evq_entry *entry = (struct evq_entry *)(out->data + from);
    if (more > 0 && entry->kind == EVQ_FAULT && entry->number == SIGILL &&
        ++illegal->seen == illegal->other)
        entry->number = SIGBUS;
    return more;
}

static int illegal_run(const char *dir, unsigned other, enum dbi_mode mode, int *wait_status)
{
    struct unit_replay replay;
    enum rep_stop why = REP_STOP_TIME;
    int err = unit_open(&replay, dir, NULL, mode);
    unit_check(err, "open");
    *wait_status = rep_feed_info(replay.feed)->wait_status;
    struct illegal illegal = {.feed = replay.feed, .other = other};
    struct rep_source source = {.next = illegal_next, .arg = &illegal};
    while (!err && why == REP_STOP_TIME)
        err = rep_engine_run(replay.engine, &source, 1 << 20, false, &why);
    unit_close(&replay);
    return err;
}

static void refused_instruction_is_named_unless_it_was_illegal(void **state)
{
    static const char *const names[] = {"ldtilecfg", "sttilecfg",  "tilerelease", "tilezero",
                                        "tdpbssd",   "tilestored", "tileloadd",   "enqcmd"};
    static const enum dbi_mode modes[] = {DBI_PLAIN, DBI_COUNT, DBI_COLLECT};
    char *dir = record("illegal", GUEST_ILLEGAL);
    int wait_status = 0;
    (void)state;
    int err = illegal_run(dir, 0, DBI_PLAIN, &wait_status);
    if (wait_status == 2 << 8) {
        free(dir);
        printf("SKIPPED: test_replay_refusals: AMX and enqcmd are legal on this processor\n");
        skip();
    }
    assert_int_equal(wait_status, 0);
    for (unsigned i = 0; i < sizeof(modes) / sizeof(*modes); i++)
        unit_check(illegal_run(dir, 0, modes[i], &wait_status), "what was illegal");
    for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
        err = illegal_run(dir, i + 1, modes[i % 3], &wait_status);
        const char *message = wetdbg_error(err);
        if (err != -WETDBG_ERR_UNSUPPORTED || !strstr(message, names[i]) ||
            !strstr(message, "cannot be replayed"))
            fail_msg("result %d, \"%s\" does not name %s", err, message, names[i]);
    }
    free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(system_call_of_32_bits_is_named),
        cmocka_unit_test(results_in_no_recording_are_refused_with_the_reason),
        cmocka_unit_test(segment_base_is_refused_if_the_kernel_does_not_keep_it),
        cmocka_unit_test(processor_is_told_only_if_it_was_noted),
        cmocka_unit_test(processor_without_a_note_is_refused_at_rdpid),
        cmocka_unit_test(altered_registers_diverge_where_they_are),
        cmocka_unit_test(lost_event_diverges),
        cmocka_unit_test(lost_fault_of_a_handled_signal_diverges),
        cmocka_unit_test(refused_instruction_is_named_unless_it_was_illegal),
    };
    return cmocka_run_group_tests(tests, unit_work_new, unit_work_remove);
}
