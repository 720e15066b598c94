/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What ins_eval_run() says that instructions compute, against what the processor computes: the
 * forms of eval_forms.S, with random values and with those at which carries and signs change. And
 * whatever ins_eval_determined() says is one to one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* cmocka.h needs the headers above. */
#include <cmocka.h>

#include "common/cpuid.h"
#include "recorder/insn/insn_eval.h"
#include "tests/skipped.h"

#define TRIALS 400
#define FLAGS                                                                                      \
    ((uint64_t)(INS_RFLAG_CF | INS_RFLAG_PF | INS_RFLAG_AF | INS_RFLAG_ZF | INS_RFLAG_SF |         \
                INS_RFLAG_OF))

extern const uint8_t eval_forms_start[], eval_forms_bmi[], eval_forms_end[];

/* rax, rcx, rdx, rsi, rdi, r8, r9 by number of the general register; the others are not touched. */
struct machine {
    uint64_t gpr[10];
    uint64_t flags;
    uint64_t memory;
};

/* Loads the machine's registers and flags, with r10 at its memory, calls `code`, and stores
 * them. */
void eval_call(struct machine *machine, const void *code);
__asm__(".text\n"
        ".globl eval_call\n"
        "eval_call:\n"
        "    push %rbx\n"
        "    mov %rdi, %rbx\n"
        "    mov %rsi, %r11\n"
        "    lea 88(%rbx), %r10\n"
        "    mov 0(%rbx), %rax\n"
        "    mov 8(%rbx), %rcx\n"
        "    mov 16(%rbx), %rdx\n"
        "    mov 48(%rbx), %rsi\n"
        "    mov 56(%rbx), %rdi\n"
        "    mov 64(%rbx), %r8\n"
        "    mov 72(%rbx), %r9\n"
        "    push 80(%rbx)\n"
        "    popf\n"
        "    call *%r11\n"
        "    pushf\n"
        "    pop 80(%rbx)\n"
        "    mov %rax, 0(%rbx)\n"
        "    mov %rcx, 8(%rbx)\n"
        "    mov %rdx, 16(%rbx)\n"
        "    mov %rsi, 48(%rbx)\n"
        "    mov %rdi, 56(%rbx)\n"
        "    mov %r8, 64(%rbx)\n"
        "    mov %r9, 72(%rbx)\n"
        "    pop %rbx\n"
        "    ret\n");

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static uint64_t some_value(uint64_t *state)
{
    static const uint64_t edges[] = {0,          1,          2,          0x7f,
                                     0x80,       0xff,       0x7fff,     0x8000,
                                     0x7fffffff, 0x80000000, UINT32_MAX, INT64_MAX,
                                     UINT64_MAX, 10,         3,          0x8000000000000000};
    uint64_t random = next_random(state);

    switch (random % 4) {
    case 0:
        return edges[next_random(state) % (sizeof(edges) / sizeof(edges[0]))];
    case 1:
        return next_random(state) >> (next_random(state) % 64);
    case 2: /* both halves of a small number, as signs extend them */
        return (uint64_t)(int64_t)(int8_t)next_random(state);
    default:
        return next_random(state);
    }
}

static void randomize(struct machine *machine, uint64_t *state)
{
    for (unsigned r = 0; r < 10; r++)
        machine->gpr[r] = some_value(state);
    machine->memory = some_value(state);
    machine->flags = (next_random(state) & FLAGS) | 0x202;
}

static uint64_t place_get(const struct machine *machine, const struct ins_eval_place *place)
{
    switch (place->kind) {
    case INS_EVAL_GPR:
        return machine->gpr[place->gpr] >> 8 * place->first & ins_low_bytes(place->bytes);
    case INS_EVAL_MEMORY:
        return machine->memory & ins_low_bytes(place->bytes);
    default:
        return place->immediate;
    }
}

static void place_set(struct machine *machine, const struct ins_eval_place *place, uint64_t value)
{
    uint64_t mask = ins_low_bytes(place->bytes) << 8 * place->first;

    if (place->kind == INS_EVAL_MEMORY)
        machine->memory = (machine->memory & ~mask) | value;
    else if (place->bytes == 4)
        machine->gpr[place->gpr] = value;
    else
        machine->gpr[place->gpr] = (machine->gpr[place->gpr] & ~mask) | value << 8 * place->first;
}

struct form {
    struct ins_eval eval;
    char text[80];
    uint8_t *page; /* its code, and a return */
};

static bool evaluate(const struct form *form, const struct machine *machine,
                     struct ins_eval_result *result)
{
    uint64_t inputs[INS_EVAL_INPUTS] = {0};

    for (unsigned i = 0; i < form->eval.input_count; i++)
        inputs[i] = place_get(machine, &form->eval.inputs[i]);
    return ins_eval_run(&form->eval, inputs, machine->flags, result);
}

static void compare(const struct form *form, uint64_t *state)
{
    struct machine before, after, expected;
    struct ins_eval_result result;

    randomize(&before, state);
    if (!evaluate(form, &before, &result))
        return; /* a division that faults, a scan of nothing */
    after = expected = before;
    eval_call(&after, form->page);
    for (unsigned i = 0; i < INS_EVAL_RESULTS; i++)
        if (form->eval.results[i].kind != INS_EVAL_NONE)
            place_set(&expected, &form->eval.results[i], result.values[i]);
    if (memcmp(expected.gpr, after.gpr, sizeof(after.gpr)) != 0 || expected.memory != after.memory)
        fail_msg("%s: of rax %#llx rcx %#llx rdx %#llx memory %#llx: another result", form->text,
                 (unsigned long long)before.gpr[0], (unsigned long long)before.gpr[1],
                 (unsigned long long)before.gpr[2], (unsigned long long)before.memory);
    if ((result.flags ^ after.flags) & result.known & FLAGS)
        fail_msg("%s: of rax %#llx rcx %#llx rdx %#llx: flags %#llx, not %#llx", form->text,
                 (unsigned long long)before.gpr[0], (unsigned long long)before.gpr[1],
                 (unsigned long long)before.gpr[2], (unsigned long long)after.flags,
                 (unsigned long long)result.flags);
}

/* Where so many bytes of an input are determined, another value in them shows in as many of the
 * result. */
static void vary(const struct form *form, uint64_t *state)
{
    const struct ins_eval *eval = &form->eval;
    struct ins_eval_result own, other;
    uint64_t inputs[INS_EVAL_INPUTS] = {0}, varied[INS_EVAL_INPUTS];

    for (unsigned i = 0; i < eval->input_count; i++)
        inputs[i] = some_value(state) & ins_low_bytes(eval->inputs[i].bytes);
    if (!ins_eval_run(eval, inputs, 0, &own))
        return;
    for (unsigned i = 0; i < eval->input_count; i++)
        for (unsigned bytes = 1; bytes <= eval->bytes; bytes++) {
            unsigned told = ins_eval_determined(eval, i, inputs, bytes);
            memcpy(varied, inputs, sizeof(varied));
            varied[i] = some_value(state) & ins_low_bytes(eval->inputs[i].bytes);
            if (!told || !((varied[i] ^ inputs[i]) & ins_low_bytes(told)) ||
                !ins_eval_run(eval, varied, 0, &other))
                continue;
            if (!((own.values[0] ^ other.values[0]) & ins_low_bytes(bytes)))
                fail_msg("%s: two values of input %u give one result in %u bytes", form->text, i,
                         bytes);
        }
}

static void check_form(const uint8_t *code, unsigned length, uint8_t *page, bool is_evaluated)
{
    struct form form = {.page = page};
    uint64_t state = 0x9e3779b97f4a7c15;

    ins_text(code, length, 0, form.text, sizeof(form.text));
    if (!ins_eval_make(code, length, &form.eval))
        fail_msg("%s is not known", form.text);
    memcpy(page, code, length);
    page[length] = 0xc3;
    for (unsigned i = 0; i < TRIALS && is_evaluated; i++) {
        compare(&form, &state);
        vary(&form, &state);
    }
}

/* Whether the processor has what the forms behind eval_forms_bmi need; without, they are computed
 * only. */
static bool has_bmi(void)
{
    bool has_lzcnt = wd_cpuid_has(0x80000001u) && wd_cpuid_ask(0x80000001u, 0).ecx & 1u << 5;
    bool has_all = has_lzcnt && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");

    if (!has_all)
        skipped_say("test_insn_eval", "forms of BMI and LZCNT: this processor lacks them");
    return has_all;
}

static void results_are_the_processors(void **unused)
{
    (void)unused;
    bool can_run_bmi = has_bmi();
    uint8_t *page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned count = 0;

    assert_true(page != MAP_FAILED);
    for (const uint8_t *at = eval_forms_start; at < eval_forms_end; count++) {
        struct ins_info info;
        assert_int_equal(ins_decode(at, (size_t)(eval_forms_end - at), 0, &info), 0);
        check_form(at, info.length, page, at < eval_forms_bmi || can_run_bmi);
        at += info.length;
    }
    printf("%u forms\n", count);
    assert_true(count > 200);
    munmap(page, 4096);
}

static void what_moves_bytes_is_not_known(void **unused)
{
    static const uint8_t mov[] = {0x89, 0xc8}, nothing[] = {0x06};
    static const uint8_t exchange[] = {0x0f, 0xb1, 0xca}; /* cmpxchg edx, ecx */
    struct ins_eval eval;

    (void)unused;
    assert_false(ins_eval_make(mov, sizeof(mov), &eval));
    assert_false(ins_eval_make(nothing, sizeof(nothing), &eval));
    assert_false(ins_eval_make(exchange, sizeof(exchange), &eval));
    assert_false(ins_eval_make(mov, 0, &eval));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(results_are_the_processors),
                                       cmocka_unit_test(what_moves_bytes_is_not_known)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
