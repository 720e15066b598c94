/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/breakpoints.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/args.h"
#include "dbgcli/eval/arithmetic.h"
#include "dbgcli/eval/kept.h"
#include "dbgcli/nav/general.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/nav/thread.h"
#include <wetdbg/errors.h>

/* ---- the list ---- */

struct cli_breakpoints *cli_breakpoints_new(void)
{
    struct cli_breakpoints *all = cli_malloc(sizeof(*all));
    *all = (struct cli_breakpoints){.count = 0};
    return all;
}

static void breakpoint_free(struct cli_breakpoint *one)
{
    for (size_t i = 0; i < one->command_count; i++)
        free(one->commands[i]);
    free(one->commands);
    free(one->what);
    free(one->condition);
    free(one->pcs);
    free(one->watched);
    free(one->numbers);
    free(one->failure);
    free(one);
}

void cli_breakpoints_free(struct cli_breakpoints *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < all->count; i++)
        breakpoint_free(all->list[i]);
    wetdbg_breaks_close(all->finder);
    free(all->list);
    free(all);
}

struct cli_breakpoint *cli_breakpoint_add(struct cli_session *session, enum wetdbg_break_kind kind)
{
    struct cli_breakpoints *all = session->breakpoints;
    struct cli_breakpoint *one = cli_malloc(sizeof(*one));
    *one = (struct cli_breakpoint){
        .number = ++all->last_number,
        .is = {.kind = kind, .is_enabled = true},
        .session = session,
    };
    one->is.arg = one;
    all->list = cli_realloc(all->list, all->count + 1, sizeof(*all->list));
    all->list[all->count++] = one;
    cli_kept_set_integer(session->kept, "bpnum", one->number);
    return one;
}

void cli_breakpoint_remove(struct cli_session *session, struct cli_breakpoint *one)
{
    struct cli_breakpoints *all = session->breakpoints;
    size_t at = 0;
    while (all->list[at] != one)
        at++;
    all->count--;
    memmove(&all->list[at], &all->list[at + 1], (all->count - at) * sizeof(*all->list));
    breakpoint_free(one);
}

/* What a variable of the user's holds, if that is an integer. */
static bool number_of_variable(struct cli_session *session, const char *name, uint64_t *number)
{
    struct cli_value value;
    struct cli_moment *moment;
    return !cli_kept_is_number(name) && cli_session_moment(session, &moment) == 0 &&
           cli_kept_get(session->kept, name, &value) == 0 &&
           value.type.kind == WETDBG_TYPE_SIGNED && cli_value_bits(moment, &value, number) == 0;
}

int cli_breakpoint_number(struct cli_session *session, const char *text, uint64_t *number)
{
    bool is_number = *text == '$' ? number_of_variable(session, text + 1, number)
                                  : cli_number_parse(text, number);
    return is_number ? 0
                     : wetdbg_fail(-WETDBG_ERR_USAGE, "'%s' is no number of a breakpoint", text);
}

int cli_breakpoint_find(struct cli_session *session, const char *number,
                        struct cli_breakpoint **one)
{
    struct cli_breakpoints *all = session->breakpoints;
    uint64_t wanted;
    int err = cli_breakpoint_number(session, number, &wanted);
    if (err)
        return err;
    for (size_t i = 0; i < all->count; i++)
        if (all->list[i]->number == wanted) {
            *one = all->list[i];
            return 0;
        }
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "there is no breakpoint number %" PRIu64, wanted);
}

/* ---- conditions ---- */

/* The frame that a condition is evaluated in: of a watchpoint the one that its expression was read
 * in, if it is there. */
static size_t frame_of(const struct cli_breakpoint *one, const struct cli_moment *moment)
{
    for (size_t i = 0; one->function && i < moment->frame_count; i++)
        if (moment->frames[i].function == one->function)
            return i;
    return 0;
}

/* A condition that cannot be asked stops, as in gdb: somebody should know. */
static int ask(struct cli_breakpoint *one, struct cli_moment *moment)
{
    struct cli_frame_view view = {moment, frame_of(one, moment)};
    bool is_true = true;
    int err = cli_condition_ask(&view, one->condition, &is_true);
    if (!err)
        return is_true;
    free(one->failure);
    one->failure = cli_strdup(wetdbg_error(err));
    return err == -WETDBG_ERR_INTERRUPTED ? err : 1;
}

static bool is_clone_wanted(const struct cli_breakpoint *one, struct wetdbg_state *state)
{
    return (cli_register_at(wetdbg_state_registers(state), cli_dwarf_offset(5)) &
            one->clone_mask) == one->clone_flags;
}

static int holds(void *arg, const struct wetdbg_stop *stop, struct wetdbg_state *state)
{
    struct cli_breakpoint *one = arg;
    if (one->clone_mask && !is_clone_wanted(one, state))
        return 0;
    if (!one->condition)
        return 1;
    struct cli_moment *moment = one->function
                                    ? cli_moment_of_state(one->session->wet, stop->time, state)
                                    : cli_moment_of_top(one->session->wet, stop->time, state);
    cli_session_lend(one->session, moment);
    int result = ask(one, moment);
    cli_moment_close(moment);
    return result;
}

void cli_breakpoint_set_condition(struct cli_breakpoint *one, const char *condition)
{
    char *copy = condition ? cli_strdup(condition) : NULL;
    free(one->condition);
    one->condition = copy;
    one->is.holds = copy || one->clone_mask ? holds : NULL;
}

/* ---- in words ---- */

const char *cli_breakpoint_title(const struct cli_breakpoint *one)
{
    switch (one->is.kind) {
    case WETDBG_BREAK_CODE:
        return one->disposition == CLI_DELETE ? "Temporary breakpoint" : "Breakpoint";
    case WETDBG_BREAK_WATCH:
        return "Watchpoint";
    case WETDBG_BREAK_READ_WATCH:
        return "Read watchpoint";
    case WETDBG_BREAK_ACCESS_WATCH:
        return "Access watchpoint";
    case WETDBG_BREAK_CATCH:
        break;
    }
    return one->disposition == CLI_DELETE ? "Temporary catchpoint" : "Catchpoint";
}

const char *cli_breakpoint_type(const struct cli_breakpoint *one)
{
    switch (one->is.kind) {
    case WETDBG_BREAK_CODE:
        return "breakpoint";
    case WETDBG_BREAK_WATCH:
        return "watchpoint";
    case WETDBG_BREAK_READ_WATCH:
        return "read watchpoint";
    case WETDBG_BREAK_ACCESS_WATCH:
        return "acc watchpoint";
    case WETDBG_BREAK_CATCH:
        break;
    }
    return "catchpoint";
}

static json_t *json_of_places(const struct cli_breakpoint *one)
{
    json_t *array = json_array();
    for (size_t i = 0; i < one->is.pc_count; i++) {
        struct cli_place place;
        json_t *row = json_object();
        cli_place_of_pc(one->session, one->is.pcs[i], &place);
        cli_place_to_json(row, &place);
        cli_json_append(array, row);
    }
    return array;
}

json_t *cli_breakpoint_to_json(const struct cli_breakpoint *one)
{
    static const char *const dispositions[] = {"keep", "delete", "disable"};
    json_t *row = json_object();
    cli_json_set(row, "number", json_integer(one->number));
    cli_json_set(row, "type", cli_json_text(cli_breakpoint_type(one)));
    cli_json_set(row, "disposition", json_string(dispositions[one->disposition]));
    cli_json_set(row, "enabled", json_boolean(one->is.is_enabled));
    cli_json_set(row, "what", cli_json_text(one->what));
    cli_json_set(row, "condition", cli_json_text(one->condition));
    cli_json_set(row, "ignore", cli_json_count(one->is.ignore));
    cli_json_set(row, "hits", cli_json_count(one->is.hits));
    cli_json_set(row, "thread",
                 one->is.thread ? cli_json_count((uint64_t)one->is.thread->index + 1)
                                : json_null());
    cli_json_set(row, "places", json_of_places(one));
    json_t *commands = json_array();
    for (size_t i = 0; i < one->command_count; i++)
        cli_json_append(commands, cli_json_text(one->commands[i]));
    cli_json_set(row, "commands", commands);
    return row;
}

void cli_breakpoint_print_new(const struct cli_breakpoint *one)
{
    struct cli_out *out = one->session->out;
    struct cli_place place;
    uint64_t count;
    if (out->json) {
        json_t *object = cli_json_object("wetdbg.breakpoint/1");
        cli_json_set(object, "breakpoint", cli_breakpoint_to_json(one));
        cli_out_json(out, object);
        return;
    }
    fprintf(out->stream, "%s %u", cli_breakpoint_title(one), one->number);
    if (one->is.kind != WETDBG_BREAK_CODE) {
        fputs(one->is.kind == WETDBG_BREAK_CATCH ? " (" : ": ", out->stream);
        cli_out_text(out, one->what);
        fputs(one->is.kind == WETDBG_BREAK_CATCH ? ")\n" : "\n", out->stream);
        return;
    }
    cli_place_of_pc(one->session, one->is.pcs[0], &place);
    fprintf(out->stream, " at 0x%" PRIx64, place.pc);
    if (one->is.pc_count > 1) {
        fputs(": ", out->stream);
        cli_out_text(out, one->what);
        fprintf(out->stream, ". (%zu locations)", one->is.pc_count);
    } else if (place.file) {
        fputs(": file ", out->stream);
        cli_out_text(out, cli_base_name(place.file));
        fprintf(out->stream, ", line %" PRIu32 ".", place.line);
    }
    if (wetdbg_count_instances(one->session->wet, one->is.pcs, one->is.pc_count, &count) == 0)
        fprintf(out->stream, " It is reached %" PRIu64 " time%s in the run.", count,
                count == 1 ? "" : "s");
    putc('\n', out->stream);
}
