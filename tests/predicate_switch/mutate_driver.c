/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All mutants of a failing run, with what came of each:
 *     mutate_driver [--jobs N] [--budget N] [--pass PASSING.wet] FILE.wet EXPECTED STATUS
 * EXPECTED is a file with the right output, STATUS the right exit status; those that mend are held
 * against PASSING. One JSON object for each mutant that was tried, and a last one. Addresses are
 * those in the program's file. Lines are tried from the first one on.
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
    char text[2 * WETDBG_MUTANT_CAVE_MAX + 1] = "";
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
    print(json_pack("{s:I, s:s, s:I, s:I, s:I, s:o, s:o, s:I, s:o, s:I, s:I, s:s, s:I, s:I}",
                    "line", (json_int_t)line.line, "mutation", wetdbg_mutation_name(item->mutation),
                    "pc", (json_int_t)(item->pc - module.bias), "offset", (json_int_t)item->offset,
                    "time", (json_int_t)item->time, "code", hexadecimal(item->code, item->length),
                    "bytes", hexadecimal(item->bytes, item->size), "cave",
                    (json_int_t)(item->cave_size ? item->cave - module.bias : 0), "cave_bytes",
                    hexadecimal(item->cave_bytes, item->cave_size), "was", (json_int_t)item->was,
                    "is", (json_int_t)item->is, "verdict", wetdbg_verdict_name(item->verdict),
                    "held", (json_int_t)item->held, "broken", (json_int_t)item->broken));
}

static void hold(struct wetdbg *wet, const char *path, struct wetdbg_mutant_result *result)
{
    const struct wetdbg_mutant_options options = {0};
    struct wetdbg *passing;
    check(wetdbg_open(path, &passing), "open");
    check(wetdbg_mutants_hold_against(wet, result, &passing, 1, &options), "hold");
    wetdbg_close(passing);
}

static uint32_t line_of(void *arg, uint64_t pc)
{
    struct wetdbg_line line;
    return wetdbg_line_of_instruction(arg, pc, &line) ? 0 : line.line;
}

static void run(struct wetdbg_mutant_options *options, unsigned jobs, const char *passing,
                char **argv)
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
    options->rank = line_of;
    options->rank_arg = wetdbg_get_model(wet);
    check(wetdbg_switcher_open(wet, &switcher), "switcher");
    check(wetdbg_trials_new(switcher, &expected, &trials), "trials");
    check(wetdbg_mutants_find(trials, options, &result), "mutants");
    if (passing)
        hold(wet, passing, &result);
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
    static const struct option names[] = {{"jobs", required_argument, NULL, 'j'},
                                          {"budget", required_argument, NULL, 'b'},
                                          {"pass", required_argument, NULL, 'p'},
                                          {0}};
    const char *passing = NULL;
    struct wetdbg_mutant_options options = {0};
    unsigned jobs = 1;
    for (int opt; (opt = getopt_long(argc, argv, "", names, NULL)) != -1;) {
        if (opt == 'j')
            jobs = (unsigned)atoi(optarg);
        else if (opt == 'b')
            options.budget_trials = (uint64_t)atoll(optarg);
        else if (opt == 'p')
            passing = optarg;
        else
            return 2;
    }
    if (argc - optind != 3)
        return 2;
    run(&options, jobs, passing, argv + optind);
    return 0;
}
