/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Origins. Of copies (guests/copies.c) each byte must lead to the byte of the input that has its
 * number. Of anything, a chain must hang together, and each place on it must have held the value
 * at the time. Arguments: builds of copies, then of other programs after --.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "slicer/origin/chase.h"
#include "tests/slicer/fake_wet.h"
#include <wetdbg/errors.h>
#include <wetdbg/origin.h>

/* cmocka.h needs the headers above. */
#include <cmocka.h>

#define STEPS_MAX 400000
#define QUESTIONS 60

static char **copies, **others;

/* ---- what must hold of every origin ---- */

static bool is_same(const struct wetdbg_spot *a, const struct wetdbg_spot *b)
{
    return a->kind == b->kind && a->number == b->number && a->byte == b->byte &&
           a->address == b->address && (a->kind == WETDBG_SPOT_MEMORY || a->task == b->task);
}

static void print_origin(const struct wetdbg_origin *origin)
{
    for (size_t h = 0; h < origin->hop_count; h++) {
        const struct wetdbg_hop *hop = &origin->hops[h];
        char to[32], from[32];
        wetdbg_spot_name(&hop->to, to, sizeof(to));
        wetdbg_spot_name(&hop->from, from, sizeof(from));
        printf("time %llu %s '%s' bytes 0x%llx: %s 0x%llx to %s 0x%llx\n",
               (unsigned long long)hop->time, wetdbg_hop_name(hop->kind), hop->text,
               (unsigned long long)hop->bytes, from, (unsigned long long)hop->from.address, to,
               (unsigned long long)hop->to.address);
    }
}

/* The place before a hop held the lowest byte, or one with that sign if the byte is of `signs`: the
 * copies of a sign that are followed without the byte itself. */
static void check_held(struct wetdbg *wet, const struct wetdbg_origin *origin,
                       const struct wetdbg_hop *hop, uint64_t *signs)
{
    unsigned i = (unsigned)__builtin_ctzll(hop->bytes);
    struct wetdbg_state *state;
    uint8_t byte;

    if (!(origin->known >> i & 1) || hop->from.kind == WETDBG_SPOT_VECTOR || !hop->pc ||
        wetdbg_hop_is_end(hop->kind))
        return;
    assert_int_equal(wetdbg_state_open(wet, hop->time, &state), 0);
    if (slc_spot_read(state, &hop->from, &byte) && byte != origin->value[i]) {
        bool is_sign = hop->kind == WETDBG_HOP_SIGN_EXTEND || *signs >> i & 1;
        if (!is_sign || (byte & 0x80 ? 0xff : 0) != origin->value[i]) {
            print_origin(origin);
            fail_msg("'%s' at time %llu took 0x%02x and not 0x%02x", hop->text,
                     (unsigned long long)hop->time, byte, origin->value[i]);
        }
        *signs |= hop->bytes;
    }
    wetdbg_state_close(state);
}

static void check_origin(struct wetdbg *wet, const struct wetdbg_origin *origin)
{
    struct wetdbg_spot at[WETDBG_VALUE_BYTES_MAX] = {{0}};
    uint64_t ended = 0, signs = 0;
    wetdbg_time last = UINT64_MAX;

    at[0] = origin->place;
    for (size_t h = 0; h < origin->hop_count; h++) {
        const struct wetdbg_hop *hop = &origin->hops[h];
        unsigned i = (unsigned)__builtin_ctzll(hop->bytes);
        assert_int_not_equal(hop->bytes, 0);
        assert_int_equal(hop->bytes & ended, 0);
        if (hop->kind !=
            WETDBG_HOP_SYSCALL) /* its time is that of the call, which may have waited */
            assert_true(hop->time <= last);
        last = hop->time;
        if (at[i].kind != WETDBG_SPOT_NONE && !is_same(&at[i], &hop->to))
            fail_msg("the chain breaks at '%s', time %llu", hop->text,
                     (unsigned long long)hop->time);
        memset(at, 0, sizeof(at));
        at[i] = hop->from;
        if (wetdbg_hop_is_end(hop->kind))
            ended |= hop->bytes;
        if (hop->kind == WETDBG_HOP_ZERO_EXTEND || hop->kind == WETDBG_HOP_SIGN_EXTEND)
            memset(at, 0, sizeof(at));
        check_held(wet, origin, hop, &signs);
    }
    assert_int_not_equal(ended & 1, 0);
}

/* ---- copies ---- */

static char *make_input(void)
{
    static char path[] = "/tmp/wetdbg-origin-XXXXXX";
    int fd = mkstemp(path);
    uint8_t bytes[64];

    assert_true(fd >= 0);
    for (unsigned i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)i;
    assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
    close(fd);
    return path;
}

static struct wetdbg_origin *ask_how(struct wetdbg *wet, wetdbg_time time,
                                     const struct ins_regset *regs, uint64_t address, uint64_t size,
                                     bool no_bypass)
{
    const struct wetdbg_slice_options options = {.no_bypass = no_bypass};
    struct wetdbg_criterion *criterion;
    struct wetdbg_origin *origin = NULL;

    assert_int_equal(slc_criterion_of_places(wet, time, regs, address, size, &criterion), 0);
    int err = wetdbg_origin(wet, criterion, &options, &origin);
    if (err != -WETDBG_ERR_USAGE)
        assert_int_equal(err, 0);
    wetdbg_criterion_free(criterion);
    return origin;
}

static struct wetdbg_origin *ask(struct wetdbg *wet, wetdbg_time time,
                                 const struct ins_regset *regs, uint64_t address, uint64_t size)
{
    return ask_how(wet, time, regs, address, size, false);
}

/* The two reads filled 24 and 40 bytes. */
static void check_byte(struct wetdbg *wet, uint64_t address)
{
    struct wetdbg_origin *origin = ask(wet, wetdbg_get_info(wet)->instructions, NULL, address, 1);

    check_origin(wet, origin);
    const struct wetdbg_hop *end = &origin->hops[origin->hop_count - 1];
    if (end->kind != WETDBG_HOP_SYSCALL || end->number != SYS_read)
        fail_msg("a byte ends as '%s' in '%s'", wetdbg_hop_name(end->kind), end->text);
    assert_int_equal(end->extent, end->args[2]);
    uint64_t offset = end->offset + (end->args[2] == 40 ? 24 : 0);
    assert_int_equal(offset, origin->value[0]);
    wetdbg_origin_free(origin);
}

/* Checks all bytes at once: each ends in one of the reads. */
static void check_together(struct wetdbg *wet, uint64_t address)
{
    struct wetdbg_origin *origin = ask(wet, wetdbg_get_info(wet)->instructions, NULL, address, 64);
    uint64_t read = 0;

    check_origin(wet, origin);
    for (size_t h = 0; h < origin->hop_count; h++)
        if (origin->hops[h].kind == WETDBG_HOP_SYSCALL)
            read |= origin->hops[h].bytes;
    assert_true(read == UINT64_MAX);
    wetdbg_origin_free(origin);
}

static void copied_bytes_come_from_the_byte_that_they_are(void **state)
{
    char *input = make_input();

    (void)state;
    for (char **build = copies; *build; build++) {
        char *argv[] = {*build, NULL};
        struct wetdbg_symbol symbol;
        struct wetdbg *wet;
        assert_int_equal(fake_wet_run(argv, input, STEPS_MAX, &wet), 0);
        assert_int_equal(wetdbg_get_info(wet)->wait_status, 0);
        assert_int_equal(wetdbg_symbol_named(wetdbg_get_model(wet), "final", &symbol), 0);
        for (unsigned i = 0; i < 64; i++)
            check_byte(wet, symbol.start + i);
        check_together(wet, symbol.start);
        wetdbg_close(wet);
    }
    unlink(input);
}

/* ---- anything ---- */

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

/* What lies above a signal's frame was not delivered, though the recording has it with the
 * frame. */
static void check_above_frames(struct wetdbg *wet)
{
    size_t count;
    const struct fake_happening *happenings = fake_happenings(wet, &count);

    for (size_t h = 0; h < count; h++) {
        uint64_t end = happenings[h].address + happenings[h].size;
        if (happenings[h].kind != FAKE_HANDLER)
            continue;
        struct wetdbg_origin *origin = ask(wet, happenings[h].time + 1, NULL, end, 64);
        check_origin(wet, origin);
        for (size_t i = 0; i < origin->hop_count; i++)
            if (origin->hops[i].kind == WETDBG_HOP_DELIVERED)
                assert_true(origin->hops[i].time < happenings[h].time);
        wetdbg_origin_free(origin);
    }
}

static size_t next_hop(const struct wetdbg_origin *origin, size_t from)
{
    while (from < origin->hop_count && origin->hops[from].is_saving)
        from++;
    return from;
}

/* Without the saving and restoring of registers the chain is the same but for that. Returns how
 * many hops that were. */
static size_t check_bypass(struct wetdbg *wet, wetdbg_time time, unsigned number)
{
    struct ins_regset regs = {0};

    ins_regset_add_gpr(&regs, number, 0, 8);
    struct wetdbg_origin *all = ask_how(wet, time, &regs, 0, 0, true);
    struct wetdbg_origin *few = ask(wet, time, &regs, 0, 0);
    size_t a = next_hop(all, 0), f = next_hop(few, 0), saved = all->hop_count - few->hop_count;
    while (a < all->hop_count && f < few->hop_count) {
        assert_int_equal(all->hops[a].time, few->hops[f].time);
        assert_int_equal(all->hops[a].bytes, few->hops[f].bytes);
        assert_string_equal(all->hops[a].text, few->hops[f].text);
        a = next_hop(all, a + 1);
        f = next_hop(few, f + 1);
    }
    assert_int_equal(a, all->hop_count);
    assert_int_equal(f, few->hop_count);
    wetdbg_origin_free(all);
    wetdbg_origin_free(few);
    return saved;
}

/* Mask registers are 8 bytes. The stand-in makes their values up, whatever the processor has: byte
 * i is 0x11 (i + 1), and k3's lowest one 3 more. */
static void check_mask(struct wetdbg *wet)
{
    struct ins_regset regs = {0};
    char name[32];

    ins_regset_add(&regs, INS_LOC_K + 3);
    struct wetdbg_origin *origin = ask(wet, wetdbg_get_info(wet)->instructions, &regs, 0, 0);
    assert_non_null(origin);
    assert_int_equal(origin->size, 8);
    assert_int_equal(origin->known, 0xff);
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(origin->value[i], 0x11 * (i + 1) + (i ? 0 : 3));
    wetdbg_spot_name(&origin->place, name, sizeof(name));
    assert_string_equal(name, "k3");
    check_origin(wet, origin);
    wetdbg_origin_free(origin);
}

static void check_run(char *program, int signal)
{
    struct fake_options options = {.seed = 5, .signal = signal, .signal_steps = 900};
    char *argv[] = {program, NULL};
    uint64_t seed = 88172645463325252u;
    size_t hops = 0;
    struct wetdbg *wet;

    assert_int_equal(fake_wet_run_with(argv, NULL, STEPS_MAX, &options, &wet), 0);
    for (unsigned i = 0; i < QUESTIONS; i++) {
        wetdbg_time time = 1 + next_random(&seed) % wetdbg_get_info(wet)->instructions;
        const struct fake_step *step = fake_step(wet, time);
        struct ins_regset regs = {0};
        struct wetdbg_origin *origin;
        if (i % 2)
            ins_regset_add_gpr(&regs, (unsigned)(next_random(&seed) % 16), 0, 8);
        if (!(i % 2) && step->info->mem_count == 0)
            continue;
        origin = i % 2 ? ask(wet, time, &regs, 0, 0)
                       : ask(wet, time, NULL, fake_slots(wet)[step->slot_off],
                             step->info->mems[0].size_bytes);
        if (!origin)
            continue; /* more than 64 bytes */
        check_origin(wet, origin);
        hops += origin->hop_count;
        wetdbg_origin_free(origin);
    }
    check_above_frames(wet);
    check_mask(wet);
    size_t saved = 0;
    for (unsigned number = 0; number < 16; number++)
        saved += check_bypass(wet, wetdbg_get_info(wet)->instructions, number);
    assert_true(saved > 0);
    const char *base = strrchr(program, '/');
    printf("%-34s %llu instructions, %zu hops\n", base ? base + 1 : program,
           (unsigned long long)wetdbg_get_info(wet)->instructions, hops);
    wetdbg_close(wet);
}

static void chains_hang_together_and_hold_the_value(void **state)
{
    (void)state;
    for (char **program = others; *program; program++)
        check_run(*program, strstr(*program, "handlers") ? SIGUSR1 : 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copied_bytes_come_from_the_byte_that_they_are),
        cmocka_unit_test(chains_hang_together_and_hold_the_value),
    };
    int at = 1;

    copies = argv + 1;
    while (at < argc && strcmp(argv[at], "--") != 0)
        at++;
    if (at == argc) {
        fprintf(stderr, "usage: %s COPIES... -- PROGRAM...\n", argv[0]);
        return 2;
    }
    argv[at] = NULL;
    others = argv + at + 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
