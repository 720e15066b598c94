/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Slices pruned by confidence: <wetdbg/prune.h>. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/clock.h"
#include "slicer/confidence/confidence.h"
#include "slicer/sets/instance_set.h"
#include <wetdbg/errors.h>
#include <wetdbg/prune.h>

struct wetdbg_profile {
    struct wetdbg *wet;
    struct slc_ranges *ranges;
};

/* Of one instruction address. */
struct tally {
    uint64_t judged, certain; /* of its instances */
    uint64_t looked;          /* that were looked at; nothing if all were */
    double least;
};

struct wetdbg_prune {
    const struct wetdbg_slice *slice;
    struct wetdbg_prune_counts counts;
    struct tally *tallies; /* by index in the code's pcs */
    uint32_t tally_capacity;
    bool *has_value; /* by index in the code's lines: not only calls and jumps */
    uint64_t *
        *words; /* by interval: the instances that are left; NULL: all that the slice has there */
    struct wetdbg_prune_line *lines;
    size_t line_count; /* and functions without lines */
    struct wetdbg_set *kept;
};

/* ---- profiles ---- */

struct reporting {
    int (*progress)(void *arg, uint64_t done, uint64_t total);
    void *arg;
    uint64_t total;
    double reported;
};

#define REPORT_SECONDS 0.1

static int report(struct reporting *reporting, uint64_t done)
{
    double now = wd_seconds();

    if (!reporting->progress || now - reporting->reported < REPORT_SECONDS)
        return 0;
    reporting->reported = now;
    return reporting->progress(reporting->arg, done, reporting->total);
}

static bool is_unwanted(void *arg, uint64_t done)
{
    return report(arg, done) != 0;
}

int wetdbg_profile_make(struct wetdbg *wet, wetdbg_time last, uint64_t instructions,
                        int (*progress)(void *arg, uint64_t done, uint64_t total), void *arg,
                        struct wetdbg_profile **out)
{
    struct wetdbg_profile *profile = calloc(1, sizeof(*profile));
    uint64_t all = wetdbg_get_info(wet)->instructions;
    struct reporting reporting = {
        progress, arg, instructions && instructions < all ? instructions : all, wd_seconds()};

    if (!profile)
        return -ENOMEM;
    profile->wet = wet;
    int err = slc_ranges_make(wet, last, instructions, is_unwanted, &reporting, &profile->ranges);
    if (err)
        free(profile);
    else
        *out = profile;
    return err;
}

void wetdbg_profile_free(struct wetdbg_profile *profile)
{
    if (!profile)
        return;
    slc_ranges_free(profile->ranges);
    free(profile);
}

/* ---- instances ---- */

static size_t word_bytes(const struct slc_share *share)
{
    return (size_t)((share->instructions + 63) / 64 * sizeof(uint64_t));
}

/* Takes an instance out of what is left. */
static int take_out(struct wetdbg_prune *prune, wetdbg_time time)
{
    uint64_t k = wetdbg_interval_at(prune->slice->wet, time);
    const struct slc_share *share = &prune->slice->shares[k];
    uint64_t off = time - share->first_time;

    if (!prune->words[k]) {
        prune->words[k] = malloc(word_bytes(share) + sizeof(uint64_t));
        if (!prune->words[k])
            return -ENOMEM;
        memcpy(prune->words[k], share->bits, word_bytes(share));
    }
    prune->words[k][off / 64] &= ~(UINT64_C(1) << off % 64);
    return 0;
}

static int note_instance(void *to, wetdbg_time time, uint32_t pc_index, bool is_neutral,
                         double confidence)
{
    struct wetdbg_prune *prune = to;

    if (!wetdbg_slice_contains_time(prune->slice, time))
        return 0;
    if (wd_grow_zeroed(prune->tallies, prune->tally_capacity, pc_index + 1))
        return -ENOMEM;
    struct tally *tally = &prune->tallies[pc_index];
    if (is_neutral) /* what it let run is right, and its line has more to say; or nothing has */
        confidence = prune->has_value[prune->slice->code->pcs[pc_index].line];
    if (tally->judged == 0 || confidence < tally->least)
        tally->least = confidence;
    tally->judged++;
    tally->certain += confidence >= 1;
    return confidence >= 1 ? take_out(prune, time) : 0;
}

/* Finds the lines that hold more than calls and jumps. */
static int find_valued_lines(struct wetdbg_prune *prune, struct slc_ranges *ranges)
{
    const struct wetdbg_slice *slice = prune->slice;

    prune->has_value = calloc((size_t)slice->code->line_count + 1, sizeof(*prune->has_value));
    if (!prune->has_value)
        return -ENOMEM;
    for (uint32_t i = 0; i < slice->total_capacity && i < slice->code->pc_count; i++) {
        const struct slc_profile *profile =
            slice->totals[i].instances ? slc_ranges_find(ranges, slice->code->pcs[i].pc) : NULL;
        if (profile && profile->info->klass != INS_CALL && profile->info->klass != INS_JMP)
            prune->has_value[slice->code->pcs[i].line] = true;
    }
    return 0;
}

/* ---- what was not looked at ---- */

static int look_at(struct wetdbg_prune *prune, uint32_t pc_index)
{
    if (wd_grow_zeroed(prune->tallies, prune->tally_capacity, pc_index + 1))
        return -ENOMEM;
    prune->tallies[pc_index].looked++;
    prune->counts.looked++;
    return 0;
}

/* Counts, by instruction, the members of an interval from some time on. */
static int look_at_interval(struct wetdbg_prune *prune, const struct wet_interval *interval)
{
    const struct slc_share *share = &prune->slice->shares[interval->index];
    wetdbg_time from = prune->counts.looked_to;
    int err = 0;

    for (size_t e = 0; e < interval->exec_count && !err; e++) {
        const struct wet_exec *exec = &interval->execs[e];
        const struct slc_node *node = slc_code_node(prune->slice->code, exec->node);
        if (!node)
            return -ENOMEM;
        for (uint32_t s = 0; s < node->statement_count && !err; s++) {
            uint64_t off = exec->time_off + (uint64_t)s;
            if (off < share->instructions && share->first_time + off >= from &&
                share->bits[off / 64] >> off % 64 & 1)
                err = look_at(prune, node->pc_index[s]);
        }
    }
    return err;
}

/* The pass ended before the slice does: finds out of what it has nothing to say. */
static int count_looked(struct wetdbg_prune *prune)
{
    const struct wetdbg_slice *slice = prune->slice;
    int err = 0;

    if (!prune->counts.looked_to) {
        prune->counts.looked = prune->counts.instances;
        return 0;
    }
    uint64_t k = prune->counts.looked_to > wetdbg_get_info(slice->wet)->last_time
                     ? slice->share_count
                     : wetdbg_interval_at(slice->wet, prune->counts.looked_to);
    prune->counts.looked += slice->has_fault; /* the latest of all */
    for (; k < slice->share_count && !err; k++) {
        const struct wet_interval *interval;
        if (!slice->shares[k].bits)
            continue;
        err = wet_interval_get(slice->wet, k, &interval);
        if (err)
            return err;
        err = look_at_interval(prune, interval);
        wet_interval_put(slice->wet, interval);
    }
    if (prune->counts.looked == prune->counts.instances)
        prune->counts.looked_to = 0;
    return err;
}

/* ---- lines ---- */

/* What lines have of their instructions. */
struct line_tally {
    double least;
    uint64_t kept, looked, all;
};

static void add_to_line(const struct wetdbg_prune *prune, struct line_tally *line,
                        uint32_t pc_index)
{
    static const struct tally none;
    const struct slc_count *total = &prune->slice->totals[pc_index];
    const struct tally *tally =
        pc_index < prune->tally_capacity ? &prune->tallies[pc_index] : &none;

    uint64_t looked = prune->counts.looked_to ? tally->looked : total->instances;

    line->kept += total->instances > tally->certain ? total->instances - tally->certain : 0;
    line->looked += looked;
    line->all += total->instances;
    if (!looked)
        return;
    if (tally->judged < looked)
        line->least = 0;
    else if (tally->least < line->least)
        line->least = tally->least;
}

/* What is known of a line is never all while some of it was not looked at. */
static double confidence_of(const struct line_tally *line)
{
    if (!line->looked)
        return 0;
    return line->looked < line->all && line->least >= 1 ? nextafter(1, 0) : line->least;
}

static int least_first(const void *a, const void *b)
{
    const struct wetdbg_prune_line *x = a, *y = b;

    if (!x->looked != !y->looked)
        return !x->looked - !y->looked;
    if (x->confidence != y->confidence)
        return x->confidence < y->confidence ? -1 : 1;
    if (x->line->min_distance != y->line->min_distance)
        return x->line->min_distance < y->line->min_distance ? -1 : 1;
    return x->line->last_time > y->line->last_time ? -1 : x->line->last_time < y->line->last_time;
}

static int make_lines(struct wetdbg_prune *prune, struct line_tally *by_line)
{
    const struct wetdbg_slice *slice = prune->slice;
    const struct slc_code *code = slice->code;
    size_t count;
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(slice, &count);

    for (uint32_t i = 0; i < code->line_count; i++)
        by_line[i].least = 1;
    for (uint32_t i = 0; i < slice->total_capacity && i < code->pc_count; i++)
        if (slice->totals[i].instances)
            add_to_line(prune, &by_line[code->pcs[i].line], i);
    prune->lines = malloc((count + 1) * sizeof(*prune->lines));
    if (!prune->lines)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        struct line_tally *line = &by_line[slice->order[i]];
        prune->lines[i] =
            (struct wetdbg_prune_line){&lines[i], confidence_of(line), line->kept, line->looked};
        prune->counts.kept_lines += lines[i].file && prune->lines[i].confidence < 1;
    }
    prune->line_count = count;
    prune->counts.lines = wetdbg_slice_get_counts(slice)->lines;
    return 0;
}

/* ---- what is left ---- */

static int make_set(struct wetdbg_prune *prune)
{
    const struct wetdbg_slice *slice = prune->slice;
    int err = 0;

    prune->kept = slc_set_new(slice->wet);
    if (!prune->kept)
        return -ENOMEM;
    for (uint64_t k = slice->share_count; k-- > 0 && !err;) {
        const struct slc_share *share = &slice->shares[k];
        if (share->bits)
            err = slc_set_fill(prune->kept, k, prune->words[k] ? prune->words[k] : share->bits,
                               share->instructions);
    }
    if (slice->has_fault) {
        prune->kept->has_fault = true;
        prune->kept->fault_time = slice->fault_time;
        prune->kept->fault_pc = slice->code->pcs[slice->fault_pc].pc;
        prune->kept->fault_task = slice->fault_task;
    }
    slc_set_finish(prune->kept);
    prune->counts.kept = wetdbg_set_count(prune->kept);
    return err;
}

static int finish(struct wetdbg_prune *prune)
{
    struct line_tally *by_line =
        calloc((size_t)prune->slice->code->line_count + 1, sizeof(*by_line));
    int err = by_line ? count_looked(prune) : -ENOMEM;

    if (!err)
        err = make_lines(prune, by_line);
    if (!err)
        err = make_set(prune);
    free(by_line);
    if (!err)
        qsort(prune->lines, prune->line_count, sizeof(*prune->lines), least_first);
    return err;
}

/* ---- the whole ---- */

static int compare_times(const void *a, const void *b)
{
    wetdbg_time x = *(const wetdbg_time *)a, y = *(const wetdbg_time *)b;
    return x < y ? -1 : x > y;
}

/* Sorted, each once. NULL if memory is short. */
static wetdbg_time *sort_times(const wetdbg_time *times, size_t *count)
{
    wetdbg_time *sorted = malloc((*count + 1) * sizeof(*sorted));
    size_t kept = 0;

    if (!sorted)
        return NULL;
    if (*count)
        memcpy(sorted, times, *count * sizeof(*sorted));
    qsort(sorted, *count, sizeof(*sorted), compare_times);
    for (size_t i = 0; i < *count; i++)
        if (kept == 0 || sorted[kept - 1] != sorted[i])
            sorted[kept++] = sorted[i];
    *count = kept;
    return sorted;
}

static int tell_progress(void *arg, uint64_t done, uint64_t total)
{
    struct reporting *reporting = arg;

    reporting->total = total;
    return report(reporting, done);
}

static int judge(struct wetdbg_prune *prune, const struct wetdbg_prune_options *options)
{
    struct wetdbg *wet = prune->slice->wet;
    struct reporting reporting = {options->progress, options->arg,
                                  wetdbg_get_info(wet)->instructions, wd_seconds()};
    size_t good_count = options->good_count;
    wetdbg_time *good = sort_times(options->good, &good_count);
    struct slc_confidence_options how = {.right = options->right,
                                         .right_count = options->right_count,
                                         .good = good,
                                         .good_count = good_count,
                                         .limit = options->limit,
                                         .progress = tell_progress,
                                         .arg = &reporting,
                                         .on_instance = note_instance,
                                         .to = prune};
    struct slc_confidence_counts counts = {0};
    int err = good ? slc_session_tell_jumps(prune->slice->session) : -ENOMEM;

    if (!err)
        err = find_valued_lines(prune, options->profile->ranges);
    if (!err)
        err = slc_confidence(prune->slice->code, options->profile->ranges, &how, &counts);
    free(good);
    prune->counts.known = counts.pinned;
    prune->counts.unjudged = counts.unjudged;
    prune->counts.right_bytes = counts.right_bytes;
    prune->counts.looked_to = counts.looked_to;
    prune->counts.is_interrupted = counts.is_interrupted;
    if (counts.is_interrupted) /* what follows is to run all the same */
        wetdbg_interrupt_clear(wet);
    return err;
}

int wetdbg_prune(const struct wetdbg_slice *slice, const struct wetdbg_prune_options *options,
                 struct wetdbg_prune **out)
{
    double start = wd_seconds();

    if (!options->right_count && !options->good_count)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                           "nothing is known to be right: confidence is not applicable");
    if (options->profile->wet != slice->wet)
        return wetdbg_fail(-EINVAL, "the profile is of another run");
    struct wetdbg_prune *prune = calloc(1, sizeof(*prune));
    if (!prune)
        return -ENOMEM;
    prune->slice = slice;
    prune->counts.instances = slice->counts.instances;
    prune->words = calloc(slice->share_count + 1, sizeof(uint64_t *));
    int err = prune->words ? judge(prune, options) : -ENOMEM;
    if (!err)
        err = finish(prune);
    prune->counts.seconds = wd_seconds() - start;
    if (err)
        wetdbg_prune_free(prune);
    else
        *out = prune;
    return err;
}

void wetdbg_prune_free(struct wetdbg_prune *prune)
{
    if (!prune)
        return;
    wetdbg_set_free(prune->kept);
    for (uint64_t k = 0; prune->words && k < prune->slice->share_count; k++)
        free(prune->words[k]);
    free(prune->words);
    free(prune->has_value);
    free(prune->tallies);
    free(prune->lines);
    free(prune);
}

const struct wetdbg_prune_counts *wetdbg_prune_get_counts(const struct wetdbg_prune *prune)
{
    return &prune->counts;
}

const struct wetdbg_prune_line *wetdbg_prune_lines(const struct wetdbg_prune *prune, size_t *count)
{
    *count = prune->line_count;
    return prune->lines;
}

const struct wetdbg_set *wetdbg_prune_get_set(const struct wetdbg_prune *prune)
{
    return prune->kept;
}

/* ---- what is right if nobody says ---- */

/* How much output a descriptor had got before a time. */
static uint64_t written_before(struct wetdbg *wet, int fd, wetdbg_time time)
{
    size_t count;
    const struct wetdbg_output *outputs = wetdbg_outputs(wet, &count);
    uint64_t bytes = 0;

    for (size_t i = 0; i < count && outputs[i].time < time; i++)
        if (outputs[i].fd == fd)
            bytes += outputs[i].size;
    return bytes;
}

static int no_right_output(const struct wetdbg_criterion_info *wrong)
{
    return wetdbg_fail(
        -WETDBG_ERR_NOT_FOUND,
        "no output came before %s, so that confidence is not applicable: say what is right with "
        "--ok or 'mark good', or make the slice smaller with a chop",
        wrong->kind == WETDBG_CRITERION_OUTPUT ? "the wrong byte" : wrong->text);
}

int wetdbg_prune_right_before(struct wetdbg *wet, const struct wetdbg_criterion *wrong,
                              struct wetdbg_criterion **out)
{
    const struct wetdbg_criterion_info *info = wetdbg_criterion_get_info(wrong);
    const struct wetdbg_standpoint from = {.from_write = true};
    bool is_output = info->kind == WETDBG_CRITERION_OUTPUT;
    bool is_file = is_output && info->output_fd < 0;
    int fd = is_output ? info->output_fd : 1;
    uint64_t bytes = is_output ? info->output_offset : written_before(wet, fd, info->time);
    const char *end = strrchr(info->text, ':');
    char text[4096];

    if (!bytes || (is_file && !end))
        return no_right_output(info);
    if (is_file)
        snprintf(text, sizeof(text), "%.*s:0+%llu", (int)(end - info->text), info->text,
                 (unsigned long long)bytes);
    else
        snprintf(text, sizeof(text), "output:%d:0+%llu", fd, (unsigned long long)bytes);
    return wetdbg_criterion_parse(wet, text, &from, out);
}

/* Whether both are bytes of the same output: of a descriptor, or of a file by the same name. */
static bool is_same_output(const struct wetdbg_criterion_info *a,
                           const struct wetdbg_criterion_info *b)
{
    const char *end = strrchr(a->text, ':'), *other = strrchr(b->text, ':');

    if (a->kind != WETDBG_CRITERION_OUTPUT || b->kind != WETDBG_CRITERION_OUTPUT ||
        a->output_fd != b->output_fd)
        return false;
    return a->output_fd >= 0 || (end && other && end - a->text == other - b->text &&
                                 strncmp(a->text, b->text, (size_t)(end - a->text)) == 0);
}

int wetdbg_prune_check(const struct wetdbg_criterion *right, const struct wetdbg_criterion *wrong)
{
    const struct wetdbg_criterion_info *good = wetdbg_criterion_get_info(right);
    const struct wetdbg_criterion_info *bad = wetdbg_criterion_get_info(wrong);

    if (good->kind == WETDBG_CRITERION_CRASH)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "a crash is nothing right");
    if (!is_same_output(good, bad) || good->output_offset + good->output_size <= bad->output_offset)
        return 0;
    return wetdbg_fail(-WETDBG_ERR_USAGE,
                       "'%s' is said to be right and reaches to byte %llu, but byte %llu is wrong: "
                       "only what came before it can be right",
                       good->text,
                       (unsigned long long)(good->output_offset + good->output_size - 1),
                       (unsigned long long)bad->output_offset);
}
