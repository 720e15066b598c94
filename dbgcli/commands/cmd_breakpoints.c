/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is done with breakpoints that are there: delete, clear, enable, disable, ignore, condition,
 * commands, and `info breakpoints`. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/breakpoints.h"
#include "dbgcli/commands/display.h"
#include "dbgcli/commands/info_subject.h"
#include "dbgcli/commands/last_address.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/repl/words.h"
#include <wetdbg/errors.h>

const struct cli_syntax cli_cmd_delete_syntax = {
    .example = "delete 2 4-6",
    .usage = "[breakpoints|display] [N|N-M]...",
    .operands_max = CLI_OPERANDS_ANY,
    .details = "Takes breakpoints, watchpoints and catchpoints away; without a number, all.",
};

const struct cli_syntax cli_cmd_clear_syntax = {
    .example = "clear parse_line",
    .usage = "[LINE|FILE:LINE|FUNCTION|*ADDRESS]",
    .operands_max = 1,
    .is_raw = true,
    .details = "Takes the breakpoints at a place away; without one, those where the frame stands.",
};

const struct cli_syntax cli_cmd_enable_syntax = {
    .example = "enable once 3",
    .usage = "[once|delete|count K] [breakpoints|display] [N|N-M]...",
    .operands_max = CLI_OPERANDS_ANY,
    .details = "Has breakpoints stop again; without a number, all. once: until it has stopped\n"
               "once; delete: it goes then; count K: until it has stopped K times.",
};

const struct cli_syntax cli_cmd_disable_syntax = {
    .example = "disable 2",
    .usage = "[breakpoints|display] [N|N-M]...",
    .operands_max = CLI_OPERANDS_ANY,
    .details = "Keeps breakpoints, but nothing stops at them; without a number, all.",
};

const struct cli_syntax cli_cmd_ignore_syntax = {
    .example = "ignore 1 999999",
    .usage = "N COUNT",
    .operands_min = 2,
    .operands_max = 2,
    .details = "The next COUNT hits of breakpoint N do not stop. They are counted without running\n"
               "them, if it has no condition: a million takes as long as one.",
};

const struct cli_syntax cli_cmd_condition_syntax = {
    .example = "condition 1 depth > 3",
    .usage = "N [EXPRESSION]",
    .operands_min = 1,
    .operands_max = 1,
    .is_raw = true,
    .details = "Breakpoint N stops only where the expression is not zero; without one, always.",
};

const struct cli_syntax cli_cmd_commands_syntax = {
    .example = "commands 1",
    .usage = "[N|N-M]...",
    .operands_max = CLI_OPERANDS_ANY,
    .details = "The lines that follow, up to 'end', are run whenever breakpoint N has stopped;\n"
               "without a number, the latest one. 'silent' as the first keeps it from being\n"
               "announced. No lines: nothing is run any more.",
};

/* ---- which ones ---- */

typedef void (*change_fn)(struct cli_session *session, struct cli_breakpoint *one, void *arg);

/* Applies to the numbers of "N" or "N-M" that there are; one of them must be. */
static int change_some(struct cli_session *session, const char *numbers, change_fn change,
                       void *arg)
{
    struct cli_breakpoint *one;
    const char *dash = strchr(numbers, '-');
    uint64_t first, last;
    char *head = cli_strndup(numbers, dash ? (size_t)(dash - numbers) : strlen(numbers));
    int bad = cli_breakpoint_number(session, head, &first);
    free(head);
    if (!bad && dash)
        bad = cli_breakpoint_number(session, dash + 1, &last);
    if (bad || (dash && last < first))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "'%s' is no number of a breakpoint", numbers);
    if (!dash) {
        int err = cli_breakpoint_find(session, numbers, &one);
        if (!err)
            change(session, one, arg);
        return err;
    }
    struct cli_breakpoints *all = session->breakpoints;
    size_t found = 0;
    for (size_t i = all->count; i-- > 0;)
        if (all->list[i]->number >= first && all->list[i]->number <= last) {
            found++;
            change(session, all->list[i], arg);
        }
    return found ? 0 : wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "there are no breakpoints %s", numbers);
}

/* To the numbers from operand `from` on; without any, to all. */
static int change_each(struct cli_session *session, const struct cli_args *args, size_t from,
                       change_fn change, void *arg)
{
    struct cli_breakpoints *all = session->breakpoints;
    int err = 0;
    for (size_t i = from; i < args->operand_count && !err; i++)
        err = change_some(session, args->operands[i], change, arg);
    if (from >= args->operand_count)
        for (size_t i = all->count; i-- > 0;)
            change(session, all->list[i], arg);
    return err;
}

static bool is_word(const struct cli_args *args, size_t at, const char *word)
{
    return at < args->operand_count && strcmp(args->operands[at], word) == 0;
}

/* What all of them answer in JSON; text needs none. */
static int answer(struct cli_session *session, int err)
{
    return !err && session->out->json ? cli_info_breakpoints(session, NULL) : err;
}

/* ---- delete, enable, disable ---- */

static void delete_one(struct cli_session *session, struct cli_breakpoint *one, void *arg)
{
    (void)arg;
    cli_breakpoint_remove(session, one);
}

int cli_cmd_delete(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_session *session = repl->session;
    (void)format;
    if (is_word(args, 0, "display"))
        return cli_displays_change(session, args->operands + 1, args->operand_count - 1,
                                   CLI_DISPLAY_DELETE);
    return answer(session,
                  change_each(session, args, is_word(args, 0, "breakpoints"), delete_one, NULL));
}

int cli_cmd_clear(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_session *session = repl->session;
    struct cli_breakpoints *all = session->breakpoints;
    const char *text = args->operand_count ? args->operands[0] : "";
    uint64_t *pcs;
    size_t count, found = 0;
    (void)format;
    int err = cli_break_location(session, text, &pcs, &count);
    if (err)
        return err;
    for (size_t i = all->count; i-- > 0;) {
        struct cli_breakpoint *one = all->list[i];
        bool is_there = one->is.kind == WETDBG_BREAK_CODE && one->is.pc_count && count &&
                        one->is.pcs[0] == pcs[0];
        if (!is_there)
            continue;
        if (!session->out->json)
            fprintf(session->out->stream, "Deleted breakpoint %u\n", one->number);
        cli_breakpoint_remove(session, one);
        found++;
    }
    free(pcs);
    if (!found)
        err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no breakpoint is at %s",
                          *text ? text : "this place");
    return answer(session, err);
}

/* How `enable` enables. */
struct enabling {
    enum cli_disposition disposition;
    bool has_disposition;
    uint64_t count;
};

static void enable_one(struct cli_session *session, struct cli_breakpoint *one, void *arg)
{
    const struct enabling *how = arg;
    (void)session;
    one->is.is_enabled = true;
    one->stops_left = how->count;
    if (how->has_disposition)
        one->disposition = how->disposition;
}

static void disable_one(struct cli_session *session, struct cli_breakpoint *one, void *arg)
{
    (void)session;
    (void)arg;
    one->is.is_enabled = false;
}

int cli_cmd_enable(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_session *session = repl->session;
    struct enabling how = {.count = 0};
    size_t at = 0;
    (void)format;
    if (is_word(args, 0, "once") || is_word(args, 0, "delete")) {
        how.has_disposition = true;
        how.disposition = is_word(args, 0, "once") ? CLI_DISABLE : CLI_DELETE;
        at = 1;
    } else if (is_word(args, 0, "count")) {
        if (args->operand_count < 2 || !cli_number_parse(args->operands[1], &how.count) ||
            !how.count)
            return wetdbg_fail(-WETDBG_ERR_USAGE, "enable: behind 'count' comes how often");
        at = 2;
    }
    if (is_word(args, at, "display"))
        return cli_displays_change(session, args->operands + at + 1, args->operand_count - at - 1,
                                   CLI_DISPLAY_ENABLE);
    at += is_word(args, at, "breakpoints");
    return answer(session, change_each(session, args, at, enable_one, &how));
}

int cli_cmd_disable(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_session *session = repl->session;
    (void)format;
    if (is_word(args, 0, "display"))
        return cli_displays_change(session, args->operands + 1, args->operand_count - 1,
                                   CLI_DISPLAY_DISABLE);
    return answer(session,
                  change_each(session, args, is_word(args, 0, "breakpoints"), disable_one, NULL));
}

/* ---- ignore, condition, commands ---- */

int cli_cmd_ignore(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_breakpoint *one;
    uint64_t count;
    (void)format;
    int err = cli_breakpoint_find(repl->session, args->operands[0], &one);
    if (err)
        return err;
    if (!cli_number_parse(args->operands[1], &count))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "ignore: '%s' is no count", args->operands[1]);
    one->is.ignore = count;
    if (!repl->out->json && count)
        fprintf(repl->out->stream, "Will ignore next %" PRIu64 " crossing%s of breakpoint %u.\n",
                count, count == 1 ? "" : "s", one->number);
    else if (!repl->out->json)
        fprintf(repl->out->stream, "Will stop next time breakpoint %u is reached.\n", one->number);
    return answer(repl->session, 0);
}

int cli_cmd_condition(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_breakpoint *one;
    const char *text = args->operands[0];
    size_t length = strcspn(text, " \t");
    char *number = cli_strndup(text, length);
    (void)format;
    int err = cli_breakpoint_find(repl->session, number, &one);
    free(number);
    if (err)
        return err;
    text += length + strspn(text + length, " \t");
    cli_breakpoint_set_condition(one, *text ? text : NULL);
    if (!*text && !repl->out->json)
        fprintf(repl->out->stream, "Breakpoint %u now unconditional.\n", one->number);
    return answer(repl->session, 0);
}

/* For which breakpoints lines are being collected. */
struct commanding {
    unsigned *numbers;
    size_t count;
};

static void note_number(struct cli_session *session, struct cli_breakpoint *one, void *arg)
{
    struct commanding *to = arg;
    (void)session;
    to->numbers = cli_realloc(to->numbers, to->count + 1, sizeof(*to->numbers));
    to->numbers[to->count++] = one->number;
}

static void set_commands(struct cli_breakpoint *one, char *const *lines, size_t count)
{
    for (size_t i = 0; i < one->command_count; i++)
        free(one->commands[i]);
    one->commands = cli_realloc(one->commands, count + 1, sizeof(*one->commands));
    one->command_count = count;
    for (size_t i = 0; i < count; i++)
        one->commands[i] = cli_strdup(lines[i]);
}

static int take_commands(struct cli_repl *repl, char **lines, size_t count, void *arg)
{
    struct cli_breakpoints *all = repl->session->breakpoints;
    struct commanding *to = arg;
    for (size_t i = 0; i < to->count && lines; i++)
        for (size_t k = 0; k < all->count; k++)
            if (all->list[k]->number == to->numbers[i])
                set_commands(all->list[k], lines, count);
    free(to->numbers);
    free(to);
    return lines ? answer(repl->session, 0) : 0;
}

int cli_cmd_commands(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_breakpoints *all = repl->session->breakpoints;
    struct commanding to = {.count = 0};
    int err = 0;
    (void)format;
    for (size_t i = 0; i < args->operand_count && !err; i++)
        err = change_some(repl->session, args->operands[i], note_number, &to);
    if (!args->operand_count && all->count)
        note_number(repl->session, all->list[all->count - 1], &to);
    else if (!args->operand_count)
        err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "there are no breakpoints yet");
    if (err) {
        free(to.numbers);
        return err;
    }
    struct commanding *kept = cli_malloc(sizeof(*kept));
    *kept = to;
    cli_repl_collect(repl, take_commands, kept);
    return 0;
}

/* ---- info breakpoints ---- */

static void print_place(const struct cli_breakpoint *one, size_t i)
{
    struct cli_out *out = one->session->out;
    struct cli_place place;
    cli_place_of_pc(one->session, one->is.pcs[i], &place);
    fprintf(out->stream, "0x%016" PRIx64 " in ", place.pc);
    cli_out_text(out, place.function ? place.function : "?");
    fputs(" at ", out->stream);
    cli_place_print(out, &place);
    putc('\n', out->stream);
}

static void print_counts(const struct cli_breakpoint *one)
{
    FILE *stream = one->session->out->stream;
    uint64_t count;
    if (one->is.hits)
        fprintf(stream, "\tbreakpoint already hit %" PRIu64 " time%s\n", one->is.hits,
                one->is.hits == 1 ? "" : "s");
    if (one->is.ignore)
        fprintf(stream, "\tignore next %" PRIu64 " hits\n", one->is.ignore);
    if (one->is.kind == WETDBG_BREAK_CODE &&
        wetdbg_count_instances(one->session->wet, one->is.pcs, one->is.pc_count, &count) == 0)
        fprintf(stream, "\treached %" PRIu64 " time%s in the run\n", count, count == 1 ? "" : "s");
}

static void print_row(const struct cli_breakpoint *one)
{
    static const char *const dispositions[] = {"keep", "del", "dis"};
    struct cli_out *out = one->session->out;
    fprintf(out->stream, "%-7u %-14s %-4s %-3c ", one->number, cli_breakpoint_type(one),
            dispositions[one->disposition], one->is.is_enabled ? 'y' : 'n');
    if (one->is.pc_count == 1) {
        print_place(one, 0);
    } else {
        fprintf(out->stream, "%-18s ", one->is.pc_count ? "<MULTIPLE>" : "");
        cli_out_text(out, one->what);
        putc('\n', out->stream);
    }
    if (one->condition) {
        fputs("\tstop only if ", out->stream);
        cli_out_text(out, one->condition);
        putc('\n', out->stream);
    }
    if (one->is.thread)
        fprintf(out->stream, "\tstop only in thread %" PRIu32 "\n", one->is.thread->index + 1);
    print_counts(one);
    for (size_t i = 0; i < one->command_count; i++) {
        fputs("        ", out->stream);
        cli_out_text(out, one->commands[i]);
        putc('\n', out->stream);
    }
    for (size_t i = 0; one->is.pc_count > 1 && i < one->is.pc_count; i++) {
        fprintf(out->stream, "%u.%-5zu %-24s", one->number, i + 1, "");
        print_place(one, i);
    }
}

/* The last one that is listed is where `x` goes on. */
static void note_last_address(struct cli_session *session)
{
    const struct cli_breakpoints *all = session->breakpoints;
    for (size_t i = all->count; i-- > 0;)
        if (all->list[i]->is.pc_count) {
            cli_last_address_next(session, all->list[i]->is.pcs[all->list[i]->is.pc_count - 1]);
            return;
        }
}

int cli_info_breakpoints(struct cli_session *session, const char *operand)
{
    const struct cli_breakpoints *all = session->breakpoints;
    struct cli_out *out = session->out;
    (void)operand;
    note_last_address(session);
    if (out->json) {
        json_t *object = cli_json_object("wetdbg.breakpoints/1"), *array = json_array();
        for (size_t i = 0; i < all->count; i++)
            cli_json_append(array, cli_breakpoint_to_json(all->list[i]));
        cli_json_set(object, "breakpoints", array);
        cli_out_json(out, object);
        return 0;
    }
    if (!all->count)
        fputs("No breakpoints, watchpoints or catchpoints.\n", out->stream);
    else
        fputs("Num     Type           Disp Enb Address            What\n", out->stream);
    for (size_t i = 0; i < all->count && !cli_out_is_gone(out); i++)
        print_row(all->list[i]);
    return 0;
}
