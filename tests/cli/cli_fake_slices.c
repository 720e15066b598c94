/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The slices, sets, origins, files and prunings of the run that never was. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slicer/slicer.h"
#include "tests/cli/cli_fake_priv.h"
#include <wetdbg/caller.h>
#include <wetdbg/decisions.h>
#include <wetdbg/errors.h>
#include <wetdbg/files.h>
#include <wetdbg/implicit.h>
#include <wetdbg/origin.h>
#include <wetdbg/prune.h>
#include <wetdbg/set.h>
#include <wetdbg/switch.h>

bool fake_slice_is_interrupted;
unsigned fake_path_turns;
unsigned fake_slice_count;

struct wetdbg_criterion {
    struct wetdbg_criterion_info info;
    char text[64];
};

struct wetdbg_slice {
    bool has_parents;
};

static const struct wetdbg_slice_line lines[] = {
    {fake_helper_file, 30, "helper", "helper", "prog", HELPER_PC, 2, 1, 0, 993, 1001, 0},
    {fake_main_file, 14, "main", "main", "prog", MAIN_PC + 64, 3, 2, 1, 13, 989, 1},
    {NULL, 0, "foreign", "foreign", "libforeign.so", FOREIGN_PC, 7, 7, 2, 500, 507, 0},
    {fake_main_file, 10, "main", "main", "prog", MAIN_PC, 1, 1, 3, 1, 1, 1},
};

static const struct wetdbg_slice_instance instances[] = {
    {1001, HELPER_PC, 0, WETDBG_EDGE_NONE, 0, WETDBG_LOCATION_NONE, 0},
    {989, MAIN_PC + 64, 1, WETDBG_EDGE_VALUE, 1001, 0 /* of rax */, 0},
    {507, FOREIGN_PC, 2, WETDBG_EDGE_CONTROL, 989, WETDBG_LOCATION_NONE, 0},
    {1, MAIN_PC, 3, WETDBG_EDGE_ADDRESS, 507, WETDBG_LOCATION_NONE, MEMORY + 4},
};

int wetdbg_criterion_parse(struct wetdbg *wet, const char *text,
                           const struct wetdbg_standpoint *from, struct wetdbg_criterion **out)
{
    (void)wet;
    (void)from;
    if (strcmp(text, "exit") == 0)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "the run did not exit");
    if (strcmp(text, "crash") != 0)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "'%s' is no criterion", text);
    *out = calloc(1, sizeof(**out));
    strcpy((*out)->text, text);
    (*out)->info = (struct wetdbg_criterion_info){
        .text = (*out)->text,
        .description = "SIGSEGV at util.c:30 in helper",
        .source = "the source",
        .time = INSTRUCTIONS + 1,
    };
    return 0;
}

int wetdbg_criterion_of_variable(struct wetdbg *wet, wetdbg_time time, const char *text,
                                 const struct wetdbg_place *where, uint64_t type_bytes,
                                 struct wetdbg_criterion **out)
{
    (void)wet;
    (void)where;
    (void)type_bytes;
    *out = calloc(1, sizeof(**out));
    snprintf((*out)->text, sizeof(*out)->text, "%s", text);
    (*out)->info = (struct wetdbg_criterion_info){
        .text = (*out)->text, .description = "a variable", .source = "a variable", .time = time};
    return 0;
}

/* A file with a hostile name, standard output, and a file that is read and written. */
int wetdbg_files_open(struct wetdbg *wet, struct wetdbg_files **out)
{
    *out = (struct wetdbg_files *)(uintptr_t)wet;
    return 0;
}

void wetdbg_files_close(struct wetdbg_files *files)
{
    (void)files;
}

size_t wetdbg_files_count(const struct wetdbg_files *files)
{
    (void)files;
    return 3;
}

struct wetdbg_file wetdbg_files_get(const struct wetdbg_files *files, size_t n)
{
    (void)files;
    if (n == 0)
        return (struct wetdbg_file){.name = "dir/in\x1b.txt",
                                    .is_path = true,
                                    .is_mapped = true,
                                    .reads = 2,
                                    .read_bytes = 300,
                                    .first_time = 500,
                                    .last_time = 501};
    if (n == 2)
        return (struct wetdbg_file){.name = "/tmp/table",
                                    .is_path = true,
                                    .reads = 1,
                                    .writes = 1,
                                    .read_bytes = 7,
                                    .written_bytes = 8,
                                    .first_time = 600,
                                    .last_time = 601};
    return (struct wetdbg_file){.name = "standard output",
                                .writes = 1,
                                .written_bytes = 6,
                                .first_time = 506,
                                .last_time = 506};
}

int wetdbg_environment_each(struct wetdbg *wet, int (*on_name)(void *arg, const char *name),
                            void *arg)
{
    (void)wet;
    int stop = on_name(arg, "HOME");
    return stop ? stop : on_name(arg, "LC_ALL");
}

int wetdbg_files_find_written(const struct wetdbg_files *files, const char *path, size_t *n)
{
    (void)files;
    *n = 1;
    return strcmp(path, "out.txt") == 0
               ? 0
               : wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "the program wrote to no file '%s'", path);
}

int wetdbg_files_outputs(const struct wetdbg_files *files, size_t n, struct wetdbg_output **list,
                         size_t *count)
{
    const struct wetdbg_output *outputs = wetdbg_outputs(NULL, count);
    (void)files;
    (void)n;
    *list = malloc(2 * sizeof(**list));
    (*list)[0] = outputs[0];
    (*list)[0].offset = 100;
    (*list)[1] = outputs[0];
    (*list)[1].offset = UINT64_MAX;
    *count = 2;
    return 0;
}

int wetdbg_unseen_find(struct wetdbg *wet, struct wetdbg_unseen **list, size_t *count)
{
    (void)wet;
    *list = NULL;
    *count = 0;
    return 0;
}

int wetdbg_descriptor_outputs(struct wetdbg *wet, int fd, struct wetdbg_output **list,
                              size_t *count)
{
    size_t all;
    const struct wetdbg_output *outputs = wetdbg_outputs(wet, &all);
    *list = malloc(all * sizeof(**list));
    *count = 0;
    for (size_t i = 0; i < all; i++)
        if (outputs[i].fd == fd)
            (*list)[(*count)++] = outputs[i];
    return 0;
}

bool wetdbg_is_own(struct wetdbg *wet, uint64_t pc)
{
    (void)wet;
    (void)pc;
    return true;
}

int wetdbg_own_caller(struct wetdbg *wet, wetdbg_time time, struct wetdbg_caller *caller)
{
    (void)wet;
    (void)time;
    (void)caller;
    return -WETDBG_ERR_NOT_FOUND;
}

/* Copied at 989 from memory, where a read had put it at 500. */
int wetdbg_origin(struct wetdbg *wet, const struct wetdbg_criterion *criterion,
                  const struct wetdbg_slice_options *options, struct wetdbg_origin **out)
{
    const struct wetdbg_spot rax = {.kind = WETDBG_SPOT_GPR};
    const struct wetdbg_spot memory = {.kind = WETDBG_SPOT_MEMORY, .address = MEMORY};
    (void)wet;
    (void)criterion;
    (void)options;
    *out = calloc(1, sizeof(**out));
    **out = (struct wetdbg_origin){.size = 2, .value = {0x34, 0x12}, .known = 3, .place = rax};
    (*out)->hops = calloc(3, sizeof *(*out)->hops);
    (*out)->hops[(*out)->hop_count++] = (struct wetdbg_hop){.kind = WETDBG_HOP_COPY,
                                                            .time = 989,
                                                            .pc = MAIN_PC + 64,
                                                            .bytes = 3,
                                                            .to = rax,
                                                            .from = memory,
                                                            .text = "mov eax, dword ptr [rbx]"};
    (*out)->hops[(*out)->hop_count++] = (struct wetdbg_hop){.kind = WETDBG_HOP_SYSCALL,
                                                            .time = 507,
                                                            .pc = FOREIGN_PC,
                                                            .bytes = 1,
                                                            .to = memory,
                                                            .arg_count = 3,
                                                            .args = {3, MEMORY, 100},
                                                            .result = 12,
                                                            .offset = 4,
                                                            .extent = 12,
                                                            .file = "in.txt",
                                                            .file_offset = 104};
    (*out)->hops[(*out)->hop_count++] = (struct wetdbg_hop){.kind = WETDBG_HOP_COMPUTED,
                                                            .time = 1,
                                                            .pc = MAIN_PC,
                                                            .bytes = 2,
                                                            .to = memory,
                                                            .text = "inc"};
    return 0;
}

void wetdbg_origin_free(struct wetdbg_origin *origin)
{
    free(origin->hops);
    free(origin);
}

const char *wetdbg_hop_name(enum wetdbg_hop_kind kind)
{
    return kind == WETDBG_HOP_COPY      ? "copied"
           : kind == WETDBG_HOP_SYSCALL ? "system call"
                                        : "computed";
}

void wetdbg_spot_name(const struct wetdbg_spot *spot, char *text, size_t size)
{
    snprintf(text, size, "%s", spot->kind == WETDBG_SPOT_GPR ? "rax" : "");
}

void wetdbg_criterion_free(struct wetdbg_criterion *criterion)
{
    free(criterion);
}

const struct wetdbg_criterion_info *
wetdbg_criterion_get_info(const struct wetdbg_criterion *criterion)
{
    return &criterion->info;
}

const char *wetdbg_edge_name(enum wetdbg_edge edge)
{
    static const char *const names[] = {"value",   "address",  "condition",
                                        "control", "implicit", "criterion"};
    return names[edge];
}

int wetdbg_check_model(const struct wetdbg *wet)
{
    (void)wet;
    return 0;
}

int wetdbg_slice_session_new(struct wetdbg *wet, struct wetdbg_slice_session **out)
{
    (void)wet;
    *out = NULL;
    return 0;
}

void wetdbg_slice_session_free(struct wetdbg_slice_session *session)
{
    (void)session;
}

int wetdbg_slice_backward(struct wetdbg *wet, const struct wetdbg_criterion *criterion,
                          const struct wetdbg_slice_options *options, struct wetdbg_slice **out)
{
    (void)wet;
    (void)criterion;
    fake_slice_count++;
    if (fake_slice_is_interrupted)
        return -WETDBG_ERR_INTERRUPTED;
    *out = calloc(1, sizeof(**out));
    (*out)->has_parents = options->record_parents;
    return 0;
}

int wetdbg_slice_forward(struct wetdbg *wet, const struct wetdbg_criterion *source,
                         const struct wetdbg_slice_options *options, struct wetdbg_slice **out)
{
    return wetdbg_slice_backward(wet, source, options, out);
}

const struct wetdbg_slice_reached *wetdbg_slice_get_reached(const struct wetdbg_slice *slice,
                                                            size_t *count)
{
    static const struct wetdbg_slice_reached reached = {.fd = 1, .offset = 4, .size = 2};
    (void)slice;
    *count = 1;
    return &reached;
}

bool wetdbg_slice_reaches_crash(const struct wetdbg_slice *slice)
{
    (void)slice;
    return false;
}

struct wetdbg_set {
    uint64_t count;
};

int wetdbg_set_of_slice(const struct wetdbg_slice *slice, struct wetdbg_set **out)
{
    (void)slice;
    *out = calloc(1, sizeof(**out));
    (*out)->count = 13;
    return 0;
}

int wetdbg_set_combine(const struct wetdbg_set *a, enum wetdbg_set_operation operation,
                       const struct wetdbg_set *b, struct wetdbg_set **out)
{
    (void)b;
    *out = calloc(1, sizeof(**out));
    if (operation != WETDBG_SET_MINUS)
        **out = *a;
    return 0;
}

int wetdbg_set_chop(const struct wetdbg_set *forward, const struct wetdbg_set *backward,
                    struct wetdbg_set **out)
{
    return wetdbg_set_combine(forward, WETDBG_SET_AND, backward, out);
}

int wetdbg_set_save(const struct wetdbg_set *set, const char *note, const char *path)
{
    (void)set;
    (void)note;
    return wetdbg_fail(-EACCES, "%s: Permission denied", path);
}

int wetdbg_set_load(struct wetdbg *wet, const char *path, struct wetdbg_set **out, char **note)
{
    (void)wet;
    (void)out;
    (void)note;
    return wetdbg_fail(-WETDBG_ERR_USAGE, "%s is a set of another run's instances", path);
}

uint64_t wetdbg_set_count(const struct wetdbg_set *set)
{
    return set->count;
}

void wetdbg_set_free(struct wetdbg_set *set)
{
    free(set);
}

int wetdbg_slice_of_set(const struct wetdbg_set *set, const struct wetdbg_slice_options *options,
                        struct wetdbg_slice **out)
{
    (void)set;
    return wetdbg_slice_backward(NULL, NULL, options, out);
}

int wetdbg_slice_within(const struct wetdbg_slice *slice, const struct wetdbg_set *set,
                        struct wetdbg_slice **out)
{
    (void)set;
    *out = calloc(1, sizeof(**out));
    **out = *slice;
    return 0;
}

bool wetdbg_slice_contains_time(const struct wetdbg_slice *slice, wetdbg_time time)
{
    (void)slice;
    return time == 993 || time == 13;
}

/* Pruning: of the lines above one has no confidence, one half, one all. */
struct wetdbg_profile {
    bool is_there;
};

int wetdbg_profile_make(struct wetdbg *wet, wetdbg_time last, uint64_t instructions,
                        int (*progress)(void *arg, uint64_t done, uint64_t total), void *arg,
                        struct wetdbg_profile **out)
{
    (void)wet;
    (void)last;
    (void)instructions;
    if (progress && progress(arg, 1, 2))
        return -WETDBG_ERR_INTERRUPTED;
    *out = calloc(1, sizeof(**out));
    return 0;
}

void wetdbg_profile_free(struct wetdbg_profile *profile)
{
    free(profile);
}

struct wetdbg_switcher {
    int unused;
};

/* Each line of main.c but 12 has one instruction that can be switched. */
int wetdbg_switch_points(struct wetdbg *wet, const char *file, uint32_t line, uint64_t **pcs,
                         size_t *count)
{
    (void)wet;
    if (line == 12)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "nothing on %s:%u depends on a condition", file,
                           line);
    *pcs = calloc(1, sizeof(**pcs));
    (*pcs)[0] = MAIN_PC + 16 * (line - 10);
    *count = 1;
    return 0;
}

uint64_t wetdbg_change_room(const struct wetdbg_criterion *criterion)
{
    (void)criterion;
    return 4;
}

int wetdbg_change_of_criterion(const struct wetdbg_criterion *criterion, const void *bytes,
                               size_t size, struct wetdbg_change *out)
{
    *out = (struct wetdbg_change){.kind = WETDBG_CHANGE_VALUE, .time = criterion->info.time};
    memcpy(out->bytes, bytes, size);
    return 0;
}

int wetdbg_switcher_open(struct wetdbg *wet, struct wetdbg_switcher **out)
{
    (void)wet;
    *out = calloc(1, sizeof(**out));
    return 0;
}

void wetdbg_switcher_close(struct wetdbg_switcher *switcher)
{
    free(switcher);
}

/* One dependence, of the criterion's instance on one of main.c:10; and a run that is unresolved.
 * With a budget of 4 there are two more, of which the use does not happen. */
int wetdbg_implicit_find(struct wetdbg *wet, struct wetdbg_switcher *switcher,
                         const struct wetdbg_criterion *criterion,
                         const struct wetdbg_implicit_options *options,
                         struct wetdbg_implicit_result *result)
{
    (void)wet;
    (void)switcher;
    (void)criterion;
    *result = (struct wetdbg_implicit_result){.items = calloc(3, sizeof(*result->items)),
                                              .edges = calloc(3, sizeof(*result->edges)),
                                              .count = options->budget_trials == 4 ? 3 : 1,
                                              .tried = 3,
                                              .proving = 1,
                                              .refuted = 1,
                                              .unresolved = 1,
                                              .reasons = {{"fork: not modelled", 1}},
                                              .reason_count = 1,
                                              .left = options->budget_trials == 3,
                                              .rounds = 1};
    result->edges[0] = (struct wetdbg_implicit_edge){900, 500};
    result->items[0] = (struct wetdbg_implicit){.edge = result->edges[0],
                                                .proof = {.instance = 2, .pc = MAIN_PC},
                                                .use_pc = MAIN_PC + 16,
                                                .location = WETDBG_LOCATION_NONE,
                                                .size = 4,
                                                .was = {1},
                                                .is = {9},
                                                .is_strong = options->expected_size == 1,
                                                .round = 1};
    for (size_t i = 1; i < 3; i++) {
        result->edges[i] = (struct wetdbg_implicit_edge){900 - i, 500};
        result->items[i] = result->items[0];
        result->items[i].edge = result->edges[i];
        result->items[i].effect = WETDBG_IMPLICIT_MISSING;
    }
    return 0;
}

void wetdbg_implicit_result_fini(struct wetdbg_implicit_result *result)
{
    free(result->items);
    free(result->edges);
    *result = (struct wetdbg_implicit_result){0};
}

/* Exits with its change's value, or cannot be told where a condition is switched. */
int wetdbg_switcher_run(struct wetdbg_switcher *switcher, const struct wetdbg_change *change,
                        uint64_t instructions, wetdbg_switch_output_fn output, void *arg,
                        struct wetdbg_switch_result *result)
{
    (void)switcher;
    (void)instructions;
    *result = (struct wetdbg_switch_result){
        .end = WETDBG_SWITCH_UNRESOLVED, .instructions = 900, .reason = "fork: not modelled"};
    if (change->kind == WETDBG_CHANGE_SWITCH)
        return 0;
    *result = (struct wetdbg_switch_result){.end = WETDBG_SWITCH_EXIT,
                                            .wait_status = change->bytes[0] << 8,
                                            .instructions = 1100,
                                            .output_differs = true,
                                            .output_fd = 1,
                                            .output_offset = 7};
    return output(arg, 1, "two\n", 4);
}

int wetdbg_switcher_keep(struct wetdbg_switcher *switcher, const struct wetdbg_change *change,
                         uint64_t instructions, wetdbg_switch_output_fn output, void *arg,
                         const char *change_text, const char *path,
                         struct wetdbg_switch_result *result)
{
    int err = wetdbg_switcher_run(switcher, change, instructions, output, arg, result);
    if (!err && result->end != WETDBG_SWITCH_EXIT)
        err = wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "%s: '%s' did not come to its end", path,
                          change_text);
    return err;
}

struct wetdbg_prune {
    struct wetdbg_prune_counts counts;
    struct wetdbg_prune_line lines[4];
};

int wetdbg_prune(const struct wetdbg_slice *slice, const struct wetdbg_prune_options *options,
                 struct wetdbg_prune **out)
{
    static const double confidences[] = {0, 0.995, 0.25, 1};
    (void)slice;
    *out = calloc(1, sizeof(**out));
    (*out)->counts = (struct wetdbg_prune_counts){.instances = 13,
                                                  .kept = 9,
                                                  .looked = 13,
                                                  .lines = 4,
                                                  .kept_lines = 3,
                                                  .right_bytes = 4,
                                                  .known = 20 + options->good_count};
    for (unsigned i = 0; i < 4; i++)
        (*out)->lines[i] = (struct wetdbg_prune_line){
            &lines[i], confidences[i], i == 3 ? 0 : lines[i].instances - i, lines[i].instances};
    return 0;
}

void wetdbg_prune_free(struct wetdbg_prune *prune)
{
    free(prune);
}

const struct wetdbg_prune_counts *wetdbg_prune_get_counts(const struct wetdbg_prune *prune)
{
    return &prune->counts;
}

const struct wetdbg_prune_line *wetdbg_prune_lines(const struct wetdbg_prune *prune, size_t *count)
{
    *count = 4;
    return prune->lines;
}

int wetdbg_prune_right_before(struct wetdbg *wet, const struct wetdbg_criterion *wrong,
                              struct wetdbg_criterion **out)
{
    (void)wrong;
    return wetdbg_criterion_parse(wet, "crash", NULL, out);
}

int wetdbg_prune_check(const struct wetdbg_criterion *right, const struct wetdbg_criterion *wrong)
{
    (void)right;
    (void)wrong;
    return 0;
}

int wetdbg_criterion_of_instance(struct wetdbg *wet, wetdbg_time time,
                                 struct wetdbg_criterion **out)
{
    (void)time;
    return wetdbg_criterion_parse(wet, "crash", NULL, out);
}

int wetdbg_criterion_times(const struct wetdbg_criterion *criterion, wetdbg_time **times,
                           size_t *count)
{
    *times = calloc(1, sizeof(**times));
    (*times)[0] = criterion->info.time;
    *count = 1;
    return 0;
}

void wetdbg_slice_free(struct wetdbg_slice *slice)
{
    free(slice);
}

const struct wetdbg_slice_counts *wetdbg_slice_get_counts(const struct wetdbg_slice *slice)
{
    static const struct wetdbg_slice_counts counts = {
        .instances = 13, .statements = 11, .lines = 3, .functions_without_lines = 1};
    (void)slice;
    return &counts;
}

const struct wetdbg_slice_line *wetdbg_slice_lines(const struct wetdbg_slice *slice, size_t *count)
{
    (void)slice;
    *count = 4;
    return lines;
}

int wetdbg_slice_each_line_instance(const struct wetdbg_slice *slice, size_t line_index,
                                    wetdbg_slice_instance_fn fn, void *arg)
{
    struct wetdbg_slice_instance instance = instances[line_index];
    if (!slice->has_parents) {
        instance.distance = WETDBG_DISTANCE_UNKNOWN;
        instance.parent = 0;
    }
    return fn(arg, &instance);
}

int wetdbg_slice_each_instance(const struct wetdbg_slice *slice, const uint64_t *pcs,
                               size_t pc_count, wetdbg_slice_instance_fn fn, void *arg)
{
    int result = 0;
    (void)pcs;
    (void)pc_count;
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines) && !result; i++)
        result = wetdbg_slice_each_line_instance(slice, i, fn, arg);
    return result;
}

int wetdbg_slice_path_to_line(const struct wetdbg_slice *slice, size_t line_index,
                              struct wetdbg_slice_path **path)
{
    size_t count = line_index + 1 + 2 * fake_path_turns, at = 0;
    if (!slice->has_parents)
        return -EINVAL;
    *path = malloc(sizeof(**path) + count * sizeof(instances[0]));
    struct wetdbg_slice_instance *hops = (struct wetdbg_slice_instance *)(*path + 1);
    for (size_t i = 0; i <= line_index; i++) {
        hops[at++] = instances[i];
        for (unsigned turn = 0; i == 2 && turn < fake_path_turns; turn++) {
            hops[at++] = instances[1];
            hops[at++] = instances[2];
        }
    }
    **path = (struct wetdbg_slice_path){at, hops};
    return 0;
}

/* Of the lines' instances above, by address and by time. */
int wetdbg_slice_path(const struct wetdbg_slice *slice, const uint64_t *pcs, size_t pc_count,
                      struct wetdbg_slice_path **path)
{
    (void)pc_count;
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
        if (instances[i].pc == pcs[0])
            return wetdbg_slice_path_to_line(slice, i, path);
    return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
}

int wetdbg_slice_path_to_time(const struct wetdbg_slice *slice, wetdbg_time time,
                              struct wetdbg_slice_path **path)
{
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
        if (instances[i].time == time)
            return wetdbg_slice_path_to_line(slice, i, path);
    return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
}

int wetdbg_slice_decisions(const struct wetdbg_slice *slice, size_t limit,
                           struct wetdbg_decision **decisions, size_t *count)
{
    if (!slice->has_parents)
        return -EINVAL;
    *count = limit && limit < 2 ? limit : 2;
    *decisions = calloc(2, sizeof(**decisions));
    (*decisions)[0] = (struct wetdbg_decision){.instance = instances[1],
                                               .instances = 3,
                                               .went = instances[0].pc,
                                               .other = instances[3].pc,
                                               .is_way_out = true};
    (*decisions)[1] = (struct wetdbg_decision){.instance = instances[3], .instances = 1};
    return 0;
}

/* Each line gave something to the one before. */
int wetdbg_slice_links(const struct wetdbg_slice *slice, const bool *passed,
                       struct wetdbg_slice_link **links, size_t *count)
{
    (void)passed;
    if (!slice->has_parents)
        return wetdbg_fail(-EINVAL, "the slice was made without parents");
    *links = calloc(3, sizeof(**links));
    *count = 3;
    for (size_t i = 0; i < 3; i++)
        (*links)[i] =
            (struct wetdbg_slice_link){i, i + 1, {[WETDBG_EDGE_VALUE] = i + 1}, (uint32_t)i + 1};
    return 0;
}

void wetdbg_slice_path_free(struct wetdbg_slice_path *path)
{
    free(path);
}

const struct wetdbg_slice_initial *wetdbg_slice_initials(const struct wetdbg_slice *slice,
                                                         size_t *count)
{
    static const struct wetdbg_slice_initial list[] = {
        {.location = WETDBG_LOCATION_NONE,
         .address = MEMORY + 4,
         .size_bytes = 4,
         .distance = 9,
         .user = 5},
        {.location = WETDBG_LOCATION_NONE,
         .address = MEMORY + 12,
         .size_bytes = 4,
         .distance = 3,
         .user = 7},
        {.location = WETDBG_LOCATION_NONE,
         .address = 0x9000,
         .size_bytes = 8,
         .distance = 1,
         .user = 9},
        {.location = 0 /* of rax */, .distance = 2, .user = 1},
    };
    (void)slice;
    *count = 4;
    return list;
}

/* ---- a search: the second decision that is tried makes the run right ---- */

struct wetdbg_trials {
    struct wetdbg_expectation expected;
};

struct wetdbg_candidates {
    struct wetdbg_predicate predicate;
};

int wetdbg_trials_new(struct wetdbg_switcher *switcher, const struct wetdbg_expectation *expected,
                      struct wetdbg_trials **out)
{
    (void)switcher;
    if (expected->kind == WETDBG_RIGHT_COMMAND)
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "the recorded run does not fail: the oracle says that it is right");
    *out = calloc(1, sizeof(**out));
    (*out)->expected = *expected;
    return 0;
}

void wetdbg_trials_free(struct wetdbg_trials *trials)
{
    free(trials);
}

const char *wetdbg_trials_failure(const struct wetdbg_trials *trials)
{
    (void)trials;
    return "crash";
}

struct wetdbg_trial_runner wetdbg_trials_runner(struct wetdbg_trials *trials,
                                                struct wetdbg_candidates *candidates)
{
    (void)candidates;
    return (struct wetdbg_trial_runner){.context = trials};
}

int wetdbg_trials_show(struct wetdbg_trials *trials, const struct wetdbg_trial *trial,
                       wetdbg_switch_output_fn output, void *arg,
                       struct wetdbg_switch_result *result)
{
    (void)trials;
    *result = (struct wetdbg_switch_result){.end = WETDBG_SWITCH_EXIT,
                                            .wait_status = (int)trial->switches[0].to << 8};
    return output(arg, 1, "two\n", 4);
}

int wetdbg_candidates_find(struct wetdbg *wet, const struct wetdbg_candidates_options *options,
                           struct wetdbg_candidates **out)
{
    (void)wet;
    (void)options;
    *out = calloc(1, sizeof(**out));
    (*out)->predicate = (struct wetdbg_predicate){.pc = MAIN_PC,
                                                  .kind = WETDBG_PREDICATE_SETCC,
                                                  .file = fake_main_file,
                                                  .function = "main",
                                                  .line = 10,
                                                  .instances = 3};
    return 0;
}

void wetdbg_candidates_free(struct wetdbg_candidates *candidates)
{
    free(candidates);
}

int wetdbg_candidates_count(struct wetdbg_candidates *candidates, uint64_t *count)
{
    *count = candidates->predicate.instances;
    return 0;
}

const struct wetdbg_predicate *
wetdbg_candidates_predicates(const struct wetdbg_candidates *candidates, size_t *count)
{
    *count = 1;
    return &candidates->predicate;
}

wetdbg_time wetdbg_failure_time(const struct wetdbg_criterion *criterion)
{
    return criterion->info.time;
}

const char *wetdbg_predicate_kind_name(enum wetdbg_predicate_kind kind)
{
    return kind == WETDBG_PREDICATE_SETCC ? "setcc" : "?";
}

const char *wetdbg_verdict_name(enum wetdbg_verdict verdict)
{
    return verdict == WETDBG_VERDICT_EXACT ? "exact" : "wrong";
}

int wetdbg_order_parse(const char *name, enum wetdbg_order_kind *kind)
{
    *kind = WETDBG_ORDER_NEAR;
    return strcmp(name, "near") ? wetdbg_fail(-WETDBG_ERR_USAGE, "no order '%s'", name) : 0;
}

int wetdbg_order_open(struct wetdbg_candidates *candidates,
                      const struct wetdbg_order_options *options, struct wetdbg_order **out)
{
    (void)candidates;
    (void)options;
    *out = NULL;
    return 0;
}

void wetdbg_order_close(struct wetdbg_order *order)
{
    (void)order;
}

int wetdbg_search(struct wetdbg_candidates *candidates, struct wetdbg_order *order,
                  const struct wetdbg_search_options *options, struct wetdbg_search_result *result)
{
    const struct wetdbg_trials *trials = options->runner.context;
    (void)candidates;
    (void)order;
    *result = (struct wetdbg_search_result){.progress = {.tried = 2, .listed = 2}};
    if (trials->expected.kind == WETDBG_RIGHT_EXIT) {
        result->progress.verdicts[WETDBG_VERDICT_WRONG] = 2;
        return 0;
    }
    result->findings = calloc(1, sizeof(*result->findings));
    result->count = 1;
    result->findings[0] = (struct wetdbg_finding){
        .trial = {.switches = {{.instance = 2, .time = 989, .pc = MAIN_PC, .went = 1}},
                  .count = 1,
                  .position = 2},
        .verdict = WETDBG_VERDICT_EXACT,
        .meets = true};
    return 0;
}

void wetdbg_search_result_fini(struct wetdbg_search_result *result)
{
    free(result->findings);
    *result = (struct wetdbg_search_result){.count = 0};
}

const struct wetdbg_set *wetdbg_prune_get_set(const struct wetdbg_prune *prune)
{
    (void)prune;
    return NULL;
}

int wetdbg_findings_meet(struct wetdbg *wet, struct wetdbg_slice_session *session,
                         const struct wetdbg_set *wrong, struct wetdbg_search_result *result,
                         size_t most)
{
    (void)wet;
    (void)session;
    (void)wrong;
    (void)result;
    (void)most;
    return 0;
}
