/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run that went on differently, as a feed: its own entries, and the tables of the file that it
 * left. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/page.h"
#include "common/range_join.h"
#include "recorder/event/ops.h"
#include "wet/query/wet_priv.h"
#include "wet/whole.h"

#define ADDRESSES_END UINT64_C(0x7ffffffff000)

struct wet_branch {
    struct rep_run run;
    struct rep_feed *feed;
    struct rep_file *files;
    struct rrt_cpuid *cpuid;
    struct wd_buf ranges; /* struct rep_range */
};

/* ---- addresses ---- */

static int range_add(struct wet_branch *branch, uint64_t start, uint64_t end)
{
    struct rep_range range = {wd_page_down(start), end < ADDRESSES_END ? wd_page_up(end) : 0};
    if (range.start >= range.end || range.end > ADDRESSES_END)
        return 0;
    return wd_buf_append(&branch->ranges, &range, sizeof(range));
}

static int entry_ranges(struct wet_branch *branch, const struct evq_entry *entry)
{
    int err = entry->kind == EVQ_FAULT && entry->address
                  ? range_add(branch, entry->address, entry->address + 1)
                  : 0;
    for (const struct evq_op *op = NULL; !err && (op = evq_op_next(entry, op));) {
        if (op->op == EVQ_OP_MAP)
            err = range_add(branch, op->map.start, op->map.start + op->map.size);
        else if (op->op == EVQ_OP_REMAP)
            err = range_add(branch, op->remap.to, op->remap.to + op->remap.to_size);
    }
    return err;
}

/* All that the file's run uses, and this one. */
static int ranges_find(struct wet_branch *branch, const struct wetdbg *wet)
{
    const struct wd_buf *entries = branch->run.entries;
    int err = 0;
    for (size_t i = 0; !err && i < wet->span_count; i++)
        err = range_add(branch, wet->spans[i].start, wet->spans[i].end);
    for (size_t at = 0; !err && at < entries->size_bytes;) {
        const struct evq_entry *entry = (const struct evq_entry *)(entries->data + at);
        err = entry_ranges(branch, entry);
        at += entry->bytes;
    }
    struct rep_range *ranges = (struct rep_range *)branch->ranges.data;
    branch->run.ranges = ranges;
    branch->run.range_count = wd_ranges_join(ranges, branch->ranges.size_bytes / sizeof(*ranges));
    return err;
}

/* ---- the other tables ---- */

static int files_take(struct wet_branch *branch, struct wetdbg *wet)
{
    branch->files = calloc(wet->file_count + 1, sizeof(*branch->files));
    int err = branch->files ? 0 : -ENOMEM;
    for (size_t i = 0; !err && i < wet->file_count; i++) {
        struct rep_file *file = &branch->files[i];
        struct wetdbg_held_file held;
        wetdbg_held_file_get(wet, i, &held);
        *file = (struct rep_file){
            .name = held.path, .backing = held.path, .size_bytes = held.size_bytes};
        err = wet_file_fd(wet, i, &file->fd);
    }
    branch->run.files = branch->files;
    branch->run.file_count = wet->file_count;
    return err;
}

static int cpu_take(struct wet_branch *branch, const struct wetdbg *wet)
{
    const struct agt_cpuid *table = (const struct agt_cpuid *)wet->cpu_bytes.data;
    size_t count = wet->cpu_bytes.size_bytes / sizeof(*table);
    struct rep_cpu *cpu = &branch->run.cpu;
    branch->cpuid = calloc(count + 1, sizeof(*branch->cpuid));
    if (!branch->cpuid)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        branch->cpuid[i] = (struct rrt_cpuid){table[i].eax_in, table[i].ecx_in, table[i].eax,
                                              table[i].ebx,    table[i].ecx,    table[i].edx};
    *cpu = (struct rep_cpu){.cpuid = branch->cpuid,
                            .cpuid_count = count,
                            .xcr0 = wet->xcr0,
                            .processor = {wet->processor.rdpid, wet->processor.lsl},
                            .x87 = wet->x87,
                            .cpuid_is_here = wet->cpuid_is_here,
                            .cpuid_is_recorded = wet->cpuid_is_recorded};
    snprintf(cpu->lacks, sizeof(cpu->lacks), "%s", wet->lacks);
    return 0;
}

static void info_take(struct wet_branch *branch, const struct wetdbg *wet,
                      const struct wet_whole_run *run)
{
    struct rep_info *info = &branch->run.info;
    *info = (struct rep_info){.pid = wet->info.pid,
                              .exe = wet->info.program,
                              .argv = wet->info.argv,
                              .argc = wet->info.argc,
                              .is_buffered = wet->info.is_buffered,
                              .has_wait_status = true,
                              .wait_status = run->wait_status,
                              .fatal_signal = run->fatal_signal};
    memcpy(info->fatal_siginfo, run->fatal_siginfo, sizeof(info->fatal_siginfo));
    branch->run.names = wet->names;
    branch->run.name_count = wet->name_count;
    branch->run.is_trusted = false; /* what it does from the change on was never recorded */
    branch->run.surroundings = (struct rrt_surroundings){.began_ns = wet->info.recorded_at_ns,
                                                         .ended_ns = wet->info.recorded_until_ns,
                                                         .cwd = (char *)wet->info.recorded_in};
    memcpy(branch->run.surroundings.streams, wet->streams, sizeof(wet->streams));
}

int wet_branch_open(struct wetdbg *wet, const struct wet_whole_run *run, struct wet_branch **out)
{
    struct wet_branch *branch = calloc(1, sizeof(*branch));
    if (!branch)
        return -ENOMEM;
    branch->run.entries = run->entries;
    info_take(branch, wet, run);
    int err = ranges_find(branch, wet);
    if (!err)
        err = files_take(branch, wet);
    if (!err)
        err = cpu_take(branch, wet);
    if (!err)
        err = rep_feed_of_run(&branch->run, &branch->feed);
    if (err) {
        wet_branch_close(branch);
        return err;
    }
    *out = branch;
    return 0;
}

void wet_branch_close(struct wet_branch *branch)
{
    if (!branch)
        return;
    rep_feed_close(branch->feed);
    free(branch->files);
    free(branch->cpuid);
    wd_buf_fini(&branch->ranges);
    free(branch);
}

struct rep_feed *wet_branch_feed(const struct wet_branch *branch)
{
    return branch->feed;
}
