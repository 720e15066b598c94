/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks on what a .wet file gives to a replayee. Anybody can write such a file; what passes here
 * makes the agent map within the spans that it was kept out of, open no other file than the
 * file's own, and load vector state that the processor takes. More is not needed: a program that
 * does something else than was recorded is noticed while it runs.
 */
#include <string.h>

#include "recorder/feed/feed.h"
#include "recorder/feed/feed_cpu.h"
#include "wet/query/wet_priv.h"
#include "wet/trace/rules.h"
#include "wet/trace/stored_entry.h"
#include <wetdbg/errors.h>

_Static_assert(sizeof(struct rrt_cpuid) == sizeof(struct agt_cpuid), "WET_SEC_CPU is both");

static int damaged(const struct wetdbg *wet, const char *what)
{
    return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: damaged %s", wet_store_path(wet->store), what);
}

/* ---- spans and processor ---- */

static bool spans_are_sane(const struct rep_span *spans, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!wet_rule_span(&spans[i], i ? spans[i - 1].end : 0))
            return false;
    }
    return true;
}

int wet_machine_open(struct wetdbg *wet)
{
    int err = wet_store_read(wet->store, WET_SEC_SPANS, 0, &wet->spans_bytes);
    wet->spans = (const struct rep_span *)wet->spans_bytes.data;
    wet->span_count = wet->spans_bytes.size_bytes / sizeof(*wet->spans);
    if (!err && (wet->spans_bytes.size_bytes % sizeof(*wet->spans) ||
                 !spans_are_sane(wet->spans, wet->span_count)))
        err = damaged(wet, "table of addresses");
    if (!err)
        err = wet_store_read(wet->store, WET_SEC_CPU, 0, &wet->cpu_bytes);
    size_t count = wet->cpu_bytes.size_bytes / sizeof(struct agt_cpuid);
    if (!err && (wet->cpu_bytes.size_bytes % sizeof(struct agt_cpuid) || count > AGT_CPUID_MAX))
        err = damaged(wet, "CPUID records");
    if (err)
        return err;
    struct rrt_header header = {.cpuid = (const struct rrt_cpuid *)wet->cpu_bytes.data,
                                .cpuid_count = count,
                                .has_cpuid_faulting = wet->cpuid_is_recorded,
                                .xcr0 = wet->xcr0};
    wet->cpuid_is_here = feed_cpu_is_here(&header);
    feed_cpu_lacking(&header, wet->lacks, sizeof(wet->lacks));
    return feed_cpu_check(&header);
}

int wet_objects_check(const struct wetdbg *wet)
{
    for (size_t i = 0; i < wet->space.object_count; i++) {
        if (!wet_rule_object(&wet->space.objects[i], wet->file_count))
            return damaged(wet, "table of mappings");
    }
    return 0;
}

/* ---- entries ---- */

static int op_check(const struct wetdbg *wet, const struct evq_op *op, uint64_t file_count,
                    bool is_to_run)
{
    switch (op->op) {
    case EVQ_OP_MAP:
        if (!wet_rule_in_spans(wet->spans, wet->span_count, op->map.start, op->map.size) ||
            (op->map.file != EVQ_FILE_NONE && op->map.file >= file_count))
            return damaged(wet, "entries: a mapping is out of bounds");
        return 0;
    case EVQ_OP_REMAP:
        return wet_rule_in_spans(wet->spans, wet->span_count, op->remap.to, op->remap.to_size)
                   ? 0
                   : damaged(wet, "entries: a mapping is out of bounds");
    case EVQ_OP_XSTATE:
        return is_to_run ? wet_xsave_check(wet, (const uint8_t *)(op + 1), op->xstate.size) : 0;
    default:
        return 0;
    }
}

int wet_entry_check(const struct wetdbg *wet, const void *bytes, size_t size_bytes,
                    uint64_t file_count, bool is_to_run)
{
    const struct evq_entry *entry = bytes;
    int err = evq_entry_check(bytes, size_bytes);
    if (err) {
        char what[256];
        snprintf(what, sizeof(what), "%s", wetdbg_error(err));
        return wetdbg_fail(err, "%s: %s", wet_store_path(wet->store), what);
    }
    for (const struct evq_op *op = NULL; !err && (op = evq_op_next(entry, op));)
        err = op_check(wet, op, file_count, is_to_run);
    return err;
}
