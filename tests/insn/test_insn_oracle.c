/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The definition/use oracle: instruction forms found in this machine's libraries and programs, and
 * a list of rarer ones, run on the processor (see oracle_check.c). The short suite takes a sample
 * of the corpus, the long one (INSN_WHOLE_CORPUS) all of it.
 *
 * With WETDBG_INSN_UNSEEN set in the environment, declared uses that never mattered are listed.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* cmocka.h needs the standard headers above it. */
#include <cmocka.h>

#include "oracle_check.h"
#include "tests/skipped.h"

#ifdef INSN_WHOLE_CORPUS
enum { SAMPLE_MAX = 1 << 20, TRIALS = 8 };
#else
enum { SAMPLE_MAX = 500, TRIALS = 3 };
#endif

enum {
    SECONDS_PER_FORM = 20,
    VERDICT_PENDING = 200,
    VERDICT_CRASHED = 201,
    COMPLAINTS_BYTES = 1 << 18
};

static const char *const corpus[] = {
    "/lib/x86_64-linux-gnu/libc.so.6",
    "/lib/x86_64-linux-gnu/libm.so.6",
    "/usr/lib/x86_64-linux-gnu/libc.so.6",
    "/usr/lib/x86_64-linux-gnu/libm.so.6",
    "/lib64/ld-linux-x86-64.so.2",
    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
    "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
    "/usr/lib/x86_64-linux-gnu/libgmp.so.10",
    "/usr/lib/x86_64-linux-gnu/libzstd.so.1",
    "/usr/bin/bash",
    "/usr/bin/gzip",
    "/usr/bin/perl",
    "/usr/bin/python3",
    "/usr/bin/gdb",
    "/usr/bin/openssl",
};

/* oracle_extra.S: assembled for its bytes, never called. */
extern const uint8_t oracle_extra_start[], oracle_extra_end[];

/* Shared between the test and its children; a child that dies leaves its form pending. */
struct board {
    struct oracle_tally tally;
    uint32_t complaints_length;
    char complaints[COMPLAINTS_BYTES];
    uint8_t verdicts[];
};

static void note_complaints(struct board *board, const char *text)
{
    size_t room = COMPLAINTS_BYTES - board->complaints_length, length = strlen(text);
    if (length > room)
        length = room;
    memcpy(board->complaints + board->complaints_length, text, length);
    board->complaints_length += (uint32_t)length;
}

static void describe_skip(const struct oracle_form *form, enum oracle_verdict verdict, FILE *why)
{
    char text[160];
    ins_text(form->code, form->length, 0x1000, text, sizeof(text));
    fprintf(why, "  skipped, %s: %s\n", oracle_verdict_name(verdict), text);
}

static void check_one(const struct oracle_form *form, struct board *board, size_t i)
{
    char *text = NULL;
    size_t size;
    FILE *why = open_memstream(&text, &size);
    if (why == NULL)
        _exit(98);
    alarm(SECONDS_PER_FORM);
    const struct oracle_options options = {
        .trials = TRIALS, .seed = 1, .list_unseen = getenv("WETDBG_INSN_UNSEEN") != NULL};
    board->verdicts[i] = (uint8_t)oracle_check(form, &options, &board->tally, why);
    if (board->verdicts[i] > ORACLE_WRONG && board->verdicts[i] != ORACLE_NO_CPU)
        describe_skip(form, board->verdicts[i], why);
    fclose(why);
    note_complaints(board, text);
    free(text);
}

static void check_from(const struct oracle_forms *forms, size_t stride, struct board *board)
{
    if (!oracle_open())
        _exit(97);
    for (size_t i = 0; i < oracle_forms_count(forms); i += stride) {
        if (board->verdicts[i] == VERDICT_PENDING)
            check_one(oracle_forms_at(forms, i), board, i);
    }
    _exit(0);
}

/* The form that a dead child was at: the first one pending. */
static bool mark_crashed(const struct oracle_forms *forms, size_t stride, struct board *board)
{
    for (size_t i = 0; i < oracle_forms_count(forms); i += stride) {
        if (board->verdicts[i] != VERDICT_PENDING)
            continue;
        const struct oracle_form *form = oracle_forms_at(forms, i);
        char text[160], line[256];
        ins_text(form->code, form->length, 0, text, sizeof(text));
        snprintf(line, sizeof(line), "  %s\n    kills or stops the test process\n", text);
        note_complaints(board, line);
        board->verdicts[i] = VERDICT_CRASHED;
        return true;
    }
    return false;
}

static void run_children(const struct oracle_forms *forms, size_t stride, struct board *board)
{
    for (;;) {
        int status;
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            check_from(forms, stride, board);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 97)
            fail_msg("this processor or kernel lacks what the oracle needs (AVX, FSGSBASE)");
        assert_true(mark_crashed(forms, stride, board));
    }
}

static void print_and_judge(const struct oracle_forms *forms, size_t stride,
                            const struct board *board)
{
    size_t counts[256] = {0}, total = 0, skipped = 0;
    for (size_t i = 0; i < oracle_forms_count(forms); i += stride, total++)
        counts[board->verdicts[i]]++;
    print_message("%zu of %zu forms; %llu runs, %llu faults\n", total, oracle_forms_count(forms),
                  (unsigned long long)board->tally.runs, (unsigned long long)board->tally.faults);
    for (unsigned v = 0; v < ORACLE_VERDICTS; v++) {
        print_message("  %6zu %s\n", counts[v], oracle_verdict_name(v));
        if (v > ORACLE_WRONG && v != ORACLE_NO_CPU)
            skipped += counts[v];
    }
    if (counts[ORACLE_NO_CPU] != 0)
        printf("SKIPPED: test_insn_oracle: %zu forms: this processor lacks them (AVX-512 and "
               "others)\n",
               counts[ORACLE_NO_CPU]);
    print_message("  %llu of %llu declared register uses seen to matter\n",
                  (unsigned long long)board->tally.uses_seen,
                  (unsigned long long)board->tally.uses_declared);
    if (board->complaints_length != 0)
        printf("%.*s", (int)board->complaints_length, board->complaints); /* cmocka would cut it */
    assert_int_equal(counts[ORACLE_WRONG], 0);
    assert_int_equal(counts[VERDICT_CRASHED], 0);
    assert_int_equal(counts[VERDICT_PENDING], 0);
    /* Of the forms that this processor has, nearly all must really have been tried. */
    assert_true(skipped * 10 < total - counts[ORACLE_NO_CPU]);
}

static void check_forms(const struct oracle_forms *forms, size_t stride)
{
    size_t count = oracle_forms_count(forms), size = sizeof(struct board) + count;
    struct board *board =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(board != MAP_FAILED);
    memset(board->verdicts, VERDICT_PENDING, count);
    run_children(forms, stride, board);
    print_and_judge(forms, stride, board);
    munmap(board, size);
}

/* ---- the oracle itself: what it must notice ---- */

static void forget_value_uses(struct ins_info *info)
{
    info->flows[0].value_uses = (struct ins_regset){0};
}

static void forget_condition_uses(struct ins_info *info)
{
    info->flows[0].cond_uses = (struct ins_regset){0};
}

static void forget_definitions(struct ins_info *info)
{
    info->flows[0].defs = (struct ins_regset){0};
}

static void forget_memory_use(struct ins_info *info)
{
    info->flows[0].mem_uses = 0;
}

static void forget_memory_definition(struct ins_info *info)
{
    info->flows[0].mem_defs = 0;
}

static void forget_doubt(struct ins_info *info)
{
    ins_regset_join(&info->flows[0].defs, &info->flows[0].may_defs);
    info->flows[0].may_defs = (struct ins_regset){0};
}

static void forget_index(struct ins_info *info)
{
    info->mems[0].index = -1;
}

static void claim_whole_register(struct ins_info *info)
{
    ins_regset_add_gpr(&info->flows[0].defs, INS_RAX, 0, 8);
}

static void shrink_operand(struct ins_info *info)
{
    info->mems[0].size_bytes /= 2;
}

static void claim_half_uses(struct ins_info *info)
{
    info->flows[0].halves = UINT16_MAX;
}

static void claim_half_copy(struct ins_info *info)
{
    info->flows[0].copy_bytes = 4;
}

static void claim_copy(struct ins_info *info)
{
    info->flows[0].kinds = INS_FLOW_COPY;
    info->flows[0].copy_bytes = 8;
}

static void claim_same_bytes(struct ins_info *info)
{
    info->choice.shape = INS_PICK_SAME;
}

static void claim_all_written(struct ins_info *info)
{
    info->choice.other = info->choice.from[0];
}

static void forget_signs(struct ins_info *info)
{
    info->choice.has_signs = false;
}

static const struct {
    const char *text;
    uint8_t code[8], length;
    void (*spoil)(struct ins_info *info);
} damages[] = {
    {"add rax, rcx", {0x48, 0x01, 0xc8}, 3, forget_value_uses},
    {"adc rax, rcx", {0x48, 0x11, 0xc8}, 3, forget_condition_uses},
    {"setz al", {0x0f, 0x94, 0xc0}, 3, forget_condition_uses},
    {"inc rcx", {0x48, 0xff, 0xc1}, 3, forget_definitions},
    {"mov rax, [rcx]", {0x48, 0x8b, 0x01}, 3, forget_memory_use},
    {"mov [rcx], rax", {0x48, 0x89, 0x01}, 3, forget_memory_definition},
    {"mov [rcx], rax", {0x48, 0x89, 0x01}, 3, shrink_operand},
    {"mov rax, [rcx+rdx*4]", {0x48, 0x8b, 0x04, 0x91}, 4, forget_index},
    {"mov al, cl", {0x88, 0xc8}, 2, claim_whole_register},
    {"bsf eax, ecx", {0x0f, 0xbc, 0xc1}, 3, forget_doubt},
    {"shl eax, cl", {0xd3, 0xe0}, 2, forget_doubt},
    {"addss xmm1, xmm2", {0xf3, 0x0f, 0x58, 0xca}, 4, forget_value_uses},
    {"addss xmm1, xmm2", {0xf3, 0x0f, 0x58, 0xca}, 4, forget_doubt},
    {"rep movsb", {0xf3, 0xa4}, 2, forget_condition_uses},
    {"add rax, rcx", {0x48, 0x01, 0xc8}, 3, claim_half_uses},
    {"mov rax, rcx", {0x48, 0x89, 0xc8}, 3, claim_half_copy},
    {"bswap rax", {0x48, 0x0f, 0xc8}, 3, claim_copy},
    {"emms", {0x0f, 0x77}, 2, forget_doubt},
    {"pshufb xmm1, xmm2", {0x66, 0x0f, 0x38, 0x00, 0xca}, 5, claim_same_bytes},
    {"maskmovdqu xmm1, xmm2", {0x66, 0x0f, 0xf7, 0xca}, 4, claim_all_written},
    {"pblendvb xmm1, xmm2", {0x66, 0x0f, 0x38, 0x10, 0xca}, 5, forget_signs},
};

static void check_damages(void)
{
    const struct oracle_options plain = {.trials = 8, .seed = 1};
    struct oracle_tally tally = {0};
    FILE *nowhere = fopen("/dev/null", "w");
    if (nowhere == NULL || !oracle_open())
        _exit(1);
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        struct oracle_options spoilt = plain;
        struct oracle_form form = {.key = 1, .length = damages[i].length};
        memcpy(form.code, damages[i].code, form.length);
        spoilt.spoil = damages[i].spoil;
        bool right = oracle_check(&form, &plain, &tally, nowhere) == ORACLE_RIGHT;
        bool noticed = oracle_check(&form, &spoilt, &tally, nowhere) == ORACLE_WRONG;
        if (!right || !noticed) {
            fprintf(stderr, "damage %zu, %s: %s\n", i, damages[i].text,
                    right ? "not noticed" : "wrong even undamaged");
            _exit(1);
        }
    }
    _exit(0);
}

static void oracle_given_a_damaged_description_notices(void **state)
{
    int status;
    (void)state;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        check_damages();
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- corpora ---- */

static void oracle_agrees_on_rare_forms(void **state)
{
    struct oracle_forms forms = {0};
    (void)state;
    assert_int_equal(oracle_forms_add_code(&forms, oracle_extra_start,
                                           (size_t)(oracle_extra_end - oracle_extra_start)),
                     0);
    check_forms(&forms, 1);
    oracle_forms_fini(&forms);
}

static void oracle_agrees_on_corpus(void **state)
{
    struct oracle_forms forms = {0};
    unsigned found = 0;
    (void)state;
    for (size_t i = 0; i < sizeof(corpus) / sizeof(corpus[0]); i++) {
        uint64_t before = forms.instruction_count;
        int err = oracle_forms_add_file(&forms, corpus[i]);
        if (err == -ENOENT) {
            print_message("%s: not on this machine\n", corpus[i]);
            continue;
        }
        assert_int_equal(err, 0);
        print_message("%s: %llu instructions, %zu forms so far\n", corpus[i],
                      (unsigned long long)(forms.instruction_count - before),
                      oracle_forms_count(&forms));
        found++;
    }
    assert_true(found >= 3);
    check_forms(&forms, oracle_forms_count(&forms) / SAMPLE_MAX + 1);
    oracle_forms_fini(&forms);
}

/* Some virtual machines hide instructions that the oracle sets its inputs with. */
static bool processor_has_what_is_needed(void)
{
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(oracle_open() ? 0 : 1);
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

int main(void)
{
    if (!processor_has_what_is_needed()) {
        skipped_say("test_insn_oracle",
                    "this processor or kernel lacks what the oracle needs (AVX, "
                    "FSGSBASE)");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(oracle_given_a_damaged_description_notices),
        cmocka_unit_test(oracle_agrees_on_rare_forms),
        cmocka_unit_test(oracle_agrees_on_corpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
