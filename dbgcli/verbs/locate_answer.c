/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/locate_answer.h"

#include <inttypes.h>
#include <stdlib.h>

#include "dbgcli/commands/slice_groups.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/verbs/locate_words.h"

/* ---- JSON ---- */

static json_t *json_of_reason(const struct cli_locating *self, const struct wetdbg_suspect *suspect,
                              const struct wetdbg_reason *reason)
{
    char *words = cli_locate_words(self, suspect, reason);
    char *command = cli_locate_command(self, suspect, reason);
    json_t *object = json_object();

    cli_json_set(object, "kind", cli_json_text(wetdbg_reason_name(reason->kind)));
    cli_json_set(object, "text", cli_json_text(words));
    cli_json_set(object, "command", cli_json_text(command));
    free(command);
    free(words);
    return object;
}

static void set_count(json_t *object, const char *name, uint64_t count, bool is_known)
{
    cli_json_set(object, name, is_known ? cli_json_count(count) : json_null());
}

static void set_slice(json_t *object, const struct wetdbg_evidence *evidence)
{
    bool has = evidence->in_slice;

    set_count(object, "executions", evidence->executions, true);
    cli_json_set(object, "in_slice", json_boolean(has));
    set_count(object, "distance", evidence->distance, has);
    set_count(object, "place", evidence->place, has);
    set_count(object, "instances", evidence->instances, has);
    set_count(object, "last_time", evidence->last, has);
    set_count(object, "decision", evidence->decision, evidence->decision);
    cli_json_set(object, "only_calls", json_boolean(evidence->only_calls));
    cli_json_set(object, "in_data", json_boolean(evidence->in_data));
    cli_json_set(object, "in_thin", json_boolean(evidence->in_thin));
    cli_json_set(object, "branches", json_boolean(evidence->doing & WETDBG_DOING_BRANCH));
    cli_json_set(object, "calls", json_boolean(evidence->doing & WETDBG_DOING_CALL));
    cli_json_set(object, "returns", json_boolean(evidence->doing & WETDBG_DOING_RETURN));
}

static json_t *json_of_evidence(const struct cli_locating *self,
                                const struct wetdbg_suspect *suspect)
{
    const struct wetdbg_evidence *evidence = &suspect->evidence;
    json_t *object = json_object();

    set_slice(object, evidence);
    cli_json_set(object, "confidence",
                 self->prune && evidence->is_judged ? json_real(evidence->confidence)
                                                    : json_null());
    set_count(object, "passing_executed", evidence->executed, self->passing_count);
    set_count(object, "passing_sliced", evidence->sliced, self->passing_count);
    set_count(object, "values", evidence->values, self->passing_count);
    set_count(object, "new_values", evidence->new_values, self->passing_count);
    cli_json_set(object, "switch",
                 evidence->is_switched ? cli_json_text(wetdbg_verdict_name(evidence->verdict))
                                       : json_null());
    set_count(object, "switch_time", evidence->change.time, evidence->is_switched);
    set_count(object, "switch_instance", evidence->change.instance, evidence->is_switched);
    set_count(object, "switch_trial", evidence->trial, evidence->is_switched);
    set_count(object, "replaced", evidence->replaced, true);
    set_count(object, "repaired_exactly", evidence->repaired_exactly, true);
    set_count(object, "repaired", evidence->repaired, true);
    set_count(object, "pieces", evidence->pieces, true);
    set_count(object, "pieces_ago", evidence->pieces_ago, true);
    cli_json_set(object, "in_failing_piece", json_boolean(evidence->in_failing_piece));
    set_count(object, "mutated", evidence->mutated, true);
    set_count(object, "mutated_exactly", evidence->mutated_exactly, true);
    set_count(object, "mutated_well", evidence->mutated_well, true);
    set_count(object, "mutated_safely", evidence->mutated_safely, true);
    set_count(object, "mutated_here", evidence->mutated_here, true);
    set_count(object, "implied", evidence->implied, true);
    cli_json_set(object, "in_test", json_boolean(evidence->in_test));
    return object;
}

static json_t *json_of_features(const struct cli_locating *self,
                                const struct wetdbg_suspect *suspect)
{
    double values[WETDBG_FEATURES_MAX];
    json_t *object = json_object();

    wetdbg_locate_features(self->locate, suspect, values);
    for (unsigned i = 0; wetdbg_feature_name(i); i++)
        cli_json_set(object, wetdbg_feature_name(i), json_real(values[i]));
    return object;
}

static json_t *json_of_suspect(const struct cli_locating *self,
                               const struct wetdbg_suspect *suspect, size_t rank)
{
    json_t *object = json_object(), *reasons = json_array();

    for (unsigned i = 0; i < suspect->reason_count; i++)
        cli_json_append(reasons, json_of_reason(self, suspect, &suspect->reasons[i]));
    cli_json_set(object, "rank", json_integer((json_int_t)rank));
    cli_json_set(object, "file", cli_json_text(suspect->file));
    cli_json_set(object, "line", json_integer(suspect->line));
    cli_json_set(object, "function", cli_json_text(suspect->function));
    cli_json_set(
        object, "text",
        cli_json_text(cli_source_text(self->session, suspect->file, suspect->line, suspect->pc)));
    cli_json_set(object, "score", json_real(suspect->score));
    cli_json_set(object, "reasons", reasons);
    cli_json_set(object, "evidence", json_of_evidence(self, suspect));
    if (self->shows_features)
        cli_json_set(object, "features", json_of_features(self, suspect));
    return object;
}

static json_t *json_of_criterion(const struct cli_locating *self)
{
    const struct wetdbg_criterion_info *info = wetdbg_criterion_get_info(self->criterion);
    json_t *object = json_object();

    cli_json_set(object, "text", cli_json_text(self->failure.criterion));
    cli_json_set(object, "kind", cli_json_text(cli_failure_name(self->failure.kind)));
    cli_json_set(object, "description", cli_json_text(info->description));
    cli_json_set(object, "time", cli_json_count(info->time));
    cli_json_set(object, "got", cli_json_text(self->failure.got));
    cli_json_set(object, "wanted", cli_json_text(self->failure.wanted));
    return object;
}

static json_t *json_of_neighbour(const struct cli_neighbour *neighbour)
{
    json_t *object = json_object();

    cli_json_set(object, "run", cli_json_text(neighbour->wet_path));
    cli_json_set(object, "file", cli_json_text(neighbour->file));
    cli_json_set(object, "bytes", cli_json_count(neighbour->input_bytes));
    cli_json_set(object, "because", cli_json_text(neighbour->words));
    return object;
}

static json_t *json_of_reduced(const struct cli_reduced *reduced)
{
    json_t *object = json_object();

    cli_json_set(object, "file", cli_json_text(reduced->file));
    cli_json_set(object, "bytes", cli_json_count(reduced->input.size));
    cli_json_set(object, "of", cli_json_count(reduced->of));
    cli_json_set(object, "is_minimal", json_boolean(reduced->is_minimal));
    cli_json_set(object, "tests", cli_json_count(reduced->tests));
    cli_json_set(object, "run", cli_json_text(reduced->wet_path));
    return object;
}

static json_t *json_of_prefix(const struct cli_prefix *prefix)
{
    json_t *object = json_object();

    cli_json_set(object, "file", cli_json_text(prefix->file));
    cli_json_set(object, "bytes", cli_json_count(prefix->bytes));
    cli_json_set(object, "output_bytes", cli_json_count(prefix->output_bytes));
    cli_json_set(object, "because", cli_json_text(prefix->words));
    return object;
}

static void print_json(const struct cli_locating *self, const struct wetdbg_suspect *suspects,
                       size_t count)
{
    json_t *object = cli_json_object("wetdbg.locate/1");
    json_t *rows = json_array(), *missing = json_array(), *passing = json_array(),
           *found = json_array();

    for (size_t i = 0; i < count && (!self->limit || i < self->limit); i++)
        cli_json_append(rows, json_of_suspect(self, &suspects[i], i + 1));
    for (size_t i = 0; i < self->missing_count; i++)
        cli_json_append(missing, cli_json_text(self->missing[i]));
    for (size_t i = 0; i < self->passing_count; i++)
        cli_json_append(passing, cli_json_text(self->passing[i].name));
    for (size_t i = 0; i < self->found_passing.count; i++)
        cli_json_append(found, json_of_neighbour(&self->found_passing.list[i]));
    cli_json_set(object, "run", cli_json_text(self->wet_path));
    cli_json_set(object, "criterion", json_of_criterion(self));
    cli_json_set(object, "executed_lines", cli_json_count(wetdbg_locate_executed(self->locate)));
    cli_json_set(object, "suspects", rows);
    cli_json_set(object, "seconds", json_real(cli_locating_seconds(self)));
    cli_json_set(object, "reduced",
                 self->reduced.file ? json_of_reduced(&self->reduced) : json_null());
    cli_json_set(object, "passing_beginning",
                 self->prefix.file ? json_of_prefix(&self->prefix) : json_null());
    cli_json_set(object, "passing", passing);
    cli_json_set(object, "found_passing", found);
    cli_json_set(object, "missing", missing);
    cli_json_set(object, "final", json_boolean(!self->has_more));
    cli_out_json(self->session->out, object);
}

/* ---- text ---- */

#define SHORT_BYTES 200 /* of an input that is shown */

static void print_reason(const struct cli_locating *self, const struct wetdbg_suspect *suspect,
                         const struct wetdbg_reason *reason)
{
    struct cli_out *out = self->session->out;
    char *words = cli_locate_words(self, suspect, reason);
    char *command = cli_locate_command(self, suspect, reason);

    fprintf(out->stream, "      %s", words);
    if (command) {
        fprintf(out->stream, "  %s[", cli_out_style(out, CLI_STYLE_DIM));
        cli_out_text(out, command);
        fprintf(out->stream, "]%s", cli_out_style(out, CLI_STYLE_NONE));
    }
    putc('\n', out->stream);
    free(command);
    free(words);
}

static void print_suspect(const struct cli_locating *self, const struct wetdbg_suspect *suspect,
                          size_t rank)
{
    struct cli_out *out = self->session->out;
    const char *text = cli_source_text(self->session, suspect->file, suspect->line, suspect->pc);

    fprintf(out->stream, "%3zu. ", rank);
    cli_out_styled(out, CLI_STYLE_FILE, cli_base_name(suspect->file));
    fprintf(out->stream, ":%" PRIu32 "  in ", suspect->line);
    cli_out_styled(out, CLI_STYLE_FUNCTION, suspect->function);
    if (text) {
        fputs("  | ", out->stream);
        cli_out_text(out, text);
    }
    putc('\n', out->stream);
    for (unsigned i = 0; i < suspect->reason_count; i++)
        print_reason(self, suspect, &suspect->reasons[i]);
}

static void print_wrong(const struct cli_locating *self)
{
    const struct wetdbg_criterion_info *info = wetdbg_criterion_get_info(self->criterion);
    struct cli_out *out = self->session->out;
    char *words = cli_locate_failure_words(self);

    fputs("what is wrong: ", out->stream);
    cli_out_text(out, words);
    fputs(": ", out->stream);
    cli_out_text(out, info->description);
    putc('\n', out->stream);
    free(words);
    if (!self->failure.got)
        return;
    fputs("  it is      \"", out->stream);
    cli_out_text(out, self->failure.got);
    fputs("\"\n  instead of \"", out->stream);
    cli_out_text(out, self->failure.wanted);
    fputs("\"\n", out->stream);
}

/* Whether people can read it at a glance. */
static bool is_short_text(const struct wetdbg_dd_bytes *input)
{
    bool is_text = input->size <= SHORT_BYTES;

    for (size_t i = 0; i < input->size && is_text; i++)
        is_text = (input->data[i] >= ' ' && input->data[i] < 0x7f) || input->data[i] == '\n' ||
                  input->data[i] == '\t';
    return is_text;
}

static void print_reduced(const struct cli_locating *self)
{
    const struct cli_reduced *reduced = &self->reduced;
    struct cli_out *out = self->session->out;

    if (!reduced->file)
        return;
    fprintf(out->stream, "smaller input: %zu of %" PRIu64 " bytes fail alike", reduced->input.size,
            reduced->of);
    fputs(reduced->is_minimal ? ", and none of them can go" : "", out->stream);
    fputs(reduced->wet_path ? "; all that follows is of a run on them\n  " : "\n  ", out->stream);
    cli_out_text(out, reduced->file);
    if (is_short_text(&reduced->input)) {
        fputs(": \"", out->stream);
        cli_out_quoted(out, reduced->input.data, reduced->input.size);
        putc('"', out->stream);
    }
    putc('\n', out->stream);
}

/* What passes beside the failing input. */
static void print_neighbours(const struct cli_locating *self)
{
    struct cli_out *out = self->session->out;

    if (self->prefix.file) {
        fputs("passes: ", out->stream);
        cli_out_text(out, self->prefix.words);
        fputs("\n  ", out->stream);
        cli_out_text(out, self->prefix.file);
        putc('\n', out->stream);
    }
    for (size_t i = 0; i < self->found_passing.count; i++) {
        fputs(i ? "             " : "passing run: ", out->stream);
        cli_out_text(out, self->found_passing.list[i].words);
        putc('\n', out->stream);
    }
}

/* Whether its only reason is that nothing is known. */
static bool is_unsuspected(const struct wetdbg_suspect *suspect)
{
    return suspect->reason_count == 1 && suspect->reasons[0].kind == WETDBG_REASON_OUTSIDE;
}

static void print_text(const struct cli_locating *self, const struct wetdbg_suspect *suspects,
                       size_t count)
{
    struct cli_out *out = self->session->out;
    size_t shown = self->limit && self->limit < count ? (size_t)self->limit : count;

    while (shown > 1 && self->limit && is_unsuspected(&suspects[shown - 1]))
        shown--;
    print_wrong(self);
    print_reduced(self);
    print_neighbours(self);
    fprintf(out->stream, "%zu of %zu lines that ran, the most suspicious first", shown, count);
    fprintf(out->stream, self->has_more ? " (looking on...):\n" : " (%.1f s):\n",
            cli_locating_seconds(self));
    for (size_t i = 0; i < shown && !cli_out_is_gone(out); i++)
        print_suspect(self, &suspects[i], i + 1);
    for (size_t i = 0; i < self->missing_count && !self->has_more; i++) {
        fputs(i ? "         " : "missing: ", out->stream);
        cli_out_text(out, self->missing[i]);
        putc('\n', out->stream);
    }
    if (self->has_more)
        return;
    fputs("what is in brackets is for: wetdbg open ", out->stream);
    cli_out_text(out, self->wet_path);
    fprintf(out->stream, " (first: slice backward %s)\n", self->failure.criterion);
}

int cli_locate_answer(struct cli_locating *self)
{
    struct cli_out *out = self->session->out;
    const struct wetdbg_suspect *suspects;
    size_t count;
    bool is_wanted = out->json || !self->has_more || (!self->is_shown && cli_out_columns(out));

    if (!is_wanted)
        return 0;
    int err = wetdbg_locate_suspects(self->locate, &suspects, &count);
    if (err)
        return err;
    self->is_shown = true;
    if (out->json)
        print_json(self, suspects, count);
    else
        print_text(self, suspects, count);
    fflush(out->stream);
    return 0;
}
