/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/locate_words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/nav/general.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/ordinal.h"
#include "dbgcli/verbs/mutant_words.h"

/* ---- reasons ---- */

/* What a repair does: that no signal ends the run means of a hang that nobody had to end it. */
static const char *repair_of(const struct cli_locating *self, enum wetdbg_verdict verdict,
                             const char *const repairs[], const char *ends)
{
    bool is_hang = self->failure.kind == CLI_FAILURE_HANG;

    return is_hang && verdict == WETDBG_VERDICT_NO_CRASH ? ends : repairs[verdict];
}

static char *switch_words(const struct cli_locating *self, const struct wetdbg_evidence *evidence)
{
    static const char *const repairs[] = {
        [WETDBG_VERDICT_WRONG] = "",
        [WETDBG_VERDICT_EQUAL] = "",
        [WETDBG_VERDICT_UNRESOLVED] = "",
        [WETDBG_VERDICT_NO_CRASH] = "keeps it from crashing",
        [WETDBG_VERDICT_PREFIX] = "repairs the first wrong byte, but not all output",
        [WETDBG_VERDICT_EXACT] = "makes the run right",
    };

    return cli_asprintf("its %" PRIu64 "%s decision, made the other way, %s",
                        evidence->change.instance, cli_ordinal_end(evidence->change.instance),
                        repair_of(self, evidence->verdict, repairs, "makes it end by itself"));
}

/* What became of passing runs with it. */
static char *held_words(const struct wetdbg_mutant *mutant)
{
    if (mutant->broken)
        return cli_strdup(", but a passing run is not");
    if (!mutant->held)
        return cli_strdup("");
    return mutant->held == 1 ? cli_strdup(", and a passing run stays so")
                             : cli_asprintf(", and %" PRIu32 " passing runs stay so", mutant->held);
}

static char *mutant_words(const struct cli_locating *self, const struct wetdbg_suspect *suspect,
                          uint64_t count, uint64_t total)
{
    static const char *const repairs[] = {
        [WETDBG_VERDICT_WRONG] = "",
        [WETDBG_VERDICT_EQUAL] = "",
        [WETDBG_VERDICT_UNRESOLVED] = "",
        [WETDBG_VERDICT_NO_CRASH] = "it does not crash",
        [WETDBG_VERDICT_PREFIX] = "the first wrong byte is right, but not all output",
        [WETDBG_VERDICT_EXACT] = "the run is right",
    };
    const struct wetdbg_mutant *mutant = &suspect->evidence.mutant;
    char *words =
        cli_mutant_words(self->session->wet, mutant,
                         cli_source_text(self->session, suspect->file, suspect->line, suspect->pc));
    char *held = held_words(mutant);
    char *text = cli_asprintf(
        "with %s %s%s (%" PRIu64 " of %" PRIu64 " changes tried here do that)", words,
        repair_of(self, mutant->verdict, repairs, "it ends by itself"), held, count, total);

    free(held);
    free(words);
    return text;
}

static char *repair_words(const struct cli_locating *self, const struct wetdbg_evidence *evidence,
                          uint64_t count, uint64_t total)
{
    static const char *const repairs[] = {
        [WETDBG_VERDICT_WRONG] = "",
        [WETDBG_VERDICT_EQUAL] = "",
        [WETDBG_VERDICT_UNRESOLVED] = "",
        [WETDBG_VERDICT_NO_CRASH] = "keep it from crashing",
        [WETDBG_VERDICT_PREFIX] = "repair the first wrong byte, but not all output",
        [WETDBG_VERDICT_EXACT] = "make the run right",
    };

    return cli_asprintf(
        "%" PRIu64 " of %" PRIu64 " other values of what it computes %s", count, total,
        repair_of(self, evidence->repair.verdict, repairs, "make it end by itself"));
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* Of a loop that nothing changes the slice is the decision's own line, at least until it was made
 * the time before. */
static char *criterion_words(const struct cli_locating *self)
{
    size_t lines;

    if (!self->failure.is_loop)
        return cli_strdup("what is wrong was made here, or only copied after that");
    wetdbg_slice_lines(self->slice, &lines);
    bool is_whole = wetdbg_slice_get_counts(self->slice)->looked_to <= self->failure.loop.before;
    return cli_asprintf("here it was decided each time that the loop goes on%s",
                        lines == 1 && is_whole ? "; nothing in it changed what that depends on"
                                               : "");
}

char *cli_locate_words(const struct cli_locating *self, const struct wetdbg_suspect *suspect,
                       const struct wetdbg_reason *reason)
{
    uint64_t count = reason->count, total = reason->total;

    switch (reason->kind) {
    case WETDBG_REASON_CRITERION:
        return criterion_words(self);
    case WETDBG_REASON_SWITCH:
        return switch_words(self, &suspect->evidence);
    case WETDBG_REASON_MUTANT:
        return mutant_words(self, suspect, count, total);
    case WETDBG_REASON_REPAIR:
        return repair_words(self, &suspect->evidence, count, total);
    case WETDBG_REASON_IMPLICIT:
        return cli_asprintf("a decision here kept %" PRIu64 " value%s from being written that led "
                            "to what is wrong",
                            count, plural(count));
    case WETDBG_REASON_BESIDE:
        return cli_asprintf("more speaks against line %" PRIu64 ", beside it", count);
    case WETDBG_REASON_TEST:
        return cli_strdup("it is the test's own, where what is wrong is only noticed");
    case WETDBG_REASON_ONLY_HERE:
        return total == 1 ? cli_strdup("the passing run did not execute it")
                          : cli_asprintf("none of %" PRIu64 " passing runs executed it", total);
    case WETDBG_REASON_RARELY:
        return cli_asprintf("only %" PRIu64 " of %" PRIu64 " passing runs executed it", count,
                            total);
    case WETDBG_REASON_VALUES:
        return cli_asprintf("%" PRIu64 " of its %" PRIu64 " value%s came up in no passing run",
                            count, total, plural(total));
    case WETDBG_REASON_PIECE:
        return count ? cli_asprintf("it ran for what is wrong, and for only %" PRIu64 " of %" PRIu64
                                    " pieces of output before",
                                    count, total)
                     : cli_strdup("it ran for what is wrong, and for no output before");
    case WETDBG_REASON_STEP:
        return cli_asprintf("it ran in only %" PRIu64 " of %" PRIu64
                            " steps of the test, shortly before that failed",
                            count, total);
    case WETDBG_REASON_DECISION:
        return count == 1 ? cli_strdup("it is the last decision before what is wrong")
                          : cli_asprintf("it is the %" PRIu64 "%s decision back from what is wrong",
                                         count, cli_ordinal_end(count));
    case WETDBG_REASON_DISTANCE:
        return cli_asprintf("%" PRIu64 " dependence%s from what is wrong", count, plural(count));
    case WETDBG_REASON_LONG_AGO:
        return cli_strdup(
            "what is wrong was computed from what it made, longer ago than was looked "
            "at closely");
    case WETDBG_REASON_UNSURE:
        return cli_asprintf("confidence %.2f: little that came out right depends on it",
                            reason->share);
    case WETDBG_REASON_OUTSIDE:
        return cli_strdup("what is wrong does not depend on what it did");
    }
    return cli_strdup("");
}

char *cli_locate_reasons(const struct cli_locating *self, const struct wetdbg_suspect *suspect)
{
    char *text = cli_strdup("");

    for (unsigned i = 0; i < suspect->reason_count; i++) {
        char *words = cli_locate_words(self, suspect, &suspect->reasons[i]);
        char *more = cli_asprintf("%s%s%s", text, i ? "; " : "", words);
        free(words);
        free(text);
        text = more;
    }
    return text;
}

/* ---- commands ---- */

static char *against_command(const struct cli_locating *self)
{
    char *text = cli_asprintf("slice backward %s", self->failure.criterion);

    for (size_t i = 0; i < self->passing_count; i++) {
        char *more = cli_asprintf("%s --against %s", text, self->passing[i].name);
        free(text);
        text = more;
    }
    return text;
}

/* What follows a what-if whose output is to be seen: of output that is wrong. */
static char *with_output(const struct cli_locating *self, char *command)
{
    int fd = wetdbg_criterion_get_info(self->criterion)->output_fd;
    char *text = fd >= 0 ? cli_asprintf("%s --output=%d", command, fd) : cli_strdup(command);

    free(command);
    return text;
}

/* The best of the repairs. */
static char *repair_command(const struct wetdbg_replacement *repair)
{
    if (repair->reg >= 0)
        return cli_asprintf("what-if $%s=%" PRIu64 "@%" PRIu64,
                            cli_general_name((unsigned)repair->reg), repair->is,
                            (uint64_t)repair->time + 1);
    return cli_asprintf("what-if *0x%" PRIx64 "+%u=%" PRIu64 "@%" PRIu64, repair->address,
                        repair->size, repair->is, (uint64_t)repair->time + 1);
}

char *cli_locate_command(const struct cli_locating *self, const struct wetdbg_suspect *suspect,
                         const struct wetdbg_reason *reason)
{
    const char *file = cli_base_name(suspect->file);

    switch (reason->kind) {
    case WETDBG_REASON_CRITERION:
    case WETDBG_REASON_DISTANCE:
        return cli_asprintf("why %s:%" PRIu32, file, suspect->line);
    case WETDBG_REASON_SWITCH:
        return with_output(
            self, cli_asprintf("what-if %" PRIu64 " switch", suspect->evidence.change.time));
    case WETDBG_REASON_MUTANT:
        return with_output(self, cli_mutant_command(&suspect->evidence.mutant));
    case WETDBG_REASON_REPAIR:
        return with_output(self, repair_command(&suspect->evidence.repair));
    case WETDBG_REASON_IMPLICIT:
        return cli_asprintf("slice backward --implicit %s", self->failure.criterion);
    case WETDBG_REASON_BESIDE:
        return cli_asprintf("list %s:%" PRIu64, file, reason->count);
    case WETDBG_REASON_ONLY_HERE:
    case WETDBG_REASON_RARELY:
    case WETDBG_REASON_VALUES:
        return against_command(self);
    case WETDBG_REASON_LONG_AGO:
        return cli_asprintf("slice backward --data %s", self->failure.criterion);
    case WETDBG_REASON_DECISION:
        return cli_asprintf("decisions %s", self->failure.criterion);
    case WETDBG_REASON_UNSURE:
        return cli_asprintf("prune --wrong %s", self->failure.criterion);
    case WETDBG_REASON_PIECE:
    case WETDBG_REASON_STEP:
        return cli_asprintf("instances %s:%" PRIu32, file, suspect->line);
    case WETDBG_REASON_TEST:
    case WETDBG_REASON_OUTSIDE:
        return NULL;
    }
    return NULL;
}

/* ---- what is wrong ---- */

char *cli_locate_failure_words(const struct cli_locating *self)
{
    static const char *const words[] = {
        [CLI_FAILURE_GIVEN] = "as --target says",
        [CLI_FAILURE_COMPARED] = "where a comparison found it wrong",
        [CLI_FAILURE_CRASH] = "the crash",
        [CLI_FAILURE_REPORT] = "what the sanitizer reports",
        [CLI_FAILURE_HANG] = "what went on until the run was ended from outside",
        [CLI_FAILURE_OUTPUT] = "the first wrong byte of output",
        [CLI_FAILURE_MESSAGE] = "the message that came where output is missing",
        [CLI_FAILURE_MISSING] = "output is missing",
        [CLI_FAILURE_EXIT] = "the exit status",
        [CLI_FAILURE_TEST] = "where the test failed",
        [CLI_FAILURE_ANY] = "the last line of output, since nobody says which byte is wrong",
    };
    struct wetdbg_line line = {0};

    if (!strcmp(self->failure.criterion, "crash"))
        return cli_strdup(words[CLI_FAILURE_CRASH]);
    if (self->failure.is_loop)
        wetdbg_line_of_instruction(self->session->model, self->failure.loop.exit_pc, &line);
    if (line.file)
        return cli_asprintf("the loop that was not left at %s:%" PRIu32
                            " until the run was ended from outside (%s)",
                            cli_base_name(line.file), line.line, self->failure.criterion);
    return cli_asprintf("%s (%s)", words[self->failure.kind], self->failure.criterion);
}
