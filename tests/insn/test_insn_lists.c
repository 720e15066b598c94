/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gathers and scatters by mask registers: their descriptions, and the oracle's view of lists of
 * addresses, held against a processor in software that knows these instructions only. So this runs
 * on every machine.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

/* cmocka.h needs the standard headers above it. */
#include <cmocka.h>

#include "oracle_check.h"

enum { TRIALS = 8, LIST_BYTES = 11, LISTS = 48 };

/* ---- a processor in software, behind the interface of oracle_cpu.h ---- */

static uint8_t code[ZYDIS_MAX_INSTRUCTION_LENGTH];

bool oracle_open(void)
{
    oracle_use_avx512(1088, 1152, 1664); /* as Intel's images have them */
    return mmap(ORACLE_MEMORY, ORACLE_MEMORY_BYTES, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == ORACLE_MEMORY;
}

void oracle_set_code(const uint8_t *bytes, unsigned length)
{
    memcpy(code, bytes, length);
}

/* What the bytes of the instruction say. */
struct list_insn {
    bool is_scatter;
    unsigned element_bytes, index_bytes, lanes;
    unsigned data, index, base, mask, scale;
    int32_t disp;
};

static struct list_insn list_decode(void)
{
    unsigned vector_bytes = 16u << (code[3] >> 5 & 3);
    struct list_insn insn = {
        .is_scatter = code[4] & 0x20,
        .element_bytes = code[2] & 0x80 ? 8 : 4,
        .index_bytes = code[4] & 1 ? 8 : 4,
        .data = code[5] >> 3 & 7,
        .index = code[6] >> 3 & 7,
        .base = code[6] & 7,
        .mask = code[3] & 7,
        .scale = 1u << (code[6] >> 6),
    };
    insn.lanes = vector_bytes /
                 (insn.element_bytes > insn.index_bytes ? insn.element_bytes : insn.index_bytes);
    memcpy(&insn.disp, code + 7, sizeof(insn.disp));
    return insn;
}

static uint8_t *vector_at(struct oracle_state *state, unsigned vector, unsigned first)
{
    return state->vectors + oracle_vector_offset(vector, first);
}

static uint8_t *lane_memory(const struct list_insn *insn, struct oracle_state *state, unsigned lane)
{
    int64_t index = 0;
    int32_t narrow;
    memcpy(insn->index_bytes == 8 ? (void *)&index : &narrow,
           vector_at(state, insn->index, lane * insn->index_bytes), insn->index_bytes);
    if (insn->index_bytes == 4)
        index = narrow;
    uint64_t at = state->regs.gpr[insn->base] + (uint64_t)(index * insn->scale) +
                  (uint64_t)(int64_t)insn->disp - (uint64_t)(uintptr_t)ORACLE_MEMORY;
    return at <= ORACLE_MEMORY_BYTES - insn->element_bytes ? ORACLE_MEMORY + at : NULL;
}

static void clear_from(struct oracle_state *state, unsigned vector, unsigned first)
{
    for (; first < 64; first += 8)
        memset(vector_at(state, vector, first), 0, 8);
}

static int list_run(const struct oracle_state *in, struct oracle_state *out)
{
    struct list_insn insn = list_decode();
    uint64_t mask;
    *out = *in;
    memcpy(&mask, in->vectors + oracle_mask_offset(insn.mask), sizeof(mask));
    for (unsigned lane = 0; lane < insn.lanes; lane++) {
        uint8_t *data = vector_at(out, insn.data, lane * insn.element_bytes);
        if (!(mask >> lane & 1))
            continue;
        uint8_t *memory = lane_memory(&insn, out, lane);
        if (!memory)
            return SIGSEGV;
        memcpy(insn.is_scatter ? memory : data, insn.is_scatter ? data : memory,
               insn.element_bytes);
    }
    if (!insn.is_scatter)
        clear_from(out, insn.data, insn.lanes * insn.element_bytes);
    memset(out->vectors + oracle_mask_offset(insn.mask), 0, 8);
    return 0;
}

int oracle_run(const struct oracle_state *in, struct oracle_state *out)
{
    oracle_memory_reset();
    int number = list_run(in, out);
    oracle_memory_compare();
    return number;
}

/* ---- all gathers and scatters ---- */

/* xmm1, ymm1 or zmm1, [rcx + zmm5 * 4 + 64], {k2}. */
static struct oracle_form list_form(unsigned number)
{
    static const uint8_t opcodes[] = {0x90, 0x91, 0x92, 0x93, 0xa0, 0xa1, 0xa2, 0xa3};
    struct oracle_form form = {.key = number + 1, .length = LIST_BYTES};
    const uint8_t bytes[LIST_BYTES] = {0x62, 0xf2, 0x7d, 0x0a, 0, 0x8c, 0xa9, 64, 0, 0, 0};
    memcpy(form.code, bytes, sizeof(bytes));
    form.code[2] |= (number & 1) << 7;
    form.code[3] |= number / 2 % 3 << 5;
    form.code[4] = opcodes[number / 6];
    return form;
}

static enum oracle_verdict verdict_on(unsigned number, void (*spoil)(struct ins_info *), FILE *why)
{
    const struct oracle_options options = {.trials = TRIALS, .seed = 1, .spoil = spoil};
    struct oracle_form form = list_form(number);
    struct oracle_tally tally = {0};
    return oracle_check(&form, &options, &tally, why);
}

static void lists_are_described_as_they_run(void **state)
{
    (void)state;
    for (unsigned i = 0; i < LISTS; i++)
        assert_int_equal(verdict_on(i, NULL, stderr), ORACLE_RIGHT);
}

/* ---- what the oracle must notice ---- */

static void forget_lane(struct ins_info *info)
{
    info->mems[0].lanes--;
}

static void forget_mask(struct ins_info *info)
{
    info->flows[0].cond_uses = (struct ins_regset){0};
}

static void widen_indices(struct ins_info *info)
{
    info->mems[0].flags &= (uint16_t)~INS_MEM_VSIB32;
    info->mems[0].flags |= INS_MEM_VSIB64;
}

static void forget_doubt(struct ins_info *info)
{
    ins_regset_join(&info->flows[0].defs, &info->flows[0].may_defs);
    info->flows[0].may_defs = (struct ins_regset){0};
    info->flows[0].mem_defs |= info->flows[0].mem_may_defs;
    info->flows[0].mem_may_defs = 0;
}

static void damaged_descriptions_of_lists_are_noticed(void **state)
{
    static const struct {
        const char *name;
        void (*spoil)(struct ins_info *info);
        bool is_of_narrow_indices;
    } damages[] = {{"a lane forgotten", forget_lane, false},
                   {"the mask forgotten", forget_mask, false},
                   {"what is left alone forgotten", forget_doubt, false},
                   {"indices taken for wider ones", widen_indices, true}};
    FILE *nowhere = fopen("/dev/null", "we");
    (void)state;
    assert_non_null(nowhere);
    for (unsigned i = 0; i < LISTS; i++)
        for (unsigned d = 0; d < sizeof(damages) / sizeof(damages[0]); d++) {
            bool has_narrow = (list_form(i).code[4] & 1) == 0;
            if ((has_narrow || !damages[d].is_of_narrow_indices) &&
                verdict_on(i, damages[d].spoil, nowhere) == ORACLE_RIGHT)
                fail_msg("list %u: not noticed: %s", i, damages[d].name);
        }
    fclose(nowhere);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_described_as_they_run),
        cmocka_unit_test(damaged_descriptions_of_lists_are_noticed),
    };
    if (!oracle_open())
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
