/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/wet/attempt.h"

#include <string.h>

#include "tests/wet/wet_unit.h"

static const struct sample samples[] = {
    {"printf", 2000, {PROGRAMS "/prog_printf_O0_pie"}},
    {"heap", 3000, {PROGRAMS "/prog_heap_O2_pie"}},
    {"signals", 3000, {PROGRAMS "/prog_signals_O0_pie"}},
    {"simd", 2000, {PROGRAMS "/prog_simd_O2_pie"}},
    {"ud2", 2000, {PROGRAMS "/prog_crash_ud2_O2_pie"}},
    {"tls", 5000, {PROGRAMS "/thread_tls_O0_static"}},
    {"tls, many intervals", 1000, {PROGRAMS "/thread_tls_O0_static"}},
    {"queue", 20000, {PROGRAMS "/thread_queue_O2_pie"}},
    {"nested", 20000, {PROGRAMS "/signal_nested_O0_static"}},
    {"repfault", 2000, {REPFAULT}},
    {"moved", 2000, {GENERATED, "moved", "30"}},
    {"rewritten", 2000, {GENERATED, "rewritten", "400"}},
};

const struct sample *sample_named(const char *name)
{
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
        if (strcmp(samples[i].name, name) == 0)
            return &samples[i];
    fail_msg("no sample '%s'", name);
    return NULL;
}

void attempt_die(struct attempt *attempt)
{
    (void)attempt;
    raise(SIGKILL);
}

static void on_progress(void *arg, uint64_t done, uint64_t total, uint64_t instructions)
{
    struct attempt *attempt = arg;
    (void)done;
    (void)total;
    (void)instructions;
    if (!attempt->left || --attempt->left)
        return;
    if (attempt->strike)
        attempt->strike(attempt);
    else
        attempt->interrupted = 1;
}

static void on_notice(void *arg, const char *sentence)
{
    struct attempt *attempt = arg;
    attempt->resumed += strstr(sentence, "going on") != NULL;
    attempt->anew += strstr(sentence, "anew") != NULL;
}

int attempt_build(const struct rebuilt *fixture, struct attempt *attempt,
                  const struct wet_build_options *base)
{
    struct wet_build_options options = *base;
    options.interval_instructions = fixture->interval;
    options.fingerprint = options.fingerprint ? options.fingerprint : "test";
    options.interrupted = &attempt->interrupted;
    options.progress = on_progress;
    options.progress_arg = attempt;
    options.notice = on_notice;
    options.notice_arg = attempt;
    return run_build_with(&fixture->run, fixture->path, &options);
}
