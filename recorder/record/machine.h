/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Probes of the machine, for the choice of ticks and for `record --check`. */
#ifndef RECORDER_RECORD_MACHINE_H
#define RECORDER_RECORD_MACHINE_H

#include <stdbool.h>

enum rec_vendor {
    REC_VENDOR_OTHER,
    REC_VENDOR_INTEL,
    REC_VENDOR_AMD,
};

struct rec_cpu {
    enum rec_vendor vendor;
    char vendor_text[13];
    unsigned family, model; /* with the extended parts folded in */
    bool is_known;          /* to rr 5.6, which refuses to start on others without -A */
};

void rec_cpu_probe(struct rec_cpu *cpu);

/* The name for rr's -A with which the PMU of this CPU counts rightly; NULL if rr knows the CPU by
 * itself, or if nothing suits. */
const char *rec_cpu_microarch(const struct rec_cpu *cpu);

/* 0 if the PMU counts retired conditional branches of this process, else -errno of what refused
 * it (-ENODATA: the counter opens but does not count). */
int rec_probe_pmu(void);

/* Says what an error of rec_probe_pmu means, as the end of "the PMU ..."; a constant string. */
const char *rec_pmu_reason(int err);

/* 0 if perf_event_open gives a software task clock, else -errno. */
int rec_probe_software_events(void);

/* kernel.perf_event_paranoid; -100 if unreadable. */
int rec_perf_paranoid(void);

/* 0 if a child of ours can be traced, else -errno. */
int rec_probe_ptrace(void);

/* Whether this kernel shows [vvar_vclock] mappings, which rr before 5.9 does not know. */
bool rec_has_vvar_vclock(void);

/* The version of the rr at `path`, as major * 10000 + minor * 100 + patch; 0 if it does not say. */
int rec_rr_version(const char *path);

#endif
