/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Times backward slices over a real wet: bench_slicer [options] FILE.wet CRITERION [KIND...]
 *   --passes N   each kind N times (default 1)
 *   --parents    with distances and parents
 *   --loader     follow the dynamic linker too
 *   --digest     a digest of all members' times and of lines, to compare two versions
 *   --scan       besides, the time that regenerating all intervals takes by itself
 * KIND: full data thin control (default all).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "slicer/slicer.h"
#include <wetdbg/errors.h>

static const char *const kind_names[] = {"full", "data", "thin", "control"};

struct bench {
    struct wetdbg *wet;
    struct wetdbg_criterion *criterion;
    unsigned passes;
    bool parents, digest, scan, loader;
    double began, first_line;
};

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int on_line(void *arg, const struct wetdbg_slice_line *line)
{
    struct bench *bench = arg;
    (void)line;
    if (bench->first_line < 0)
        bench->first_line = now(CLOCK_MONOTONIC) - bench->began;
    return 0;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* A digest of what does not depend on how lines are found or sorted. */
static uint64_t digest_of(const struct bench *bench, const struct wetdbg_slice *slice)
{
    uint64_t hash = 1, end = wetdbg_get_info(bench->wet)->instructions + 1;
    size_t count;
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(slice, &count);

    for (wetdbg_time t = 1; t <= end; t++)
        if (wetdbg_slice_contains_time(slice, t))
            hash = mix(hash, t);
    for (size_t i = 0; i < count; i++) {
        hash = mix(hash, lines[i].instances);
        hash = mix(hash, lines[i].statements);
        hash = mix(hash, lines[i].first_time);
        hash = mix(hash, lines[i].last_time);
        hash = mix(hash, lines[i].pc);
    }
    const struct wetdbg_slice_initial *initials = wetdbg_slice_initials(slice, &count);
    for (size_t i = 0; i < count; i++)
        hash =
            mix(mix(mix(hash, initials[i].address), initials[i].size_bytes), initials[i].location);
    return hash;
}

static int run(struct bench *bench, enum wetdbg_slice_kinds kinds)
{
    struct wetdbg_slice_options options = {.kinds = kinds,
                                           .record_parents = bench->parents,
                                           .loader = bench->loader,
                                           .on_line = on_line,
                                           .arg = bench};
    struct wetdbg_slice *slice;
    double cpu = now(CLOCK_PROCESS_CPUTIME_ID), own = now(CLOCK_THREAD_CPUTIME_ID);

    bench->began = now(CLOCK_MONOTONIC);
    bench->first_line = -1;
    int err = wetdbg_slice_backward(bench->wet, bench->criterion, &options, &slice);
    if (err)
        return err;
    double wall = now(CLOCK_MONOTONIC) - bench->began;
    cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    own = now(CLOCK_THREAD_CPUTIME_ID) - own;
    const struct wetdbg_slice_counts *counts = wetdbg_slice_get_counts(slice);
    printf("%-8s %7.2f s wall %7.2f s cpu  %7.2f s scanning  %2u passes  scanned %10llu (%6.1f "
           "M/s)  instances %10llu "
           " statements %7llu  lines %6llu  first line %.2f s",
           kind_names[kinds], wall, cpu, own, counts->passes, (unsigned long long)counts->scanned,
           (double)counts->scanned / wall * 1e-6, (unsigned long long)counts->instances,
           (unsigned long long)counts->statements, (unsigned long long)counts->lines,
           bench->first_line);
    if (bench->digest)
        printf("  digest %016llx", (unsigned long long)digest_of(bench, slice));
    putchar('\n');
    fflush(stdout);
    wetdbg_slice_free(slice);
    return 0;
}

static int scan(struct bench *bench)
{
    const struct wetdbg_info *info = wetdbg_get_info(bench->wet);
    double began = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t execs = 0;

    for (uint64_t k = info->intervals; k-- > 0;) {
        const struct wet_interval *interval;
        int err = wet_interval_get(bench->wet, k, &interval);
        if (err)
            return err;
        execs += interval->exec_count;
        wet_interval_put(bench->wet, interval);
    }
    printf("intervals %.2f s wall, %.2f s cpu here: %llu instructions, %llu executions\n",
           now(CLOCK_MONOTONIC) - began, now(CLOCK_PROCESS_CPUTIME_ID) - cpu,
           (unsigned long long)info->instructions, (unsigned long long)execs);
    return 0;
}

static int fail(const char *what, int err)
{
    fprintf(stderr, "%s: %s\n", what, wetdbg_error(err));
    return 1;
}

static int run_all(struct bench *bench, char **names)
{
    struct rusage usage;
    int err;

    for (unsigned kinds = 0; kinds < 4; kinds++) {
        bool is_wanted = !*names;
        for (char **name = names; *name; name++)
            is_wanted |= strcmp(*name, kind_names[kinds]) == 0;
        for (unsigned pass = 0; is_wanted && pass < bench->passes; pass++)
            if ((err = run(bench, (enum wetdbg_slice_kinds)kinds)))
                return fail(kind_names[kinds], err);
    }
    getrusage(RUSAGE_SELF, &usage);
    printf("at most %ld MB\n", usage.ru_maxrss / 1024);
    return 0;
}

int main(int argc, char **argv)
{
    struct bench bench = {.passes = 1};
    int at = 1;

    for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
        if (strcmp(argv[at], "--passes") == 0 && at + 1 < argc)
            bench.passes = (unsigned)strtoul(argv[++at], NULL, 10);
        bench.parents |= strcmp(argv[at], "--parents") == 0;
        bench.loader |= strcmp(argv[at], "--loader") == 0;
        bench.digest |= strcmp(argv[at], "--digest") == 0;
        bench.scan |= strcmp(argv[at], "--scan") == 0;
    }
    if (argc - at < 2) {
        fprintf(stderr,
                "usage: %s [--passes N] [--parents] [--loader] [--digest] [--scan] "
                "FILE.wet CRITERION [KIND...]\n",
                argv[0]);
        return 2;
    }
    int err = wetdbg_open(argv[at], &bench.wet);
    if (err)
        return fail(argv[at], err);
    if (bench.scan && (err = scan(&bench)))
        return fail("intervals", err);
    err = wetdbg_criterion_parse(bench.wet, argv[at + 1], NULL, &bench.criterion);
    if (err)
        return fail(argv[at + 1], err);
    printf("%s\n", wetdbg_criterion_get_info(bench.criterion)->description);
    int result = run_all(&bench, argv + at + 2);
    wetdbg_criterion_free(bench.criterion);
    wetdbg_close(bench.wet);
    return result;
}
