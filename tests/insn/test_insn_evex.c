/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Descriptions of AVX-512 instructions: the committed list (evex_forms.txt) has a hash of each as
 * it was when a processor with AVX-512 had agreed with it.
 *
 *   test_insn_evex                       every description is still that one; where this processor
 *                                        has AVX-512, the oracle asks it about a sample
 *   test_insn_evex generate              prints all forms that the decoder knows, none verified
 *   test_insn_evex verify LIST [N [K]]   asks this processor about every Nth form, from the Kth on,
 *                                        and prints the list's lines anew; wrong ones go to
 *                                        standard error
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "evex_forms.h"
#include "oracle_check.h"
#include "tests/skipped.h"
#include <wetdbg/errors.h>

enum { TRIALS = 2, SECONDS_PER_FORM = 120, SAMPLE_EVERY = 37, PENDING = 200, CRASHED = 201 };

static int failed(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    return 1;
}

/* ---- asking the processor ---- */

static void ask_from(struct evex_list *list, size_t first, size_t step, uint8_t *verdicts)
{
    const struct oracle_options options = {.trials = TRIALS, .seed = 1};
    struct oracle_tally tally = {0};
    if (!oracle_open())
        _exit(97);
    for (size_t i = first; i < evex_list_count(list); i += step) {
        if (verdicts[i] != PENDING)
            continue;
        alarm(SECONDS_PER_FORM);
        verdicts[i] = (uint8_t)oracle_check(&evex_list_at(list, i)->form, &options, &tally, stderr);
    }
    _exit(0);
}

/* Marks the form that a child died of: the first one pending. */
static bool mark_crashed(struct evex_list *list, size_t first, size_t step, uint8_t *verdicts)
{
    for (size_t i = first; i < evex_list_count(list); i += step) {
        if (verdicts[i] != PENDING)
            continue;
        verdicts[i] = CRASHED;
        fprintf(stderr, "kills the oracle: ");
        evex_form_print(evex_list_at(list, i), stderr);
        return true;
    }
    return false;
}

/* Asks for one verdict for each form; those that are not asked about stay PENDING. NULL: the oracle
 * cannot run. */
static uint8_t *ask(struct evex_list *list, size_t first, size_t step)
{
    size_t count = evex_list_count(list);
    uint8_t *verdicts =
        mmap(NULL, count + 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (verdicts == MAP_FAILED)
        return NULL;
    memset(verdicts, PENDING, count);
    for (;;) {
        int status;
        fflush(NULL);
        pid_t child = fork();
        if (child == 0)
            ask_from(list, first, step, verdicts);
        if (child < 0 || waitpid(child, &status, 0) != child ||
            (WIFEXITED(status) && WEXITSTATUS(status) == 97))
            return NULL;
        if ((WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
            !mark_crashed(list, first, step, verdicts))
            return verdicts;
    }
}

static int verify(struct evex_list *list, size_t step, size_t first)
{
    uint8_t *verdicts = ask(list, first, step);
    size_t counts[256] = {0};
    if (!verdicts)
        return failed("verify", "this processor or kernel lacks what the oracle needs");
    for (size_t i = first; i < evex_list_count(list); i += step) {
        struct evex_form *form = evex_list_at(list, i);
        uint32_t hash = evex_description_hash(&form->form);
        counts[verdicts[i]]++;
        form->is_verified =
            verdicts[i] == ORACLE_RIGHT || (form->is_verified && form->hash == hash &&
                                            verdicts[i] != ORACLE_WRONG && verdicts[i] != CRASHED);
        form->hash = hash;
        evex_form_print(form, stdout);
    }
    for (unsigned v = 0; v < ORACLE_VERDICTS; v++)
        fprintf(stderr, "%6zu %s\n", counts[v], oracle_verdict_name(v));
    return counts[ORACLE_WRONG] || counts[CRASHED];
}

/* ---- the test ---- */

static int check_hashes(struct evex_list *list)
{
    size_t changed = 0, verified = 0, count = evex_list_count(list);
    for (size_t i = 0; i < count; i++) {
        const struct evex_form *form = evex_list_at(list, i);
        verified += form->is_verified;
        if (evex_description_hash(&form->form) == form->hash || changed++ >= 20)
            continue;
        char text[160];
        ins_text(form->form.code, form->form.length, 0x1000, text, sizeof(text));
        printf("  changed: %s\n", text);
    }
    printf("%zu forms, %zu of them verified on a processor with AVX-512, or an emulated one\n",
           count, verified);
    if (!changed)
        return 0;
    printf("%zu descriptions are not those of the list. On a machine with AVX-512 run\n"
           "    test_insn_evex verify evex_forms.txt > new\n"
           "and put its lines in place of the list's.\n",
           changed);
    return 1;
}

static int lacks_what_is_needed(void)
{
    skipped_say("test_insn_evex", "this processor or kernel lacks what the oracle needs (AVX, "
                                  "FSGSBASE): only hashes were compared");
    return 0;
}

static int check_sample(struct evex_list *list)
{
    uint8_t *verdicts = ask(list, 0, SAMPLE_EVERY);
    size_t right = 0, wrong = 0;
    if (!verdicts)
        return lacks_what_is_needed();
    for (size_t i = 0; i < evex_list_count(list); i += SAMPLE_EVERY) {
        right += verdicts[i] == ORACLE_RIGHT;
        wrong += verdicts[i] == ORACLE_WRONG || verdicts[i] == CRASHED;
    }
    printf("the processor agrees with %zu forms of a sample, and not with %zu\n", right, wrong);
    return wrong != 0 || right == 0;
}

static int check(void)
{
    struct evex_list list = {0};
    int err = evex_list_read(&list, EVEX_LIST);
    if (err || evex_list_count(&list) < 1000)
        return failed(EVEX_LIST, err ? strerror(-err) : "hardly any forms");
    int result = check_hashes(&list);
    if (__builtin_cpu_supports("avx512f"))
        result |= check_sample(&list);
    else
        printf("SKIPPED: test_insn_evex: asking the processor about a sample: it has no AVX-512\n");
    evex_list_fini(&list);
    return result;
}

static int generate(void)
{
    struct evex_list list = {0};
    if (evex_list_generate(&list))
        return failed("generate", "out of memory");
    for (size_t i = 0; i < evex_list_count(&list); i++)
        evex_form_print(evex_list_at(&list, i), stdout);
    evex_list_fini(&list);
    return 0;
}

int main(int argc, char **argv)
{
    struct evex_list list = {0};
    if (argc == 1)
        return check();
    if (argc == 2 && strcmp(argv[1], "generate") == 0)
        return generate();
    if (argc < 3 || argc > 5 || strcmp(argv[1], "verify") != 0)
        return failed(argv[0], "nothing, generate, or verify LIST [N [K]]");
    int err = evex_list_read(&list, argv[2]);
    if (err)
        return failed(argv[2], strerror(-err));
    size_t step = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
    return verify(&list, step ? step : 1, argc > 4 ? strtoul(argv[4], NULL, 10) : 0);
}
