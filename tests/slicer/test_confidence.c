/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Confidence against the truth: a program is run once more for each value that an instance might
 * have had in the place of its own, with that value put there. Where it still takes the same path
 * to the same right output, the value would have done. Confidence must not be larger than what
 * these values tell: what it says only this value could be must be so.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/insn/insn_ranges.h"
#include "slicer/confidence/confidence.h"
#include "slicer/slice_session.h"
#include "tests/slicer/fake_wet.h"
#include "tests/slicer/vec.h"
#include <wetdbg/errors.h>

/* cmocka.h needs the headers above. */
#include <cmocka.h>

#define STEPS_MAX   100000
#define RANGE_MOST  20 /* values of instances that are tried */
#define TRIED       45 /* instances of each program */
#define RIGHT_LINES 10 /* of the output; the eleventh is taken for wrong */

static char **programs;

/* ---- the program, stepped once more ---- */

#define AREAS_MAX 8

struct area {
    uint64_t start;
    size_t size;
    uint8_t *bytes;
};

struct live {
    pid_t pid;
    wetdbg_time time; /* of its next instruction */
    struct user_regs_struct regs;
    struct area areas[AREAS_MAX]; /* what it may write to, as it was */
    unsigned area_count;
};

static void live_start(struct live *live, char *program)
{
    int status;

    *live = (struct live){.time = 1, .pid = fork()};
    if (live->pid == 0) {
        int null = open("/dev/null", O_RDWR);
        char *const argv[] = {program, NULL}, *const env[] = {NULL};
        dup2(null, 0);
        dup2(null, 1);
        dup2(null, 2);
        personality(ADDR_NO_RANDOMIZE);
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        execve(program, argv, env);
        _exit(127);
    }
    waitpid(live->pid, &status, 0);
    ptrace(PTRACE_SETOPTIONS, live->pid, 0, PTRACE_O_EXITKILL);
    assert_int_equal(ptrace(PTRACE_GETREGS, live->pid, 0, &live->regs), 0);
}

/* Goes on by one instruction; false if it came to something else. */
static bool live_step(struct live *live)
{
    int status;

    if (ptrace(PTRACE_SINGLESTEP, live->pid, 0, 0) || waitpid(live->pid, &status, 0) < 0 ||
        !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
        return false;
    ptrace(PTRACE_GETREGS, live->pid, 0, &live->regs);
    live->time++;
    return true;
}

static void move(const struct live *live, uint64_t address, void *bytes, size_t size, bool is_in)
{
    struct iovec own = {bytes, size}, other = {(void *)(uintptr_t)address, size};
    ssize_t done = is_in ? process_vm_writev(live->pid, &own, 1, &other, 1, 0)
                         : process_vm_readv(live->pid, &own, 1, &other, 1, 0);
    assert_int_equal(done, size);
}

/* Keeps all that it may write to; or puts it back. */
static void live_keep(struct live *live)
{
    char path[64], line[512];
    unsigned long start, end;
    char mode[8];

    snprintf(path, sizeof(path), "/proc/%d/maps", live->pid);
    FILE *maps = fopen(path, "r");
    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps))
        if (sscanf(line, "%lx-%lx %7s", &start, &end, mode) == 3 && mode[1] == 'w' &&
            live->area_count < AREAS_MAX)
            live->areas[live->area_count++] =
                (struct area){start, end - start, malloc(end - start)};
    fclose(maps);
    for (unsigned i = 0; i < live->area_count; i++)
        move(live, live->areas[i].start, live->areas[i].bytes, live->areas[i].size, false);
}

static void live_restore(struct live *live, const struct user_regs_struct *regs, wetdbg_time time)
{
    for (unsigned i = 0; i < live->area_count; i++)
        move(live, live->areas[i].start, live->areas[i].bytes, live->areas[i].size, true);
    live->regs = *regs;
    live->time = time;
    assert_int_equal(ptrace(PTRACE_SETREGS, live->pid, 0, &live->regs), 0);
}

static void live_forget(struct live *live)
{
    for (unsigned i = 0; i < live->area_count; i++)
        free(live->areas[i].bytes);
    live->area_count = 0;
}

/* ---- what is right ---- */

struct truth {
    struct wetdbg *wet;
    char *program;
    wetdbg_time write; /* the call that puts all output out */
    uint64_t buffer, right_bytes;
    uint8_t output[256];
};

static void find_truth(struct truth *truth)
{
    size_t count, lines = 0;
    const struct wetdbg_output *outputs = wetdbg_outputs(truth->wet, &count);
    struct wetdbg_state *state;

    assert_int_equal(count, 1);
    truth->write = outputs[0].time;
    truth->buffer = outputs[0].address;
    assert_true(outputs[0].size < sizeof(truth->output));
    wetdbg_state_open(truth->wet, truth->write, &state);
    wetdbg_state_read(state, truth->buffer, truth->output, outputs[0].size);
    wetdbg_state_close(state);
    while (lines < RIGHT_LINES)
        lines += truth->output[truth->right_bytes++] == '\n';
    assert_true(truth->right_bytes < outputs[0].size);
}

/* Whether from here on the program does what it did, up to the right output. */
static bool goes_right(const struct truth *truth, struct live *live)
{
    uint8_t output[sizeof(truth->output)];

    while (live->time < truth->write)
        if (live->regs.rip != fake_step(truth->wet, live->time)->pc || !live_step(live))
            return false;
    if (live->regs.rip != fake_step(truth->wet, live->time)->pc || live->regs.rsi != truth->buffer)
        return false;
    move(live, truth->buffer, output, truth->right_bytes, false);
    return memcmp(output, truth->output, truth->right_bytes) == 0;
}

/* ---- instances ---- */

struct judged {
    wetdbg_time time;
    double confidence;
};

struct judgements {
    VEC(struct judged) list;
};

static int note(void *to, wetdbg_time time, uint32_t pc_index, bool is_neutral, double confidence)
{
    struct judgements *judgements = to;
    struct judged judged = {time, confidence};

    (void)pc_index;
    if (!is_neutral)
        PUSH(judgements->list, judged);
    return 0;
}

/* What an instance made, if that is one value. */
struct value {
    int reg; /* -1: memory */
    uint64_t address, mask;
    unsigned bytes;
};

static bool find_value(const struct truth *truth, wetdbg_time time, struct value *value)
{
    const struct fake_step *step = fake_step(truth->wet, time);
    const struct ins_info *info = step->info;
    struct ins_range ranges[INS_RANGES_MAX];
    unsigned count = 0;

    *value = (struct value){0};
    for (unsigned f = 0; f < info->flow_count; f++) {
        const struct ins_flow *flow = &info->flows[f];
        if (flow->kinds & INS_FLOW_STACK)
            continue;
        for (unsigned m = 0; m < info->mem_count; m++)
            if (flow->mem_defs >> m & 1) {
                ins_operand_ranges(info, m, fake_slots(truth->wet) + step->slot_off, ranges);
                *value = (struct value){-1, ranges[0].address, UINT64_MAX,
                                        (unsigned)ranges[0].size_bytes};
                count++;
            }
        for (unsigned gpr = 0; gpr < INS_GPR_COUNT; gpr++)
            if (ins_regset_has(&flow->defs, INS_LOC_GPR + INS_GPR_PIECES * gpr)) {
                if (!(count && value->reg == (int)gpr)) /* a cmov has two flows */
                    count++;
                *value = (struct value){(int)gpr, 0, slc_defined_mask(info, gpr), 8};
            }
    }
    return count == 1 && info->klass == INS_PLAIN && !(info->flags & INS_IS_REP) &&
           value->bytes <= 8;
}

static unsigned long long *register_of(struct user_regs_struct *regs, int gpr)
{
    unsigned long long *registers[] = {&regs->rax, &regs->rcx, &regs->rdx, &regs->rbx,
                                       &regs->rsp, &regs->rbp, &regs->rsi, &regs->rdi,
                                       &regs->r8,  &regs->r9,  &regs->r10, &regs->r11,
                                       &regs->r12, &regs->r13, &regs->r14, &regs->r15};
    return registers[gpr];
}

/* Puts another value where the instance that was just stepped put its own. False if it is its
 * own. */
static bool put(struct live *live, const struct value *value, uint64_t other)
{
    uint64_t own = 0;

    if (value->reg < 0) {
        move(live, value->address, &own, value->bytes, false);
        move(live, value->address, &other, value->bytes, true);
        return own != other;
    }
    unsigned long long *at = register_of(&live->regs, value->reg);
    own = *at;
    *at = (*at & ~value->mask) | other;
    assert_int_equal(ptrace(PTRACE_SETREGS, live->pid, 0, &live->regs), 0);
    return own != *at;
}

struct tally {
    unsigned tried, equal, certain, certain_found;
};

/* Tries all values of an instance's range, the program standing behind it. */
static void try_instance(const struct truth *truth, struct live *live, const struct judged *judged,
                         const struct value *value, const struct slc_range *range,
                         struct tally *tally)
{
    const struct user_regs_struct regs = live->regs;
    wetdbg_time time = live->time;
    unsigned alt = 1;
    uint64_t other;

    live_keep(live);
    for (size_t i = 0; i < slc_range_places(range); i++)
        if (slc_range_get(range, i, &other)) {
            alt += put(live, value, other) && goes_right(truth, live);
            live_restore(live, &regs, time);
        }
    live_forget(live);
    double size = slc_range_size(range);
    double most = size > 1 ? 1 - log(alt) / log(size) : 1;
    tally->tried++;
    tally->equal += fabs(most - judged->confidence) < 1e-6;
    tally->certain += alt == 1 && size > 1;
    tally->certain_found += alt == 1 && size > 1 && judged->confidence >= 1;
    if (judged->confidence > most + 1e-6)
        fail_msg("%s: time %llu, pc 0x%llx (%s): confidence %f, but %u of %.0f values would do: %f "
                 "at most",
                 truth->program, (unsigned long long)judged->time,
                 (unsigned long long)fake_step(truth->wet, judged->time)->pc,
                 ins_mnemonic_name(fake_step(truth->wet, judged->time)->info->mnemonic),
                 judged->confidence, alt, size, most);
}

static struct wetdbg_criterion *right_of(const struct truth *truth)
{
    const struct wetdbg_standpoint from = {.from_write = true};
    struct wetdbg_criterion *right;
    char text[64];

    snprintf(text, sizeof(text), "output:0+%llu", (unsigned long long)truth->right_bytes);
    assert_int_equal(wetdbg_criterion_parse(truth->wet, text, &from, &right), 0);
    return right;
}

static struct judgements judge(const struct truth *truth, struct slc_ranges *ranges)
{
    struct judgements judgements = {0};
    struct wetdbg_slice_session *session;
    struct wetdbg_criterion *right = right_of(truth);
    struct slc_confidence_counts counts;

    assert_int_equal(wetdbg_slice_session_new(truth->wet, &session), 0);
    const struct wetdbg_criterion *const list[] = {right};
    const struct slc_confidence_options options = {
        .right = list, .right_count = 1, .on_instance = note, .to = &judgements};
    assert_int_equal(slc_session_tell_jumps(session), 0);
    assert_int_equal(
        slc_confidence(slc_session_code(session, SLC_CODE_USERS, false), ranges, &options, &counts),
        0);
    assert_int_equal(counts.right_bytes, truth->right_bytes);
    assert_true(counts.looked_to == 0 && !counts.is_interrupted);
    assert_true(counts.unjudged < 10); /* products of bytes */
    wetdbg_slice_session_free(session);
    wetdbg_criterion_free(right);
    return judgements;
}

static int end_at_once(void *arg, uint64_t done, uint64_t total)
{
    (void)arg;
    (void)done;
    (void)total;
    return 1;
}

/* A pass that ends early has found of what it came to what all of it finds. */
static void check_parts(const struct truth *truth, struct slc_ranges *ranges,
                        const struct judgements *all)
{
    struct wetdbg_slice_session *session;
    struct wetdbg_criterion *right = right_of(truth);
    const struct wetdbg_criterion *const list[] = {right};

    assert_int_equal(wetdbg_slice_session_new(truth->wet, &session), 0);
    assert_int_equal(slc_session_tell_jumps(session), 0);
    for (unsigned is_interrupted = 0; is_interrupted < 2; is_interrupted++) {
        struct judgements part = {0};
        struct slc_confidence_counts counts;
        const struct slc_confidence_options options = {
            .right = list,
            .right_count = 1,
            .limit = is_interrupted ? 0 : all->list.count / 2,
            .progress = is_interrupted ? end_at_once : NULL,
            .on_instance = note,
            .to = &part};
        assert_int_equal(slc_confidence(slc_session_code(session, SLC_CODE_USERS, false), ranges,
                                        &options, &counts),
                         0);
        assert_int_equal(counts.is_interrupted, is_interrupted);
        assert_true(part.list.count < all->list.count && counts.looked_to > 1);
        assert_true(is_interrupted || part.list.count > 0);
        for (size_t i = 0; i < all->list.count; i++) {
            bool is_looked_at = all->list.at[i].time >= counts.looked_to;
            assert_int_equal(i < part.list.count, is_looked_at);
            if (is_looked_at)
                assert_memory_equal(&part.list.at[i], &all->list.at[i], sizeof(struct judged));
        }
        free(part.list.at);
    }
    wetdbg_slice_session_free(session);
    wetdbg_criterion_free(right);
}

static void check_program(char *program)
{
    struct truth truth = {.program = program};
    struct slc_ranges *ranges;
    struct tally tally = {0};
    char *const argv[] = {program, NULL};
    struct live live;

    assert_int_equal(fake_wet_run(argv, NULL, STEPS_MAX, &truth.wet), 0);
    find_truth(&truth);
    assert_int_equal(slc_ranges_make(truth.wet, 0, 0, NULL, NULL, &ranges), 0);
    struct judgements judgements = judge(&truth, ranges);
    check_parts(&truth, ranges, &judgements);
    unsigned every = (unsigned)(judgements.list.count / TRIED + 1);
    live_start(&live, program);
    for (size_t i = judgements.list.count; i-- > 0;) {
        const struct judged *judged = &judgements.list.at[i];
        struct value value = {0};
        if (i % every || !find_value(&truth, judged->time, &value))
            continue;
        const struct slc_profile *profile =
            slc_ranges_find(ranges, fake_step(truth.wet, judged->time)->pc);
        const struct slc_result *result = slc_profile_result(profile, value.reg);
        if (!result || slc_range_size(&result->range) > RANGE_MOST)
            continue;
        while (live.time <= judged->time) {
            assert_int_equal(live.regs.rip, fake_step(truth.wet, live.time)->pc);
            assert_true(live_step(&live));
        }
        try_instance(&truth, &live, judged, &value, &result->range, &tally);
    }
    kill(live.pid, SIGKILL);
    waitpid(live.pid, NULL, 0);
    printf("%-40s %6llu instructions, %zu judged, %u tried: %u as it is, %u of %u certain ones "
           "found\n",
           strrchr(program, '/') + 1, (unsigned long long)wetdbg_get_info(truth.wet)->instructions,
           judgements.list.count, tally.tried, tally.equal, tally.certain_found, tally.certain);
    assert_true(tally.tried > 20);
    assert_true(tally.certain_found * 2 > tally.certain);
    free(judgements.list.at);
    slc_ranges_free(ranges);
    wetdbg_close(truth.wet);
}

static void confidence_is_never_too_large(void **state)
{
    (void)state;
    for (char **program = programs; *program; program++)
        check_program(*program);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(confidence_is_never_too_large)};

    if (argc < 2) {
        fprintf(stderr, "usage: %s PROGRAM...\n", argv[0]);
        return 2;
    }
    programs = argv + 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
