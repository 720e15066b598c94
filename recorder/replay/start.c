/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/replay/start.h"

#include <errno.h>
#include <stdlib.h>

int rep_engine_from_feed(struct rep_feed *feed, enum dbi_mode mode, struct rep_engine **out)
{
    size_t file_count, span_count;
    const struct rep_file *files = rep_feed_files(feed, &file_count);
    const struct rep_range *ranges = rep_feed_ranges(feed, &span_count);
    const struct rep_cpu *cpu = rep_feed_cpu(feed);
    int *fds = calloc(file_count + 1, sizeof *fds);
    struct rep_span *spans = calloc(span_count + 1, sizeof *spans);
    struct agt_cpuid *leaves = calloc(cpu->cpuid_count + 1, sizeof *leaves);
    int err = fds && spans && leaves ? 0 : -ENOMEM;
    for (size_t i = 0; !err && i < file_count; i++)
        fds[i] = files[i].fd;
    for (size_t i = 0; !err && i < span_count; i++)
        spans[i] = (struct rep_span){ranges[i].start, ranges[i].end};
    for (size_t i = 0; !err && i < cpu->cpuid_count; i++)
        leaves[i] =
            (struct agt_cpuid){cpu->cpuid[i].eax_in, cpu->cpuid[i].ecx_in, cpu->cpuid[i].eax,
                               cpu->cpuid[i].ebx,    cpu->cpuid[i].ecx,    cpu->cpuid[i].edx};
    struct rep_engine_setup setup = {.mode = mode,
                                     .ticks = rep_feed_info(feed)->has_ticks,
                                     .spans = spans,
                                     .span_count = span_count,
                                     .files = fds,
                                     .file_count = file_count,
                                     .cpuid = leaves,
                                     .cpuid_count = cpu->cpuid_count,
                                     .xcr0 = cpu->xcr0};
    if (!err)
        err = rep_engine_new(&setup, out);
    free(fds);
    free(spans);
    free(leaves);
    return err;
}
