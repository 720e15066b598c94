/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "delta/judge.h"

#include <ctype.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* ---- crashes ---- */

/* The signal that a run died of, or 0. A shell says that of a child in its status. */
static int signal_of(const struct dlt_report *report)
{
    if (report->crash_signal)
        return report->crash_signal;
    if (report->program.ending == DLT_SIGNALED)
        return report->program.number;
    bool is_status = report->program.ending == DLT_EXITED && report->program.number > 128;
    return is_status && dlt_dumps_core(report->program.number - 128) ? report->program.number - 128
                                                                     : 0;
}

static enum wetdbg_delta_outcome judge_crash(const struct dlt_reference *reference,
                                             const struct dlt_report *report)
{
    const struct dlt_report *fail = reference->fail, *pass = reference->pass;
    int number = signal_of(report);
    if (!number)
        return !pass || pass->program.number == report->program.number ? WETDBG_DELTA_PASS
                                                                       : WETDBG_DELTA_UNRESOLVED;
    if (reference->plan->options->oracle == WETDBG_DD_ANY_CRASH)
        return dlt_dumps_core(number) ? WETDBG_DELTA_FAIL : WETDBG_DELTA_UNRESOLVED;
    bool is_same = number == signal_of(fail) &&
                   strcmp(report->place.function, fail->place.function) == 0 &&
                   strcmp(report->place.module, fail->place.module) == 0;
    return is_same ? WETDBG_DELTA_FAIL : WETDBG_DELTA_UNRESOLVED;
}

/* ---- outputs ---- */

static bool is_output_of(const struct dlt_report *report, const struct dlt_report *pass)
{
    return pass && report->output_bytes == pass->output_bytes &&
           report->output_low == pass->output_low && report->output_high == pass->output_high;
}

static enum wetdbg_delta_outcome judge_output(const struct dlt_reference *reference,
                                              const struct dlt_report *report)
{
    const struct dlt_report *fail = reference->fail;
    int number = signal_of(report);
    if (number == signal_of(fail) && report->wrong_byte == fail->wrong_byte &&
        report->wrong_offset == fail->wrong_offset)
        return WETDBG_DELTA_FAIL;
    bool is_right = report->wrong_byte == DLT_OUTPUT_RIGHT ||
                    report->wrong_offset > fail->wrong_offset ||
                    is_output_of(report, reference->pass);
    return is_right && !number ? WETDBG_DELTA_PASS : WETDBG_DELTA_UNRESOLVED;
}

/* ---- all ---- */

static enum wetdbg_delta_outcome judge_command(const struct dlt_report *report)
{
    if (report->command.ending != DLT_EXITED)
        return WETDBG_DELTA_UNRESOLVED;
    return report->command.number == 0   ? WETDBG_DELTA_PASS
           : report->command.number == 1 ? WETDBG_DELTA_FAIL
                                         : WETDBG_DELTA_UNRESOLVED;
}

enum wetdbg_delta_outcome dlt_judge(const struct dlt_reference *reference,
                                    const struct dlt_report *report)
{
    if (report->program.ending > DLT_SIGNALED)
        return WETDBG_DELTA_UNRESOLVED;
    switch (reference->plan->options->oracle) {
    case WETDBG_DD_CRASH:
    case WETDBG_DD_ANY_CRASH:
        return judge_crash(reference, report);
    case WETDBG_DD_EXPECT:
        return judge_output(reference, report);
    case WETDBG_DD_COMMAND:
        return judge_command(report);
    }
    return WETDBG_DELTA_UNRESOLVED;
}

bool dlt_is_failure(const struct dlt_plan *plan, const struct dlt_report *report)
{
    if (report->program.ending > DLT_SIGNALED)
        return false;
    switch (plan->options->oracle) {
    case WETDBG_DD_CRASH:
    case WETDBG_DD_ANY_CRASH:
        return dlt_dumps_core(signal_of(report));
    case WETDBG_DD_EXPECT:
        return report->wrong_byte != DLT_OUTPUT_RIGHT;
    case WETDBG_DD_COMMAND:
        return judge_command(report) == WETDBG_DELTA_FAIL;
    }
    return false;
}

/* ---- words ---- */

static void byte_describe(int byte, char *text, size_t size)
{
    if (byte == '\n')
        snprintf(text, size, "'\\n'");
    else if (isprint(byte) && byte < 0x80)
        snprintf(text, size, "'%c'", byte);
    else
        snprintf(text, size, "0x%02x", (unsigned)byte);
}

void dlt_failure_describe(const struct dlt_plan *plan, const struct dlt_report *report, char *text,
                          size_t size)
{
    char is[16] = "", wanted[16];
    uint64_t offset = report->wrong_offset;
    int number = signal_of(report);
    switch (plan->options->oracle) {
    case WETDBG_DD_CRASH:
    case WETDBG_DD_ANY_CRASH:
        if (report->place.function[0])
            snprintf(text, size, "SIG%s in %s (%s)", sigabbrev_np(number), report->place.function,
                     report->place.module);
        else
            snprintf(text, size, "SIG%s", sigabbrev_np(number));
        break;
    case WETDBG_DD_EXPECT:
        if (report->wrong_byte >= 0)
            byte_describe(report->wrong_byte, is, sizeof(is));
        byte_describe(offset < plan->expected.size ? plan->expected.data[offset] : 0, wanted,
                      sizeof(wanted));
        if (report->wrong_byte < 0)
            snprintf(text, size, "the output ends before byte %" PRIu64 ", which should be %s",
                     offset, wanted);
        else if (offset >= plan->expected.size)
            snprintf(text, size, "byte %" PRIu64 " of the output is %s, where it should have ended",
                     offset, is);
        else
            snprintf(text, size, "byte %" PRIu64 " of the output is %s in place of %s", offset, is,
                     wanted);
        break;
    case WETDBG_DD_COMMAND:
        snprintf(text, size, "the oracle says so");
        break;
    }
}

static void how_describe(const struct dlt_plan *plan, const struct dlt_how *how, char *text,
                         size_t size)
{
    switch (how->ending) {
    case DLT_EXITED:
        snprintf(text, size, "exited with status %d", how->number);
        break;
    case DLT_SIGNALED:
        snprintf(text, size, "was ended by SIG%s",
                 sigabbrev_np(how->number) ? sigabbrev_np(how->number) : "RT");
        break;
    case DLT_TOO_LONG:
        snprintf(text, size, "did not end within %.3g s", plan->timeout_s);
        break;
    case DLT_TOO_MUCH_MEMORY:
        snprintf(text, size, "took more than %" PRIu64 " MiB of memory", plan->memory_bytes >> 20);
        break;
    case DLT_TOO_MUCH_DISK:
        snprintf(text, size, "wrote more than %" PRIu64 " MiB, or filled the disk",
                 plan->disk_bytes >> 20);
        break;
    case DLT_TOO_MANY_PROCESSES:
        snprintf(text, size, "started too many processes");
        break;
    case DLT_NOT_STARTED:
        snprintf(text, size, "could not be started: %s", strerror(how->number));
        break;
    case DLT_BROKEN:
        snprintf(text, size, "could not be watched");
        break;
    }
}

void dlt_report_describe(const struct dlt_plan *plan, const struct dlt_report *report, char *text,
                         size_t size)
{
    char how[160];
    bool is_command =
        plan->options->oracle == WETDBG_DD_COMMAND && report->program.ending <= DLT_SIGNALED;
    how_describe(plan, is_command ? &report->command : &report->program, how, sizeof(how));
    snprintf(text, size, "%s %s%s%s%s", is_command ? "the oracle" : "the program", how,
             is_command && report->sentence[0] ? " (" : "", is_command ? report->sentence : "",
             is_command && report->sentence[0] ? ")" : "");
}
