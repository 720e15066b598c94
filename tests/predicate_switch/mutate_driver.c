/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All mutants of a failing run, with what came of each:
 *     mutate_driver [--jobs N] [--budget N] FILE.wet EXPECTED STATUS
 * EXPECTED is a file with the right output, STATUS the right exit status. One JSON object for each
 * mutant that was tried, and a last one. Addresses are those in the program's file.
 */
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include <wetdbg/wetdbg.h>

static void check(int code, const char *what)
{
    if (!code)
        return;
    fprintf(stderr, "mutate_driver: %s: %s\n", what, wetdbg_error(code));
    exit(2);
}

static void print(json_t *object)
{
    json_dumpf(object, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(object);
}

static char *file_read(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(1 << 20);
    if (!file || !bytes)
        exit(2);
    *size = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

static json_t *hexadecimal(const uint8_t *bytes, size_t size)
{
    char text[2 * WETDBG_MUTANT_CODE_MAX + 1] = "";
    for (size_t i = 0; i < size; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return json_string(text);
}

static void item_print(struct wetdbg *wet, const struct wetdbg_mutant *item)
{
    struct wetdbg_module module;
    struct wetdbg_line line = {0};
    check(wetdbg_module_at(wetdbg_get_model(wet), item->pc, &module), "module");
    if (wetdbg_line_of_instruction(wetdbg_get_model(wet), item->pc, &line))
        line.line = 0;
    print(json_pack("{s:I, s:s, s:I, s:I, s:I, s:o, s:o, s:I, s:I, s:s}", "line",
                    (json_int_t)line.line, "mutation", wetdbg_mutation_name(item->mutation), "pc",
                    (json_int_t)(item->pc - module.bias), "offset", (json_int_t)item->offset,
                    "time", (json_int_t)item->time, "code", hexadecimal(item->code, item->length),
                    "bytes", hexadecimal(item->bytes, item->size), "was", (json_int_t)item->was,
                    "is", (json_int_t)item->is, "verdict", wetdbg_verdict_name(item->verdict)));
}

static void run(const struct wetdbg_mutant_options *options, unsigned jobs, char **argv)
{
    struct wetdbg_expectation expected = {.kind = WETDBG_RIGHT_OUTPUT, .jobs = jobs};
    struct wetdbg_mutant_result result;
    struct wetdbg_switcher *switcher;
    struct wetdbg_trials *trials;
    struct wetdbg *wet;
    char *output = file_read(argv[1], &expected.output_size);
    expected.output = output;
    expected.exit_status = atoi(argv[2]);
    check(wetdbg_open(argv[0], &wet), "open");
    check(wetdbg_switcher_open(wet, &switcher), "switcher");
    check(wetdbg_trials_new(switcher, &expected, &trials), "trials");
    check(wetdbg_mutants_find(trials, options, &result), "mutants");
    for (size_t i = 0; i < result.count; i++)
        item_print(wet, &result.items[i]);
    print(json_pack("{s:I, s:I, s:I, s:I, s:f}", "tried", (json_int_t)result.count, "listed",
                    (json_int_t)result.listed, "repairing", (json_int_t)result.repairing,
                    "unresolved", (json_int_t)result.unresolved, "seconds", result.seconds));
    wetdbg_mutant_result_fini(&result);
    wetdbg_trials_free(trials);
    wetdbg_switcher_close(switcher);
    wetdbg_close(wet);
    free(output);
}

int main(int argc, char **argv)
{
    static const struct option names[] = {
        {"jobs", required_argument, NULL, 'j'}, {"budget", required_argument, NULL, 'b'}, {0}};
    struct wetdbg_mutant_options options = {0};
    unsigned jobs = 1;
    for (int opt; (opt = getopt_long(argc, argv, "", names, NULL)) != -1;) {
        if (opt == 'j')
            jobs = (unsigned)atoi(optarg);
        else if (opt == 'b')
            options.budget_trials = (uint64_t)atoll(optarg);
        else
            return 2;
    }
    if (argc - optind != 3)
        return 2;
    run(&options, jobs, argv + optind);
    return 0;
}
