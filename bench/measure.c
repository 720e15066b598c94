/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * measure open FILE.wet            milliseconds that opening takes
 * measure regenerate FILE.wet      all intervals run again, last to first
 * measure dependences TRACE        all dependences of a run found, and thrown away
 * measure slices FILE.wet COUNT    backward slices of COUNT instances spread over the run: cold,
 *                                  warm
 * measure forward FILE.wet COUNT   the same of forward slices
 * measure sets FILE.wet            two slices from near the end put together; and a chop, against
 *                                  its slices
 * measure executed FILE.wet FOLDER the lines of the source files below FOLDER that ran:
 *                                  {"files": {"PATH/IN/FOLDER": [LINE, ...], ...}}
 *
 * What bench/run and bench/faults cannot ask from outside. Each prints one JSON object. A *cold*
 * slice is the first thing that a new process does with the file; *warm* ones are of other
 * instances than those that the same process has sliced before.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "dbgcli/exit_status.h"
#include "recorder/feed/feed.h"
#include "slicer/slicer.h"
#include "wet/depend/depend.h"
#include "wet/intervals.h"
#include <wetdbg/errors.h>
#include <wetdbg/model.h>
#include <wetdbg/set.h>

#define OPENINGS    5
#define WARM_OFFSET 1009 /* instructions between a cold criterion and its warm one */
#define SLICES_MAX  1000

static int open_measure(const char *path)
{
    double best = 1e9, worst = 0;

    for (unsigned i = 0; i < OPENINGS; i++) {
        struct wetdbg *wet;
        double start = wd_seconds();
        int err = wetdbg_open(path, &wet);
        if (err)
            return err;
        double seconds = wd_seconds() - start;
        best = seconds < best ? seconds : best;
        worst = seconds > worst ? seconds : worst;
        wetdbg_close(wet);
    }
    printf("{\"open_ms_best\": %.3f, \"open_ms_worst\": %.3f}\n", best * 1e3, worst * 1e3);
    return 0;
}

static int regenerate(struct wetdbg *wet, double *seconds)
{
    const struct wetdbg_info *info = wetdbg_get_info(wet);
    double start = wd_seconds();

    for (uint64_t k = info->intervals; k-- > 0;) {
        const struct wet_interval *interval;
        int err = wet_interval_get(wet, k, &interval);
        if (err)
            return err;
        wet_interval_put(wet, interval);
    }
    *seconds = wd_seconds() - start;
    return 0;
}

static int regenerate_measure(const char *path)
{
    struct wetdbg *wet;
    double seconds;
    int err = wetdbg_open(path, &wet);

    if (err)
        return err;
    err = regenerate(wet, &seconds);
    if (!err)
        printf("{\"instructions\": %llu, \"intervals\": %llu, \"seconds\": %.4f, \"Mips\": %.1f}\n",
               (unsigned long long)wetdbg_get_info(wet)->instructions,
               (unsigned long long)wetdbg_get_info(wet)->intervals, seconds,
               (double)wetdbg_get_info(wet)->instructions / seconds / 1e6);
    wetdbg_close(wet);
    return err;
}

static int dependences_measure(const char *path)
{
    struct wetdbg_recording *trace = NULL;
    struct rep_feed *feed = NULL;
    struct rep_selection which = {0};
    struct wet_depend_options options = {0};
    struct wet_depend_result result;
    int err = rep_selection_parse(NULL, &which);

    if (!err)
        err = wetdbg_recording_open(path, &trace);
    if (!err)
        err = rep_feed_open(trace, &which, &feed);
    if (!err)
        err = wet_find_dependences(feed, &options, &result);
    if (!err)
        printf("{\"instructions\": %llu, \"executions\": %llu, \"register_labels\": %llu, "
               "\"memory_labels\": %llu, \"split_labels\": %llu, \"seconds\": %.4f, "
               "\"Mips\": %.1f}\n",
               (unsigned long long)result.instructions, (unsigned long long)result.executions,
               (unsigned long long)result.register_labels, (unsigned long long)result.memory_labels,
               (unsigned long long)result.split_labels, result.seconds,
               (double)result.instructions / result.seconds / 1e6);
    rep_feed_close(feed);
    wetdbg_recording_close(trace);
    return err;
}

/* Which slices are measured. */
static bool is_forward;

/* The slice of all that the instruction at a time used, or of what depends on it. */
static int slice_one(struct wetdbg *wet, struct wetdbg_slice_session *session, wetdbg_time time,
                     uint64_t *instances)
{
    struct wetdbg_criterion *criterion;
    struct wetdbg_slice *slice;
    struct wetdbg_slice_options options = {.session = session};
    int err = slc_criterion_of_places(wet, time, NULL, 0, 0, &criterion);

    if (err)
        return err;
    err = (is_forward ? wetdbg_slice_forward : wetdbg_slice_backward)(wet, criterion, &options,
                                                                      &slice);
    if (!err) {
        *instances = wetdbg_slice_get_counts(slice)->instances;
        wetdbg_slice_free(slice);
    }
    wetdbg_criterion_free(criterion);
    return err;
}

static wetdbg_time spread(const struct wetdbg_info *info, unsigned i, unsigned count)
{
    return info->instructions / (count + 1) * (i + 1);
}

/* In a process of its own; its time goes through a pipe. */
static int cold_slice(const char *path, wetdbg_time time, double *seconds)
{
    int ends[2], status;

    if (pipe(ends))
        return -errno;
    pid_t child = fork();
    if (child < 0)
        return -errno;
    if (child == 0) {
        struct wetdbg *wet;
        uint64_t instances;
        double start = wd_seconds();
        int err = wetdbg_open(path, &wet);
        if (!err)
            err = slice_one(wet, NULL, time, &instances);
        double taken = wd_seconds() - start;
        if (err)
            fprintf(stderr, "measure: %s\n", wetdbg_error(err));
        _exit(err || write(ends[1], &taken, sizeof(taken)) != sizeof(taken));
    }
    close(ends[1]);
    ssize_t got = read(ends[0], seconds, sizeof(*seconds));
    close(ends[0]);
    waitpid(child, &status, 0);
    return got == sizeof(*seconds) && status == 0
               ? 0
               : wetdbg_fail(-WETDBG_ERR_MACHINE, "the slice at time %llu failed",
                             (unsigned long long)time);
}

static int warm_slices(struct wetdbg *wet, struct wetdbg_slice_session *session, unsigned count,
                       wetdbg_time offset, double *seconds, double *worst, uint64_t *instances)
{
    const struct wetdbg_info *info = wetdbg_get_info(wet);

    *seconds = *worst = 0;
    *instances = 0;
    for (unsigned i = 0; i < count; i++) {
        uint64_t members;
        double start = wd_seconds();
        int err = slice_one(wet, session, spread(info, i, count) + offset, &members);
        if (err)
            return err;
        double taken = wd_seconds() - start;
        *seconds += taken;
        *worst = taken > *worst ? taken : *worst;
        *instances += members;
    }
    return 0;
}

static int slices_measure(const char *path, unsigned count)
{
    struct wetdbg *wet;
    double cold = 0, cold_worst = 0, warm = 0, worst = 0;
    uint64_t instances = 0;
    struct wetdbg_slice_session *session = NULL;
    int err = wetdbg_open(path, &wet);

    if (!err)
        err = wetdbg_slice_session_new(wet, &session);
    for (unsigned i = 0; !err && i < count; i++) {
        double seconds = 0;
        err = cold_slice(path, spread(wetdbg_get_info(wet), i, count), &seconds);
        cold += seconds;
        cold_worst = seconds > cold_worst ? seconds : cold_worst;
    }
    if (!err)
        err = warm_slices(wet, session, count, 0, &warm, &worst, &instances);
    if (!err)
        err = warm_slices(wet, session, count, WARM_OFFSET, &warm, &worst, &instances);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    if (!err)
        printf(
            "{\"instructions\": %llu, \"slices\": %u, \"instances_average\": %llu, "
            "\"cold_seconds_average\": %.4f, \"cold_seconds_worst\": %.4f, "
            "\"warm_seconds_average\": %.4f, \"warm_seconds_worst\": %.4f, \"memory_MB\": %ld}\n",
            (unsigned long long)wetdbg_get_info(wet)->instructions, count,
            (unsigned long long)(instances / count), cold / count, cold_worst, warm / count, worst,
            usage.ru_maxrss / 1024);
    wetdbg_slice_session_free(session);
    wetdbg_close(wet);
    return err;
}

/* ---- sets ---- */

/* All that the instruction at a time used, or what came of it. */
static int make_slice(struct wetdbg *wet, struct wetdbg_slice_session *session, wetdbg_time time,
                      bool is_forward, struct wetdbg_slice **slice)
{
    const struct wetdbg_slice_options options = {.session = session};
    struct wetdbg_criterion *criterion;
    int err = slc_criterion_of_places(wet, time, NULL, 0, 0, &criterion);

    if (err)
        return err;
    err = (is_forward ? wetdbg_slice_forward : wetdbg_slice_backward)(wet, criterion, &options,
                                                                      slice);
    wetdbg_criterion_free(criterion);
    return err;
}

static int operations_measure(struct wetdbg *wet, struct wetdbg_slice_session *session)
{
    static const char *const names[] = {"and", "or", "minus"};
    const uint64_t instructions = wetdbg_get_info(wet)->instructions;
    struct wetdbg_set *sets[2] = {NULL, NULL};
    int err = 0;

    for (unsigned i = 0; i < 2 && !err; i++) {
        struct wetdbg_slice *slice;
        err = make_slice(wet, session, instructions - i * (instructions / 20), false, &slice);
        if (err)
            break;
        double start = wd_seconds();
        err = wetdbg_set_of_slice(slice, &sets[i]);
        if (!err)
            printf("\"instances_%u\": %llu, \"made_ms_%u\": %.2f, ", i,
                   (unsigned long long)wetdbg_set_count(sets[i]), i, (wd_seconds() - start) * 1e3);
        wetdbg_slice_free(slice);
    }
    for (unsigned n = 0; n < 3 && !err; n++) {
        double best = 1e9;
        for (unsigned i = 0; i < OPENINGS && !err; i++) {
            struct wetdbg_set *both;
            double start = wd_seconds();
            err = wetdbg_set_combine(sets[0], (enum wetdbg_set_operation)n, sets[1], &both);
            double seconds = wd_seconds() - start;
            best = seconds < best ? seconds : best;
            if (!err)
                wetdbg_set_free(both);
        }
        printf("\"%s_ms\": %.2f, ", names[n], best * 1e3);
    }
    wetdbg_set_free(sets[0]);
    wetdbg_set_free(sets[1]);
    return err;
}

/* What depends on an instruction early in the run, and led to its last one. */
static int chop_measure(struct wetdbg *wet, struct wetdbg_slice_session *session)
{
    const uint64_t instructions = wetdbg_get_info(wet)->instructions;
    struct wetdbg_slice *ends[2] = {NULL, NULL}, *chop = NULL;
    struct wetdbg_set *sets[2] = {NULL, NULL}, *both = NULL;
    double start = wd_seconds();
    int err = make_slice(wet, session, instructions / 10, true, &ends[0]);

    if (!err)
        err = make_slice(wet, session, instructions, false, &ends[1]);
    double slices = wd_seconds() - start;
    for (unsigned i = 0; i < 2 && !err; i++)
        err = wetdbg_set_of_slice(ends[i], &sets[i]);
    if (!err)
        err = wetdbg_set_combine(sets[0], WETDBG_SET_AND, sets[1], &both);
    const struct wetdbg_slice_options options = {.session = session};
    if (!err)
        err = wetdbg_slice_of_set(both, &options, &chop);
    double all = wd_seconds() - start;
    if (!err)
        printf("\"forward\": %llu, \"backward\": %llu, \"chop\": %llu, \"slices_seconds\": %.3f, "
               "\"chop_seconds\": %.3f, \"ratio\": %.2f",
               (unsigned long long)wetdbg_set_count(sets[0]),
               (unsigned long long)wetdbg_set_count(sets[1]),
               (unsigned long long)wetdbg_set_count(both), slices, all, all / slices);
    for (unsigned i = 0; i < 2; i++) {
        wetdbg_slice_free(ends[i]);
        wetdbg_set_free(sets[i]);
    }
    wetdbg_slice_free(chop);
    wetdbg_set_free(both);
    return err;
}

static int sets_measure(const char *path)
{
    struct wetdbg *wet;
    struct wetdbg_slice_session *session = NULL;
    int err = wetdbg_open(path, &wet);

    if (err)
        return err;
    err = wetdbg_slice_session_new(wet, &session);
    printf("{");
    if (!err)
        err = chop_measure(wet, session);
    printf(", ");
    if (!err)
        err = operations_measure(wet, session);
    printf("\"instructions\": %llu}\n", (unsigned long long)wetdbg_get_info(wet)->instructions);
    wetdbg_slice_session_free(session);
    wetdbg_close(wet);
    return err;
}

/* ---- executed lines ---- */

struct executed {
    struct wetdbg *wet;
    const char *folder;
    size_t folder_length;
    bool has_files, has_lines;
};

/* A line ran if the first instruction of one of its rows did. One that is printed twice has two
 * such rows. */
static int executed_line(void *context, const struct wetdbg_line *line)
{
    struct executed *executed = context;
    uint64_t count = 0;
    int err = line->line && line->start < line->end
                  ? wetdbg_count_instances(executed->wet, &line->start, 1, &count)
                  : 0;

    if (!err && count) {
        printf("%s%u", executed->has_lines ? ", " : "", line->line);
        executed->has_lines = true;
    }
    return err;
}

static int executed_file(void *context, const char *file, wetdbg_module_id module)
{
    struct executed *executed = context;

    (void)module;
    if (strncmp(file, executed->folder, executed->folder_length) != 0 ||
        file[executed->folder_length] != '/')
        return 0;
    if (strpbrk(file, "\"\\\n\t"))
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "a source file has an odd name: %s", file);
    printf("%s\"%s\": [", executed->has_files ? ", " : "", file + executed->folder_length + 1);
    executed->has_files = true;
    executed->has_lines = false;
    int err = wetdbg_lines_each(wetdbg_get_model(executed->wet), file, executed_line, executed);
    printf("]");
    return err;
}

static int executed_measure(const char *path, const char *folder)
{
    struct executed executed = {.folder = folder, .folder_length = strlen(folder)};
    int err = wetdbg_open(path, &executed.wet);

    if (err)
        return err;
    printf("{\"files\": {");
    err = wetdbg_files_each(wetdbg_get_model(executed.wet), executed_file, &executed);
    printf("}, \"instructions\": %llu}\n",
           (unsigned long long)wetdbg_get_info(executed.wet)->instructions);
    wetdbg_close(executed.wet);
    return err;
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "";
    unsigned count = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
    int err = -WETDBG_ERR_USAGE;

    is_forward = !strcmp(what, "forward");
    if (!strcmp(what, "open") && argc == 3)
        err = open_measure(argv[2]);
    else if (!strcmp(what, "regenerate") && argc == 3)
        err = regenerate_measure(argv[2]);
    else if (!strcmp(what, "dependences") && argc == 3)
        err = dependences_measure(argv[2]);
    else if ((!strcmp(what, "slices") || is_forward) && argc == 4 && count && count <= SLICES_MAX)
        err = slices_measure(argv[2], count);
    else if (!strcmp(what, "sets") && argc == 3)
        err = sets_measure(argv[2]);
    else if (!strcmp(what, "executed") && argc == 4)
        err = executed_measure(argv[2], argv[3]);
    else
        wetdbg_fail(err, "usage: measure open|regenerate|sets FILE.wet, dependences TRACE, "
                         "slices|forward FILE.wet COUNT, or executed FILE.wet FOLDER");
    if (err)
        fprintf(stderr, "measure: %s\n", wetdbg_error(err));
    return cli_exit_status(err);
}
