/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The report of `record --check`: facts first, each with a sentence of what it means here, then one
 * verdict. Both forms, text and JSON, are made from the same rows.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/record/find_rr.h"
#include "recorder/record/machine.h"
#include <wetdbg/errors.h>
#include <wetdbg/record.h>

#define ROWS_MAX        12
#define TEXT_BYTES      512
#define RR_VERSION_OLD  50600 /* the oldest whose recordings our reader accepts */
#define RR_KNOWS_VCLOCK 50900

struct row {
    const char *name;
    bool is_good;
    char text[TEXT_BYTES];
};

struct report {
    struct row rows[ROWS_MAX];
    size_t count;
};

__attribute__((format(printf, 4, 5))) static void add_row(struct report *report, const char *name,
                                                          bool is_good, const char *format, ...)
{
    struct row *row = &report->rows[report->count++];
    va_list args;

    row->name = name;
    row->is_good = is_good;
    va_start(args, format);
    vsnprintf(row->text, sizeof(row->text), format, args);
    va_end(args);
}

/* ---- the rows ---- */

/* Returns rr's version, 0 if there is none that works. */
static int add_rr(struct report *report)
{
    char *path;
    int err = rec_locate_rr(&path), version;

    if (err) {
        add_row(report, "rr", false, "%s", wetdbg_error(err));
        return 0;
    }
    version = rec_rr_version(path);
    if (version == 0)
        add_row(report, "rr", false, "%s does not tell its version", path);
    else
        add_row(report, "rr", version >= RR_VERSION_OLD, "%d.%d.%d (%s)%s", version / 10000,
                version / 100 % 100, version % 100, path,
                version >= RR_VERSION_OLD ? "" : "; 5.6.0 or newer is needed");
    free(path);
    return version >= RR_VERSION_OLD ? version : 0;
}

static bool add_preload(struct report *report)
{
    char *path;
    int err = rec_locate_preload(&path);

    add_row(report, "preload", !err, "%s", err ? wetdbg_error(err) : path);
    if (!err)
        free(path);
    return !err;
}

static void add_cpu(struct report *report)
{
    const char *microarch;
    struct rec_cpu cpu;

    rec_cpu_probe(&cpu);
    microarch = rec_cpu_microarch(&cpu);
    add_row(report, "cpu", cpu.is_known || microarch, "%s family 0x%x model 0x%x: %s%s",
            cpu.vendor_text, cpu.family, cpu.model,
            cpu.is_known ? "known to rr"
            : microarch  ? "unknown to rr 5.6; passing -A "
                         : "unknown to rr; software ticks work all the same",
            cpu.is_known || !microarch ? "" : microarch);
}

static bool add_pmu(struct report *report)
{
    int err = rec_probe_pmu();

    add_row(report, "pmu", !err, "%s", err ? rec_pmu_reason(err) : "counts conditional branches");
    return !err;
}

static void add_paranoid(struct report *report)
{
    int level = rec_perf_paranoid();

    if (level == -100)
        add_row(report, "perf_event_paranoid", false,
                "/proc/sys/kernel/perf_event_paranoid cannot be read");
    else
        add_row(report, "perf_event_paranoid", level <= 2, "%d%s", level,
                level <= 2 ? ": ordinary users may count their own programs"
                           : ": only root may use perf events");
}

static void add_software_events(struct report *report)
{
    int err = rec_probe_software_events();

    if (err)
        add_row(report, "software events", false,
                "refused (perf_event_open: %s); a timer stands in for them", strerror(-err));
    else
        add_row(report, "software events", true, "the task clock works");
}

static bool add_ptrace(struct report *report)
{
    int err = rec_probe_ptrace();

    if (err)
        add_row(report, "ptrace", false,
                "refused (%s): in a container, give it --cap-add=SYS_PTRACE; "
                "else see kernel.yama.ptrace_scope",
                strerror(-err));
    else
        add_row(report, "ptrace", true, "works");
    return !err;
}

static void add_vvar(struct report *report, int rr_version, bool has_preload)
{
    bool has = rec_has_vvar_vclock(), knows = rr_version >= RR_KNOWS_VCLOCK;

    add_row(report, "vvar_vclock", !has || knows || has_preload, "%s",
            !has          ? "this kernel has no such mapping"
            : knows       ? "this rr knows the mapping"
            : has_preload ? "rr before 5.9 does not know the mapping; the preload hides it"
                          : "rr before 5.9 does not know the mapping, and there is no preload");
}

static const char *give_verdict(struct report *report, bool *is_possible)
{
    int version = add_rr(report);
    bool has_preload = add_preload(report), has_pmu, has_ptrace;

    add_cpu(report);
    has_pmu = add_pmu(report);
    add_paranoid(report);
    add_software_events(report);
    has_ptrace = add_ptrace(report);
    add_vvar(report, version, has_preload);
    *is_possible = version && has_ptrace && (has_pmu || has_preload);
    if (!version)
        return "recording is impossible: rr is missing or too old";
    if (!has_ptrace)
        return "recording is impossible: programs cannot be traced here";
    if (has_pmu)
        return "recording works, with hardware ticks";
    if (has_preload)
        return "recording works, with software ticks (places in time between system calls are "
               "found by a digest of memory)";
    return "recording is impossible: no PMU, and the preload that does without is missing";
}

/* ---- output ---- */

static void print_text(FILE *out, const struct report *report, const char *verdict)
{
    for (size_t i = 0; i < report->count; i++)
        fprintf(out, "%-20s %-3s  %s\n", report->rows[i].name,
                report->rows[i].is_good ? "ok" : "no", report->rows[i].text);
    fprintf(out, "verdict: %s\n", verdict);
}

static int print_json(FILE *out, const struct report *report, const char *verdict, bool possible)
{
    json_t *root = json_object(), *checks = json_array();
    int err = 0;

    for (size_t i = 0; i < report->count; i++)
        json_array_append_new(checks, json_pack("{s:s, s:b, s:s}", "name", report->rows[i].name,
                                                "ok", (int)report->rows[i].is_good, "text",
                                                report->rows[i].text));
    json_object_set_new(root, "checks", checks);
    json_object_set_new(root, "possible", json_boolean(possible));
    json_object_set_new(root, "verdict", json_string(verdict));
    if (json_dumpf(root, out, JSON_INDENT(2)) != 0)
        err = wetdbg_fail(-EIO, "cannot write the report");
    else
        fputc('\n', out);
    json_decref(root);
    return err;
}

int wetdbg_record_check(FILE *out, bool as_json)
{
    struct report report = {0};
    bool is_possible;
    const char *verdict = give_verdict(&report, &is_possible);
    int err = 0;

    if (as_json)
        err = print_json(out, &report, verdict, is_possible);
    else
        print_text(out, &report, verdict);
    if (!err && !is_possible)
        err = wetdbg_fail(-WETDBG_ERR_MACHINE, "%s", verdict);
    return err;
}
