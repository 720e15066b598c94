/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The oracle against what is known without it: a program counted by hand, a native run of the
 * same stretch, and itself (a byte may only change where an instruction or an event says so).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* clang-format off: cmocka.h wants the headers above first */
#include <cmocka.h>
/* clang-format on */

#include "tests/oracle/oracle.h"
#include <wetdbg/errors.h>

#define COUNT_PROGRAM_INSTRUCTIONS 64
#define TRAP_FLAG                  0x100

static char work_dir[] = "/tmp/wetdbg-oracle-XXXXXX";

static void check(int err)
{
    if (err != 0)
        fail_msg("%s", wetdbg_error(err));
}

/* ---------------------------------------------------------------- recordings */

/* Records `program` (with one argument, if any) once per name; its trace directory in `dir`. */
static void record(const char *name, const char *program, const char *argument, char dir[256])
{
    pid_t pid;
    int status;
    struct stat st;

    snprintf(dir, 256, "%s/%s", work_dir, name);
    if (stat(dir, &st) == 0)
        return;
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, 0);
        dup2(null, 1);
        dup2(null, 2); /* a crashing program's last words are expected */
        execl(ORC_RECORD_DRIVER, ORC_RECORD_DRIVER, "-q", "-o", dir, "--", program, argument, NULL);
        _exit(126);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (stat(dir, &st) != 0)
        fail_msg("%s could not be recorded (status %#x)", program, status);
}

struct session {
    struct wetdbg_recording *trace;
    struct orc *orc;
};

static struct session open_session(const char *dir)
{
    struct session s = {0};

    check(wetdbg_recording_open(dir, &s.trace));
    check(orc_open(s.trace, 0, &s.orc));
    return s;
}

static void close_session(struct session *s)
{
    orc_close(s->orc);
    wetdbg_recording_close(s->trace);
}

static struct session open_count_program(void)
{
    char dir[256];

    record("count", ORC_COUNT_PROGRAM, NULL, dir);
    return open_session(dir);
}

static struct session open_sample(const char *name)
{
    char dir[256];
    char program[512];

    snprintf(program, sizeof(program), "%s/%s", ORC_PROGRAMS_DIR, name);
    record(name, program, ORC_PROGRAMS_DATA "/lines.txt", dir);
    return open_session(dir);
}

/* ---------------------------------------------------------------- the counted program */

static void step_hand_counted_program_matches(void **state)
{
    struct session s = open_count_program();
    uint64_t done;

    (void)state;
    check(orc_step(s.orc, UINT64_MAX, NULL, NULL, &done));
    assert_int_equal(done, COUNT_PROGRAM_INSTRUCTIONS);
    assert_int_equal(orc_instruction_count(s.orc), COUNT_PROGRAM_INSTRUCTIONS);
    assert_true(orc_is_at_end(s.orc));
    close_session(&s);
}

static int count_only(void *context, const struct orc_insn *insn)
{
    uint64_t *count = context;

    assert_int_equal(insn->index, *count);
    ++*count;
    return 0;
}

static void step_watched_counts_as_blind(void **state)
{
    struct session s = open_count_program();
    uint64_t count = 0;
    uint64_t done;

    (void)state;
    check(orc_step(s.orc, UINT64_MAX, count_only, &count, &done));
    assert_int_equal(done, COUNT_PROGRAM_INSTRUCTIONS);
    assert_int_equal(count, COUNT_PROGRAM_INSTRUCTIONS);
    close_session(&s);
}

/* Steps to the n-th instruction (from 0) that begins with `code`, and keeps a copy of it. */
struct search {
    const uint8_t *code;
    size_t code_bytes;
    unsigned skip;
    struct orc_insn insn;
    struct orc_operand operands[ORC_OPERANDS_MAX];
    uint8_t before[2][1024];
    uint8_t after[2][1024];
};

static int search_step(void *context, const struct orc_insn *insn)
{
    struct search *search = context;

    if (memcmp(insn->code, search->code, search->code_bytes) != 0 || search->skip-- > 0)
        return 0;
    search->insn = *insn;
    for (size_t i = 0; i < insn->operand_count; i++) {
        const struct orc_operand *operand = &insn->operands[i];
        search->operands[i] = *operand;
        if (i < 2 && operand->before && operand->size_bytes <= sizeof(search->before[0]))
            memcpy(search->before[i], operand->before, operand->size_bytes);
        if (i < 2 && operand->after && operand->size_bytes <= sizeof(search->after[0]))
            memcpy(search->after[i], operand->after, operand->size_bytes);
    }
    return 1;
}

static void find(struct orc *orc, struct search *search, const uint8_t *code, size_t code_bytes)
{
    uint64_t done;

    memset(search, 0, sizeof(*search));
    search->code = code;
    search->code_bytes = code_bytes;
    assert_int_equal(orc_step(orc, UINT64_MAX, search_step, search, &done), 1);
}

static void rep_movs_is_one_instruction_over_its_range(void **state)
{
    static const uint8_t code[] = {0xf3, 0xa4};
    struct session s = open_count_program();
    struct search found;

    (void)state;
    find(s.orc, &found, code, sizeof(code));
    assert_int_equal(found.insn.turns, 100);
    assert_int_equal(found.insn.regs.rcx, 100);
    assert_int_equal(found.insn.length, 2);
    assert_int_equal(found.insn.operand_count, 2);
    assert_true(found.operands[0].is_write && !found.operands[0].is_read);
    assert_true(found.operands[1].is_read && !found.operands[1].is_write);
    assert_true(found.operands[0].is_implicit);
    assert_int_equal(found.operands[0].address, found.insn.regs.rdi);
    assert_int_equal(found.operands[1].address, found.insn.regs.rsi);
    assert_int_equal(found.operands[0].size_bytes, 100);
    assert_memory_equal(found.before[1], "abcdefghijklmnopqrstuvwxyzqqq", 29);
    assert_memory_equal(found.after[0], found.before[1], 100);
    for (int i = 0; i < 100; i++)
        assert_int_equal(found.before[0][i], 0);
    close_session(&s);
}

static void rep_stos_downwards_has_its_lowest_address(void **state)
{
    static const uint8_t code[] = {0xf3, 0x48, 0xab};
    struct session s = open_count_program();
    struct search found;

    (void)state;
    find(s.orc, &found, code, sizeof(code));
    assert_int_equal(found.insn.turns, 10);
    assert_int_equal(found.operands[0].address, found.insn.regs.rdi - 9 * 8);
    assert_int_equal(found.operands[0].size_bytes, 80);
    for (int i = 0; i < 10; i++)
        assert_memory_equal(found.after[0] + (ptrdiff_t)i * 8, "\x88\x77\x66\x55\x44\x33\x22\x11",
                            8);
    close_session(&s);
}

static void rep_with_zero_count_touches_nothing(void **state)
{
    static const uint8_t code[] = {0xf3, 0x48, 0xa5};
    struct session s = open_count_program();
    struct search found;

    (void)state;
    find(s.orc, &found, code, sizeof(code));
    assert_int_equal(found.insn.turns, 0);
    assert_int_equal(found.operands[0].size_bytes, 0);
    close_session(&s);
}

static void repne_scas_reads_as_far_as_it_looked(void **state)
{
    static const uint8_t code[] = {0xf2, 0xae};
    struct session s = open_count_program();
    struct search found;

    (void)state;
    find(s.orc, &found, code, sizeof(code));
    assert_int_equal(found.insn.turns, 26);
    assert_int_equal(found.operands[0].size_bytes, 26);
    assert_memory_equal(found.before[0], "abcdefghijklmnopqrstuvwxyz", 26);
    close_session(&s);
}

static void repe_cmps_stops_at_the_difference(void **state)
{
    static const uint8_t code[] = {0xf3, 0xa6};
    struct session s = open_count_program();
    struct search found;

    (void)state;
    find(s.orc, &found, code, sizeof(code));
    assert_int_equal(found.insn.turns, 101);
    assert_int_equal(found.insn.operand_count, 2);
    assert_int_equal(found.operands[0].address, found.insn.regs.rsi);
    assert_int_equal(found.operands[1].address, found.insn.regs.rdi);
    assert_int_equal(found.before[0][100], 1);
    assert_int_equal(found.before[1][100], 2);
    close_session(&s);
}

static void pushf_does_not_show_the_trap_flag(void **state)
{
    static const uint8_t code[] = {0x9c};
    struct session s = open_count_program();
    struct search found;
    uint64_t pushed;

    (void)state;
    find(s.orc, &found, code, sizeof(code));
    memcpy(&pushed, found.after[0], sizeof(pushed));
    assert_int_equal(found.operands[0].address, found.insn.regs.rsp - 8);
    assert_int_equal(pushed, found.insn.regs.eflags);
    assert_int_equal(pushed & TRAP_FLAG, 0);
    close_session(&s);
}

static void call_with_address_size_prefix_pushes_to_the_whole_rsp(void **state)
{
    static const uint8_t code[] = {0x67, 0xe8};
    struct session s = open_count_program();
    struct search found;

    (void)state;
    find(s.orc, &found, code, sizeof(code));
    assert_int_equal(found.insn.length, 6);
    assert_int_equal(found.operands[0].address, found.insn.regs.rsp - 8);
    assert_int_equal(found.operands[0].size_bytes, 8);
    close_session(&s);
}

static int last_outcome(void *context, const struct orc_insn *insn)
{
    *(enum orc_outcome *)context = insn->outcome;
    return 0;
}

static void exit_is_the_last_instruction(void **state)
{
    struct session s = open_count_program();
    enum orc_outcome outcome = ORC_COMPLETED;
    uint64_t done;

    (void)state;
    check(orc_step(s.orc, UINT64_MAX, last_outcome, &outcome, &done));
    assert_int_equal(outcome, ORC_LAST);
    close_session(&s);
}

/* ---------------------------------------------------------------- windows */

static void expect_equal_memory(struct orc *a, struct orc *b)
{
    char line[512];
    FILE *maps = fopen(orc_maps_path(a), "re");
    unsigned compared = 0;

    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps)) {
        uint64_t start;
        uint64_t end;
        uint8_t left[4096];
        uint8_t right[4096];
        if (sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) != 2 || start >> 63 ||
            start == orc_own_page(a))
            continue;
        for (; start < end; start += sizeof(left)) {
            size_t got = orc_read_memory(a, start, left, sizeof(left));
            assert_int_equal(orc_read_memory(b, start, right, sizeof(right)), got);
            if (memcmp(left, right, got) != 0)
                fail_msg("page %#" PRIx64 " differs", start);
            compared++;
        }
    }
    fclose(maps);
    assert_true(compared > 10);
}

/* Steps one session to the end of a system call in the middle of the program, runs the other. */
static void expect_step_equals_run(const char *program)
{
    struct session stepped = open_sample(program);
    struct session native = open_sample(program);
    uint64_t first = orc_event(stepped.orc) + 4;
    struct rrt_regs a;
    struct rrt_regs b;
    uint8_t image_a[4096];
    uint8_t image_b[4096];
    size_t size_a = sizeof(image_a);
    size_t size_b = sizeof(image_b);

    check(orc_run_to_event(stepped.orc, first));
    assert_int_equal(orc_event(stepped.orc), first);
    while (!orc_is_at_end(stepped.orc)) {
        uint64_t done;
        check(orc_step(stepped.orc, 1000, NULL, NULL, &done));
    }
    check(orc_run_to_end(native.orc));
    assert_int_equal(orc_event(stepped.orc), orc_event(native.orc));
    check(orc_registers(stepped.orc, &a));
    check(orc_registers(native.orc, &b));
    a.eflags &= ~UINT64_C(0x10000); /* RF is the processor's affair */
    b.eflags &= ~UINT64_C(0x10000);
    a.orig_rax = b.orig_rax;
    assert_memory_equal(&a, &b, sizeof(a));
    check(orc_vector_state(stepped.orc, image_a, &size_a));
    check(orc_vector_state(native.orc, image_b, &size_b));
    assert_int_equal(size_a, size_b);
    assert_memory_equal(image_a, image_b, size_a);
    expect_equal_memory(stepped.orc, native.orc);
    close_session(&stepped);
    close_session(&native);
}

static void step_leaves_the_state_of_a_native_run(void **state)
{
    (void)state;
    expect_step_equals_run("prog_flags_O2_static");
    expect_step_equals_run("prog_crash_fpe_O2_static");
    expect_step_equals_run("prog_segvfix_O2_static");
}

static void window_starts_counting_at_its_event(void **state)
{
    struct session s = open_sample("prog_exit3_O2_static");
    struct session whole = open_sample("prog_exit3_O2_static");
    uint64_t at = orc_event(s.orc) + 6;
    uint64_t counts[2] = {0};
    uint64_t done;

    (void)state;
    check(orc_run_to_event(s.orc, at));
    assert_int_equal(orc_instruction_count(s.orc), 0);
    check(orc_step(s.orc, UINT64_MAX, NULL, NULL, &counts[0]));
    while (orc_event(whole.orc) < at) {
        check(orc_step(whole.orc, 1, NULL, NULL, &done));
        assert_int_equal(done, 1);
    }
    check(orc_step(whole.orc, UINT64_MAX, NULL, NULL, &counts[1]));
    assert_int_equal(counts[0], counts[1]);
    close_session(&s);
    close_session(&whole);
}

static void run_to_event_past_the_end_is_not_found(void **state)
{
    struct session s = open_count_program();

    (void)state;
    assert_int_equal(orc_run_to_event(s.orc, 100000), -WETDBG_ERR_NOT_FOUND);
    assert_true(orc_is_at_end(s.orc));
    close_session(&s);
}

static void open_of_an_unknown_process_is_not_found(void **state)
{
    char dir[256];
    struct wetdbg_recording *trace;
    struct orc *orc = NULL;

    (void)state;
    record("count", ORC_COUNT_PROGRAM, NULL, dir);
    check(wetdbg_recording_open(dir, &trace));
    assert_int_equal(orc_open(trace, 1, &orc), -WETDBG_ERR_NOT_FOUND);
    assert_null(orc);
    wetdbg_recording_close(trace);
}

/* ---------------------------------------------------------------- faults */

static int keep_last(void *context, const struct orc_insn *insn)
{
    *(struct orc_insn *)context = *insn;
    return 0;
}

static void expect_last_faults(const char *program, const uint8_t *code, size_t code_bytes)
{
    struct session s = open_sample(program);
    struct orc_insn last = {0};
    uint64_t done;

    check(orc_step(s.orc, UINT64_MAX, keep_last, &last, &done));
    assert_int_equal(last.outcome, ORC_FAULTED);
    assert_true(last.code_bytes >= code_bytes);
    if (code_bytes > 0)
        assert_memory_equal(last.code, code, code_bytes);
    close_session(&s);
}

static void crash_ends_in_a_faulted_instruction(void **state)
{
    static const uint8_t ud2[] = {0x0f, 0x0b};

    (void)state;
    expect_last_faults("prog_crash_ud2_O2_static", ud2, sizeof(ud2));
    expect_last_faults("prog_crash_wildcall_O2_static", NULL, 0);
}

/* ---------------------------------------------------------------- asynchronous signals */

static void count_handlers(void *context, const struct rrt_frame *frame, uint64_t instructions)
{
    (void)instructions;
    *(unsigned *)context += frame->event == RRT_EVENT_SIGNAL_HANDLER;
}

static void alarms_inside_loops_are_placed_by_memory(void **state)
{
    struct session s = open_sample("prog_timer_O0_static");
    unsigned handlers = 0;

    (void)state;
    orc_set_event_fn(s.orc, count_handlers, &handlers);
    check(orc_run_to_end(s.orc));
    assert_int_equal(handlers, 6);
    assert_int_equal(orc_ambiguous_count(s.orc), 0);
    close_session(&s);
}

/* ---------------------------------------------------------------- nobody writes unseen
 * A table of the memory words whose value is known from an operand. When a later operand holds
 * something else before its instruction, somebody wrote there without saying so. */

enum {
    TABLE_SLOTS = 1 << 18,
};

struct known {
    uint64_t address; /* 0: free */
    uint8_t value;
};

struct watch {
    struct known *slots;
    size_t used;
    uint64_t checked;
};

static struct known *slot_of(struct watch *watch, uint64_t address)
{
    size_t at = (address * UINT64_C(0x9e3779b97f4a7c15)) >> 46;

    while (watch->slots[at].address != 0 && watch->slots[at].address != address)
        at = (at + 1) % TABLE_SLOTS;
    return &watch->slots[at];
}

static void watch_forget_all(struct watch *watch)
{
    memset(watch->slots, 0, TABLE_SLOTS * sizeof(*watch->slots));
    watch->used = 0;
}

static void watch_operand(struct watch *watch, const struct orc_insn *insn,
                          const struct orc_operand *operand)
{
    for (uint64_t i = 0; operand->before && i < operand->size_bytes; i++) {
        struct known *known = slot_of(watch, operand->address + i);
        if (known->address == 0)
            continue;
        watch->checked++;
        if (known->value != operand->before[i]) {
            orc_insn_print(insn, stderr);
            fail_msg("byte %#" PRIx64 " changed unseen", operand->address + i);
        }
    }
}

static void watch_learn(struct watch *watch, const struct orc_operand *operand)
{
    for (uint64_t i = 0; operand->after && i < operand->size_bytes; i++) {
        struct known *known;
        if (watch->used > TABLE_SLOTS / 2)
            watch_forget_all(watch);
        known = slot_of(watch, operand->address + i);
        watch->used += known->address == 0;
        *known = (struct known){operand->address + i, operand->after[i]};
    }
}

static int watch_step(void *context, const struct orc_insn *insn)
{
    struct watch *watch = context;

    assert_int_not_equal(insn->length, 0);
    for (size_t i = 0; i < insn->operand_count; i++)
        watch_operand(watch, insn, &insn->operands[i]);
    for (size_t i = 0; i < insn->operand_count; i++)
        watch_learn(watch, &insn->operands[i]);
    return 0;
}

/* Forgets what an event writes or maps. */
static void watch_event(void *context, const struct rrt_frame *frame, uint64_t instructions)
{
    struct watch *watch = context;

    (void)instructions;
    if (frame->write_count || frame->mmap_count || frame->event == RRT_EVENT_SYSCALL)
        watch_forget_all(watch);
}

static void expect_no_unseen_writes(const char *program, uint64_t checked_min)
{
    struct session s = open_sample(program);
    struct watch watch = {.slots = calloc(TABLE_SLOTS, sizeof(struct known))};
    uint64_t done;

    assert_non_null(watch.slots);
    orc_set_event_fn(s.orc, watch_event, &watch);
    check(orc_step(s.orc, UINT64_MAX, watch_step, &watch, &done));
    assert_true(orc_is_at_end(s.orc));
    assert_true(watch.checked > checked_min);
    free(watch.slots);
    close_session(&s);
}

static void operands_name_every_write(void **state)
{
    (void)state;
    expect_no_unseen_writes("prog_repstr_O2_static", 1000);
    expect_no_unseen_writes("prog_simd_O2_static", 1000);
    expect_no_unseen_writes("prog_overlap_O2_static", 1000);
    expect_no_unseen_writes("prog_x87_O2_static", 1000);
    expect_no_unseen_writes("prog_redzone_O0_static", 1000);
}

/* ---------------------------------------------------------------- main */

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(work_dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[300];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s'", work_dir);
    return system(command) == 0 ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(step_hand_counted_program_matches),
        cmocka_unit_test(step_watched_counts_as_blind),
        cmocka_unit_test(rep_movs_is_one_instruction_over_its_range),
        cmocka_unit_test(rep_stos_downwards_has_its_lowest_address),
        cmocka_unit_test(rep_with_zero_count_touches_nothing),
        cmocka_unit_test(repne_scas_reads_as_far_as_it_looked),
        cmocka_unit_test(repe_cmps_stops_at_the_difference),
        cmocka_unit_test(pushf_does_not_show_the_trap_flag),
        cmocka_unit_test(call_with_address_size_prefix_pushes_to_the_whole_rsp),
        cmocka_unit_test(exit_is_the_last_instruction),
        cmocka_unit_test(step_leaves_the_state_of_a_native_run),
        cmocka_unit_test(window_starts_counting_at_its_event),
        cmocka_unit_test(run_to_event_past_the_end_is_not_found),
        cmocka_unit_test(open_of_an_unknown_process_is_not_found),
        cmocka_unit_test(crash_ends_in_a_faulted_instruction),
        cmocka_unit_test(alarms_inside_loops_are_placed_by_memory),
        cmocka_unit_test(operands_name_every_write),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
