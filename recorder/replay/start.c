/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/replay/start.h"

#include <errno.h>
#include <stdlib.h>

int rep_start_init(struct rep_start *start, struct rep_feed *feed, enum dbi_mode mode)
{
    size_t file_count, span_count;
    const struct rep_file *files = rep_feed_files(feed, &file_count);
    const struct rep_range *ranges = rep_feed_ranges(feed, &span_count);
    const struct rep_cpu *cpu = rep_feed_cpu(feed);
    *start = (struct rep_start){.files = calloc(file_count + 1, sizeof(*start->files)),
                                .spans = calloc(span_count + 1, sizeof(*start->spans)),
                                .cpuid = calloc(cpu->cpuid_count + 1, sizeof(*start->cpuid))};
    if (!start->files || !start->spans || !start->cpuid)
        return -ENOMEM;
    for (size_t i = 0; i < file_count; i++)
        start->files[i] = files[i].fd;
    for (size_t i = 0; i < span_count; i++)
        start->spans[i] = (struct rep_span){ranges[i].start, ranges[i].end};
    for (size_t i = 0; i < cpu->cpuid_count; i++)
        start->cpuid[i] =
            (struct agt_cpuid){cpu->cpuid[i].eax_in, cpu->cpuid[i].ecx_in, cpu->cpuid[i].eax,
                               cpu->cpuid[i].ebx,    cpu->cpuid[i].ecx,    cpu->cpuid[i].edx};
    start->setup =
        (struct rep_engine_setup){.mode = mode,
                                  .ticks = rep_feed_info(feed)->has_ticks,
                                  .probes = true,
                                  .spans = start->spans,
                                  .span_count = span_count,
                                  .files = start->files,
                                  .file_count = file_count,
                                  .cpuid = start->cpuid,
                                  .cpuid_count = cpu->cpuid_count,
                                  .cpuid_is_recorded = cpu->cpuid_is_recorded,
                                  .x87 = cpu->x87,
                                  .lacks = cpu->lacks,
                                  .cpuid_is_here = cpu->cpuid_is_here,
                                  .xcr0 = cpu->xcr0,
                                  .processor = {cpu->processor.rdpid, cpu->processor.lsl},
                                  .is_trusted = rep_feed_is_trusted(feed)};
    return 0;
}

void rep_start_fini(struct rep_start *start)
{
    free(start->files);
    free(start->spans);
    free(start->cpuid);
    *start = (struct rep_start){0};
}

int rep_engine_from_feed(struct rep_feed *feed, enum dbi_mode mode, struct rep_engine **out)
{
    struct rep_start start;
    int err = rep_start_init(&start, feed, mode);
    if (!err)
        err = rep_engine_new(&start.setup, out);
    rep_start_fini(&start);
    return err;
}
