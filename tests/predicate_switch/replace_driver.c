/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What repairs a failing run among replaced values:
 *     replace_driver [OPTION]... FILE.wet CRITERION EXPECTED STATUS
 * Options are --jobs N, --budget N and --passing FILE.wet. EXPECTED is a file with the right
 * output, STATUS the right exit status. One JSON object for each that repairs, one for each line,
 * and a last one.
 */
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <wetdbg/wetdbg.h>

static void check(int code, const char *what)
{
    if (!code)
        return;
    fprintf(stderr, "replace_driver: %s: %s\n", what, wetdbg_error(code));
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

static int instance_count(void *arg, wetdbg_time time, uint64_t pc)
{
    *(json_int_t *)arg += time && pc;
    return 0;
}

static void item_print(struct wetdbg *wet, const struct wetdbg_slice *slice,
                       const struct wetdbg_replacement *item)
{
    struct wetdbg_module module;
    size_t count;
    const struct wetdbg_slice_line *line = &wetdbg_slice_lines(slice, &count)[item->line];
    json_int_t instance = 0;
    check(wetdbg_each_instance(wet, &item->pc, 1, 1, item->time, instance_count, &instance),
          "instance");
    check(wetdbg_module_at(wetdbg_get_model(wet), item->pc, &module), "module");
    print(json_pack("{s:s, s:I, s:I, s:I, s:I, s:i, s:I, s:i, s:I, s:I, s:s, s:I}", "file",
                    line->file, "line", (json_int_t)line->line, "time", (json_int_t)item->time,
                    "instance", instance, "pc", (json_int_t)(item->pc - module.bias), "reg",
                    item->reg, "address", (json_int_t)item->address, "size", (int)item->size, "was",
                    (json_int_t)item->was, "is", (json_int_t)item->is, "verdict",
                    wetdbg_verdict_name(item->verdict), "distance", (json_int_t)item->distance));
}

static void answer_print(struct wetdbg *wet, const struct wetdbg_slice *slice,
                         const struct wetdbg_replacement_result *result)
{
    size_t count;
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(slice, &count);
    for (size_t i = 0; i < result->count; i++)
        item_print(wet, slice, &result->items[i]);
    for (size_t i = 0; i < count; i++)
        if (result->lines[i].tried)
            print(json_pack("{s:s, s:I, s:I, s:I, s:I}", "of", lines[i].file, "line",
                            (json_int_t)lines[i].line, "tried", (json_int_t)result->lines[i].tried,
                            "exact", (json_int_t)result->lines[i].verdicts[WETDBG_VERDICT_EXACT],
                            "prefix",
                            (json_int_t)result->lines[i].verdicts[WETDBG_VERDICT_PREFIX]));
    print(json_pack("{s:I, s:I, s:I, s:f}", "tried", (json_int_t)result->tried, "listed",
                    (json_int_t)result->listed, "unresolved", (json_int_t)result->unresolved,
                    "seconds", result->seconds));
}

struct request {
    struct wetdbg_replacement_options options;
    unsigned jobs;
    const char *passing;
};

static void run(const struct request *request, char **argv)
{
    struct wetdbg_replacement_options options = request->options;
    struct wetdbg_expectation expected = {.kind = WETDBG_RIGHT_OUTPUT, .jobs = request->jobs};
    struct wetdbg_slice_options how = {.record_parents = true, .copies_are_near = true};
    struct wetdbg *wet, *passing = NULL;
    struct wetdbg_criterion *criterion;
    struct wetdbg_slice *slice;
    struct wetdbg_switcher *switcher;
    struct wetdbg_trials *trials;
    struct wetdbg_replacement_result result;
    char *output = file_read(argv[2], &expected.output_size);
    expected.output = output;
    expected.exit_status = atoi(argv[3]);
    check(wetdbg_open(argv[0], &wet), "open");
    if (request->passing)
        check(wetdbg_open(request->passing, &passing), "open");
    options.passing = &passing;
    options.passing_count = passing != NULL;
    check(wetdbg_criterion_parse(wet, argv[1], NULL, &criterion), "criterion");
    check(wetdbg_slice_backward(wet, criterion, &how, &slice), "slice");
    check(wetdbg_switcher_open(wet, &switcher), "switcher");
    check(wetdbg_trials_new(switcher, &expected, &trials), "trials");
    options.until = wetdbg_failure_time(criterion);
    check(wetdbg_replacements_find(trials, slice, &options, &result), "replacements");
    answer_print(wet, slice, &result);
    wetdbg_replacement_result_fini(&result);
    wetdbg_trials_free(trials);
    wetdbg_switcher_close(switcher);
    wetdbg_slice_free(slice);
    wetdbg_criterion_free(criterion);
    wetdbg_close(passing);
    wetdbg_close(wet);
    free(output);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"jobs", required_argument, NULL, 'j'},
        {"budget", required_argument, NULL, 'b'},
        {"passing", required_argument, NULL, 'p'},
        {0},
    };
    struct request request = {.jobs = 1};
    for (int opt; (opt = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (opt == 'j')
            request.jobs = (unsigned)atoi(optarg);
        else if (opt == 'b')
            request.options.budget_trials = (uint64_t)atoll(optarg);
        else if (opt == 'p')
            request.passing = optarg;
        else
            return 2;
    }
    if (argc - optind != 4)
        return 2;
    run(&request, argv + optind);
    return 0;
}
