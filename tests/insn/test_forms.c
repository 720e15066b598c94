/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Decoding by form gives what decoding does: for every opcode of the two maps with every ModRM,
 * many prefixes and some SIB bytes, each followed by random bytes. A form is made from one
 * instruction and used for another.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* cmocka.h needs the standard headers above it. */
#include <cmocka.h>

#include "recorder/dbi/forms.h"

#define BYTES 24 /* enough for all that is decoded */
#define PC    0x7fff12345678ull

struct both {
    struct dbi_forms *forms;
    struct dbi_insn insn, expected;
    struct dbi_whole rooms[2];
    uint64_t seed;
    size_t used; /* instructions that were decoded by their form */
};

static uint64_t next_random(struct both *both)
{
    both->seed ^= both->seed << 13;
    both->seed ^= both->seed >> 7;
    both->seed ^= both->seed << 17;
    return both->seed;
}

static void fill(struct both *both, uint8_t *at, size_t count)
{
    for (size_t i = 0; i < count; i++)
        at[i] = (uint8_t)(next_random(both) >> 16);
}

static bool same_traits(const struct dbi_traits *a, const struct dbi_traits *b)
{
    return a->gpr_used == b->gpr_used && a->gpr_written == b->gpr_written &&
           a->length == b->length && a->terminal == b->terminal && a->flags_read == b->flags_read &&
           a->flags_killed == b->flags_killed && a->opcode == b->opcode &&
           a->disp_off == b->disp_off && a->writes_r15 == b->writes_r15 &&
           a->writes_fs_base == b->writes_fs_base && a->rip_relative == b->rip_relative &&
           a->names_high_byte == b->names_high_byte && a->has_memory == b->has_memory &&
           a->has_no_effect == b->has_no_effect && a->is_narrow == b->is_narrow;
}

static bool same_mems(const struct ins_info *a, const struct ins_info *b)
{
    bool same = a->mem_count == b->mem_count;
    for (unsigned m = 0; same && m < a->mem_count; m++) {
        const struct ins_mem *x = &a->mems[m], *y = &b->mems[m];
        same = x->disp == y->disp && x->size_bytes == y->size_bytes && x->flags == y->flags &&
               x->base == y->base && x->index == y->index && x->bit_reg == y->bit_reg &&
               x->scale == y->scale;
    }
    return same;
}

static bool is_same(struct both *both, enum dbi_detail detail)
{
    struct dbi_insn *a = &both->insn, *b = &both->expected;
    if (!same_traits(&a->is, &b->is) || a->pc != b->pc || a->target != b->target ||
        memcmp(a->bytes, b->bytes, a->is.length))
        return false;
    if (detail == DBI_DETAIL_MEMORY && !same_mems(&a->info, &b->info))
        return false;
    return b->is.terminal == DBI_ILLEGAL ||
           dbi_insn_whole(a)->zydis.mnemonic == dbi_insn_whole(b)->zydis.mnemonic;
}

static void print_difference(const struct both *both, const uint8_t *bytes)
{
    for (unsigned i = 0; i < 15; i++)
        print_message("%02x ", bytes[i]);
    print_message("\n  length %u, %u; registers %x, %x; terminal %u, %u; target %llx, %llx\n",
                  both->insn.is.length, both->expected.is.length, both->insn.is.gpr_used,
                  both->expected.is.gpr_used, both->insn.is.terminal, both->expected.is.terminal,
                  (unsigned long long)both->insn.target, (unsigned long long)both->expected.target);
}

/* Bytes at `bytes`, of which the first `fixed` stay: makes the form, uses it. */
static void check(struct both *both, uint8_t *bytes, size_t fixed)
{
    enum dbi_detail detail = next_random(both) & 1 ? DBI_DETAIL_MEMORY : DBI_DETAIL_NONE;
    fill(both, bytes + fixed, BYTES - fixed);
    dbi_forms_decode(both->forms, &both->insn, PC, bytes, 15, detail);
    fill(both, bytes + fixed, BYTES - fixed);
    uint64_t pc = next_random(both) >> 17;
    int err = dbi_forms_decode(both->forms, &both->insn, pc, bytes, 15, detail);
    both->used += !both->insn.has_whole;
    assert_int_equal(err, dbi_insn_decode(&both->expected, pc, bytes, 15, detail));
    if (!err && !is_same(both, detail)) {
        print_difference(both, bytes);
        fail();
    }
}

static void check_opcode(struct both *both, const uint8_t *start, size_t count)
{
    static const uint8_t odd_sibs[] = {0x25, 0x24, 0xe5, 0x65};
    uint8_t bytes[BYTES];
    size_t used = both->used;
    memcpy(bytes, start, count);
    for (unsigned i = 0; i < 256; i++) {
        uint8_t modrm = (uint8_t)(i * 0x35); /* all, and different ones first */
        if (i == 32 && both->used == used)
            return; /* what no ModRM makes a form is always decoded in full */
        bytes[count] = modrm;
        check(both, bytes, count + 1);
        if (modrm >= 0xc0 || (modrm & 7) != 4)
            continue;
        bytes[count + 1] = odd_sibs[next_random(both) & 3];
        check(both, bytes, count + 2);
        bytes[count + 1] = (uint8_t)next_random(both);
        check(both, bytes, count + 2);
    }
}

static void check_maps(struct both *both, const char *prefixes, int rex)
{
    uint8_t start[8];
    size_t count = strlen(prefixes);
    memcpy(start, prefixes, count);
    if (rex)
        start[count++] = (uint8_t)rex;
    for (unsigned opcode = 0; opcode < 256; opcode++) {
        start[count] = (uint8_t)opcode;
        if (opcode != 0x0f)
            check_opcode(both, start, count + 1);
    }
    start[count++] = 0x0f;
    for (unsigned opcode = 0; opcode < 256; opcode++) {
        start[count] = (uint8_t)opcode;
        check_opcode(both, start, count + 1);
    }
}

static void each_form_is_what_decoding_gives(void **state)
{
    static const char *const prefixes[] = {"",     "\x66",     "\xf2",     "\xf3",     "\x2e",
                                           "\x64", "\x66\xf2", "\xf3\x66", "\x66\x64", "\xf0"};
    struct both *both = *state;
    for (unsigned p = 0; p < sizeof(prefixes) / sizeof(prefixes[0]); p++) {
        check_maps(both, prefixes[p], 0);
        for (int rex = 0x40; rex < 0x50; rex++) {
            if (p == 0 || (p < 4 && rex == 0x48) || (p == 1 && rex == 0x4d))
                check_maps(both, prefixes[p], rex);
        }
    }
    assert_true(both->used > 1000000);
}

/* What is cut short is the same as if nothing were known. */
static void instructions_cut_short_are_found_out(void **state)
{
    static const uint8_t code[15] = {0x48, 0x8b, 0x85, 0x10, 0x20, 0x30, 0x40};
    struct both *both = *state;
    assert_int_equal(
        dbi_forms_decode(both->forms, &both->insn, PC, code, sizeof(code), DBI_DETAIL_NONE), 0);
    assert_int_equal(both->insn.is.length, 7);
    for (size_t available = 1; available < 7; available++)
        assert_int_equal(
            dbi_forms_decode(both->forms, &both->insn, PC, code, available, DBI_DETAIL_NONE),
            dbi_insn_decode(&both->expected, PC, code, available, DBI_DETAIL_NONE));
}

static int setup(void **state)
{
    struct both *both = calloc(1, sizeof(*both));
    assert_non_null(both);
    both->forms = dbi_forms_new();
    assert_non_null(both->forms);
    both->insn.whole = &both->rooms[0];
    both->expected.whole = &both->rooms[1];
    both->seed = 0x9e3779b97f4a7c15ull;
    *state = both;
    return 0;
}

static int teardown(void **state)
{
    struct both *both = *state;
    dbi_forms_free(both->forms);
    free(both);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_form_is_what_decoding_gives, setup, teardown),
        cmocka_unit_test_setup_teardown(instructions_cut_short_are_found_out, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
